//! Proofs as bytes.
//!
//! **Theory.** 192 bytes: A (G1, 48), B (G2, 96), C (G1, 48), each compressed as Zcash specifies
//! for BLS12-381 (protocol specification, section 5.4.9.2): big-endian x with three flags in the
//! top bits (compressed, infinity, the larger y), and for G2 the coefficient of `u` first.
//!
//! **What differs.** bellman and bellperson write the same 192 bytes, and so does arkworks'
//! `serialize_compressed`. Like bellman's reader this one refuses the point at infinity.
//!
//! **Use.** [`proof_to_bytes`] and [`proof_from_bytes`].

use ark_bls12_381::{Bls12_381, G1Affine, G2Affine};
use ark_ec::AffineRepr;
use ark_groth16::Proof;
use ark_serialize::{CanonicalSerialize, SerializationError};

/// The length of a proof in bytes.
pub const PROOF_BYTES: usize = 192;

const G1_BYTES: usize = 48;
const G2_BYTES: usize = 96;

/// Why bytes are not a proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProofBytesError {
    /// Another number of bytes.
    #[error("a proof has {PROOF_BYTES} bytes, these are {found}")]
    Length {
        /// How many were given.
        found: usize,
    },
    /// One of the three points is wrong.
    #[error("the proof's {element} (byte {offset}) {reason}")]
    Point {
        /// `A`, `B` or `C`.
        element: char,
        /// Where it begins.
        offset: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// The 192 bytes of `proof`.
pub fn proof_to_bytes(proof: &Proof<Bls12_381>) -> [u8; PROOF_BYTES] {
    let mut bytes = [0; PROOF_BYTES];
    let (a, rest) = bytes.split_at_mut(G1_BYTES);
    let (b, c) = rest.split_at_mut(G2_BYTES);
    write(&proof.a, a);
    write(&proof.b, b);
    write(&proof.c, c);
    bytes
}

/// The proof of 192 bytes, every point checked to lie in its group.
pub fn proof_from_bytes(bytes: &[u8]) -> Result<Proof<Bls12_381>, ProofBytesError> {
    let bytes: &[u8; PROOF_BYTES] = bytes.try_into().map_err(|_| ProofBytesError::Length { found: bytes.len() })?;
    let (a, rest) = bytes.split_at(G1_BYTES);
    let (b, c) = rest.split_at(G2_BYTES);
    let point = |element, offset| move |reason| ProofBytesError::Point { element, offset, reason };
    Ok(Proof {
        a: read::<G1Affine>(a).map_err(point('A', 0))?,
        b: read::<G2Affine>(b).map_err(point('B', G1_BYTES))?,
        c: read::<G1Affine>(c).map_err(point('C', G1_BYTES + G2_BYTES))?,
    })
}

/// Writes one point into exactly its own bytes, which cannot fail: they are as many as it has.
fn write(point: &impl CanonicalSerialize, bytes: &mut [u8]) {
    debug_assert_eq!(point.compressed_size(), bytes.len());
    let written = point.serialize_compressed(bytes);
    debug_assert!(written.is_ok());
}

fn read<P: AffineRepr>(bytes: &[u8]) -> Result<P, &'static str> {
    const COMPRESSED: u8 = 0x80;
    const INFINITY: u8 = 0x40;
    let flags = bytes.first().copied().unwrap_or_default();
    if flags & COMPRESSED == 0 {
        return Err("is not compressed: its first bit is not set");
    }
    if flags & INFINITY != 0 {
        return Err("is the point at infinity");
    }
    let point = P::deserialize_compressed_unchecked(bytes)
        .map_err(|_| "has an x that is not reduced, or that no point of the curve has")?;
    match point.check() {
        Ok(()) => Ok(point),
        Err(SerializationError::InvalidData) => Err("is not in the group of prime order"),
        Err(_) => Err("cannot be read"),
    }
}
