//! The experiment of lesson 07.

fn main() {}
