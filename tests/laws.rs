//! Laws that hold for every input, drawn by proptest: digits, plans, encodings, sums, and parsers that never panic.

use ark_bls12_381::{Fq, Fr, G1Affine, G1Projective};
use ark_ec::{CurveGroup, PrimeGroup};
use ark_ff::{Field, PrimeField};
use prooflane::{
    device::Limits,
    encoding::{Format, fr_bytes, fr_from_bytes},
    formats::bellman::{Check, Parameters, Trailing},
    groth16::proof_from_bytes,
    kernel::Group,
    msm::{Cut, Options, Plan, reference},
};
use proptest::prelude::*;

/// Dense and sparse integers alike: random limbs, masked so that runs of zeros and ones occur.
fn integer<const N: usize>() -> impl Strategy<Value = Vec<u8>> {
    let limb = prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), (0..64u32).prop_map(|bit| 1 << bit)];
    prop::collection::vec(limb, N).prop_map(|limbs: Vec<u64>| limbs.into_iter().flat_map(u64::to_le_bytes).collect())
}

fn scalar() -> impl Strategy<Value = Fr> {
    integer::<4>().prop_map(|bytes| Fr::from_le_bytes_mod_order(&bytes))
}

fn limits() -> impl Strategy<Value = Limits> {
    (17u32..32, 1u32..65536).prop_map(|(binding, groups)| Limits {
        binding: (1 << binding) - 256,
        buffer: 1 << 40,
        memory: 1 << 40,
        block: 1 << 26,
        groups,
        workgroup_memory: 16384,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn digits_are_the_scalar(s in scalar(), window in 2u32..=16) {
        for cut in [Cut::even(window), Cut::uniform(window)] {
            let digits = reference::digits(s, cut);
            prop_assert_eq!(digits.len(), cut.windows as usize);
            let weight = |at| Fr::from(2u64).pow([cut.offset(at).into()]);
            let weighed = (0..).zip(&digits).map(|(at, &digit)| Fr::from(digit) * weight(at));
            prop_assert_eq!(weighed.sum::<Fr>(), s);
            prop_assert!((0..).zip(&digits).all(|(at, digit)| digit.unsigned_abs() <= 1 << (cut.width(at) - 1)));
        }
    }

    #[test]
    fn a_scalar_and_its_opposite_have_opposite_digits(s in scalar(), window in 2u32..=16) {
        let cut = Cut::even(window);
        let opposite: Vec<i64> = reference::digits(-s, cut).iter().map(|digit| -digit).collect();
        prop_assert_eq!(reference::digits(s, cut), opposite);
    }

    #[test]
    fn scalars_come_back(values in prop::collection::vec(scalar(), 0..20)) {
        prop_assert_eq!(fr_from_bytes(&fr_bytes(&values)), values);
    }

    #[test]
    fn base_field_words_come_back(bytes in integer::<6>()) {
        let x = Fq::from_le_bytes_mod_order(&bytes);
        for format in Format::ALL {
            let words = format.fq_words(x);
            prop_assert_eq!(format.fq_from_words(&words), x);
            // Montgomery form: the words are x R mod p, so x = 1 gives R.
            let radix = Fq::from(2u64).pow([format.fq().radix_bits() as u64]);
            prop_assert_eq!(Fq::from_le_bytes_mod_order(bytemuck::bytes_of(&words)), x * radix);
        }
    }

    /// Every base in exactly one piece, every piece within the binding, every level shorter than the one before.
    #[test]
    fn plans_cover_and_fit(n in 0usize..5_000_000, limits in limits(), g2 in any::<bool>()) {
        let group = if g2 { Group::G2 } else { Group::G1 };
        let plan = Plan::new(group, n, None, &limits, &Options::default()).expect("128 KiB are enough");
        let mut next = 0;
        for chunk in plan.pieces.iter().flat_map(|piece| &piece.chunks) {
            prop_assert_eq!(chunk.bases.start, next);
            prop_assert!(chunk.bases.end > next && chunk.scalars == chunk.bases);
            prop_assert!(chunk.bases.len() as u64 * group.affine_bytes() <= limits.binding);
            next = chunk.bases.end;
        }
        prop_assert_eq!(next, n);
        for pair in plan.levels.windows(2) {
            prop_assert!(pair[1].n == 2 * pair[0].threads && pair[1].n < pair[0].n);
        }
        for (fold, next) in plan.folds.iter().zip(plan.folds.iter().skip(1)) {
            prop_assert!(2 * next.nodes == fold.nodes && next.values == fold.values + 1);
        }
    }

    /// The mirror of the device's passes is linear, whatever the plan.
    #[test]
    fn sums_are_linear(
        scalars in prop::collection::vec((scalar(), scalar()), 1..24),
        window in 2u32..=6,
    ) {
        let limits = Limits {
            binding: 1 << 20, buffer: 1 << 30, memory: 1 << 30, block: 1 << 20, groups: 64, workgroup_memory: 16384,
        };
        let bases: Vec<G1Affine> =
            (0..scalars.len() as u64).map(|i| (G1Projective::generator() * Fr::from(i * i)).into_affine()).collect();
        let options = Options { window: Some(window), ..Options::default() };
        let plan = Plan::new(Group::G1, bases.len(), None, &limits, &options).expect("a plan");
        let sum = |pick: fn(&(Fr, Fr)) -> Fr| {
            reference::mirror::<G1Projective>(&bases, &scalars.iter().map(pick).collect::<Vec<_>>(), &plan)
        };
        prop_assert_eq!(sum(|s| s.0) + sum(|s| s.1), sum(|s| s.0 + s.1));
    }

    #[test]
    fn parsers_take_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        // Random bytes are no key and no proof; all that is asked is an error.
        prop_assert!(Parameters::parse(&bytes, Trailing::Allow, Check::Curve).is_err());
        prop_assert!(proof_from_bytes(&bytes).is_err());
    }
}
