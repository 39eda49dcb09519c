/*
 * Runs the fuzz target for snapshots over inputs of a fixed sequence, or over files:
 * fuzz-snapshot [ARCHIVE.a ...] [number of inputs [first]] or FILE...
 * SPDX-License-Identifier: MIT
 */
#include "replay.h"
#include "snapshot_seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)(z >> 32);
}

/* Runs every seed in turn, some unchanged. Each input depends on its number only and can be
 * repeated alone. */
static void run_number(long number) {
    const int trace = getenv("FUZZ_TRACE") != NULL;
    uint64_t state = (uint64_t)number;
    uint8_t data[400];
    const size_t n = 20 + next(&state) % (sizeof data - 20);
    for (size_t i = 0; i < n; i++) data[i] = (uint8_t)next(&state);
    data[0] = (uint8_t)(number % (long)snapshot_seeds());
    if (trace) fprintf(stderr, "%ld\n", number);
    replay_input(data, n);
}

int main(int argc, char **argv) {
    const long n_stored = replay_archives(&argc, &argv);
    const long count = replay_numbers(argc, argv, 3000, run_number);
    if (count < 0) return 0;
    printf("%ld inputs, %ld of them loaded\n", n_stored + count, snapshot_n_loaded());
    /* if no change loaded, the calls after the load would be untested */
    return count < 500 || snapshot_n_loaded() * 4 > count ? 0 : 1;
}
