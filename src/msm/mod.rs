//! Multi-scalar multiplication `sum s_i P_i` over G1 and G2, all but the last few additions on the device.
//!
//! Pippenger's bucket method (N. Pippenger, SIAM J. Comput. 9, 1980; as in Bernstein, Doumen, Lange and Oosterwijk,
//! INDOCRYPT 2012): cut scalars into windows of `c` bits or one less ([`Cut`]), add each base to the bucket of its digit,
//! window by window, weigh buckets by their digit, add windows by Horner's rule. Passes, each a kernel (the file of that
//! name explains):
//!
//! | pass | work |
//! |---|---|
//! | `msm_plain` | Montgomery form taken away, the smaller of a scalar and its opposite |
//! | `msm_count`, `scan_*`, `msm_scatter` | signed digits, counting sort by (window, bucket); zero digits make no entry |
//! | `msm_pair_products`, `_invert`, `_add` | where lists are long: neighbours in a bucket to their sums, affine, in rounds |
//! | `msm_accumulate` | what is left into buckets, the same number for each thread, XYZZ mixed additions |
//! | `msm_join` | runs that a few threads' borders cut |
//! | `msm_merge` | longer ones, level by level |
//! | `msm_reduce` | buckets to one sum per bit of their numbers, level by level |
//! | host | some 256 sums to one point, as many doublings |
//!
//! What differs from the books: scalars above `r/2` are negated, so 254 bits and a sign remain; work is cut by entries
//! and not by buckets, so that no distribution of scalars is slow (a bucket with all the entries is summed by as many
//! threads as empty buckets would be); a zero scalar costs nothing and a one a single addition, so witnesses of bits
//! need no path of their own. Every addition is complete: infinity among the bases, equal and opposite points.
//!
//! [`msm`] is the call on ark types. A prover loads [`Bases`] once, with multiples made ahead if memory allows
//! ([`Bases::load_with`]), and [`record`]s many MSMs into one list of steps, in scratch memory that they may share
//! ([`record_in`]).

mod bases;
mod cost;
mod cut;
mod measure;
mod pieces;
mod plan;
mod record;
pub mod reference;

use ark_bls12_381::Fr;
use thiserror::Error;

pub use bases::{Bases, Query, Scalars, Source};
pub use cost::{Costs, Sizes};
pub use cut::Cut;
pub use measure::measure;
pub use pieces::{Chunk, Part, Piece};
pub use plan::{Fold, Level, Plan, Room, Round};
pub use record::{Recorded, Work, record, record_in, record_joint};

use crate::{
    device::{DeviceError, Limits, leased},
    kernel::{Group, Kernels, Steps},
};

/// What a caller may decide. With the same options, limits and bases the plan is the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Bits of the widest windows; by cost if absent.
    pub window: Option<u32>,
    /// Rounds of affine additions of pairs before buckets are summed, at most 6; by cost if absent. There are fewer
    /// where bindings have no room for them.
    pub rounds: Option<u32>,
    /// Most multiples of each base that [`Bases::load_with`] may store, the base itself among them: so many times the
    /// memory of the bases for as much fewer buckets, and with them larger windows. [`memory_estimate`] tells the
    /// bytes.
    pub tables: u32,
    /// Time everything under this name, instead of each pass under its own.
    pub stage: Option<&'static str>,
    /// [`msm`] leaves fewer bases than this to the host; what the costs say if absent.
    pub cpu_below: Option<usize>,
    /// What is decided by, by group: those of [`measure`], or the built-in ones of an H200.
    pub costs: [Costs; 2],
}

impl Options {
    /// Everything by the built-in costs.
    pub const PINNED: Self =
        Self { window: None, rounds: None, tables: 1, stage: None, cpu_below: None, costs: Costs::H200 };

    /// Bases below which [`msm`] stays on the host.
    pub fn cpu_below(&self, group: Group) -> usize {
        self.cpu_below.unwrap_or(self.costs[group as usize].cpu_below as usize)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::PINNED
    }
}

/// Bytes that an MSM leases on its device, exactly as the arena counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Of [`Bases`], as long as they live.
    pub bases: u64,
    /// Of [`Scalars`], for as many as the bases refer to, if each part has its own.
    pub scalars: u64,
    /// Beside these while it runs.
    pub work: u64,
}

/// What an MSM of `n` bases will lease within `limits`; `positions` as for [`Bases::load_mapped`].
pub fn memory_estimate(
    group: Group,
    n: usize,
    positions: Option<&[u32]>,
    limits: &Limits,
    options: &Options,
) -> Result<Memory, MsmError> {
    let parts = [Part { n, positions }];
    Ok(Memory::of(&Plan::joint(group, &parts, limits, options)?, &parts))
}

impl Memory {
    /// Of a plan, and the parts that it was made for.
    pub fn of(plan: &Plan, parts: &[Part]) -> Self {
        let map = |part: &Part| leased(4 * part.positions.map_or(0, <[u32]>::len) as u64);
        Self {
            bases: plan.bases_bytes() + parts.iter().map(map).sum::<u64>(),
            scalars: parts.iter().map(|part| leased(32 * part.scalars() as u64)).sum(),
            work: plan.leased_bytes(),
        }
    }
}

/// What is wrong with an MSM that was asked for.
#[derive(Debug, Clone, Error)]
pub enum MsmError {
    /// Bases and scalars do not pair up.
    #[error("an MSM that needs {bases} scalars was given {scalars}")]
    Lengths {
        /// Scalars that the bases call for.
        bases: usize,
        /// Scalars.
        scalars: usize,
    },
    /// MSMs that are done together need scalars each.
    #[error("{bases} MSMs together were given {scalars} vectors of scalars")]
    Parts {
        /// MSMs.
        bases: usize,
        /// Vectors.
        scalars: usize,
    },
    /// A scalar map that does not increase.
    #[error("the scalar map of an MSM has to increase, it does not at {at}")]
    Order {
        /// Position in the map.
        at: usize,
    },
    /// More than entries can index.
    #[error("{n} bases are too many for one MSM, the most is 2^31 - 1")]
    TooMany {
        /// Bases.
        n: usize,
    },
    /// A window that was asked for is out of range.
    #[error("a window of {window} bits is not possible here; it is 2 to {max}, fewer where bindings are small")]
    Window {
        /// Bits asked for.
        window: u32,
        /// Most bits.
        max: u32,
    },
    /// The device's bindings are too small for any split.
    #[error("the device binds {limit} bytes at once, an MSM needs at least {needed}")]
    Binding {
        /// Bytes of the smallest piece.
        needed: u64,
        /// Bytes of a binding.
        limit: u64,
    },
    /// Work space that was leased for smaller MSMs.
    #[error("an MSM needs {needed} bytes of work space in its spans, it was given {given}")]
    Work {
        /// Bytes of its plan.
        needed: u64,
        /// Bytes that were leased.
        given: u64,
    },
    /// Bases or scalars made for kernels of another limb format.
    #[error("{what} in the limb format '{found}' were given to kernels of '{kernels}'")]
    Format {
        /// Bases or scalars.
        what: &'static str,
        /// Their format.
        found: &'static str,
        /// Format of the kernels.
        kernels: &'static str,
    },
    /// Scalars of neighbouring bases lie too far apart for one binding.
    #[error("bases from {at} on take scalars further apart than the {limit} that one binding holds")]
    Spread {
        /// First base of the piece.
        at: usize,
        /// Scalars in a binding.
        limit: usize,
    },
    /// What was read back is not what the MSM left.
    #[error("{expected} bytes of window sums were expected, {found} were given")]
    Rows {
        /// Bytes that were given.
        found: usize,
        /// Bytes of the plan.
        expected: usize,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// `sum scalars[i] * bases[i]`. Uploads everything; whoever uses bases twice keeps [`Bases`].
pub fn msm<G: Source>(
    kernels: &Kernels,
    bases: &[G::Affine],
    scalars: &[Fr],
    options: &Options,
) -> Result<G, MsmError> {
    if bases.len() != scalars.len() {
        return Err(MsmError::Lengths { bases: bases.len(), scalars: scalars.len() });
    }
    if bases.len() < options.cpu_below(G::GROUP).max(1) {
        return Ok(G::msm_unchecked(bases, scalars));
    }
    let bases = Bases::<G>::load(kernels, bases)?;
    let scalars = Scalars::upload(kernels, scalars)?;
    let mut steps = Steps::new(kernels.gpu().limits());
    let recorded = record(kernels, &mut steps, &bases, &scalars, options)?;
    let (rows, _) = kernels.run_and_read(&steps, recorded.rows().as_slice())?;
    recorded.sum(&rows.concat())
}
