//! Keys as other tools write them.
//!
//! Each module reads one format from bytes into plain points and trusts nothing in them: no length
//! is believed before that many bytes are there, and every point is checked as far as asked. What
//! the points mean is [`crate::groth16::ProvingKey`]'s business.

pub mod bellman;
mod point;
