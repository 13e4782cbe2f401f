use proptest::prelude::*;

use super::*;

proptest! {
    /// The reference is a search through all keys for each tree.
    #[test]
    fn every_tree_takes_the_first_of_the_lightest_next_hops(
        next_hops in prop::collection::vec((0..40_u64, 0..40_u64), 0..60),
        routes in prop::collection::vec(0..20_u64, 1..=SIDE_BY_SIDE),
    ) {
        let point = |routes: u64| routes << NUMBER_BITS;
        let loads: Vec<u64> = next_hops.iter().map(|&(load, _)| point(load)).collect();
        let behinds = (0..).zip(&next_hops);
        let behinds = behinds.map(|(number, &(_, weight))| BASE | point(weight) | number);
        let behinds: Vec<u64> = behinds.collect();
        let mut lightest = Lightest::new(1);
        let switch = SwitchIdx(0);
        lightest.least[switch] = match routes.len() {
            1 => least_keys::<1>(&loads, &behinds),
            _ => least_keys::<SIDE_BY_SIDE>(&loads, &behinds),
        };
        let mut sums: Vec<u64> = next_hops.iter().map(|(load, weight)| load + weight).collect();
        let (mut taken, mut expected) = (Vec::new(), Vec::new());
        for &routes in &routes {
            let first = (0..sums.len()).min_by_key(|&at| sums[at]);
            if let Some(first) = first {
                sums[first] += routes;
                expected.push(first);
            }
        }
        let routes = routes.iter().map(|&routes| point(routes));
        lightest.send(switch, routes, |number| taken.push(number));
        if !next_hops.is_empty() {
            prop_assert_eq!(taken, expected);
        }
    }
}
