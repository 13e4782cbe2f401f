/* PortInfo decoded by libibmad's field table, and by the structures of OpenSM's ib_types.h: all values
 * into a structure in the host's order. A process of its own that measures itself. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <infiniband/mad.h>
#undef IB_SUCCESS
#include <iba/ib_types.h>

static void decode_fields(const uint8_t *bytes, size_t count)
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

static void decode_structs(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct host out;
        decode((const ib_port_info_t *)(bytes + 64 * i), &out);
        __asm__ volatile("" : : "r"(&out) : "memory");
    }
}

static uint64_t weighed_sum(const uint8_t *bytes)
{
    struct host out;
    uint64_t sum = 0, place = 1;
    decode((const ib_port_info_t *)bytes, &out);
#define ADD(type, name, value) sum += (uint64_t)out.name * place++;
    FIELDS(ADD)
    return sum;
}

static uint8_t bytes[64 * COUNT];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static double repetition(void (*decode)(const uint8_t *, size_t), int calls)
{
    double start = now();
    for (int call = 0; call < calls; call++)
        decode(bytes, COUNT);
    return (now() - start) / calls / COUNT;
}

static int calls_of(void (*decode)(const uint8_t *, size_t))
{
    int calls = 1;
    while (repetition(decode, calls) * calls * COUNT < 1e5)
        calls *= 2;
    return calls * 2;
}

/* Reads the attributes, then commands of a letter each; answers each with a line. */
int main(void)
{
    int command, field_calls, struct_calls;
    if (fread(bytes, 64, COUNT, stdin) != COUNT)
        return 1;
    field_calls = calls_of(decode_fields);
    struct_calls = calls_of(decode_structs);
    while ((command = getchar()) != EOF) {
        switch (command) {
        case 'f':
            printf("%f\n", repetition(decode_fields, field_calls));
            break;
        case 's':
            printf("%f\n", repetition(decode_structs, struct_calls));
            break;
        case 'w':
            for (size_t i = 0; i < COUNT; i++)
                printf("%llu ", (unsigned long long)weighed_sum(bytes + 64 * i));
            printf("\n");
            break;
        }
        fflush(stdout);
    }
    return 0;
}
