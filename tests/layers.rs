//! The house rules that no compiler checks: imports go one way, files stay short.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Each layer with all that it may import. `tests/layers.rs`, `src/lib.rs` and ARCHITECTURE.md draw the same map.
const LAYERS: [(&str, &[&str]); 14] = [
    ("device", &[]),
    ("encoding", &[]),
    ("kernel", &["device", "encoding"]),
    ("msm", &["kernel", "device", "encoding"]),
    ("ntt", &["kernel", "device", "encoding"]),
    ("formats", &[]),
    ("groth16", &["formats", "msm", "ntt", "kernel", "device", "encoding"]),
    ("arkworks", &["groth16"]),
    ("bellman", &["groth16"]),
    ("sapling", &["bellman", "groth16", "formats"]),
    ("synthetic", &["groth16"]),
    ("pipeline", &[]),
    ("engine", &["pipeline", "groth16", "msm", "ntt", "kernel", "device", "encoding"]),
    // The command line is another crate, which sees the public library only.
    ("cli", &[]),
];

/// Longest source file and shader, in lines.
const LONGEST: usize = 500;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below `directory` with one of these extensions.
fn files(directory: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            found.extend(files(&path, extensions));
        } else if path.extension().is_some_and(|end| extensions.iter().any(|wanted| end == *wanted)) {
            found.push(path);
        }
    }
    found
}

/// `text` without comments: documentation may point anywhere.
fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The first segment of each path that begins with `crate::`, braces taken apart.
fn imports(code: &str) -> Vec<String> {
    let identifier =
        |text: &str| -> String { text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(list) = rest.strip_prefix('{') else {
            found.push(identifier(rest));
            continue;
        };
        let mut depth = 0;
        let mut begin = true;
        for (at, letter) in list.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begin = true,
                _ if begin && !letter.is_whitespace() => {
                    found.push(identifier(&list[at..]));
                    begin = false;
                }
                _ => {}
            }
        }
    }
    found
}

fn layer(path: &Path) -> String {
    let inside = path.strip_prefix(root().join("src")).expect("a path in src");
    let first = inside.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_string()
}

#[test]
fn imports_go_one_way() {
    let mut edges = 0;
    for path in files(&root().join("src"), &["rs"]) {
        let name = layer(&path);
        if name == "lib" || name == "main" {
            continue;
        }
        let (_, allowed) = LAYERS
            .iter()
            .find(|(layer, _)| *layer == name)
            .unwrap_or_else(|| panic!("{} is in no layer; give it one here and in ARCHITECTURE.md", path.display()));
        let text = fs::read_to_string(&path).expect("a source file");
        for import in imports(&code(&text)) {
            edges += usize::from(import != name);
            assert!(
                import == name || allowed.contains(&import.as_str()),
                "{}: the layer '{name}' must not import '{import}', only {allowed:?}",
                path.display()
            );
        }
    }
    // An empty result would mean that this test no longer reads what it should.
    assert!(edges > 20, "only {edges} imports were found");
}

#[test]
fn the_map_has_no_circle() {
    // Each layer may import only what stands before it in some order; taking layers away from below finds one.
    let mut left: Vec<_> = LAYERS.to_vec();
    while !left.is_empty() {
        let names: Vec<_> = left.iter().map(|(name, _)| *name).collect();
        let before = left.len();
        left.retain(|(_, allowed)| allowed.iter().any(|name| names.contains(name)));
        assert!(left.len() < before, "a circle among {names:?}");
    }
}

#[test]
fn imports_are_found() {
    let text = "use crate::{\n    device::{DeviceError, Gpu},\n    kernel::Kernels, // crate::not\n};\nuse crate::ntt;\n\
                fn f(x: crate::msm::Plan) {}";
    assert_eq!(imports(&code(text)), ["device", "kernel", "ntt", "msm"]);
}

#[test]
fn files_are_short() {
    for path in files(&root().join("src"), &["rs"]).into_iter().chain(files(&root().join("shaders"), &["wgsl"])) {
        let lines = fs::read_to_string(&path).expect("a text file").lines().count();
        assert!(lines <= LONGEST, "{} has {lines} lines, {LONGEST} are the most", path.display());
    }
}
