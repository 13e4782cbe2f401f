//! osmtest, OpenSM's own test of a subnet administrator, against OpenSM and against `ib sm`.

use crate::simulated::{WITH_OPENSM, simulated};

/// `ib sm` in the background until the subnet is up.
const WITH_IB_SM: &str = concat!(
    env!("CARGO_BIN_EXE_ib"),
    r#" sm >sm.out 2>&1 & SM=$!
    trap 'kill $SM; wait $SM' EXIT
    for try in $(seq 300); do
        grep -q 'subnet up' sm.out && break
        sleep 0.1
    done
"#
);

/// What osmtest logs when it runs a flow against OpenSM and against `ib sm`.
fn logs(flow: &str) -> [Vec<String>; 2] {
    [WITH_OPENSM, WITH_IB_SM].map(|manager| {
        let script = format!(
            "{manager}
            osmtest -f c -i inventory >create.out 2>&1
            timeout 30 osmtest -v -f {flow} -i inventory -l flow.log >flow.out 2>&1
            cat flow.log"
        );
        let (_, log, error) = simulated(&["--fabric", "ring:switches=2,hosts=2"], &script);
        // `Nov 21 15:46:22 172589 [50A6E400] 0x01 -> text`
        let texts = log.lines().filter_map(|line| line.split_once(" -> "));
        let texts: Vec<String> = texts.map(|(_, text)| text.trim().to_owned()).collect();
        assert!(!texts.is_empty(), "{log}{error}");
        texts
    })
}

/// The steps of a flow and the errors that it meets, without the names that the administrator chooses.
fn steps(log: &[String]) -> Vec<&str> {
    let of_flow = log
        .iter()
        .filter(|text| text.starts_with("osmt_run_mcast_flow:") || text.contains("Remote error ="));
    let named = [
        "Created MGID:",
        "created MGID:",
        " MGID:",
        " MGID :",
        "Found MLID",
    ];
    of_flow
        .map(|text| {
            let end = named.iter().filter_map(|name| text.find(name)).min();
            text.get(..end.unwrap_or(text.len())).unwrap_or_default()
        })
        .collect()
}

/// umad2sim carries only the first segment of an answer, so the list of groups at the end of the flow is cut to three
/// records: of either manager osmtest removes only the groups that it sees, and then reports two that it did not see.
#[test]
fn the_multicast_flow_takes_the_same_steps_as_with_opensm() {
    let [theirs, ours] = logs("m");
    let (theirs, ours) = (steps(&theirs), steps(&ours));
    assert!(theirs.len() > 50, "{theirs:#?}");
    let differs = ours
        .iter()
        .zip(&theirs)
        .find(|(ours, theirs)| ours != theirs);
    assert_eq!(differs, None);
    assert_eq!(ours.len(), theirs.len());
}
