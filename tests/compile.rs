//! Compile time of every kernel: printed, and bounded. Some drivers compile when a pipeline is made, others (llvmpipe)
//! when it first runs, so each kernel also runs once with all parameters zero, which makes every thread leave at once.

mod common;

use std::time::{Duration, Instant};

use common::{alone, formats, gpu};
use prooflane::{
    device::Span,
    groth16::GpuBackend,
    kernel::{Access, Kernel, Kernels, Steps, table::TABLE},
};

/// For one kernel in any format: generous, for machines that do other work meanwhile.
const LIMIT: Duration = Duration::from_secs(60);

/// A first proof in a fresh process may spend this on pipelines: all kernels of a proof, in the format that is fastest
/// where it is supported. (Drivers that keep compiled shaders on disk make it less.)
fn budget() -> Duration {
    match gpu().info().device_type {
        wgpu::DeviceType::Cpu => Duration::from_secs(30),
        _ => Duration::from_secs(3),
    }
}

#[test]
fn a_first_proof_has_its_pipelines_in_time() {
    let _alone = alone();
    let kernels = Kernels::new(gpu().clone(), formats()[0]);
    let started = Instant::now();
    kernels.prepare(&GpuBackend::kernels()).unwrap_or_else(|error| panic!("{error}"));
    for kernel in GpuBackend::kernels() {
        run_once(&kernels, kernel);
    }
    let took = started.elapsed();
    eprintln!("all kernels of a proof: {:.3} s, the limit is {:?}", took.as_secs_f64(), budget());
    assert!(took < budget(), "{took:?} for the kernels of a proof, the limit is {:?}", budget());
}

fn run_once(kernels: &Kernels, kernel: &'static Kernel) {
    let gpu = kernels.gpu();
    let span = |access: &Access| gpu.allocate(access.pool(), "nothing", 4096).expect("4 KiB");
    let spans: Vec<Span> = kernel.bindings.iter().map(span).collect();
    let mut steps = Steps::new(gpu.limits());
    steps.dispatch_nothing(kernel, &spans.iter().collect::<Vec<_>>());
    kernels.run(&steps).unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
}

#[test]
fn every_kernel_compiles_in_time() {
    let _alone = alone();
    let only = std::env::var("PROOFLANE_KERNEL").unwrap_or_default();
    let form = std::env::var("PROOFLANE_FORMAT").unwrap_or_default();
    for format in formats().into_iter().filter(|format| format.name().contains(&form)) {
        let kernels = Kernels::new(gpu().clone(), format);
        for kernel in TABLE.iter().filter(|kernel| kernel.name.contains(&only)) {
            let started = Instant::now();
            kernels.prepare(&[kernel]).unwrap_or_else(|error| panic!("{error}"));
            let built = started.elapsed();
            run_once(&kernels, kernel);
            let took = started.elapsed();
            eprintln!(
                "{:<20} {} built {:>8.3} s, first run {:>8.3} s",
                kernel.name,
                format.name(),
                built.as_secs_f64(),
                (took - built).as_secs_f64()
            );
            assert!(took < LIMIT, "{} took {took:?} to compile, the limit is {LIMIT:?}", kernel.name);
        }
    }
}
