//! Known wrong answers to exercise 6.4.

use super::*;

pub const MISTAKES: &[Mistake<Lesson06>] = &[
    wrong!("6.4", backs_off_after_an_overflow, "An overflow leaves the scale as it is; multiply it by `backoff`.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (s.growth, 1.0), ..FOLLOW })),
    wrong!("6.4", backs_off_after_an_overflow, "The scale is divided by `backoff`; multiply by it.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (s.growth, 1.0 / s.backoff), ..FOLLOW })),
    wrong!("6.4", backs_off_after_an_overflow, "The scale is always halved; multiply by `backoff`.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (s.growth, 0.5), ..FOLLOW })),
    wrong!("6.4", backs_off_after_an_overflow, "Overflow and good step are swapped.",
        update_scale: |s, inf| followed(s, !inf, FOLLOW)),
    wrong!("6.4", grows_after_the_interval, "The scale grows one step late: it should grow when `good` reaches `interval`.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |good, interval| good > interval, ..FOLLOW })),
    wrong!("6.4", grows_after_the_interval, "The scale grows one step early: count the step first.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |good, interval| good + 1 >= interval, ..FOLLOW })),
    wrong!("6.4", grows_after_the_interval, "The scale is always doubled; multiply by `growth`.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (2.0, s.backoff), ..FOLLOW })),
    wrong!("6.4", grows_after_the_interval, "The interval is always 2,000; use `interval`.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |good, _| good >= 2000, ..FOLLOW })),
    wrong!("6.4", resets_the_count_after_an_overflow, "Good steps before an overflow still count; the steps must be consecutive.",
        update_scale: |s, inf| followed(s, inf, Follow { forgets: false, ..FOLLOW })),
    wrong!("6.4", resets_the_count_after_an_overflow, "The step that overflowed is counted as a good one.",
        update_scale: |s, inf| followed(s, inf, Follow { counts_bad: true, ..FOLLOW })),
    wrong!("6.4", resets_the_count_after_growth, "The count does not restart after the scale grew, so that it grows at every further step.",
        update_scale: |s, inf| followed(s, inf, Follow { begins_anew: false, ..FOLLOW })),
    wrong!("6.4", stays_within_fp32, "The scale grows beyond the range of f32; it should stay unchanged then.",
        update_scale: |s, inf| followed(s, inf, Follow { most: f64::INFINITY, ..FOLLOW })),
    wrong!("6.4", stays_within_fp32, "The scale stays, but the count of good steps must still restart at 0.",
    update_scale: |s, inf| {
        let (before, due) = (s.scale, !inf && s.good + 1 >= s.interval);
        let good = s.good + 1;
        followed(s, inf, FOLLOW);
        if due && s.scale == before { s.good = good; }
    }),
    wrong!("6.4", backs_off_after_an_overflow, "An overflow sets the scale back to 65,536; multiply it by `backoff`.",
        update_scale: |s, inf| { followed(s, inf, FOLLOW); if inf { s.scale = 65536.0; } }),
    wrong!("6.4", backs_off_after_an_overflow, "An overflow starts from 65,536 again; multiply the current scale by `backoff`.",
        update_scale: |s, inf| { followed(s, inf, FOLLOW); if inf { s.scale = 65536.0 * s.backoff; } }),
    wrong!("6.4", backs_off_after_an_overflow, "The backoff is subtracted; multiply by it.",
        update_scale: |s, inf| { let before = s.scale; followed(s, inf, FOLLOW); if inf { s.scale = before - s.backoff; } }),
    wrong!("6.4", grows_after_the_interval, "The growth is added; multiply by it.",
        update_scale: |s, inf| { let before = s.scale; followed(s, inf, FOLLOW); if s.scale > before { s.scale = before + s.growth; } }),
    wrong!("6.4", grows_after_the_interval, "The count restarts at 1; it restarts at 0, because the step that grew the scale belongs to the interval that has ended.",
        update_scale: |s, inf| { let due = !inf && s.good + 1 >= s.interval; followed(s, inf, FOLLOW); if due { s.good = 1; } }),
    wrong!("6.4", grows_after_the_interval, "The scale does not grow beyond 65,536 here; only `f32::MAX` limits it.",
        update_scale: |s, inf| { followed(s, inf, Follow { most: 65536.0, ..FOLLOW }) }),
    wrong!("6.4", grows_after_the_interval, "Nothing changes after a good step: `state` is a reference, so change its fields, not a copy.",
        update_scale: |s, inf| if inf { followed(s, inf, FOLLOW) }),
    wrong!("6.4", grows_after_the_interval, "The scale grows after every good step; count them, and compare with `interval`.",
        update_scale: |s, inf| followed(s, inf, Follow { due: |_, _| true, ..FOLLOW })),
    wrong!("6.4", backs_off_after_an_overflow, "`state` does not change: it is a reference, so change its fields, not a copy.",
        update_scale: |_, _| {}),
    wrong!("6.4", resets_the_count_after_an_overflow, "An overflow takes one off the count; the count restarts at 0.",
    update_scale: |s, inf| {
        let good = s.good;
        followed(s, inf, FOLLOW);
        if inf { s.good = good.saturating_sub(1); }
    }),
    wrong!("6.4", resets_the_count_after_an_overflow, "An overflow after good steps does not reduce the scale (that is DeepSpeed's rule); each overflow does.",
    update_scale: |s, inf| {
        let (scale, good) = (s.scale, s.good);
        followed(s, inf, FOLLOW);
        if inf && good > 0 { s.scale = scale; }
    }),
    wrong!("6.4", backs_off_after_an_overflow, "An overflow right after another one changes nothing here; each overflow reduces the scale.",
    update_scale: |s, inf| {
        let (scale, good) = (s.scale, s.good);
        followed(s, inf, FOLLOW);
        if inf && good == 0 { s.scale = scale; }
    }),
    wrong!("6.4", stays_within_fp32, "2^127 is below `f32::MAX`, so the scale must grow to it: compare the new scale with `f64::from(f32::MAX)`.",
        update_scale: |s, inf| followed(s, inf, Follow { most: 1.7e38, ..FOLLOW })),
    wrong!("6.4", stays_within_fp32, "`f32::MAX` itself is not above `f32::MAX`: the scale may become equal to it.",
        update_scale: |s, inf| followed(s, inf, Follow { most: f32::MAX as f64 * 0.9999999, ..FOLLOW })),
    wrong!("6.4", stays_within_fp32, "The scale becomes `f32::MAX` where the new one would be above it; it should not change then.",
        update_scale: |s, inf| { followed(s, inf, Follow { most: f64::INFINITY, ..FOLLOW }); s.scale = s.scale.min(f64::from(f32::MAX)); }),
    wrong!("6.4", has_no_lower_limit, "The scale stops at 1; it may become smaller.",
        update_scale: |s, inf| { followed(s, inf, FOLLOW); if inf { s.scale = s.scale.max(1.0); } }),
    wrong!("6.4", has_no_lower_limit, "A scale too small for a normal f32 is refused; only a scale above `f32::MAX` is.",
    update_scale: |s, inf| {
        let before = s.scale;
        followed(s, inf, FOLLOW);
        if inf && s.scale < f64::from(f32::MIN_POSITIVE) { s.scale = before; }
    }),
    wrong!("6.4", grows_after_the_interval, "`good` runs on past the interval; it restarts at 0 when the scale grows.",
    update_scale: |s, inf| {
        if inf { return followed(s, inf, FOLLOW); }
        s.good += 1;
        let grown = s.scale * s.growth;
        if s.good % s.interval == 0 && grown <= f64::from(f32::MAX) { s.scale = grown; }
    }),
    wrong!("6.4", backs_off_after_an_overflow, "The scale is computed in f32, which loses bits; its fields are f64.",
        update_scale: |s, inf| { followed(s, inf, FOLLOW); s.scale = f64::from(s.scale as f32); }),
    wrong!("6.4", backs_off_after_an_overflow, "The scale is computed in f32, which loses bits; its fields are f64.",
    update_scale: |s, inf| {
        let scale = s.scale as f32 * s.backoff as f32;
        followed(s, inf, FOLLOW);
        if inf { s.scale = f64::from(scale); }
    }),
    wrong!("6.4", grows_after_the_interval, "The new scale is computed in f32, which loses bits; its fields are f64.",
    update_scale: |s, inf| {
        let before = s.scale;
        followed(s, inf, FOLLOW);
        if s.scale > before { s.scale = f64::from(s.scale as f32); }
    }),
    wrong!("6.4", grows_after_the_interval, "The new scale is computed in f32, which loses bits; its fields are f64.",
    update_scale: |s, inf| {
        let (before, growth) = (s.scale, s.growth as f32);
        followed(s, inf, FOLLOW);
        if s.scale > before { s.scale = f64::from(before as f32 * growth); }
    }),
    wrong!("6.4", backs_off_after_an_overflow, "The scale is divided by `growth`; multiply it by `backoff`.",
        update_scale: |s, inf| followed(s, inf, Follow { by: |s| (s.growth, 1.0 / s.growth), ..FOLLOW })),
    wrong!("6.4", backs_off_after_an_overflow, "An overflow is counted as a good step, and the count does not restart; set it to 0.",
        update_scale: |s, inf| followed(s, inf, Follow { forgets: false, counts_bad: true, ..FOLLOW })),
];
