//! Host memory to the device and back.
//!
//! Upload goes through a persistent ring of mapped buffers filled by several threads (measured on an H200: 9 GB/s by
//! one thread, 32 GB/s by eight; `Queue::write_buffer` reaches 3.8). The ring is made once, on first use; a ring
//! buffer is written, unmapped, copied by the queue, and mapped again when its copy has retired.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{Gpu, Span, error::DeviceError, lock};

/// Bytes of one ring buffer: large enough to hide the submit (66 us), small enough to create in 4 ms.
const CHUNK: u64 = 16 << 20;
/// Ring buffers: one being filled, one being copied, and slack for a slow queue.
const RING: usize = 4;
/// The least that is worth a thread of its own.
const FILL: usize = 1 << 20;
/// Threads of a fill: more than eight gain nothing.
const FILLERS: usize = 8;

struct Slot {
    buffer: wgpu::Buffer,
    /// The submission that reads this slot; without one the slot is mapped.
    reading: Option<wgpu::SubmissionIndex>,
}

/// The staging ring of one device: slots that wait for their turn, the longest waiting first. A slot is out of the ring
/// while it is written and comes back only if all went well, so an error costs a buffer and nothing else.
#[derive(Default)]
pub(crate) struct Ring {
    slots: Mutex<VecDeque<Slot>>,
}

impl Gpu {
    /// Writes `data` to the start of `span`. Returns when the bytes have left host memory; kernels submitted later see
    /// them, and nothing waits for kernels submitted earlier unless the ring is full.
    pub fn upload(&self, span: &Span, data: &[u8]) -> Result<(), DeviceError> {
        self.own("an upload", [span])?;
        if data.len() as u64 > span.size() {
            let (bytes, limit) = (data.len() as u64, span.size());
            return Err(DeviceError::OutOfMemory { what: "an upload".into(), bytes, limit });
        }
        for (index, piece) in data.chunks(self.chunk() as usize).enumerate() {
            let at = span.offset() + index as u64 * self.chunk();
            let slot = self.slot()?;
            // Copies move whole words; a ragged tail is padded with zeros, inside the span because spans are too.
            let padded = piece.len().next_multiple_of(4) as u64;
            let mut view = slot.buffer.get_mapped_range_mut(..padded).map_err(|e| self.invalid("an upload", &e))?;
            fill(view.slice(..), piece);
            drop(view);
            slot.buffer.unmap();
            let submitted = self.scoped(|device| {
                let descriptor = wgpu::CommandEncoderDescriptor { label: Some("upload") };
                let mut encoder = device.create_command_encoder(&descriptor);
                encoder.copy_buffer_to_buffer(&slot.buffer, 0, span.buffer(), at, padded);
                self.queue().submit([encoder.finish()])
            });
            let reading = Some(submitted.map_err(|e| self.invalid("an upload", &e))?);
            lock(&self.ring().slots).push_back(Slot { reading, ..slot });
        }
        self.alive("an upload")
    }

    /// A mapped slot: a new one while the ring is short, else the one that waited longest.
    fn slot(&self) -> Result<Slot, DeviceError> {
        let waiting = {
            let mut slots = lock(&self.ring().slots);
            if slots.len() < RING { None } else { slots.pop_front() }
        };
        let (buffer, reading) = match waiting {
            Some(slot) => (slot.buffer, slot.reading),
            None => {
                let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
                (self.create_buffer("staging ring", self.chunk(), usage)?, None)
            }
        };
        self.map(&buffer, wgpu::MapMode::Write, reading)?;
        Ok(Slot { buffer, reading: None })
    }

    /// Reads spans back, in order, after everything submitted so far has run.
    pub fn read(&self, spans: &[&Span]) -> Result<Vec<Vec<u8>>, DeviceError> {
        self.own("a readback", spans.iter().copied())?;
        let sizes: Vec<u64> = spans.iter().map(|span| span.size()).collect();
        let buffer = self.readback(sizes.iter().sum())?;
        let submitted = self.scoped(|device| {
            let descriptor = wgpu::CommandEncoderDescriptor { label: Some("readback") };
            let mut encoder = device.create_command_encoder(&descriptor);
            copy_out(&mut encoder, spans, &buffer);
            self.queue().submit([encoder.finish()])
        });
        let index = submitted.map_err(|e| self.invalid("a readback", &e))?;
        self.fetch(&buffer, &sizes, index)
    }

    /// A buffer to copy results into, for [`Self::fetch`].
    pub(crate) fn readback(&self, bytes: u64) -> Result<wgpu::Buffer, DeviceError> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        self.create_buffer("readback", bytes.max(4).next_multiple_of(4), usage)
    }

    /// The contents of a [`Self::readback`] buffer, cut into `sizes`, once the submission `after` has run.
    pub(crate) fn fetch(
        &self,
        buffer: &wgpu::Buffer,
        sizes: &[u64],
        after: wgpu::SubmissionIndex,
    ) -> Result<Vec<Vec<u8>>, DeviceError> {
        self.map(buffer, wgpu::MapMode::Read, Some(after))?;
        let view = buffer.get_mapped_range(..).map_err(|e| self.invalid("a readback", &e))?;
        let mut rest: &[u8] = &view;
        let piece = |&size: &u64| {
            let (head, tail) = rest.split_at(size as usize);
            rest = tail;
            head.to_vec()
        };
        Ok(sizes.iter().map(piece).collect())
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
        reason.map_or(Ok(()), |reason| Err(self.invalid("mapping", &reason)))
    }

    fn chunk(&self) -> u64 {
        CHUNK.min(self.limits().buffer)
    }
}

/// Copies spans one behind the other to the start of `target`; returns where they end.
pub(crate) fn copy_out(encoder: &mut wgpu::CommandEncoder, spans: &[&Span], target: &wgpu::Buffer) -> u64 {
    let mut at = 0;
    for span in spans {
        encoder.copy_buffer_to_buffer(span.buffer(), span.offset(), target, at, span.size());
        at += span.size();
    }
    at
}

/// Copies `source` to the start of mapped memory by several threads, and zeroes the rest of it. The threads are its own:
/// callers may be workers of a pool, and a pool's worker that waits takes up other work, which could be another proof.
#[expect(unsafe_code, reason = "wgpu's write-only views can not be sent to other threads")]
fn fill(mut target: wgpu::WriteOnly<'_, [u8]>, source: &[u8]) {
    assert!(source.len() <= target.len(), "fill beyond the mapping");
    if source.len() < target.len() {
        target.slice(source.len()..).fill(0);
    }
    let start = target.as_raw_ptr().cast::<u8>().as_ptr() as usize;
    // SAFETY: `target` is borrowed mutably for the whole call and at least as long as `source`; each piece is written by
    // one thread, to a range of its own, and all threads have ended when the scope does.
    let copy = move |at: usize, piece: &[u8]| unsafe {
        std::ptr::copy_nonoverlapping(piece.as_ptr(), (start + at) as *mut u8, piece.len());
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(FILLERS);
    let share = source.len().div_ceil(threads).max(FILL);
    if source.len() <= share {
        return copy(0, source);
    }
    std::thread::scope(|scope| {
        for (index, piece) in source.chunks(share).enumerate() {
            scope.spawn(move || copy(index * share, piece));
        }
    });
}
