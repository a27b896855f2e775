//! The numbers of an open engine: read, measured when they are first needed, or pinned.

use std::{
    fmt,
    path::PathBuf,
    sync::{Mutex, OnceLock},
};

use super::{
    calibration::{self, Calibration, Identity},
    selftest,
};
use crate::{
    device::{Gpu, lock},
    encoding::Format,
    kernel::{Group, Kernels},
    msm::{Costs, MsmError, Source, measure},
};

/// Where an engine has the numbers from that formats and plans are chosen by.
#[derive(Debug, Clone, Default)]
pub enum Tuning {
    /// From the adapter's file in the directory that `PROOFLANE_CACHE` names, or else in the user's cache (`off`: from no
    /// file). What the file has not, or not for this driver and version, is measured and written. Devices with run-time
    /// checks, which are for tests, have the built-in numbers instead.
    #[default]
    Cached,
    /// The same with everything measured anew.
    Anew,
    /// These, whatever the adapter is; the built-in ones where they have none. Plans are then the same on every machine.
    Pinned(Calibration),
}

/// Where the numbers came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// They were given, or are built in.
    Pinned,
    /// Read from this file.
    Read(PathBuf),
    /// Measured, some of them at least, and kept in this file if any.
    Measured(Option<PathBuf>),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pinned => write!(f, "pinned"),
            Self::Read(file) => write!(f, "read from {}", file.display()),
            Self::Measured(Some(file)) => write!(f, "measured, kept in {}", file.display()),
            Self::Measured(None) => write!(f, "measured, not kept"),
        }
    }
}

/// The numbers of one engine.
#[derive(Debug)]
pub(super) struct Tuned {
    /// Where measured ones are kept.
    file: Option<PathBuf>,
    /// Whether what the file holds is of use.
    reads: bool,
    known: Mutex<(Calibration, Origin)>,
    /// By group; once set, every plan of this engine is made by them.
    costs: [OnceLock<Costs>; 2],
}

impl Tuned {
    pub(super) fn new(gpu: &Gpu, tuning: &Tuning) -> Self {
        let of = Identity::of(gpu.info());
        let pinned = |known: Calibration| Self {
            file: None,
            reads: false,
            known: Mutex::new((known, Origin::Pinned)),
            costs: Default::default(),
        };
        let file = match tuning {
            Tuning::Pinned(given) => return pinned(given.clone()),
            _ if gpu.checked() => return pinned(Calibration::default()),
            _ => calibration::file(&of, std::env::var_os("PROOFLANE_CACHE")),
        };
        let reads = matches!(tuning, Tuning::Cached);
        let cached = match &file {
            Some(file) if reads => Calibration::cached(file, &of).unwrap_or_else(|error| {
                tracing::warn!(%error, "the cache is not used, measuring anew");
                None
            }),
            _ => None,
        };
        let known = match (cached, &file) {
            (Some(cached), Some(file)) => (cached, Origin::Read(file.clone())),
            _ => (Calibration { of, ..Calibration::default() }, Origin::Measured(None)),
        };
        Self { file, reads, known: Mutex::new(known), costs: Default::default() }
    }

    /// All that is known by now.
    pub(super) fn known(&self) -> (Calibration, Origin) {
        lock(&self.known).clone()
    }

    /// The costs that plans are made by already, built-in ones included.
    pub(super) fn used(&self, format: Format) -> Calibration {
        let used = |group: Group| Some((format, group, *self.costs[group as usize].get()?));
        Calibration { costs: [Group::G1, Group::G2].into_iter().filter_map(used).collect(), ..Calibration::default() }
    }

    /// Takes the rates of formats that were measured.
    pub(super) fn rated(&self, rates: &[(Format, f64)]) {
        self.add(Calibration { rates: rates.to_vec(), ..Calibration::default() });
    }

    /// By group; built-in ones until [`Self::prepare`] was called.
    pub(super) fn costs(&self) -> [Costs; 2] {
        [Group::G1, Group::G2].map(|group| {
            let index = group as usize;
            self.costs[index].get().copied().unwrap_or(Costs::H200[index])
        })
    }

    /// Of a group, if they are known without measuring.
    pub(super) fn known_costs(&self, format: Format, group: Group) -> Option<Costs> {
        if let Some(costs) = self.costs[group as usize].get() {
            return Some(*costs);
        }
        let (known, origin) = &*lock(&self.known);
        known.costs(format, group).or((*origin == Origin::Pinned).then_some(Costs::H200[group as usize]))
    }

    /// Sees to the costs of a group, whose kernels compute right. What can not be measured is built in.
    pub(super) fn prepare<G: Source>(&self, kernels: &Kernels) {
        let slot = &self.costs[G::GROUP as usize];
        // No lock is held meanwhile: measuring waits for pools and devices. Of two threads that do, the first is right.
        if slot.get().is_some() {
            return;
        }
        if let Some(costs) = self.known_costs(kernels.format(), G::GROUP) {
            let _ = slot.set(costs);
            return;
        }
        match self.measure::<G>(kernels) {
            Ok(costs) => {
                tracing::info!(group = G::GROUP.name(), ?costs, "measured");
                if slot.set(costs).is_ok() {
                    let costs = vec![(kernels.format(), G::GROUP, costs)];
                    self.add(Calibration { costs, ..Calibration::default() });
                }
            }
            Err(error) => {
                tracing::warn!(%error, group = G::GROUP.name(), "not measured, planning by built-in costs");
                let _ = slot.set(Costs::H200[G::GROUP as usize]);
            }
        }
    }

    fn measure<G: Source>(&self, kernels: &Kernels) -> Result<Costs, MsmError> {
        let rate = match self.known().0.rates.iter().find(|(format, _)| *format == kernels.format()) {
            Some((_, rate)) => *rate,
            None => selftest::multiplication_rate(kernels)?,
        };
        let costs = measure::<G>(kernels, rate)?;
        // The peak that reports tell is that of what users run.
        kernels.gpu().reset_peak();
        Ok(costs)
    }

    /// Adds what was measured, here and in the file.
    fn add(&self, measured: Calibration) {
        let mut known = lock(&self.known);
        if known.1 == Origin::Pinned {
            return;
        }
        known.0.complete(measured);
        let mut kept = None;
        if let Some(file) = &self.file {
            // What another process has measured meanwhile stays; what is no use is overwritten.
            if self.reads
                && let Ok(Some(there)) = Calibration::cached(file, &known.0.of)
            {
                known.0.complete(there);
            }
            match known.0.write(file) {
                Ok(()) => kept = Some(file.clone()),
                Err(error) => tracing::warn!(%error, "measured numbers are not kept"),
            }
        }
        known.1 = Origin::Measured(kept);
    }
}
