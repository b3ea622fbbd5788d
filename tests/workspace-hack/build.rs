//! Without a build script, cargo would leave the build dependencies out.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
