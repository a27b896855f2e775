//! Bases that stay on the device, and scalars that go with them.

use std::{marker::PhantomData, sync::Arc};

use ark_bls12_381::{Fr, G1Affine, G2Affine};
use ark_ec::{CurveGroup, VariableBaseMSM, short_weierstrass::Projective};

use super::{MsmError, Options, Plan};
use crate::{
    device::{DeviceError, Limits, Pool, Span},
    encoding::{self, Format},
    kernel::{Group, Kernels, Steps, table::MSM_MULTIPLY, twins::MultiplyParams},
};

/// The two source groups, as MSMs need them.
pub trait Source: CurveGroup<ScalarField = Fr> + VariableBaseMSM<ScalarField = Fr, MulBase = Self::Affine> {
    /// Which kernels.
    const GROUP: Group;
    /// Affine points as device words.
    fn encode(format: Format, points: &[Self::Affine]) -> Vec<u8>;
    /// Device sums as points.
    fn decode(format: Format, bytes: &[u8]) -> Vec<Self>;
}

impl Source for Projective<ark_bls12_381::g1::Config> {
    const GROUP: Group = Group::G1;
    fn encode(format: Format, points: &[G1Affine]) -> Vec<u8> {
        format.g1_bytes(points)
    }
    fn decode(format: Format, bytes: &[u8]) -> Vec<Self> {
        format.g1_sums(bytes)
    }
}

impl Source for Projective<ark_bls12_381::g2::Config> {
    const GROUP: Group = Group::G2;
    fn encode(format: Format, points: &[G2Affine]) -> Vec<u8> {
        format.g2_bytes(points)
    }
    fn decode(format: Format, bytes: &[u8]) -> Vec<Self> {
        format.g2_sums(bytes)
    }
}

/// Bases resident on a device, in the limb format of the kernels they were loaded with.
#[derive(Debug, Clone)]
pub struct Bases<G> {
    pub(super) n: usize,
    pub(super) format: Format,
    /// The points of each of the plan's pieces, and their multiples, table by table.
    pub(super) pieces: Vec<Span>,
    pub(super) map: Span,
    pub(super) positions: Option<Arc<[u32]>>,
    /// Window and tables that multiples were made for.
    multiples: Option<(u32, u32)>,
    group: PhantomData<fn() -> G>,
}

/// Doublings of one dispatch: far below a watchdog's patience, and within the 65,535 iterations, of all loops together,
/// after which llvmpipe ends a thread's loops without a word.
const DOUBLINGS: u32 = 32;

/// Points converted and uploaded at a time: bounds the host copy to 12 MiB (G2: 24 MiB).
const BATCH: usize = 1 << 17;

impl<G: Source> Bases<G> {
    /// Uploads `points`; point `i` will be multiplied by scalar `i`. Infinity is allowed.
    pub fn load(kernels: &Kernels, points: &[G::Affine]) -> Result<Self, MsmError> {
        Self::load_with(kernels, points, None, &Options::default())
    }

    /// Uploads `points`; point `i` will be multiplied by scalar `positions[i]`, which must increase.
    pub fn load_mapped(kernels: &Kernels, points: &[G::Affine], positions: &[u32]) -> Result<Self, MsmError> {
        Self::load_with(kernels, points, Some(positions), &Options::default())
    }

    /// Either of these, with multiples of the points made ahead if `options.tables` is more than one. They are made for
    /// the window that `options` name, or the best one, and no MSM over these bases has another.
    pub fn load_with(
        kernels: &Kernels,
        points: &[G::Affine],
        positions: Option<&[u32]>,
        options: &Options,
    ) -> Result<Self, MsmError> {
        let unordered = |positions: &[u32]| positions.windows(2).position(|pair| pair[0] >= pair[1]);
        if let Some(at) = positions.and_then(unordered) {
            return Err(MsmError::Order { at: at + 1 });
        }
        let gpu = kernels.gpu();
        let size = G::GROUP.affine_bytes();
        let plan = Plan::new(G::GROUP, points.len(), positions, &gpu.limits(), options)?;
        let mut pieces = Vec::with_capacity(plan.chunks.len());
        for chunk in &plan.chunks {
            let n = chunk.bases.len() as u32;
            let piece = gpu.allocate(Pool::Resident, "bases", u64::from(plan.tables) * u64::from(n) * size)?;
            for (index, batch) in points[chunk.bases.clone()].chunks(BATCH).enumerate() {
                let bytes = G::encode(kernels.format(), batch);
                gpu.upload(&piece.slice((index * BATCH) as u64 * size, bytes.len() as u64), &bytes)?;
            }
            let mut steps = Steps::new(gpu.limits());
            for table in 1..plan.tables {
                steps.stage("msm tables");
                let to0 = table * n;
                let (mut left, mut from0) = (plan.window * plan.sets, to0 - n);
                while left > 0 {
                    let doublings = left.min(DOUBLINGS);
                    let params = MultiplyParams { group0: 0, n, doublings, from0, to0 };
                    steps.dispatch(&MSM_MULTIPLY[G::GROUP as usize], u64::from(n), params, &[&piece]);
                    (left, from0) = (left - doublings, to0);
                }
            }
            if plan.tables > 1 {
                kernels.run(&steps)?;
            }
            pieces.push(piece);
        }
        let map = gpu.store(Pool::Resident, "scalar map", bytemuck::cast_slice(positions.unwrap_or_default()))?;
        Ok(Self {
            n: points.len(),
            format: kernels.format(),
            pieces,
            map,
            positions: positions.map(Into::into),
            multiples: (plan.tables > 1).then_some((plan.window, plan.tables)),
            group: PhantomData,
        })
    }

    /// The plan of an MSM over these bases; their multiples, if they have any, decide on the window.
    pub fn plan(&self, limits: &Limits, options: &Options) -> Result<Plan, MsmError> {
        let options = match self.multiples {
            Some((window, tables)) => Options { window: Some(window), tables, ..*options },
            None => Options { tables: 1, ..*options },
        };
        Plan::new(G::GROUP, self.n, self.positions.as_deref(), limits, &options)
    }

    /// Bases.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Scalars that an MSM over these bases reads.
    pub fn scalars(&self) -> usize {
        scalars(self.n, self.positions.as_deref())
    }
}

/// Scalars that `n` bases refer to.
pub(super) fn scalars(n: usize, positions: Option<&[u32]>) -> usize {
    positions.map_or(n, |positions| positions.last().map_or(0, |&last| last as usize + 1))
}

/// Scalars on a device: 8 words each, and the factor that makes them plain.
#[derive(Debug, Clone)]
pub struct Scalars {
    /// The words, in [`Pool::Scratch`].
    pub span: Span,
    /// `fr_mul(stored, scale)` is the plain integer, in the format of the kernels that it was made for.
    pub scale: [u32; 8],
    /// That format.
    pub format: Format,
}

impl Scalars {
    /// Uploads field elements as they lie in memory; the device takes the Montgomery factor away.
    pub fn upload(kernels: &Kernels, scalars: &[Fr]) -> Result<Self, DeviceError> {
        let (gpu, bytes) = (kernels.gpu(), 32 * scalars.len());
        let span = gpu.allocate(Pool::Scratch, "scalars", bytes as u64)?;
        gpu.upload_with(&span, bytes, &|at, block| encoding::fr_write(scalars, &[], at, block))?;
        let format = kernels.format();
        Ok(Self { span, scale: format.fr_unmont(), format })
    }
}
