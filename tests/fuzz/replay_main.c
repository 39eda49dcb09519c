/*
 * Runs a fuzz target over the given archives, built-in seeds, and files and folders. Missing
 * folders are reported and skipped.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/gguf_builder.h"
#include "replay.h"

#include <ggufx/ggufx.h>

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static long n_run;

static void run_file(const char *path) {
    FILE *f = fopen(path, "rb");
    unsigned char *data;
    size_t n;
    long size;
    if (!f) return;
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    if (size >= 0 && size < (16 << 20) && (data = malloc((size_t)size + 1))) {
        n = fread(data, 1, (size_t)size, f);
        replay_input(data, n);
        free(data);
        n_run++;
    }
    fclose(f);
}

static void run_folder(const char *path) {
    DIR *d = opendir(path);
    struct dirent *e;
    if (!d) {
        printf("skipped: %s is absent\n", path);
        return;
    }
    while ((e = readdir(d))) {
        char file[4096];
        struct stat st;
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (stat(file, &st) == 0 && S_ISREG(st.st_mode)) run_file(file);
    }
    closedir(d);
}

/* Small files of each version and byte order, truncated and mutated by a fixed sequence. */
static void run_seeds(void) {
    uint32_t version, seed = 7;
    int big_endian, i;
    const int n_changes = (int)replay_count(200);
    for (version = 1; version <= 3; version++)
        for (big_endian = 0; big_endian < 2; big_endian++) {
            gb b;
            gb_everything(&b, version, big_endian);
            replay_input(b.data, b.n);
            for (i = 0; i < n_changes; i++) {
                unsigned char old;
                size_t at;
                seed = seed * 1664525u + 1013904223u;
                at = (seed >> 4) % b.n;
                old = b.data[at];
                b.data[at] = (unsigned char)(seed >> 24);
                replay_input(b.data, i % 5 ? b.n : at);
                b.data[at] = old;
                n_run++;
            }
            gb_free(&b);
        }
}

/* Concatenated split files, whole and with a changed byte. */
static void run_set(void) {
    gb set = {0};
    const int n_changes = (int)replay_count(200);
    uint32_t seed = 9;
    for (unsigned part = 0; part < 2; part++) {
        const uint64_t ne[1] = {8};
        const unsigned char data[32] = {0};
        gb b;
        gb_begin(&b, 3, 0);
        if (part == 0) gb_key_string(&b, "general.architecture", "test");
        gb_key(&b, "split.no", GGUFX_VALUE_U16);
        gb_u16(&b, part);
        gb_key(&b, "split.count", GGUFX_VALUE_U16);
        gb_u16(&b, 2);
        gb_key(&b, "split.tensors.count", GGUFX_VALUE_I32);
        gb_u32(&b, 2);
        gb_tensor(&b, part ? "b" : "a", GGUFX_TYPE_F32, 1, ne, 32);
        gb_data(&b);
        gb_tensor_data(&b, data, sizeof data);
        gb_bytes(&set, b.data, b.n);
        gb_free(&b);
    }
    for (int i = 0; i < n_changes; i++, n_run++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned char *const at = set.data + (seed >> 4) % set.n, old = *at;
        if (i > 0) *at = (unsigned char)(seed >> 24);
        replay_input(set.data, set.n);
        *at = old;
    }
    gb_free(&set);
}

int main(int argc, char **argv) {
    long n_stored = replay_archives(&argc, &argv);
    int i;
    run_seeds();
    run_set();
    for (i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISREG(st.st_mode))
            run_file(argv[i]);
        else
            run_folder(argv[i]);
    }
    printf("%ld inputs\n", n_stored + n_run);
    return 0;
}
