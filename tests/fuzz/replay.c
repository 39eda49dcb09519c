/*
 * Archive members as inputs of a fuzz target, and inputs saved as files.
 * SPDX-License-Identifier: MIT
 */
#include "replay.h"

#include "../unit/test_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_SEED = 1 << 18, LARGEST_MEMBER = 1 << 20 };
static const size_t kMostSeeds = (size_t)64 << 20;

/* ar(5): a magic string, then members: a header of 60 bytes with the size in decimal, and data
 * padded to even length. */
static long run_archive(const char *path) {
    static const char mark[] = "!<arch>\n";
    char head[61] = "";
    long n = 0;
    FILE *const file = fopen(path, "rb");
    if (!file || fread(head, 1, 8, file) != 8 || memcmp(head, mark, 8) != 0) {
        fprintf(stderr, "%s is no archive\n", path);
        exit(2);
    }
    for (; fread(head, 1, 60, file) == 60; n++) {
        const unsigned long size = strtoul(head + 48, NULL, 10);
        uint8_t *const data = size <= LARGEST_MEMBER ? malloc(size + 1) : NULL;
        if (!data || fread(data, 1, size, file) != size) {
            fprintf(stderr, "%s: member %ld is cut\n", path, n);
            exit(2);
        }
        LLVMFuzzerTestOneInput(data, size);
        free(data);
        if (size % 2) (void)fgetc(file);
    }
    fclose(file);
    return n;
}

static int is_archive(const char *path) {
    const size_t n = strlen(path);
    return n > 2 && strcmp(path + n - 2, ".a") == 0;
}

long replay_archives(int *argc, char ***argv) {
    char *const program = **argv;
    long n = 0;
    while (*argc > 1 && is_archive((*argv)[1])) {
        n += run_archive((*argv)[1]);
        --*argc;
        *++*argv = program;
    }
    return n;
}

static void keep(const char *folder, const uint8_t *data, size_t size) {
    static size_t n_bytes;
    static long n_kept;
    char path[4096];
    FILE *file;
    if (size > LARGEST_SEED || n_bytes + size > kMostSeeds) return;
    snprintf(path, sizeof path, "%s/seed%06ld", folder, n_kept++);
    file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        fprintf(stderr, "%s: not written\n", path);
        exit(2);
    }
    n_bytes += size;
}

void replay_input(const uint8_t *data, size_t size) {
    const char *const folder = getenv("GGUFX_FUZZ_SEEDS");
    if (folder) keep(folder, data, size);
    LLVMFuzzerTestOneInput(data, size);
}

long replay_count(long whole) {
    const long n = whole / (long)test_step();
    return n > 0 ? n : 1;
}

static void run_file(const char *path) {
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) return;
    const size_t n = fread(data, 1, sizeof data, file);
    fclose(file);
    replay_input(data, n);
}

long replay_numbers(int argc, char **argv, long whole, void (*run)(long number)) {
    char *end = NULL;
    const long count = argc > 1 ? strtol(argv[1], &end, 10) : replay_count(whole);
    const long first = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (argc > 1 && *end) {
        for (int i = 1; i < argc; i++) run_file(argv[i]);
        return -1;
    }
    for (long i = first; i < first + count; i++) run(i);
    return count;
}
