//! A Groth16 prover over BLS12-381.
//!
//! Read it top-down: an adapter ([`arkworks`] or, with the feature of that name, `bellman`) records a
//! circuit into a [`groth16::Assignment`]; a key in somebody's format ([`formats`]) becomes one
//! [`groth16::ProvingKey`]; a [`groth16::Backend`] computes the five sums of a proof over that key;
//! [`groth16::Prover`] blinds them, assembles the proof, and lets it out only when it verifies.

pub mod arkworks;
#[cfg(feature = "bellman")]
pub mod bellman;
pub mod formats;
pub mod groth16;
#[cfg(feature = "sapling")]
pub mod sapling;
