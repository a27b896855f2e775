//! Plans at sizes and limits far beyond what can be run.

use super::*;

fn limits(binding: u64) -> Limits {
    Limits { binding, buffer: 1 << 40, memory: 1 << 40, block: 1 << 20, groups: 65535, workgroup_memory: 16384 }
}

/// Every span within a binding, every base in one piece, for sizes and limits far beyond what tests can run.
#[test]
fn plans_keep_within_bindings() {
    for group in [Group::G1, Group::G2] {
        for binding in [1 << 17, 1 << 20, 128 << 20, (1 << 31) - 256] {
            for n in [1, 31, 1 << 10, 131_071, 1 << 20, (1 << 26) + 1] {
                for (rounds, tables) in [(None, 1), (Some(0), 1), (Some(6), 1), (None, 3), (Some(2), 255)] {
                    let options = Options { rounds, tables, ..Options::default() };
                    match Plan::new(group, n, None, &limits(binding), &options) {
                        Ok(plan) => check(&plan, binding),
                        // All multiples of 64 bases have to lie in one binding.
                        Err(refused) => assert!(tables == 255 && binding < 1 << 21, "{refused}"),
                    }
                }
            }
        }
    }
}

/// Several at once: of any sizes, none among them.
#[test]
fn joint_plans_keep_within_bindings() {
    let positions: Vec<u32> = (0..100_000).map(|i| 3 * i).collect();
    let some = Part { n: 100_000, positions: Some(&positions) };
    let first = |n| Part { n, positions: None };
    for parts in [&[some, first(1 << 20), first(0), first(77)][..], &[first(63), first(65)], &[first(0); 3], &[some; 9]]
    {
        for group in [Group::G1, Group::G2] {
            for binding in [1 << 18, 1 << 20, 128 << 20, (1 << 31) - 256] {
                for (rounds, tables) in [(None, 1), (Some(0), 1), (Some(6), 1), (None, 3)] {
                    let options = Options { rounds, tables, ..Options::default() };
                    let plan = Plan::joint(group, parts, &limits(binding), &options).expect("a plan");
                    if plan.n > 0 {
                        check(&plan, binding);
                    }
                }
            }
        }
    }
    let none = Plan::joint(Group::G1, &[], &limits(1 << 20), &Options::default()).expect("a plan");
    assert_eq!((none.n, none.leased_bytes(), none.batches().count()), (0, 0, 0));
}

fn check(plan: &Plan, binding: u64) {
    let &Plan { group, n, tables, .. } = plan;
    let mut next = vec![0; plan.parts as usize];
    for piece in &plan.pieces {
        assert!(u64::from(tables) * piece.len() as u64 * group.affine_bytes() <= binding);
        let mut end = 0;
        for chunk in &piece.chunks {
            assert!(chunk.at >= end && chunk.at < end + 64 && chunk.at % 64 == 0, "{piece:?}");
            assert_eq!((chunk.bases.start, chunk.bases.start % 64), (next[chunk.part], 0));
            assert!(chunk.scalars.len() as u64 * 32 <= binding && chunk.scalars.start % 8 == 0);
            next[chunk.part] = chunk.bases.end;
            end = chunk.at + chunk.bases.len();
        }
    }
    assert_eq!(next.iter().sum::<usize>(), n);
    for (what, bytes) in SPANS.into_iter().zip(plan.room().0).chain([("a row", plan.row_bytes())]) {
        assert!(bytes <= binding, "{what} {bytes} > {binding} in {plan}");
    }
    assert!(plan.entries() < 1 << 32, "{plan}");
    assert_eq!(plan.batches().map(|batch| batch.len() as u32).sum::<u32>(), plan.sets * plan.parts);
    assert!(plan.sets * tables >= plan.cut.windows, "{plan}");
    assert_eq!(plan.levels.last().map(|level| level.threads), Some(1));
    assert_eq!(plan.folds.last().map(|fold| (fold.nodes, fold.values + 1)), Some((1, plan.values())));
}

#[test]
fn scattered_positions_are_cut_by_distance() {
    let positions: Vec<u32> = (0..1000).map(|i| i * 50).collect();
    let plan = Plan::new(Group::G1, 1000, Some(&positions), &limits(1 << 18), &Options::default()).expect("a plan");
    let chunks: Vec<_> = plan.pieces.iter().flat_map(|piece| &piece.chunks).collect();
    for chunk in &chunks {
        assert!(chunk.scalars.len() * 32 <= 1 << 18);
        assert_eq!(chunk.scalars.end, positions[chunk.bases.end - 1] as usize + 1);
        assert!(chunk.scalars.start <= positions[chunk.bases.start] as usize);
    }
    assert!(chunks.len() > 5);
}

#[test]
fn what_can_not_be_planned_is_refused_with_numbers() {
    let refused = |limit, window| {
        Plan::new(Group::G2, 100, None, &limits(limit), &Options { window, ..Options::default() })
            .expect_err("refused")
            .to_string()
    };
    assert_eq!(refused(4096, None), "the device binds 4096 bytes at once, an MSM needs at least 13824");
    assert_eq!(
        refused((1 << 31) - 256, Some(21)),
        "a window of 21 bits is not possible here; it is 2 to 20, fewer where bindings are small"
    );
    assert_eq!(
        refused(4 << 20, Some(16)),
        "a window of 16 bits is not possible here; it is 2 to 14, fewer where bindings are small"
    );
    // The number that is named is enough, and nothing below it is.
    for (group, least) in [(Group::G1, 6912), (Group::G2, 13824)] {
        assert_eq!(super::least(group, 1), least);
        for n in [1, 64, 1000] {
            Plan::new(group, n, None, &limits(least), &Options::default()).expect("a plan");
            Plan::new(group, n, None, &limits(least - 256), &Options::default()).expect_err("too small");
        }
    }
    let uneven =
        Plan::new(Group::G1, 9, Some(&[1, 2]), &limits(1 << 30), &Options::default()).expect_err("refused").to_string();
    assert_eq!(uneven, "an MSM that needs 9 scalars was given 2");
    let many =
        Plan::new(Group::G1, 1 << 31, None, &limits(1 << 30), &Options::default()).expect_err("refused").to_string();
    assert_eq!(many, "2147483648 bases are too many for one MSM, the most is 2^31 - 1");
}
