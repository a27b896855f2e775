//! Rust twins of the uniform structs that kernels read.
//!
//! Each has the WGSL struct's name, field names, offsets and size; `tests/shaders.rs` compares them with the layout
//! that naga computes, so the two can not drift apart. The first field is always `group0`, the number of workgroups
//! that earlier dispatches of the same work have covered: [`super::Steps`] fills it in when it splits a dispatch.

use bytemuck::{Pod, Zeroable};

/// Name, size in bytes and `(field, offset)` of a twin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Twin {
    /// Name of the struct on both sides.
    pub name: &'static str,
    /// Bytes.
    pub size: usize,
    /// Fields in order, with their byte offsets.
    pub fields: &'static [(&'static str, usize)],
}

/// A twin's Rust side.
pub trait Params: Pod {
    /// Its description, for the layout test and the pipelines.
    const TWIN: Twin;
}

macro_rules! twins {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
        pub struct $name {
            /// Workgroups before this dispatch's first.
            pub group0: u32,
            $($(#[$field_doc])* pub $field: $ty,)*
        }

        impl Params for $name {
            const TWIN: Twin = Twin {
                name: stringify!($name),
                size: size_of::<$name>(),
                fields: &[("group0", 0), $((stringify!($field), std::mem::offset_of!($name, $field)),)*],
            };
        }
    )*};
}

twins! {
    /// `shaders/msm_plain.wgsl`.
    PlainParams {
        /// Bases.
        n: u32,
        /// 1 if scalars are found through the map.
        mapped: u32,
        /// What to subtract from a mapped position.
        scalar0: u32,
        /// Factor that makes a stored scalar a plain integer.
        scale: [u32; 8],
    }
    /// Scalars to digits: `shaders/msm_digits.wgsl`.
    DigitParams {
        /// Bases.
        n: u32,
        /// Bits of the widest windows.
        window: u32,
        /// Windows.
        windows: u32,
        /// The lowest windows, which are the widest.
        wide: u32,
        /// Buckets of one window.
        buckets: u32,
        /// Sets of buckets.
        sets: u32,
        /// First set that is wanted.
        first: u32,
        /// End of those.
        end: u32,
        /// The first bucket of the first set.
        key0: u32,
        /// The place of the first base.
        base0: u32,
        /// From a base to its next multiple.
        stride: u32,
    }
    /// Prefix sum: `shaders/scan.wgsl`.
    ScanParams {
        /// Values.
        n: u32,
        /// Tiles of 1024 values.
        tiles: u32,
        /// Values are rounded up to multiples of one more than this.
        slack: u32,
    }
    /// `shaders/msm_multiply.wgsl`.
    MultiplyParams {
        /// Points.
        n: u32,
        /// Doublings.
        doublings: u32,
        /// Where the first point is.
        from0: u32,
        /// Where the first point goes.
        to0: u32,
    }
    /// `shaders/msm_accumulate.wgsl`.
    AccumulateParams {
        /// Buckets of the batch of sets.
        keys: u32,
        /// Items of one thread.
        chunk: u32,
        /// Threads that act.
        threads: u32,
        /// Rounds of pairs before.
        rounds: u32,
        /// 1 if buckets hold sums of earlier pieces.
        onto: u32,
    }
    /// `shaders/msm_join.wgsl`.
    JoinParams {
        /// Items of one accumulating thread.
        chunk: u32,
        /// Accumulating threads.
        threads: u32,
        /// Threads that a run may reach over.
        longest: u32,
        /// Rounds of pairs before.
        rounds: u32,
    }
    /// One round of pairs: `shaders/msm_pair.wgsl`.
    PairParams {
        /// Buckets of the batch of sets.
        keys: u32,
        /// Threads that act.
        threads: u32,
        /// Number of the round, from 0.
        round: u32,
        /// Rounds altogether.
        rounds: u32,
    }
    /// `shaders/msm_pair_invert.wgsl`.
    InvertParams {
        /// Products.
        n: u32,
        /// Threads that act.
        threads: u32,
        /// Padding.
        unused: u32,
    }
    /// `shaders/msm_merge.wgsl`.
    MergeParams {
        /// Partials that come in.
        n: u32,
        /// Partials of one thread.
        chunk: u32,
        /// Threads that act.
        threads: u32,
    }
    /// `shaders/msm_reduce.wgsl`.
    ReduceParams {
        /// Values of a node that comes in.
        values: u32,
        /// Nodes of a window that go out.
        nodes: u32,
        /// Threads that act.
        threads: u32,
    }
    /// Tiles of a transform: `shaders/ntt_tile.wgsl` and `shaders/ntt_out.wgsl` explain.
    NttParams {
        /// Tiles.
        tiles: u32,
        /// Binary logarithm of a tile's rows.
        rows: u32,
        /// Binary logarithm of a tile's columns.
        columns: u32,
        /// Place of a row's number in that of an element.
        row_bit: u32,
        /// Place of a column's number.
        column_bit: u32,
        /// Place of the lowest bits of the tile's number.
        low_at: u32,
        /// So many.
        low_bits: u32,
        /// Place of its other bits.
        high_at: u32,
        /// What all places have in common.
        first: u32,
        /// The last place.
        last: u32,
        /// 1 if lanes read along rows, 2 if they write along rows.
        along: u32,
        /// 1 for twiddles with a shift in them.
        shifted: u32,
        /// Factors of an element.
        factors: u32,
        /// Bits of a place that choose a factor.
        factor_mask: u32,
        /// Of these, the lowest that the first table does not look at.
        factor_low: u32,
        /// Lowest bit of the digit that both tables look at.
        factor_row: u32,
        /// Where the second table begins.
        second_table: u32,
        /// Elements of a lane.
        elements: u32,
        /// Lowest of the two bits that choose a binding.
        slot_bit: u32,
        /// Bits of a place within its binding.
        place_mask: u32,
        /// Widths of the digits, four bits each.
        digits: u32,
        /// Binary logarithm of the length.
        log_n: u32,
        /// Place of the last digit in the natural order.
        last_digit: u32,
        /// Lowest of the two bits that choose a binding to write.
        target_bit: u32,
        /// Bits of an output's number within its binding.
        target_mask: u32,
        /// Which four bindings are written.
        window: u32,
        /// Padding.
        unused: u32,
    }
    /// `shaders/ntt_product.wgsl`, `shaders/ntt_multiply.wgsl`.
    ProductParams {
        /// Elements.
        n: u32,
        /// Padding.
        unused0: u32,
        /// Padding.
        unused1: u32,
    }
    /// `shaders/ntt_factors.wgsl`.
    FactorsParams {
        /// Entries of the whole table.
        n: u32,
        /// Binary logarithm of its columns.
        columns: u32,
        /// Of those of the second table.
        low: u32,
        /// Where that begins.
        second_table: u32,
    }
    /// Probes of single functions: `shaders/probe_*.wgsl`.
    ProbeParams {
        /// Elements.
        n: u32,
        /// Operation number.
        op: u32,
        /// Repetitions, for the operation that repeats.
        count: u32,
    }
}
