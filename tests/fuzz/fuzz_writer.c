/*
 * Fuzz target: calls on a writer with any keys, values and tensors. The written file opens and has
 * them, and a copy of it has the same bytes. Editing it in place gives the same keys as writing a
 * new file.
 * Input: version, byte order, reserved space, then calls. The file system is that of $TMPDIR, or in
 * memory.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/temporary.h"
#include "../unit/weight_calls.h"
#include "chat_main.h"

#include <ggufx/ggufx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const chat_seeds[] = {
    "\x01\x01\x10\x01\x04name\x08\x04text\x05\x02t0\x01\x08\x01\x01",
    "\x02\x02\x01\x02\x03"
    "abc\x04\x0a\x07\x05\x02tt\x02\x02\x20\x02\x03\x03"
    "abc\x02xy",
    "\x03\x01\x40\x03\x04"
    "ab.c\x09\x02\x01\x01\x01\x01\x01\x01\x01\x01\x01\x04\x01q\x08\x01z",
    "\x01\x03\x80\x01\x12general.alignment\x04\x04\x40\x05\x01w\x01\x01\x10\x05\x01v\x08\x01\x20",
    "\x01\x01\x20\x06\x02kk\x09\x05\x03\x01\x02\x03\x03\x02kk\x03new\x04\x03new",
    "\x01\x01\x01\x07\x01s\x03\x01"
    "a\x01"
    "b\x01"
    "c\x05\x02t0\x02\x08\x10\x05\x02t0\x02\x08\x10",
    NULL,
};
const char chat_seed_end[] = "";
const size_t chat_seed_end_length = 0;

enum { MOST_TEXT = 80, MOST_DATA = 1 << 14 };

typedef struct bytes {
    const uint8_t *data;
    size_t n;
} bytes;

typedef struct file_bytes {
    uint8_t *data;
    size_t n;
} file_bytes;

static ggufx_runtime *rt;
static char path[TEMPORARY_PATH];
static uint8_t tensor_data[MOST_DATA];

static void must(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static uint32_t take(bytes *in) {
    if (in->n == 0) return 0;
    in->n--;
    return *in->data++;
}

static uint64_t number(bytes *in) {
    static const uint64_t odd[] = {0,
                                   1,
                                   2,
                                   127,
                                   128,
                                   255,
                                   256,
                                   32,
                                   64,
                                   0x7fffffff,
                                   0x80000000,
                                   UINT32_MAX,
                                   (uint64_t)1 << 32,
                                   INT64_MAX,
                                   (uint64_t)1 << 63,
                                   UINT64_MAX};
    const uint32_t which = take(in);
    return which < 128 ? which : which < 200 ? odd[which % 16] : (uint64_t)which << which % 56;
}

/* Takes a string from the input: its position and length. */
static const char *text(bytes *in, size_t *n) {
    const char *const out = (const char *)in->data;
    *n = take(in) % MOST_TEXT;
    if (*n >= in->n) *n = in->n;
    in->data += *n;
    in->n -= *n;
    return *n ? out + 1 : "";
}

static ggufx_status take_piece(void *user, uint32_t part, const void *data, size_t n) {
    file_bytes *const out = user;
    must(part == 0, "one part");
    out->data = realloc(out->data, out->n + n + 1);
    must(out->data != NULL, "memory");
    memcpy(out->data + out->n, data, n);
    out->n += n;
    return GGUFX_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void call_value(ggufx_writer *w, const char *key, size_t n_key, bytes *in) {
    const int32_t type = (int32_t)take(in) % 14;
    const size_t n = in->n < 64 ? in->n : 64;
    (void)ggufx_writer_set_value(w, key, n_key, type, in->data, n, NULL);
    for (size_t i = n; i > 0; i--) /* length of the value, as far as it is valid */
        if (ggufx_writer_set_value(w, key, n_key, type, in->data, i - 1, NULL) == GGUFX_OK) break;
}

static void call_strings(ggufx_writer *w, const char *key, size_t n_key, bytes *in) {
    const char *texts[8];
    size_t lengths[8], n = take(in) % 9;
    for (size_t i = 0; i < n; i++) texts[i] = text(in, lengths + i);
    (void)ggufx_writer_set_array_string(w, key, n_key, texts, lengths, n, NULL);
}

static void call_tensor(ggufx_writer *w, const char *name, size_t n_name, bytes *in) {
    ggufx_tensor *t = NULL;
    const uint32_t type = take(in) % 64;
    const uint64_t ne[2] = {take(in) * (uint64_t)(type < 2 ? 1 : 32), 1 + take(in) % 5};
    if (tensor_of(&t, rt, type, 2, ne, 0, tensor_data, MOST_DATA, NULL, NULL, NULL, NULL) ==
        GGUFX_OK)
        (void)ggufx_writer_add_tensor(w, t, name, n_name, NULL);
    ggufx_tensor_destroy(t);
}

static void call(ggufx_writer *w, bytes *in) {
    size_t n_key, n_other;
    const uint32_t what = take(in) % 10;
    const char *const key = text(in, &n_key);
    const char *other;
    switch (what) {
    case 0:
        (void)ggufx_writer_set_u64(w, key, n_key, (int32_t)take(in) % 14, number(in), NULL);
        break;
    case 1:
        (void)ggufx_writer_set_i64(w, key, n_key, (int32_t)take(in) % 14, (int64_t)number(in),
                                   NULL);
        break;
    case 2:
        (void)ggufx_writer_set_f64(w, key, n_key, take(in) % 2 ? GGUFX_VALUE_F32 : GGUFX_VALUE_F64,
                                   (double)number(in) * 0.37, NULL);
        break;
    case 3:
        other = text(in, &n_other);
        (void)ggufx_writer_rename(w, key, n_key, other, n_other, NULL);
        break;
    case 4:
        (void)ggufx_writer_unset(w, key, n_key, NULL);
        break;
    case 5:
        call_tensor(w, key, n_key, in);
        break;
    case 6:
        call_value(w, key, n_key, in);
        break;
    case 7:
        call_strings(w, key, n_key, in);
        break;
    case 8:
        other = text(in, &n_other);
        (void)ggufx_writer_set_string(w, key, n_key, other, n_other, NULL);
        break;
    default:
        (void)ggufx_writer_set_bool(w, key, n_key, (int32_t)take(in), NULL);
    }
}

/* ---- checks of the written file -------------------------------------------------------------- */

static file_bytes written(ggufx_writer *w) {
    file_bytes out = {NULL, 0};
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    must(ggufx_writer_info(&facts, w, NULL, NULL) == GGUFX_OK, "a size");
    must(ggufx_writer_write_stream(w, take_piece, &out, NULL, NULL) == GGUFX_OK, "it writes");
    must(facts.n_bytes == out.n, "the size that was told");
    return out;
}

static ggufx_file *opened(const file_bytes *b) {
    ggufx_file *file = NULL;
    ggufx_error error;
    if (ggufx_open_memory(&file, rt, b->data, b->n, NULL, NULL, NULL, &error) != GGUFX_OK)
        must(0, error.message);
    return file;
}

static ggufx_writer *copied(const ggufx_file *file) {
    ggufx_writer *w = NULL;
    ggufx_writer_options options = {.struct_size = sizeof options};
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    must(ggufx_file_info(&facts, file, NULL) == GGUFX_OK, "facts");
    options.version = facts.version;
    options.flags = facts.big_endian ? GGUFX_WRITE_BIG_ENDIAN : 0;
    must(ggufx_writer_create(&w, rt, &options, NULL) == GGUFX_OK &&
             ggufx_writer_copy_meta(w, file, NULL) == GGUFX_OK &&
             ggufx_writer_copy_tensors(w, file, NULL) == GGUFX_OK,
         "a copy");
    return w;
}

static void must_copy_to_the_same(const file_bytes *b) {
    ggufx_file *const file = opened(b);
    ggufx_writer *const w = copied(file);
    const file_bytes again = written(w);
    must(again.n == b->n && memcmp(again.data, b->data, b->n) == 0, "a copy has the same bytes");
    ggufx_writer_destroy(w);
    ggufx_file_destroy(file);
    free(again.data);
}

static ggufx_file *opened_path(void) {
    ggufx_file *file = NULL;
    ggufx_open_options options = {.struct_size = sizeof options};
    options.io = GGUFX_IO_READ;
    must(ggufx_open(&file, rt, path, &options, NULL) == GGUFX_OK, "the edited file opens");
    return file;
}

/* Unsets keys that are not compared: the reserved space, and the id of split files, which copies of
 * single files omit. */
static void unset_own(ggufx_writer *w, int room) {
    if (room) (void)ggufx_writer_unset(w, "ggufx.reserve", 13, NULL);
    (void)ggufx_writer_unset(w, "ggufx.split.id", 14, NULL);
}

/* Makes more calls, in place and as a new file; without the reserved space the files are the
 * same. */
static void edit(const file_bytes *b, bytes *in) {
    FILE *const f = fopen(path, "wb");
    must(f && fwrite(b->data, 1, b->n, f) == b->n && fclose(f) == 0, "a file");
    ggufx_file *file = opened_path();
    ggufx_writer *w = copied(file);
    ggufx_edit_facts facts = {.struct_size = sizeof facts};
    ggufx_error error;
    for (int i = 0; i < 3 && in->n; i++) call(w, in);
    unset_own(w, 1);
    const file_bytes want = written(w);
    const ggufx_status status = ggufx_writer_edit(&facts, w, file, path, NULL, &error);
    if (status != GGUFX_OK) must(0, error.message);
    ggufx_writer_destroy(w);
    ggufx_file_destroy(file);
    file = opened_path();
    w = copied(file);
    unset_own(w, 1);
    const file_bytes got = written(w);
    must(got.n == want.n && memcmp(got.data, want.data, want.n) == 0, "an edit is a new file");
    must(facts.in_place || facts.n_bytes == want.n, "bytes that were told");
    ggufx_writer_destroy(w);
    ggufx_file_destroy(file);
    free(got.data);
    free(want.data);
}

static void clean(void) {
    temporary_clean();
    temporary_remove();
}

static void begin(void) {
    must(ggufx_runtime_create(&rt, NULL, NULL) == GGUFX_OK, "a runtime");
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0); /* no cost of fsync */
    must(temporary_make() == 0, "a folder");
    temporary_path(path, "f.gguf");
    atexit(clean);
    for (size_t i = 0; i < MOST_DATA; i++) tensor_data[i] = (uint8_t)(i * 31 >> 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes in = {data, size};
    ggufx_writer *w = NULL;
    ggufx_writer_options options = {.struct_size = sizeof options};
    if (!rt) begin();
    options.version = 2 + take(&in) % 2;
    options.flags = take(&in) % 4 == 2 ? GGUFX_WRITE_BIG_ENDIAN : 0;
    options.reserve_bytes = take(&in) * 8;
    must(ggufx_writer_create(&w, rt, &options, NULL) == GGUFX_OK, "a writer");
    for (int n = 0; in.n > size / 3 && n < 40; n++) call(w, &in);
    unset_own(w, 0);
    const file_bytes made = written(w);
    ggufx_writer_destroy(w);
    must_copy_to_the_same(&made);
    edit(&made, &in);
    free(made.data);
    return 0;
}
