//! Management datagrams: PortInfo decoded beside libibmad's field table and OpenSM's C structures.

use std::{
    ffi::CString,
    fs,
    hint::black_box,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{self, Command},
};

use ib_smp::PortInfo;
use ib_wire::table::FieldValue;

use crate::{
    measure::{Sample, by_turns},
    row::Row,
};

const LIBIBMAD: &str = "libibmad mad_decode_field";
const STRUCTS: &str = "OpenSM ib_types.h";
const INSTALL: &str = "apt-get install gcc libibmad-dev libopensm-dev";

/// Different attributes, so that nothing is decoded twice in a row.
const COUNT: usize = 64;

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let attributes: Vec<[u8; 64]> = (0..COUNT)
        .map(|seed| std::array::from_fn(|at| (at * 31 + seed * 17) as u8))
        .collect();
    let views: Vec<&PortInfo> = attributes
        .iter()
        .filter_map(|bytes| Some(PortInfo::parse(bytes, 0).ok()?.0))
        .collect();
    let ours = || {
        for view in black_box(&views) {
            black_box(&HostPortInfo::decode(view));
        }
    };
    let peers = match Peers::build() {
        Ok(peers) => peers,
        Err(why) => {
            eprintln!("the peers cannot be built: {why}");
            let (alone, _) = by_turns(ours, || ());
            let row = |case| {
                Row::without_peer(
                    "mad",
                    case,
                    INSTALL,
                    "ns",
                    Some(&per_attribute(alone.clone())),
                )
            };
            return vec![row("portinfo-decode"), row("portinfo-decode-struct")];
        }
    };
    // Both read the same values from the same bytes.
    for (bytes, view) in attributes.iter().zip(&views) {
        assert_eq!(
            HostPortInfo::decode(view).sum(),
            peers.sum(bytes),
            "OpenSM's structures read other values"
        );
    }
    let bytes = attributes.as_flattened();
    let (table_ours, table) = by_turns(ours, || (peers.fields)(bytes.as_ptr(), COUNT));
    let (struct_ours, structs) = by_turns(ours, || (peers.structs)(bytes.as_ptr(), COUNT));
    vec![
        Row::times(
            "mad",
            "portinfo-decode",
            LIBIBMAD,
            "ns",
            &per_attribute(table_ours),
            &per_attribute(table),
        ),
        Row::times(
            "mad",
            "portinfo-decode-struct",
            STRUCTS,
            "ns",
            &per_attribute(struct_ours),
            &per_attribute(structs),
        ),
    ]
}

fn per_attribute(sample: Sample) -> Sample {
    sample.per(COUNT as u32)
}

/// Declares the host's structure: each field of PortInfo in the host's order, but for the reserved
/// ones and those that OpenSM's structures lack.
macro_rules! host_port_info {
    ($($field:ident: $type:ident),* $(,)?) => {
        struct HostPortInfo {
            $($field: $type,)*
        }

        impl HostPortInfo {
            #[inline(always)]
            fn decode(view: &PortInfo) -> Self {
                Self {
                    $($field: view.$field().to_bits() as $type,)*
                }
            }

            /// The sum of all values, each times its place, to compare readings by.
            fn sum(&self) -> u64 {
                let values = [$(u64::from(self.$field)),*];
                let weighed = values.iter().zip(1u64..);
                weighed.fold(0, |sum, (value, place)| sum.wrapping_add(value.wrapping_mul(place)))
            }
        }
    };
}

host_port_info! {
    m_key: u64, gid_prefix: u64, lid: u16, master_sm_lid: u16, capability_mask: u32, diag_code: u16,
    m_key_lease_period: u16, local_port_num: u8, link_width_enabled: u8, link_width_supported: u8,
    link_width_active: u8, link_speed_supported: u8, port_state: u8, port_physical_state: u8,
    link_down_default_state: u8, m_key_protect_bits: u8, lmc: u8, link_speed_active: u8,
    link_speed_enabled: u8, neighbor_mtu: u8, master_sm_sl: u8, vl_cap: u8, init_type: u8,
    vl_high_limit: u8, vl_arbitration_high_cap: u8, vl_arbitration_low_cap: u8,
    init_type_reply: u8, mtu_cap: u8, vl_stall_count: u8, hoq_life: u8, operational_vls: u8,
    partition_enforcement_inbound: u8, partition_enforcement_outbound: u8, filter_raw_inbound: u8,
    filter_raw_outbound: u8, m_key_violations: u16, p_key_violations: u16, q_key_violations: u16,
    guid_cap: u8, client_reregister: u8, multicast_p_key_trap_suppression_enabled: u8,
    subnet_timeout: u8, resp_time_value: u8, local_phy_errors: u8, overrun_errors: u8,
    max_credit_hint: u16, link_round_trip_latency: u32, capability_mask2: u16,
    link_speed_ext_active: u8, link_speed_ext_supported: u8, link_speed_ext_enabled: u8,
}

/// The peers, in a library that the C compiler of this machine builds against their headers.
struct Peers {
    /// Decodes so many attributes by libibmad's field table.
    fields: extern "C" fn(*const u8, usize),
    /// Decodes so many attributes by OpenSM's structures.
    structs: extern "C" fn(*const u8, usize),
    /// The weighed sum of an attribute's values, by OpenSM's structures.
    sum: extern "C" fn(*const u8) -> u64,
}

impl Peers {
    fn build() -> Result<Self, String> {
        let dir = std::env::temp_dir().join(format!("ib-compare-mad-{}", process::id()));
        fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
        let built = Self::build_in(&dir);
        // What is loaded stays loaded without its file.
        let _ = fs::remove_dir_all(&dir);
        built
    }

    fn build_in(dir: &Path) -> Result<Self, String> {
        let (source, library) = (dir.join("peers.c"), dir.join("peers.so"));
        fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
        let output = Command::new("cc")
            .args([
                "-O2",
                "-march=native",
                "-shared",
                "-fPIC",
                "-w",
                "-I/usr/include/infiniband",
            ])
            .arg("-o")
            .args([&library, &source])
            .args(["-libmad", "-libumad"])
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let name = CString::new(library.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: `name` ends with a NUL, and the library was built above from `SOURCE`, which has
        // no constructors beyond libibmad's own.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            return Err("the library does not load".to_owned());
        }
        let symbol = |name: &std::ffi::CStr| {
            // SAFETY: `handle` is a library that is loaded and never closed.
            let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
            (!symbol.is_null())
                .then_some(symbol)
                .ok_or("a function is missing")
        };
        let (fields, structs, sum) = (
            symbol(c"decode_fields")?,
            symbol(c"decode_structs")?,
            symbol(c"weighed_sum")?,
        );
        // SAFETY: the three functions have these types in `SOURCE`, and the library is never closed.
        unsafe {
            Ok(Self {
                fields: std::mem::transmute::<*mut libc::c_void, extern "C" fn(*const u8, usize)>(
                    fields,
                ),
                structs: std::mem::transmute::<*mut libc::c_void, extern "C" fn(*const u8, usize)>(
                    structs,
                ),
                sum: std::mem::transmute::<*mut libc::c_void, extern "C" fn(*const u8) -> u64>(sum),
            })
        }
    }

    fn sum(&self, attribute: &[u8; 64]) -> u64 {
        (self.sum)(attribute.as_ptr())
    }
}

/// The peers' side: all fields by `mad_decode_field`, and all values by the structures of
/// `ib_types.h`, into a structure in the host's order.
const SOURCE: &str = r#"
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <infiniband/mad.h>
#undef IB_SUCCESS
#include <iba/ib_types.h>

void decode_fields(const uint8_t *bytes, size_t count)
{
    static const int more[] = { IB_PORT_CAPMASK2_F, IB_PORT_LINK_SPEED_EXT_ACTIVE_F,
                                IB_PORT_LINK_SPEED_EXT_SUPPORTED_F,
                                IB_PORT_LINK_SPEED_EXT_ENABLED_F };
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        for (int field = IB_PORT_FIRST_F; field < IB_PORT_LAST_F; field++) {
            mad_decode_field((uint8_t *)bytes + 64 * i, field, &value);
            __asm__ volatile("" : : "r"(&value) : "memory");
        }
        for (int at = 0; at < 4; at++) {
            mad_decode_field((uint8_t *)bytes + 64 * i, more[at], &value);
            __asm__ volatile("" : : "r"(&value) : "memory");
        }
    }
}

#define FIELDS(X) \
    X(uint64_t, m_key, cl_ntoh64(p->m_key)) \
    X(uint64_t, gid_prefix, cl_ntoh64(p->subnet_prefix)) \
    X(uint16_t, lid, cl_ntoh16(p->base_lid)) \
    X(uint16_t, master_sm_lid, cl_ntoh16(p->master_sm_base_lid)) \
    X(uint32_t, capability_mask, cl_ntoh32(p->capability_mask)) \
    X(uint16_t, diag_code, cl_ntoh16(p->diag_code)) \
    X(uint16_t, m_key_lease_period, cl_ntoh16(p->m_key_lease_period)) \
    X(uint8_t, local_port_num, p->local_port_num) \
    X(uint8_t, link_width_enabled, p->link_width_enabled) \
    X(uint8_t, link_width_supported, p->link_width_supported) \
    X(uint8_t, link_width_active, p->link_width_active) \
    X(uint8_t, link_speed_supported, ib_port_info_get_link_speed_sup(p)) \
    X(uint8_t, port_state, ib_port_info_get_port_state(p)) \
    X(uint8_t, port_physical_state, ib_port_info_get_port_phys_state(p)) \
    X(uint8_t, link_down_default_state, ib_port_info_get_link_down_def_state(p)) \
    X(uint8_t, m_key_protect_bits, ib_port_info_get_mpb(p)) \
    X(uint8_t, lmc, ib_port_info_get_lmc(p)) \
    X(uint8_t, link_speed_active, ib_port_info_get_link_speed_active(p)) \
    X(uint8_t, link_speed_enabled, ib_port_info_get_link_speed_enabled(p)) \
    X(uint8_t, neighbor_mtu, ib_port_info_get_neighbor_mtu(p)) \
    X(uint8_t, master_sm_sl, ib_port_info_get_master_smsl(p)) \
    X(uint8_t, vl_cap, ib_port_info_get_vl_cap(p)) \
    X(uint8_t, init_type, ib_port_info_get_init_type(p)) \
    X(uint8_t, vl_high_limit, p->vl_high_limit) \
    X(uint8_t, vl_arbitration_high_cap, p->vl_arb_high_cap) \
    X(uint8_t, vl_arbitration_low_cap, p->vl_arb_low_cap) \
    X(uint8_t, init_type_reply, p->mtu_cap >> 4) \
    X(uint8_t, mtu_cap, ib_port_info_get_mtu_cap(p)) \
    X(uint8_t, vl_stall_count, p->vl_stall_life >> 5) \
    X(uint8_t, hoq_life, p->vl_stall_life & 0x1f) \
    X(uint8_t, operational_vls, ib_port_info_get_op_vls(p)) \
    X(uint8_t, partition_enforcement_inbound, p->vl_enforce >> 3 & 1) \
    X(uint8_t, partition_enforcement_outbound, p->vl_enforce >> 2 & 1) \
    X(uint8_t, filter_raw_inbound, p->vl_enforce >> 1 & 1) \
    X(uint8_t, filter_raw_outbound, p->vl_enforce & 1) \
    X(uint16_t, m_key_violations, cl_ntoh16(p->m_key_violations)) \
    X(uint16_t, p_key_violations, cl_ntoh16(p->p_key_violations)) \
    X(uint16_t, q_key_violations, cl_ntoh16(p->q_key_violations)) \
    X(uint8_t, guid_cap, p->guid_cap) \
    X(uint8_t, client_reregister, p->subnet_timeout >> 7) \
    X(uint8_t, trap_suppression, p->subnet_timeout >> 5 & 3) \
    X(uint8_t, subnet_timeout, p->subnet_timeout & 0x1f) \
    X(uint8_t, resp_time_value, p->resp_time_value & 0x1f) \
    X(uint8_t, local_phy_errors, p->error_threshold >> 4) \
    X(uint8_t, overrun_errors, p->error_threshold & 0x0f) \
    X(uint16_t, max_credit_hint, cl_ntoh16(p->max_credit_hint)) \
    X(uint32_t, link_round_trip_latency, cl_ntoh32(p->link_rt_latency) & 0xffffff) \
    X(uint16_t, capability_mask2, cl_ntoh16(p->capability_mask2)) \
    X(uint8_t, link_speed_ext_active, p->link_speed_ext >> 4) \
    X(uint8_t, link_speed_ext_supported, p->link_speed_ext & 0x0f) \
    X(uint8_t, link_speed_ext_enabled, p->link_speed_ext_enabled & 0x1f)

#define MEMBER(type, name, value) type name;
struct host { FIELDS(MEMBER) };

static inline void decode(const ib_port_info_t *p, struct host *out)
{
#define STORE(type, name, value) out->name = value;
    FIELDS(STORE)
}

void decode_structs(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct host out;
        decode((const ib_port_info_t *)(bytes + 64 * i), &out);
        __asm__ volatile("" : : "r"(&out) : "memory");
    }
}

uint64_t weighed_sum(const uint8_t *bytes)
{
    struct host out;
    uint64_t sum = 0, place = 1;
    decode((const ib_port_info_t *)bytes, &out);
#define ADD(type, name, value) sum += (uint64_t)out.name * place++;
    FIELDS(ADD)
    return sum;
}
"#;
