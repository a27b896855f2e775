//! What was measured of an adapter, as a value, as text, and as a file of the user's cache.
//!
//! A file is JSON, one for each adapter and backend. It is written beside its place and renamed into it, so that
//! processes at the same time find a whole one; who comes last wins, and what is lost is measured again.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{encoding::Format, kernel::Group, msm::Costs};

/// Goes up when kernels or the meaning of numbers change within a version, so that what was measured before is void.
const SCHEMA: u32 = 2;
/// No time beyond this, in nanoseconds, and no rate beyond this a second.
const MOST: f64 = 1e15;

/// What numbers are of: with anything else they may be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Of the numbers' meaning.
    pub schema: u32,
    /// Of this crate.
    pub version: String,
    /// Name.
    pub adapter: String,
    /// `vulkan`, `metal`, `dx12`.
    pub backend: String,
    /// Name and version.
    pub driver: String,
    /// Of the host, which the crossover is of too.
    pub threads: usize,
}

impl Identity {
    /// Of an adapter, on this machine.
    pub fn of(info: &wgpu::AdapterInfo) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            adapter: info.name.clone(),
            backend: info.backend.to_string(),
            driver: format!("{} {}", info.driver, info.driver_info),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Letters and digits of name and backend.
    fn file_name(&self) -> String {
        let text = format!("{} {}", self.adapter, self.backend).to_lowercase();
        let words: Vec<_> = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        format!("{:.100}.json", words.join("-"))
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schema, version, adapter, backend, driver, threads } = self;
        write!(f, "{adapter} ({backend}, {driver}), {threads} threads, version {version}, schema {schema}")
    }
}

/// Numbers that plans are made by. The default is empty: then the built-in ones of [`Costs::H200`] hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// What they are of.
    pub of: Identity,
    /// Multiplications in Fq per second of each limb format that computes right.
    pub rates: Vec<(Format, f64)>,
    /// Of the kernels of each format and group that was used.
    pub costs: Vec<(Format, Group, Costs)>,
}

/// Why a file is not taken.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// It can not be read.
    #[error("{} can not be read: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It holds something else.
    #[error("{} is no calibration: {reason}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where it is wrong.
        reason: String,
    },
    /// It is of another adapter, driver, machine or version.
    #[error("{} is of {found}, not of {wanted}", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// What it is of.
        found: Box<Identity>,
        /// What was wanted.
        wanted: Box<Identity>,
    },
    /// It can not be written.
    #[error("{} can not be written: {source}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Calibration {
    /// From a file, whatever it is of.
    pub fn read(file: &Path) -> Result<Self, CalibrationError> {
        let text = fs::read_to_string(file).map_err(|source| match source.kind() {
            io::ErrorKind::InvalidData => {
                CalibrationError::Damaged { file: file.into(), reason: "it is no text".into() }
            }
            _ => CalibrationError::Unreadable { file: file.into(), source },
        })?;
        let damaged = |reason| CalibrationError::Damaged { file: file.into(), reason };
        let read: Self = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        let times = read.costs.iter().flat_map(|(_, _, costs)| costs.times());
        let mut numbers = times.chain(read.rates.iter().map(|&(format, rate)| (format.name(), rate)));
        match numbers.find(|(_, number)| !(0.0..=MOST).contains(number) || *number == 0.0) {
            Some((name, number)) => Err(damaged(format!("'{name}' is {number}"))),
            None => Ok(read),
        }
    }

    /// Into a file, whose directory is made; at no time is it there in part.
    pub fn write(&self, file: &Path) -> Result<(), CalibrationError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let beside = file.with_extension(format!("{}-{count}.new", std::process::id()));
        let written = || {
            fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
            fs::write(&beside, serde_json::to_string_pretty(self)? + "\n")?;
            fs::rename(&beside, file)
        };
        written().map_err(|source| {
            let _ = fs::remove_file(&beside);
            CalibrationError::Unwritable { file: file.into(), source }
        })
    }

    /// The same file as a cache: nothing where it is missing, and an error where it is of something else than `of`.
    pub(super) fn cached(file: &Path, of: &Identity) -> Result<Option<Self>, CalibrationError> {
        match Self::read(file) {
            Ok(read) if read.of == *of => Ok(Some(read)),
            Ok(read) => Err(CalibrationError::Foreign {
                file: file.into(),
                found: Box::new(read.of),
                wanted: Box::new(of.clone()),
            }),
            Err(CalibrationError::Unreadable { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The costs of a group's kernels.
    pub fn costs(&self, format: Format, group: Group) -> Option<Costs> {
        self.costs.iter().find(|known| (known.0, known.1) == (format, group)).map(|known| known.2)
    }

    /// Takes from `other` what is not here.
    pub(super) fn complete(&mut self, other: Self) {
        if self.rates.is_empty() {
            self.rates = other.rates;
        }
        for (format, group, costs) in other.costs {
            if self.costs(format, group).is_none() {
                self.costs.push((format, group, costs));
            }
        }
        self.costs.sort_by_key(|known| (known.0, known.1 as usize));
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (format, group, costs) in &self.costs {
            write!(f, "{} {}, ns:", format.name(), group.name())?;
            for (name, time) in costs.times() {
                write!(f, " {name} {time},")?;
            }
            match costs.cpu_below {
                Costs::NEVER => writeln!(f, " the CPU at any size")?,
                bases => writeln!(f, " the CPU below {bases}")?,
            }
        }
        Ok(())
    }
}

/// The file for numbers of `of` by the value of `PROOFLANE_CACHE`: below the user's cache directory if it says nothing,
/// in a directory that it names, nowhere if it is `off` or there is no such directory.
pub(super) fn file(of: &Identity, variable: Option<std::ffi::OsString>) -> Option<PathBuf> {
    let directory = match variable.filter(|value| !value.is_empty()) {
        Some(value) if value.eq_ignore_ascii_case("off") => return None,
        Some(value) => PathBuf::from(value),
        None => etcetera::base_strategy::choose_native_strategy().ok()?.cache_dir().join("prooflane"),
    };
    Some(directory.join(of.file_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Identity {
        let info = Identity { schema: SCHEMA, version: "1.2.3".into(), adapter: name.into(), ..Identity::default() };
        Identity { backend: "vulkan".into(), driver: "a driver 580".into(), threads: 16, ..info }
    }

    #[test]
    fn the_variable_names_the_directory() {
        let of = of("NVIDIA H200/../ (x)");
        let named = |value: &str| file(&of, Some(value.into()));
        assert_eq!(named("off"), None);
        assert_eq!(named("OFF"), None);
        assert_eq!(named("/a/b"), Some("/a/b/nvidia-h200-x-vulkan.json".into()));
        assert_eq!(named("."), Some("./nvidia-h200-x-vulkan.json".into()));
        // Where the system names a cache, a directory in it.
        assert_eq!(named(""), file(&of, None));
        assert!(file(&of, None).is_none_or(|file| file.ends_with("prooflane/nvidia-h200-x-vulkan.json")));
    }

    #[test]
    fn only_the_same_adapter_driver_machine_and_version_is_taken() {
        let directory = std::env::temp_dir().join(format!("prooflane-cache-{}", std::process::id()));
        let file = directory.join("a.json");
        let mine = of("a card");
        assert!(matches!(Calibration::cached(&file, &mine), Ok(None)));
        let kept = Calibration { of: mine.clone(), rates: vec![(Format::U32, 7.0)], costs: Vec::new() };
        kept.write(&file).expect("written");
        assert_eq!(Calibration::cached(&file, &mine).expect("read"), Some(kept));
        for other in [
            of("another card"),
            Identity { schema: 0, ..mine.clone() },
            Identity { version: "1.2.4".into(), ..mine.clone() },
            Identity { backend: "dx12".into(), ..mine.clone() },
            Identity { driver: "a driver 581".into(), ..mine.clone() },
            Identity { threads: 8, ..mine.clone() },
        ] {
            let error = Calibration::cached(&file, &other).expect_err("foreign").to_string();
            assert!(error.contains("a.json is of a card (vulkan, a driver 580), 16 threads, version 1.2.3"), "{error}");
        }
        std::fs::remove_dir_all(directory).expect("removed");
    }

    #[test]
    fn what_is_known_is_not_replaced() {
        let [g1, g2] = Costs::H200;
        let mut known = Calibration { costs: vec![(Format::U32, Group::G1, g1)], ..Calibration::default() };
        let rates = vec![(Format::U32, 7.0)];
        let more = vec![(Format::U32, Group::G1, g2), (Format::U64, Group::G2, g2), (Format::U64, Group::G1, g1)];
        known.complete(Calibration { rates: rates.clone(), costs: more, ..Calibration::default() });
        known.complete(Calibration { rates: vec![(Format::U32, 8.0)], ..Calibration::default() });
        assert_eq!(known.rates, rates);
        let want = [(Format::U64, Group::G1, g1), (Format::U64, Group::G2, g2), (Format::U32, Group::G1, g1)];
        assert_eq!(known.costs, want);
    }
}
