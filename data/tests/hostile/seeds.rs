//! Valid files of every format, small, to be broken.

use std::io::Cursor;

use canopy_data::{
    Cloud, Return,
    formats::{self, Options},
};
use las::{Builder, Point, Writer, point::Format};

/// A file.
pub struct Seed {
    /// Its name; the extension says the format.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// All of them.
pub fn all() -> Vec<Seed> {
    let mut seeds = ours();
    // Every point format, as `las` writes it; waveforms it does not.
    for format in [0, 1, 2, 3, 6, 7, 8] {
        for packed in [false, true] {
            seeds.push(las_file(format, packed));
        }
    }
    seeds.extend(text());
    seeds.extend(ply());
    seeds
}

fn cloud(n: usize) -> Cloud {
    Cloud {
        origin: [432_100.0, 5_403_200.0, 0.0],
        xyz: (0..n)
            .map(|i| [i as f32 * 0.37 % 9.0, i as f32 * 0.71 % 7.0, i as f32 * 0.05])
            .collect(),
        intensity: (0..n).map(|i| (i * 331 % 5_000) as u16).collect(),
        class: (0..n).map(|i| [2, 5][i % 2]).collect(),
        returns: vec![Return { number: 1, of: 2 }; n],
    }
}

fn ours() -> Vec<Seed> {
    let home = tempfile::tempdir().unwrap();
    let mut seeds = Vec::new();
    for (name, ascii) in [
        ("a.las", false),
        ("a.laz", false),
        ("a.ply", false),
        ("b.ply", true),
        ("a.xyz", false),
        ("a.csv", false),
        ("a.safetensors", false),
    ] {
        let path = home.path().join(name);
        formats::write(
            &path,
            &cloud(60),
            &Options {
                ascii,
                ..Options::default()
            },
        )
        .unwrap();
        seeds.push(Seed {
            name: name.into(),
            bytes: std::fs::read(&path).unwrap(),
        });
    }
    seeds
}

fn las_file(format: u8, packed: bool) -> Seed {
    let mut builder = Builder::from((1, 4));
    builder.point_format = Format::new(format).unwrap();
    builder.point_format.is_compressed = packed;
    builder.point_format.extra_bytes = u16::from(format % 2) * 3;
    let header = builder.into_header().unwrap();
    let mut writer = Writer::new(Cursor::new(Vec::new()), header).unwrap();
    for i in 0..60 {
        let f = writer.header().point_format();
        let (color, time, nir) = (f.has_color, f.has_gps_time, f.has_nir);
        let point = Point {
            x: f64::from(i) * 0.25,
            y: f64::from(i % 7),
            z: f64::from(i % 11) * 0.5,
            intensity: i as u16 * 100,
            return_number: 1,
            number_of_returns: 2,
            color: color.then(|| las::Color::new(i as u16, 500, 9)),
            gps_time: time.then_some(f64::from(i) * 1e-3),
            nir: nir.then_some(7),
            extra_bytes: vec![i as u8; usize::from(format % 2) * 3],
            ..Point::default()
        };
        writer.write_point(point).unwrap();
    }
    Seed {
        name: format!("format{format}.{}", if packed { "laz" } else { "las" }),
        bytes: writer.into_inner().unwrap().into_inner(),
    }
}

fn text() -> Vec<Seed> {
    let seed = |name: &str, text: &[u8]| Seed {
        name: name.into(),
        bytes: text.to_vec(),
    };
    vec![
        seed(
            "c.pts",
            b"4\r\n1.5 2.5 3.5 -120 10 20 30\r\n2 3 4 5 6 7 8\r\n3 4 5 6 7 8 9\r\n4 5 6 7 8 9 10\r\n",
        ),
        seed(
            "d.csv",
            b"\xef\xbb\xbfid;x;y;z;intensity\n1;1,5;2,5;3,5;7\n2;2,5;3,5;4,5;8\n",
        ),
        seed(
            "e.txt",
            b"# B\xe4ume\n//X Y Z Classification\n1 2 3 5\n\n4 5 6 2 # low\n",
        ),
    ]
}

fn ply() -> Vec<Seed> {
    let head = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\nelement camera 1\nproperty list uchar float view\nelement vertex 2\nproperty uchar red\n\
             property double z\nproperty list uchar short tags\nproperty float x\nproperty int y\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
        )
    };
    let mut ascii = head("ascii").into_bytes();
    ascii.extend(b"2 0.5 0.5\n9 1.5 1 7 2.5 3\n9 2.5 0 3.5 4\n3 0 1 0\n");
    let mut big = head("binary_big_endian").into_bytes();
    big.push(1);
    big.extend(0.5f32.to_be_bytes());
    for (z, x, y) in [(1.5f64, 2.5f32, 3i32), (2.5, 3.5, 4)] {
        big.push(9);
        big.extend(z.to_be_bytes());
        big.push(1);
        big.extend(7i16.to_be_bytes());
        big.extend(x.to_be_bytes());
        big.extend(y.to_be_bytes());
    }
    big.extend([1, 0, 0, 0, 0]);
    vec![
        Seed {
            name: "f.ply".into(),
            bytes: ascii,
        },
        Seed {
            name: "g.ply".into(),
            bytes: big,
        },
    ]
}
