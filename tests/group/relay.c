/*
 * A network link between two network namespaces with a delay and a rate. Each namespace has a TUN
 * device "data". A packet is forwarded when its last byte has passed at that rate and the delay is
 * over. Kernels may lack netem, which does this; tbf alone has no delay. Runs until it is killed;
 * prints "ready" when the devices exist. As root.
 * usage: relay NAMESPACE NAMESPACE DELAY_US BYTES_PER_SECOND (0: unlimited) [LATE_US]
 * LATE_US: packets may be late by this time and are forwarded together. Without it each has its
 * exact time, which keeps a processor busy while packets are pending.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Ethernet overhead of a packet: preamble, header, checksum, gap. */
#define FRAME_BYTES 38
#define MOST_BYTES 65536
#define N_SLOTS 1024
/* Busy-waits for this time before a packet is due, because timers wake late. */
#define SPIN_NS 40000

struct packet {
    int64_t due;
    ssize_t n_bytes;
    uint8_t *bytes;
};

struct way {
    int from, to;
    int64_t busy_until;
    unsigned first, n; /* ring of slots */
    struct packet slots[N_SLOTS];
};

static void fail(const char *what) {
    fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int open_device(const char *name) {
    char path[300];
    struct ifreq request;
    int device, space;
    snprintf(path, sizeof path, "/run/netns/%s", name);
    space = open(path, O_RDONLY);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) fail(path);
    close(space);
    device = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (device < 0) fail("/dev/net/tun");
    memset(&request, 0, sizeof request);
    strcpy(request.ifr_name, "data");
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(device, TUNSETIFF, &request) != 0) fail("TUNSETIFF");
    return device;
}

/* Reads packets into free slots; without a free slot they stay in the device's own queue. */
static void take(struct way *way, int64_t delay_ns, double ns_per_byte) {
    while (way->n < N_SLOTS) {
        struct packet *const p = &way->slots[(way->first + way->n) % N_SLOTS];
        const int64_t now = now_ns();
        p->n_bytes = read(way->from, p->bytes, MOST_BYTES);
        if (p->n_bytes <= 0) return;
        if (way->busy_until < now) way->busy_until = now;
        way->busy_until += (int64_t)(ns_per_byte * (double)(p->n_bytes + FRAME_BYTES));
        p->due = way->busy_until + delay_ns;
        way->n++;
    }
}

static void give(struct way *way) {
    while (way->n && way->slots[way->first].due <= now_ns()) {
        const struct packet *const p = &way->slots[way->first];
        if (write(way->to, p->bytes, (size_t)p->n_bytes) < 0 && errno != EIO && errno != EAGAIN)
            fail("write"); /* EIO: the other end is not up yet; TCP retransmits */
        way->first = (way->first + 1) % N_SLOTS;
        way->n--;
    }
}

int main(int argc, char **argv) {
    static struct way ways[2];
    const struct sched_param first = {.sched_priority = 50};
    int64_t delay_ns, late_ns;
    double rate;
    if (argc < 5 || argc > 6) {
        fprintf(stderr, "usage: relay NAMESPACE NAMESPACE DELAY_US BYTES_PER_SECOND [LATE_US]\n");
        return 2;
    }
    delay_ns = (int64_t)(atof(argv[3]) * 1e3);
    rate = atof(argv[4]);
    late_ns = argc > 5 ? (int64_t)(atof(argv[5]) * 1e3) : 0;
    ways[0].from = ways[1].to = open_device(argv[1]);
    ways[1].from = ways[0].to = open_device(argv[2]);
    for (unsigned i = 0; i < 2 * N_SLOTS; i++) {
        struct packet *const p = &ways[i / N_SLOTS].slots[i % N_SLOTS];
        if (!(p->bytes = malloc(MOST_BYTES))) fail("memory");
    }
    (void)sched_setscheduler(0, SCHED_FIFO, &first); /* otherwise it waits for compute threads */
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd ends[2] = {{.fd = ways[0].from, .events = POLLIN},
                                 {.fd = ways[1].from, .events = POLLIN}};
        int64_t wait = INT64_MAX;
        for (unsigned i = 0; i < 2; i++) {
            const int64_t left = ways[i].n ? ways[i].slots[ways[i].first].due - now_ns() : wait;
            if (left < wait) wait = left;
            if (ways[i].n == N_SLOTS) ends[i].events = 0;
        }
        if (late_ns > 0 && wait != INT64_MAX) {
            const struct timespec time = {0, late_ns};
            (void)nanosleep(&time, NULL);
        } else if (wait > SPIN_NS) {
            const int64_t sleep = wait - SPIN_NS;
            const struct timespec time = {sleep / 1000000000, sleep % 1000000000};
            if (ppoll(ends, 2, wait == INT64_MAX ? NULL : &time, NULL) < 0 && errno != EINTR)
                fail("ppoll");
        }
        for (unsigned i = 0; i < 2; i++) {
            take(&ways[i], delay_ns, rate > 0 ? 1e9 / rate : 0);
            give(&ways[i]);
        }
    }
}
