use alloc::string::ToString;

use ib_wire::Lmc;

use super::*;
use ib_wire::random::SplitMix64;

fn declaration(name: &str, first: u16, last: u16) -> Declaration {
    Declaration {
        name: name.to_string(),
        first: Lid(first),
        last: Lid(last),
        in_use: Vec::new(),
    }
}

fn loads(assigned: &BTreeMap<Lid, usize>, ports: usize) -> Vec<usize> {
    let count = |port| {
        assigned
            .values()
            .filter(|&&assigned| assigned == port)
            .count()
    };
    (0..ports).map(count).collect()
}

#[test]
fn ports_that_lead_everywhere_differ_by_at_most_one_lid() {
    for ports in 1..9 {
        let others = [declaration("a", 1, 100), declaration("b", 200, 311)];
        let loads = loads(&assign(&others, ports, |_, _| true), ports);
        let (least, most) = (loads.iter().min(), loads.iter().max());
        assert!(
            most.zip(least)
                .is_some_and(|(most, least)| most - least <= 1),
            "{loads:?}"
        );
        assert_eq!(loads.iter().sum::<usize>(), 212);
    }
}

#[test]
fn neighbouring_lids_take_different_ports() {
    let assigned = assign(&[declaration("a", 10, 17)], 4, |_, _| true);
    let ports: Vec<usize> = assigned.into_values().collect();
    assert_eq!(ports, [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn lids_in_use_are_even_by_themselves() {
    let mut other = declaration("a", 1, 1000);
    let every_fourth = (4..=400).step_by(4);
    let range = |lid| LidRange::try_new(Lid(lid), Lmc::ZERO).expect("a LID");
    other.in_use = every_fourth.clone().map(range).collect();
    let assigned = assign(&[other], 4, |_, _| true);
    let used = assigned
        .iter()
        .filter(|(lid, _)| every_fourth.clone().any(|used| used == lid.0));
    let used = used.map(|(&lid, &port)| (lid, port)).collect();
    assert_eq!(loads(&used, 4), [25; 4]);
    assert_eq!(loads(&assigned, 4), [250; 4]);
}

#[test]
fn a_cluster_that_no_port_leads_to_is_left_out() {
    let others = [declaration("a", 1, 4), declaration("b", 5, 8)];
    let assigned = assign(&others, 2, |_, other| other.name == "a");
    assert_eq!(
        assigned.keys().copied().collect::<Vec<_>>(),
        [Lid(1), Lid(2), Lid(3), Lid(4)]
    );
}

#[test]
fn ports_that_overlap_are_as_even_as_can_be() {
    // By hand: ten LIDs over ports 0 and 1, ten over 1 and 2, make seven, seven and six.
    let others = [declaration("a", 1, 10), declaration("b", 11, 20)];
    let leads = |port: usize, other: &Declaration| port == 1 || (port == 0) == (other.name == "a");
    let mut even = loads(&assign(&others, 3, leads), 3);
    even.sort_unstable();
    assert_eq!(even, [6, 7, 7]);

    // And on random choices, as trying all of them says.
    let mut random = SplitMix64::new(7);
    for _ in 0..200 {
        let ports = 1 + random.below(3);
        let others: Vec<Declaration> = (0..3u16)
            .map(|at| {
                declaration(
                    &at.to_string(),
                    1 + 10 * at,
                    10 * at + random.below(4) as u16,
                )
            })
            .filter(|other| other.first <= other.last)
            .collect();
        let exits: BTreeSet<(usize, u16)> = others
            .iter()
            .flat_map(|other| (0..ports).map(move |port| (port, other.first.0)))
            .filter(|_| random.below(3) > 0)
            .collect();
        let leads = |port: usize, other: &Declaration| exits.contains(&(port, other.first.0));
        let assigned = assign(&others, ports, leads);
        let mut found = loads(&assigned, ports);
        found.sort_unstable_by(|one, other| other.cmp(one));
        assert_eq!(found, best(&others, ports, &leads), "{others:?} {exits:?}");
    }
}

/// The lowest loads, the highest first, of all assignments.
fn best(
    others: &[Declaration],
    ports: usize,
    leads: &dyn Fn(usize, &Declaration) -> bool,
) -> Vec<usize> {
    let lids: Vec<Vec<usize>> = others
        .iter()
        .flat_map(|other| (other.first.0..=other.last.0).map(move |_| other))
        .map(|other| (0..ports).filter(|&port| leads(port, other)).collect())
        .filter(|exits: &Vec<usize>| !exits.is_empty())
        .collect();
    let mut all = BTreeSet::from([vec![0; ports]]);
    for exits in lids {
        all = all
            .into_iter()
            .flat_map(|loads| {
                exits.clone().into_iter().map(move |port| {
                    let mut loads = loads.clone();
                    loads[port] += 1;
                    loads
                })
            })
            .collect();
    }
    let sorted = all.into_iter().map(|mut loads| {
        loads.sort_unstable_by(|one, other| other.cmp(one));
        loads
    });
    sorted.min().expect("at least one assignment")
}
