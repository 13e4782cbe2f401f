//! The agent as an engine.

use ib_mad::{Mad, MadAddress};

use super::*;

const ASKER: MadAddress = MadAddress::smi(Lid(1));

fn hand_in(sma: &mut Sma, smp: &SmpLidRouted) -> Option<SmaTransmit> {
    let arrival = Arrival {
        port: PortNum(1),
        slid: Lid(1),
    };
    let mut mad = Mad::new(ASKER);
    mad.bytes = *smp.as_bytes();
    let mad = &mad;
    sma.handle_input(T0, SmaInput::Smp { arrival, mad });
    sma.poll_transmit(T0)
}

#[test]
fn a_request_in_is_a_response_out_to_its_sender() {
    let smp = request(Method::GET, NodeInfo::ID, 0, &[]);
    for (mut sma, port) in [(ca(), 1), (switch(), 0)] {
        let sent = hand_in(&mut sma, &smp).unwrap();
        assert_eq!((sent.port, sent.mad.address), (PortNum(port), ASKER));
        let header = sent.mad.header();
        assert_eq!(header.method(), Method::GET_RESP);
        assert_eq!(header.transaction_id(), TransactionId(7));
        assert_eq!(sma.poll_transmit(T0), None);
    }
}

#[test]
fn what_is_for_a_manager_is_refused_or_dropped() {
    let mut sma = ca();
    let smp = request(Method::GET, SmInfo::ID, 0, &[]);
    assert!(Sma::is_for_manager(smp.as_bytes()));
    let status = hand_in(&mut sma, &smp).unwrap().mad.header().status();
    assert_eq!(status, MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    for method in [Method::TRAP, Method::GET_RESP] {
        let smp = request(method, NodeInfo::ID, 0, &[]);
        assert!(Sma::is_for_manager(smp.as_bytes()));
        assert_eq!(hand_in(&mut sma, &smp), None);
    }
    let smp = request(Method::GET, NodeInfo::ID, 0, &[]);
    assert!(!Sma::is_for_manager(smp.as_bytes()));
}

#[test]
fn links_and_data_are_inputs() {
    let mut sma = switch();
    let port = PortNum(3);
    sma.handle_input(T0, SmaInput::LinkDown { port });
    let state = |sma: &Sma| sma.port(port).unwrap().info().port_state();
    assert_eq!(state(&sma), PortState::DOWN);
    let mode = LinkMode {
        width: LinkWidth::X4,
        speed: LinkSpeed::Hdr,
    };
    sma.handle_input(T0, SmaInput::LinkUp { port, mode });
    assert_eq!(state(&sma), PortState::INITIALIZE);
    sma.port_info_mut(port)
        .unwrap()
        .set_port_state(PortState::ARMED);
    sma.handle_input(T0, SmaInput::Data { port });
    assert_eq!(state(&sma), PortState::ACTIVE);
}
