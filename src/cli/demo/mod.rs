//! `prooflane demo`: something real, proved and checked.

mod partitions;
mod place;
#[cfg(feature = "sapling")]
mod sapling;

pub(super) use partitions::run as partitions;
#[cfg(feature = "sapling")]
pub(super) use sapling::run as sapling;
