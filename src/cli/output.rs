//! Standard output as text or one JSON object, and progress on standard error.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::{Serialize, Serializer};

use super::Failure;

/// Where a command's words go.
pub(super) struct Output {
    json: bool,
    bars: MultiProgress,
    bar: ProgressBar,
}

impl Output {
    /// Progress is drawn only where standard error is a terminal; `steps` is how many [`Self::step`]s will come.
    pub(super) fn new(json: bool, steps: u64) -> Self {
        let target = match io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bars = MultiProgress::with_draw_target(target);
        let bar = bars.add(ProgressBar::new(steps));
        let style = ProgressStyle::with_template("{spinner} {bar:20} {pos}/{len} {elapsed:>4} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { json, bars, bar }
    }

    /// A further bar, of `steps` steps, below the others.
    pub(super) fn bar(&self, name: &str, steps: u64) -> ProgressBar {
        let style = ProgressStyle::with_template("  {prefix:<28!} {bar:20} {pos}/{len} {msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bars.add(ProgressBar::new(steps).with_style(style).with_prefix(name.to_owned()))
    }

    /// Does one step of the work under a name and times it.
    pub(super) fn step<T>(&self, name: &str, work: impl FnOnce() -> T) -> (T, Duration) {
        self.bar.set_message(name.to_string());
        let begin = Instant::now();
        let done = work();
        let took = begin.elapsed();
        self.bar.inc(1);
        (done, took)
    }

    /// Prints text; nothing under `--json`.
    pub(super) fn text(&self, text: &str) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        self.bars.suspend(|| io::stdout().write_all(text.as_bytes())).map_err(unwritable)
    }

    /// Prints the report under `--json`; nothing otherwise.
    pub(super) fn report(&self, report: &impl Serialize) -> Result<(), Failure> {
        self.bar.finish_and_clear();
        if !self.json {
            return Ok(());
        }
        let mut text = serde_json::to_string_pretty(report).map_err(Failure::failed)?;
        text.push('\n');
        io::stdout().write_all(text.as_bytes()).map_err(unwritable)
    }
}

/// A reader that has seen enough is no news to anybody.
fn unwritable(error: io::Error) -> Failure {
    let quiet = error.kind() == io::ErrorKind::BrokenPipe;
    Failure { quiet, ..Failure::failed(format!("standard output: {error}")) }
}

/// A duration in milliseconds.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Milliseconds as tables print them.
pub(super) fn millis(time: Duration) -> String {
    format!("{:.1}", ms(time))
}

/// For serde: a duration as a number of milliseconds.
pub(super) fn as_ms<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(ms(*time))
}

/// Bytes for people.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let (mut value, mut unit) = (count as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match value.fract() == 0.0 {
        true => format!("{value} {}", UNITS[unit]),
        false => format!("{value:.1} {}", UNITS[unit]),
    }
}
