//! Rows of `benches/record/<machine>/<date>.csv`: the columns of every measurement of this crate.
//!
//! Needs the standard library only, so that benches include this file too.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The first line of each file.
pub const HEADER: &str =
    "bench,group,variant,distribution,log2n,median_ms,min_ms,device_ms,bytes,checked,adapter,commit";

/// One measurement.
#[derive(Debug, Clone)]
pub struct Row {
    /// `msm`, `ntt`, `prove`, `pipeline`, `field` or `cold`.
    pub bench: &'static str,
    /// `g1`, `forward`, `groth16`, ...
    pub group: &'static str,
    /// As `cargo bench` shows it; `auto` is what the planner picks.
    pub variant: String,
    /// Of the input.
    pub distribution: String,
    /// Binary logarithm of the size; nothing where there is no size.
    pub log2n: Option<u32>,
    /// Wall times, one for each repetition.
    pub times: Vec<Duration>,
    /// Time by the device's timestamps, where it has them.
    pub device: Option<Duration>,
    /// Bytes of device memory at the peak; nothing without a device.
    pub bytes: Option<u64>,
    /// Whether the result was compared with another prover's in this run.
    pub checked: bool,
    /// Who computed.
    pub adapter: String,
}

/// The middle one; the mean of the middle two of an even number. Zero of none.
pub fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let half = times.len() / 2;
    match times.len() {
        0 => Duration::ZERO,
        odd if odd % 2 == 1 => times[half],
        _ => (times[half - 1] + times[half]) / 2,
    }
}

fn ms(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1e3)
}

/// A field with commas or quotes in it, quoted.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

/// Today in UTC, as `2026-12-31`.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    date((seconds / 86_400) as i64)
}

/// The date that is `days` after 1970-01-01, by H. Hinnant's `civil_from_days`: eras of 400 years that begin in March.
fn date(days: i64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + 400 * era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `PROOFLANE_COMMIT`, or what git says of `directory`, or `unknown`.
fn commit(directory: &Path) -> String {
    if let Ok(commit) = std::env::var("PROOFLANE_COMMIT") {
        return commit;
    }
    let git = Command::new("git").arg("-C").arg(directory).args(["rev-parse", "--short", "HEAD"]).output();
    let told = git.ok().filter(|output| output.status.success());
    let told = told.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    told.filter(|commit| !commit.is_empty()).unwrap_or_else(|| "unknown".into())
}

/// Whether rows could be appended there; makes the directory.
pub fn check(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let path = directory.join(today()).with_extension("csv");
    let there = path.exists();
    drop(OpenOptions::new().create(true).append(true).open(&path)?);
    if there { Ok(()) } else { fs::remove_file(&path) }
}

/// Appends `rows` to today's file in `directory`, which is made if it is not there; returns the file.
pub fn append(directory: &Path, rows: &[Row]) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let path = directory.join(today()).with_extension("csv");
    let mut text = if path.exists() { String::new() } else { format!("{HEADER}\n") };
    let commit = commit(directory);
    for row in rows {
        let optional = |number: Option<String>| number.unwrap_or_default();
        let fields = [
            row.bench.into(),
            row.group.into(),
            field(&row.variant),
            field(&row.distribution),
            optional(row.log2n.map(|n| n.to_string())),
            ms(median(&row.times)),
            ms(row.times.iter().min().copied().unwrap_or_default()),
            optional(row.device.map(ms)),
            optional(row.bytes.map(|bytes| bytes.to_string())),
            if row.checked { "yes" } else { "no" }.into(),
            field(&row.adapter),
            field(&commit),
        ];
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    OpenOptions::new().create(true).append(true).open(&path)?.write_all(text.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, want) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_453, "2025-12-31"),
            (20_454, "2026-01-01"),
        ] {
            assert_eq!(date(days), want);
        }
    }

    #[test]
    fn medians() {
        let of = |times: &[u64]| median(&times.iter().map(|&t| Duration::from_secs(t)).collect::<Vec<_>>()).as_secs();
        assert_eq!([of(&[]), of(&[3]), of(&[9, 1, 5]), of(&[8, 2, 4, 6])], [0, 3, 5, 5]);
    }

    #[test]
    fn fields_with_commas_are_quoted() {
        assert_eq!(field("llvmpipe (LLVM 15, 256 bits)"), "\"llvmpipe (LLVM 15, 256 bits)\"");
        assert_eq!(field("a \"b\""), "\"a \"\"b\"\"\"");
        assert_eq!(field("plain"), "plain");
    }
}
