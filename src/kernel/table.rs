//! The table of kernels: name, pieces, bindings, parameters, workgroup size.
//!
//! One name serves as entry point, pipeline label, bench id and test name. Group 0 binding 0 is the kernel's uniform
//! struct; storage bindings follow from 1 in the order listed.

use super::{field::float::Products, twins::*};

/// A piece of WGSL text; a kernel is its pieces, concatenated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Limb arithmetic of the scalar field, written by [`super::field`].
    Fr,
    /// Limb arithmetic of the base field.
    Fq,
    /// After it, the product of its quadratic extension.
    Fq2,
    /// Arithmetic of transforms over the scalar field.
    Fixed,
    /// The same, the twiddles of a tile, and the exchange of its elements.
    Tile,
    /// Multiplication in the base field by floating point.
    Float(Products),
    /// A file of `shaders/`.
    File(&'static str),
    /// Two files of `shaders/` with the same functions.
    ByCode {
        /// For [`super::Code::Unrolled`].
        unrolled: &'static str,
        /// For [`super::Code::Compact`].
        compact: &'static str,
    },
}

/// How a kernel uses a storage binding, which decides the pool its span must come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read-only: [`crate::device::Pool::Resident`].
    Read,
    /// Read-write: [`crate::device::Pool::Scratch`], or the other one where a kernel makes a table.
    Write,
}

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Entry point and label.
    pub name: &'static str,
    /// The entry point's name in the last piece, if the row renames it.
    pub generic: &'static str,
    /// Text, in order.
    pub pieces: &'static [Piece],
    /// Storage bindings from 1 on.
    pub bindings: &'static [Access],
    /// The uniform struct.
    pub params: Twin,
    /// Lanes of a workgroup.
    pub workgroup: u32,
}

/// Which of the two source groups. As an index: 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// E(Fq).
    G1 = 0,
    /// E'(Fq2).
    G2 = 1,
}

impl Group {
    /// `g1` or `g2`.
    pub fn name(self) -> &'static str {
        ["g1", "g2"][self as usize]
    }

    /// Bytes of an affine point.
    pub fn affine_bytes(self) -> u64 {
        [96, 192][self as usize]
    }

    /// Bytes of a sum in XYZZ coordinates.
    pub fn sum_bytes(self) -> u64 {
        2 * self.affine_bytes()
    }
}

use Access::{Read, Write};
use Piece::{File, Fq, Fq2, Fr};

macro_rules! file {
    ($name:literal) => {
        File(include_str!(concat!("../../shaders/", $name, ".wgsl")))
    };
}

macro_rules! kernel {
    ($name:literal, [$($piece:expr),*], [$($access:expr),*], $params:ty, $workgroup:literal) => {
        kernel!($name = $name, [$($piece),*], [$($access),*], $params, $workgroup)
    };
    ($name:literal = $generic:literal, [$($piece:expr),*], [$($access:expr),*], $params:ty, $workgroup:literal) => {
        Kernel {
            name: $name,
            generic: $generic,
            pieces: &[$($piece),*],
            bindings: &[$($access),*],
            params: <$params as Params>::TWIN,
            workgroup: $workgroup,
        }
    };
}

const COORD_FQ: Piece = file!("coord_fq");
const COORD_FQ2: Piece = file!("coord_fq2");
const CURVE: Piece = file!("curve");
/// The program of both additions.
const XYZZ: Piece = Piece::ByCode {
    unrolled: include_str!("../../shaders/xyzz_slots.wgsl"),
    compact: include_str!("../../shaders/xyzz_registers.wgsl"),
};

/// The same kernel over both groups.
macro_rules! kernels {
    ($g1:literal, $g2:literal = $generic:literal, [$($file:expr),*], $access:tt, $params:ty, $workgroup:literal) => {
        [
            kernel!($g1 = $generic, [Fq, COORD_FQ, CURVE, XYZZ, $($file),*], $access, $params, $workgroup),
            kernel!($g2 = $generic, [Fq, Fq2, COORD_FQ2, CURVE, XYZZ, $($file),*], $access, $params, $workgroup),
        ]
    };
}

/// Scalars as plain integers with a sign.
pub static MSM_PLAIN: Kernel = kernel!("msm_plain", [Fr, file!("msm_plain")], [Write, Read, Write], PlainParams, 128);
/// Digits counted by bucket.
pub static MSM_COUNT: Kernel =
    kernel!("msm_count", [file!("msm_digits"), file!("msm_count")], [Write, Write], DigitParams, 128);
/// Entries sorted by bucket.
pub static MSM_SCATTER: Kernel =
    kernel!("msm_scatter", [file!("msm_digits"), file!("msm_scatter")], [Write, Write, Write], DigitParams, 128);
/// Prefix sums within tiles.
pub static SCAN_TILES: Kernel =
    kernel!("scan_tiles", [file!("scan"), file!("scan_tiles")], [Write, Write], ScanParams, 256);
/// Prefix sum over the tiles' sums.
pub static SCAN_SUMS: Kernel =
    kernel!("scan_sums", [file!("scan"), file!("scan_sums")], [Write, Write], ScanParams, 256);
/// Tile offsets added back.
pub static SCAN_ADD: Kernel = kernel!("scan_add", [file!("scan"), file!("scan_add")], [Write, Write], ScanParams, 256);
/// Bases to multiples of them.
pub static MSM_MULTIPLY: [Kernel; 2] = kernels!(
    "msm_multiply_g1",
    "msm_multiply_g2" = "msm_multiply",
    [file!("msm_multiply")],
    [Write],
    MultiplyParams,
    64
);
/// Entries to bucket sums and partial sums.
pub static MSM_ACCUMULATE: [Kernel; 2] = kernels!(
    "msm_accumulate_g1",
    "msm_accumulate_g2" = "msm_accumulate",
    [file!("msm_runs"), file!("msm_accumulate")],
    [Read, Write, Write, Write, Write, Write, Write],
    AccumulateParams,
    64
);
/// Denominators of pairs to products.
pub static MSM_PAIR_PRODUCTS_FIRST: [Kernel; 2] = kernels!(
    "msm_pair_products_first_g1",
    "msm_pair_products_first_g2" = "msm_pair_products",
    [file!("msm_pair"), file!("msm_pair_entries"), file!("msm_pair_products")],
    [Read, Write, Write, Write, Write, Write],
    PairParams,
    64
);
/// The same in later rounds.
pub static MSM_PAIR_PRODUCTS: [Kernel; 2] = kernels!(
    "msm_pair_products_g1",
    "msm_pair_products_g2" = "msm_pair_products",
    [file!("msm_pair"), file!("msm_pair_points"), file!("msm_pair_products")],
    [Read, Write, Write, Write, Write, Write],
    PairParams,
    64
);
/// Products to their inverses.
pub static MSM_PAIR_INVERT: [Kernel; 2] = kernels!(
    "msm_pair_invert_g1",
    "msm_pair_invert_g2" = "msm_pair_invert",
    [file!("msm_pair_invert")],
    [Write, Write],
    InvertParams,
    32
);
/// Pairs to their sums.
pub static MSM_PAIR_ADD_FIRST: [Kernel; 2] = kernels!(
    "msm_pair_add_first_g1",
    "msm_pair_add_first_g2" = "msm_pair_add",
    [file!("msm_pair"), file!("msm_pair_entries"), file!("msm_pair_add")],
    [Read, Write, Write, Write, Write, Write],
    PairParams,
    64
);
/// The same in later rounds.
pub static MSM_PAIR_ADD: [Kernel; 2] = kernels!(
    "msm_pair_add_g1",
    "msm_pair_add_g2" = "msm_pair_add",
    [file!("msm_pair"), file!("msm_pair_points"), file!("msm_pair_add")],
    [Read, Write, Write, Write, Write, Write],
    PairParams,
    64
);
/// Partial sums of short runs to bucket sums.
pub static MSM_JOIN: [Kernel; 2] = kernels!(
    "msm_join_g1",
    "msm_join_g2" = "msm_join",
    [file!("msm_runs"), file!("msm_join")],
    [Write, Write, Write, Write],
    JoinParams,
    64
);
/// Partial sums to bucket sums.
pub static MSM_MERGE: [Kernel; 2] = kernels!(
    "msm_merge_g1",
    "msm_merge_g2" = "msm_merge",
    [file!("msm_merge")],
    [Write, Write, Write, Write, Write],
    MergeParams,
    64
);
/// Buckets to sums by the bits of their numbers.
pub static MSM_REDUCE: [Kernel; 2] =
    kernels!("msm_reduce_g1", "msm_reduce_g2" = "msm_reduce", [file!("msm_reduce")], [Write, Write], ReduceParams, 64);
/// A digit of a transform, in place.
pub static NTT_PASS: Kernel = kernel!(
    "ntt_pass",
    [Fr, Piece::Tile, file!("reverse"), file!("ntt_whole"), file!("ntt_tile"), file!("ntt_pass")],
    [Write, Read, Read],
    NttParams,
    256
);
/// The same of a vector in four bindings.
pub static NTT_PASS_SLOTS: Kernel = kernel!(
    "ntt_pass_slots" = "ntt_pass",
    [Fr, Piece::Tile, file!("reverse"), file!("ntt_slots"), file!("ntt_tile"), file!("ntt_pass")],
    [Write, Write, Write, Write, Read, Read],
    NttParams,
    256
);
/// The last digit of a transform, to natural order elsewhere.
pub static NTT_OUT: Kernel = kernel!(
    "ntt_out",
    [Fr, Piece::Tile, file!("reverse"), file!("ntt_out_whole"), file!("ntt_tile"), file!("ntt_put"), file!("ntt_out")],
    [Write, Write, Read, Read],
    NttParams,
    256
);
/// The same to four bindings.
pub static NTT_OUT_SLOTS: Kernel = kernel!(
    "ntt_out_slots" = "ntt_out",
    [Fr, Piece::Tile, file!("reverse"), file!("ntt_out_slots"), file!("ntt_tile"), file!("ntt_put"), file!("ntt_out")],
    [Write, Write, Write, Write, Write, Read, Read],
    NttParams,
    256
);
/// The last digit of a quotient's last transform, and the quotient.
pub static QUOTIENT_OUT: Kernel = kernel!(
    "quotient_out" = "ntt_out",
    [
        Fr,
        Piece::Tile,
        file!("reverse"),
        file!("ntt_out_whole"),
        file!("ntt_tile"),
        file!("quotient_put_whole"),
        file!("ntt_out")
    ],
    [Write, Write, Read, Read, Write],
    NttParams,
    256
);
/// The same to four bindings.
pub static QUOTIENT_OUT_SLOTS: Kernel = kernel!(
    "quotient_out_slots" = "ntt_out",
    [
        Fr,
        Piece::Tile,
        file!("reverse"),
        file!("ntt_out_slots"),
        file!("ntt_tile"),
        file!("quotient_put_slots"),
        file!("ntt_out")
    ],
    [Write, Write, Write, Write, Write, Read, Read, Write],
    NttParams,
    256
);
/// Pointwise products.
pub static NTT_PRODUCT: Kernel =
    kernel!("ntt_product", [Fr, file!("ntt_product")], [Write, Write, Write], ProductParams, 128);
/// Pointwise products in place.
pub static NTT_MULTIPLY: Kernel =
    kernel!("ntt_multiply", [Fr, file!("ntt_multiply")], [Write, Write], ProductParams, 128);
/// Whole tables of factors.
pub static NTT_FACTORS: Kernel = kernel!("ntt_factors", [Fr, file!("ntt_factors")], [Write, Write], FactorsParams, 128);
/// Scalar-field functions, one at a time.
pub static PROBE_FR: Kernel = kernel!(
    "probe_fr" = "probe",
    [Fr, file!("probe_fr"), file!("probe_field")],
    [Write, Write, Write],
    ProbeParams,
    64
);
/// Test-only: arithmetic of transforms.
pub static PROBE_FIXED: Kernel =
    kernel!("probe_fixed", [Fr, Piece::Fixed, file!("probe_fixed")], [Write, Read, Write], ProbeParams, 64);
/// Base-field functions, one at a time.
pub static PROBE_FQ: Kernel = kernel!(
    "probe_fq" = "probe",
    [Fq, file!("probe_fq"), file!("probe_field")],
    [Write, Write, Write],
    ProbeParams,
    64
);
/// Multiplications and squarings by floating point, for tests and the bench `field`. They need `SHADER_F64` beside
/// `SHADER_INT64`.
pub static PROBE_FLOAT: [Kernel; 3] = [
    kernel!(
        "probe_float_rows" = "probe",
        [Piece::Float(Products::Rows), file!("probe_float")],
        [Write, Write, Write],
        ProbeParams,
        64
    ),
    kernel!(
        "probe_float_karatsuba" = "probe",
        [Piece::Float(Products::Karatsuba), file!("probe_float")],
        [Write, Write, Write],
        ProbeParams,
        64
    ),
    kernel!(
        "probe_float_square" = "probe",
        [Piece::Float(Products::Square), file!("probe_float")],
        [Write, Write, Write],
        ProbeParams,
        64
    ),
];
/// Test-only: the extension field.
pub static PROBE_FQ2: Kernel = kernel!(
    "probe_fq2" = "probe_coord",
    [Fq, Fq2, file!("coord_fq2"), file!("probe_coord")],
    [Write, Write, Write],
    ProbeParams,
    64
);
/// Test-only: point functions.
pub static PROBE_CURVE: [Kernel; 2] = kernels!(
    "probe_curve_g1",
    "probe_curve_g2" = "probe_curve",
    [file!("probe_curve")],
    [Read, Write, Write, Write],
    ProbeParams,
    64
);

/// Every kernel.
pub static TABLE: &[&Kernel] = &[
    &MSM_PLAIN,
    &MSM_COUNT,
    &MSM_SCATTER,
    &SCAN_TILES,
    &SCAN_SUMS,
    &SCAN_ADD,
    &MSM_MULTIPLY[0],
    &MSM_MULTIPLY[1],
    &MSM_ACCUMULATE[0],
    &MSM_ACCUMULATE[1],
    &MSM_PAIR_PRODUCTS_FIRST[0],
    &MSM_PAIR_PRODUCTS_FIRST[1],
    &MSM_PAIR_PRODUCTS[0],
    &MSM_PAIR_PRODUCTS[1],
    &MSM_PAIR_INVERT[0],
    &MSM_PAIR_INVERT[1],
    &MSM_PAIR_ADD_FIRST[0],
    &MSM_PAIR_ADD_FIRST[1],
    &MSM_PAIR_ADD[0],
    &MSM_PAIR_ADD[1],
    &MSM_JOIN[0],
    &MSM_JOIN[1],
    &MSM_MERGE[0],
    &MSM_MERGE[1],
    &MSM_REDUCE[0],
    &MSM_REDUCE[1],
    &NTT_PASS,
    &NTT_PASS_SLOTS,
    &NTT_OUT,
    &NTT_OUT_SLOTS,
    &NTT_PRODUCT,
    &NTT_MULTIPLY,
    &NTT_FACTORS,
    &QUOTIENT_OUT,
    &QUOTIENT_OUT_SLOTS,
    &PROBE_FR,
    &PROBE_FIXED,
    &PROBE_FQ,
    &PROBE_FQ2,
    &PROBE_CURVE[0],
    &PROBE_CURVE[1],
];
