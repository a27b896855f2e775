//! Bases that stay on the device, and scalars that go with them.

use std::{marker::PhantomData, sync::Arc};

use ark_bls12_381::{Fr, G1Affine, G2Affine};
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM, short_weierstrass::Projective};

use super::{MsmError, Options, Part, Plan};
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

/// Bases resident on a device, in the limb format of the kernels they were loaded with: of one MSM, or of several that
/// are done together.
#[derive(Debug, Clone)]
pub struct Bases<G> {
    pub(super) parts: Vec<Own>,
    pub(super) format: Format,
    /// The points of each of the plan's pieces, and their multiples, table by table.
    pub(super) pieces: Vec<Span>,
    /// Window and tables that multiples were made for.
    multiples: Option<(u32, u32)>,
    group: PhantomData<fn() -> G>,
}

/// What is known of a part.
#[derive(Debug, Clone)]
pub(super) struct Own {
    n: usize,
    positions: Option<Arc<[u32]>>,
    /// The positions on the device.
    pub(super) map: Span,
}

impl Own {
    pub(super) fn part(&self) -> Part<'_> {
        Part { n: self.n, positions: self.positions.as_deref() }
    }
}

/// Points, and for each the place of its scalar if it is not its own.
pub type Query<'a, A> = (&'a [A], Option<&'a [u32]>);

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
        Self::load_joint(kernels, &[(points, positions)], options)
    }

    /// Uploads the bases of several MSMs that will be done together: with windows of the same size, sorted, summed and
    /// reduced in the same dispatches, which is what small ones spend their time on.
    pub fn load_joint(
        kernels: &Kernels,
        queries: &[Query<'_, G::Affine>],
        options: &Options,
    ) -> Result<Self, MsmError> {
        let gpu = kernels.gpu();
        let size = G::GROUP.affine_bytes();
        let parts: Vec<_> = queries.iter().map(|&(points, positions)| Part { n: points.len(), positions }).collect();
        parts.iter().try_for_each(Part::ordered)?;
        let plan = Plan::joint(G::GROUP, &parts, &gpu.limits(), options)?;
        let mut pieces = Vec::with_capacity(plan.pieces.len());
        for of in &plan.pieces {
            let n = of.len() as u32;
            let piece = gpu.allocate(Pool::Resident, "bases", u64::from(plan.tables) * u64::from(n) * size)?;
            let write = |at: usize, points: &[G::Affine]| {
                let bytes = G::encode(kernels.format(), points);
                gpu.upload(&piece.slice(at as u64 * size, bytes.len() as u64), &bytes)
            };
            for (index, chunk) in of.chunks.iter().enumerate() {
                for (batch, points) in queries[chunk.part].0[chunk.bases.clone()].chunks(BATCH).enumerate() {
                    write(chunk.at + batch * BATCH, points)?;
                }
                // What no scalar refers to is doubled all the same.
                let end = chunk.at + chunk.bases.len();
                if let Some(next) = of.chunks.get(index + 1).filter(|next| next.at > end) {
                    write(end, &vec![G::Affine::zero(); next.at - end])?;
                }
            }
            let mut steps = Steps::new(gpu.limits());
            for table in 1..plan.tables {
                steps.stage("msm tables");
                let to0 = table * n;
                let (mut left, mut from0) = (plan.apart(table), to0 - n);
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
        let own = |part: &Part| -> Result<Own, DeviceError> {
            let map = bytemuck::cast_slice(part.positions.unwrap_or_default());
            let map = gpu.store(Pool::Resident, "scalar map", map)?;
            Ok(Own { n: part.n, positions: part.positions.map(Into::into), map })
        };
        Ok(Self {
            parts: parts.iter().map(own).collect::<Result<_, _>>()?,
            format: kernels.format(),
            pieces,
            multiples: (plan.tables > 1).then_some((plan.cut.window, plan.tables)),
            group: PhantomData,
        })
    }

    /// The plan of an MSM over these bases; their multiples, if they have any, decide on the window.
    pub fn plan(&self, limits: &Limits, options: &Options) -> Result<Plan, MsmError> {
        let options = match self.multiples {
            Some((window, tables)) => Options { window: Some(window), tables, ..*options },
            None => Options { tables: 1, ..*options },
        };
        let parts: Vec<_> = self.parts.iter().map(Own::part).collect();
        Plan::joint(G::GROUP, &parts, limits, &options)
    }

    /// Bases, of all parts.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.n).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Scalars that an MSM over these bases reads; of several, the most that one of them does.
    pub fn scalars(&self) -> usize {
        self.parts.iter().map(|part| part.part().scalars()).max().unwrap_or(0)
    }
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
