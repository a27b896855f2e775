//! Groth16 over BLS12-381 on any GPU: bucket MSMs and NTTs as WGSL compute shaders run through wgpu.

pub mod device;
pub mod encoding;
pub mod kernel;
pub mod ntt;
