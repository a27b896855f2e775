//! Made-up statements: valid keys, notes and tree paths out of a seed.
//!
//! Everything secret is drawn by BLAKE2b from the seed and a label, so that a statement is the same
//! on every machine. The public inputs come from the wallet's functions (value commitment, note
//! commitment, nullifier, tree hash), not from the circuits.

use ::bellman::gadgets::multipack;
use bls12_381::Scalar;
use group::Curve;
use sapling_crypto::{
    Diversifier, NOTE_COMMITMENT_TREE_DEPTH, Note, PaymentAddress, ProofGenerationKey, Rseed,
    circuit::{Output, Spend, ValueCommitmentOpening},
    keys::ExpandedSpendingKey,
    merkle_hash,
    value::{NoteValue, ValueCommitTrapdoor, ValueCommitment},
};

use super::SaplingError;

/// A circuit with its witness.
pub(super) enum Witness {
    Spend(Box<Spend>),
    Output(Box<Output>),
}

/// Everything that both statements are made of.
struct Notes {
    seed: u64,
    key: ProofGenerationKey,
    address: PaymentAddress,
    note: Note,
    opening: ValueCommitmentOpening,
    commitment: [Scalar; 2],
}

impl Notes {
    fn new(seed: u64) -> Result<Self, SaplingError> {
        let invalid = |what| move || SaplingError::Seed { seed, what };
        let key = ExpandedSpendingKey::from_spending_key(&draw(seed, "spending key")[..32])
            .ok_or_else(invalid("spending key"))?
            .proof_generation_key();
        // Half of all diversifiers have no point; take the first that has one.
        let address = (0..=u8::MAX)
            .find_map(|attempt| {
                let mut diversifier = [attempt; 11];
                diversifier[1..].copy_from_slice(&draw(seed, "diversifier")[..10]);
                key.to_viewing_key().to_payment_address(Diversifier(diversifier))
            })
            .ok_or_else(invalid("diversifier"))?;
        let [v0, v1, v2, v3, ..] = draw(seed, "value");
        let value = NoteValue::from_raw(u64::from(u32::from_le_bytes([v0, v1, v2, v3])) + 1);
        let rcm = jubjub::Fr::from_bytes_wide(&draw(seed, "note commitment randomness"));
        let randomness = jubjub::Fr::from_bytes_wide(&draw(seed, "value commitment randomness"));
        let trapdoor = Option::from(ValueCommitTrapdoor::from_bytes(randomness.to_bytes()))
            .ok_or_else(invalid("value commitment"))?;
        let commitment = ValueCommitment::derive(value, trapdoor).as_inner().to_affine();
        Ok(Self {
            seed,
            note: Note::from_parts(address, value, Rseed::BeforeZip212(rcm)),
            opening: ValueCommitmentOpening { value, randomness },
            commitment: [commitment.get_u(), commitment.get_v()],
            key,
            address,
        })
    }

    fn invalid(&self, what: &'static str) -> SaplingError {
        SaplingError::Seed { seed: self.seed, what }
    }

    fn scalar(&self, bytes: [u8; 32], what: &'static str) -> Result<Scalar, SaplingError> {
        Option::from(Scalar::from_bytes(&bytes)).ok_or_else(|| self.invalid(what))
    }
}

/// 64 bytes out of a seed, different for each label.
fn draw(seed: u64, label: &str) -> [u8; 64] {
    let mut bytes = [0; 64];
    let hash = blake2b_simd::State::new().update(&seed.to_le_bytes()).update(label.as_bytes()).finalize();
    bytes.copy_from_slice(hash.as_bytes());
    bytes
}

/// An Output statement with its witness, and its public inputs without ONE.
pub(super) fn output(seed: u64) -> Result<(Witness, Vec<Scalar>), SaplingError> {
    let notes = Notes::new(seed)?;
    let esk = jubjub::Fr::from_bytes_wide(&draw(seed, "ephemeral secret key"));
    let base = notes.address.diversifier().g_d().ok_or_else(|| notes.invalid("diversifier"))?;
    let epk = jubjub::ExtendedPoint::from(base * esk).to_affine();
    let commitment = notes.scalar(notes.note.cmu().to_bytes(), "note commitment")?;
    let [cv_u, cv_v] = notes.commitment;
    let inputs = vec![cv_u, cv_v, epk.get_u(), epk.get_v(), commitment];
    let circuit = Output {
        value_commitment_opening: Some(notes.opening),
        payment_address: Some(notes.address),
        commitment_randomness: Some(notes.note.rcm()),
        esk: Some(esk),
    };
    Ok((Witness::Output(Box::new(circuit)), inputs))
}

/// A Spend statement with its witness, and its public inputs without ONE.
pub(super) fn spend(seed: u64) -> Result<(Witness, Vec<Scalar>), SaplingError> {
    let notes = Notes::new(seed)?;
    let viewing_key = notes.key.to_viewing_key();
    let ar = jubjub::Fr::from_bytes_wide(&draw(seed, "randomiser of the signing key"));
    let rk: [u8; 32] = viewing_key.rk(ar).into();
    let rk: Option<_> = jubjub::AffinePoint::from_bytes(rk).into();
    let rk: jubjub::AffinePoint = rk.ok_or_else(|| notes.invalid("signing key"))?;

    // The path from the note up: at each depth a sibling, and whether it is on the left.
    let directions = draw(seed, "position");
    let (mut node, mut position, mut auth_path) = (notes.note.cmu().to_bytes(), 0u64, Vec::new());
    let depths = usize::from(NOTE_COMMITMENT_TREE_DEPTH);
    for (depth, direction) in directions.iter().enumerate().take(depths) {
        let sibling = Scalar::from_bytes_wide(&draw(seed, &format!("sibling at depth {depth}")));
        let right = direction & 1 == 1;
        node = match right {
            true => merkle_hash(depth, &sibling.to_bytes(), &node),
            false => merkle_hash(depth, &node, &sibling.to_bytes()),
        };
        position |= u64::from(right) << depth;
        auth_path.push(Some((sibling, right)));
    }
    let anchor = notes.scalar(node, "anchor")?;
    let nullifier = notes.note.nf(viewing_key.nk(), position);
    let nullifier = multipack::compute_multipacking(&multipack::bytes_to_bits_le(&nullifier.0));

    let [cv_u, cv_v] = notes.commitment;
    let mut inputs = vec![rk.get_u(), rk.get_v(), cv_u, cv_v, anchor];
    inputs.extend::<Vec<Scalar>>(nullifier);
    let circuit = Spend {
        value_commitment_opening: Some(notes.opening),
        proof_generation_key: Some(notes.key),
        payment_address: Some(notes.address),
        commitment_randomness: Some(notes.note.rcm()),
        ar: Some(ar),
        auth_path,
        anchor: Some(anchor),
    };
    Ok((Witness::Spend(Box::new(circuit)), inputs))
}
