//! The tables of the code against the tables of the specification, both ways.

use ib_wire::properties::layout_disagreements;

const HEADERS: &str = include_str!("../testdata/spec/headers.csv");

#[test]
fn layouts_agree_with_the_table_of_headers() {
    let layouts = [
        ib_wire::Lrh::LAYOUT,
        ib_wire::Bth::LAYOUT,
        ib_wire::Deth::LAYOUT,
    ];
    assert_eq!(layout_disagreements(HEADERS, &layouts), [""; 0]);
}

#[test]
fn every_kind_of_disagreement_is_found() {
    let csv = HEADERS
        .replace("BTH,psn,72,24,psn", "BTH,psn,72,24,bytes")
        .replace("BTH,ack_req,64,1", "BTH,ack,63,2")
        .replace("DETH,src_qp,40,24,qpn,\n", "");
    let layouts = [ib_wire::Bth::LAYOUT, ib_wire::Deth::LAYOUT];
    assert_eq!(
        layout_disagreements(&csv, &layouts),
        [
            "BTH.ack: the layout has `ack_req` here",
            "BTH.ack: 2 bits at 63, the layout has 1 at 64",
            "BTH.psn: kind bytes, the layout has Uint",
            "DETH.src_qp: the table has no such row",
            "DETH: 40 bits, the layout has 8 bytes",
        ]
    );
}
