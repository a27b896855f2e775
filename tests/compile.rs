//! Compile time of every kernel: printed, and bounded. Some drivers compile when a pipeline is made, others (llvmpipe)
//! when it first runs, so each kernel also runs once with all parameters zero, which makes every thread leave at once.

mod common;

use std::time::{Duration, Instant};

use common::{formats, gpu};
use prooflane::{
    device::Span,
    kernel::{Kernels, Steps, table::TABLE},
};

/// Generous: five times what the slowest kernel takes on the slowest machine seen (2 cores, llvmpipe).
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn every_kernel_compiles_in_time() {
    let only = std::env::var("PROOFLANE_KERNEL").unwrap_or_default();
    let form = std::env::var("PROOFLANE_FORMAT").unwrap_or_default();
    for format in formats().into_iter().filter(|format| format.name().contains(&form)) {
        let kernels = Kernels::new(gpu().clone(), format);
        for kernel in TABLE.iter().filter(|kernel| kernel.name.contains(&only)) {
            let started = Instant::now();
            kernels.prepare(&[kernel]).unwrap_or_else(|error| panic!("{error}"));
            let built = started.elapsed();
            let spans: Vec<Span> = kernel
                .bindings
                .iter()
                .map(|access| gpu().allocate(access.pool(), "nothing", 4096).expect("4 KiB"))
                .collect();
            let mut steps = Steps::new(gpu().limits());
            steps.dispatch_nothing(kernel, &spans.iter().collect::<Vec<_>>());
            kernels.run(&steps).unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
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
