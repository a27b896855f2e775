//! Zcash's Sapling circuits with the parameters of their ceremony (feature `sapling`).
//!
//! **Theory.** Protocol specification, sections 4.18.2 (Spend) and 4.18.3 (Output). A Spend shows
//! that a note lies in the tree of note commitments and is the prover's to spend; an Output, that a
//! new note's commitment is well formed.
//!
//! **What differs.** The circuits and the parameters are the real ones, the statements are made up
//! out of a seed: keys, notes and paths no wallet has. The public inputs are computed a second
//! time, outside the circuits, by the wallet's own functions.
//!
//! **Use.** [`parameters`] gives the two files, their BLAKE2b-512 checked; [`Case::new`] makes a
//! statement with its key; [`Case::reference_proof`] and [`Case::bellman_verifies`] ask bellman.

mod statement;

use std::sync::Arc;

use ::bellman::SynthesisError;
use ark_bls12_381::Fr;
use bellman_groth16 as bg;
use bls12_381::{Bls12, Scalar};
use sapling_crypto::{
    NOTE_COMMITMENT_TREE_DEPTH,
    circuit::{Output, Spend},
};

use crate::{
    bellman::{RecordError, record, scalar_from_ark, scalar_to_ark, shape},
    formats::bellman::{Check, Parameters, ParamsError, Trailing},
    groth16::{Assignment, KeyError, PROOF_BYTES, ProvingKey, Shape},
};
use statement::Witness;

/// One of the two circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Circuit {
    /// 98,777 constraints, domain 2^17.
    Spend,
    /// 7,827 constraints, domain 2^13.
    Output,
}

/// What is known of a circuit and of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Constraints, not counting the row of each input.
    pub constraints: usize,
    /// Public inputs with ONE; points of the ic query.
    pub inputs: usize,
    /// Private variables; points of the L query.
    pub aux: usize,
    /// The domain, as a power of two.
    pub log2_domain: u32,
    /// Points of the A query.
    pub a: usize,
    /// Points of the B query, in either group.
    pub b: usize,
    /// The file's bytes.
    pub file: usize,
    /// The file's bytes after the parameters: the ceremony's transcript.
    pub trailing: usize,
}

impl Circuit {
    /// Both, the small one first.
    pub const ALL: [Self; 2] = [Self::Output, Self::Spend];

    /// `spend` or `output`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spend => "spend",
            Self::Output => "output",
        }
    }

    /// What the circuit and the ceremony's file must come to.
    pub fn counts(self) -> Counts {
        match self {
            Self::Spend => Counts {
                constraints: 98_777,
                inputs: 8,
                aux: 98_638,
                log2_domain: 17,
                a: 85_390,
                b: 61_300,
                file: 47_958_396,
                trailing: 52_836,
            },
            Self::Output => Counts {
                constraints: 7_827,
                inputs: 6,
                aux: 7_821,
                log2_domain: 13,
                a: 6_298,
                b: 4_850,
                file: 3_592_860,
                trailing: 52_836,
            },
        }
    }

    /// The BLAKE2b-512 of the ceremony's file, as every Zcash wallet has it.
    pub fn blake2b(self) -> &'static str {
        match self {
            Self::Spend => {
                "8270785a1a0d0bc77196f000ee6d221c9c9894f55307bd9357c3f0105d31ca63\
                 991ab91324160d8f53e2bbd3c2633a6eb8bdf5205d822e7f3f73edac51b2b70c"
            }
            Self::Output => {
                "657e3d38dbb5cb5e7dd2970e8b03d69b4787dd907285b5a7f0790dcc8072f60b\
                 f593b32cc2d1c030e00ff5ae64bf84c5c3beb84ddc841d48264b4a171744d028"
            }
        }
    }

    /// Which variables its key has points for; no witness is needed.
    pub fn shape(self) -> Result<Shape, SaplingError> {
        Ok(match self {
            Self::Spend => shape(Spend {
                value_commitment_opening: None,
                proof_generation_key: None,
                payment_address: None,
                commitment_randomness: None,
                ar: None,
                auth_path: vec![None; usize::from(NOTE_COMMITMENT_TREE_DEPTH)],
                anchor: None,
            })?,
            Self::Output => shape(Output {
                value_commitment_opening: None,
                payment_address: None,
                commitment_randomness: None,
                esk: None,
            })?,
        })
    }
}

/// Why there is no case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaplingError {
    /// The bundled file is not the ceremony's.
    #[error("the {circuit} parameters have BLAKE2b-512 {found}, the ceremony's have {expected}")]
    Hash {
        /// `spend` or `output`.
        circuit: &'static str,
        /// What the bytes have.
        found: String,
        /// What they should have.
        expected: &'static str,
    },
    /// The file does not parse.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The file does not fit the circuit.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The circuit does not run.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The seed gives no valid note.
    #[error("seed {seed} gives no valid {what}; take another")]
    Seed {
        /// The seed.
        seed: u64,
        /// What could not be made of it.
        what: &'static str,
    },
    /// bellman itself failed.
    #[error("bellman failed: {0}")]
    Bellman(#[from] SynthesisError),
    /// bellman cannot read or write something.
    #[error("bellman cannot read or write {what}: {source}")]
    BellmanIo {
        /// What.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

/// The ceremony's parameters, byte for byte.
#[derive(Clone, Debug)]
pub struct ParameterFiles {
    spend: Arc<[u8]>,
    output: Arc<[u8]>,
}

impl ParameterFiles {
    /// The file of `circuit`.
    pub fn file(&self, circuit: Circuit) -> &Arc<[u8]> {
        match circuit {
            Circuit::Spend => &self.spend,
            Circuit::Output => &self.output,
        }
    }
}

/// Both parameter files (51 MB) out of this binary, their BLAKE2b-512 checked.
pub fn parameters() -> Result<ParameterFiles, SaplingError> {
    let (spend, output) = wagyu_zcash_parameters::load_sapling_parameters();
    check_hash(Circuit::Spend, &spend)?;
    check_hash(Circuit::Output, &output)?;
    Ok(ParameterFiles { spend: spend.into(), output: output.into() })
}

/// Whether `bytes` are the ceremony's file for `circuit`.
pub fn check_hash(circuit: Circuit, bytes: &[u8]) -> Result<(), SaplingError> {
    let found = blake2b_simd::blake2b(bytes).to_hex().to_string();
    let (circuit, expected) = (circuit.name(), circuit.blake2b());
    match found == expected {
        true => Ok(()),
        false => Err(SaplingError::Hash { circuit, found, expected }),
    }
}

/// The key of `circuit` out of its checked file.
pub fn proving_key(files: &ParameterFiles, circuit: Circuit) -> Result<ProvingKey, SaplingError> {
    // The hash was checked against a published one, so the curve's equation is belt and braces.
    let params = Parameters::parse(files.file(circuit), Trailing::Allow, Check::Curve)?;
    Ok(ProvingKey::from_bellman(params, &circuit.shape()?)?)
}

/// One statement with its witness, ready to prove, and bellman to compare with.
pub struct Case {
    /// Which circuit.
    pub circuit: Circuit,
    /// The key.
    pub key: Arc<ProvingKey>,
    /// What the recorder made of the circuit.
    pub assignment: Assignment,
    /// The statement, computed outside the circuit.
    pub public_inputs: Vec<Fr>,
    witness: Witness,
    file: Arc<[u8]>,
}

impl Case {
    /// The statement of `circuit` that `seed` gives; the same seed always gives the same.
    pub fn new(files: &ParameterFiles, circuit: Circuit, seed: u64) -> Result<Self, SaplingError> {
        let key = Arc::new(proving_key(files, circuit)?);
        Self::with_key(files, key, circuit, seed)
    }

    /// The same with a key that is loaded already, which must be `circuit`'s.
    pub fn with_key(
        files: &ParameterFiles,
        key: Arc<ProvingKey>,
        circuit: Circuit,
        seed: u64,
    ) -> Result<Self, SaplingError> {
        let (witness, public_inputs) = match circuit {
            Circuit::Spend => statement::spend(seed)?,
            Circuit::Output => statement::output(seed)?,
        };
        let (assignment, _) = match &witness {
            Witness::Spend(circuit) => record((**circuit).clone())?,
            Witness::Output(circuit) => record((**circuit).clone())?,
        };
        let public_inputs = public_inputs.iter().map(scalar_to_ark).collect();
        let file = files.file(circuit).clone();
        Ok(Self { circuit, key, assignment, public_inputs, witness, file })
    }

    /// The circuit's name.
    pub fn name(&self) -> &'static str {
        self.circuit.name()
    }

    /// The proof that bellman makes of this statement with the blinding `(r, s)`.
    pub fn reference_proof(&self, r: Fr, s: Fr) -> Result<[u8; PROOF_BYTES], SaplingError> {
        let params = self.bellman_parameters()?;
        let (r, s) = (scalar_from_ark(&r), scalar_from_ark(&s));
        let proof = match &self.witness {
            Witness::Spend(circuit) => bg::create_proof((**circuit).clone(), &params, r, s),
            Witness::Output(circuit) => bg::create_proof((**circuit).clone(), &params, r, s),
        }?;
        let mut bytes = [0; PROOF_BYTES];
        proof.write(&mut bytes[..]).map_err(|source| SaplingError::BellmanIo { what: "the proof", source })?;
        Ok(bytes)
    }

    /// Whether bellman's verifier takes `proof` for the statement `public_inputs` (without ONE).
    ///
    /// Bytes that bellman cannot read as a proof are an error, not `false`.
    pub fn bellman_verifies(&self, proof: &[u8; PROOF_BYTES], public_inputs: &[Fr]) -> Result<bool, SaplingError> {
        let vk = bg::VerifyingKey::<Bls12>::read(&self.file[..]).map_err(of_file)?;
        let proof = bg::Proof::<Bls12>::read(&proof[..])
            .map_err(|source| SaplingError::BellmanIo { what: "the proof", source })?;
        let inputs: Vec<Scalar> = public_inputs.iter().map(scalar_from_ark).collect();
        Ok(bg::verify_proof(&bg::prepare_verifying_key(&vk), &proof, &inputs).is_ok())
    }

    /// bellman's own reading of the same file.
    pub fn bellman_parameters(&self) -> Result<bg::Parameters<Bls12>, SaplingError> {
        // Unchecked: the file's hash is, and bellman's check takes a minute.
        bg::Parameters::<Bls12>::read(&self.file[..], false).map_err(of_file)
    }
}

fn of_file(source: std::io::Error) -> SaplingError {
    SaplingError::BellmanIo { what: "the parameters", source }
}
