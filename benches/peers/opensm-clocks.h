/* Clocks around OpenSM's routing engines: opensm-setup.sh includes this file in two files of its source.
 *
 * Lines that begin with BENCH go to stderr: the processor time of an engine alone, and the state when the subnet is up.
 * OSM_BENCH_REPS is how often an engine routes (1 by default), OSM_BENCH_MAX how many seconds that may take at most (20 by
 * default). OSM_BENCH_DUMP names a file for the tables: "S guid lid ports" for each switch, "H guid lid" for each other port,
 * and "P lid sls" for each source where the engine has service levels of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static inline double clocks_now(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static inline double clocks_setting(const char *name, double otherwise)
{
	const char *text = getenv(name);
	return text ? atof(text) : otherwise;
}

#ifdef CLOCKS_ROUTE
static int ucast_mgr_setup_all_switches(osm_subn_t *subn);

/* The two steps of an engine as its interface describes them: a step that it lacks, or leaves undone, is the common one. */
static int clocks_steps(struct osm_routing_engine *engine, osm_opensm_t *osm)
{
	int result = 1;
	if (engine->build_lid_matrices)
		result = engine->build_lid_matrices(engine->context);
	if (result > 0)
		result = osm_ucast_mgr_build_lid_matrices(&osm->sm.ucast_mgr);
	if (result < 0)
		return result;
	result = 1;
	if (engine->ucast_build_fwd_tables)
		result = engine->ucast_build_fwd_tables(engine->context);
	if (result > 0)
		result = ucast_mgr_build_lfts(&osm->sm.ucast_mgr);
	return result;
}

/* Prints the service levels of all pairs up to this many ports: their number is the square of it. */
#define CLOCKS_MOST_LEVELS 1200

static void clocks_dump(struct osm_routing_engine *engine, osm_opensm_t *osm, FILE *file)
{
	cl_qmap_t *switches = &osm->subn.sw_guid_tbl, *ports = &osm->subn.port_guid_tbl;
	cl_map_item_t *at;
	unsigned count = 0, a, b, lid;
	uint16_t *lids = calloc(cl_qmap_count(ports) + 1, sizeof *lids);

	for (at = cl_qmap_head(switches); at != cl_qmap_end(switches); at = cl_qmap_next(at)) {
		osm_switch_t *sw = (osm_switch_t *)at;
		fprintf(file, "S %016" PRIx64 " %u ", cl_ntoh64(osm_node_get_node_guid(sw->p_node)),
			cl_ntoh16(osm_node_get_base_lid(sw->p_node, 0)));
		for (lid = 0; lid <= sw->max_lid_ho; lid++)
			fprintf(file, "%02x", sw->new_lft[lid]);
		fputc('\n', file);
	}
	for (at = cl_qmap_head(ports); lids && at != cl_qmap_end(ports); at = cl_qmap_next(at)) {
		osm_port_t *port = (osm_port_t *)at;
		if (osm_node_get_type(port->p_node) == IB_NODE_TYPE_SWITCH)
			continue;
		lids[count] = cl_ntoh16(osm_port_get_base_lid(port));
		fprintf(file, "H %016" PRIx64 " %u\n", cl_ntoh64(osm_port_get_guid(port)), lids[count]);
		count++;
	}
	for (a = 0; engine->path_sl && count <= CLOCKS_MOST_LEVELS && a < count; a++) {
		fprintf(file, "P %u ", lids[a]);
		for (b = 0; b < count; b++) {
			int sl = a == b ? 0 : engine->path_sl(engine->context, 0, cl_hton16(lids[a]), cl_hton16(lids[b]));
			fprintf(file, "%x", sl & 15);
		}
		fputc('\n', file);
	}
	free(lids);
}

/* Routes several times under the clock, then once more as OpenSM does, which writes the tables. */
static int clocks_route(struct osm_routing_engine *engine, osm_opensm_t *osm)
{
	int repetitions = clocks_setting("OSM_BENCH_REPS", 1), number, result = 0;
	double most = clocks_setting("OSM_BENCH_MAX", 20), begun = clocks_now(CLOCK_MONOTONIC);
	const char *dump = getenv("OSM_BENCH_DUMP");

	for (number = 0; number < repetitions && clocks_now(CLOCK_MONOTONIC) - begun < most; number++) {
		double wall, cpu;
		ucast_mgr_setup_all_switches(&osm->subn);
		if (osm->subn.opt.scatter_ports)
			srandom(osm->subn.opt.scatter_ports);
		wall = clocks_now(CLOCK_MONOTONIC);
		cpu = clocks_now(CLOCK_THREAD_CPUTIME_ID);
		result = clocks_steps(engine, osm);
		cpu = clocks_now(CLOCK_THREAD_CPUTIME_ID) - cpu;
		wall = clocks_now(CLOCK_MONOTONIC) - wall;
		fprintf(stderr, "BENCH engine=%s rep=%d %stotal=%.6f cpu=%.6f\n", engine->name, number,
			result < 0 ? "fail=route " : "", wall, cpu);
		if (result < 0)
			return result;
	}
	ucast_mgr_setup_all_switches(&osm->subn);
	result = ucast_mgr_route(engine, osm);
	if (result >= 0 && dump) {
		FILE *file = fopen(dump, "w");
		if (file) {
			clocks_dump(engine, osm, file);
			fclose(file);
		}
	}
	return result;
}
#endif

#ifdef CLOCKS_UP
static void clocks_up(const osm_sm_t *sm)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "BENCH up qp0_sent=%u qp0_rcvd=%u cpu_user=%.3f cpu_sys=%.3f maxrss_kb=%ld\n",
		(unsigned)sm->p_subn->p_osm->stats.qp0_mads_sent, (unsigned)sm->p_subn->p_osm->stats.qp0_mads_rcvd,
		usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6,
		usage.ru_stime.tv_sec + usage.ru_stime.tv_usec * 1e-6, usage.ru_maxrss);
}
#endif
