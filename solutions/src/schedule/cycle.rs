use serde::{Deserialize, Serialize};

/// DeepSpeed's OneCycle: a straight line up from the minimum to the peak learning rate and back down, then an optional decay
/// below the minimum. Not PyTorch's OneCycleLR, which is [`OneCycle`](super::OneCycle). A key of DeepSpeed's JSON is an alias.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cycle {
    /// The learning rate at both ends.
    #[serde(alias = "cycle_min_lr")]
    pub min: f64,
    /// Steps from the minimum to the peak, at least 1.
    #[serde(alias = "cycle_first_step_size", default = "two_thousand")]
    pub up: u64,
    /// Steps from the peak to the minimum, at least 1; as many as `up` if it is not set.
    #[serde(alias = "cycle_second_step_size")]
    pub down: Option<u64>,
    /// Number of equal stairs on the way up; 0: a straight line.
    #[serde(alias = "cycle_first_stair_count", default)]
    pub up_stairs: u64,
    /// Likewise on the way down; as many as `up_stairs` if it is not set.
    #[serde(alias = "cycle_second_stair_count")]
    pub down_stairs: Option<u64>,
    /// After the cycle: the minimum is divided by 1 + this × steps / `decay_steps`.
    #[serde(alias = "decay_lr_rate", default)]
    pub decay: f64,
    /// See `decay`; 0: no decay.
    #[serde(alias = "decay_step_size", default)]
    pub decay_steps: u64,
}

fn two_thousand() -> u64 {
    2000
}

impl Cycle {
    /// The learning rate of step `step`, counted from 0, with peak learning rate `greatest`.
    pub fn rate(&self, step: u64, greatest: f64) -> f64 {
        let down = self.down.unwrap_or(self.up);
        let total = self.up.saturating_add(down);
        // At step `total` the cycle is back at its start; the decay begins in the step after it.
        if step <= total {
            return self.min + (greatest - self.min) * self.height(step % total, down);
        }
        if self.decay_steps == 0 {
            return self.min;
        }
        self.min / (1.0 + self.decay * ((step - total) as f64 / self.decay_steps as f64))
    }

    /// The height of `step` of the cycle above the minimum, as a share of that of the peak.
    fn height(&self, step: u64, down: u64) -> f64 {
        let (taken, of, stairs) = match step <= self.up {
            true => (step, self.up, self.up_stairs),
            false => (
                down - (step - self.up),
                down,
                self.down_stairs.unwrap_or(self.up_stairs),
            ),
        };
        match stairs {
            0 => taken as f64 / of as f64,
            _ => (taken as f64 * stairs as f64 / of as f64).floor() / stairs as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the formula of `_get_scale_factor` in `deepspeed/runtime/lr_schedules.py`.
    #[test]
    fn stairs_keep_the_rate_and_without_decay_the_minimum_follows() {
        let json = r#"{"min": 0, "up": 6, "down": 4, "up-stairs": 3, "down-stairs": 2, "decay": 1}"#;
        let cycle: Cycle = serde_json::from_str(json).expect("a cycle");
        let rate = |step| (cycle.rate(step, 3.0) * 2.0).round() / 2.0;
        let expected = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 1.5, 1.5, 0.0, 0.0, 0.0, 0.0];
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(rate), expected);
        let (up, down) = (u64::MAX, None);
        assert!(Cycle { up, down, ..cycle }.rate(u64::MAX, 1.0).is_finite());
    }
}
