//! Kernels: a table of rows, their WGSL text, their pipelines, and lists of dispatches.
//!
//! This layer knows names, bindings and sources, and no problem sizes. Adding a kernel: a file in `shaders/`, a row in
//! [`table`], a twin in [`twins`] if it has parameters of its own; `tests/shaders.rs` then validates it, translates it
//! to SPIR-V, MSL and HLSL, and compares the twin's layout, all without a GPU.

mod build;
pub mod field;
mod steps;
pub mod table;
pub mod twins;

pub use build::{Compiled, Kernels, compose};
pub use field::Code;
pub use steps::{Encoded, Step, Steps, Submitted};
pub use table::{Access, Group, Kernel};
