//! The proof: its tests hold that the house is as its plan says (see `tests/`).
