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
        /// Bits of a window.
        window: u32,
        /// Windows.
        windows: u32,
        /// Buckets of one window.
        buckets: u32,
        /// Sets of buckets.
        sets: u32,
        /// First set of the batch.
        first: u32,
        /// End of the batch.
        end: u32,
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
    /// One pass of a transform: `shaders/ntt_pass.wgsl`.
    NttParams {
        /// Tiles of the binding.
        tiles: u32,
        /// Binary logarithm of the length.
        log_n: u32,
        /// Bits of an exponent that the low table answers for.
        low_bits: u32,
        /// Binary logarithm of the elements of a tile.
        tile_bits: u32,
        /// Binary logarithm of the elements of one row of a tile.
        column_bits: u32,
        /// Binary logarithm of the distance of rows.
        row_bit: u32,
        /// Binary logarithm of the columns of a strip.
        strip_bits: u32,
        /// Binary logarithm of the elements of a page.
        page_bits: u32,
        /// Index of the binding's first element.
        first: u32,
        /// 1 for powers of the inverse root.
        inverse: u32,
        /// Padding.
        unused: u32,
    }
    /// `shaders/ntt_scale.wgsl`.
    ScaleParams {
        /// Elements of the binding.
        n: u32,
        /// Index of the binding's first element.
        first: u32,
        /// Binary logarithm of the length.
        log_n: u32,
        /// Bits of an exponent that the low table answers for.
        low_bits: u32,
        /// 1 if the vector is in bit-reversed order.
        reversed: u32,
        /// Padding.
        unused0: u32,
        /// Padding.
        unused1: u32,
    }
    /// `shaders/ntt_permute.wgsl`.
    PermuteParams {
        /// Elements that move.
        n: u32,
        /// Bits of an element's number that are reversed.
        bits: u32,
        /// Binary logarithm of the distance of two elements.
        stride_bits: u32,
        /// Where the first is.
        from0: u32,
        /// Where the first goes.
        to0: u32,
        /// 1 if bits are reversed.
        reversed: u32,
        /// Padding.
        unused: u32,
    }
    /// `shaders/ntt_product.wgsl`.
    ProductParams {
        /// Elements.
        n: u32,
        /// Padding.
        unused0: u32,
        /// Padding.
        unused1: u32,
    }
    /// `shaders/quotient_combine.wgsl`.
    CombineParams {
        /// Elements that move.
        n: u32,
        /// Bits of an element's number.
        bits: u32,
        /// Binary logarithm of the distance of two elements.
        stride_bits: u32,
        /// Where the first is.
        from0: u32,
        /// Where the first goes.
        to0: u32,
        /// Index of the first element of the page that is written.
        first: u32,
        /// Bits of an exponent that the low table answers for.
        low_bits: u32,
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
