//! A list of device work: stages, dispatches, clears. It can be printed, and it is run by [`Kernels::run`].

use std::collections::VecDeque;

use super::{
    build::Kernels,
    table::{Access, Kernel},
    twins::Params,
};
use crate::device::{DeviceError, Interval, Limits, Pool, Span, copy_out};

/// One thing for the device to do.
#[derive(Debug, Clone)]
pub enum Step {
    /// What follows is timed under this name.
    Stage(&'static str),
    /// Run a kernel.
    Dispatch {
        /// Which.
        kernel: &'static Kernel,
        /// Its uniform struct.
        params: Vec<u8>,
        /// Its storage bindings.
        bindings: Vec<Span>,
        /// Workgroups.
        groups: u32,
    },
    /// Fill with zeros.
    Clear(Span),
}

/// A list of steps, split to a device's limits as it is written.
#[derive(Debug, Clone)]
pub struct Steps {
    limits: Limits,
    list: Vec<Step>,
}

impl Steps {
    /// Nothing to do yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, list: Vec::new() }
    }

    /// The list.
    pub fn list(&self) -> &[Step] {
        &self.list
    }

    /// Starts a named stage.
    pub fn stage(&mut self, label: &'static str) {
        self.list.push(Step::Stage(label));
    }

    /// Fills a span with zeros.
    pub fn clear(&mut self, span: &Span) {
        self.list.push(Step::Clear(span.clone()));
    }

    /// Runs `kernel` with at least `threads` threads, in as many dispatches as the limit on workgroups demands.
    ///
    /// # Panics
    /// If the parameters or the number of spans are not the kernel's. That the spans are long enough for what the
    /// parameters say is the caller's to know: shaders may run without bounds checks.
    pub fn dispatch<P: Params>(&mut self, kernel: &'static Kernel, threads: u64, params: P, bindings: &[&Span]) {
        assert_eq!(P::TWIN, kernel.params, "{}", kernel.name);
        assert_eq!(bindings.len(), kernel.bindings.len(), "{}", kernel.name);
        let total = threads.div_ceil(u64::from(kernel.workgroup));
        let mut first = 0;
        while first < total {
            let groups = (total - first).min(u64::from(self.limits.groups));
            let mut params = bytemuck::bytes_of(&params).to_vec();
            params[..4].copy_from_slice(&(first as u32).to_le_bytes());
            let bindings = bindings.iter().map(|&span| span.clone()).collect();
            self.list.push(Step::Dispatch { kernel, params, bindings, groups: groups as u32 });
            first += groups;
        }
    }

    /// Runs one workgroup of `kernel` with all parameters zero, which every kernel answers by doing nothing: for
    /// compiling ahead on drivers that compile at first use.
    pub fn dispatch_nothing(&mut self, kernel: &'static Kernel, bindings: &[&Span]) {
        let bindings = bindings.iter().map(|&span| span.clone()).collect();
        self.list.push(Step::Dispatch { kernel, params: vec![0; kernel.params.size], bindings, groups: 1 });
    }
}

/// A list of steps made ready: pipelines, parameters and bindings are in place, and nothing is left but to submit it.
#[derive(Debug)]
pub struct Encoded {
    /// A command buffer for each stage that does something.
    commands: Vec<wgpu::CommandBuffer>,
    clock: crate::device::Clock,
    readback: wgpu::Buffer,
    /// Bytes of each span that is read back, then those of the timestamps.
    sizes: Vec<u64>,
    /// What the list uses, held until it has run: until then nobody may upload into it.
    spans: Vec<Span>,
}

/// Work that was handed to the device.
#[derive(Debug)]
pub struct Submitted {
    index: wgpu::SubmissionIndex,
    clock: crate::device::Clock,
    readback: wgpu::Buffer,
    sizes: Vec<u64>,
    spans: Vec<Span>,
}

/// Stages that are on the device at most before the next one is submitted: enough that it never waits for the host, which
/// takes 0.1 ms to notice an end.
const AHEAD: usize = 4;

/// Uniform slots start at multiples of this: the largest alignment WebGPU allows.
const SLOT: usize = 256;

impl Kernels {
    /// Makes the list ready to be submitted, with copies of `reads` at its end. This is the host's work for a list, a
    /// millisecond for a proof; what is left to do under an execution lock is [`Self::launch`].
    pub fn encode(&self, steps: &Steps, reads: &[&Span]) -> Result<Encoded, DeviceError> {
        let gpu = self.gpu();
        gpu.own("a list of kernels", reads.iter().copied())?;
        let mut uniforms = vec![0u8; SLOT];
        let mut pipelines = Vec::new();
        for step in steps.list() {
            if let Step::Clear(span) = step {
                gpu.own("a list of kernels", [span])?;
            }
            if let Step::Dispatch { kernel, params, bindings, .. } = step {
                gpu.own(kernel.name, bindings)?;
                // The device's own limit would speak too, but not one that was lowered: plans have to keep to both.
                if let Some(span) = bindings.iter().find(|span| span.size() > gpu.limits().binding) {
                    let reason = format!("{} bytes in one binding, the limit is {}", span.size(), gpu.limits().binding);
                    return Err(gpu.invalid(kernel.name, &reason));
                }
                let at = pipelines.len() * SLOT;
                uniforms.resize(at + SLOT, 0);
                uniforms[at..at + params.len()].copy_from_slice(params);
                pipelines.push(self.get(kernel)?);
            }
        }
        // Stages and clears begin passes.
        let passes = 1 + steps.list().iter().filter(|step| !matches!(step, Step::Dispatch { .. })).count();
        let mut clock = gpu.clock(passes);
        let encoded = gpu.scoped(|device| {
            let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("parameters"),
                size: uniforms.len() as u64,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: true,
            });
            buffer.get_mapped_range_mut(..).map_err(|e| gpu.invalid("parameters", &e))?.copy_from_slice(&uniforms);
            buffer.unmap();
            let encoder = |label| device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(label) });
            let mut commands: Option<wgpu::CommandEncoder> = None;
            let mut finished = Vec::new();
            let mut label = "steps";
            let mut pass: Option<wgpu::ComputePass<'static>> = None;
            let mut slot = 0;
            for step in steps.list() {
                match step {
                    Step::Stage(name) => {
                        label = name;
                        drop(pass.take());
                        finished.extend(commands.take().map(wgpu::CommandEncoder::finish));
                    }
                    Step::Clear(span) => {
                        pass = None;
                        let commands = commands.get_or_insert_with(|| encoder(label));
                        commands.clear_buffer(span.buffer(), span.offset(), Some(span.size()));
                    }
                    Step::Dispatch { kernel, bindings, groups, .. } => {
                        let pass = pass.get_or_insert_with(|| {
                            let commands = commands.get_or_insert_with(|| encoder(label));
                            let timestamp_writes = clock.pass(label);
                            let descriptor = wgpu::ComputePassDescriptor { label: Some(label), timestamp_writes };
                            commands.begin_compute_pass(&descriptor).forget_lifetime()
                        });
                        let pipeline = &pipelines[slot];
                        let uniform = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                            buffer: &buffer,
                            offset: (slot * SLOT) as u64,
                            size: std::num::NonZeroU64::new(kernel.params.size as u64),
                        });
                        let storage = bindings.iter().map(Span::binding);
                        let entries: Vec<_> = std::iter::once(uniform)
                            .chain(storage)
                            .zip(0..)
                            .map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource })
                            .collect();
                        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                            label: Some(kernel.name),
                            layout: &pipeline.layout,
                            entries: &entries,
                        });
                        pass.set_pipeline(&pipeline.pipeline);
                        pass.set_bind_group(0, &group, &[]);
                        pass.dispatch_workgroups(*groups, 1, 1);
                        slot += 1;
                    }
                }
            }
            drop(pass);
            let mut commands = commands.unwrap_or_else(|| encoder(label));
            let mut sizes: Vec<u64> = reads.iter().map(|span| span.size()).collect();
            sizes.push(clock.bytes());
            let readback = gpu.readback(sizes.iter().sum())?;
            let at = copy_out(&mut commands, reads, &readback);
            clock.resolve(gpu, &mut commands, &readback, at)?;
            finished.push(commands.finish());
            Ok((finished, readback, sizes))
        });
        let (commands, readback, sizes) = encoded.map_err(|error| gpu.invalid("a list of kernels", &error))??;
        let spans = steps.list().iter().flat_map(|step| match step {
            Step::Dispatch { bindings, .. } => bindings.clone(),
            Step::Clear(span) => vec![span.clone()],
            Step::Stage(_) => Vec::new(),
        });
        Ok(Encoded { commands, clock, readback, sizes, spans: spans.collect() })
    }

    /// Submits what was encoded, and returns when the last stage was submitted. Each stage is a submission of its own,
    /// since watchdogs of desktop systems time submissions; lists of several threads do not interleave. No more than
    /// four stages are on the device at a time, so that once `stop` says so, little of the list still runs.
    pub fn launch(&self, encoded: Encoded, stop: &dyn Fn() -> bool) -> Result<Submitted, DeviceError> {
        let Encoded { commands, clock, readback, sizes, spans } = encoded;
        let gpu = self.gpu();
        let _whole = self.submitting();
        let submitted = gpu.scoped(|_| {
            let mut indices = VecDeque::new();
            for commands in commands {
                if indices.len() >= AHEAD
                    && let Some(index) = indices.pop_front()
                {
                    gpu.wait(index, "kernels")?;
                }
                if stop() {
                    // Whoever holds a lock or memory for this list may let go once it has returned.
                    indices.pop_back().map_or(Ok(()), |last| gpu.wait(last, "kernels"))?;
                    return Err(DeviceError::Stopped);
                }
                indices.push_back(gpu.queue().submit([commands]));
            }
            indices.pop_back().ok_or(DeviceError::Stopped)
        });
        let index = submitted.map_err(|error| gpu.invalid("a list of kernels", &error))??;
        Ok(Submitted { index, clock, readback, sizes, spans })
    }

    /// Waits for a list to have run.
    pub fn wait(&self, submitted: &Submitted) -> Result<(), DeviceError> {
        self.gpu().wait(submitted.index.clone(), "kernels")
    }

    /// What was to be read back, and the device time of the stages (nothing without timestamps); waits for the list.
    pub fn collect(&self, submitted: Submitted) -> Result<(Vec<Vec<u8>>, Vec<Interval>), DeviceError> {
        let Submitted { index, clock, readback, sizes, spans } = submitted;
        let mut read = self.gpu().fetch(&readback, &sizes, index)?;
        drop(spans);
        let stamps = read.pop().unwrap_or_default();
        Ok((read, clock.intervals(self.gpu(), &stamps)))
    }

    /// Encodes the list, submits it, waits for it, and returns what `reads` hold then.
    pub fn run_and_read(&self, steps: &Steps, reads: &[&Span]) -> Result<(Vec<Vec<u8>>, Vec<Interval>), DeviceError> {
        self.collect(self.launch(self.encode(steps, reads)?, &|| false)?)
    }

    /// The same for lists whose time is all that is wanted.
    pub fn run(&self, steps: &Steps) -> Result<Vec<Interval>, DeviceError> {
        Ok(self.run_and_read(steps, &[])?.1)
    }
}

impl Access {
    /// The pool that spans bound this way come from.
    pub fn pool(self) -> Pool {
        match self {
            Self::Read => Pool::Resident,
            Self::Write => Pool::Scratch,
        }
    }
}
