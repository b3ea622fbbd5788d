//! The schedules of the exercises as curves.

use canopy::{
    report::svg::{LinePlot, Series},
    schedule::{Decay, OneCycle, cosine_with_warmup},
};
use lesson07::Lesson07;

/// Steps of each curve.
const STEPS: u64 = 100;

/// The learning rate of each step by exercises 7.1 to 7.3, and canopy's cosine, all with a peak of 1.
pub fn plot(answer: &Lesson07) -> LinePlot {
    let answer = *answer;
    let cycle = OneCycle::new(1.0, STEPS);
    let line = |name: &str, rate: &dyn Fn(u64) -> f64| {
        Series::new(name, (0..STEPS).map(|step| (step as f64, rate(step))).collect())
    };
    LinePlot::new("The learning rate by schedule", "step", "rate / peak")
        .with(line("warm-up (7.1)", &|step| {
            (answer.scaled_warmup)(step, 20, 0.25, 64, 16)
        }))
        .with(line("one cycle (7.2)", &|step| {
            (answer.one_cycle)(&cycle, step).map_or(f64::NAN, |(rate, _)| rate)
        }))
        .with(
            line("step (7.3)", &|step| {
                (answer.decayed)(&Decay::Step(25), step, 0.5, 1.0)
            })
            .dashed(),
        )
        .with(
            line("exponential (7.3)", &|step| {
                (answer.decayed)(&Decay::Exponential, step, 0.97, 1.0)
            })
            .dashed(),
        )
        .with(line("cosine", &|step| {
            cosine_with_warmup(step, 0, STEPS, 1.0, 0.0)
        }))
        .for_the_book()
}
