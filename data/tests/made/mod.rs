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
