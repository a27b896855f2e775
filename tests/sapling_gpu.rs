//! The main job on the device: real Sapling proofs, byte for byte bellman's.

mod circuits;
mod common;

use circuits::{Load, sapling::equals_bellman};
use prooflane::{groth16::GpuBackend, sapling::Circuit};

/// In the format that is fastest where it is supported; the small circuits go through all of them.
const GPU: Load =
    &|key| Box::new(GpuBackend::load(common::kernels(common::formats()[0]), key).expect("a key on the device"));

#[test]
fn output_on_the_device_equals_bellman() {
    equals_bellman(Circuit::Output, GPU);
}

#[test]
fn spend_on_the_device_equals_bellman() {
    equals_bellman(Circuit::Spend, GPU);
}
