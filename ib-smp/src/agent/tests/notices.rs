//! The queue of notices that a manager reads.

use ib_mad::NoticeSm;

use super::*;

fn agent_with_notices() -> Sma {
    let mut sma = ca();
    let able = CapabilityMask::IS_NOTICE_SUPPORTED;
    let info = sma.port_info_mut(PortNum(1)).unwrap();
    // The port cannot send traps, and knows no master.
    info.set_capability_mask(able).set_master_sm_lid(Lid::NONE);
    sma
}

fn read(sma: &mut Sma) -> NoticeSm {
    NoticeSm::from_bytes(get(sma, NoticeSm::ID, 0).unwrap())
}

fn take(sma: &mut Sma, seen: &NoticeSm) -> NoticeSm {
    NoticeSm::from_bytes(set(sma, NoticeSm::ID, 0, seen.as_bytes()).unwrap())
}

#[test]
fn without_the_capability_there_is_no_queue() {
    let mut sma = ca();
    let unsupported = MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
    assert_eq!(get(&mut sma, NoticeSm::ID, 0), Err(unsupported));
    assert_eq!(set(&mut sma, NoticeSm::ID, 0, &[0; 64]), Err(unsupported));
}

#[test]
fn an_empty_queue_says_so() {
    let mut sma = agent_with_notices();
    let notice = read(&mut sma);
    assert_eq!(
        (notice.type_(), notice.notice_count()),
        (NoticeType::EMPTY, 0)
    );
    // There is nothing to take out: the toggle stays.
    let toggle = notice.notice_toggle();
    assert_eq!(take(&mut sma, &notice).notice_toggle(), toggle);
}

#[test]
fn notices_are_taken_out_one_by_one_in_their_order() {
    let mut sma = agent_with_notices();
    sma.link_trouble(T0, PortNum(1), LinkTrouble::LocalLinkIntegrity);
    sma.link_trouble(T0, PortNum(1), LinkTrouble::ExcessiveBufferOverrun);
    // An event that waits already is not queued twice.
    sma.link_trouble(T0, PortNum(1), LinkTrouble::LocalLinkIntegrity);
    assert_eq!(sma.poll_transmit(T0), None);

    let first = read(&mut sma);
    assert_eq!((first.trap_number(), first.notice_count()), (129, 2));
    assert_eq!(read(&mut sma), first, "reading takes nothing out");
    let second = take(&mut sma, &first);
    assert_eq!((second.trap_number(), second.notice_count()), (130, 1));
    assert_ne!(second.notice_toggle(), first.notice_toggle());
    // The Set was repeated: its toggle is over.
    assert_eq!(take(&mut sma, &first), second);
    let none = take(&mut sma, &second);
    assert_eq!((none.type_(), none.notice_count()), (NoticeType::EMPTY, 0));
}

#[test]
fn a_queue_that_nobody_reads_is_bounded_and_keeps_the_oldest() {
    let mut sma = agent_with_notices();
    for number in 0..100 {
        sma.set_system_image_guid(T0, Guid(number));
    }
    let first = read(&mut sma);
    assert_eq!(first.notice_count(), 16);
    let class = ib_mad::MgmtClass::SUBN_LID;
    let details = NoticeDetails::new(class, first.trap_number(), first.data_details());
    let NoticeDetails::SystemImageGuidChange(details) = details else {
        panic!("{details:?}");
    };
    assert_eq!(details.system_image_guid(), Guid(0));
}
