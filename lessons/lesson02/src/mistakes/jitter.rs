//! Known wrong answers to exercise 2.7.

use super::*;

pub const MISTAKES: &[Mistake<Lesson02>] = &[
    wrong!("2.7", adds_a_draw_to_each_coordinate, "One draw moves all three coordinates of a point; each has its own.",
    jitter: |points, deviation, random| for p in points {
        let noise = cut(random.normal()) * deviation;
        p.iter_mut().for_each(|c| *c += noise);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "All x are drawn first, then all y; draw point by point.",
    jitter: |points, deviation, random| for a in 0..3 {
        points.iter_mut().for_each(|p| p[a] += cut(random.normal()) * deviation);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise is uniform; `random.normal()` draws from a normal distribution.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten() {
        *c += random.range(-1.0, 1.0) as f32 * deviation;
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise multiplies the coordinate; it is added.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c * (1.0 + cut(draw) * d))),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise comes from a new generator; all randomness must come from `random`.",
        jitter: |points, deviation, _| (REFERENCE.jitter)(points, deviation, &mut Philox::new(0, 0))),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The noise is scaled by the variance, the square of the deviation.",
        jitter: |points, deviation, random| (REFERENCE.jitter)(points, deviation * deviation, random)),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The deviation is ignored unless it is 0.",
        jitter: |points, deviation, random| (REFERENCE.jitter)(points, deviation.min(f32::MIN_POSITIVE) / f32::MIN_POSITIVE, random)),
    wrong!("2.7", clamps_draws_at_5, "Draws are not clamped: one draw in two million moves a point far away.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw as f32 * d)),
    wrong!("2.7", clamps_draws_at_5, "The noise is clamped to ±5 units of the cloud; clamp the draw, then scale it.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + (draw as f32 * d).clamp(-5.0, 5.0))),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise is clamped to ±0.05, which is right for a deviation of 0.01 only; clamp the draw to ±5, then scale it.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + (draw as f32 * d).clamp(-0.05, 0.05))),
    wrong!("2.7", clamps_draws_at_5, "A draw beyond ±5 is treated as 0; it should count as ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| if draw.abs() > 5.0 { c } else { c + draw as f32 * d })),
    wrong!("2.7", clamps_draws_at_5, "A draw beyond ±5 is drawn again; it should count as ±5.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten() {
        let kept = std::iter::repeat_with(|| random.normal()).find(|draw| draw.abs() <= 5.0);
        *c += kept.unwrap_or(0.0) as f32 * deviation;
    }),
    wrong!("2.7", leaves_the_cloud_unchanged_without_noise, "The noise replaces the coordinate; add it to the coordinate.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |_, draw, d| cut(draw) * d)),
    wrong!("2.7", advances_the_generator, "The draws come from a copy of `random`: the next cloud would get the same noise.",
        jitter: |points, deviation, random| (REFERENCE.jitter)(points, deviation, &mut random.clone())),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The height gets no noise, and no draw; every coordinate has one.",
    jitter: |points, deviation, random| for p in points {
        p[..2].iter_mut().for_each(|c| *c += cut(random.normal()) * deviation);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The height gets no noise; every coordinate does.",
    jitter: |points, deviation, random| for p in points {
        let z = p[2];
        (REFERENCE.jitter)(std::slice::from_mut(p), deviation, random);
        p[2] = z;
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The draws are for z, y, x; the order is x, y, z.",
    jitter: |points, deviation, random| for p in points {
        p.iter_mut().rev().for_each(|c| *c += cut(random.normal()) * deviation);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "There is more than one draw for a coordinate, or one that is not used.",
    jitter: |points, deviation, random| for p in points {
        (REFERENCE.jitter)(std::slice::from_mut(p), deviation, random);
        random.normal();
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "There is more than one draw for a coordinate, or one that is not used.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten() {
        *c += cut(random.normal()) * deviation;
        random.normal();
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "There is more than one draw for a coordinate, or one that is not used.",
    jitter: |points, deviation, random| {
        random.normal();
        (REFERENCE.jitter)(points, deviation, random);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The sign of a draw is lost: all points move the same way.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + cut(draw.abs()) * d)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise is uniform; `random.normal()` draws from a normal distribution.",
        jitter: |points, deviation, random| points.iter_mut().flatten().for_each(|c| *c += random.range(-5.0, 5.0) as f32 * deviation)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "All points get the same noise; there is a draw for each coordinate of each point.",
    jitter: |points, deviation, random| {
        let noise = [(); 3].map(|()| cut(random.normal()) * deviation);
        points.iter_mut().for_each(|p| (0..3).for_each(|a| p[a] += noise[a]));
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "There is one draw for the whole cloud; there is one for each coordinate of each point.",
    jitter: |points, deviation, random| {
        let noise = cut(random.normal()) * deviation;
        points.iter_mut().flatten().for_each(|c| *c += noise);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise is another in each call: it must come from `random` only.",
    jitter: |points, deviation, _| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        (REFERENCE.jitter)(points, deviation, &mut Philox::new(now.as_nanos() as u64, 0));
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise is subtracted; add it.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c - cut(draw) * d)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The draw is rounded to a whole number.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + cut(draw).trunc() * d)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "A coordinate that is 0 gets no noise, and no draw; every coordinate has one.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten().filter(|c| **c != 0.0) {
        *c += cut(random.normal()) * deviation;
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The deviation is added to the draw; the draw is multiplied by it.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + cut(draw) + d)),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The draws are clamped to ±`deviation`; clamp them to ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + (draw as f32 * d).clamp(-d, d))),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The draws are clamped to ±`deviation`; clamp them to ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + (draw as f32).clamp(-d, d) * d)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The coordinate is clamped to ±5; clamp the draw.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| (c + draw as f32 * d).clamp(-5.0, 5.0))),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The noise is scaled by the root of the deviation.",
        jitter: |points, deviation, random| (REFERENCE.jitter)(points, deviation.sqrt(), random)),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The draw is divided by the deviation; multiply it.",
        jitter: |points, deviation, random| if deviation > 0.0 { (REFERENCE.jitter)(points, 1.0 / deviation, random) }),
    wrong!("2.7", clamps_draws_at_5, "A draw beyond ±5 ends the loop; it counts as ±5, and the next coordinates get noise, too.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten() {
        let draw = random.normal();
        if draw.abs() > 5.0 { return }
        *c += draw as f32 * deviation;
    }),
    wrong!("2.7", clamps_draws_at_5, "A draw below −5 counts as +5: the clamp loses its sign.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + if draw.abs() > 5.0 { 5.0 } else { draw as f32 } * d)),
    wrong!("2.7", clamps_draws_at_5, "Only draws above 5 are clamped; those below −5 are, too.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw.min(5.0) as f32 * d)),
    wrong!("2.7", clamps_draws_at_5, "Only draws below −5 are clamped; those above 5 are, too.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw.max(-5.0) as f32 * d)),
    wrong!("2.7", clamps_draws_at_5, "The draws are clamped at less than ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw.clamp(-3.0, 3.0) as f32 * d)),
    wrong!("2.7", clamps_draws_at_5, "The draws are clamped at less than ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw.clamp(-4.0, 4.0) as f32 * d)),
    wrong!("2.7", advances_the_generator, "There is a draw more than the cloud has coordinates: the next cloud gets other noise.",
    jitter: |points, deviation, random| {
        (REFERENCE.jitter)(points, deviation, random);
        random.normal();
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise is uniform; `random.normal()` draws from a normal distribution.",
        jitter: |points, deviation, random| points.iter_mut().flatten().for_each(|c| *c += (2.0 * random.uniform() - 1.0) * deviation)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The points draw from the last to the first; draw in the order of the cloud.",
    jitter: |points, deviation, random| {
        points.reverse();
        (REFERENCE.jitter)(points, deviation, random);
        points.reverse();
    }),
    wrong!("2.7", scales_the_noise_by_the_deviation, "A small deviation is treated as 0; noise is added for every deviation above 0.",
        jitter: |points, deviation, random| (REFERENCE.jitter)(points, if deviation < 1e-6 { 0.0 } else { deviation }, random)),
    wrong!("2.7", clamps_draws_at_5, "A draw beyond ±5 becomes its remainder by 5; it should count as ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + (draw % 5.0) as f32 * d)),
];
