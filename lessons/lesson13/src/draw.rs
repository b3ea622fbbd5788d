//! 13.1: the hyper-parameters of a trial.

use canopy::search::{Parameter, Range, Value};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson13, REFERENCE, answers};

/// A space, a seed, the first trial, and the number of trials.
type Input = (Vec<Parameter>, u64, u64, u64);

/// A value as a student reads it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => grader::number(*number),
        Value::Word(word) => word.clone(),
    }
}

/// A space as a student reads it.
pub fn space_text(space: &[Parameter]) -> String {
    let text = |parameter: &Parameter| {
        let range = match &parameter.range {
            Range::Log { low, high } => format!("Log {low} to {high}"),
            Range::Uniform { low, high } => format!("Uniform {low} to {high}"),
            Range::Choice(values) => format!(
                "Choice {}",
                values.iter().map(shown).collect::<Vec<_>>().join(" ")
            ),
        };
        let condition = parameter.only_if.iter();
        let condition = condition.map(|(name, value)| format!(" if {name} = {}", shown(value)));
        format!("{}: {range}{}", parameter.name, condition.collect::<String>())
    };
    space.iter().map(text).collect::<Vec<_>>().join("; ")
}

pub fn parameter(name: &str, range: Range) -> Parameter {
    let name = name.to_owned();
    Parameter {
        name,
        range,
        only_if: None,
    }
}

/// A parameter that is drawn only if the parameter `of` has this value.
fn only_if(name: &str, range: Range, of: &str, value: Value) -> Parameter {
    let only_if = Some((of.to_owned(), value));
    Parameter {
        only_if,
        ..parameter(name, range)
    }
}

pub fn word(word: &str) -> Value {
    Value::Word(word.to_owned())
}

pub fn words(words: &str) -> Range {
    Range::Choice(words.split(' ').map(word).collect())
}

pub fn log(low: f64, high: f64) -> Range {
    Range::Log { low, high }
}

pub fn uniform(low: f64, high: f64) -> Range {
    Range::Uniform { low, high }
}

pub fn numbers(numbers: &[f64]) -> Range {
    Range::Choice(numbers.iter().map(|&number| Value::Number(number)).collect())
}

/// Adds the facts of hyper-parameters to `facts`.
pub fn values_of<'a>(
    facts: Facts,
    whose: &str,
    lists: impl Iterator<Item = &'a Vec<(String, Value)>>,
) -> Facts {
    let (mut names, mut numbers) = (Vec::new(), Vec::new());
    for list in lists {
        let name = |(name, value): &(String, Value)| match value {
            Value::Number(number) => {
                numbers.push(*number);
                name.clone()
            }
            Value::Word(word) => format!("{name} = {word}"),
        };
        names.push(list.iter().map(name).collect::<Vec<_>>());
    }
    facts
        .items(format!("parameters and words of each {whose}"), names)
        .values(format!("numbers of all {whose}s"), &numbers)
}

fn trials(answer: &Lesson13, (space, seed, first, count): Input) -> Verdict {
    let of = |lesson: &Lesson13| {
        let trials = (first..first + count).map(|trial| (lesson.draw)(&space, seed, trial));
        let trials: Vec<Vec<(String, Value)>> = trials.collect();
        values_of(Facts::default(), "trial", trials.iter())
    };
    let text = space_text(&space);
    given(format!("{count} trials from {first} on, seed {seed}; {text}")).same(of(answer), of(&REFERENCE))
}

fn seed(d: &mut Draw) -> u64 {
    d.whole(1, 9_999) as u64
}

/// Three parameters whose values are u itself.
fn units() -> Vec<Parameter> {
    ["a", "b", "c"]
        .map(|name| parameter(name, uniform(0.0, 1.0)))
        .into()
}

pub const CHECKS: &[Check<Lesson13>] = rows! { "13.1";
    by trials {
        draws_from_the_stream_of_the_trial: "`Philox::new(seed, trial)`",
            "Create `Philox::new(seed, trial)` once in each call, and call `uniform` once for each parameter, in order." =>
            |d| vec![(units()[..1].to_vec(), seed(d), 0, 1), (units(), seed(d), 0, 3), (units(), 3, seed(d), 2),
                (units(), u64::MAX - seed(d), 1 << 40, 2)];
        scales_uniform_numbers: "`low + u·(high − low)`",
            "A number of `Uniform` is low + u·(high − low); the bounds may be negative, or equal." => |d| {
            let space = [(2.0, 5.0), (-3.0, -1.0), (-0.5, 0.5), (0.25, 0.25)].map(|(low, high)| parameter("x", uniform(low, high)));
            space.map(|parameter| (vec![parameter], seed(d), 0, 3)).into()
        };
        draws_log_uniform_numbers: "`low·(high/low)^u`",
            "A number of `Log` is low·(high/low)^u, computed in f64: each factor of 10 is equally likely." => |d| {
            let space = [(1e-4, 1e-1), (1.0, 1000.0), (3e-6, 0.02), (0.5, 0.5)].map(|(low, high)| parameter("rate", log(low, high)));
            space.map(|parameter| (vec![parameter], seed(d), 0, 3)).into()
        };
        chooses_each_value_equally_often: "choice `⌊u·n⌋`",
            "Of n choices take the one with index ⌊u·n⌋, which is at most n − 1 because u is below 1." => |d| {
            let choices = [words("sgd adamw lamb"), numbers(&[16.0, 32.0, 64.0, 128.0, 256.0]), words("only"), words("yes no")];
            choices.map(|range| (vec![parameter("choice", range)], seed(d), 0, 24)).into()
        };
        leaves_out_what_its_condition_excludes: "even if its condition leaves it out",
            "Leave a parameter out unless the parameter that `only_if` names was drawn, and has exactly this value." => |d| {
            let momentum = only_if("momentum", uniform(0.0, 0.9), "optimizer", word("sgd"));
            let width = only_if("width", log(8.0, 64.0), "layers", Value::Number(2.0));
            let beta = only_if("beta", words("0.9 0.99"), "optimizer", word("adamw"));
            vec![
                (vec![parameter("optimizer", words("adamw sgd")), momentum], seed(d), 0, 20),
                (vec![parameter("optimizer", words("adamw sgd lamb")), beta], seed(d), 0, 20),
                (vec![parameter("layers", numbers(&[2.0, 3.0])), width], seed(d), 0, 20),
            ]
        };
        uses_a_number_for_each_parameter: "even if its condition leaves it out",
            "Call `uniform` before you look at the condition: later values must not depend on what is left out." => |d| {
            let momentum = only_if("momentum", uniform(0.0, 0.9), "optimizer", word("sgd"));
            let batch = only_if("batch", numbers(&[8.0, 16.0]), "optimizer", word("adamw"));
            let optimizer = parameter("optimizer", words("adamw sgd"));
            let rate = parameter("rate", log(1e-4, 1e-1));
            vec![
                (vec![optimizer.clone(), momentum.clone(), rate.clone()], seed(d), 0, 20),
                (vec![rate, optimizer, batch, momentum, parameter("decay", uniform(0.0, 0.1))], seed(d), 5, 20),
            ]
        };
        follows_conditions_on_conditions: "a parameter left out does not hold",
            "Look for the condition among the values that are part of the result, not among all that were drawn." => |d| {
            let space = vec![
                parameter("schedule", words("constant step cosine")),
                // It has this value whenever it is not left out.
                only_if("every", numbers(&[20.0]), "schedule", word("step")),
                only_if("factor", uniform(0.1, 0.9), "every", Value::Number(20.0)),
                only_if("last", log(1e-6, 1e-3), "schedule", word("cosine")),
                parameter("decay", log(1e-5, 1e-2)),
            ];
            vec![(space.clone(), seed(d), 0, 20), (space, seed(d), seed(d), 20)]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson13>] = mistakes! { "13.1" draw;
    1 "The trial is not used: every trial has the same hyper-parameters.";
    2 "Seed and trial are added, so that searches with neighbouring seeds repeat each other's trials: pass both.";
    3 "All parameters share one number: draw a new one for each.";
    4 "Other random bits are used: `uniform`, once for each parameter.";
    5 "The number of a `Log` is uniform itself; its logarithm must be.";
    6 "Rounding makes the first and the last choice half as likely: take index ⌊u·n⌋.";
    7 "A parameter that is left out draws nothing: all later values then depend on its condition.";
    8 "A condition holds on a parameter that is left out: look only among the values that are kept.";
};
