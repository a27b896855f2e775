//! Host memory to the device and back.
//!
//! Upload goes through a persistent ring of mapped buffers filled by several threads (measured on an H200: 9 GB/s by
//! one thread, 32 GB/s by eight; `Queue::write_buffer` reaches 3.8). The ring is made once, on first use; a ring
//! buffer is written, unmapped, copied by the queue, and mapped again when its copy has retired.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};

use rayon::prelude::*;

use super::{Gpu, Span, error::DeviceError};

/// Bytes of one ring buffer: large enough to hide the submit (66 us), small enough to create in 4 ms.
const CHUNK: u64 = 16 << 20;
/// Ring buffers: one being filled, one being copied, and slack for a slow queue.
const RING: usize = 4;
/// A thread's share of a fill.
const FILL: usize = 1 << 20;

struct Slot {
    buffer: wgpu::Buffer,
    /// The submission that reads this slot, if it was not yet mapped again.
    reading: Option<wgpu::SubmissionIndex>,
}

/// The staging ring of one device.
#[derive(Default)]
pub(crate) struct Ring {
    slots: Mutex<(Vec<Slot>, usize)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Gpu {
    /// Writes `data` to the start of `span`. Returns when the bytes have left host memory; kernels submitted later see
    /// them, and nothing waits for kernels submitted earlier unless the ring is full.
    pub fn upload(&self, span: &Span, data: &[u8]) -> Result<(), DeviceError> {
        if data.len() as u64 > span.size() {
            return Err(DeviceError::OutOfMemory {
                what: "an upload".into(),
                bytes: data.len() as u64,
                limit: span.size(),
            });
        }
        let mut ring = lock(&self.ring().slots);
        for (index, piece) in data.chunks(self.chunk() as usize).enumerate() {
            let next = ring.1;
            ring.1 = (next + 1) % RING;
            if ring.0.len() <= next {
                let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
                let buffer = self.create_buffer("staging ring", self.chunk(), usage)?;
                ring.0.push(Slot { buffer, reading: None });
                self.map(&ring.0[next].buffer, wgpu::MapMode::Write, None)?;
            } else if let Some(reading) = ring.0[next].reading.take() {
                self.map(&ring.0[next].buffer, wgpu::MapMode::Write, Some(reading))?;
            }
            let slot = &mut ring.0[next];
            // Copies move whole words; a ragged tail is padded with zeros, inside the span because spans are too.
            let padded = piece.len().next_multiple_of(4);
            {
                let mut view =
                    slot.buffer.get_mapped_range_mut(..padded as u64).map_err(|e| self.invalid("upload", &e))?;
                fill(view.slice(..), piece);
            }
            slot.buffer.unmap();
            let mut encoder =
                self.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("upload") });
            let at = span.offset() + index as u64 * self.chunk();
            encoder.copy_buffer_to_buffer(&slot.buffer, 0, span.buffer(), at, padded as u64);
            slot.reading = Some(self.queue().submit([encoder.finish()]));
        }
        self.alive("an upload")
    }

    /// Reads spans back, in order, after everything submitted so far has run.
    pub fn read(&self, spans: &[&Span]) -> Result<Vec<Vec<u8>>, DeviceError> {
        let total = spans.iter().map(|span| span.size()).sum::<u64>().max(4);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let buffer = self.create_buffer("readback", total, usage)?;
        let mut encoder =
            self.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("readback") });
        let mut at = 0;
        for span in spans {
            encoder.copy_buffer_to_buffer(span.buffer(), span.offset(), &buffer, at, span.size());
            at += span.size();
        }
        let index = self.queue().submit([encoder.finish()]);
        self.map(&buffer, wgpu::MapMode::Read, Some(index))?;
        let view = buffer.get_mapped_range(..).map_err(|e| self.invalid("readback", &e))?;
        let mut rest: &[u8] = &view;
        Ok(spans
            .iter()
            .map(|span| {
                let (head, tail) = rest.split_at(span.size() as usize);
                rest = tail;
                head.to_vec()
            })
            .collect())
    }

    /// Maps a buffer and polls until it is mapped: a mapping completes only when somebody polls.
    fn map(
        &self,
        buffer: &wgpu::Buffer,
        mode: wgpu::MapMode,
        after: Option<wgpu::SubmissionIndex>,
    ) -> Result<(), DeviceError> {
        let done = Arc::new(AtomicBool::new(false));
        let failed = Arc::new(Mutex::new(None));
        let (flag, slot) = (done.clone(), failed.clone());
        buffer.map_async(mode, .., move |result| {
            *lock(&slot) = result.err().map(|e| e.to_string());
            flag.store(true, Ordering::Release);
        });
        if let Some(index) = after {
            self.wait(index, "a buffer to be mapped")?;
        }
        while !done.load(Ordering::Acquire) {
            self.device().poll(wgpu::PollType::Poll).map_err(|e| self.invalid("mapping", &e))?;
            self.alive("mapping")?;
            std::thread::yield_now();
        }
        let reason = lock(&failed).take();
        match reason {
            Some(reason) => Err(DeviceError::Invalid { during: "mapping".into(), reason }),
            None => Ok(()),
        }
    }

    fn chunk(&self) -> u64 {
        CHUNK.min(self.limits().buffer)
    }
}

/// Copies `source` to the start of mapped memory by several threads, and zeroes the rest of it.
#[expect(unsafe_code, reason = "wgpu's write-only views can not be sent to other threads")]
fn fill(mut target: wgpu::WriteOnly<'_, [u8]>, source: &[u8]) {
    assert!(source.len() <= target.len(), "fill beyond the mapping");
    if source.len() < target.len() {
        target.slice(source.len()..).fill(0);
    }
    let start = target.as_raw_ptr().cast::<u8>().as_ptr() as usize;
    source.par_chunks(FILL).enumerate().for_each(|(index, piece)| {
        // SAFETY: `target` is borrowed mutably for the whole call and at least as long as `source`; each piece is
        // written by one thread, to a range of its own.
        unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), (start + index * FILL) as *mut u8, piece.len()) };
    });
}
