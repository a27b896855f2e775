//! Numbers in documents are made from `benches/record/<machine>/<date>.csv`, not typed.
//!
//! `PROOFLANE_BLESS=1 cargo test --test readme` writes the tables between their markers; without it they are compared.

use std::{collections::BTreeMap, fs, path::PathBuf};

const COLUMNS: [&str; 12] = [
    "bench",
    "group",
    "variant",
    "distribution",
    "log2n",
    "median_ms",
    "min_ms",
    "device_ms",
    "bytes",
    "checked",
    "adapter",
    "commit",
];
const BEGIN: &str = "<!-- measured: begin -->\n";
const END: &str = "<!-- measured: end -->";

/// A row with the machine and the day it was measured on.
struct Record {
    machine: String,
    day: String,
    fields: Vec<String>,
}

impl Record {
    fn get(&self, column: &str) -> &str {
        let at = COLUMNS.iter().position(|name| *name == column).unwrap_or_else(|| panic!("no column {column}"));
        &self.fields[at]
    }
}

/// The fields of one line; quotes protect commas, a doubled quote is one.
fn split(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sorted(directory: PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn stem(path: &std::path::Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Every row on record, oldest first within a machine.
fn records() -> Vec<Record> {
    let mut all = Vec::new();
    for machine in sorted(root().join("benches/record")).into_iter().filter(|path| path.is_dir()) {
        for path in sorted(machine.clone()).into_iter().filter(|path| path.extension().is_some_and(|end| end == "csv"))
        {
            let text = fs::read_to_string(&path).expect("a record");
            let mut lines = text.lines().filter(|line| !line.is_empty());
            assert_eq!(lines.next(), Some(COLUMNS.join(",").as_str()), "{}", path.display());
            for line in lines {
                let fields = split(line);
                assert_eq!(fields.len(), COLUMNS.len(), "{}: {line}", path.display());
                all.push(Record { machine: stem(&machine), day: stem(&path), fields });
            }
        }
    }
    all
}

/// The latest checked row of each measurement, as a table.
fn table(records: &[Record], wanted: &[&str]) -> String {
    let mut latest = BTreeMap::new();
    for record in records.iter().filter(|r| r.get("checked") == "yes" && wanted.contains(&r.get("bench"))) {
        let what = ["bench", "group", "distribution", "log2n", "variant"].map(|column| {
            let text = record.get(column);
            // 9 before 13.
            format!("{text:0>4}")
        });
        latest.insert((&record.machine, what), record);
    }
    if latest.is_empty() {
        return "Nothing is on record yet.\n".into();
    }
    let mut text = String::from(
        "| machine | what | input | log2 n | variant | median ms | device ms | adapter | date, commit |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for record in latest.values() {
        let get = |column| record.get(column);
        text += &format!(
            "| {} | {} {} | {} | {} | {} | {} | {} | {} | {}, {} |\n",
            record.machine,
            get("bench"),
            get("group"),
            get("distribution"),
            get("log2n"),
            get("variant"),
            get("median_ms"),
            get("device_ms"),
            get("adapter"),
            record.day,
            get("commit"),
        );
    }
    text
}

#[test]
fn tables_are_those_of_the_records() {
    let records = records();
    for (file, wanted) in [
        ("README.md", &["prove", "cold", "pipeline"][..]),
        ("benches/README.md", &["prove", "cold", "pipeline", "msm", "ntt", "field"]),
    ] {
        let path = root().join(file);
        let text = fs::read_to_string(&path).expect("a document");
        let (before, rest) = text.split_once(BEGIN).unwrap_or_else(|| panic!("{file} has no line {BEGIN}"));
        let (found, after) = rest.split_once(END).unwrap_or_else(|| panic!("{file} has no line {END}"));
        let want = table(&records, wanted);
        if std::env::var_os("PROOFLANE_BLESS").is_some() {
            fs::write(&path, format!("{before}{BEGIN}{want}{END}{after}")).expect("written");
            continue;
        }
        let how = "the table is not that of benches/record: PROOFLANE_BLESS=1 cargo test --test readme writes it";
        assert_eq!(found, want, "{file}: {how}");
    }
}

/// The example in the README is the one that is compiled and run.
#[test]
fn the_example_is_the_one_that_runs() {
    let readme = fs::read_to_string(root().join("README.md")).expect("a document");
    let example = fs::read_to_string(root().join("examples/prove.rs")).expect("an example");
    let (_, body) = example.split_once("fn main()").expect("a main function");
    assert!(readme.contains(&format!("fn main(){body}")), "README.md does not hold examples/prove.rs's main function");
}

/// Links to files of this repository lead somewhere.
#[test]
fn links_lead_somewhere() {
    for file in [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "benches/README.md",
        "fixtures/README.md",
        "src/pipeline/README.md",
    ] {
        let path = root().join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        for rest in text.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default().split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let there = path.parent().expect("a directory").join(target);
            assert!(there.exists(), "{file} links to {target}, which is not there");
        }
    }
}

#[test]
fn lines_are_split_at_commas_outside_quotes() {
    assert_eq!(split(r#"a,"b, c",,"d ""e""""#), ["a", "b, c", "", r#"d "e""#]);
}
