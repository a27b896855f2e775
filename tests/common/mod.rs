//! One device per process and format, and the values that tables of cases share.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::sync::{Arc, OnceLock};

use prooflane::{
    device::{Gpu, Options, Select},
    encoding::Format,
    kernel::Kernels,
};

/// The device under test: `PROOFLANE_ADAPTER` if set, else the best there is. A test without an adapter fails.
pub fn gpu() -> &'static Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    GPU.get_or_init(|| Gpu::open(&options()).unwrap_or_else(|error| panic!("the tests need an adapter: {error}")))
}

/// How tests open devices: with the run-time checks of shaders on.
pub fn options() -> Options {
    let Ok(select) = std::env::var("PROOFLANE_ADAPTER").unwrap_or_default().parse::<Select>();
    Options { select, checked: true, ..Default::default() }
}

/// The formats this device can run.
pub fn formats() -> Vec<Format> {
    let int64 = gpu().features().contains(wgpu::Features::SHADER_INT64);
    Format::ALL.into_iter().filter(|format| int64 || *format != Format::U64).collect()
}

/// Kernels of the shared device, built once per format.
pub fn kernels(format: Format) -> Arc<Kernels> {
    static KERNELS: OnceLock<Vec<Arc<Kernels>>> = OnceLock::new();
    let all = KERNELS.get_or_init(|| Format::ALL.map(|f| Arc::new(Kernels::new(gpu().clone(), f))).into());
    all.iter().find(|kernels| kernels.format() == format).cloned().unwrap_or_else(|| panic!("{format:?}"))
}
