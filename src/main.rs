//! The command line: `prooflane adapters` and `prooflane demo sapling`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
