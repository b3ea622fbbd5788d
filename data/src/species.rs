//! The seven species of the built-in set and their habits.

use std::sync::LazyLock;

use serde::Deserialize;

/// The number of species.
pub const COUNT: usize = 7;

/// The species, in the order of their labels.
pub static SPECIES: LazyLock<[Species; COUNT]> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Table {
        species: [Species; COUNT],
    }
    let table: Result<Table, _> = toml::from_str(include_str!("species.toml"));
    table.unwrap_or_else(|e| panic!("species.toml: {e}")).species
});

/// A species and how it grows.
#[derive(Debug, Deserialize)]
pub struct Species {
    /// English name: the label.
    pub name: String,
    /// How it grows.
    pub habit: Habit,
}

/// How branches are arranged on their axis.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrangement {
    /// `count` at each year's node, and `between` single ones per metre on the shoots between.
    Whorled {
        /// Branches per whorl.
        count: f64,
        /// Branches per metre between whorls.
        between: f64,
    },
    /// Two at a node, each pair at right angles to the one before.
    Opposite,
    /// One at a node, each turned by the golden angle (137.5°).
    Spiral,
}

/// The outline of a crown, as radius over relative depth below the top.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Profile {
    /// Relative depth at which the crown is widest: 0 top, 1 crown base.
    pub peak: f64,
    /// Roundness above it: 1 a cone, 2 an ellipse, more is flatter on top.
    pub upper: f64,
    /// Roundness below it.
    pub lower: f64,
    /// Radius at the crown base, relative to the widest.
    pub base: f64,
}

/// How one order of branching grows.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Branching {
    /// Metres between nodes, on a tree whose crown is 10 m long.
    pub spacing: f64,
    /// Angle to the parent axis at the parent's top and base, degrees.
    pub angle: [f64; 2],
    /// Bend towards the sky (positive) or the ground, per metre, at the parent's top and base.
    pub lift: [f64; 2],
    /// Random change of direction per square root of a metre, radians.
    pub wander: f64,
    /// Length relative to the remaining length of the parent; for branches of the stem, reach relative to the outline.
    pub length: f64,
    /// How far the branches turn into the horizontal plane of their parent: 0 all around, 1 flat like a comb.
    pub flat: f64,
}

/// Leaves or needles.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Foliage {
    /// One-sided area over the crown's projection (leaf area index of the single crown).
    pub area_index: f64,
    /// Length over width of an element (a spray of leaves, a shoot with needles).
    pub aspect: f64,
    /// Distance from the twig, metres.
    pub spread: f64,
    /// Orientation of the elements: 0 random, 1 horizontal.
    pub level: f64,
    /// How much elements droop: 0 along the twig, 1 straight down.
    pub hang: f64,
    /// Fraction of each twig, from its tip, with foliage.
    pub outer: f64,
    /// Reflectance at the scanner's wavelength, near infrared.
    pub reflectance: f64,
}

/// The habit of a species: size, crown, branching and foliage.
#[derive(Debug, Deserialize)]
pub struct Habit {
    /// Whether it is a conifer: needles, and one stem up to the top.
    pub conifer: bool,
    /// a and b of Petterson's height curve h = 1.3 + (d / (a + b d))³, d in cm, h in m (coefficients chosen).
    pub petterson: [f64; 2],
    /// c and e of the crown's width w = c dᵉ, d in cm, w in m (allometric form; coefficients chosen).
    pub crown_width: [f64; 2],
    /// Crown length over height of a free-standing and of a suppressed tree.
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
    pub orders: Vec<Branching>,
    /// Dead branches per metre of stem below the crown.
    pub dead: f64,
    /// Exponent of the pipe model: rⁿ of a parent is the sum of rⁿ over its children.
    pub pipe: f64,
    /// Reflectance of bark, near infrared.
    pub bark: f64,
    /// Leaves or needles.
    pub foliage: Foliage,
}
