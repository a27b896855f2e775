//! One device per process and format, and the values that tables of cases share.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use prooflane::{
    device::{Gpu, Options, Pool, Select, Span},
    encoding::Format,
    kernel::{Code, Kernel, Kernels, Steps, twins::Params},
};

/// The device under test: `PROOFLANE_ADAPTER` if set, else the best there is. A test without an adapter fails.
pub fn gpu() -> &'static Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    GPU.get_or_init(|| Gpu::open(&options()).unwrap_or_else(|error| panic!("the tests need an adapter: {error}")))
}

/// One test at a time, where they measure or count what is shared.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How tests open devices: with the run-time checks of shaders on.
pub fn options() -> Options {
    let Ok(select) = std::env::var("PROOFLANE_ADAPTER").unwrap_or_default().parse::<Select>();
    Options { select, checked: true, ..Default::default() }
}

/// The formats this device can run.
pub fn formats() -> Vec<Format> {
    Format::ALL.into_iter().filter(|format| format.supported(gpu().features())).collect()
}

/// Kernels of the shared device, built once per format.
pub fn kernels(format: Format) -> Arc<Kernels> {
    static KERNELS: OnceLock<Vec<Arc<Kernels>>> = OnceLock::new();
    let all = KERNELS.get_or_init(|| Format::ALL.map(|f| Arc::new(Kernels::new(gpu().clone(), f))).into());
    all.iter().find(|kernels| kernels.format() == format).cloned().unwrap_or_else(|| panic!("{format:?}"))
}

/// Every variant of arithmetic that this device can run: limb formats times shapes of code.
pub fn variants() -> Vec<Arc<Kernels>> {
    let both = |format| Code::ALL.map(|code| Arc::new(Kernels::with_code(gpu().clone(), format, code)));
    formats().into_iter().flat_map(both).collect()
}

/// Runs one kernel over spans holding `inputs`; the last binding is filled with 0xee before and read back.
pub fn run_probe<P: Params>(
    kernels: &Kernels,
    kernel: &'static Kernel,
    threads: u64,
    params: P,
    inputs: &[&[u8]],
    out_bytes: usize,
) -> Vec<u8> {
    let gpu = kernels.gpu();
    let mut spans: Vec<Span> = inputs
        .iter()
        .zip(kernel.bindings)
        .map(|(data, access)| gpu.store(access.pool(), "probe", data).expect("upload"))
        .collect();
    spans.push(gpu.store(Pool::Scratch, "probe", &vec![0xee; out_bytes]).expect("upload"));
    let mut steps = Steps::new(gpu.limits());
    steps.dispatch(kernel, threads, params, &spans.iter().collect::<Vec<_>>());
    kernels.run(&steps).expect("run");
    let mut out = gpu.read(&[&spans[spans.len() - 1]]).expect("read").swap_remove(0);
    out.truncate(out_bytes);
    out
}
