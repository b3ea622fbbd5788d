//! Files as other programs write them.

use std::io::Cursor;

/// `n` points in a LAS or LAZ file by the `las` crate, with the points.
pub fn las_file(format: u8, version: (u8, u8), packed: bool, n: u16) -> (Vec<u8>, Vec<las::Point>) {
    let mut builder = las::Builder::from(version);
    builder.point_format = las::point::Format::new(format).unwrap();
    builder.point_format.is_compressed = packed;
    let t = |scale, offset| las::Transform { scale, offset };
    builder.transforms = las::Vector {
        x: t(0.01, 400_000.0),
        y: t(0.01, 400_000.0),
        z: t(0.001, 0.0),
    };
    let mut writer = las::Writer::new(Cursor::new(Vec::new()), builder.into_header().unwrap()).unwrap();
    let f = *writer.header().point_format();
    let points: Vec<las::Point> = (0..n)
        .map(|i| las::Point {
            x: 432_100.0 + f64::from(i % 37) * 0.25,
            y: 403_200.5 + f64::from(i % 41) * 0.75,
            z: f64::from(i) * 0.125 - 20.0,
            intensity: i * 60,
            return_number: 1 + (i % 3) as u8,
            number_of_returns: 3,
            classification: las::point::Classification::new([2, 5, 7][usize::from(i % 3)]).unwrap(),
            is_withheld: i % 5 == 0,
            is_synthetic: i % 7 == 0,
            scan_direction: las::point::ScanDirection::LeftToRight,
            is_edge_of_flight_line: i % 2 == 0,
            color: f.has_color.then(|| las::Color::new(i, 3, 4)),
            gps_time: f.has_gps_time.then(|| f64::from(i) * 0.1),
            nir: f.has_nir.then_some(i),
            ..las::Point::default()
        })
        .collect();
    points.iter().for_each(|p| writer.write_point(p.clone()).unwrap());
    (writer.into_inner().unwrap().into_inner(), points)
}

/// The points of [`strange_ply`].
pub const THREE: [[f32; 3]; 3] = [[1.5, 2.0, -3.25], [4.0, 5.5, 6.0], [7.0, 8.0, 9.125]];

/// A binary PLY file in which all that is allowed happens: lists before, within and behind the vertices, any order and
/// type.
pub fn strange_ply(format: &str) -> Vec<u8> {
    let mut b = format!(
        "ply\r\nformat {format} 1.0\r\ncomment a b\r\nobj_info c\r\nelement camera 1\r\nproperty list uchar float view\r\n\
         element vertex 3\r\nproperty uint8 red\r\nproperty double z\r\nproperty list uchar short tags\r\nproperty float x\r\n\
         property float y\r\nproperty float scalar_Intensity\r\nelement face 1\r\nproperty list uchar int vertex_indices\r\nend_header\r\n"
    )
    .into_bytes();
    let big = format.ends_with("big_endian");
    let mut put = |little: &[u8]| {
        let mut v = little.to_vec();
        if big {
            v.reverse();
        }
        b.extend(v);
    };
    put(&[2]);
    put(&1f32.to_le_bytes());
    put(&1f32.to_le_bytes());
    for (i, [x, y, z]) in THREE.into_iter().enumerate() {
        put(&[200]);
        put(&f64::from(z).to_le_bytes());
        put(&[i as u8]);
        (0..i).for_each(|t| put(&(t as i16).to_le_bytes()));
        put(&x.to_le_bytes());
        put(&y.to_le_bytes());
        put(&41.7f32.to_le_bytes());
    }
    b.extend([1, 0, 0, 0, 0]);
    b
}
