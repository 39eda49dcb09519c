/*
 * Fuzz target: a file and the journal that a crash left of its edit. Numbers of the journal are
 * changed and its checksum recomputed. Recovery either gives every piece its new bytes and keeps
 * the others, or fails with a message and changes nothing.
 * Input: two bytes of size, number of pieces, their offsets and lengths, progress of the edit, then
 * changes of three bytes: offset, value. The file system is that of $TMPDIR, or in memory.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/temporary.h"
#include "chat_main.h"

#include <ggufx/ggufx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const chat_seeds[] = {
    "\x08\x01\x01\x10\x20\x30",
    "\x09\x02\x02\x11\x20\x31\x40\xff",
    "\x01\x03\x04\x01\x08\x01\x08\x01\x08\x01\x08\x03",
    "\x0f\xff\x03\x80\x80\x20\x01\x60\x30\x07\x09\x01\x01",
    "\x04\x04\x01\x05\x50\x00\x20\x01\xff",
    "\x04\x04\x02\x05\x50\x07\x20\x01\x09\x01\xff\x38\x01\x7f",
    NULL,
};
const char chat_seed_end[] = "";
const size_t chat_seed_end_length = 0;

enum { MOST_FILE = 1 << 13, MOST_JOURNAL = 1 << 14, MOST_PIECES = 8, HEADER = 40 };

typedef struct bytes {
    const uint8_t *data;
    size_t n;
} bytes;

typedef struct edit {
    uint8_t now[MOST_FILE], after[MOST_FILE], journal[MOST_JOURNAL];
    size_t n_file, n_head, n_journal;
} edit;

static char path[TEMPORARY_PATH], journal_path[TEMPORARY_PATH];

static uint32_t take(bytes *in) {
    if (in->n == 0) return 0;
    in->n--;
    return *in->data++;
}

static void must(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static void put(uint8_t *to, uint64_t value) {
    for (size_t i = 0; i < 8; i++) to[i] = (uint8_t)(value >> 8 * i);
}

/* Continues CRC-64 (ECMA-182, reflected). */
static uint64_t crc(uint64_t sum, const uint8_t *data, size_t n) {
    sum = ~sum;
    for (size_t i = 0; i < n; i++) {
        sum ^= data[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xc96c5795d7870f42u : 0);
    }
    return ~sum;
}

static void add_piece(edit *e, size_t at, size_t n) {
    uint8_t *const to = e->journal + e->n_journal;
    put(to, at);
    put(to + 8, n);
    memcpy(to + 16, e->now + at, n);
    for (size_t i = 0; i < n; i++) e->after[at + i] = (uint8_t)(e->now[at + i] ^ 0x5a);
    memcpy(to + 16 + n, e->after + at, n);
    e->n_journal += 16 + 2 * n;
}

/* Builds a journal as the library writes it (src/base/patch_journal.hpp). */
static void make(edit *e, bytes *in) {
    uint64_t n_pieces = 0, rest = 0;
    size_t at = 0;
    e->n_file = 600 + take(in) * 16 + take(in);
    e->n_head = e->n_file / 2;
    for (size_t i = 0; i < e->n_file; i++) e->now[i] = (uint8_t)(i * i >> 3);
    memcpy(e->after, e->now, e->n_file);
    e->n_journal = HEADER;
    for (uint32_t left = take(in) % (MOST_PIECES + 1); left > 0; left--) {
        const size_t from = at + take(in), n = 1 + take(in) * 3;
        if (from + n > e->n_head) break;
        rest = crc(rest, e->now + at, from - at);
        add_piece(e, from, n);
        at = from + n;
        n_pieces++;
    }
    rest = crc(rest, e->now + at, e->n_head - at);
    memcpy(e->journal, "GGUFXP02", 8);
    put(e->journal + 8, e->n_file);
    put(e->journal + 16, e->n_head);
    put(e->journal + 24, rest);
    put(e->journal + 32, n_pieces);
    e->n_journal += 8;
    memcpy(e->now, e->after, e->n_head * (take(in) % 9) / 8); /* progress of the edit */
}

static void change(edit *e, bytes *in) {
    const uint32_t sealed = take(in) % 4;
    while (in->n >= 3) {
        const size_t at = (take(in) | take(in) << 8) % e->n_journal;
        e->journal[at] = (uint8_t)take(in);
    }
    if (sealed == 3) e->n_journal -= take(in) % e->n_journal;
    if (sealed != 0 && e->n_journal >= 8)
        put(e->journal + e->n_journal - 8, crc(0, e->journal, e->n_journal - 8));
}

static void write_file(const char *name, const void *data, size_t n) {
    FILE *const f = fopen(name, "wb");
    must(f && fwrite(data, 1, n, f) == n && fclose(f) == 0, "a file is written");
}

static int file_is(const uint8_t *want, size_t n) {
    static uint8_t data[MOST_FILE + 1];
    FILE *const f = fopen(path, "rb");
    must(f != NULL, "the file is there");
    const size_t got = fread(data, 1, sizeof data, f);
    fclose(f);
    return got == n && memcmp(data, want, n) == 0;
}

static void clean(void) {
    temporary_clean();
    temporary_remove();
}

static ggufx_runtime *runtime(void) {
    static ggufx_runtime *rt;
    if (rt) return rt;
    must(ggufx_runtime_create(&rt, NULL, NULL) == GGUFX_OK, "a runtime");
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0); /* no cost of fsync */
    must(temporary_make() == 0, "a folder");
    temporary_path(path, "f.gguf");
    temporary_path(journal_path, "f.gguf.patch");
    atexit(clean);
    return rt;
}

/* Applies the journal; returns 0 if it is malformed. */
static int apply(const edit *e, uint8_t *out) {
    size_t at = HEADER;
    memcpy(out, e->now, e->n_file);
    if (memcmp(e->journal, "GGUFXP01", 8) == 0)
        return 1; /* accepted only if nothing is left to apply */
    while (at + 16 < e->n_journal - 8) {
        uint64_t to = 0, n = 0;
        for (int i = 7; i >= 0; i--) to = to << 8 | e->journal[at + (size_t)i];
        for (int i = 7; i >= 0; i--) n = n << 8 | e->journal[at + 8 + (size_t)i];
        if (n > MOST_FILE || to > MOST_FILE || at + 16 + 2 * n + 8 > e->n_journal ||
            to + n > e->n_file)
            return 0;
        memcpy(out + to, e->journal + at + 16 + n, n);
        at += 16 + 2 * (size_t)n;
    }
    return at == e->n_journal - 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static edit e;
    static uint8_t want[MOST_FILE];
    bytes in = {data, size};
    ggufx_runtime *const rt = runtime();
    ggufx_error error;
    int32_t done = 0;
    make(&e, &in);
    change(&e, &in);
    write_file(path, e.now, e.n_file);
    write_file(journal_path, e.journal, e.n_journal);
    error.message[0] = 0;
    const ggufx_status status = ggufx_file_recover_edit(&done, rt, path, &error);
    if (status == GGUFX_OK) {
        must(done == 1 && access(journal_path, F_OK) != 0, "a journal that was used is gone");
        must(apply(&e, want) && file_is(want, e.n_file), "the file is what the journal says");
    } else {
        must(error.message[0] && status == GGUFX_E_STATE, "a refusal is STATE and says why");
        must(file_is(e.now, e.n_file), "a refusal changes nothing");
        must(access(journal_path, F_OK) == 0, "a journal that was refused stays");
    }
    return 0;
}
