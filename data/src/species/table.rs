//! The coefficients of the seven species.
//!
//! The forms of the equations have sources, which are named where they are used. The coefficients are our own choice, such that
//! sizes and looks are plausible for stands of central Europe and overlap between species.

use super::{Arrangement, Branching, Foliage, Habit, Profile, Species};

const fn profile(peak: f64, upper: f64, lower: f64, base: f64) -> Profile {
    Profile {
        peak,
        upper,
        lower,
        base,
    }
}

const fn order(
    spacing: f64,
    angle: [f64; 2],
    lift: [f64; 2],
    wander: f64,
    length: f64,
    flat: f64,
) -> Branching {
    Branching {
        spacing,
        angle,
        lift,
        wander,
        length,
        flat,
    }
}

const fn foliage(
    area_index: f64,
    aspect: f64,
    spread: f64,
    level: f64,
    hang: f64,
    outer: f64,
    reflectance: f64,
) -> Foliage {
    Foliage {
        area_index,
        aspect,
        spread,
        level,
        hang,
        outer,
        reflectance,
    }
}

const fn whorled(count: f64, between: f64) -> Arrangement {
    Arrangement::Whorled { count, between }
}

/// The species, in the order of their labels. The arguments of a row are the fields of its type, in their order.
pub static SPECIES: [Species; 7] = [
    Species {
        name: "European beech",
        scientific: "Fagus sylvatica",
        habit: Habit {
            conifer: false,
            petterson: [1.9, 0.289],
            crown_width: [0.80, 0.65],
            crown_ratio: [0.86, 0.66],
            profile: profile(0.60, 1.9, 1.5, 0.25),
            lobes: 0.10,
            leaders: 3,
            fork: [0.25, 0.75],
            fork_angle: 22.0,
            stem_wander: 0.02,
            arrangement: Arrangement::Spiral,
            orders: &[
                order(0.36, [22.0, 52.0], [0.10, 0.10], 0.09, 1.0, 0.0),
                order(0.40, [40.0, 55.0], [0.05, 0.0], 0.12, 0.55, 0.75),
                order(0.30, [45.0, 55.0], [0.0, 0.0], 0.15, 0.5, 0.85),
            ],
            dead: 0.15,
            pipe: 2.3,
            bark: 0.45,
            foliage: foliage(4.6, 1.6, 0.10, 0.75, 0.1, 1.0, 0.50),
        },
    },
    Species {
        name: "Douglas fir",
        scientific: "Pseudotsuga menziesii",
        habit: Habit {
            conifer: true,
            petterson: [1.9, 0.277],
            crown_width: [0.74, 0.69],
            crown_ratio: [0.68, 0.46],
            profile: profile(0.74, 1.5, 1.6, 0.5),
            lobes: 0.10,
            leaders: 1,
            fork: [0.0, 0.0],
            fork_angle: 0.0,
            stem_wander: 0.008,
            arrangement: whorled(4.5, 3.5),
            orders: &[
                order(0.62, [38.0, 80.0], [0.10, 0.05], 0.07, 1.0, 0.0),
                order(0.26, [50.0, 62.0], [-0.05, -0.12], 0.12, 0.5, 0.6),
            ],
            dead: 2.5,
            pipe: 2.2,
            bark: 0.35,
            foliage: foliage(5.2, 2.4, 0.12, 0.2, 0.15, 0.85, 0.42),
        },
    },
    Species {
        name: "oak",
        scientific: "Quercus robur / Quercus petraea",
        habit: Habit {
            conifer: false,
            petterson: [1.95, 0.306],
            crown_width: [1.05, 0.67],
            crown_ratio: [0.76, 0.54],
            profile: profile(0.52, 2.5, 1.6, 0.40),
            lobes: 0.20,
            leaders: 4,
            fork: [0.0, 0.35],
            fork_angle: 42.0,
            stem_wander: 0.04,
            arrangement: Arrangement::Spiral,
            orders: &[
                order(0.42, [45.0, 80.0], [0.05, 0.05], 0.30, 1.05, 0.0),
                order(0.50, [50.0, 65.0], [0.06, 0.06], 0.36, 0.55, 0.1),
                order(0.32, [50.0, 60.0], [0.05, 0.05], 0.40, 0.45, 0.0),
            ],
            dead: 0.35,
            pipe: 2.4,
            bark: 0.33,
            foliage: foliage(3.2, 1.3, 0.16, 0.2, 0.0, 0.55, 0.46),
        },
    },
    Species {
        name: "ash",
        scientific: "Fraxinus excelsior",
        habit: Habit {
            conifer: false,
            petterson: [1.9, 0.285],
            crown_width: [0.70, 0.64],
            crown_ratio: [0.62, 0.42],
            profile: profile(0.30, 1.8, 1.05, 0.08),
            lobes: 0.15,
            leaders: 3,
            fork: [0.0, 0.3],
            fork_angle: 26.0,
            stem_wander: 0.02,
            arrangement: Arrangement::Opposite,
            orders: &[
                order(0.8, [25.0, 42.0], [0.14, 0.14], 0.09, 1.0, 0.0),
                order(0.75, [42.0, 50.0], [0.16, 0.14], 0.12, 0.5, 0.0),
                order(0.50, [45.0, 50.0], [0.20, 0.20], 0.12, 0.4, 0.0),
            ],
            dead: 0.15,
            pipe: 2.2,
            bark: 0.40,
            foliage: foliage(1.8, 2.2, 0.22, 0.15, 0.35, 0.4, 0.48),
        },
    },
    Species {
        name: "Norway spruce",
        scientific: "Picea abies",
        habit: Habit {
            conifer: true,
            petterson: [1.9, 0.283],
            crown_width: [0.57, 0.66],
            crown_ratio: [0.90, 0.64],
            profile: profile(0.93, 1.12, 1.4, 0.80),
            lobes: 0.06,
            leaders: 1,
            fork: [0.0, 0.0],
            fork_angle: 0.0,
            stem_wander: 0.006,
            arrangement: whorled(5.5, 2.0),
            orders: &[
                order(0.50, [58.0, 112.0], [0.08, 0.14], 0.04, 1.0, 0.0),
                order(0.20, [55.0, 62.0], [-0.15, -0.75], 0.08, 0.42, 0.95),
            ],
            dead: 4.0,
            pipe: 2.2,
            bark: 0.38,
            foliage: foliage(6.0, 3.2, 0.05, 0.1, 0.5, 0.9, 0.40),
        },
    },
    Species {
        name: "Scots pine",
        scientific: "Pinus sylvestris",
        habit: Habit {
            conifer: true,
            petterson: [1.9, 0.298],
            crown_width: [0.82, 0.64],
            crown_ratio: [0.36, 0.18],
            profile: profile(0.66, 2.7, 2.2, 0.5),
            lobes: 0.20,
            leaders: 2,
            fork: [0.5, 0.9],
            fork_angle: 30.0,
            stem_wander: 0.025,
            arrangement: whorled(3.2, 0.0),
            orders: &[
                order(0.55, [55.0, 88.0], [0.10, 0.10], 0.20, 1.0, 0.0),
                order(0.42, [42.0, 55.0], [0.25, 0.25], 0.20, 0.45, 0.3),
            ],
            dead: 0.8,
            pipe: 2.3,
            bark: 0.42,
            foliage: foliage(2.4, 1.2, 0.14, 0.0, 0.0, 0.4, 0.41),
        },
    },
    Species {
        name: "red oak",
        scientific: "Quercus rubra",
        habit: Habit {
            conifer: false,
            petterson: [1.9, 0.292],
            crown_width: [1.0, 0.66],
            crown_ratio: [0.52, 0.38],
            profile: profile(0.80, 2.0, 2.2, 0.80),
            lobes: 0.12,
            leaders: 2,
            fork: [0.35, 0.8],
            fork_angle: 30.0,
            stem_wander: 0.025,
            arrangement: Arrangement::Spiral,
            orders: &[
                order(0.40, [48.0, 84.0], [0.06, 0.03], 0.13, 1.0, 0.0),
                order(0.40, [48.0, 60.0], [0.04, 0.04], 0.18, 0.52, 0.3),
                order(0.30, [48.0, 58.0], [0.02, 0.02], 0.2, 0.45, 0.3),
            ],
            dead: 0.3,
            pipe: 2.3,
            bark: 0.42,
            foliage: foliage(3.6, 1.4, 0.16, 0.45, 0.15, 0.7, 0.47),
        },
    },
];
