/*
 * Fuzz target: a file, opened in memory, through callbacks, by a descriptor and by its path, and
 * read completely. Bytes that contain further file headers are also opened as split files. All ways
 * give the same results. replay_main.c runs it over stored files.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/file_look.h"
#include "../unit/temporary.h"
#include "replay.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PARTS = 5 };

typedef struct bytes {
    const uint8_t *data;
    size_t n;
    long n_open; /* callbacks: outstanding closes */
} bytes;

static void must(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static ggufx_open_options options_of(uint32_t flags, int32_t io) {
    ggufx_open_options options = {.struct_size = sizeof options};
    options.flags = flags;
    options.io = io;
    options.max_metadata_bytes = 64u << 20;
    return options;
}

static ggufx_status look(ggufx_file *file, const ggufx_runtime *rt, ggufx_status status,
                         const ggufx_error *error) {
    if (status == GGUFX_OK) {
        look_at_file(file, rt);
        ggufx_file_destroy(file);
    } else {
        must(memchr(error->message, 0, sizeof error->message) && error->message[0],
             "every error has a text");
    }
    return status;
}

static ggufx_status open_and_look(const ggufx_runtime *rt, const bytes *b, uint32_t flags,
                                  int32_t io) {
    const ggufx_open_options options = options_of(flags, io);
    ggufx_error error;
    ggufx_file *file = NULL;
    const ggufx_status status =
        ggufx_open_memory(&file, rt, b->data, b->n, NULL, NULL, &options, &error);
    return look(file, rt, status, &error);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static ggufx_status size_of(void *user, uint64_t *out) {
    *out = ((bytes *)user)->n;
    return GGUFX_OK;
}

static ggufx_status read_at(void *user, uint64_t offset, void *to, size_t n) {
    const bytes *const b = user;
    must(offset <= b->n && n <= b->n - offset, "what is read lies in the file");
    memcpy(to, b->data + offset, n);
    return GGUFX_OK;
}

static const void *map(void *user, uint64_t offset, size_t n) {
    bytes *const b = user;
    must(offset <= b->n && n <= b->n - offset, "what is mapped lies in the file");
    void *const copy = malloc(n ? n : 1);
    if (copy && n) memcpy(copy, b->data + offset, n);
    return copy;
}

static void unmap(void *user, const void *data, size_t n) {
    (void)user, (void)n;
    free((void *)(uintptr_t)data);
}

static void close_it(void *user) {
    ((bytes *)user)->n_open--;
}

static ggufx_status by_callbacks(const ggufx_runtime *rt, bytes *b, int maps, uint32_t flags) {
    const ggufx_open_options options = options_of(flags, GGUFX_IO_AUTO);
    const ggufx_io io = {.struct_size = sizeof io,
                         .user = b,
                         .size = size_of,
                         .read_at = read_at,
                         .map = maps ? map : NULL,
                         .unmap = maps ? unmap : NULL,
                         .close = close_it};
    ggufx_error error;
    ggufx_file *file = NULL;
    b->n_open = 1;
    ggufx_status status = ggufx_open_io(&file, rt, &io, &options, &error);
    status = look(file, rt, status, &error);
    must(b->n_open == 0, "callbacks are closed once");
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void clean(void) {
    temporary_clean();
    temporary_remove();
}

static void write_file(char path[TEMPORARY_PATH], const char *name, const uint8_t *data, size_t n) {
    static int made;
    if (!made) {
        if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0);
        must(temporary_make() == 0, "a folder");
        atexit(clean);
        made = 1;
    }
    temporary_path(path, name);
    FILE *const f = fopen(path, "wb");
    must(f && fwrite(data, 1, n, f) == n && fclose(f) == 0, "a file is written");
}

static ggufx_status by_descriptor(const ggufx_runtime *rt, const char *path, uint32_t flags) {
    const ggufx_open_options options = options_of(flags, GGUFX_IO_READ);
    ggufx_error error;
    ggufx_file *file = NULL;
    const int fd = open(path, O_RDONLY);
    must(fd >= 0, "the file opens");
    const ggufx_status status = ggufx_open_fd(&file, rt, fd, 0, 0, &options, &error);
    close(fd);
    return look(file, rt, status, &error);
}

static ggufx_status by_path(const ggufx_runtime *rt, const char *path, uint32_t flags, int32_t io) {
    const ggufx_open_options options = options_of(flags, io);
    ggufx_error error;
    ggufx_file *file = NULL;
    const ggufx_status status = ggufx_open(&file, rt, path, &options, &error);
    return look(file, rt, status, &error);
}

/* Returns the offset of the next file header. */
static size_t next_file(const bytes *b, size_t from) {
    for (size_t at = from; at + 4 <= b->n; at++)
        if (memcmp(b->data + at, "GGUF", 4) == 0) return at;
    return b->n;
}

static void as_a_set(const ggufx_runtime *rt, const bytes *b) {
    size_t begins[MOST_PARTS + 1], n = 0;
    char path[TEMPORARY_PATH], name[32];
    if (b->n < 4 || memcmp(b->data, "GGUF", 4) != 0) return;
    for (size_t at = 0; at < b->n && n < MOST_PARTS; at = next_file(b, at + 1)) begins[n++] = at;
    begins[n] = b->n;
    if (n < 2) return;
    for (size_t part = 0; part < n; part++) {
        snprintf(name, sizeof name, "s-%05zu-of-%05zu.gguf", part + 1, n);
        write_file(path, name, b->data + begins[part], begins[part + 1] - begins[part]);
    }
    const ggufx_status mapped = by_path(rt, path, 0, GGUFX_IO_AUTO);
    must(by_path(rt, path, 0, GGUFX_IO_READ) == mapped, "a set is what its bytes are");
    (void)by_path(rt, path, GGUFX_OPEN_METADATA_ONLY, GGUFX_IO_READ);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ggufx_runtime *rt;
    unsigned char *exact;
    if (!rt) {
        ggufx_runtime_options options = {.struct_size = sizeof options};
        options.threads = 1;
        if (ggufx_runtime_create(&rt, &options, NULL) != GGUFX_OK) abort();
    }
    exact = malloc(size ? size : 1); /* exact, so that ASan detects reads past the end */
    if (!exact) return 0;
    if (size) memcpy(exact, data, size);
    bytes all = {exact, size, 0};
    const uint32_t beginnings = GGUFX_OPEN_METADATA_ONLY | GGUFX_OPEN_UNKNOWN_TYPES;
    const ggufx_status status = open_and_look(rt, &all, GGUFX_OPEN_LEGACY_V1, GGUFX_IO_AUTO);
    const ggufx_status head = open_and_look(rt, &all, beginnings, GGUFX_IO_READ);
    (void)open_and_look(rt, &all, GGUFX_OPEN_STRICT, GGUFX_IO_READ);
    must(by_callbacks(rt, &all, 1, GGUFX_OPEN_LEGACY_V1) == status, "maps of callbacks are memory");
    must(by_callbacks(rt, &all, 0, beginnings) == head, "reads of callbacks are memory");
    if (size <= 1 << 20) {
        char path[TEMPORARY_PATH];
        write_file(path, "f.gguf", exact, size);
        must(by_descriptor(rt, path, GGUFX_OPEN_LEGACY_V1) == status, "a descriptor is memory");
        (void)by_path(rt, path, GGUFX_OPEN_LEGACY_V1, GGUFX_IO_AUTO);
        as_a_set(rt, &all);
    }
    free(exact);
    return 0;
}
