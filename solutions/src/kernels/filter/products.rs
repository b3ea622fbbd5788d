//! The products of the 8-bit operands. All forms compute the same integers.

use super::HEIGHT;
use super::choice::Filter;
use crate::kernels::maxima::PANEL;

/// For each block of rows `[depth / 4, HEIGHT, 4]` and each column of a panel `[depth / 4, PANEL, 4]`, the greatest product
/// over the block's rows.
pub fn maxima(filter: Filter, rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
    assert!(filter.is_available() && maxima.len().is_multiple_of(PANEL));
    assert!(rows.len() * PANEL * PANEL == maxima.len() * HEIGHT * panel.len());
    match filter {
        // SAFETY: the machine has the filter's instructions, and the sizes fit.
        #[cfg(target_arch = "x86_64")]
        Filter::Vnni => unsafe { super::x86::avx512_vnni(rows, panel, maxima) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Filter::AvxVnni => unsafe { super::x86::avx_vnni(rows, panel, maxima) },
        _ => portable(rows, panel, maxima),
    }
}

/// Without special instructions; the specification.
pub fn portable(rows: &[u8], panel: &[i8], maxima: &mut [i32]) {
    let blocks = rows.chunks_exact(HEIGHT * (panel.len() / PANEL));
    for (block, maxima) in blocks.zip(maxima.chunks_exact_mut(PANEL)) {
        let mut sums = [[0; PANEL]; HEIGHT];
        for (rows, columns) in block.chunks_exact(4 * HEIGHT).zip(panel.chunks_exact(4 * PANEL)) {
            for (row, sums) in rows.chunks_exact(4).zip(&mut sums) {
                for (column, sum) in columns.chunks_exact(4).zip(sums) {
                    let products = row.iter().zip(column).map(|(&q, &p)| i32::from(q) * i32::from(p));
                    *sum += products.sum::<i32>();
                }
            }
        }
        for (c, top) in maxima.iter_mut().enumerate() {
            *top = sums.iter().fold(i32::MIN, |top, sums| top.max(sums[c]));
        }
    }
}
