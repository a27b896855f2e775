//! A list of device work: stages, dispatches, clears. It can be printed, and it is run by [`Kernels::run`].

use std::{collections::VecDeque, sync::Arc};

use super::{
    build::{Kernels, Pipeline},
    table::{Access, Kernel},
    twins::Params,
};
use crate::device::{Clock, DeviceError, Gpu, Interval, Limits, Pool, Span, copy_out};

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
    results: Results,
}

/// Work that was handed to the device.
#[derive(Debug)]
pub struct Submitted {
    index: wgpu::SubmissionIndex,
    results: Results,
}

/// Where a list leaves what is read back.
#[derive(Debug)]
struct Results {
    readback: wgpu::Buffer,
    /// Bytes of each span that is read back.
    sizes: Vec<u64>,
    clock: Clock,
    /// What the list uses, held until it has run: until then nobody may upload into it.
    _spans: Vec<Span>,
}

/// Stages that are on the device at most before the next one is submitted: enough that it never waits for the host, which
/// takes 0.1 ms to notice an end.
const AHEAD: usize = 4;

/// Uniform slots start at multiples of this: the largest alignment WebGPU allows.
const SLOT: usize = 256;

/// Writes the command buffers of a list, stage by stage.
struct Encoder<'a> {
    gpu: &'a Gpu,
    stages: std::vec::IntoIter<&'a [Step]>,
    reads: &'a [&'a Span],
    parameters: wgpu::Buffer,
    /// Of every dispatch.
    pipelines: Vec<Arc<Pipeline>>,
    /// Dispatches so far.
    dispatched: usize,
    results: Results,
}

impl<'a> Encoder<'a> {
    /// Compiles what is missing, and puts the parameters and the memory for results in place.
    fn new(kernels: &'a Kernels, steps: &'a Steps, reads: &'a [&'a Span]) -> Result<Self, DeviceError> {
        let gpu = kernels.gpu();
        gpu.own("a list of kernels", reads.iter().copied())?;
        let mut uniforms = vec![0u8; SLOT];
        let (mut pipelines, mut spans) = (Vec::new(), Vec::new());
        for step in steps.list() {
            match step {
                Step::Stage(_) => {}
                Step::Clear(span) => {
                    gpu.own("a list of kernels", [span])?;
                    spans.push(span.clone());
                }
                Step::Dispatch { kernel, params, bindings, .. } => {
                    gpu.own(kernel.name, bindings)?;
                    // The device's own limit would speak too, but not one that was lowered: plans have to keep to both.
                    let limit = gpu.limits().binding;
                    if let Some(span) = bindings.iter().find(|span| span.size() > limit) {
                        let reason = format!("{} bytes in one binding, the limit is {limit}", span.size());
                        return Err(gpu.invalid(kernel.name, &reason));
                    }
                    let at = pipelines.len() * SLOT;
                    uniforms.resize(at + SLOT, 0);
                    uniforms[at..at + params.len()].copy_from_slice(params);
                    pipelines.push(kernels.get(kernel)?);
                    spans.extend(bindings.iter().cloned());
                }
            }
        }
        let works = |stage: &&[Step]| stage.iter().any(|step| !matches!(step, Step::Stage(_)));
        let mut stages: Vec<_> =
            steps.list().chunk_by(|_, next| !matches!(next, Step::Stage(_))).filter(works).collect();
        if stages.is_empty() {
            // Something has to read the spans back.
            stages.push(&[]);
        }
        // Stages and clears begin passes.
        let passes = 1 + steps.list().iter().filter(|step| !matches!(step, Step::Dispatch { .. })).count();
        let clock = gpu.clock(passes);
        let sizes: Vec<u64> = reads.iter().map(|span| span.size()).collect();
        let readback = gpu.readback(sizes.iter().sum::<u64>() + clock.room())?;
        let parameters = gpu.scoped(|device| {
            let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("parameters"),
                size: uniforms.len() as u64,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: true,
            });
            buffer.get_mapped_range_mut(..).map_err(|e| gpu.invalid("parameters", &e))?.copy_from_slice(&uniforms);
            buffer.unmap();
            Ok(buffer)
        });
        let parameters = parameters.map_err(|error| gpu.invalid("parameters", &error))??;
        let results = Results { readback, sizes, clock, _spans: spans };
        Ok(Self { gpu, stages: stages.into_iter(), reads, parameters, pipelines, dispatched: 0, results })
    }

    /// The commands of a stage, and after the last one the copies of what is read back.
    fn stage(&mut self, device: &wgpu::Device, stage: &[Step]) -> Result<wgpu::CommandBuffer, DeviceError> {
        let Results { readback, sizes, clock, .. } = &mut self.results;
        let label = match stage.first() {
            Some(Step::Stage(label)) => label,
            _ => "steps",
        };
        let mut commands = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(label) });
        let mut pass: Option<wgpu::ComputePass<'static>> = None;
        for step in stage {
            match step {
                Step::Stage(_) => {}
                Step::Clear(span) => {
                    pass = None;
                    commands.clear_buffer(span.buffer(), span.offset(), Some(span.size()));
                }
                Step::Dispatch { kernel, bindings, groups, .. } => {
                    let pass = pass.get_or_insert_with(|| {
                        let timestamp_writes = clock.pass(label);
                        let descriptor = wgpu::ComputePassDescriptor { label: Some(label), timestamp_writes };
                        commands.begin_compute_pass(&descriptor).forget_lifetime()
                    });
                    let pipeline = &self.pipelines[self.dispatched];
                    let uniform = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: &self.parameters,
                        offset: (self.dispatched * SLOT) as u64,
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
                    self.dispatched += 1;
                }
            }
        }
        drop(pass);
        if self.stages.len() == 0 {
            let at = copy_out(&mut commands, self.reads, readback);
            clock.resolve(self.gpu, &mut commands, readback, at)?;
            sizes.push(clock.bytes());
        }
        Ok(commands.finish())
    }
}

impl Iterator for Encoder<'_> {
    type Item = Result<wgpu::CommandBuffer, DeviceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (gpu, stage) = (self.gpu, self.stages.next()?);
        let encoded = gpu.scoped(|device| self.stage(device, stage));
        Some(encoded.map_err(|error| gpu.invalid("a list of kernels", &error)).flatten())
    }
}

impl Kernels {
    /// Makes the list ready to be submitted, with copies of `reads` at its end. This is the host's work for a list, a
    /// millisecond for a proof; what is left to do under an execution lock is [`Self::launch`].
    pub fn encode(&self, steps: &Steps, reads: &[&Span]) -> Result<Encoded, DeviceError> {
        let mut encoder = Encoder::new(self, steps, reads)?;
        let commands = encoder.by_ref().collect::<Result<_, _>>()?;
        Ok(Encoded { commands, results: encoder.results })
    }

    /// Submits what was encoded, and returns when the last stage was submitted. Each stage is a submission of its own,
    /// since watchdogs of desktop systems time submissions; lists of several threads do not interleave. No more than
    /// four stages are on the device at a time, so that once `stop` says so, little of the list still runs.
    pub fn launch(&self, encoded: Encoded, stop: &dyn Fn() -> bool) -> Result<Submitted, DeviceError> {
        let index = self.submit(encoded.commands.into_iter().map(Ok), stop)?;
        Ok(Submitted { index, results: encoded.results })
    }

    /// Submits stages as they come.
    fn submit(
        &self,
        stages: impl Iterator<Item = Result<wgpu::CommandBuffer, DeviceError>>,
        stop: &dyn Fn() -> bool,
    ) -> Result<wgpu::SubmissionIndex, DeviceError> {
        let gpu = self.gpu();
        let _whole = self.submitting();
        let submitted = gpu.scoped(|_| {
            let mut indices = VecDeque::new();
            for stage in stages {
                if indices.len() >= AHEAD
                    && let Some(index) = indices.pop_front()
                {
                    gpu.wait(index, "kernels")?;
                }
                match stage {
                    Ok(commands) if !stop() => indices.push_back(gpu.queue().submit([commands])),
                    other => {
                        // Whoever holds a lock or memory for this list may let go once this has returned.
                        indices.pop_back().map_or(Ok(()), |last| gpu.wait(last, "kernels"))?;
                        return Err(other.err().unwrap_or(DeviceError::Stopped));
                    }
                }
            }
            indices.pop_back().ok_or(DeviceError::Stopped)
        });
        submitted.map_err(|error| gpu.invalid("a list of kernels", &error))?
    }

    /// Waits for a list to have run.
    pub fn wait(&self, submitted: &Submitted) -> Result<(), DeviceError> {
        self.gpu().wait(submitted.index.clone(), "kernels")
    }

    /// What was to be read back, and the device time of the stages (nothing without timestamps); waits for the list.
    pub fn collect(&self, submitted: Submitted) -> Result<(Vec<Vec<u8>>, Vec<Interval>), DeviceError> {
        let Submitted { index, results } = submitted;
        let mut read = self.gpu().fetch(&results.readback, &results.sizes, index)?;
        let stamps = read.pop().unwrap_or_default();
        Ok((read, results.clock.intervals(self.gpu(), &stamps)))
    }

    /// Encodes the list, submits it, waits for it, and returns what `reads` hold then. A stage is encoded while those
    /// before it run: the host takes about 10 us for a step, a quarter of the time of an MSM of 2^12 points.
    pub fn run_and_read(&self, steps: &Steps, reads: &[&Span]) -> Result<(Vec<Vec<u8>>, Vec<Interval>), DeviceError> {
        let mut encoder = Encoder::new(self, steps, reads)?;
        let index = self.submit(encoder.by_ref(), &|| false)?;
        self.collect(Submitted { index, results: encoder.results })
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
