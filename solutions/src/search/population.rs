//! Population-based training: bad members continue from the weights of good ones, with changed hyper-parameters.

use canopy_data::Philox;

use super::{Parameter, Range, Value, best_first};

/// What a hyper-parameter is multiplied by.
const FACTORS: [f64; 2] = [0.8, 1.25];

// ANCHOR: Member
/// A member of the population after a round of training.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its score: higher is better; NaN is worst.
    pub score: f64,
    /// Its hyper-parameters.
    pub values: Vec<(String, Value)>,
}

/// Where a member's weights come from, and its hyper-parameters from now on.
#[derive(Clone, Debug, PartialEq)]
pub struct Heir {
    /// The member whose weights it continues with; its own index if it keeps them.
    pub from: usize,
    /// Its hyper-parameters.
    pub values: Vec<(String, Value)>,
}
// ANCHOR_END: Member

/// Truncation selection, then perturbation (Jaderberg et al. 2017): what each member continues with, in the order of `members`.
///
/// With k = ⌊share·n⌋ of n members, each of the worst k, in order of index, copies weights and hyper-parameters of one of the
/// best k, `best[random.below(k)]` with the best first. Then each number is multiplied by 0.8 or 1.25, `[0.8,
/// 1.25][random.below(2)]`, and clamped to its range in `space`; a number of a [`Range::Choice`] stays and takes no random
/// number. All other members keep theirs. Of equal scores, the lower index is better. `share` is at most ½.
pub fn exploit_and_explore(
    members: &[Member],
    space: &[Parameter],
    share: f64,
    random: &mut Philox,
) -> Vec<Heir> {
    let mut ranked: Vec<usize> = (0..members.len()).collect();
    ranked.sort_by(|&a, &b| best_first(members[a].score, members[b].score));
    let k = (share * members.len() as f64) as usize;
    let (best, worst) = (&ranked[..k], &ranked[members.len() - k..]);
    let heir = |i: usize| {
        let is_worst = worst.contains(&i);
        let from = if is_worst { best[random.below(k)] } else { i };
        let mut values = members[from].values.clone();
        if is_worst {
            values.iter_mut().for_each(|value| explore(value, space, random));
        }
        Heir { from, values }
    };
    (0..members.len()).map(heir).collect()
}

fn explore((name, value): &mut (String, Value), space: &[Parameter], random: &mut Philox) {
    let range = space.iter().find(|p| p.name == *name).map(|p| &p.range);
    let bounded = (value, range);
    if let (Value::Number(number), Some(Range::Log { low, high } | Range::Uniform { low, high })) = bounded {
        *number = (*number * FACTORS[random.below(2)]).clamp(*low, *high);
    }
}
