//! Device memory: few large buffers, handed out as spans.
//!
//! A device buffer of 2 GiB takes 59 ms to create on an H200, so memory is taken from the driver in blocks and never
//! given back on the hot path. Spans are carved out first fit, return when the last clone is dropped, and neighbours
//! merge; only when the budget or the driver refuses are idle blocks given back. A span may be dropped, and handed out
//! again, while the device still uses it: whatever writes arena memory, uploads included, goes through the one queue, in
//! order. There are two pools, because wgpu tracks usage by whole buffer: within one dispatch a buffer can not be
//! bound read-only in one range and writable in another. [`Pool::Resident`] spans (keys, tables) are bound read-only, but
//! by kernels that make tables and bind nothing else of that pool; [`Pool::Scratch`] spans always read-write.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use super::{Gpu, error::DeviceError, lock};

/// Spans start at multiples of this: the largest `min_storage_buffer_offset_alignment` WebGPU allows.
pub const ALIGN: u64 = 256;

/// Bytes that an allocation of `size` bytes takes from the budget.
pub fn leased(size: u64) -> u64 {
    size.max(16).next_multiple_of(ALIGN)
}

/// How a span may be bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// Written by uploads and by kernels that make tables, read by all others.
    Resident,
    /// Read and written by kernels.
    Scratch,
}

/// One range of device memory, returned to its arena when the last clone is dropped.
#[derive(Clone)]
pub struct Span {
    lease: Arc<Lease>,
    offset: u64,
    size: u64,
}

struct Lease {
    buffer: wgpu::Buffer,
    arena: Arc<Mutex<Blocks>>,
    block: usize,
    start: u64,
    length: u64,
}

impl Drop for Lease {
    fn drop(&mut self) {
        lock(&self.arena).release(self.block, self.start, self.length);
    }
}

impl Span {
    /// Bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes `offset .. offset + size` of this span, sharing its lease.
    ///
    /// # Panics
    /// If they are none, or not all within the span.
    pub fn slice(&self, offset: u64, size: u64) -> Self {
        let inside = size > 0 && offset.checked_add(size).is_some_and(|end| end <= self.size);
        assert!(inside, "{size} bytes at {offset} of a span of {} bytes", self.size);
        Self { lease: self.lease.clone(), offset: self.offset + offset, size }
    }

    /// Whether it came from this arena.
    pub(super) fn is_of(&self, arena: &Arena) -> bool {
        Arc::ptr_eq(&self.lease.arena, &arena.blocks)
    }

    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        &self.lease.buffer
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn binding(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.lease.buffer,
            offset: self.offset,
            size: std::num::NonZeroU64::new(self.size),
        })
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block{}[{}..{}]", self.lease.block, self.offset, self.offset + self.size)
    }
}

/// Bytes held, for budgets, tests and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Leased at this moment.
    pub leased: u64,
    /// Highest `leased` so far.
    pub peak: u64,
    /// Taken from the driver.
    pub reserved: u64,
}

#[derive(Default)]
struct Blocks {
    /// By number; the place of a block that was given back stays empty until another takes it.
    blocks: Vec<Option<Block>>,
    usage: Usage,
}

struct Block {
    buffer: wgpu::Buffer,
    size: u64,
    pool: Pool,
    /// Free ranges `(start, length)`, ordered by start, never touching.
    free: Vec<(u64, u64)>,
}

impl Blocks {
    fn release(&mut self, block: usize, start: u64, length: u64) {
        self.usage.leased -= length;
        // A block with a lease on it is never given back.
        let Some(Some(block)) = self.blocks.get_mut(block) else { return };
        let free = &mut block.free;
        let at = free.partition_point(|&(other, _)| other < start);
        free.insert(at, (start, length));
        if at + 1 < free.len() && start + length == free[at + 1].0 {
            free[at].1 += free.remove(at + 1).1;
        }
        if at > 0 && free[at - 1].0 + free[at - 1].1 == start {
            free[at - 1].1 += free.remove(at).1;
        }
    }

    fn carve(&mut self, pool: Pool, length: u64) -> Option<(wgpu::Buffer, usize, u64)> {
        let blocks = self.blocks.iter_mut().enumerate().filter_map(|(index, block)| Some((index, block.as_mut()?)));
        for (index, block) in blocks.filter(|(_, block)| block.pool == pool) {
            if let Some(at) = block.free.iter().position(|&(_, free)| free >= length) {
                let (start, free) = block.free[at];
                if free == length {
                    block.free.remove(at);
                } else {
                    block.free[at] = (start + length, free - length);
                }
                self.usage.leased += length;
                self.usage.peak = self.usage.peak.max(self.usage.leased);
                return Some((block.buffer.clone(), index, start));
            }
        }
        None
    }

    fn add(&mut self, buffer: wgpu::Buffer, size: u64, pool: Pool) {
        self.usage.reserved += size;
        let block = Some(Block { buffer, size, pool, free: vec![(0, size)] });
        match self.blocks.iter_mut().find(|block| block.is_none()) {
            Some(place) => *place = block,
            None => self.blocks.push(block),
        }
    }

    /// Gives blocks without a lease back to the driver, which frees them once no submission uses them.
    fn trim(&mut self) {
        for place in &mut self.blocks {
            if let Some(block) = place.take_if(|block| block.free == [(0, block.size)]) {
                self.usage.reserved -= block.size;
            }
        }
    }
}

/// Both pools of one device. See the module's documentation.
pub(crate) struct Arena {
    blocks: Arc<Mutex<Blocks>>,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self { blocks: Arc::default() }
    }

    pub(crate) fn usage(&self) -> Usage {
        lock(&self.blocks).usage
    }

    pub(crate) fn reset_peak(&self) {
        let usage = &mut lock(&self.blocks).usage;
        usage.peak = usage.leased;
    }

    /// A span of `size` bytes (at least 16, rounded up to [`ALIGN`]; contents unspecified).
    pub(crate) fn allocate(&self, gpu: &Gpu, pool: Pool, what: &str, size: u64) -> Result<Span, DeviceError> {
        let limits = gpu.limits();
        let refuse = |limit| DeviceError::OutOfMemory { what: what.into(), bytes: size, limit };
        if size > limits.buffer {
            return Err(refuse(limits.buffer));
        }
        let length = leased(size);
        let full = |blocks: &Blocks| DeviceError::Budget {
            what: what.into(),
            bytes: size,
            leased: blocks.usage.leased,
            budget: limits.memory,
        };
        let mut blocks = lock(&self.blocks);
        if blocks.usage.leased.saturating_add(length) > limits.memory {
            return Err(full(&blocks));
        }
        let (buffer, block, start) = match blocks.carve(pool, length) {
            Some(found) => found,
            None => {
                let room = |blocks: &Blocks| limits.memory.saturating_sub(blocks.usage.reserved);
                // Grow by at least the block size, so that small spans share a buffer, but never past the budget; idle
                // blocks, of the other pool or too short, make room for what is needed now.
                if room(&blocks) < length {
                    blocks.trim();
                }
                if room(&blocks) < length {
                    return Err(full(&blocks));
                }
                let size = length.max(limits.block.min(room(&blocks))).min(limits.buffer) / ALIGN * ALIGN;
                let (buffer, size) = match gpu.create_buffer(what, size, USAGE) {
                    Ok(buffer) => (buffer, size),
                    Err(DeviceError::OutOfMemory { .. }) => {
                        blocks.trim();
                        (gpu.create_buffer(what, length, USAGE)?, length)
                    }
                    Err(other) => return Err(other),
                };
                blocks.add(buffer, size, pool);
                blocks.carve(pool, length).ok_or_else(|| refuse(size))?
            }
        };
        let lease = Lease { buffer, arena: self.blocks.clone(), block, start, length };
        Ok(Span { lease: Arc::new(lease), offset: start, size: size.max(16).next_multiple_of(16) })
    }
}

const USAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);
