/*
 * Runs a fuzz target over the inputs in archives (ar), then over its seeds, mutated and mixed by a
 * fixed sequence.
 * usage: PROGRAM [ARCHIVE.a ...] [-NUMBER | SECONDS [FIRST_NUMBER]]: NUMBER of inputs, default 4000
 * SPDX-License-Identifier: MIT
 */
#include "chat_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 4096 };

static uint64_t state = 1;

static uint32_t draw(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % below);
}

static size_t n_seeds(void) {
    size_t n = 0;
    while (chat_seeds[n]) n++;
    return n;
}

/* Replaces `gone` bytes at `at` by `n` others. */
static size_t splice(uint8_t *data, size_t size, size_t at, size_t gone, const void *text,
                     size_t n) {
    if (at + gone > size || size - gone + n > MOST) return size;
    memmove(data + at + n, data + at + gone, size - at - gone);
    memcpy(data + at, text, n);
    return size - gone + n;
}

static size_t change(uint8_t *data, size_t size) {
    static const char marks[] = "{}[]()%#|.,:;'\"~+-*/<>=!_ \n0129azAZ\\\xc3\xa9\xff";
    const char *const other = chat_seeds[draw((uint32_t)n_seeds())];
    const size_t n_other = strlen(other);
    const size_t at = draw((uint32_t)size), length = draw(24);
    const size_t from = n_other ? draw((uint32_t)n_other) : 0;
    const size_t kept = length < n_other - from ? length : n_other - from;
    const uint8_t mark = (uint8_t)marks[draw(sizeof marks - 1)];
    uint8_t own[24];
    switch (draw(5)) {
    case 0:
        return splice(data, size, at, 1, &mark, 1);
    case 1:
        return splice(data, size, at, length < size - at ? length : 0, "", 0);
    case 2:
        return splice(data, size, at, 0, other + from, kept);
    case 3:
        return splice(data, size, at, 0, &mark, 1);
    default:
        if (length > size - at) return size;
        memcpy(own, data + at, length);
        return splice(data, size, draw((uint32_t)size), 0, own, length);
    }
}

int main(int argc, char **argv) {
    const long n_stored = replay_archives(&argc, &argv);
    const long most = replay_count(argc > 1 && argv[1][0] == '-' ? atol(argv[1] + 1) : 4000);
    const double seconds = argc > 1 && argv[1][0] != '-' ? atof(argv[1]) : 0;
    const time_t start = time(NULL);
    long n = 0;
    static uint8_t data[MOST + 64];
    if (argc > 2) state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    while (seconds > 0 ? difftime(time(NULL), start) < seconds
                       : n < most || (size_t)n < n_seeds()) {
        const char *const seed = chat_seeds[(size_t)n % n_seeds()];
        size_t size = strlen(seed);
        memcpy(data, seed, size);
        memcpy(data + size, chat_seed_end, chat_seed_end_length);
        size += chat_seed_end_length;
        for (uint32_t k = (uint32_t)n < n_seeds() ? 0 : 1 + draw(8); k > 0 && size > 0; k--)
            size = change(data, size);
        replay_input(data, size);
        n++;
    }
    printf("%ld inputs\n", n_stored + n);
    return 0;
}
