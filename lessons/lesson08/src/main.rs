//! The experiment of lesson 08.
fn main() {}
