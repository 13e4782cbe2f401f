/* One process with several descriptors of one port: a class of management each, as a subnet manager and a monitor of
 * performance in one program have them. Prints what each of them reads. */

#include <endian.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/umad.h>

enum { DIRECTED, ROUTED, COUNTERS, COUNT };
enum { GET = 0x01, SET = 0x02, TRAP = 0x05 };
enum { NODE_DESCRIPTION = 0x10, NODE_INFO = 0x11, PORT_COUNTERS = 0x12, PORT_INFO = 0x15 };
enum { OWN_LID = 7, DATA = 64, MAD = 256, PATIENCE_MS = 2000 };

static const char *const names[COUNT] = { "directed", "routed", "counters" };
static const uint8_t classes[COUNT] = { 0x81, 0x01, 0x04 };
static int ports[COUNT], agents[COUNT];
static uint8_t buffer[1024];

static void open_all(void)
{
	for (int which = 0; which < COUNT; which++) {
		ports[which] = umad_open_port(NULL, 0);
		agents[which] = umad_register(ports[which], classes[which], 1, 0, NULL);
		if (ports[which] < 0 || agents[which] < 0)
			exit(1);
	}
}

static void send_request(int which, int method, int attribute, uint32_t id, const uint8_t *data)
{
	memset(buffer, 0, sizeof(buffer));
	uint8_t *mad = umad_get_mad(buffer);
	mad[0] = 1;
	mad[1] = classes[which];
	mad[2] = 1;
	mad[3] = method;
	id = htobe32(id);
	memcpy(mad + 12, &id, sizeof(id));
	mad[17] = attribute;
	if (which == DIRECTED)
		memset(mad + 32, 0xff, 4); /* No LID-routed part at either end. */
	if (data)
		memcpy(mad + DATA, data, 64);
	if (which == COUNTERS)
		mad[DATA + 1] = 1; /* PortSelect */
	umad_set_addr(buffer, which == DIRECTED ? 0xffff : OWN_LID, which == COUNTERS, 0,
		      which == COUNTERS ? 0x80010000 : 0);
	if (umad_send(ports[which], agents[which], buffer, MAD, 100, 0) < 0)
		exit(2);
}

static const uint8_t *receive(int which, int patience)
{
	int length = MAD;
	if (umad_recv(ports[which], buffer, &length, patience) < 0)
		return NULL;
	return umad_get_mad(buffer);
}

static void show(int which)
{
	const uint8_t *mad = receive(which, PATIENCE_MS);
	if (!mad) {
		printf("%s: nothing\n", names[which]);
		return;
	}
	printf("%s: class %02x method %02x attribute %02x ", names[which], mad[1], mad[3], mad[17]);
	if (mad[3] == TRAP) { /* Its transaction ID is the agent's own affair. */
		printf("trap %d\n", mad[DATA + 4] << 8 | mad[DATA + 5]);
		return;
	}
	uint32_t id;
	memcpy(&id, mad + 12, sizeof(id));
	printf("id %x\n", be32toh(id));
}

/* A LID for the port and the same for its manager: so traps of the port come back to it. */
static void become_manager(void)
{
	uint8_t info[64];
	send_request(DIRECTED, GET, PORT_INFO, 1, NULL);
	const uint8_t *mad = receive(DIRECTED, PATIENCE_MS);
	if (!mad)
		exit(3);
	memcpy(info, mad + DATA, sizeof(info));
	info[16] = info[18] = 0;
	info[17] = info[19] = OWN_LID;
	info[32] &= 0xf0; /* PortState: no change */
	info[33] &= 0x0f; /* PortPhysicalState: no change */
	send_request(DIRECTED, SET, PORT_INFO, 2, info);
	show(DIRECTED);
}

int main(void)
{
	char issm[256];
	umad_init();
	open_all();
	become_manager();

	/* Asked one after the other, read in another order: an answer waits at the descriptor that asked. */
	send_request(DIRECTED, GET, NODE_INFO, 0x11, NULL);
	send_request(ROUTED, GET, NODE_DESCRIPTION, 0x22, NULL);
	send_request(COUNTERS, GET, PORT_COUNTERS, 0x33, NULL);
	send_request(DIRECTED, GET, NODE_DESCRIPTION, 0x44, NULL);
	show(COUNTERS);
	show(ROUTED);
	show(DIRECTED);
	show(DIRECTED);

	/* The port says IsSM now, which its agent tells by trap 144: it comes to the class of LID-routed SMPs. */
	umad_get_issm_path(NULL, 0, issm, sizeof(issm));
	if (open(issm, O_NONBLOCK) < 0)
		return 4;
	show(ROUTED);
	for (int which = 0; which < COUNT; which++)
		if (receive(which, 0))
			printf("%s: too much\n", names[which]);

	/* One is closed, the others work on. */
	umad_close_port(ports[COUNTERS]);
	send_request(DIRECTED, GET, NODE_INFO, 0x55, NULL);
	send_request(ROUTED, GET, NODE_INFO, 0x66, NULL);
	show(ROUTED);
	show(DIRECTED);
	return 0;
}
