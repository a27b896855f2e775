//! Hostile and damaged keys: each refused, with a message that says what and where.

mod circuits;

use ark_bls12_381::{Bls12_381, Fq, Fq2, Fr, G1Affine, G2Affine};
use ark_ec::AffineRepr;
use ark_ff::{AdditiveGroup, Field};
use ark_serialize::CanonicalSerialize;
use circuits::{Chain, bellman_file, shape_of};
use prooflane::{
    formats::bellman::{Check, Parameters, ParamsError, Trailing},
    groth16::{ProveError, ProvingKey, Shape},
};

type ArkKey = ark_groth16::ProvingKey<Bls12_381>;

const SMALL: Chain = Chain { constraints: 5, publics: 1, idle: false, wrong: None };

/// Where each section of `SMALL`'s file begins (a vector at its count), and where the file ends.
fn sections(file: &[u8]) -> Vec<(&'static str, usize)> {
    let mut sections = Vec::new();
    let mut offset = 0;
    for (section, length) in
        [("alpha_g1", 96), ("beta_g1", 96), ("beta_g2", 192), ("gamma_g2", 192), ("delta_g1", 96), ("delta_g2", 192)]
    {
        sections.push((section, offset));
        offset += length;
    }
    for (section, length) in [("ic", 96), ("h", 96), ("l", 96), ("a", 96), ("b_g1", 96), ("b_g2", 192)] {
        sections.push((section, offset));
        let count = u32::from_be_bytes(file[offset..offset + 4].try_into().unwrap());
        offset += 4 + length * count as usize;
    }
    sections.push(("end", offset));
    sections
}

fn at(file: &[u8], section: &str) -> usize {
    sections(file).into_iter().find(|(name, _)| *name == section).unwrap().1
}

fn parse(file: &[u8]) -> Result<Parameters, ParamsError> {
    Parameters::parse(file, Trailing::Refuse, Check::Curve)
}

#[test]
fn bellman_and_arkworks_keys_become_the_same() {
    for circuit in [SMALL, Chain::new(30, 4), Chain::new(100, 2)] {
        let ark = circuit.key();
        let params = Parameters::parse(&bellman_file(&ark), Trailing::Refuse, Check::Subgroup);
        let shape = shape_of(&ark, circuit.constraints);
        let key = ProvingKey::from_bellman(params.unwrap(), &shape).unwrap();
        assert_eq!(key, ProvingKey::try_from(&ark).unwrap());
        assert!(ark.a_query.iter().chain(&ark.b_g1_query).any(|point| point.is_zero()));
    }
}

#[test]
fn a_file_cut_anywhere_is_refused_by_section() {
    let file = bellman_file(&SMALL.key());
    let sections = sections(&file);
    assert_eq!(sections.last(), Some(&("end", file.len())));
    for cut in 0..file.len() {
        let (section, begin) = sections.iter().rfind(|(_, begin)| *begin <= cut).unwrap();
        let error = parse(&file[..cut]).unwrap_err();
        let (named, offset, missing) = match error {
            ParamsError::Truncated { section, offset, missing } => (section, offset, missing),
            ParamsError::Short { section, offset, missing, .. } => (section, offset - 4, missing),
            other => panic!("cut at {cut}: {other}"),
        };
        assert_eq!((named.to_string().as_str(), offset), (*section, *begin), "cut at {cut}");
        // All of the point or vector is missing that the cut took, up to the next section; of a
        // vector cut inside its count, the rest of the count.
        let end = sections.iter().find(|(_, end)| *end > cut).unwrap().1;
        let in_count = *begin >= at(&file, "ic") && cut < begin + 4;
        let expected = if in_count { begin + 4 - cut } else { end - cut };
        assert_eq!(missing, expected as u64, "cut at {cut}");
    }
}

#[test]
fn any_flipped_bit_is_refused() {
    let file = bellman_file(&SMALL.key());
    for byte in 0..file.len() {
        let mut bad = file.clone();
        bad[byte] ^= 1 << (byte % 8);
        assert!(parse(&bad).is_err(), "byte {byte}");
    }
}

/// `bytes` over `file` at `offset`.
fn with(file: &[u8], offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut bad = file.to_vec();
    bad[offset..offset + bytes.len()].copy_from_slice(bytes);
    bad
}

fn bytes_of(point: &impl CanonicalSerialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    point.serialize_uncompressed(&mut bytes).unwrap();
    bytes
}

#[test]
fn damaged_files_are_refused_with_their_place() {
    let file = bellman_file(&SMALL.key());
    let [ic, h, l, a, b_g1, b_g2] = ["ic", "h", "l", "a", "b_g1", "b_g2"].map(|of| at(&file, of));
    let counts = |offset: usize| file[offset + 3];
    let (infinity1, infinity2) = (bytes_of(&G1Affine::zero()), bytes_of(&G2Affine::zero()));
    // y^2 = x^3 + 5: a point with good coordinates on another curve.
    let other_curve = (1u64..).find_map(|x| {
        let x = Fq::from(x);
        Some(G1Affine::new_unchecked(x, (x * x * x + Fq::from(5u64)).sqrt()?))
    });
    let other_twist = G2Affine::new_unchecked(Fq2::from(1u64), Fq2::from(1u64));
    let modulus = {
        // p - 1, plus one: the smallest value that is not reduced.
        let mut bytes = bytes_of(&G1Affine::new_unchecked(-Fq::ONE, Fq::ONE));
        bytes[47] += 1;
        bytes
    };
    let off_curve = "is not on the curve of BLS12-381: the file is damaged or of another curve";
    let reduced = |name| format!("has coordinate {name} not below the modulus of BLS12-381's base field");
    let huge = u32::MAX.to_be_bytes();
    let left = |offset: usize| u64::from(u32::MAX) * 96 - (file.len() - offset - 4) as u64;

    let table: Vec<(Vec<u8>, String)> = vec![
        ([&file[..], b"?"].concat(), format!("1 bytes follow the parameters' end at byte {}", file.len())),
        (vec![], "the parameters end inside alpha_g1, which begins at byte 0: 96 bytes are missing".into()),
        (
            file[..ic + 1].to_vec(),
            format!("the parameters end inside ic, which begins at byte {ic}: 3 bytes are missing"),
        ),
        (
            file[..l + 50].to_vec(),
            format!(
                "the parameters' l claims {} points of 96 bytes from byte {} on, \
                 but the file ends {} bytes earlier",
                counts(l),
                l + 4,
                a - l - 50
            ),
        ),
        (
            with(&file, h, &huge),
            format!(
                "the parameters' h claims 4294967295 points of 96 bytes from byte {} on, \
                 but the file ends {} bytes earlier",
                h + 4,
                left(h)
            ),
        ),
        (
            with(&file, ic, &huge),
            format!(
                "the parameters' ic claims 4294967295 points of 96 bytes from byte {} on, \
                 but the file ends {} bytes earlier",
                ic + 4,
                left(ic)
            ),
        ),
        (
            with(&file, 0, &[file[0] | 0x80]),
            "point 0 of the parameters' alpha_g1, at byte 0, is flagged as compressed; \
             the format has uncompressed points only"
                .into(),
        ),
        (
            with(&file, a + 4 + 96, &[file[a + 100] | 0x20]),
            format!(
                "point 1 of the parameters' a, at byte {}, has the sort flag, \
                 which an uncompressed point must not have",
                a + 100
            ),
        ),
        (
            with(&file, h + 4 + 96 * 2, &infinity1),
            format!("point 2 of the parameters' h, at byte {}, is the point at infinity", h + 196),
        ),
        (
            with(&file, b_g2 + 4, &infinity2),
            format!("point 0 of the parameters' b_g2, at byte {}, is the point at infinity", b_g2 + 4),
        ),
        (
            with(&file, 576, &infinity1),
            "point 0 of the parameters' delta_g1, at byte 576, is the point at infinity".into(),
        ),
        (
            with(&file, 672, &infinity2),
            "point 0 of the parameters' delta_g2, at byte 672, is the point at infinity".into(),
        ),
        (
            with(&file, b_g1 + 4, &bytes_of(&other_curve.unwrap())),
            format!("point 0 of the parameters' b_g1, at byte {}, {off_curve}", b_g1 + 4),
        ),
        (
            with(&file, b_g2 + 4, &bytes_of(&other_twist)),
            format!("point 0 of the parameters' b_g2, at byte {}, {off_curve}", b_g2 + 4),
        ),
        (with(&file, l + 4, &modulus), format!("point 0 of the parameters' l, at byte {}, {}", l + 4, reduced("x"))),
        (
            with(&file, l + 4 + 48, &modulus[..48]),
            format!("point 0 of the parameters' l, at byte {}, {}", l + 4, reduced("y")),
        ),
        (
            with(&file, b_g2 + 4 + 48, &modulus[..48]),
            format!("point 0 of the parameters' b_g2, at byte {}, {}", b_g2 + 4, reduced("x.c0")),
        ),
        (
            // Two wrong points: the first one in the file is named, whatever thread was first.
            with(&with(&file, h + 4 + 96 * 3, &modulus), h + 4 + 96, &modulus),
            format!("point 1 of the parameters' h, at byte {}, {}", h + 100, reduced("x")),
        ),
    ];
    for (bad, message) in table {
        assert_eq!(parse(&bad).unwrap_err().to_string(), message);
    }
}

#[test]
fn checks_go_as_far_as_asked() {
    let file = bellman_file(&SMALL.key());
    let h = at(&file, "h");
    let outside = (1u64..).find_map(|x| {
        let point = G1Affine::get_point_from_x_unchecked(x.into(), false)?;
        (!point.is_in_correct_subgroup_assuming_on_curve()).then_some(point)
    });
    let outside = bytes_of(&outside.unwrap());
    let off_curve = bytes_of(&G1Affine::new_unchecked(Fq::ONE, Fq::ONE));
    let at_check = |bytes: &[u8], offset, check| {
        let bad = with(&file, offset, bytes);
        Parameters::parse(&bad, Trailing::Refuse, check).map(drop).map_err(|error| error.to_string())
    };
    let off_subgroup = |section: &str, offset: usize| {
        Err(format!(
            "point 0 of the parameters' {section}, at byte {offset}, \
             is on the curve but not in the group of prime order"
        ))
    };
    assert_eq!(at_check(&off_curve, h + 4, Check::Encoding), Ok(()));
    assert!(at_check(&off_curve, h + 4, Check::Curve).is_err());
    assert_eq!(at_check(&outside, h + 4, Check::Curve), Ok(()));
    assert_eq!(at_check(&outside, h + 4, Check::Subgroup), off_subgroup("h", h + 4));
    // The verifying key's points are checked fully, whatever was asked.
    let ic = at(&file, "ic");
    assert_eq!(at_check(&outside, 0, Check::Encoding), off_subgroup("alpha_g1", 0));
    assert_eq!(at_check(&outside, ic + 4, Check::Encoding), off_subgroup("ic", ic + 4));
}

#[test]
fn trailing_bytes_are_counted_where_allowed() {
    let mut file = bellman_file(&SMALL.key());
    file.extend([0; 1000]);
    let parsed = Parameters::parse(&file, Trailing::Allow, Check::Curve).unwrap();
    assert_eq!(parsed.trailing, 1000);
}

#[test]
fn bellman_keys_that_do_not_fit_the_circuit_are_refused() {
    let ark = SMALL.key();
    let shape = shape_of(&ark, SMALL.constraints);
    let params = parse(&bellman_file(&ark)).unwrap();
    type Damage = fn(&mut Parameters, &mut Shape);
    let circuit = "(the circuit's private variables)";
    let density = "(the variables that the circuit's constraints use there)";
    let table: [(Damage, String); 14] = [
        (
            |params, _| params.vk.gamma_abc_g1.truncate(1),
            "the key's ic query has 1 points, but 2 were expected (the circuit's inputs with ONE)".into(),
        ),
        (
            |params, _| params.h.truncate(6),
            "the key's h query has 6 points, but 7 were expected \
             (the domain of the circuit's rows, less one)"
                .into(),
        ),
        (
            |_, shape| shape.constraints += 2,
            "the key's h query has 7 points, but 15 were expected \
             (the domain of the circuit's rows, less one)"
                .into(),
        ),
        (|params, _| params.l.truncate(5), format!("the key's l query has 5 points, but 6 were expected {circuit}")),
        (
            |params, _| {
                params.a.pop();
            },
            format!("the key's a query has 6 points, but 7 were expected {density}"),
        ),
        (
            |_, shape| {
                let absent = shape.a_aux.iter().position(|present| !present).unwrap();
                shape.a_aux[absent] = true;
            },
            format!("the key's a query has 7 points, but 8 were expected {density}"),
        ),
        (
            |params, _| {
                params.b_g1.pop();
            },
            format!("the key's b_g1 query has 5 points, but 6 were expected {density}"),
        ),
        (
            |params, _| params.b_g2.push(G2Affine::generator()),
            format!("the key's b_g2 query has 7 points, but 6 were expected {density}"),
        ),
        (
            |_, shape| {
                shape.b_aux.pop();
            },
            "the shape gives a_aux 6 entries and b_aux 5; both count the private variables".into(),
        ),
        (
            |_, shape| shape.b_inputs.clear(),
            "the key's ic query is empty, but the constant ONE always has a point there".into(),
        ),
        (|_, shape| shape.constraints = 1 << 31, "the key's domain is 2^32, the largest possible is 2^31".into()),
        (
            |_, shape| shape.constraints = usize::MAX - 2,
            "the key's domain is 2^64, the largest possible is 2^31".into(),
        ),
        (|params, _| params.a[3] = G1Affine::zero(), "the key's a query holds the point at infinity at 3".into()),
        (
            |params, _| params.delta_g1 = G1Affine::zero(),
            "the key's delta_g1 is the point at infinity; such a key is forged or broken".into(),
        ),
    ];
    for (damage, message) in table {
        let (mut params, mut shape) = (params.clone(), shape.clone());
        damage(&mut params, &mut shape);
        let error = ProvingKey::from_bellman(params, &shape).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn arkworks_keys_that_contradict_themselves_are_refused() {
    let ark = SMALL.key();
    let because = "(the ic and l queries together count the variables)";
    let forged = |element| format!("the key's {element} is the point at infinity; such a key is forged or broken");
    let groups = "beta and delta in G1 are not those in G2: their points are of different keys";
    type Damage = fn(&mut ArkKey);
    let table: [(Damage, String); 17] = [
        (|key| key.vk.alpha_g1 = G1Affine::zero(), forged("alpha_g1")),
        (|key| key.beta_g1 = G1Affine::zero(), forged("beta_g1")),
        (|key| key.vk.beta_g2 = G2Affine::zero(), forged("beta_g2")),
        (|key| key.vk.gamma_g2 = G2Affine::zero(), forged("gamma_g2")),
        (|key| key.delta_g1 = G1Affine::zero(), forged("delta_g1")),
        (|key| key.vk.delta_g2 = G2Affine::zero(), forged("delta_g2")),
        (|key| key.delta_g1 = G1Affine::generator(), groups.into()),
        (|key| key.vk.beta_g2 = G2Affine::generator(), groups.into()),
        (
            |key| key.vk.gamma_abc_g1.clear(),
            "the key's ic query is empty, but the constant ONE always has a point there".into(),
        ),
        (
            |key| {
                key.vk.gamma_abc_g1.pop();
            },
            format!("the key's a query has 8 points, but 7 were expected {because}"),
        ),
        (
            |key| {
                key.l_query.pop();
            },
            format!("the key's a query has 8 points, but 7 were expected {because}"),
        ),
        (
            |key| {
                key.a_query.pop();
            },
            format!("the key's a query has 7 points, but 8 were expected {because}"),
        ),
        (|key| key.b_g1_query.clear(), format!("the key's b_g1 query has 0 points, but 8 were expected {because}")),
        (
            |key| key.b_g2_query.push(G2Affine::generator()),
            format!("the key's b_g2 query has 9 points, but 8 were expected {because}"),
        ),
        (
            |key| {
                key.h_query.pop();
            },
            "the key's h query has 6 points; one less than a power of two was expected".into(),
        ),
        (|key| key.h_query[4] = G1Affine::zero(), "the key's h query holds the point at infinity at 4".into()),
        (
            |key| key.b_g2_query[0] = G2Affine::zero(),
            "the key's b_g1 and b_g2 queries disagree whether variable 0 is present: \
             they are of different keys"
                .into(),
        ),
    ];
    for (damage, message) in table {
        let mut bad = ark.clone();
        damage(&mut bad);
        assert_eq!(ProvingKey::try_from(&bad).unwrap_err().to_string(), message);
    }
}

/// Pairings are blind to components of small order: the points that a proof is verified with are refused when the key is
/// made, and a proof that such a query point got into does not leave.
#[test]
fn small_orders_are_seen() {
    // On the curve: 2^2 = 0^3 + 4. Its order is 3.
    let small = G1Affine::new_unchecked(Fq::ZERO, Fq::from(2u64));
    assert!(small.is_on_curve() && !small.is_in_correct_subgroup_assuming_on_curve());
    let off_curve = G2Affine::new_unchecked(Fq2::from(1u64), Fq2::ZERO);
    let ark = SMALL.key();
    type Spoil = fn(&mut ArkKey, G1Affine, G2Affine);
    let spoilt: [(&str, Spoil); 6] = [
        ("alpha_g1", |key, g1, _| key.vk.alpha_g1 = (key.vk.alpha_g1 + g1).into()),
        ("beta_g1", |key, g1, _| key.beta_g1 = (key.beta_g1 + g1).into()),
        ("delta_g1", |key, g1, _| key.delta_g1 = (key.delta_g1 + g1).into()),
        ("beta_g2", |key, _, g2| key.vk.beta_g2 = g2),
        ("gamma_g2", |key, _, g2| key.vk.gamma_g2 = g2),
        ("delta_g2", |key, _, g2| key.vk.delta_g2 = g2),
    ];
    for (element, spoil) in spoilt {
        let mut bad = ark.clone();
        spoil(&mut bad, small, off_curve);
        let error = ProvingKey::try_from(&bad).expect_err(element).to_string();
        assert_eq!(error, format!("the key's {element} is not in the group of prime order"));
    }

    let assignment = prooflane::arkworks::record(SMALL).unwrap();
    let proved = |key: &ArkKey| {
        let key = std::sync::Arc::new(ProvingKey::try_from(key).unwrap());
        let prover = prooflane::engine::Engine::cpu().load(key).unwrap();
        prover.prove_with(&assignment, Fr::from(3u64), Fr::from(4u64))
    };
    proved(&ark).unwrap();
    let queries: [fn(&mut ArkKey, G1Affine); 3] = [
        |key, small| key.h_query[0] = (key.h_query[0] + small).into(),
        |key, small| key.a_query[0] = (key.a_query[0] + small).into(),
        |key, small| key.b_g1_query[0] = (key.b_g1_query[0] + small).into(),
    ];
    let mut rejected = 0;
    for spoil in queries {
        let mut bad = ark.clone();
        spoil(&mut bad, small);
        match proved(&bad) {
            // The multiple of the small point may be zero, and then nothing is wrong with the proof.
            Ok(proof) => assert_eq!(proof.bytes(), proved(&ark).unwrap().bytes()),
            Err(ProveError::ProofRejected { .. }) => rejected += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(rejected > 0);
}
