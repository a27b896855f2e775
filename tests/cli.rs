//! The binary from outside: exit codes, messages, and that `--json` prints one object and nothing else.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;

/// No backend of this build answers to `gl`, so that no adapter is found.
const NO_ADAPTER: (&str, &str) = ("WGPU_BACKEND", "gl");

fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prooflane"));
    command.args(arguments).env_remove("RUST_LOG");
    // Not the user's, so that no test depends on it; kept, so that adapters are not measured in each test.
    command.env("PROOFLANE_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // Vulkan loaders complain on standard error without it.
        command.env("XDG_RUNTIME_DIR", std::env::temp_dir());
    }
    for (name, value) in environment {
        command.env(name, value);
    }
    command.output().expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into()
}

/// The exit code, and the object that standard output has to be.
fn json(arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, Value) {
    let output = run(arguments, environment);
    let text = stdout(&output);
    let object = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{}", stderr(&output)));
    (output.status.code(), object)
}

#[test]
fn adapters_are_listed_and_tested() {
    let (code, report) = json(&["adapters", "--json"], &[]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["passed"], true);
    for adapter in report["adapters"].as_array().expect("a list") {
        assert!(adapter["error"].is_null(), "{adapter:#}");
        assert!(adapter["limits"]["binding"].as_u64() > Some(0), "{adapter:#}");
        let format = adapter["format"].as_str().expect("a format");
        let rates = adapter["rates"].as_array().expect("rates");
        assert!(rates.iter().any(|rate| rate["format"] == format && rate["per_second"].as_f64() > Some(0.0)));
        let costs = adapter["calibration"]["costs"].as_array().expect("costs");
        assert!(["g1", "g2"].iter().all(|group| costs.iter().any(|one| one[0] == format && one[1] == **group)));
        let features = ["present", "absent"].map(|list| adapter[list].as_array().map_or(0, Vec::len));
        assert_eq!(features.iter().sum::<usize>(), 7);
    }
}

/// Measured once, then read; whatever is wrong with the file, a warning names it and the adapter is measured again.
#[test]
fn calibrations_are_kept_and_told() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("calibrations");
    let _ = fs::remove_dir_all(&directory);
    let cache = directory.to_str().expect("a path");
    let first = |arguments: &[&str], cache: &str| {
        let output = run(&[&["adapters", "--json"], arguments].concat(), &[("PROOFLANE_CACHE", cache)]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let report: Value = serde_json::from_str(&stdout(&output)).expect("an object");
        let adapter = &report["adapters"][0];
        let origin = adapter["calibration_origin"].as_str().unwrap_or_default().to_owned();
        (origin, adapter["calibration"].clone(), stderr(&output))
    };
    let (origin, measured, warned) = first(&[], cache);
    if measured.is_null() {
        eprintln!("no adapter, nothing to measure");
        return;
    }
    let file = origin.strip_prefix("measured, kept in ").expect("a file").to_owned();
    assert_eq!(warned, "");
    assert_eq!(first(&[], cache), (format!("read from {file}"), measured.clone(), String::new()));

    let kept = fs::read_to_string(&file).expect("a file");
    let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    for (text, says) in [
        (kept[..kept.len() / 2].to_owned(), "is no calibration: "),
        (kept.replace("\"pair\": ", "\"pair\": -"), "is no calibration: 'pair' is -"),
        (kept.replace(&version, "\"0.0.0\""), "version 0.0.0"),
    ] {
        fs::write(&file, text).expect("written");
        let (origin, _, warned) = first(&[], cache);
        assert_eq!(origin, format!("measured, kept in {file}"));
        assert!(warned.contains("WARN") && warned.contains(&file) && warned.contains(says), "{warned}");
        assert_eq!(first(&[], cache).0, format!("read from {file}"));
    }
    let (origin, anew, warned) = first(&["--calibration", "anew"], cache);
    assert_eq!((origin, warned), (format!("measured, kept in {file}"), String::new()));
    assert_eq!(first(&[], cache).1, anew);

    let (origin, pinned, _) = first(&["--calibration", "pinned"], cache);
    assert_eq!((origin.as_str(), &pinned["of"]["adapter"]), ("pinned", &Value::from("")));
    assert_eq!(pinned["costs"][0][2]["pair"], prooflane::msm::Costs::H200[0].pair);
    fs::write(directory.join("mine.json"), kept.replace("\"adapter\": \"", "\"adapter\": \"another "))
        .expect("written");
    let (origin, given, _) = first(&["--calibration", &format!("{cache}/mine.json")], "off");
    assert_eq!((origin.as_str(), &given["costs"]), ("pinned", &measured["costs"]));

    assert_eq!(first(&[], "off").0, "measured, not kept");
    // Nowhere to write: a file where the directory should be, whoever runs this test.
    let (origin, _, warned) = first(&[], &file);
    assert_eq!(origin, "measured, not kept");
    assert!(warned.contains("WARN") && warned.contains(&format!("{file}/")) && warned.contains("can not be written"));
}

#[test]
fn without_an_adapter_the_cpu_answers_and_says_so() {
    for (arguments, environment, says) in [
        (
            &["adapters"][..],
            &[NO_ADAPTER][..],
            "default: no adapter matches 'auto with WGPU_BACKEND=gl'; found: none, so the CPU (arkworks)",
        ),
        (
            &["adapters"],
            &[("WGPU_ADAPTER_NAME", "no such card")],
            "default: no adapter matches 'WGPU_ADAPTER_NAME=no such card'; found: ",
        ),
        (&["adapters", "--adapter", "none"], &[], "default: CPU (arkworks), as asked for"),
        (&["adapters"], &[("PROOFLANE_ADAPTER", " None ")], "default: CPU (arkworks), as asked for"),
        (&["adapters", "--cpu"], &[], "default: CPU (arkworks), as asked for"),
        (&["adapters"], &[("PROOFLANE_ADAPTER", "none")], "default: CPU (arkworks), as asked for"),
    ] {
        let output = run(arguments, environment);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).contains(says), "{}", stdout(&output));
    }
}

#[test]
fn unknown_adapters_are_refused_by_name() {
    for (wanted, environment, begin) in [
        ("no such card", &[][..], "error: no adapter matches 'no such card'; found: #0 "),
        ("no such card", &[NO_ADAPTER], "error: no adapter matches 'no such card with WGPU_BACKEND=gl'; found: none"),
        ("pci:", &[], "error: no adapter matches 'pci:'; found: #0 "),
        ("+0", &[], "error: no adapter matches '+0'; found: #0 "),
    ] {
        let output = run(&["adapters", "--adapter", wanted], environment);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stdout(&output), "");
        assert!(stderr(&output).starts_with(begin), "{}", stderr(&output));
    }
    let (code, report) = json(&["--adapter", "#99", "--json", "adapters"], &[]);
    assert_eq!(code, Some(2));
    assert_eq!(report["passed"], false);
    assert!(report["error"].as_str().is_some_and(|error| error.starts_with("no adapter matches '#99'")), "{report}");
}

#[test]
fn bad_arguments_are_refused() {
    for (arguments, says) in [
        (&["--no-such-flag"][..], "unexpected argument '--no-such-flag'"),
        (&[], "Usage: prooflane"),
        (&["prove"], "unrecognized subcommand 'prove'"),
        (&["demo"], "Usage: prooflane demo"),
        (&["demo", "sapling", "--circuit", "orchard"], "possible values: output, spend, both"),
        (&["demo", "sapling", "--format", "u128"], "possible values: u64, u32"),
        (&["demo", "sapling", "--seed", "one"], "invalid digit"),
        (&["demo", "partitions", "--partitions", "0"], "0 is not in 1..=10000"),
        (&["demo", "partitions", "--workers", "65"], "65 is not in 1..=64"),
        (&["demo", "partitions", "--log2", "1"], "1 is not in 2..=24"),
        (&["demo", "partitions", "--budget", "0"], "0 is not in 1..=16777216"),
        (&["demo", "partitions", "--circuit", "spend", "--log2", "8"], "--log2 is of the circuit 'bits'"),
        (&["demo", "partitions", "--circuit", "orchard"], "possible values: bits, output, spend"),
        (
            &["demo", "partitions", "--cpu", "--timeline", "out.png"],
            "out.png: the ending says none of .svg, .json, .txt",
        ),
        (&["demo", "partitions", "--cpu", "--with", "no such card"], "no adapter matches 'no such card'; found: "),
        (&["adapters", "--calibration", "no such file"], "no such file can not be read"),
        (&["adapters", "--cpu", "--adapter", "auto"], "--adapter auto and --cpu exclude each other"),
        (&["--cpu", "adapters", "--adapter", "auto"], "--adapter auto and --cpu exclude each other"),
    ] {
        let output = run(arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
        let (code, report) = json(&[arguments, &["--json"]].concat(), &[]);
        assert_eq!((code, &report["passed"]), (Some(2), &Value::Bool(false)), "{arguments:?}");
        assert!(report["error"].as_str().is_some_and(|error| error.contains(says)), "{arguments:?}: {report}");
    }
}

/// On the adapter under test, if there is one, and beside the CPU.
#[test]
fn partitions_are_proved_and_drawn() {
    for (ending, begin) in [("svg", "<svg"), ("json", "{\"traceEvents\":["), ("txt", "place")] {
        let file = std::env::temp_dir().join(format!("prooflane-timeline-{}.{ending}", std::process::id()));
        let path = file.to_str().expect("a path");
        let (place, count): (&[&str], _) = if ending == "svg" { (&["--with", "none"], 2) } else { (&["--cpu"], 1) };
        let demo = ["demo", "partitions", "--json", "--partitions", "5", "--log2", "6", "--timeline", path];
        let (code, report) = json(&[&demo, place].concat(), &[]);
        assert_eq!(code, Some(0), "{report:#}");
        assert_eq!((&report["passed"], &report["verified"]), (&Value::Bool(true), &Value::from(5)));
        let places = report["places"].as_array().expect("places");
        assert_eq!(places.len(), count);
        let proofs = places.iter().map(|place| place["proofs"].as_u64().expect("a count"));
        assert_eq!(proofs.sum::<u64>(), 5, "{report:#}");
        let drawn = fs::read_to_string(&file).expect("a drawing");
        fs::remove_file(&file).expect("removed");
        assert!(drawn.starts_with(begin), "{drawn}");
    }
}

/// Refused before the job, with all numbers; the CPU needs no device memory.
#[test]
fn a_budget_that_holds_no_partition() {
    let file = std::env::temp_dir().join(format!("prooflane-refused-{}.svg", std::process::id()));
    let path = file.to_str().expect("a path");
    let demo = ["demo", "partitions", "--json", "--budget", "1", "--log2", "12", "--timeline", path];
    let (code, report) = json(&demo, &[]);
    assert_eq!(fs::remove_file(&file).is_ok(), code == Some(0), "a drawing is there if there was a job");
    if code == Some(0) {
        assert!(report["places"][0]["name"].as_str().is_some_and(|name| name.starts_with("CPU")), "{report:#}");
    } else {
        let error = report["error"].as_str().expect("an error");
        assert!(code == Some(1) && error.starts_with("a partition needs "), "{report:#}");
        assert!(error.ends_with(" bytes of its key, the budget is 1048576 bytes"), "{report:#}");
    }
}

/// A terminal's colours are for terminals, and whoever stops reading is told nothing.
#[test]
fn pipes_are_respected() {
    let output = run(&["adapters"], &[("RUST_LOG", "prooflane=info"), NO_ADAPTER]);
    assert!(!stderr(&output).contains('\u{1b}'), "{}", stderr(&output));
    let mut child = Command::new(env!("CARGO_BIN_EXE_prooflane"));
    child.args(["adapters"]).env(NO_ADAPTER.0, NO_ADAPTER.1).env("XDG_RUNTIME_DIR", std::env::temp_dir());
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = child.stdout(writer).stderr(std::process::Stdio::piped()).output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "");
}

#[cfg(not(feature = "sapling"))]
#[test]
fn without_the_feature_the_demonstration_says_how_to_build_it() {
    let output = run(&["demo", "sapling"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cargo run --release --features sapling -- demo sapling"), "{}", stderr(&output));
}

#[cfg(feature = "sapling")]
mod sapling {
    use super::*;

    /// Refused before any work is done.
    #[test]
    fn a_place_for_records_that_is_none() {
        let file = std::env::temp_dir().join(format!("prooflane-file-{}", std::process::id()));
        fs::write(&file, "").expect("a file");
        let below = file.join("below");
        let path = below.to_str().expect("a path");
        let begin = std::time::Instant::now();
        let (code, report) = json(&["demo", "sapling", "--cpu", "--json", "--record", path], &[]);
        fs::remove_file(&file).expect("removed");
        assert_eq!(code, Some(1));
        let error = report["error"].as_str().expect("an error");
        assert!(error.starts_with(&format!("{path} can not be recorded in: ")), "{error}");
        assert!(begin.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn an_output_is_proved_on_the_cpu_and_recorded() {
        let directory = std::env::temp_dir().join(format!("prooflane-record-{}", std::process::id()));
        let path = directory.to_str().expect("a path");
        let arguments = ["demo", "sapling", "--circuit", "output", "--json", "--record", path];
        let (code, report) = json(&arguments, &[NO_ADAPTER, ("PROOFLANE_COMMIT", "abc1234")]);
        assert_eq!(code, Some(0), "{report:#}");
        assert_eq!(report["passed"], true);
        assert_eq!(report["place"]["kind"], "cpu");
        let reason = report["place"]["fallback"].as_str().expect("a reason");
        assert!(reason.starts_with("no adapter matches 'auto with WGPU_BACKEND=gl'; found: none"), "{reason}");
        let circuit = &report["circuits"][0];
        assert_eq!(circuit["proof"].as_str().map(str::len), Some(2 * 192));
        assert_eq!(circuit["warm"].as_array().map(Vec::len), Some(5));
        assert!(circuit["checks"].as_array().expect("checks").iter().all(|check| check["passed"] == true));

        let file = fs::read_dir(&directory).expect("a directory").next().expect("a file").expect("a file").path();
        let text = fs::read_to_string(&file).expect("rows");
        fs::remove_dir_all(&directory).expect("removed");
        let lines: Vec<&str> = text.lines().collect();
        let header = "bench,group,variant,distribution,log2n,median_ms,min_ms,device_ms,bytes,checked,adapter,commit";
        assert_eq!(lines[0], header);
        assert!(lines.iter().all(|line| line.split(',').count() == 12), "{text}");
        assert!(lines[1].starts_with("cold,first_proof,auto,sapling-output,13,"), "{text}");
        assert!(lines[2].starts_with("prove,groth16,auto,sapling-output,13,"), "{text}");
        assert!(lines[2].ends_with(",,,yes,cpu,abc1234"), "{text}");
        // Then one row a stage, by the names that the report has.
        let stages = circuit["warm"][0]["stages"].as_array().expect("stages");
        assert_eq!(lines.len(), 3 + stages.len(), "{text}");
        for (line, stage) in lines[3..].iter().zip(stages) {
            let name = stage["stage"].as_str().expect("a name");
            assert!(line.starts_with(&format!("prove,{name},auto,sapling-output,13,")), "{line}");
        }
    }

    #[test]
    fn a_missing_adapter_is_not_replaced_by_the_cpu() {
        for arguments in
            [&["demo", "sapling", "--adapter", "no such card"][..], &["demo", "sapling", "--cpu", "--format", "u32"]]
        {
            let output = run(arguments, &[]);
            assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
            assert_eq!(stdout(&output), "");
        }
    }
}
