//! Plans by numbers: the same numbers make the same plan everywhere; numbers as text and as files. No adapter is needed.

use std::{fs, path::PathBuf};

use prooflane::{
    device::Limits,
    encoding::Format,
    engine::{Calibration, CalibrationError},
    kernel::Group,
    msm::{Costs, Options, Plan},
};

/// Of an H200.
const LIMITS: Limits = Limits {
    binding: (1 << 31) - 256,
    buffer: 1 << 40,
    memory: u64::MAX,
    block: 64 << 20,
    groups: 65535,
    workgroup_memory: 48 << 10,
};

/// As llvmpipe on two cores was measured: an addition takes as long as a thousand of a card's, and waits for nothing.
const SLOW: Costs = Costs {
    pair: 715.0,
    mixed: 624.0,
    add: 988.0,
    sort: 28.8,
    wait: 988.0,
    round: 361_000.0,
    dispatch: 52_100.0,
    cpu_below: Costs::NEVER,
};

fn plan(group: Group, log_n: u32, costs: [Costs; 2]) -> Plan {
    Plan::new(group, 1 << log_n, None, &LIMITS, &Options { costs, ..Options::PINNED }).expect("a plan")
}

/// Window, rounds of pairs, items of a thread.
fn choices(plan: &Plan) -> (u32, usize, u64) {
    (plan.cut.window, plan.rounds.len(), plan.levels[0].chunk)
}

/// Number by number: whoever changes built-in costs or the model sees here what becomes of plans.
#[test]
fn pinned_plans_are_the_same_everywhere() {
    for (log_n, g1, g2) in [
        (6, (5, 0, 8), (5, 0, 8)),
        (8, (5, 0, 8), (5, 0, 8)),
        (9, (8, 0, 8), (8, 0, 8)),
        (12, (10, 0, 8), (10, 0, 8)),
        (13, (11, 0, 8), (11, 0, 8)),
        (14, (12, 0, 8), (12, 0, 8)),
        (16, (13, 0, 20), (13, 1, 10)),
        (17, (13, 1, 20), (13, 2, 10)),
        (18, (13, 2, 20), (13, 2, 20)),
        (20, (15, 3, 37), (15, 3, 37)),
        (21, (16, 3, 64), (15, 4, 20)),
        (22, (17, 3, 64), (16, 4, 17)),
        (23, (17, 4, 35), (17, 4, 17)),
        (24, (17, 4, 33), (17, 4, 17)),
        (26, (17, 4, 33), (17, 4, 20)),
    ] {
        for (group, want) in [(Group::G1, g1), (Group::G2, g2)] {
            assert_eq!(choices(&plan(group, log_n, Costs::H200)), want, "{} 2^{log_n}", group.name());
        }
    }
    assert_eq!(Options::default(), Options::PINNED);
}

/// Numbers decide, and nothing else: by those of a software adapter windows grow with the size and rounds do not pay.
#[test]
fn other_numbers_make_other_plans() {
    for (log_n, want) in [(6, (4, 0, 64)), (9, (6, 0, 64)), (12, (9, 0, 64)), (15, (12, 0, 64)), (18, (15, 0, 64))] {
        assert_eq!(choices(&plan(Group::G1, log_n, [SLOW, Costs::H200[1]])), want, "2^{log_n}");
        // Costs are by group.
        assert_eq!(plan(Group::G2, log_n, [SLOW, Costs::H200[1]]), plan(Group::G2, log_n, Costs::H200));
    }
    let named = Options { window: Some(11), rounds: Some(2), costs: [SLOW; 2], ..Options::PINNED };
    let named = Plan::new(Group::G1, 1 << 14, None, &LIMITS, &named).expect("a plan");
    assert_eq!((named.cut.window, named.rounds.len()), (11, 2));
}

/// A directory of this test's own, empty.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

fn some() -> Calibration {
    let mut known = Calibration { rates: vec![(Format::U64, 4.2e7), (Format::U32, 1.6e7)], ..Calibration::default() };
    known.of.adapter = "a card".into();
    known.costs = vec![(Format::U64, Group::G1, SLOW), (Format::U32, Group::G2, Costs::H200[1])];
    known
}

#[test]
fn files_come_back() {
    let file = directory("round-trip").join("not/there/yet.json");
    for known in [Calibration::default(), some()] {
        known.write(&file).expect("written");
        assert_eq!(Calibration::read(&file).expect("read"), known);
        let beside: Vec<_> = fs::read_dir(file.parent().expect("a directory")).expect("a list").collect();
        assert_eq!(beside.len(), 1, "{beside:?}");
    }
    assert_eq!(some().costs(Format::U64, Group::G1), Some(SLOW));
    assert_eq!(some().costs(Format::U64, Group::G2), None);
    assert_eq!(
        some().to_string(),
        "u64 g1, ns: pair 715, mixed 624, add 988, sort 28.8, wait 988, round 361000, dispatch 52100, the CPU at any size\n\
         u32 g2, ns: pair 1.03, mixed 2.2, add 3, sort 0.047, wait 55000, round 600000, dispatch 6000, the CPU below 512\n"
    );
}

#[test]
fn what_is_no_calibration_is_refused_with_its_file() {
    let file = directory("damaged").join("a.json");
    some().write(&file).expect("written");
    let good = fs::read_to_string(&file).expect("text");
    for (text, says) in [
        ("", "EOF while parsing"),
        (&good[..good.len() / 2], "EOF while parsing"),
        ("[]", "invalid length"),
        ("\u{0}\u{1}", "expected value"),
        (&good.replace("\"u64\"", "\"u128\""), "unknown variant `u128`"),
        (&good.replace("\"pair\"", "\"pears\""), "unknown field `pears`"),
        (&good.replace("715.0", "-1.0"), "'pair' is -1"),
        (&good.replace("715.0", "0.0"), "'pair' is 0"),
        (&good.replace("28.8", "1e300"), "'sort' is 1"),
        (&good.replace("28.8", "null"), "invalid type: null"),
        (&good.replace("16000000.0", "-2.0"), "'u32' is -2"),
        (&good.replace("2147483648", "-7"), "invalid value"),
    ] {
        fs::write(&file, text).expect("written");
        let error = Calibration::read(&file).expect_err(text);
        assert!(matches!(error, CalibrationError::Damaged { .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains("damaged/a.json is no calibration: ") && message.contains(says), "{message}");
    }
    fs::write(&file, [0xff, 0xfe]).expect("written");
    let message = Calibration::read(&file).expect_err("no text").to_string();
    assert!(message.ends_with("a.json is no calibration: it is no text"), "{message}");
    for missing in [file.with_file_name("b.json"), file.parent().expect("a directory").into()] {
        let message = Calibration::read(&missing).expect_err("no file").to_string();
        assert!(message.starts_with(&format!("{} can not be read: ", missing.display())), "{message}");
    }
    // A file in the place of the directory: no user may write below it, whoever runs this test.
    let below = file.join("c.json");
    let message = some().write(&below).expect_err("no directory").to_string();
    assert!(message.starts_with(&format!("{} can not be written: ", below.display())), "{message}");
}

/// Writers and readers at once: who reads finds a whole file of one of the writers.
#[test]
fn writers_do_not_mix() {
    let file = directory("writers").join("a.json");
    some().write(&file).expect("written");
    std::thread::scope(|scope| {
        for writer in 0..4u32 {
            let file = &file;
            scope.spawn(move || {
                let rates = vec![(Format::U64, 1.0 + f64::from(writer)); 200];
                for _ in 0..50 {
                    Calibration { rates: rates.clone(), ..some() }.write(file).expect("written");
                    let read = Calibration::read(file).expect("a whole file");
                    assert!(read == some() || read.rates.len() == 200, "{read:?}");
                    assert!(read == some() || read.rates.iter().all(|rate| *rate == read.rates[0]), "{read:?}");
                }
            });
        }
    });
    assert_eq!(fs::read_dir(file.parent().expect("a directory")).expect("a list").count(), 1);
}
