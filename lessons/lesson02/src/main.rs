//! The experiment of lesson 02.
fn main() {}
