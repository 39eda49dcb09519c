/*
 * The archive: "PACK", the offset of its directory, entries with other data between them.
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include "../unit/gguf_builder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *read_all(const char *path, size_t *n) {
    FILE *in = fopen(path, "rb");
    MUST(in && fseek(in, 0, SEEK_END) == 0);
    *n = (size_t)ftell(in);
    rewind(in);
    char *data = malloc(*n);
    MUST(data && fread(data, 1, *n, in) == *n);
    fclose(in);
    return data;
}

/* Writes textures up to `offset`: bytes without a GGUF header. */
static void put_textures(FILE *out, uint64_t offset) {
    for (uint64_t i = (uint64_t)ftell(out); i < offset; i++)
        MUST(fputc((int)(i * 37 % 251), out) >= 0);
}

static void put_entry(FILE *out, pak *p, int entry, uint64_t offset, const void *data, size_t n) {
    put_textures(out, offset);
    p->entry[entry].offset = offset;
    p->entry[entry].length = n;
    MUST(fwrite(data, 1, n, out) == n);
}

/* Builds a split file that is the first part of three. */
static void build_part(gb *b) {
    static const float data[32] = {1.0f};
    static const uint64_t ne[1] = {32};
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.architecture", "test");
    gb_key(b, "split.no", GGUFX_VALUE_U16);
    gb_u16(b, 0);
    gb_key(b, "split.count", GGUFX_VALUE_U16);
    gb_u16(b, 3);
    gb_tensor(b, "t", GGUFX_TYPE_F32, 1, ne, sizeof data);
    gb_data(b);
    gb_tensor_data(b, data, sizeof data);
}

void pak_build(pak *p, const char *model) {
    static const uint32_t head[3] = {0x4b434150, 12, kPakEntries};
    size_t n = 0;
    char *data = read_all(model, &n);
    gb part;
    strcpy(p->path, "/tmp/ggufx-pak-XXXXXX");
    const int fd = mkstemp(p->path);
    FILE *out = fdopen(fd, "wb");
    MUST(out && fwrite(head, 1, sizeof head, out) == sizeof head);
    put_entry(out, p, kPakAligned, 12288, data, n);
    put_entry(out, p, kPakOdd, (12288 + n) / 4096 * 4096 + 8192 + 13, data, n);
    build_part(&part);
    put_entry(out, p, kPakPart, p->entry[kPakOdd].offset + n + 777, part.data, part.n);
    put_textures(out, (uint64_t)ftell(out) + 4099);
    MUST(fclose(out) == 0);
    gb_free(&part);
    free(data);
}

void pak_remove(const pak *p) {
    MUST(unlink(p->path) == 0);
}

ggufx_status pak_open(ggufx_file **out, const ggufx_functions *a, const ggufx_runtime *rt,
                      const pak *p, int entry, ggufx_error *error) {
    const int fd = open(p->path, O_RDONLY | O_CLOEXEC);
    ggufx_open_options options = {.struct_size = sizeof options};
    MUST(fd >= 0);
    options.io = entry == kPakOdd ? GGUFX_IO_READ : GGUFX_IO_AUTO;
    const ggufx_status status =
        a->open_fd(out, rt, fd, p->entry[entry].offset, p->entry[entry].length, &options, error);
    MUST(close(fd) == 0);
    return status;
}
