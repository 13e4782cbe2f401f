/* sa-load MODE COUNT WINDOW FIRST_LID LAST_LID [SECONDS]
 *
 * Loads the port's subnet administrator through libibumad with WINDOW requests at a time, until COUNT are over or SECONDS have
 * passed (60 by default). A request without an answer for a second is over as well and counts as lost.
 *
 * MODE path:   Get(PathRecord) between random LIDs of FIRST_LID..LAST_LID.
 * MODE table:  GetTable(NodeRecord) of all nodes. The first segment counts as the answer, because a client that is
 *              preloaded into a simulator's library cannot acknowledge it.
 * MODE member: Set(MCMemberRecord), which creates a group, and Delete(MCMemberRecord), which ends it, in turn.
 *
 * Prints one line of JSON: requests answered, answers with a status, requests lost, seconds, median and 99th percentile
 * of the time to an answer, and the longest time without an answer.
 *
 * Build: cc -O2 -o sa-load sa-load.c -libumad */
#include <arpa/inet.h>
#include <infiniband/umad.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUBN_ADM = 3, CLASS_VERSION = 2, QKEY = 0x80010000 };
enum { NODE_RECORD = 0x11, PATH_RECORD = 0x35, MC_MEMBER_RECORD = 0x38 };
enum { GET = 0x01, SET = 0x02, GET_TABLE = 0x12, DELETE = 0x15, RESPONSE = 0x80 };
/* Offsets in the datagram: the low half of the component mask, and the record. */
enum { MAD_LENGTH = 256, MASK = 52, RECORD = 56 };
enum { GROUPS = 64 };

enum state { WAITING, ANSWERED, LOST };

struct request {
  double sent, took;
  enum state state;
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void put16(unsigned char *at, uint16_t value) {
  value = htons(value);
  memcpy(at, &value, sizeof value);
}

static void put32(unsigned char *at, uint32_t value) {
  value = htonl(value);
  memcpy(at, &value, sizeof value);
}

static void build_path(unsigned char *mad, int first, int last) {
  unsigned char *record = mad + RECORD;
  mad[3] = GET;
  put16(mad + 16, PATH_RECORD);
  put32(mad + MASK, 1 << 4 | 1 << 5 | 1 << 12); /* DLID, SLID, NumbPath */
  put16(record + 40, first + rand() % (last - first + 1));
  put16(record + 42, first + rand() % (last - first + 1));
  record[53] = 1;
}

static void build_table(unsigned char *mad) {
  mad[3] = GET_TABLE;
  put16(mad + 16, NODE_RECORD);
}

static void build_member(unsigned char *mad, int number, const umad_port_t *port) {
  int leaves = number % 2;
  uint32_t mask = 1 << 0 | 1 << 1 | 1 << 16; /* MGID, PortGID, JoinState */
  if (!leaves) mask |= 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13; /* Q_Key, TClass, P_Key, SL, FlowLabel */
  mad[3] = leaves ? DELETE : SET;
  put16(mad + 16, MC_MEMBER_RECORD);
  put32(mad + MASK, mask);
  unsigned char *record = mad + RECORD;
  record[0] = 0xff, record[1] = 0x12, record[2] = 0x12, record[3] = 0x34;
  put32(record + 12, 1 + number / 2 % GROUPS);
  memcpy(record + 16, &port->gid_prefix, 8); /* both in network order */
  memcpy(record + 24, &port->port_guid, 8);
  put32(record + 32, 0x1234);
  put16(record + 40, 0xffff);
  record[48] = 0x21; /* link-local scope, full member */
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: sa-load path|table|member COUNT WINDOW FIRST_LID LAST_LID [SECONDS]\n");
    return 2;
  }
  const char *mode = argv[1];
  int count = atoi(argv[2]), window = atoi(argv[3]), first = atoi(argv[4]), last_lid = atoi(argv[5]);
  double limit = argc > 6 ? atof(argv[6]) : 60;
  umad_port_t port;
  umad_init();
  int file = umad_open_port(NULL, 0);
  if (file < 0 || umad_get_port(NULL, 0, &port) < 0) {
    perror("umad");
    return 2;
  }
  int agent = umad_register(file, SUBN_ADM, CLASS_VERSION, 0, NULL);
  struct request *requests = calloc(count + 1, sizeof *requests);
  double *times = calloc(count + 1, sizeof *times);
  void *umad = umad_alloc(1, umad_size() + MAD_LENGTH);
  if (agent < 0 || !requests || !times || !umad) {
    fprintf(stderr, "no agent, or no memory\n");
    return 2;
  }
  /* Requests before `oldest` are over. */
  int sent = 0, oldest = 0, answered = 0, lost = 0, refused = 0;
  double begin = now(), last = begin, gap = 0;
  srand(1);
  while (answered + lost < count && now() - begin < limit) {
    while (sent - answered - lost < window && sent < count) {
      memset(umad, 0, umad_size() + MAD_LENGTH);
      unsigned char *mad = umad_get_mad(umad);
      mad[0] = 1, mad[1] = SUBN_ADM, mad[2] = CLASS_VERSION;
      put32(mad + 12, sent + 1);
      if (!strcmp(mode, "path")) build_path(mad, first, last_lid);
      else if (!strcmp(mode, "table")) build_table(mad);
      else build_member(mad, sent, &port);
      umad_set_addr(umad, port.sm_lid, 1, 0, QKEY);
      requests[sent].sent = now();
      if (umad_send(file, agent, umad, MAD_LENGTH, 1000, 0) < 0) {
        perror("umad_send");
        return 2;
      }
      sent++;
    }
    int length = MAD_LENGTH, received = umad_recv(file, umad, &length, 100);
    double time = now();
    if (received >= 0 && !umad_status(umad)) {
      unsigned char *mad = umad_get_mad(umad);
      uint32_t id;
      memcpy(&id, mad + 12, sizeof id);
      id = ntohl(id) - 1;
      if (mad[3] & RESPONSE && id < (uint32_t)sent && requests[id].state == WAITING) {
        requests[id].state = ANSWERED;
        times[answered++] = time - requests[id].sent;
        refused += mad[4] || mad[5];
        if (time - last > gap) gap = time - last;
        last = time;
      }
    }
    for (; oldest < sent; oldest++) {
      if (requests[oldest].state == WAITING && time - requests[oldest].sent < 1) break;
      if (requests[oldest].state == WAITING) {
        requests[oldest].state = LOST;
        lost++;
      }
    }
  }
  if (now() - last > gap) gap = now() - last;
  qsort(times, answered, sizeof *times, by_size);
  printf("{\"answered\": %d, \"refused\": %d, \"lost\": %d, \"seconds\": %.4f, \"p50_us\": %.0f, \"p99_us\": %.0f, \"gap_ms\": %.3f}\n",
         answered, refused, lost, last - begin, answered ? times[answered / 2] * 1e6 : 0,
         answered ? times[(int)(answered * .99)] * 1e6 : 0, gap * 1e3);
  umad_close_port(file);
  return 0;
}
