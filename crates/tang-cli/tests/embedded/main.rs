//! The program with the model that is part of it, in any folder, and its build without Burn.

#![cfg(test)]

mod anywhere;
#[cfg(not(feature = "train"))]
mod without_training;
#[path = "../tang/work.rs"]
#[allow(dead_code, reason = "another test needs the rest")]
mod work;
