//! Devices with known faults (`enable_quirks`).

use ib_routing::Fabric;
use ib_sa::{PathComponents as C, PathRecord, Selector};
use ib_testkit::lab::{Lab, client::Client};
use ib_wire::Mtu;

/// A ring whose last host has this vendor and device ID.
fn ring(vendor: u32, device: u16) -> Fabric {
    let ring = Lab::new("gen-ring-5").fabric;
    let hosts = ring.nodes().iter_enumerated();
    let mut hosts = hosts.filter(|(_, node)| !node.type_.is_switch());
    let (last, _) = hosts.next_back().unwrap();
    let mut builder = ring.to_builder();
    let node = builder.node_mut(last).unwrap();
    (node.vendor_id, node.device_id) = (vendor, device);
    builder.build()
}

/// The MTU of the path from the last host to the manager.
fn mtu(client: &mut Client, mask: C, selector: Selector, mtu: Mtu) -> Mtu {
    let mut template = PathRecord::default();
    template
        .set_slid(client.lid())
        .set_dlid(client.administrator().lid)
        .set_mtu_selector(selector)
        .set_mtu(mtu);
    let found = client.get(&template, (mask | C::SLID | C::DLID).into());
    found.unwrap().mtu()
}

#[test]
fn an_infinihost_of_each_vendor_is_known_by_its_vendor_and_device() {
    for (vendor, device, slow) in [
        (0x0002c9, 23108, true),
        (0x0005ad, 23108, true),
        (0x00066a, 23108, true),
        (0x0008f1, 23108, true),
        (0x0002c9, 25208, false),
        (0x000123, 23108, false),
        (0x000123, 25208, false),
    ] {
        let lab = Lab::of(ring(vendor, device)).config(|config| config.enable_quirks = true);
        let mut client = Client::of(lab.up());
        let found = mtu(&mut client, C::empty(), Selector::EXACTLY, Mtu::MTU_256);
        let expected = if slow { Mtu::MTU_1024 } else { Mtu::MTU_4096 };
        assert_eq!(found, expected, "{vendor:#x} {device}");
    }
}

#[test]
fn a_request_that_needs_more_than_the_device_likes_gets_it() {
    use Selector as S;
    let lab = Lab::of(ring(0x2c9, 23108)).config(|config| config.enable_quirks = true);
    let mut client = Client::of(lab.up());
    let both = C::MTU_SELECTOR | C::MTU;
    for (mask, selector, wanted, expected) in [
        (both, S::EXACTLY, Mtu::MTU_2048, Mtu::MTU_2048),
        (both, S::EXACTLY, Mtu::MTU_1024, Mtu::MTU_1024),
        (both, S::EXACTLY, Mtu::MTU_512, Mtu::MTU_512),
        (both, S::GREATER_THAN, Mtu::MTU_2048, Mtu::MTU_4096),
        (both, S::GREATER_THAN, Mtu::MTU_1024, Mtu::MTU_4096),
        (both, S::GREATER_THAN, Mtu::MTU_512, Mtu::MTU_1024),
        (both, S::LESS_THAN, Mtu::MTU_4096, Mtu::MTU_1024),
        (both, S::LARGEST_AVAILABLE, Mtu::MTU_256, Mtu::MTU_4096),
        (
            C::MTU_SELECTOR,
            S::LARGEST_AVAILABLE,
            Mtu::MTU_256,
            Mtu::MTU_4096,
        ),
        // A value without a selector, or a selector without a value, says nothing.
        (
            C::MTU_SELECTOR,
            S::GREATER_THAN,
            Mtu::MTU_2048,
            Mtu::MTU_1024,
        ),
        (C::MTU, S::GREATER_THAN, Mtu::MTU_2048, Mtu::MTU_1024),
    ] {
        let found = mtu(&mut client, mask, selector, wanted);
        assert_eq!(found, expected, "{mask:?} {selector:?} {wanted:?}");
    }
}
