//! The experiment of lesson 06.

fn main() {}
