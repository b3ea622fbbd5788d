//! The program `canopy`.

fn main() {}
