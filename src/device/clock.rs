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

/// Records the start and end of passes within one command encoder. Without `TIMESTAMP_QUERY` it records nothing.
#[derive(Debug)]
pub struct Clock {
    set: Option<wgpu::QuerySet>,
    labels: Vec<&'static str>,
}

impl Gpu {
    /// A clock for one encoder.
    pub fn clock(&self) -> Clock {
        let set = self.features().contains(wgpu::Features::TIMESTAMP_QUERY).then(|| {
            self.device().create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("clock"),
                ty: wgpu::QueryType::Timestamp,
                count: QUERIES,
            })
        });
        Clock { set, labels: Vec::new() }
    }

    /// Intervals of a clock whose encoder was submitted with `Clock::resolve`; waits for it.
    pub fn intervals(&self, clock: &Clock, resolved: Option<super::Span>) -> Result<Vec<Interval>, DeviceError> {
        let Some(span) = resolved else { return Ok(Vec::new()) };
        let bytes = self.read(&[&span])?.swap_remove(0);
        let period = f64::from(self.queue().get_timestamp_period());
        let time = |index: usize| {
            let mut ticks = [0; 8];
            ticks.copy_from_slice(&bytes[8 * index..8 * index + 8]);
            Duration::from_nanos((u64::from_le_bytes(ticks) as f64 * period) as u64)
        };
        let intervals = clock.labels.iter().enumerate();
        Ok(intervals.map(|(i, &label)| Interval { label, start: time(2 * i), end: time(2 * i + 1) }).collect())
    }
}

impl Clock {
    /// The timestamp writes of the next pass; nothing once the query set is full.
    pub(crate) fn pass(&mut self, label: &'static str) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let query_set = self.set.as_ref()?;
        let first = 2 * self.labels.len() as u32;
        if first + 2 > QUERIES {
            return None;
        }
        self.labels.push(label);
        Some(wgpu::ComputePassTimestampWrites {
            query_set,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        })
    }

    /// Ends the recording: puts the timestamps where [`Gpu::intervals`] finds them.
    pub(crate) fn resolve(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<Option<super::Span>, DeviceError> {
        let count = 2 * self.labels.len() as u32;
        let Some(set) = self.set.as_ref().filter(|_| count > 0) else { return Ok(None) };
        let size = u64::from(count) * 8;
        // Resolving wants a usage that arena blocks do not have.
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let buffer = gpu.create_buffer("timestamps", size, usage)?;
        encoder.resolve_query_set(set, 0..count, &buffer, 0);
        let span = gpu.allocate(super::Pool::Scratch, "timestamps", size)?;
        encoder.copy_buffer_to_buffer(&buffer, 0, span.buffer(), span.offset(), size);
        Ok(Some(span))
    }
}
