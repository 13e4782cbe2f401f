//! The properties of the crate on random inputs.

use ib_sm::properties;
use ib_testkit::lab::properties as whole;
use proptest::{collection::vec, prelude::*};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_configuration_is_read_or_refused(
        text in prop_oneof![
            "[ -~\n]{0,300}",
            vec(prop_oneof![
                Just("qos-ulps\n"), Just("end-qos-ulps\n"), Just("qos-levels\n"), Just("qos-level\n"),
                Just("end-qos-level\n"), Just("end-qos-levels\n"), Just("port-groups\n"),
                Just("port-group\n"), Just("name: x\n"), Just("sl: 3\n"), Just("any, pkey 0x12-0x10 : 1\n"),
                Just("sdp, port-num 1-0xffff : 2\n"), Just("default : 0\n"), Just("end-port-group\n"),
                Just("end-port-groups\n"), Just("Default=0x7fff, ipoib : ALL=full ;\n"), Just("lmc 2\n"),
                Just("MC Group 0xc001 \"\": mgid=0xff12401bffff0000:0x1"), Just(" port_gid=0xfe80:0x1"), Just("\n"),
                Just("mcm_port"), Just("Service Record: id=0x1"), Just("InformInfo Record: gid=0x1:0x1 "),
                Just("GUIDInfo Record: base_guid=0x1 lid=0x0001 block_num=0x0"), Just("0xfe80000000000000 *\n"),
            ], 0..40).prop_map(|parts| parts.concat()),
        ],
    ) {
        properties::any_configuration_is_read_or_refused(text.as_bytes());
    }

    #[test]
    fn any_fabric_leaves_the_manager_sane(bytes in vec(any::<u8>(), 0..3000)) {
        properties::any_fabric_leaves_the_manager_sane(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_requests_leave_the_administrator_sane(bytes in vec(any::<u8>(), 0..1500)) {
        whole::any_requests_leave_the_administrator_sane(&bytes);
    }

    #[test]
    fn any_orders_leave_the_manager_sane(
        orders in vec(prop_oneof![
            any::<[u8; 2]>().prop_map(|bytes| bytes.to_vec()),
            "\\x05[a-z]{1,4}=0x[0-9a-f]{1,4}(,ipoib)? *: *(ALL|ALL_CAS|SELF|0x[0-9a-f]{1,16})(=(full|both|limited))?\n"
                .prop_map(String::into_bytes),
            "\\x07(lmc [0-7]|routing_engine (updn|minhop|nue|dfsssp)|sm_priority [0-9]{1,2}|qos TRUE|m_key 0x[0-9]{1,3})\n"
                .prop_map(String::into_bytes),
        ], 0..20),
    ) {
        whole::any_orders_leave_the_manager_sane(&orders.concat());
    }

    #[test]
    fn any_managers_agree_on_one_master(bytes in vec(any::<u8>(), 0..40)) {
        whole::any_managers_agree_on_one_master(&bytes);
    }

    #[test]
    fn any_file_is_read_or_refused(
        bytes in prop_oneof![
            vec(any::<u8>(), 0..300),
            "[\\x01](torus 3 3 1\n)?(xp_link 0x[0-9a-f]{1,16} 0x[0-9a-f]{1,16}\n)?([a-z_]{1,12}( [0-9a-fxX]{1,6}){0,3}\n){0,5}"
                .prop_map(String::into_bytes),
            "[\\x02](loss|delay|seed|max-delay|corrupt)=[0-9.a-z]{0,8}(,smp-only)?".prop_map(String::into_bytes),
        ],
    ) {
        whole::any_file_is_read_or_refused(&bytes);
    }

    #[test]
    fn any_messages_leave_the_server_running(
        console in "((dump|route|link|unlink|relink|error|x|baselid|attached|verbose|guid|clear|#) ?[ -~]{0,20}\n){0,6}",
        messages in vec(vec(any::<u8>(), 0..400), 0..6),
    ) {
        let mut bytes = console.into_bytes();
        for message in messages {
            bytes.push(0xff);
            bytes.extend(message);
        }
        whole::any_messages_leave_the_server_running(&bytes);
    }
}
