//! `cargo bench --bench prove`: whole proofs of synthetic circuits, with arkworks and (feature `bellman`) bellman on the
//! processors of the same machine beside them.
//!
//! A row begins with an assignment in host memory and ends with 192 bytes: upload, computation, the check that the witness
//! satisfies beside it, read back and assembly. The key is resident. Every proof is verified by pairing and compared with
//! the bytes of all other provers of the same circuit; what the pairing takes is told apart and is in no row. ark-groth16
//! begins with matrices and variables, bellman with the circuit, which it runs each time: its interface has no way around
//! that.
//!
//! Each limb format has a row by the key's bases alone and one with all multiples of them that sums can use (`-tables`).
//! `dense` has variables of full size, of `bits90` nine in ten are bits. Plans are made as for any user, by costs that were
//! measured on this machine ([`Tuning`]).
//!
//! A filter runs one row, as in `cargo bench --bench prove -- groth16/u64/dense/2^16`. `PROOFLANE_RECORD=<dir>` appends each
//! row that ran to `<dir>/<date>.csv`; `PROOFLANE_LOG2=12..20` overrides the sizes, of which every other one is run. A table
//! and `target/prove.svg` end it.

mod common;

use std::{
    cell::{OnceCell, RefCell},
    sync::Arc,
    time::{Duration, Instant},
};

use ark_bls12_381::{Bls12_381, Fr};
use ark_groth16::{Groth16, PreparedVerifyingKey, prepare_verifying_key};
use ark_relations::gr1cs::{
    ConstraintSynthesizer, ConstraintSystem, Matrix, OptimizationGoal, R1CS_PREDICATE_LABEL, SynthesisMode,
};
use common::{Named, Ran, Rows};
use criterion::Criterion;
use prooflane::{
    encoding::Format,
    engine::{Engine, Tuning},
    groth16::{Assignment, PROOF_BYTES, ProvingKey, proof_from_bytes, proof_to_bytes},
    synthetic::{Kind, Synthetic},
};

/// As many multiples of each base as there are windows.
const TABLES: u32 = 128;
/// As many sizes as end in minutes on a CPU.
const ARKWORKS_UP_TO: u32 = 20;
#[cfg(feature = "bellman")]
const BELLMAN_UP_TO: u32 = 18;

const KINDS: [(&str, Kind); 2] = [("dense", Kind::Dense), ("bits90", Kind::Bits)];

type ArkKey = ark_groth16::ProvingKey<Bls12_381>;

/// Blinding of all proofs: provers are to agree to the byte.
fn blinding() -> (Fr, Fr) {
    (Fr::from(3u64), Fr::from(4u64))
}

/// One size and distribution; what rows do not ask for is not made.
struct Case {
    circuit: Synthetic,
    distribution: &'static str,
    made: OnceCell<Made>,
    /// The first prover's proof.
    proof: OnceCell<[u8; PROOF_BYTES]>,
}

struct Made {
    key: Arc<ProvingKey>,
    /// Where arkworks is measured too.
    ark: Option<ArkKey>,
    assignment: Assignment,
    vk: PreparedVerifyingKey<Bls12_381>,
}

impl Case {
    fn made(&self) -> &Made {
        self.made.get_or_init(|| {
            let begin = Instant::now();
            let (key, ark) = if self.circuit.log2 <= ARKWORKS_UP_TO {
                let ark = self.circuit.arkworks_key().expect("a key");
                (ProvingKey::try_from(&ark).expect("a key"), Some(ark))
            } else {
                (self.circuit.key().expect("a key"), None)
            };
            println!("a key of 2^{} in {:.2} s", self.circuit.log2, begin.elapsed().as_secs_f64());
            let assignment = self.circuit.assignment().expect("an assignment");
            Made { vk: prepare_verifying_key(key.vk()), key: Arc::new(key), ark, assignment }
        })
    }

    /// Stops the bench unless the proof is right; the time of the pairing check.
    fn check(&self, bytes: [u8; PROOF_BYTES], who: &str) -> Duration {
        let (Made { vk, assignment, .. }, log_n) = (self.made(), self.circuit.log2);
        let begin = Instant::now();
        let proof = proof_from_bytes(&bytes).expect("a proof");
        let right = Groth16::<Bls12_381>::verify_proof(vk, &proof, assignment.public_inputs());
        let took = begin.elapsed();
        assert_eq!(right, Ok(true), "{who}: a wrong proof of {} 2^{log_n}", self.distribution);
        assert_eq!(bytes, *self.proof.get_or_init(|| bytes), "{who}: another proof of {} 2^{log_n}", self.distribution);
        took
    }

    /// What arkworks' constraint system says of the circuit.
    fn matrices(&self) -> Vec<Matrix<Fr>> {
        let cs = ConstraintSystem::<Fr>::new_ref();
        cs.set_optimization_goal(OptimizationGoal::Constraints);
        cs.set_mode(SynthesisMode::Setup);
        self.circuit.generate_constraints(cs.clone()).expect("constraints");
        cs.finalize();
        cs.to_matrices().expect("matrices").remove(R1CS_PREDICATE_LABEL).expect("constraints of rank one")
    }
}

/// Times beside a row's own, of each run: of the host's stages, and of the check.
type Beside = RefCell<Vec<Vec<(&'static str, Duration)>>>;

/// Measures a row, and tells what its runs left in `beside`.
fn measured<'a, R: FnMut() -> Ran + 'a>(
    criterion: &mut Criterion,
    rows: &Rows,
    named: &Named<'_>,
    bytes: impl Fn() -> Option<u64>,
    beside: &Beside,
    prepare: impl Fn() -> R + 'a,
) {
    rows.measure(criterion, named, bytes, prepare);
    let runs = beside.borrow();
    // The first compiles and is not in the row either.
    let Some((_, runs)) = runs.split_first().filter(|(_, runs)| !runs.is_empty()) else { return };
    let median = |at: usize| common::median_ms(&runs.iter().map(|run| run[at].1).collect::<Vec<_>>());
    let told: Vec<_> = runs[0].iter().enumerate().map(|(at, (name, _))| format!("{name} {:.3}", median(at))).collect();
    println!("  on the host, median ms: {}", told.join(", "));
}

fn on_device(criterion: &mut Criterion, engine: &Engine, variant: &str, case: &Case, rows: &Rows) {
    let kernels = engine.kernels().expect("a device");
    let (log_n, adapter) = (case.circuit.log2, &kernels.gpu().info().name);
    let Case { distribution, .. } = *case;
    let named = Named { group: "groth16", variant, distribution, log_n, adapter };
    let (peak, beside) = (|| Some(kernels.gpu().usage().peak), Beside::default());
    measured(criterion, rows, &named, peak, &beside, || {
        let made = case.made();
        let prover = engine.load(made.key.clone()).expect("a prover").verify(false);
        let beside = &beside;
        move || {
            let (r, s) = blinding();
            let begin = Instant::now();
            let proved = prover.prove_with(&made.assignment, r, s).expect("a proof");
            let bytes = proved.bytes();
            let wall = begin.elapsed();
            let checked = case.check(bytes, variant);
            let host = proved.stages.iter().filter(|stage| stage.device.is_none());
            let apart = ("and apart the check by pairing", checked);
            beside.borrow_mut().push(host.map(|stage| (stage.stage, stage.host)).chain([apart]).collect());
            (wall, proved.stages.iter().filter_map(|stage| Some((stage.stage, stage.device?))).collect())
        }
    });
}

/// One row of a library on this machine's processors, all threads: `prepare` makes what proves.
fn on_cpu<'a, P: Fn() -> [u8; PROOF_BYTES] + 'a>(
    criterion: &mut Criterion,
    variant: &'static str,
    case: &'a Case,
    rows: &Rows,
    prepare: impl Fn(&'a Made) -> P,
) {
    let Case { distribution, .. } = *case;
    let named = Named { group: "groth16", variant, distribution, log_n: case.circuit.log2, adapter: "cpu" };
    let beside = Beside::default();
    let none = || None;
    measured(criterion, rows, &named, none, &beside, || {
        let prove = prepare(case.made());
        let beside = &beside;
        move || {
            let begin = Instant::now();
            let bytes = prove();
            let wall = begin.elapsed();
            beside.borrow_mut().push(vec![("apart the check by pairing", case.check(bytes, variant))]);
            (wall, Vec::new())
        }
    });
}

fn arkworks(criterion: &mut Criterion, case: &Case, rows: &Rows) {
    on_cpu(criterion, "arkworks", case, rows, |made| {
        let key = made.ark.as_ref().expect("a key of this size");
        let Assignment { inputs, aux, .. } = &made.assignment;
        let (matrices, variables) = (case.matrices(), [&inputs[..], aux].concat());
        let constraints = made.assignment.constraints();
        move || {
            let (r, s) = blinding();
            let proof = Groth16::<Bls12_381>::create_proof_with_reduction_and_matrices(
                key,
                r,
                s,
                &matrices,
                inputs.len(),
                constraints,
                &variables,
            );
            proof_to_bytes(&proof.expect("a proof"))
        }
    });
}

/// The same circuit and key as bellman takes them.
#[cfg(feature = "bellman")]
mod theirs {
    use ark_serialize::CanonicalSerialize;
    use bellman::{Circuit, ConstraintSystem, SynthesisError};
    use bellman_groth16::{Parameters, create_proof};
    use bls12_381::{Bls12, Scalar};
    use ff::Field;
    use prooflane::bellman::scalar_from_ark;

    use super::*;

    struct Rows<'a> {
        kind: Kind,
        input: Scalar,
        aux: &'a [Scalar],
    }

    impl Circuit<Scalar> for Rows<'_> {
        fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
            let mut last = cs.alloc_input(|| "", || Ok(self.input))?;
            for (row, value) in self.aux.iter().enumerate() {
                let own = cs.alloc(|| "", || Ok(*value))?;
                let one = (Scalar::ONE, CS::one());
                if self.kind == Kind::Bits && row % 10 != 9 {
                    cs.enforce(|| "", |lc| lc + own, |lc| lc + own - one, |lc| lc);
                } else {
                    cs.enforce(|| "", |lc| lc + last, |lc| lc + last, |lc| lc + own - one);
                    last = own;
                }
            }
            Ok(())
        }
    }

    fn points<P: CanonicalSerialize>(file: &mut Vec<u8>, points: &[P]) {
        for point in points {
            point.serialize_uncompressed(&mut *file).expect("a point");
        }
    }

    fn list<P: CanonicalSerialize>(file: &mut Vec<u8>, list: &[P]) {
        file.extend(u32::try_from(list.len()).expect("fewer than 2^32 points").to_be_bytes());
        points(file, list);
    }

    /// The key as bellman writes and reads it.
    fn parameters(key: &ProvingKey) -> Parameters<Bls12> {
        let (file, vk) = (&mut Vec::new(), key.vk());
        points(file, &[vk.alpha_g1, key.beta_g1()]);
        points(file, &[vk.beta_g2, vk.gamma_g2]);
        points(file, &[key.delta_g1()]);
        points(file, &[vk.delta_g2]);
        for g1 in [&vk.gamma_abc_g1[..], key.h(), &key.l().bases, &key.a().bases, &key.b_g1().bases] {
            list(file, g1);
        }
        list(file, &key.b_g2().bases);
        Parameters::read(&file[..], false).expect("bellman's parameters")
    }

    pub(super) fn bellman(criterion: &mut Criterion, case: &Case, rows: &super::Rows) {
        on_cpu(criterion, "bellman", case, rows, |made| {
            let parameters = parameters(&made.key);
            let input = scalar_from_ark(&made.assignment.inputs[1]);
            let aux: Vec<Scalar> = made.assignment.aux.iter().map(scalar_from_ark).collect();
            let (r, s) = blinding();
            let (r, s) = (scalar_from_ark(&r), scalar_from_ark(&s));
            move || {
                let circuit = Rows { kind: case.circuit.kind, input, aux: &aux };
                let proof = create_proof::<Bls12, _, _>(circuit, &parameters, r, s).expect("a proof");
                let mut bytes = [0; PROOF_BYTES];
                proof.write(&mut bytes[..]).expect("192 bytes");
                bytes
            }
        });
    }
}

fn main() {
    let gpu = common::open();
    let formats = Format::ALL.into_iter().filter(|format| format.supported(gpu.features()));
    let engines: Vec<(String, Engine)> = formats
        .flat_map(|format| {
            let plain = Engine::with(gpu.clone(), Some(format), &Tuning::default()).expect("an engine");
            let tables = plain.clone().tables(TABLES);
            [(format.name().to_owned(), plain), (format!("{}-tables", format.name()), tables)]
        })
        .collect();
    let mut criterion = common::criterion(Duration::from_secs(1));
    let rows = Rows::new("prove");
    for log2 in common::sizes(&gpu, 8..=10, 14..=22).step_by(2) {
        for (distribution, kind) in KINDS {
            let circuit = Synthetic { kind, log2, seed: 1 };
            let case = Case { circuit, distribution, made: OnceCell::new(), proof: OnceCell::new() };
            for (variant, engine) in &engines {
                on_device(&mut criterion, engine, variant, &case, &rows);
            }
            if log2 <= ARKWORKS_UP_TO {
                arkworks(&mut criterion, &case, &rows);
            }
            #[cfg(feature = "bellman")]
            if log2 <= BELLMAN_UP_TO {
                theirs::bellman(&mut criterion, &case, &rows);
            }
        }
    }
    rows.finish("Whole proofs, key resident", "rows", &KINDS.map(|(distribution, _)| distribution));
    criterion.final_summary();
}
