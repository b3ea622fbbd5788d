//! Loops over channels of a block of rows, compiled for AVX-512, AVX2 and the base instruction set, and
//! chosen at run time. Each is written without fused multiply-add, so all three give the same bits.

/// Declares a function whose body is compiled once for each instruction set.
macro_rules! for_each_instruction_set {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        pub(in crate::kernels) fn $name($($arg: $ty),*) {
            #[inline(always)]
            fn body($($arg: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
                fn avx512($($arg: $ty),*) { body($($arg),*) }
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $ty),*) { body($($arg),*) }

                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                {
                    // SAFETY: the machine has what the function is compiled for.
                    return unsafe { avx512($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: as above.
                    return unsafe { avx2($($arg),*) };
                }
            }
            body($($arg),*);
        }
    )*};
}

for_each_instruction_set! {
    /// `sum += more`.
    fn add(sum: &mut [f32], more: &[f32]) {
        for (s, m) in sum.iter_mut().zip(more) {
            *s += m;
        }
    }

    /// `to = max(0, from · scale + shift)`, or without the ReLU; rows of `channels`, all dense.
    fn normalise(to: &mut [f32], from: &[f32], scale: &[f32], shift: &[f32], relu: bool) {
        let channels = scale.len();
        let shift = &shift[..channels];
        for (to, from) in to.chunks_exact_mut(channels).zip(from.chunks_exact(channels)) {
            if relu {
                for c in 0..channels {
                    let v = from[c] * scale[c] + shift[c];
                    to[c] = if v < 0.0 { 0.0 } else { v };
                }
            } else {
                for c in 0..channels {
                    to[c] = from[c] * scale[c] + shift[c];
                }
            }
        }
    }

    /// `normalise`, in place.
    fn normalise_in_place(rows: &mut [f32], scale: &[f32], shift: &[f32], relu: bool) {
        let channels = scale.len();
        let shift = &shift[..channels];
        for row in rows.chunks_exact_mut(channels) {
            for c in 0..channels {
                let v = row[c] * scale[c] + shift[c];
                row[c] = if relu && v < 0.0 { 0.0 } else { v };
            }
        }
    }

    /// `to += factor · row`.
    fn add_scaled(to: &mut [f32], row: &[f32], factor: f32) {
        for (t, r) in to.iter_mut().zip(row) {
            *t += factor * r;
        }
    }

    /// `to += factor · (row − mean)`.
    fn add_centred(to: &mut [f32], row: &[f32], mean: &[f32], factor: f32) {
        for ((t, r), m) in to.iter_mut().zip(row).zip(mean) {
            *t += factor * (r - m);
        }
    }

    /// `to = −row`.
    fn negate(to: &mut [f32], row: &[f32]) {
        for (t, r) in to.iter_mut().zip(row) {
            *t = -r;
        }
    }

    /// Subtracts `mean` from each row.
    fn subtract_row(rows: &mut [f32], mean: &[f32]) {
        for row in rows.chunks_exact_mut(mean.len()) {
            for (x, m) in row.iter_mut().zip(mean) {
                *x -= m;
            }
        }
    }

    /// `sum[c]` += the column's sum. `sum.len()` channels a row.
    fn column_sums(rows: &[f32], sum: &mut [f32]) {
        for row in rows.chunks_exact(sum.len()) {
            for (s, x) in sum.iter_mut().zip(row) {
                *s += x;
            }
        }
    }

    /// `square[c]` += the sum of (x − mean)² of the column.
    fn column_squares(rows: &[f32], mean: &[f32], square: &mut [f32]) {
        let channels = square.len();
        let mean = &mean[..channels];
        for row in rows.chunks_exact(channels) {
            for c in 0..channels {
                let d = row[c] - mean[c];
                square[c] += d * d;
            }
        }
    }

    /// Zeroes the gradient where the ReLU was shut (`y · scale + shift` not above 0), and adds up
    /// `sum[c] += g` and `dot[c] += g · (y − mean) · rstd`.
    fn mask_and_sum(g: &mut [f32], y: &[f32], scale: &[f32], shift: &[f32], mean: &[f32], rstd: &[f32], relu: bool, sum: &mut [f32], dot: &mut [f32]) {
        let n = sum.len();
        let (scale, shift, mean, rstd, dot) = (&scale[..n], &shift[..n], &mean[..n], &rstd[..n], &mut dot[..n]);
        for (g, y) in g.chunks_exact_mut(n).zip(y.chunks_exact(n)) {
            for c in 0..n {
                let open = !relu || y[c] * scale[c] + shift[c] > 0.0;
                let v = if open { g[c] } else { 0.0 };
                g[c] = v;
                sum[c] += v;
                dot[c] += v * ((y[c] - mean[c]) * rstd[c]);
            }
        }
    }

    /// The gradient before batch norm: `to = u·g + a + b·(y − mean)`.
    fn before_norm(to: &mut [f32], g: &[f32], y: &[f32], mean: &[f32], u: &[f32], a: &[f32], b: &[f32]) {
        let n = u.len();
        let (mean, a, b) = (&mean[..n], &a[..n], &b[..n]);
        for ((to, g), y) in to.chunks_exact_mut(n).zip(g.chunks_exact(n)).zip(y.chunks_exact(n)) {
            for c in 0..n {
                to[c] = u[c] * g[c] + a[c] + b[c] * (y[c] - mean[c]);
            }
        }
    }
}
