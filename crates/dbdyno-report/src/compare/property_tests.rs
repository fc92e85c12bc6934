//! Properties of every comparison: no interval of a single run, and the trial's own for its pairs.

use std::sync::LazyLock;

use dbdyno_model::Tune;
use dbdyno_model::comparison::Method;
use dbdyno_stats::{Design, judge};
use proptest::prelude::*;

use super::fixtures::{arm, at, bare, compared, later, march, run};

static MARCH: LazyLock<Tune> = LazyLock::new(|| bare(march()));
static LATER: LazyLock<Tune> = LazyLock::new(|| bare(later()));

fn tps() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(500.0_f64..5_000.0, 4)
}

proptest! {
    #[test]
    fn a_single_run_never_gets_an_interval(
        shipped in tps(), recommended in tps(), number in 1_u32..9, other in 0_u32..11, swap: bool
    ) {
        let mut march = MARCH.clone();
        at(&mut march, "shipped", &shipped);
        at(&mut march, "recommended", &recommended);
        let later = &*LATER;
        let single = run(&march, number);
        let other = match other {
            0 => arm(&march, "shipped"),
            9 => arm(later, "recommended"),
            10 => run(later, number),
            other if other == number => arm(&march, "recommended"),
            other => run(&march, other),
        };
        let mut groups = [single, other];
        if swap {
            groups.reverse();
        }
        let comparison = compared(&groups).unwrap();
        let difference = &comparison.differences[0];
        prop_assert_eq!(difference.method, Method::None);
        prop_assert_eq!((difference.ratio, difference.interval, difference.pairs), (None, None, None));
        prop_assert!(difference.why_no_interval.is_some() && difference.next.is_some());
        for group in &comparison.groups {
            let single = group.run.is_some();
            prop_assert_eq!(group.tps_with_checkpoint.relative_sd.is_none(), single);
        }
    }

    #[test]
    fn pairs_give_the_trials_own_interval(
        shipped in tps(), recommended in tps(), design in 0_usize..2
    ) {
        let design = [Design::quick(), Design::normal()][design].clone();
        let mut tune = MARCH.clone();
        at(&mut tune, "shipped", &shipped);
        at(&mut tune, "recommended", &recommended);
        // As the trial does it: the logarithms in the order of the pairs, judged by its design.
        let logs: Vec<f64> = shipped.iter().zip(&recommended).map(|(a, b)| (b / a).ln()).collect();
        let own = judge(&design, &logs).interval.unwrap();
        let verdict = tune.verdict.as_mut().unwrap();
        verdict.level = design.level();
        verdict.interval = Some([own.low, own.high]);
        verdict.ratio = Some(own.ratio);
        let comparison = compared(&[arm(&tune, "shipped"), arm(&tune, "recommended")]).unwrap();
        let difference = &comparison.differences[0];
        prop_assert_eq!(difference.method, Method::Paired);
        prop_assert_eq!(difference.interval, tune.verdict.as_ref().unwrap().interval);
        prop_assert_eq!(difference.ratio, Some(own.ratio));
        prop_assert_eq!(difference.level.to_bits(), design.level().to_bits());
    }

    #[test]
    fn the_choice_of_the_base_inverts_the_ratio(shipped in tps(), recommended in tps()) {
        let (mut march, mut later) = (MARCH.clone(), LATER.clone());
        at(&mut march, "shipped", &shipped);
        at(&mut later, "recommended", &recommended);
        let there = compared(&[arm(&march, "shipped"), arm(&later, "recommended")]).unwrap();
        let back = compared(&[arm(&later, "recommended"), arm(&march, "shipped")]).unwrap();
        let [there, back] = [&there, &back].map(|comparison| comparison.differences[0].interval.unwrap());
        prop_assert!((there[0] * back[1] - 1.0).abs() < 1e-9 && (there[1] * back[0] - 1.0).abs() < 1e-9);
    }
}
