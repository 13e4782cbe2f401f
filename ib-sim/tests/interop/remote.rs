//! ibsim's remote mode: `ibsim -r`, and `IBSIM_SERVER_NAME` at the client.
//!
//! It is UDP. Of all sockets that ibsim's server and umad2sim open none is a stream: both name `SOCK_DGRAM`, over `PF_INET`
//! in remote mode and `PF_LOCAL` else (ibsim 0.10 and 0.12, `ibsim/ibsim.c` lines 128 and 144, `umad2sim/sim_client.c` lines
//! 229 and 232). So an unmodified program cannot attach by TCP to anything, and no server needs it.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpStream};

use ib_testkit::data::{fabric_file, fabric_files};

use crate::running::{Running, same_on};
use crate::tools::comparable;

#[test]
fn remote_tools_print_the_same_on_our_server_as_on_ibsim() {
    let commands = "ibnetdiscover; smpquery -D nodeinfo 0,1; opensm -o -f osm.log >osm.out 2>&1; echo $?; \
        ibnetdiscover; iblinkinfo; sminfo; ibroute -D 0,1; perfquery -D 0 | grep -v 'Pkts\\|Data'";
    let servers = [Running::ours_remote, Running::theirs_remote];
    let ours = same_on(servers, &fabric_file("real-edr-102"), commands, comparable);
    assert!(ours.lines().count() > 300, "{ours}");
}

#[test]
fn remote_tools_print_the_same_as_local_ones() {
    let commands = "ibnetdiscover; smpquery -D portinfo 0,1 1; smpquery -D nodedesc 0";
    for file in fabric_files() {
        let servers = [Running::ours_remote, Running::ours];
        same_on(servers, &file, commands, comparable);
    }
}

#[test]
fn the_remote_mode_of_both_servers_is_udp_and_not_tcp() {
    let file = fabric_file("gen-line-2");
    for server in [Running::ours_remote(&file), Running::theirs_remote(&file)] {
        let port = server.port.unwrap();
        let refused = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert!(server.run("ibstat").contains("Number of ports:"));
    }
}
