//! The compiled sources of the kernels.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use grid::{Error, Module, Source};

/// The folder of the sources, or a changed copy of it.
pub fn folder() -> String {
    std::env::var("CANOPY_TEST_KERNELS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels").to_owned())
}

/// A source that one thread compiles while others wait for it.
type Compiled = Arc<OnceLock<Option<&'static Module>>>;

static MODULES: LazyLock<Mutex<HashMap<String, Compiled>>> = LazyLock::new(Mutex::default);

/// The kernels of the source `name`; none, and a line that says so, if this machine cannot compile them.
pub fn module(name: &str) -> Option<&'static Module> {
    let compiled = MODULES
        .lock()
        .unwrap()
        .entry(name.to_owned())
        .or_default()
        .clone();
    *compiled.get_or_init(|| compile(&Source::file(format!("{}/{name}", folder())).include(folder())))
}

/// The kernels of a source, as [`module`]. One at a time: the first one compiles the grid itself.
pub fn compile(source: &Source) -> Option<&'static Module> {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _alone = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    match source.compile() {
        Ok(module) => Some(Box::leak(Box::new(module))),
        Err(Error::NotRun(why)) => {
            println!("not run, because {why}");
            None
        }
        Err(wrong) => panic!("{wrong}"),
    }
}
