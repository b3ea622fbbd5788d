//! canopy's pipeline schedules.
#![allow(dead_code, reason = "the pieces use a part of canopy's functions")]

#[path = "../../../solutions/src/split/order.rs"]
mod order;

pub use order::{Action, activations_held, bubble, gpipe_order, one_f_one_b_order};
