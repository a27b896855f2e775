//! Device time by timestamp queries: one interval for each compute pass.

use std::time::Duration;

use super::{Gpu, error::DeviceError};

/// WebGPU's cap on one query set.
const QUERIES: u32 = 4096;

/// A named stretch of device time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval {
    /// The pass.
    pub label: &'static str,
    /// From the device's own zero.
    pub start: Duration,
    /// From the device's own zero.
    pub end: Duration,
}

/// The time of each label, in the order in which they began.
pub fn by_label(intervals: &[Interval]) -> Vec<(&'static str, Duration)> {
    let mut all: Vec<(&'static str, Duration)> = Vec::new();
    for interval in intervals {
        let took = interval.end.saturating_sub(interval.start);
        match all.iter_mut().find(|of| of.0 == interval.label) {
            Some(of) => of.1 += took,
            None => all.push((interval.label, took)),
        }
    }
    all
}

/// Records the start and end of passes within one command encoder. Without `TIMESTAMP_QUERY` it records nothing.
#[derive(Debug)]
pub struct Clock {
    set: Option<wgpu::QuerySet>,
    labels: Vec<&'static str>,
}

impl Gpu {
    /// A clock for one encoder with at most so many passes.
    pub fn clock(&self, passes: usize) -> Clock {
        let set = self.features().contains(wgpu::Features::TIMESTAMP_QUERY).then(|| {
            self.device().create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("clock"),
                ty: wgpu::QueryType::Timestamp,
                count: (2 * passes as u32).clamp(2, QUERIES),
            })
        });
        Clock { set, labels: Vec::new() }
    }
}

impl Clock {
    /// The timestamp writes of the next pass; nothing once the device has no query left.
    pub(crate) fn pass(&mut self, label: &'static str) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let query_set = self.set.as_ref()?;
        let first = 2 * self.labels.len() as u32;
        if first + 2 > query_set.count() {
            return None;
        }
        self.labels.push(label);
        Some(wgpu::ComputePassTimestampWrites {
            query_set,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        })
    }

    /// Bytes that the timestamps can take.
    pub(crate) fn room(&self) -> u64 {
        self.set.as_ref().map_or(0, |set| 8 * u64::from(set.count()))
    }

    /// Bytes that the timestamps take.
    pub(crate) fn bytes(&self) -> u64 {
        16 * self.labels.len() as u64
    }

    /// Ends the recording: puts the timestamps into `target` from `at` on.
    pub(crate) fn resolve(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::Buffer,
        at: u64,
    ) -> Result<(), DeviceError> {
        let Some(set) = self.set.as_ref().filter(|_| self.bytes() > 0) else { return Ok(()) };
        // Resolving wants a usage that arena blocks do not have.
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let buffer = gpu.create_buffer("timestamps", self.bytes(), usage)?;
        encoder.resolve_query_set(set, 0..2 * self.labels.len() as u32, &buffer, 0);
        encoder.copy_buffer_to_buffer(&buffer, 0, target, at, self.bytes());
        Ok(())
    }

    /// The intervals, from the bytes that [`Self::resolve`] wrote.
    pub(crate) fn intervals(&self, gpu: &Gpu, bytes: &[u8]) -> Vec<Interval> {
        let period = f64::from(gpu.queue().get_timestamp_period());
        let mut times = bytes.chunks_exact(8).map(|ticks| {
            let ticks = ticks.iter().rev().fold(0u64, |ticks, byte| ticks << 8 | u64::from(*byte));
            Duration::from_nanos((ticks as f64 * period) as u64)
        });
        let interval = |&label| Some(Interval { label, start: times.next()?, end: times.next()? });
        self.labels.iter().map_while(interval).collect()
    }
}
