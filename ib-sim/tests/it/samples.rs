//! Sampling of counters through PortSamplesControl, in virtual time.

use std::time::Duration;

use ib_mad::{
    Attribute, AttributeId, Mad, MadAddress, MadStatus, Method, MgmtClass, PerformanceMad,
    PortSamplesControl, PortSamplesResult, PortSamplesResultExtended, SampleStatus,
};
use ib_sim::SimOptions;
use ib_transport::Clock;
use ib_wire::{Lid, Sl};

use ib_testkit::worked_traces::Host;

fn host() -> Host {
    let mut host = Host::new(SimOptions {
        traps: false,
        ..SimOptions::default()
    });
    host.bring_up();
    host
}

fn ask(
    host: &mut Host,
    method: Method,
    id: AttributeId,
    modifier: u32,
    attribute: &[u8],
) -> (MadStatus, [u8; 192]) {
    let mut mad = Mad::new(MadAddress::gsi(Lid(3), Sl::ZERO));
    let (perf, _) = PerformanceMad::parse_mut(&mut mad.bytes, 0).unwrap();
    let mut data = [0; 192];
    data[..attribute.len()].copy_from_slice(attribute);
    perf.set_base_version(1)
        .set_mgmt_class(MgmtClass::PERF)
        .set_class_version(1)
        .set_method(method)
        .set_attribute_id(id)
        .set_attribute_modifier(modifier)
        .set_data(&data);
    let answer = host.exchange(&mad).unwrap();
    let (perf, _) = PerformanceMad::parse(&answer.bytes, 0).unwrap();
    assert_eq!(perf.method(), Method::GET_RESP);
    (perf.status(), *perf.data())
}

fn control(host: &mut Host) -> PortSamplesControl {
    let (status, data) = ask(host, Method::GET, PortSamplesControl::ID, 0, &[]);
    assert!(status.is_ok());
    PortSamplesControl::from_bytes(data)
}

/// Starts a sampling on S2's port 2: packets received, then sent, then words sent.
fn start(host: &mut Host, tag: u16, start: u32, interval: u32) -> PortSamplesControl {
    let mut wanted = PortSamplesControl::default();
    wanted
        .set_port_select(2)
        .set_tag(tag)
        .set_sample_start(start)
        .set_sample_interval(interval)
        .set_counter_select0(4)
        .set_counter_select1(3)
        .set_counter_select14(1);
    let id = PortSamplesControl::ID;
    let (status, data) = ask(host, Method::SET, id, 0, wanted.as_bytes());
    assert!(status.is_ok());
    PortSamplesControl::from_bytes(data)
}

fn result(host: &mut Host) -> PortSamplesResult {
    let (status, data) = ask(host, Method::GET, PortSamplesResult::ID, 0, &[]);
    assert!(status.is_ok());
    PortSamplesResult::from_bytes(*data.first_chunk().unwrap())
}

fn wait(host: &Host, time: Duration) {
    let later = host.sim.now() + time;
    host.sim.advance(later);
}

#[test]
fn a_port_tells_what_it_can_sample() {
    let mut host = host();
    let control = control(&mut host);
    assert_eq!(control.sample_status(), SampleStatus::DONE);
    assert_eq!((control.counter_mask0(), control.counter_mask14()), (1, 1));
    assert_eq!(control.sample_mechanisms(), 0, "one");
}

#[test]
fn a_sampling_counts_from_its_start_for_its_interval() {
    let mut host = host();
    // Ticks are microseconds.
    let control = start(&mut host, 0x1234, 1000, 5000);
    assert_eq!(control.sample_status(), SampleStatus::STARTED);
    assert_eq!(result(&mut host).sample_status(), SampleStatus::STARTED);
    wait(&host, Duration::from_millis(2));
    // Three questions within the interval: their answers leave by the port that the questions came in by.
    for _ in 0..3 {
        let running = result(&mut host);
        assert_eq!(running.sample_status(), SampleStatus::RUNNING);
        assert_eq!(running.counter(0), Some(0), "nothing to see yet");
    }
    wait(&host, Duration::from_millis(10));
    let done = result(&mut host);
    assert_eq!(
        (done.sample_status(), done.tag()),
        (SampleStatus::DONE, 0x1234)
    );
    assert_eq!((done.counter(0), done.counter(1)), (Some(3), Some(3)));
    assert_eq!(done.counter(14), Some(3 * 72));
    assert_eq!(done.counter(5), Some(0), "nothing selected");
    assert_eq!(result(&mut host), done, "what comes later does not count");

    let id = PortSamplesResultExtended::ID;
    let (status, data) = ask(&mut host, Method::GET, id, 0, &[]);
    assert!(status.is_ok());
    let extended = PortSamplesResultExtended::from_bytes(*data.first_chunk().unwrap());
    assert_eq!(
        (extended.counter(14), extended.tag()),
        (Some(3 * 72), 0x1234)
    );
}

#[test]
fn a_running_sampling_is_not_disturbed_and_the_next_one_starts_from_zero() {
    let mut host = host();
    start(&mut host, 1, 0, 5000);
    wait(&host, Duration::from_millis(1));
    let kept = start(&mut host, 2, 0, 100);
    assert_eq!(
        (kept.tag(), kept.sample_status()),
        (1, SampleStatus::RUNNING)
    );
    wait(&host, Duration::from_millis(10));
    assert_eq!(result(&mut host).tag(), 1);
    start(&mut host, 3, 10_000, 100);
    wait(&host, Duration::from_millis(20));
    let done = result(&mut host);
    assert_eq!((done.tag(), done.counter(0)), (3, Some(0)));
}

#[test]
fn what_is_not_there_cannot_be_sampled() {
    let mut host = host();
    let id = PortSamplesControl::ID;
    let invalid = MadStatus::INVALID_FIELD_VALUE;
    assert_eq!(
        ask(&mut host, Method::GET, id, 1, &[]).0,
        invalid,
        "mechanism"
    );
    let mut control = PortSamplesControl::default();
    control.set_port_select(9);
    let answer = ask(&mut host, Method::SET, id, 0, control.as_bytes());
    assert_eq!(answer.0, invalid, "port 9 of 8");
    let id = PortSamplesResult::ID;
    let answer = ask(&mut host, Method::SET, id, 0, &[]);
    assert_eq!(answer.0, MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
}
