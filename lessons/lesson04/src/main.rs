//! The experiment of lesson 04.
fn main() {}
