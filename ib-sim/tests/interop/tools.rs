//! OpenSM and infiniband-diags: what they print on our server and on ibsim.

use std::fs;
use std::path::Path;

use ib_testkit::{
    data::{fabric_file, fabric_files},
    ibsim::WITH_OPENSM,
};

use crate::running::{Running, difference, same_on_both};

#[test]
fn tools_print_the_same_before_a_manager_came() {
    let commands = "ibnetdiscover; ibnetdiscover -f; smpquery -D nodeinfo 0; smpquery -D nodeinfo 0,1; \
        smpquery -D nodedesc 0; smpquery -D portinfo 0; smpquery -D portinfo 0,1 0; smpquery -D portinfo 0,1 1; \
        smpquery -D portinfo 0,1 2; smpquery -D switchinfo 0,1; smpquery -D pkeys 0; smpquery -D pkeys 0,1 1; \
        smpquery -D sl2vl 0; smpquery -D sl2vl 0,1 1; smpquery -D vlarb 0; smpquery -D vlarb 0,1 1; \
        smpquery -D portinfo 0,1 250";
    for file in fabric_files() {
        let ours = same_on_both(&file, commands, str::to_owned);
        assert!(ours.lines().count() > 100, "{}: {ours}", file.display());
    }
}

/// Changes by `ibportstate` are shown alike on both servers, by it and by the walk. A switch's external port has no
/// LIDs; ibsim shows some.
#[test]
fn ports_are_set_as_on_ibsim() {
    let without_lids = |output: &str| {
        let output = comparable(output);
        let lines = output.lines().filter(|line| !line.contains("Lid:"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let file = fabric_file("real-edr-102");
    for change in ["arm", "active", "vls 1", "query"] {
        let commands = format!(
            "ibportstate -D 0,1 2 {change}; sleep 0.2; smpquery -D portinfo 0,1 2; ibnetdiscover"
        );
        same_on_both(&file, &commands, without_lids);
    }
}

/// On ibsim a disabled port stays in Initialize, and a width is in use before the link has trained again.
#[test]
fn ibportstate_disables_enables_and_trains_a_link() {
    let file = fabric_file("real-edr-102");
    let server = Running::ours(&file);
    let look = |change: &str| {
        server.run(&format!(
            "ibportstate -D 0,1 2 {change} >/dev/null 2>&1; sleep 0.3; \
             smpquery -D portinfo 0,1 2 | grep '^LinkState\\|^PhysLink\\|^LinkWidthA' | tr -d '.\\n'; \
             ibnetdiscover | grep -c '^\\[2\\].*H-506b4b03003fa9aa'"
        ))
    };
    let up = "LinkWidthActive:4XLinkState:InitializePhysLinkState:LinkUp1";
    assert_eq!(look("query"), up);
    assert_eq!(
        look("disable"),
        "LinkWidthActive:4XLinkState:DownPhysLinkState:Disabled0"
    );
    assert_eq!(look("enable"), up);
    assert_eq!(look("width 1"), up);
    assert_eq!(look("reset"), up.replace("4X", "1X"));
}

#[test]
fn opensm_brings_every_fabric_up_without_an_error() {
    for file in fabric_files() {
        let server = Running::ours(&file);
        let output =
            server.run("opensm -o -f osm.log >osm.out 2>&1; echo status $?; grep -c ERR osm.log");
        assert_eq!(output, "status 0\n0", "{}", file.display());
        let links = server.run("iblinkinfo");
        assert!(links.contains("Active/"), "{}: {links}", file.display());
        assert!(
            !links.contains("Initialize/"),
            "{}: {links}",
            file.display()
        );
    }
}

/// Lines that differ by what ibsim does, not by what the tool found:
/// what OpenSM writes and ibsim does not store, what counts packets, numbers of processes, NodeInfo's port of arrival in
/// LID-routed queries (ibsim: 0), memory that umad2sim leaves as it was. Of perfquery the counts of packets are left out: how
/// many there were differs from run to run, and ibsim counts none by lane.
fn is_comparable(line: &str) -> bool {
    let named = [
        "MkeyLeasePeriod",
        "LinkSpeedEnabled",
        "LinkSpeedExtEnabled",
        "LinkWidthEnabled",
        "validate_extended_speed",
        "validate_speed",
        "LocalPort:",
        "resv2",
        "# Topology file",
    ];
    !named.iter().any(|name| line.contains(name))
}

pub(crate) fn comparable(output: &str) -> String {
    let lines = output.lines().filter(|line| is_comparable(line));
    let lines = lines.map(|line| {
        let line = line.split(", activity count").next().unwrap_or(line);
        // `ibwarn: [123] text`
        match line
            .strip_prefix("ibwarn: [")
            .and_then(|rest| rest.split_once(']'))
        {
            Some((_, text)) => format!("ibwarn:{text}"),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The LID that the file gives the first CA's linked port, which OpenSM keeps; 1 where it gives none.
fn lid_of_first_ca(file: &Path) -> u16 {
    let text = fs::read_to_string(file).unwrap();
    let block = text.lines().skip_while(|line| !line.starts_with("Ca"));
    let lid = block.skip(1).find_map(|line| {
        let (_, lid) = line.split_once("# lid ")?;
        lid.split_whitespace().next()?.parse().ok()
    });
    lid.filter(|&lid| lid != 0).unwrap_or(1)
}

/// With every cable at 4x, and without ibportstate's remark on one that is narrower. The next test says what differs, and why.
fn widened(output: &str) -> String {
    let lines = output
        .lines()
        .filter(|line| !line.contains("validate_width"));
    let output = lines.collect::<Vec<_>>().join("\n");
    let active = "LinkWidthActive:.................";
    output
        .replace("( 1X ", "( 4X ")
        .replace("1xSDR", "4xSDR")
        .replace(&format!("{active}1X"), &format!("{active}4X"))
}

/// Two cables of `real-sdr-2007-6` run at 1x between ports that can do more. OpenSM sets LinkWidthEnabled to all that a port
/// supports. ibsim shows the new width at once; a link trains before it is wider (IBA vol. 1, 14.2.5.6: LinkWidthEnabled
/// takes effect with the next training), which OpenSM does not ask for.
#[test]
fn a_narrow_link_keeps_its_width_under_opensm_until_it_trains_again() {
    let file = fabric_file("real-sdr-2007-6");
    let commands = "ibnetdiscover >before; opensm -o -f osm.log >osm.out 2>&1; ibnetdiscover >after; \
        ibportstate -D 0,1,1 10 reset >/dev/null 2>&1; sleep 0.3; ibnetdiscover >trained; \
        for walk in before after trained; do grep -c '^\\[.*1xSDR' $walk; done";
    let [ours, theirs] = [Running::ours, Running::theirs].map(|start| start(&file).run(commands));
    // Each cable has two ends; one of the two was trained anew, which ibsim does not do.
    assert_eq!(ours.lines().collect::<Vec<_>>(), ["4", "4", "2"]);
    assert_eq!(theirs.lines().take(2).collect::<Vec<_>>(), ["4", "0"]);
}

#[test]
fn tools_print_the_same_under_opensm() {
    let commands = format!(
        "{WITH_OPENSM}
        LID=$(ibaddr -l | sed -n 's/.*start \\(0x[0-9a-f]*\\).*/\\1/p')
        sminfo; saquery -c; saquery NR $LID; saquery -D; iblinkinfo; ibroute -D 0,1; ibroute -M -D 0,1
        ibtracert $LID 2; ibtracert $LID 3; ibportstate -D 0 1; ibportstate -D 0,1 1; ibqueryerrors
        ibhosts; ibswitches; ibnetdiscover; smpquery nodeinfo 2
        for counters in '' -x; do
            perfquery $counters $LID 1 | grep -v 'Pkts\\|Data'
        done"
    );
    for file in fabric_files() {
        let ours = same_on_both(&file, &commands, |output| widened(&comparable(output)));
        let master = format!("sminfo: sm lid {} ", lid_of_first_ca(&file));
        assert!(ours.contains(&master), "{}: {ours}", file.display());
    }
}

#[test]
fn tools_print_the_same_after_opensm() {
    let file = fabric_file("gen-line-2");
    let commands = "opensm -o -f osm.log >/dev/null 2>&1; ibnetdiscover; iblinkinfo; ibroute -D 0,1; \
        ibroute -M -D 0,1; ibtracert 1 3; ibhosts; ibswitches; smpquery nodeinfo 1; \
        smpquery switchinfo 2; ibqueryerrors; perfquery 1 1; perfquery -a 2; perfquery -E 1 1; perfquery -D 1 1; \
        perfquery --oprcvcounters 1 1; perfquery --flowctlcounters 1 1;  perfquery --vlopdata 1 1; \
        perfquery --vlxmitflowctlerrors 1 1; perfquery --vlxmitcounters 1 1";
    same_on_both(&file, commands, str::to_owned);
}

/// ibsim forwards a request of a vendor's class only to a subnet manager, so neither works there.
#[test]
fn two_clients_ping_and_ask_each_other() {
    let file = fabric_file("gen-line-2");
    let other = "H-0010000000000010";
    let output = Running::ours(&file).run(&format!(
        "{WITH_OPENSM}
        LID=$(SIM_HOST={other} ibaddr -l | sed -n 's/.*start \\(0x[0-9a-f]*\\).*/\\1/p')
        SIM_HOST={other} ibping -S >/dev/null 2>&1 & PING=$!
        sleep 1; ibping -c 3 $LID; kill $PING; wait $PING 2>/dev/null
        SIM_HOST={other} ibsysstat -S >/dev/null 2>&1 & STAT=$!
        sleep 1; ibsysstat $LID host; ibsysstat $LID cpu; kill $STAT"
    ));
    assert!(
        output.contains("3 packets transmitted, 3 received, 0% packet loss"),
        "{output}"
    );
    assert!(output.contains("cpu 0:"), "{output}");
}

/// `-f a` needs answers of more than one segment, which umad2sim cannot carry: on both servers it waits at the same place.
#[test]
fn osmtest_gets_as_far_as_on_ibsim() {
    let file = fabric_file("gen-line-2");
    let commands = format!(
        "{WITH_OPENSM} osmtest -f c -i inventory; timeout 4 osmtest -f a -i inventory; echo status $?"
    );
    let run = |server: Running| {
        let output = server.run(&commands);
        assert!(
            output.contains("OSMTEST: TEST \"Create Inventory\" PASS"),
            "{output}"
        );
        // `Nov 21 15:46:22 172589 [50A6E400] 0x01 -> text`
        let lines = output
            .lines()
            .map(|line| line.split_once(" -> ").map_or(line, |(_, text)| text));
        lines.collect::<Vec<_>>().join("\n")
    };
    let (ours, theirs) = (run(Running::ours(&file)), run(Running::theirs(&file)));
    if let Some(difference) = difference(&ours, &theirs) {
        panic!("{difference}");
    }
}
