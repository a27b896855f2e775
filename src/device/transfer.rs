//! Host memory to the device and back.
//!
//! Upload goes through a persistent ring of mapped buffers filled by several threads (measured on an H200: 9 GB/s by
//! one thread, 32 GB/s by eight; `Queue::write_buffer` reaches 3.8). A ring buffer is written, unmapped, copied by the
//! queue, and mapped again when its copy has retired. Copies queue behind the kernels of whoever runs, so the ring grows
//! as long as none has retired, up to a bound: an upload within the bound waits for nobody's kernels.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Arc, Mutex, OnceLock},
};

use super::{Gpu, Span, error::DeviceError, lock};

/// Bytes of one ring buffer: large enough to hide the submit (66 us), small enough to create in 4 ms.
const CHUNK: u64 = 16 << 20;
/// Copies that may be on their way, of 512 MiB together at most: the inputs of a proof over 2^22.
const RING: usize = 32;
/// The least that is worth a thread of its own.
const FILL: usize = 1 << 20;
/// Threads of a fill: more than eight gain nothing.
const FILLERS: usize = 8;
/// Bytes that a thread makes at a time, before they go to mapped memory: they stay in its first cache.
const BLOCK: usize = 8 << 10;

struct Slot {
    buffer: wgpu::Buffer,
    /// The copy out of it.
    index: wgpu::SubmissionIndex,
    /// Asked for behind the copy.
    mapping: Mapping,
}

/// A mapping that was asked for. It completes when somebody polls.
#[derive(Default)]
struct Mapping(Arc<OnceLock<Result<(), String>>>);

impl Mapping {
    fn of(buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Self {
        let mapping = Self::default();
        let told = mapping.0.clone();
        buffer.map_async(mode, .., move |result| _ = told.set(result.map_err(|error| error.to_string())));
        mapping
    }

    fn done(&self) -> bool {
        self.0.get().is_some()
    }
}

/// The staging ring of one device: slots that wait for their turn, the longest waiting first. A slot is out of the ring
/// while it is written and comes back only if all went well, so an error costs a buffer and nothing else.
#[derive(Default)]
pub(crate) struct Ring {
    slots: Mutex<VecDeque<Slot>>,
}

impl Gpu {
    /// Writes `data` to the start of `span`. Returns when the bytes have left host memory; kernels submitted later see
    /// them, and nothing waits for kernels submitted earlier unless more than the ring's bound is on its way.
    pub fn upload(&self, span: &Span, data: &[u8]) -> Result<(), DeviceError> {
        self.upload_with(span, data.len(), &|at, block| block.copy_from_slice(&data[at..at + block.len()]))
    }

    /// The same for `length` bytes that `write` makes, from a given one on as many as there is room for, where they start
    /// at a multiple of 32. Several threads ask at the same time. No memory but that of the staging ring is touched:
    /// fresh pages of a vector in between would take longer than the copy.
    pub(crate) fn upload_with(
        &self,
        span: &Span,
        length: usize,
        write: &(dyn Fn(usize, &mut [u8]) + Sync),
    ) -> Result<(), DeviceError> {
        self.own("an upload", [span])?;
        if length as u64 > span.size() {
            let (bytes, limit) = (length as u64, span.size());
            return Err(DeviceError::OutOfMemory { what: "an upload".into(), bytes, limit });
        }
        let chunk = (self.chunk() / 32).max(1) * 32;
        for first in (0..length).step_by(chunk as usize) {
            let at = span.offset() + first as u64;
            let piece = first..length.min(first + chunk as usize);
            let buffer = self.staging()?;
            // Copies move whole words; a ragged tail is padded with zeros, inside the span because spans are too.
            let padded = piece.len().next_multiple_of(4) as u64;
            let mut view = buffer.get_mapped_range_mut(..padded).map_err(|e| self.invalid("an upload", &e))?;
            fill(view.slice(..), piece, write);
            drop(view);
            buffer.unmap();
            let submitted = self.scoped(|device| {
                let descriptor = wgpu::CommandEncoderDescriptor { label: Some("upload") };
                let mut encoder = device.create_command_encoder(&descriptor);
                encoder.copy_buffer_to_buffer(&buffer, 0, span.buffer(), at, padded);
                self.queue().submit([encoder.finish()])
            });
            let index = submitted.map_err(|e| self.invalid("an upload", &e))?;
            let mapping = Mapping::of(&buffer, wgpu::MapMode::Write);
            lock(&self.ring().slots).push_back(Slot { buffer, index, mapping });
        }
        self.alive("an upload")
    }

    /// A mapped buffer: the one that waited longest if its copy has retired, else a new one while the ring is short.
    fn staging(&self) -> Result<wgpu::Buffer, DeviceError> {
        self.poll("an upload")?;
        let oldest = |wanted: &dyn Fn(&VecDeque<Slot>) -> bool| {
            let mut slots = lock(&self.ring().slots);
            if wanted(&slots) { slots.pop_front() } else { None }
        };
        let retired = |slots: &VecDeque<Slot>| slots.front().is_some_and(|slot| slot.mapping.done());
        let slot = match oldest(&|slots| retired(slots) || slots.len() >= RING) {
            Some(slot) => slot,
            None => {
                let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
                match self.create_buffer("staging ring", self.chunk(), usage) {
                    Ok(buffer) => {
                        self.mapped(&Mapping::of(&buffer, wgpu::MapMode::Write))?;
                        return Ok(buffer);
                    }
                    // Slower than with one more, and no reason to fail.
                    Err(error) => oldest(&|_| true).ok_or(error)?,
                }
            }
        };
        if !slot.mapping.done() {
            self.wait(slot.index, "an upload")?;
        }
        self.mapped(&slot.mapping)?;
        Ok(slot.buffer)
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
        let mapping = Mapping::of(buffer, wgpu::MapMode::Read);
        self.wait(after, "a readback")?;
        self.mapped(&mapping)?;
        let view = buffer.get_mapped_range(..).map_err(|e| self.invalid("a readback", &e))?;
        let mut rest: &[u8] = &view;
        let piece = |&size: &u64| {
            let (head, tail) = rest.split_at(size as usize);
            rest = tail;
            head.to_vec()
        };
        Ok(sizes.iter().map(piece).collect())
    }

    /// Polls until a mapping, whose submission has run, is there.
    fn mapped(&self, mapping: &Mapping) -> Result<(), DeviceError> {
        loop {
            match mapping.0.get() {
                Some(Ok(())) => return Ok(()),
                Some(Err(reason)) => return Err(self.invalid("mapping", reason)),
                None => self.poll("mapping")?,
            }
            std::thread::yield_now();
        }
    }

    /// Lets the device say what is done, without waiting.
    fn poll(&self, during: &str) -> Result<(), DeviceError> {
        self.device().poll(wgpu::PollType::Poll).map_err(|e| self.invalid(during, &e))?;
        self.alive(during)
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

/// Has the bytes `piece` made at the start of mapped memory by several threads, and zeroes the rest of it. The threads are its own:
/// callers may be workers of a pool, and a pool's worker that waits takes up other work, which could be another proof.
#[expect(unsafe_code, reason = "wgpu's write-only views can not be sent to other threads")]
fn fill(mut target: wgpu::WriteOnly<'_, [u8]>, piece: Range<usize>, write: &(dyn Fn(usize, &mut [u8]) + Sync)) {
    let length = piece.len();
    assert!(length <= target.len(), "fill beyond the mapping");
    if length < target.len() {
        target.slice(length..).fill(0);
    }
    let start = target.as_raw_ptr().cast::<u8>().as_ptr() as usize;
    // SAFETY: `target` is borrowed mutably for the whole call and has at least `length` bytes; each range of them is
    // written by one thread, and all threads have ended when the scope does.
    let copy = move |at: usize, block: &[u8]| unsafe {
        std::ptr::copy_nonoverlapping(block.as_ptr(), (start + at) as *mut u8, block.len());
    };
    let part = |range: Range<usize>| {
        let mut block = [0; BLOCK];
        for at in range.clone().step_by(BLOCK) {
            let block = &mut block[..BLOCK.min(range.end - at)];
            write(piece.start + at, block);
            copy(at, block);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(FILLERS);
    let share = length.div_ceil(threads).max(FILL).next_multiple_of(BLOCK);
    if length <= share {
        return part(0..length);
    }
    std::thread::scope(|scope| {
        for first in (0..length).step_by(share) {
            scope.spawn(move || part(first..length.min(first + share)));
        }
    });
}
