//! scratch
use canopy_data::builtin::*;
use std::io::Write;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let config = Config {
        trees: a[2].parse().unwrap(),
        ..Config::default()
    };
    let t = std::time::Instant::now();
    let d = load(&config, std::path::Path::new("/tmp/forest/cache"), &|_, _| {}).unwrap();
    eprintln!(
        "{} scans {:?} cached {} {:?}",
        d.dataset.len(),
        t.elapsed(),
        d.cached,
        d.warning
    );
    let mut f = std::io::BufWriter::new(std::fs::File::create(&a[1]).unwrap());
    let mut c = std::fs::File::create(format!("{}.csv", a[1])).unwrap();
    for (i, r) in d.dataset.records.iter().enumerate() {
        let cl = d.dataset.cloud(i).unwrap();
        let m = cl.intensity.iter().map(|&v| v as f64).sum::<f64>() / cl.len() as f64;
        writeln!(c, "{},{},{:?},{},{m}", r.species, r.plot, r.scan, r.tree).unwrap();
        for p in cl.xyz {
            for v in p {
                f.write_all(&v.to_le_bytes()).unwrap();
            }
        }
    }
}
