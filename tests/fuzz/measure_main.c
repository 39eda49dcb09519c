/*
 * Runs fuzz_measure.c, or fuzz_adapter.c, over a fixed sequence of changes.
 * usage: PROGRAM [ARCHIVE.a ...] [SECONDS [FIRST_NUMBER]]: without seconds, a short fixed number of
 * inputs
 * SPDX-License-Identifier: MIT
 */
#include "replay.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
long measure_n_taken(void);

int main(int argc, char **argv) {
    const long n_stored = replay_archives(&argc, &argv);
    const double seconds = argc > 1 ? atof(argv[1]) : 0;
    const time_t start = time(NULL);
    uint64_t state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 0x9e3779b97f4a7c15u + 1;
    const long most = replay_count(600);
    long n = 0;
    for (; seconds > 0 ? difftime(time(NULL), start) < seconds : n < most; n++) {
        uint8_t data[12];
        for (size_t i = 0; i < sizeof data; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            data[i] = (uint8_t)(state >> 16);
        }
        for (size_t i = 0; i < sizeof data; i += 4) {
            if (n % 3 == 0) data[i] %= 52, data[i + 1] = 0; /* the header */
            if (data[i + 3] > 8) data[i + 3] = 0;           /* truncates only a few */
        }
        replay_input(data, n == 0 ? 0 : 4 * (1 + (size_t)n % 3));
    }
    printf("%ld inputs, %ld taken\n", n_stored + n, measure_n_taken());
    return measure_n_taken() == 0;
}
