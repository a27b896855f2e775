//! What a device can refuse, each with the thing, the number and the limit.

use thiserror::Error;

/// An error met by the device layer: no mathematics, only adapters, bytes and time.
#[derive(Debug, Clone, Error)]
pub enum DeviceError {
    /// No adapter answers to the selection.
    #[error("no adapter matches '{wanted}'; found: {}", list(.found))]
    NoAdapter {
        /// The selection as it was written.
        wanted: String,
        /// Name and backend of every adapter that was found.
        found: Vec<String>,
    },
    /// The adapter would not open a device.
    #[error("adapter '{adapter}' refused to open a device: {reason}")]
    Refused {
        /// Adapter name.
        adapter: String,
        /// What wgpu said.
        reason: String,
    },
    /// The device is gone (driver reset, watchdog, unplugged). Everything on it is lost.
    #[error("device '{adapter}' was lost during {during}: {reason}")]
    Lost {
        /// Adapter name.
        adapter: String,
        /// The operation that noticed.
        during: String,
        /// What the driver said.
        reason: String,
    },
    /// An allocation beyond the budget, the buffer limit or the memory of the card.
    #[error("{what} needs {bytes} bytes on the device, the limit is {limit} bytes")]
    OutOfMemory {
        /// What the bytes are for.
        what: String,
        /// Bytes asked for.
        bytes: u64,
        /// Bytes that could have been had.
        limit: u64,
    },
    /// An allocation that does not fit the budget beside what is leased already, as whole spans.
    #[error(
        "{what} needs {bytes} bytes on the device, where {leased} bytes of a budget of {budget} bytes are leased and the \
         rest is too little or in too small pieces"
    )]
    Budget {
        /// What the bytes are for.
        what: String,
        /// Bytes asked for.
        bytes: u64,
        /// Bytes leased at that moment.
        leased: u64,
        /// [`crate::device::Limits::memory`].
        budget: u64,
    },
    /// The driver or the shader compiler refused a kernel.
    #[error("kernel '{kernel}' could not be built on '{adapter}': {reason}")]
    Kernel {
        /// Entry point of the kernel.
        kernel: String,
        /// Adapter name.
        adapter: String,
        /// What the compiler said.
        reason: String,
    },
    /// wgpu refused an operation: a fault of this crate, reported instead of a panic.
    #[error("{during} was refused by wgpu: {reason}")]
    Invalid {
        /// The operation.
        during: String,
        /// What wgpu said.
        reason: String,
    },
    /// A submission did not end in time: the device hangs, or a dispatch was far too long.
    #[error("device '{adapter}' did not finish {during} within {seconds} s")]
    Timeout {
        /// Adapter name.
        adapter: String,
        /// What was waited for.
        during: String,
        /// How long.
        seconds: u64,
    },
    /// The work was called off before all of it was submitted.
    #[error("stopped")]
    Stopped,
    /// A known-answer test came out wrong: this adapter's arithmetic can not be trusted.
    #[error("adapter '{adapter}' failed its self-test: {what}")]
    SelfTest {
        /// Adapter name.
        adapter: String,
        /// Which known answer was missed.
        what: String,
    },
}

fn list(found: &[String]) -> String {
    if found.is_empty() { "none".into() } else { found.join(", ") }
}
