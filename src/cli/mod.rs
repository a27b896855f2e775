//! What the command line reads, and how it ends.
//!
//! Results go to standard output, as text or (`--json`) as one object and nothing else; progress and log lines
//! (`RUST_LOG`) go to standard error. Exit codes: 0 all is well, 1 a check or a computation failed, 2 what was asked
//! for is not there (an adapter, a format, a feature of the build) or the arguments make no sense.

mod adapters;
mod demo;
mod output;
mod place;
#[cfg(feature = "sapling")]
mod record;

use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use prooflane::encoding::Format;

/// Proves Groth16 over BLS12-381 on any GPU that wgpu reaches.
#[derive(Parser)]
#[command(version, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Environment:
  PROOFLANE_ADAPTER   what --adapter would say
  PROOFLANE_CACHE     directory of what was measured of adapters, or `off`; the user's cache if absent
  WGPU_BACKEND, WGPU_ADAPTER_NAME and the other variables of wgpu
  RUST_LOG            log lines on standard error, for example prooflane=debug

Exit codes: 0 success, 1 a check or computation failed, 2 what was asked for is not there.";

/// Flags that every command takes.
#[derive(Args)]
struct Global {
    /// The adapter: `auto`, an index (`#0`), a backend (`vulkan`), `pci:<address>`, a part of the name, or `none` for --cpu
    #[arg(long, global = true, value_name = "ADAPTER")]
    adapter: Option<String>,
    /// Compute on the CPU, by arkworks
    #[arg(long, global = true)]
    cpu: bool,
    /// What plans are made by: `cached` numbers of the adapter, measured if there are none; measured `anew`; `pinned`, the
    /// built-in ones; or those of a file as the cache has it, which are pinned too
    #[arg(long, global = true, value_name = "WHICH", default_value = "cached")]
    calibration: String,
    /// Most multiples of each base of a key that an adapter keeps: so many times the key's memory, for fewer additions
    #[arg(long, global = true, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=128))]
    tables: u32,
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// List adapters with what matters of them, and self-test each
    Adapters,
    /// Prove something real
    Demo {
        #[command(subcommand)]
        demo: Demo,
    },
}

#[derive(Subcommand)]
enum Demo {
    /// Prove Zcash's Sapling circuits with the parameters of their ceremony, and compare with bellman
    Sapling(Sapling),
    /// Prove one circuit many times over the pipeline, on one adapter or several
    Partitions(Partitions),
}

/// Flags of `demo partitions`.
#[derive(Args)]
struct Partitions {
    /// Proofs of the job
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    partitions: u32,
    /// Partitions that each adapter has under way at once
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    workers: u32,
    /// Which circuit: nine tenths bits, of --log2 rows, or one of Sapling's
    #[arg(long, default_value = "bits")]
    circuit: PartitionCircuit,
    /// Binary logarithm of the rows of `bits`, 14 if absent; its key is made anew: at 20 a processor takes a minute and
    /// some 2 GiB of memory, and each step doubles both
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=24))]
    log2: Option<u32>,
    /// A further adapter to work beside the first, or `none` for the CPU; may be repeated
    #[arg(long, value_name = "ADAPTER")]
    with: Vec<String>,
    /// Device memory that keys and proofs of one card may lease together, in MiB; no limit if absent, and none for the CPU
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    budget: Option<u64>,
    /// Write what happened when to FILE: a picture (.svg), a Chrome trace (.json) or a table (.txt)
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Seed of the made-up statement and of the blinding
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PartitionCircuit {
    Bits,
    Output,
    Spend,
}

/// Flags of `demo sapling`.
#[derive(Args)]
struct Sapling {
    /// Limb format; measured if absent
    #[arg(long)]
    format: Option<FormatName>,
    /// Which circuit
    #[arg(long, default_value = "both")]
    circuit: CircuitName,
    /// Seed of the made-up statements and of the blinding
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Append the times of this run to DIR/<date>.csv
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormatName {
    U64,
    U32,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::U64 => Self::U64,
            FormatName::U32 => Self::U32,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CircuitName {
    Output,
    Spend,
    Both,
}

/// Why a command ends with another exit code than 0.
#[derive(Debug)]
struct Failure {
    code: u8,
    reason: String,
    /// The report was printed before the failure was known; a JSON object for the error would be a second one.
    reported: bool,
    /// Nobody is left to be told.
    quiet: bool,
}

impl Failure {
    /// A check or a computation failed.
    fn failed(error: impl std::fmt::Display) -> Self {
        Self { code: 1, reason: error.to_string(), reported: false, quiet: false }
    }

    /// What was asked for is not there.
    fn absent(error: impl std::fmt::Display) -> Self {
        Self { code: 2, reason: error.to_string(), reported: false, quiet: false }
    }

    /// The report says so already.
    fn reported(self) -> Self {
        Self { reported: true, ..self }
    }
}

/// Parses, runs, and turns failures into exit codes.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors. Under --json an error has its object too, parsed or not.
            if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
                let reason = error.to_string();
                print_error(reason.trim_end());
            }
            error.exit();
        }
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("prooflane=warn"));
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).init();
    let result = match &cli.command {
        Command::Adapters => adapters::run(&cli.global),
        Command::Demo { demo: Demo::Sapling(flags) } => sapling(&cli.global, flags),
        Command::Demo { demo: Demo::Partitions(flags) } => demo::partitions(&cli.global, flags),
    };
    let Err(failure) = result else { return ExitCode::SUCCESS };
    if cli.global.json && !failure.reported {
        print_error(&failure.reason);
    }
    if !failure.quiet {
        let _ = writeln!(std::io::stderr(), "error: {}", failure.reason);
    }
    ExitCode::from(failure.code)
}

/// The one object of `--json` where there is no report.
fn print_error(reason: &str) {
    let _ = writeln!(std::io::stdout(), "{}", serde_json::json!({ "passed": false, "error": reason }));
}

#[cfg(feature = "sapling")]
fn sapling(global: &Global, flags: &Sapling) -> Result<(), Failure> {
    demo::sapling(global, flags)
}

#[cfg(not(feature = "sapling"))]
fn sapling(_: &Global, _: &Sapling) -> Result<(), Failure> {
    Err(without_sapling("demo sapling"))
}

#[cfg(not(feature = "sapling"))]
fn without_sapling(command: &str) -> Failure {
    Failure::absent(format!(
        "this build is without the Sapling circuits and their 51 MB of parameters; \
         build with them: cargo run --release --features sapling -- {command}"
    ))
}
