//! Our decoder of layers is held to `laz`'s: same chunk, same cloud.

use std::io::Cursor;

use ::laz::{LasZipCompressor, LazVlr, LazVlrBuilder};
use anyhow::Result;
use las::raw;

use super::{laz, record::Layout};
use crate::{Cloud, Philox};

const ORIGIN: [f64; 3] = [5.0, -3.0, 1.0];

fn layout(format: u8, extra: u16) -> Layout {
    let base = [30, 36, 38, 59, 67][usize::from(format) - 6];
    let header = raw::Header {
        point_data_record_format: format,
        point_data_record_length: base + extra,
        x_scale_factor: 0.001,
        y_scale_factor: 0.01,
        z_scale_factor: 0.001,
        ..raw::Header::default()
    };
    Layout::new(&header).unwrap()
}

/// One chunk of `n` random points. `wild`: every bit random, so every model and every length of difference is used;
/// else points as a scan has them.
fn chunk(format: u8, extra: u16, n: usize, wild: bool, seed: u64) -> (Vec<u8>, LazVlr, Layout) {
    let layout = layout(format, extra);
    let builder = LazVlrBuilder::default().with_point_format(format, extra).unwrap();
    let vlr = builder.build();
    let mut random = Philox::new(seed, 7);
    let mut records = vec![0; n * layout.len];
    let mut at = [0i32; 3];
    let mut channel = 0;
    for record in records.chunks_exact_mut(layout.len) {
        if wild {
            record.fill_with(|| random.below(256) as u8);
            continue;
        }
        for a in 0..3 {
            let reach = [3, 40, 700, 60_000][random.below(4)];
            at[a] += random.below(2 * reach + 1) as i32 - reach as i32;
            record[4 * a..][..4].copy_from_slice(&at[a].to_le_bytes());
        }
        record[12] = random.below(90) as u8;
        let of = 1 + random.below(5) as u8;
        record[14] = (1 + random.below(usize::from(of)) as u8) | of << 4;
        if random.below(50) == 0 {
            channel = random.below(4) as u8;
        }
        record[15] = channel << 4;
        record[16] = [2, 5, 5, 6, 40][random.below(5)];
        record[22] = (random.below(8) / 7) as u8;
    }
    let mut file = Cursor::new(Vec::new());
    let mut packer = LasZipCompressor::new(&mut file, vlr.clone()).unwrap();
    packer.compress_many(&records).unwrap();
    packer.done().unwrap();
    drop(packer);
    let file = file.into_inner();
    // The place of the chunk table comes first, then the only chunk.
    let table = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    (file[8..table].to_vec(), vlr, layout)
}

fn by_laz(data: &[u8], n: usize, vlr: &LazVlr, layout: &Layout) -> Result<Cloud> {
    let mut cloud = Cloud {
        origin: ORIGIN,
        ..Cloud::default()
    };
    let mut decoder = laz::decompressor(Cursor::new(data), vlr)?;
    laz::decode_points(decoder.as_mut(), n as u64, layout, &mut cloud)?;
    Ok(cloud)
}

fn ours(data: &[u8], n: usize, vlr: &LazVlr, layout: &Layout) -> Result<Cloud> {
    laz::decode_chunk(data, n as u64, vlr, layout, ORIGIN)
}

#[test]
fn layers_decode_as_laz_decodes_them() {
    for (format, extra) in [(6, 0), (6, 3), (7, 0), (8, 5), (9, 0), (10, 2)] {
        for n in [1, 2, 3, 1023, 1024, 1025, 9000] {
            for wild in [false, true] {
                let (data, vlr, layout) = chunk(format, extra, n, wild, n as u64);
                let cloud = ours(&data, n, &vlr, &layout).unwrap();
                let expected = by_laz(&data, n, &vlr, &layout).unwrap();
                assert_eq!(cloud.len(), n);
                assert!(
                    cloud == expected,
                    "format {format}, {extra} extra bytes, {n} points, wild: {wild}"
                );
            }
        }
    }
}

#[test]
fn attributes_that_never_change_have_no_layer_and_stay() {
    let layout = layout(6, 0);
    let vlr = LazVlrBuilder::default().with_point_format(6, 0).unwrap().build();
    let record: Vec<u8> = (1..=30).collect();
    let mut file = Cursor::new(Vec::new());
    let mut packer = LasZipCompressor::new(&mut file, vlr.clone()).unwrap();
    packer.compress_many(&record.repeat(500)).unwrap();
    packer.done().unwrap();
    drop(packer);
    let file = file.into_inner();
    let cloud = ours(&file[8..], 500, &vlr, &layout).unwrap();
    assert!(cloud == by_laz(&file[8..], 500, &vlr, &layout).unwrap());
    assert_eq!((cloud.intensity[499], cloud.class[499]), (0x0e0d, 17));
}

#[test]
fn damaged_layers_end_in_an_error_or_in_as_many_points() {
    let n = 2000;
    for wild in [false, true] {
        let (data, vlr, layout) = chunk(6, 0, n, wild, 3);
        let mut random = Philox::new(11, 0);
        for _ in 0..300 {
            let mut bad = data.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bad.len());
                bad[at] = random.below(256) as u8;
            }
            // Most damage cannot be seen: it decodes to other points.
            if let Ok(cloud) = ours(&bad, n, &vlr, &layout) {
                assert_eq!(cloud.len(), n);
            }
        }
        for cut in [0, 29, 33, 60, 70, 200, data.len() - 1] {
            assert!(ours(&data[..cut], n, &vlr, &layout).is_err(), "cut at {cut}");
        }
    }
}

#[test]
fn a_layer_that_ends_before_its_points_is_an_error() {
    let n = 2000;
    let (data, vlr, layout) = chunk(6, 0, n, true, 5);
    // The length of the layer of x and y, which lies first, made half as long, and what is cut out left out.
    let mut bad = data.clone();
    let long = u32::from_le_bytes(data[34..38].try_into().unwrap()) as usize;
    bad[34..38].copy_from_slice(&(long as u32 / 2).to_le_bytes());
    let head = 30 + 4 + 4 * 9;
    bad.drain(head + long / 2..head + long);
    let error = format!("{:#}", ours(&bad, n, &vlr, &layout).unwrap_err());
    assert!(error.contains("ends before its points"), "{error}");
}
