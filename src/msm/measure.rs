//! Measures [`Costs`]: three lists of kernels whose work is known by their plans, a call, and the host at the same.
//!
//! A cost for each item and one for each list, level or round (what is there without items) are told apart by a large
//! sum and a small one. Each list runs several times and the shortest counts: what disturbs a run only makes it longer.

use std::{
    iter::successors,
    time::{Duration, Instant},
};

use ark_bls12_381::Fr;
use ark_ff::Field;

use super::{
    Bases, Costs, MsmError, Options, Plan, Scalars, Source,
    cost::{SORT, items},
    msm, record,
};
use crate::{
    device::by_label,
    kernel::{Kernels, Steps},
};

/// Multiplications per second of the adapter that [`Costs::H200`] is of.
const H200_RATE: f64 = 21.2e9;
/// Runs of a list, at least. An idle card takes tens of milliseconds to raise its clock, so a list runs for
/// [`LEAST`] too, unless its runs are long.
const RUNS: usize = 3;
const LEAST: Duration = Duration::from_millis(40);
/// Sizes, as logarithms, at which the host is tried, and how long it may take.
const HOST: std::ops::RangeInclusive<u32> = 6..=13;
const PATIENCE: Duration = Duration::from_millis(60);

/// The costs of a group's kernels, `rate` being the multiplications per second of their format. Takes tens of
/// milliseconds and 0.2 GiB on a large card, a second on a software adapter. Kernels should have run before, and nothing
/// else should meanwhile.
///
/// Where the adapter has no timestamps, or its limits split sums this small, the times are those of [`Costs::H200`] by
/// the ratio of rates, and only the crossover is measured.
pub fn measure<G: Source>(kernels: &Kernels, rate: f64) -> Result<Costs, MsmError> {
    let software = kernels.gpu().info().device_type == wgpu::DeviceType::Cpu;
    // Entries enough for every thread of a large card, and buckets that are mostly full.
    let (large, small) = if software { ((1 << 9, 8), (1 << 4, 4)) } else { ((1 << 15, 14), (1 << 8, 8)) };
    let chain = successors(Some(G::generator() * step()), |&point| Some(point.double()));
    let points = G::normalize_batch(&chain.take(large.0.max(1 << HOST.end())).collect::<Vec<_>>());
    let scalars: Vec<Fr> = successors(Some(step()), |&scalar| Some(scalar * step())).take(points.len()).collect();
    let case = Case::<G> { kernels, points: &points, scalars: &scalars };
    let times = match (case.run(large, 0)?, case.run(large, 1)?, case.run(small, 1)?) {
        (Some(unpaired), Some(paired), Some(small)) => times(&unpaired, &paired, &small),
        _ => slowed(&Costs::H200[G::GROUP as usize], H200_RATE / rate),
    };
    let costs = Costs { cpu_below: 0, ..times };
    Ok(Costs { cpu_below: case.crossover(&costs, small.0)?, ..costs })
}

/// A scalar whose powers look like random ones.
fn step() -> Fr {
    Fr::from(7u64).pow([u64::MAX])
}

/// Three significant digits: more is noise, and these are the same after a way through text.
fn rounded(time: f64) -> f64 {
    // Nothing takes no time, and costs have to be numbers.
    let time = if time.is_finite() { time.max(0.001) } else { 0.001 };
    format!("{time:.2e}").parse().unwrap_or(time)
}

fn slowed(costs: &Costs, factor: f64) -> Costs {
    let Costs { pair, mixed, add, sort, wait, round, dispatch, cpu_below } = *costs;
    let [pair, mixed, add, sort] = [pair, mixed, add, sort].map(|time| rounded(time * factor));
    let [wait, round, dispatch] = [wait, round, dispatch].map(|time| rounded(time * factor));
    Costs { pair, mixed, add, sort, wait, round, dispatch, cpu_below }
}

/// One list, run.
struct Ran {
    plan: Plan,
    /// Shortest device time by stage, in nanoseconds.
    stages: Vec<(&'static str, f64)>,
}

impl Ran {
    fn stage(&self, label: &str) -> f64 {
        self.stages.iter().find(|stage| stage.0 == label).map_or(0.0, |stage| stage.1)
    }

    fn entries(&self) -> u64 {
        self.plan.n as u64 * u64::from(self.plan.cut.windows)
    }

    fn pairs(&self) -> f64 {
        items(self.entries(), self.plan.keys(), 1) / 2.0
    }

    /// Additions of a level of the reduction, on average; two for each bucket altogether.
    fn additions(&self) -> f64 {
        2.0 * self.plan.keys() as f64 / self.plan.folds.len() as f64
    }

    fn level(&self) -> f64 {
        self.stage("msm reduce") / self.plan.folds.len() as f64
    }
}

fn times(unpaired: &Ran, paired: &Ran, small: &Ran) -> Costs {
    let sort = |ran: &Ran| (ran.entries() as f64, ran.stage("msm sort"));
    let (sort, dispatches) = line(sort(paired), sort(small));
    let dispatch = dispatches / SORT as f64;
    let (pair, round) = line((paired.pairs(), paired.stage("msm pair")), (small.pairs(), small.stage("msm pair")));
    let (add, level) = line((unpaired.additions(), unpaired.level()), (small.additions(), small.level()));
    let mixed = unpaired.stage("msm accumulate") / unpaired.entries() as f64;
    // An addition that is waited for takes no less than one among plenty.
    let wait = (level - dispatch).max(add).max(mixed);
    let [pair, mixed, add, sort] = [pair, mixed, add, sort].map(rounded);
    let [wait, round, dispatch] = [wait, round, dispatch].map(rounded);
    Costs { pair, mixed, add, sort, wait, round, dispatch, cpu_below: 0 }
}

/// Slope and intercept through two points `(items, time)`, neither below nothing.
fn line(large: (f64, f64), small: (f64, f64)) -> (f64, f64) {
    let slope = (large.1 - small.1) / (large.0 - small.0);
    let intercept = small.1 - slope * small.0;
    if slope > 0.0 && intercept >= 0.0 { (slope, intercept) } else { (large.1 / large.0, 0.0) }
}

struct Case<'a, G: Source> {
    kernels: &'a Kernels,
    points: &'a [G::Affine],
    scalars: &'a [Fr],
}

impl<G: Source> Case<'_, G> {
    /// A sum of `n` terms in windows of `window` bits. Nothing where times or the plan do not tell what is wanted.
    fn run(&self, (n, window): (usize, u32), rounds: u32) -> Result<Option<Ran>, MsmError> {
        let options = Options { window: Some(window), rounds: Some(rounds), ..Options::PINNED };
        let limits = self.kernels.gpu().limits();
        let plan = match Plan::new(G::GROUP, n, None, &limits, &options) {
            Ok(plan) if plan.pieces.len() == 1 && plan.batch == plan.sets && plan.rounds.len() == rounds as usize => {
                plan
            }
            _ => return Ok(None),
        };
        let bases = Bases::<G>::load_with(self.kernels, &self.points[..n], None, &options)?;
        let scalars = Scalars::upload(self.kernels, &self.scalars[..n])?;
        let mut steps = Steps::new(limits);
        record(self.kernels, &mut steps, &bases, &scalars, &options)?;
        let mut stages: Vec<(&'static str, f64)> = Vec::new();
        // Compiles what has not run yet.
        self.kernels.run(&steps)?;
        let begin = Instant::now();
        let mut runs = 0;
        while runs < RUNS && begin.elapsed() < 5 * LEAST || begin.elapsed() < LEAST {
            for (label, took) in by_label(&self.kernels.run(&steps)?) {
                let took = took.as_nanos() as f64;
                match stages.iter_mut().find(|stage| stage.0 == label) {
                    Some(stage) => stage.1 = stage.1.min(took),
                    None => stages.push((label, took)),
                }
            }
            runs += 1;
        }
        Ok((!stages.is_empty()).then_some(Ran { plan, stages }))
    }

    /// The least power of two of bases that a call brings to the device and back in less time than the host sums them:
    /// a call of `n` bases is measured, others are told from it by their estimates.
    fn crossover(&self, costs: &Costs, n: usize) -> Result<u64, MsmError> {
        let mut options = Options { cpu_below: Some(0), ..Options::PINNED };
        options.costs[G::GROUP as usize] = *costs;
        let mut call = Duration::MAX;
        for _ in 0..RUNS {
            let begin = Instant::now();
            msm::<G>(self.kernels, &self.points[..n], &self.scalars[..n], &options)?;
            call = call.min(begin.elapsed());
        }
        let around = (call.as_nanos() as f64 - costs.best(n)).max(0.0);
        let device = |n: usize| around + costs.best(n);
        let mut last = (1, 0.0);
        for n in HOST.map(|log_n| 1 << log_n) {
            let sum = || {
                let begin = Instant::now();
                std::hint::black_box(G::msm_unchecked(&self.points[..n], &self.scalars[..n]));
                begin.elapsed()
            };
            let host = sum().min(sum());
            last = (n, host.as_nanos() as f64);
            if last.1 >= device(n) {
                return Ok(n as u64);
            }
            if host > PATIENCE {
                break;
            }
        }
        // Beyond, by what a further base takes either.
        let (n, host) = last;
        let slower = host / n as f64 - (device(2 * n) - device(n)) / n as f64;
        let further = (device(n) - host) / slower;
        Ok(match slower > 0.0 && further < Costs::NEVER as f64 / 2.0 {
            true => (n as u64 + further as u64).next_power_of_two(),
            false => Costs::NEVER,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_through_their_points_and_not_below_nothing() {
        assert_eq!(line((10.0, 25.0), (0.0, 5.0)), (2.0, 5.0));
        assert_eq!(line((10.0, 20.0), (5.0, 5.0)), (2.0, 0.0));
        assert_eq!(line((10.0, 20.0), (5.0, 30.0)), (2.0, 0.0));
    }

    #[test]
    fn times_keep_three_digits() {
        for (time, want) in [(0.43987, 0.44), (22_345.6, 22_300.0), (0.0, 0.001), (f64::NAN, 0.001), (-3.0, 0.001)] {
            assert_eq!(rounded(time), want);
        }
    }

    /// Out of times that a model would give, the model.
    #[test]
    fn costs_come_out_of_times() {
        let want = Costs { cpu_below: 0, ..Costs::H200[0] };
        let limits = crate::device::Limits {
            binding: 1 << 31,
            buffer: 1 << 40,
            memory: 1 << 40,
            block: 1 << 20,
            groups: 65535,
            workgroup_memory: 16384,
        };
        let ran = |n, window, rounds| {
            let options = Options { window: Some(window), rounds: Some(rounds), ..Options::PINNED };
            let plan = Plan::new(crate::kernel::Group::G1, n, None, &limits, &options).expect("a plan");
            let mut ran = Ran { plan, stages: Vec::new() };
            let levels = f64::from(window - 1);
            ran.stages = vec![
                ("msm sort", ran.entries() as f64 * want.sort + SORT as f64 * want.dispatch),
                ("msm pair", ran.pairs() * want.pair + want.round),
                ("msm accumulate", ran.entries() as f64 * want.mixed),
                ("msm reduce", levels * (ran.additions() * want.add + want.wait + want.dispatch)),
            ];
            ran
        };
        assert_eq!(times(&ran(1 << 15, 14, 0), &ran(1 << 15, 14, 1), &ran(1 << 8, 8, 1)), want);
        assert_eq!(slowed(&Costs::H200[1], 1.0), Costs::H200[1]);
    }
}
