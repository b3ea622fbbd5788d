//! The checking library. It comes with the first lesson; until then it holds nothing.
