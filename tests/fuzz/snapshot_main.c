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

static void run_file(const char *path) {
    static uint8_t data[1 << 16];
    FILE *f = fopen(path, "rb");
    if (!f) return;
    const size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    replay_input(data, n);
}

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
    char *end = NULL;
    const long count = argc > 1 ? strtol(argv[1], &end, 10) : replay_count(3000);
    const long first = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (argc > 1 && *end) {
        for (int i = 1; i < argc; i++) run_file(argv[i]);
        return 0;
    }
    for (long i = first; i < first + count; i++) run_number(i);
    printf("%ld inputs, %ld of them loaded\n", n_stored + count, snapshot_n_loaded());
    /* if no change loaded, the calls after the load would be untested */
    return count < 500 || snapshot_n_loaded() * 4 > count ? 0 : 1;
}
