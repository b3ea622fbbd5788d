//! Loops over the channels of a block of rows, compiled for AVX-512, AVX2 and the base instruction set, and
//! chosen at run time. They use no fused multiply-add, so the results of all three are bit-identical.

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

                use $crate::kernels::InstructionSet;
                match InstructionSet::current() {
                    // SAFETY: the machine has the instructions for which the function is compiled.
                    InstructionSet::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    InstructionSet::Avx2 => return unsafe { avx2($($arg),*) },
                    InstructionSet::Base => {}
                }
            }
            body($($arg),*);
        }
    )*};
}

pub(super) use for_each_instruction_set;

use super::steps::AdamFactors;

for_each_instruction_set! {
    /// One step of Adam or AdamW.
    fn adam(w: &mut [f32], g: &[f32], m: &mut [f32], v: &mut [f32], f: &AdamFactors) {
        let n = w.len();
        let (g, m, v) = (&g[..n], &mut m[..n], &mut v[..n]);
        for i in 0..n {
            let g = g[i] + w[i] * f.decay;
            m[i] += (g - m[i]) * f.keep1;
            v[i] = v[i] * f.beta2 + g * g * f.keep2;
            w[i] = w[i] * f.shrink - m[i] / (v[i].sqrt() / f.root + f.eps) * f.size;
        }
    }

    /// LAMB's moments, and the sums of squares of weights and direction.
    fn lamb_moments(w: &[f32], g: &[f32], m: &mut [f32], v: &mut [f32], f: &AdamFactors, sums: &mut [f64; 2]) {
        let n = w.len();
        let (g, m, v) = (&g[..n], &mut m[..n], &mut v[..n]);
        for i in 0..n {
            m[i] += (g[i] - m[i]) * f.keep1;
            v[i] = v[i] * f.beta2 + g[i] * g[i] * f.keep2;
            let r = lamb_direction(w[i], m[i], v[i], f);
            sums[0] += f64::from(w[i]) * f64::from(w[i]);
            sums[1] += f64::from(r) * f64::from(r);
        }
    }

    /// LAMB's step of the given size.
    fn lamb_apply(w: &mut [f32], m: &[f32], v: &[f32], f: &AdamFactors, size: f32) {
        for ((w, &m), &v) in w.iter_mut().zip(m).zip(v) {
            *w -= size * lamb_direction(*w, m, v, f);
        }
    }

    /// One step of SGD, of these learning rate, momentum and decay.
    fn sgd(w: &mut [f32], g: &[f32], kept: &mut [f32], settings: [f32; 3], nesterov: bool) {
        let [lr, momentum, decay] = settings;
        let n = w.len();
        let (g, kept) = (&g[..n], &mut kept[..n]);
        for i in 0..n {
            let g = g[i] + w[i] * decay;
            kept[i] = kept[i] * momentum + g;
            let direction = if nesterov { g + kept[i] * momentum } else { kept[i] };
            w[i] -= direction * lr;
        }
    }

    /// `sum` += the sum of squares, in eight parallel sums.
    fn sum_of_squares(values: &[f32], sum: &mut f64) {
        let mut sums = [0.0_f64; 8];
        let chunks = values.chunks_exact(8);
        for (s, &v) in sums.iter_mut().zip(chunks.remainder()) {
            *s += f64::from(v) * f64::from(v);
        }
        for chunk in chunks {
            for (s, &v) in sums.iter_mut().zip(chunk) {
                *s += f64::from(v) * f64::from(v);
            }
        }
        *sum += sums.iter().sum::<f64>();
    }

    /// The greatest of `top` and the magnitudes of the values, all as bits: infinity is greater than any number, and
    /// NaN is greater than infinity.
    fn greatest_size(values: &[f32], top: &mut u32) {
        *top = values.iter().fold(*top, |top, v| top.max(v.to_bits() & 0x7fff_ffff));
    }

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
            for c in 0..channels {
                let v = from[c] * scale[c] + shift[c];
                to[c] = if relu && v < 0.0 { 0.0 } else { v };
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

    /// `to` = each row minus `mean`.
    fn centre(to: &mut [f32], rows: &[f32], mean: &[f32]) {
        for (to, row) in to.chunks_exact_mut(mean.len()).zip(rows.chunks_exact(mean.len())) {
            for ((t, x), m) in to.iter_mut().zip(row).zip(mean) {
                *t = x - m;
            }
        }
    }

    /// `sum += more`, in f64.
    fn add_wide(sum: &mut [f64], more: &[f32]) {
        for (s, m) in sum.iter_mut().zip(more) {
            *s += f64::from(*m);
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

    /// `square[c]` += the column's sum of (x − mean)².
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

    /// Zeroes the gradient where the ReLU was closed (`y · scale + shift` not above 0), and adds up
    /// `sum[c] += g` and `dot[c] += g · (y − mean) · rstd`.
    fn mask_and_sum(g: &mut [f32], y: &[f32], scale: &[f32], shift: &[f32], mean: &[f32], rstd: &[f32], relu: bool, sum: &mut [f32], dot: &mut [f32]) {
        let n = sum.len();
        let (scale, shift, mean, rstd, dot) = (&scale[..n], &shift[..n], &mean[..n], &rstd[..n], &mut dot[..n]);
        for (g, y) in g.chunks_exact_mut(n).zip(y.chunks_exact(n)) {
            for c in 0..n {
                let y = y[c];
                let open = !relu || y * scale[c] + shift[c] > 0.0;
                let v = if open { g[c] } else { 0.0 };
                g[c] = v;
                sum[c] += v;
                dot[c] += v * ((y - mean[c]) * rstd[c]);
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

/// m̂/(√v̂ + ε) + λw.
#[inline(always)]
fn lamb_direction(w: f32, m: f32, v: f32, f: &AdamFactors) -> f32 {
    (m / f.first) / (v.sqrt() / f.root + f.eps) + f.decay * w
}
