//! Bases that stay on the device, and scalars that go with them.

use std::{marker::PhantomData, sync::Arc};

use ark_bls12_381::{Fr, G1Affine, G2Affine};
use ark_ec::{CurveGroup, VariableBaseMSM, short_weierstrass::Projective};

use super::MsmError;
use crate::{
    device::{DeviceError, Pool, Span},
    encoding::{self, Format},
    kernel::{Group, Kernels},
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
    pub(super) points: Span,
    pub(super) map: Span,
    pub(super) positions: Option<Arc<[u32]>>,
    group: PhantomData<fn() -> G>,
}

/// Points converted and uploaded at a time: bounds the host copy to 12 MiB (G2: 24 MiB).
const BATCH: usize = 1 << 17;

impl<G: Source> Bases<G> {
    /// Uploads `points`; point `i` will be multiplied by scalar `i`. Infinity is allowed.
    pub fn load(kernels: &Kernels, points: &[G::Affine]) -> Result<Self, MsmError> {
        Self::upload(kernels, points, None)
    }

    /// Uploads `points`; point `i` will be multiplied by scalar `positions[i]`, which must increase.
    pub fn load_mapped(kernels: &Kernels, points: &[G::Affine], positions: &[u32]) -> Result<Self, MsmError> {
        if positions.len() != points.len() {
            return Err(MsmError::Lengths { bases: points.len(), scalars: positions.len() });
        }
        if let Some(at) = positions.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(MsmError::Order { at: at + 1 });
        }
        Self::upload(kernels, points, Some(positions.into()))
    }

    fn upload(kernels: &Kernels, points: &[G::Affine], positions: Option<Arc<[u32]>>) -> Result<Self, MsmError> {
        let gpu = kernels.gpu();
        let size = G::GROUP.affine_bytes();
        let span = gpu.allocate(Pool::Resident, "bases", points.len() as u64 * size)?;
        for (index, batch) in points.chunks(BATCH).enumerate() {
            let bytes = G::encode(kernels.format(), batch);
            gpu.upload(&span.slice((index * BATCH) as u64 * size, bytes.len() as u64), &bytes)?;
        }
        let words = positions.as_deref().unwrap_or_default();
        let map = gpu.store(Pool::Resident, "scalar map", bytemuck::cast_slice(words))?;
        Ok(Self { n: points.len(), format: kernels.format(), points: span, map, positions, group: PhantomData })
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
        Self::store(kernels, &encoding::fr_words(scalars, &[], scalars.len()))
    }

    /// The same from words.
    pub(crate) fn store(kernels: &Kernels, words: &[[u64; 4]]) -> Result<Self, DeviceError> {
        let span = kernels.gpu().store(Pool::Scratch, "scalars", bytemuck::cast_slice(words))?;
        let format = kernels.format();
        Ok(Self { span, scale: format.fr_unmont(), format })
    }
}
