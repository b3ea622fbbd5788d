use canopy_data::{Cloud, builtin, formats};
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let path = std::path::PathBuf::from(&a[1]);
    let n: usize = a[2].parse().unwrap();
    if !path.exists() {
        let mut c = Cloud::default();
        let mut i = 0;
        while c.len() < n {
            let m = builtin::tree(1, i, builtin::Resolution::Full).unwrap();
            if c.is_empty() { c = m } else { c.xyz.extend(m.xyz); c.intensity.extend(m.intensity); c.class.extend(m.class); c.returns.extend(m.returns); }
            i += 1;
        }
        let f: Vec<usize> = (0..n).collect();
        formats::write(&path, &c.select(&f), &formats::Options::default()).unwrap();
    }
    let r: usize = a[3].parse().unwrap();
    for _ in 0..r {
        let s = Instant::now();
        let l = formats::read(&path).unwrap().len();
        println!("{l} {:.1} ms", s.elapsed().as_secs_f64() * 1e3);
    }
}
