//! An agent of a class of one's own: it answers OpenIB's ping, a vendor class, with its name.

use std::collections::VecDeque;

use infiniband::mad::{Engine, Input, Instant, Mad, MadAddress, Method, MgmtClass};

#[derive(Default)]
struct Ping(VecDeque<Mad>);

#[rustfmt::skip]
impl Engine for Ping {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = ();

    fn handle_input(&mut self, _now: Instant, input: Input<'_>) {
        let Input::Mad(request) = input else { return };
        let header = request.header();
        if (header.mgmt_class(), header.method()) != (MgmtClass::VENDOR2_32, Method::GET) { return; }
        let mut answer = *request; // its address is the asker's
        answer.header_mut().set_method(Method::GET_RESP);
        answer.bytes.iter_mut().skip(40).zip(b"node1.(none)\0").for_each(|(to, from)| *to = *from);
        self.0.push_back(answer);
    }
    fn handle_timeout(&mut self, _now: Instant) {}
    fn poll_transmit(&mut self, _now: Instant) -> Option<Mad> { self.0.pop_front() }
    fn poll_timeout(&self) -> Option<Instant> { None }
    fn poll_event(&mut self) -> Option<()> { None }
}

#[rustfmt::skip]
fn main() {
    // `drive(&mut agent, &mut port, &clock, ..)` runs it on a port; here one request is handed over.
    let (mut agent, mut request) = (Ping::default(), Mad::new(MadAddress::DIRECTED));
    request.header_mut().set_mgmt_class(MgmtClass::VENDOR2_32).set_method(Method::GET);
    agent.handle_input(Instant::ZERO, Input::Mad(&request));
    println!("{:?}", agent.poll_transmit(Instant::ZERO).map(|answer| answer.header().method()));
}
