//! 13.5: the cost of a search, and how many trials a budget allows.

use canopy::search::{Halving, Rung};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson13, REFERENCE, answers};

/// Epochs and trials of each rung, seconds, devices, watts.
type Priced = (Vec<(u64, usize)>, f64, usize, f64);

/// `fewest`, `most`, eta; seconds, devices.
type Search = ([u64; 3], f64, usize);

fn costs(answer: &Lesson13, (rungs, seconds, devices, watts): Priced) -> Verdict {
    let list: Vec<Rung> = rungs
        .iter()
        .map(|&(epochs, trials)| Rung { epochs, trials })
        .collect();
    let of = |lesson: &Lesson13| {
        let cost = (lesson.cost)(&list, seconds, devices, watts);
        Facts::default()
            .values("device hours", cost.device_hours)
            .values("kilowatt hours", cost.kilowatt_hours)
            .cause("Kilowatt hours are device hours times watts, divided by 1000. Device hours include all devices already.")
            .asked("devices of `watts` each")
    };
    let text =
        format!("rungs (epochs, trials) {rungs:?}, {seconds} seconds, {devices} devices, {watts} watts");
    given(text).same(of(answer), of(&REFERENCE))
}

/// A budget of the device hours that `trials` trials take, and of a part of what the first rung of one more takes.
fn within(answer: &Lesson13, ((search, trials), part): ((Search, usize), f64)) -> Verdict {
    let ([fewest, most, eta], seconds, devices) = search;
    let rungs = if trials > 0 {
        (REFERENCE.rungs)(trials, fewest, most, eta)
    } else {
        Vec::new()
    };
    let one_more = fewest as f64 * seconds * devices as f64 / 3600.0;
    let hours = (REFERENCE.cost)(&rungs, seconds, devices, 0.0).device_hours + part * one_more;
    let of =
        |lesson: &Lesson13| (lesson.trials_within)(hours, &Halving { fewest, most, eta }, seconds, devices);
    let search = format!("fewest {fewest}, most {most}, eta {eta}, {seconds} seconds, {devices} devices");
    given(format!("{hours} device hours, {search}")).close("trials", of(answer), of(&REFERENCE))
}

fn search(d: &mut Draw) -> Search {
    let fewest = d.whole(1, 3) as u64;
    let most = fewest + d.whole(4, 60) as u64;
    (
        [fewest, most, d.whole(2, 4) as u64],
        d.whole(10, 900) as f64,
        d.whole(2, 8),
    )
}

pub const CHECKS: &[Check<Lesson13>] = rows! { "13.5";
    by costs {
        multiplies_trials_epochs_seconds_and_devices: "A trial trains an epoch in `seconds`, on `devices` devices",
            "Device hours of a rung are trials · epochs · seconds · devices / 3600." => |d| {
            let (trials, devices, seconds) = (d.whole(2, 30), d.whole(2, 16), d.number(1.0, 500.0).round());
            vec![(vec![(9, 8)], 30.0, 1, 0.0), (vec![(2, trials)], 7.5, devices, 0.0), (vec![(1, 1)], seconds, devices, 0.0)]
        };
        computes_the_energy: "devices of `watts` each",
            "Kilowatt hours are device hours times watts, divided by 1000. Device hours include all devices already." => |d| {
            let (watts, seconds) = (d.whole(60, 700) as f64, d.number(1.0, 500.0).round());
            vec![(vec![(10, 6)], 60.0, 1, 250.0), (vec![(3, d.whole(2, 30))], seconds, d.whole(2, 16), watts)]
        };
        continues_promoted_trials: "a rung costs only the epochs beyond the rung before",
            "Multiply the trials of a rung by its epochs less those of the rung before, which are already trained." => |d| {
            let rungs = vec![(1, 27), (3, 9), (9, 3), (27, 1)];
            let mut all = vec![(rungs.clone(), 3600.0, 1, 0.0), (vec![(4, d.whole(5, 9)), (7, 2)], 1800.0, 1, 1000.0), (rungs, 20.0, 4, 400.0)];
            for _ in 0..4 {
                let ([fewest, most, eta], seconds, devices) = search(d);
                let rungs = (REFERENCE.rungs)(d.whole(1, 200), fewest, most, eta);
                let rungs = rungs.iter().map(|rung| (rung.epochs, rung.trials)).collect();
                all.push((rungs, seconds, devices, d.whole(60, 700) as f64));
            }
            all
        };
    }
    by within {
        finds_the_greatest_number_of_trials: "the greatest number of trials whose `rungs` take at most `hours` device hours",
            "Compute the device hours of 1, 2, 3, … trials by your `rungs` (13.2) and `cost`, on all devices: the last number that fits is the result." => |d| {
            let whole = ([4, 4, 2], 600.0, 1);
            let mut all = vec![((whole, d.whole(2, 9)), 0.5), ((([1, 27, 3], 60.0, 2), 27), 0.5), ((([1, 27, 3], 60.0, 2), 26), 0.5)];
            all.extend((0..6).map(|_| ((search(d), d.whole(1, 150)), d.number(0.2, 0.8))));
            all
        };
        includes_the_limit: "at most `hours` device hours",
            "Trials that take exactly `hours` fit: compare with `<=`." => |d| {
            // Whole hours and quarters of them are exact in f64, in any order of computation.
            let quarters = [3600.0, 900.0, 1800.0].map(|seconds| (([1, 9, 3], seconds, 1 << d.whole(0, 3)), d.whole(1, 60)));
            quarters.map(|search| (search, 0.0)).into()
        };
        is_0_if_no_trial_fits: "or 0 if not even one trial fits",
            "If one trial takes more than `hours`, the result is 0." => |d| vec![((search(d), 0), 0.5), ((search(d), 0), 0.0), ((([9, 9, 2], 100.0, 4), 0), 0.75)];
    }
};

pub const MISTAKES: &[Mistake<Lesson13>] = mistakes! { "13.5" [cost, trials_within];
    1 "The devices are not counted: an hour on 4 devices is 4 device hours.";
    2 "These are watt hours: a kilowatt hour has 1000.";
    3 "The devices are counted twice in the energy: device hours include them.";
    4 "A promoted trial is paid from its start again; it continues from its checkpoint.";
    5 "Every trial is paid for `most` epochs; most are stopped early.";
    6 "Only rung 0 is paid; promoted trials train on.";
    7 "Trials that take exactly `hours` do not count, but they fit: `<=`.";
    8 "At least one trial is returned, even if it does not fit.";
};
