//! A Groth16 prover over BLS12-381 whose MSMs and NTTs are WGSL compute shaders run through wgpu, on any Vulkan, Metal or
//! DX12 GPU.
//!
//! Read it top-down. An adapter ([`arkworks`] or, with the feature of that name, `bellman`) records a circuit into a
//! [`groth16::Assignment`]; a key in somebody's format ([`formats`]) becomes one [`groth16::ProvingKey`]; a
//! [`groth16::Backend`] computes the five sums of a proof over that key, by [`msm`] and [`ntt`] on a GPU or by arkworks
//! on the CPU; [`groth16::Prover`] blinds them, assembles the proof, and lets it out only when it verifies. [`engine`]
//! opens the place where all of it runs; [`pipeline`] keeps several proofs flowing over one or more of them, and [`synthetic`]
//! makes circuits to try things with. Below lie [`kernel`] (WGSL text, pipelines, lists of dispatches) and [`device`] (adapters, memory, transfers, time).

pub mod arkworks;
#[cfg(feature = "bellman")]
pub mod bellman;
pub mod device;
pub mod encoding;
pub mod engine;
pub mod formats;
pub mod groth16;
pub mod kernel;
pub mod msm;
pub mod ntt;
pub mod pipeline;
#[cfg(feature = "sapling")]
pub mod sapling;
pub mod synthetic;
