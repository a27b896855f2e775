#!/usr/bin/env bash
# Every test, on a machine with Rust and nothing else: the README's second command, and what CI runs.
#
# Without a Vulkan driver (Debian, Ubuntu) Mesa's software driver is installed first. PROOFLANE_ADAPTER picks the adapter
# under test; PROOFLANE_ADAPTER=none leaves out, by name, what needs one.
set -euo pipefail
cd "$(dirname "$0")/.."
# Vulkan loaders complain without it.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-/tmp}"
adapter="${PROOFLANE_ADAPTER:-}"
# Nothing outside of the build directory is read or left behind.
export PROOFLANE_CACHE="${PROOFLANE_CACHE:-$PWD/target/cache}"

step() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

install() {
    local root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

if ! command -v cc >/dev/null && command -v apt-get >/dev/null; then
    step "no linker: installing gcc"
    install gcc libc6-dev
fi

has_vulkan() {
    ldconfig -p | grep -q 'libvulkan\.so\.1' || return 1
    [ -n "${VK_ICD_FILENAMES:-}${VK_DRIVER_FILES:-}" ] && return 0
    local directory
    for directory in /usr/share/vulkan/icd.d /usr/local/share/vulkan/icd.d /etc/vulkan/icd.d; do
        compgen -G "$directory/*.json" >/dev/null && return 0
    done
    return 1
}

if [ "$adapter" != none ] && [ "$(uname -s)" = Linux ] && ! has_vulkan; then
    if ! command -v apt-get >/dev/null; then
        echo "no Vulkan driver, and no apt-get to install one: install Mesa's, or set PROOFLANE_ADAPTER=none" >&2
        exit 1
    fi
    step "no Vulkan driver: installing Mesa's software driver"
    install libvulkan1 mesa-vulkan-drivers
fi

cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy

step "format"
cargo fmt --check

step "lints"
cargo clippy --release --locked --all-features --all-targets -- -D warnings

step "lints of the default build, and of the library without the command line"
cargo clippy --release --locked -- -D warnings
cargo clippy --release --locked --lib --no-default-features -- -D warnings

# The documents say what rustdoc finds; a broken link is an error.
step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --all-features --no-deps --quiet

# One build for everything: the features only add.
if [ "$adapter" = none ]; then
    device=(arithmetic compile engine faults msm msm_joint ntt partitions places sapling_gpu)
    others=()
    for file in tests/*.rs tests/*/main.rs; do
        name="${file#tests/}"
        name="${name%/main.rs}"
        name="${name%.rs}"
        case " ${device[*]} " in *" $name "*) ;; *) others+=(--test "$name") ;; esac
    done
    step "tests without an adapter; PROOFLANE_ADAPTER=none leaves out: ${device[*]}"
    cargo test --release --locked --all-features --no-fail-fast --lib --bins "${others[@]}"
else
    step "tests"
    cargo test --release --locked --all-features --no-fail-fast
fi

step "examples"
for file in examples/*.rs; do
    cargo run --release --locked --all-features --quiet --example "$(basename "$file" .rs)"
done

step "adapters"
cargo run --release --locked --all-features --quiet -- adapters

step "the main job, smaller half"
cargo run --release --locked --all-features --quiet -- demo sapling --circuit output

step "all passed"
