//! The seven species of the built-in set and the habit by which a forester knows each.
//!
//! The forms of the equations have sources, named where they are used; the coefficients are of our own
//! choosing, such that sizes and looks are plausible for stands of central Europe and overlap between species.

/// A species and how it grows.
#[derive(Debug)]
pub struct Species {
    /// English name: the label.
    pub name: &'static str,
    /// Botanical name.
    pub scientific: &'static str,
    /// How it grows.
    pub habit: Habit,
}

/// How branches stand on their axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrangement {
    /// `count` at each year's node, and `between` single ones a metre on the shoots between.
    Whorled {
        /// Branches of a whorl.
        count: f64,
        /// Branches a metre between whorls.
        between: f64,
    },
    /// Two at a node, each pair at right angles to the last.
    Opposite,
    /// One at a node, each turned by the golden angle (137.5°).
    Spiral,
}

/// The outline of a crown, as radius over relative depth below the top.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Relative depth of the widest place: 0 top, 1 crown base.
    pub peak: f64,
    /// Roundness above it: 1 a cone, 2 an ellipse, more is flatter on top.
    pub upper: f64,
    /// Roundness below it.
    pub lower: f64,
    /// Radius at the crown base, relative to the widest.
    pub base: f64,
}

/// How one order of branching grows.
#[derive(Clone, Copy, Debug)]
pub struct Branching {
    /// Metres between nodes, on a tree whose crown is 10 m long.
    pub spacing: f64,
    /// Angle to the parent axis at the parent's top and base, degrees.
    pub angle: [f64; 2],
    /// Bend towards the sky (positive) or the ground, per metre, at the parent's top and base.
    pub lift: [f64; 2],
    /// Random change of direction per square root of a metre, radians.
    pub wander: f64,
    /// Length relative to what is left of the parent; for branches of the stem, reach relative to the outline.
    pub length: f64,
    /// How far the branches turn into the horizontal plane of their parent: 0 all round, 1 flat like a comb.
    pub flat: f64,
}

/// Leaves or needles.
#[derive(Clone, Copy, Debug)]
pub struct Foliage {
    /// One-sided area over the crown's projection (leaf area index of the single crown).
    pub area_index: f64,
    /// Length over width of an element (a spray of leaves, a shoot with needles).
    pub aspect: f64,
    /// Distance from the twig, metres.
    pub spread: f64,
    /// How level the elements lie: 0 at random, 1 level.
    pub level: f64,
    /// How much elements hang: 0 along the twig, 1 straight down.
    pub hang: f64,
    /// Share of each twig, from its tip, that bears foliage.
    pub outer: f64,
    /// Reflectance at the scanner's wavelength, near infrared.
    pub reflectance: f64,
}

/// The habit of a species: size, crown, branching and foliage.
#[derive(Debug)]
pub struct Habit {
    /// Needles, and one stem to the top.
    pub conifer: bool,
    /// a and b of Petterson's height curve h = 1.3 + (d / (a + b d))³, d in cm, h in m (coefficients chosen).
    pub petterson: [f64; 2],
    /// c and e of the crown's width w = c dᵉ, d in cm, w in m (allometric form; coefficients chosen).
    pub crown_width: [f64; 2],
    /// Crown length over height of a free-standing and of a hard-pressed tree.
    pub crown_ratio: [f64; 2],
    /// Outline of the crown.
    pub profile: Profile,
    /// Irregularity of the outline: relative amplitude of its lobes.
    pub lobes: f64,
    /// Leaders after the stem has forked, at most; 1 never forks.
    pub leaders: usize,
    /// Relative height of the fork within the crown, least and most: 0 crown base.
    pub fork: [f64; 2],
    /// Angle of leaders to the stem, degrees.
    pub fork_angle: f64,
    /// Random change of direction of the stem per square root of a metre, radians.
    pub stem_wander: f64,
    /// Arrangement of branches.
    pub arrangement: Arrangement,
    /// Branches of the stem, their branches, and so on.
    pub orders: &'static [Branching],
    /// Dead branches a metre of stem under the crown.
    pub dead: f64,
    /// Exponent of the pipe model: rⁿ of a parent is the sum of rⁿ over its children.
    pub pipe: f64,
    /// Reflectance of bark, near infrared.
    pub bark: f64,
    /// Leaves or needles.
    pub foliage: Foliage,
}

/// The species, in the order of their labels.
pub static SPECIES: [Species; 7] = [BEECH, DOUGLAS, OAK, ASH, SPRUCE, PINE, RED_OAK];

const BEECH: Species = Species {
    name: "European beech",
    scientific: "Fagus sylvatica",
    habit: Habit {
        conifer: false,
        petterson: [1.9, 0.289],
        crown_width: [0.86, 0.65],
        crown_ratio: [0.80, 0.52],
        profile: Profile {
            peak: 0.62,
            upper: 1.9,
            lower: 1.8,
            base: 0.30,
        },
        lobes: 0.10,
        leaders: 3,
        fork: [0.25, 0.75],
        fork_angle: 22.0,
        stem_wander: 0.02,
        arrangement: Arrangement::Spiral,
        orders: &[
            Branching {
                spacing: 0.36,
                angle: [25.0, 58.0],
                lift: [0.10, 0.10],
                wander: 0.09,
                length: 1.0,
                flat: 0.0,
            },
            Branching {
                spacing: 0.40,
                angle: [40.0, 55.0],
                lift: [0.05, 0.0],
                wander: 0.12,
                length: 0.55,
                flat: 0.75,
            },
            Branching {
                spacing: 0.30,
                angle: [45.0, 55.0],
                lift: [0.0, 0.0],
                wander: 0.15,
                length: 0.5,
                flat: 0.85,
            },
        ],
        dead: 0.15,
        pipe: 2.3,
        bark: 0.45,
        foliage: Foliage {
            area_index: 4.6,
            aspect: 1.6,
            spread: 0.10,
            level: 0.75,
            hang: 0.1,
            outer: 1.0,
            reflectance: 0.50,
        },
    },
};

const DOUGLAS: Species = Species {
    name: "Douglas fir",
    scientific: "Pseudotsuga menziesii",
    habit: Habit {
        conifer: true,
        petterson: [1.9, 0.277],
        crown_width: [0.66, 0.69],
        crown_ratio: [0.78, 0.40],
        profile: Profile {
            peak: 0.74,
            upper: 1.35,
            lower: 1.6,
            base: 0.62,
        },
        lobes: 0.10,
        leaders: 1,
        fork: [0.0, 0.0],
        fork_angle: 0.0,
        stem_wander: 0.008,
        arrangement: Arrangement::Whorled {
            count: 4.5,
            between: 3.5,
        },
        orders: &[
            Branching {
                spacing: 0.62,
                angle: [38.0, 80.0],
                lift: [0.10, 0.05],
                wander: 0.07,
                length: 1.0,
                flat: 0.0,
            },
            Branching {
                spacing: 0.26,
                angle: [50.0, 62.0],
                lift: [-0.05, -0.12],
                wander: 0.12,
                length: 0.5,
                flat: 0.6,
            },
        ],
        dead: 2.5,
        pipe: 2.2,
        bark: 0.35,
        foliage: Foliage {
            area_index: 5.2,
            aspect: 2.4,
            spread: 0.12,
            level: 0.2,
            hang: 0.15,
            outer: 0.85,
            reflectance: 0.42,
        },
    },
};

const OAK: Species = Species {
    name: "oak",
    scientific: "Quercus robur / Quercus petraea",
    habit: Habit {
        conifer: false,
        petterson: [1.95, 0.306],
        crown_width: [0.95, 0.67],
        crown_ratio: [0.68, 0.44],
        profile: Profile {
            peak: 0.52,
            upper: 2.5,
            lower: 1.6,
            base: 0.40,
        },
        lobes: 0.20,
        leaders: 4,
        fork: [0.0, 0.35],
        fork_angle: 42.0,
        stem_wander: 0.04,
        arrangement: Arrangement::Spiral,
        orders: &[
            Branching {
                spacing: 0.42,
                angle: [45.0, 80.0],
                lift: [0.05, 0.05],
                wander: 0.30,
                length: 1.05,
                flat: 0.0,
            },
            Branching {
                spacing: 0.50,
                angle: [50.0, 65.0],
                lift: [0.06, 0.06],
                wander: 0.36,
                length: 0.55,
                flat: 0.1,
            },
            Branching {
                spacing: 0.32,
                angle: [50.0, 60.0],
                lift: [0.05, 0.05],
                wander: 0.40,
                length: 0.45,
                flat: 0.0,
            },
        ],
        dead: 0.35,
        pipe: 2.4,
        bark: 0.33,
        foliage: Foliage {
            area_index: 3.2,
            aspect: 1.3,
            spread: 0.16,
            level: 0.2,
            hang: 0.0,
            outer: 0.55,
            reflectance: 0.46,
        },
    },
};

const ASH: Species = Species {
    name: "ash",
    scientific: "Fraxinus excelsior",
    habit: Habit {
        conifer: false,
        petterson: [1.9, 0.285],
        crown_width: [0.80, 0.64],
        crown_ratio: [0.55, 0.34],
        profile: Profile {
            peak: 0.36,
            upper: 1.8,
            lower: 1.15,
            base: 0.12,
        },
        lobes: 0.15,
        leaders: 3,
        fork: [0.1, 0.5],
        fork_angle: 26.0,
        stem_wander: 0.02,
        arrangement: Arrangement::Opposite,
        orders: &[
            Branching {
                spacing: 0.8,
                angle: [25.0, 42.0],
                lift: [0.14, 0.14],
                wander: 0.09,
                length: 1.0,
                flat: 0.0,
            },
            Branching {
                spacing: 0.75,
                angle: [42.0, 50.0],
                lift: [0.16, 0.14],
                wander: 0.12,
                length: 0.5,
                flat: 0.0,
            },
            Branching {
                spacing: 0.50,
                angle: [45.0, 50.0],
                lift: [0.20, 0.20],
                wander: 0.12,
                length: 0.4,
                flat: 0.0,
            },
        ],
        dead: 0.15,
        pipe: 2.2,
        bark: 0.40,
        foliage: Foliage {
            area_index: 1.8,
            aspect: 2.2,
            spread: 0.22,
            level: 0.15,
            hang: 0.35,
            outer: 0.4,
            reflectance: 0.48,
        },
    },
};

const SPRUCE: Species = Species {
    name: "Norway spruce",
    scientific: "Picea abies",
    habit: Habit {
        conifer: true,
        petterson: [1.9, 0.283],
        crown_width: [0.62, 0.66],
        crown_ratio: [0.85, 0.45],
        profile: Profile {
            peak: 0.93,
            upper: 1.12,
            lower: 1.4,
            base: 0.80,
        },
        lobes: 0.06,
        leaders: 1,
        fork: [0.0, 0.0],
        fork_angle: 0.0,
        stem_wander: 0.006,
        arrangement: Arrangement::Whorled {
            count: 5.5,
            between: 2.0,
        },
        orders: &[
            Branching {
                spacing: 0.50,
                angle: [58.0, 112.0],
                lift: [0.08, 0.14],
                wander: 0.04,
                length: 1.0,
                flat: 0.0,
            },
            Branching {
                spacing: 0.20,
                angle: [55.0, 62.0],
                lift: [-0.15, -0.75],
                wander: 0.08,
                length: 0.42,
                flat: 0.95,
            },
        ],
        dead: 4.0,
        pipe: 2.2,
        bark: 0.38,
        foliage: Foliage {
            area_index: 6.0,
            aspect: 3.2,
            spread: 0.05,
            level: 0.1,
            hang: 0.5,
            outer: 0.9,
            reflectance: 0.40,
        },
    },
};

const PINE: Species = Species {
    name: "Scots pine",
    scientific: "Pinus sylvestris",
    habit: Habit {
        conifer: true,
        petterson: [1.9, 0.298],
        crown_width: [0.76, 0.64],
        crown_ratio: [0.42, 0.18],
        profile: Profile {
            peak: 0.66,
            upper: 2.7,
            lower: 2.2,
            base: 0.5,
        },
        lobes: 0.20,
        leaders: 2,
        fork: [0.5, 0.9],
        fork_angle: 30.0,
        stem_wander: 0.025,
        arrangement: Arrangement::Whorled {
            count: 3.2,
            between: 0.0,
        },
        orders: &[
            Branching {
                spacing: 0.55,
                angle: [55.0, 88.0],
                lift: [0.10, 0.10],
                wander: 0.20,
                length: 1.0,
                flat: 0.0,
            },
            Branching {
                spacing: 0.42,
                angle: [42.0, 55.0],
                lift: [0.25, 0.25],
                wander: 0.20,
                length: 0.45,
                flat: 0.3,
            },
        ],
        dead: 0.8,
        pipe: 2.3,
        bark: 0.42,
        foliage: Foliage {
            area_index: 2.4,
            aspect: 1.2,
            spread: 0.14,
            level: 0.0,
            hang: 0.0,
            outer: 0.4,
            reflectance: 0.41,
        },
    },
};

const RED_OAK: Species = Species {
    name: "red oak",
    scientific: "Quercus rubra",
    habit: Habit {
        conifer: false,
        petterson: [1.9, 0.292],
        crown_width: [0.88, 0.66],
        crown_ratio: [0.72, 0.48],
        profile: Profile {
            peak: 0.76,
            upper: 2.1,
            lower: 2.2,
            base: 0.72,
        },
        lobes: 0.12,
        leaders: 2,
        fork: [0.35, 0.8],
        fork_angle: 30.0,
        stem_wander: 0.025,
        arrangement: Arrangement::Spiral,
        orders: &[
            Branching {
                spacing: 0.40,
                angle: [48.0, 84.0],
                lift: [0.06, 0.03],
                wander: 0.13,
                length: 1.0,
                flat: 0.0,
            },
            Branching {
                spacing: 0.40,
                angle: [48.0, 60.0],
                lift: [0.04, 0.04],
                wander: 0.18,
                length: 0.52,
                flat: 0.3,
            },
            Branching {
                spacing: 0.30,
                angle: [48.0, 58.0],
                lift: [0.02, 0.02],
                wander: 0.2,
                length: 0.45,
                flat: 0.3,
            },
        ],
        dead: 0.3,
        pipe: 2.3,
        bark: 0.42,
        foliage: Foliage {
            area_index: 3.6,
            aspect: 1.4,
            spread: 0.16,
            level: 0.45,
            hang: 0.15,
            outer: 0.7,
            reflectance: 0.47,
        },
    },
};
