/*
 * Data of written files: from callbacks, memory and slices; split files and their sizes.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "writer_fixture.h"

#include <stdlib.h>
#include <string.h>

static uint8_t byte_at(uint64_t i) {
    return (uint8_t)(i * 2654435761u >> 13);
}

typedef struct source {
    uint64_t next, row_bytes, block_bytes, n_calls, fail_at;
    int destroyed;
} source;

static ggufx_status make_bytes(void *user, uint64_t offset, void *dst, size_t n) {
    source *s = user;
    if (offset == 0) s->next = 0; /* each write starts again */
    if (s->fail_at && ++s->n_calls == s->fail_at) return -5;
    if (offset != s->next || n == 0 || n > 512 * 1024) return GGUFX_E_STATE;
    if (s->row_bytes <= 512 * 1024 && n % s->row_bytes) return GGUFX_E_SHAPE;
    if (n % s->block_bytes || offset / s->row_bytes != (offset + n - 1) / s->row_bytes)
        if (s->row_bytes > 512 * 1024) return GGUFX_E_SHAPE; /* never beyond a row's end */
    for (size_t i = 0; i < n; i++) ((uint8_t *)dst)[i] = byte_at(offset + i);
    s->next += n;
    return GGUFX_OK;
}

static void count_destroyed(void *user) {
    ((source *)user)->destroyed++;
}

static ggufx_tensor_stream stream_of(source *s) {
    return (ggufx_tensor_stream){.struct_size = sizeof(ggufx_tensor_stream),
                                 .user = s,
                                 .read = make_bytes,
                                 .destroy = count_destroyed};
}

static void check_stream(uint32_t type, uint64_t ne0, uint64_t ne1, uint64_t block_bytes,
                         int big_endian, int field) {
    const uint64_t ne[2] = {ne0, ne1};
    uint64_t row = 0;
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_type_row_bytes(&row, type, ne0, ok_error()));
    source s = {.row_bytes = row, .block_bytes = block_bytes};
    const ggufx_tensor_stream stream = stream_of(&s);
    ggufx_writer *w = new_writer(rt, 0, big_endian);
    kept k;
    OK(ggufx_writer_add_stream(w, S("t"), type, 2, ne, &stream, ok_error()));
    write_kept(w, &k, NULL);
    assert_true(k.largest <= 512 * 1024);
    ggufx_file *f = open_bytes(&k.part[0], 0);
    OK(ggufx_tensor_info(&facts, ggufx_file_tensor(f, 0), ok_error()));
    const uint8_t *in_memory = ggufx_tensor_data(ggufx_file_tensor(f, 0));
    for (uint64_t i = 0; i < row * ne1; i++)
        if (in_memory[i] != byte_at(i)) fail_msg("byte %llu", (unsigned long long)i);
    if (big_endian) /* the first field is byte-swapped in the file */
        for (int i = 0; i < field; i++)
            assert_int_equal(k.part[0].data[facts.file_offset + (uint64_t)i],
                             byte_at((uint64_t)(field - 1 - i)));
    kept_free(&k);
    ggufx_file_destroy(f);
    assert_int_equal(s.destroyed, 0);
    ggufx_writer_destroy(w);
    assert_int_equal(s.destroyed, 1);
}

static void test_streams_are_asked_in_order_for_rows_or_blocks(void **state) {
    (void)state;
    for (int big = 0; big < 2; big++) {
        check_stream(GGUFX_TYPE_I8, 1, 1, 1, big, 1);
        check_stream(GGUFX_TYPE_F32, 3, 5, 4, big, 4);
        check_stream(GGUFX_TYPE_F32, 30000, 40, 4, big, 4);       /* several rows at once */
        check_stream(GGUFX_TYPE_Q8_0, 32 * 20000, 3, 34, big, 2); /* rows larger than a piece */
        check_stream(GGUFX_TYPE_Q4_K, 256 * 5, 700, 144, big, 2);
        check_stream(GGUFX_TYPE_I64, 65536, 2, 8, big, 8); /* exactly one piece */
        check_stream(GGUFX_TYPE_I64, 65537, 2, 8, big, 8);
    }
}

/* Rows with gaps are written densely, in both byte orders. */
static void test_memory_is_written_dense(void **state) {
    (void)state;
    enum { kColumns = 3000, kRows = 100, kKept = 1000 };
    uint8_t *x = malloc(2 * kColumns * kRows);
    for (uint32_t i = 0; i < 2 * kColumns * kRows; i++) x[i] = byte_at(i);
    ggufx_tensor *t = wrap(GGUFX_TYPE_I16, 2, kColumns, kRows, x, 2 * kColumns * kRows);
    ggufx_tensor *slice = NULL;
    OK(ggufx_tensor_slice(&slice, t, 0, 500, kKept, ok_error()));
    for (int big = 0; big < 2; big++) {
        ggufx_writer *w = new_writer(rt, 0, big);
        kept k;
        OK(ggufx_writer_add_tensor(w, slice, S("slice"), ok_error()));
        OK(ggufx_writer_add_tensor(w, t, S("whole"), ok_error()));
        write_kept(w, &k, NULL);
        ggufx_file *f = open_bytes(&k.part[0], 0);
        const uint8_t *data = ggufx_tensor_data(ggufx_file_tensor(f, 0));
        for (uint32_t r = 0; r < kRows; r++)
            if (memcmp(data + 2 * r * kKept, x + 2 * (r * kColumns + 500), 2 * kKept) != 0)
                fail_msg("row %u", r);
        data = ggufx_tensor_data(ggufx_file_tensor(f, 1)); /* after a small tensor */
        assert_memory_equal(data, x, 2 * kColumns * kRows);
        ggufx_file_destroy(f);
        ggufx_writer_destroy(w);
        kept_free(&k);
    }
    ggufx_tensor_destroy(slice);
    ggufx_tensor_destroy(t);
    free(x);
}

/* ---- split files ----------------------------------------------------------------------------- */

static uint64_t part_key(const ggufx_file *f, const char *key) {
    size_t at = 0;
    uint64_t v = 0;
    OK(ggufx_file_meta_find(&at, f, key, strlen(key), ok_error()));
    OK(ggufx_file_meta_u64(&v, f, at, ok_error()));
    return v;
}

static void check_part(const kept *k, uint32_t i, size_t n_tensors, size_t n_keys) {
    ggufx_file *f = open_bytes(&k->part[i], GGUFX_OPEN_STRICT | GGUFX_OPEN_SINGLE);
    ggufx_meta_facts entry = {.struct_size = sizeof entry};
    size_t at = 0;
    assert_int_equal(ggufx_file_tensor_count(f), n_tensors);
    assert_int_equal(ggufx_file_meta_count(f), n_keys);
    assert_int_equal(part_key(f, "split.no"), i);
    assert_int_equal(part_key(f, "split.count"), k->n_parts);
    assert_int_equal(part_key(f, "split.tensors.count"), 5);
    (void)part_key(f, "ggufx.split.id");
    OK(ggufx_file_meta_find(&at, f, S("split.count"), ok_error()));
    OK(ggufx_file_meta_at(&entry, f, at, ok_error()));
    assert_int_equal(entry.type, GGUFX_VALUE_U16);
    OK(ggufx_file_meta_find(&at, f, S("split.tensors.count"), ok_error()));
    OK(ggufx_file_meta_at(&entry, f, at, ok_error()));
    assert_int_equal(entry.type, GGUFX_VALUE_I32);
    ggufx_file_destroy(f);
}

/* Creates a writer with five tensors of 1000 bytes and a key; split keys that were set are
 * replaced. */
static ggufx_writer *five_tensors(const void *data) {
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_tensor *t = wrap(GGUFX_TYPE_I8, 1, 1000, 1, data, 1000);
    char name[2] = "0";
    OK(ggufx_writer_set_string(w, S("split.count"), S("wrong"), ok_error()));
    OK(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 64, ok_error()));
    OK(ggufx_writer_set_string(
        w, S("key"), S("a text of sixty-four characters, which only the first part holds"),
        ok_error()));
    for (int i = 0; i < 5; i++, name[0]++) OK(ggufx_writer_add_tensor(w, t, name, 1, ok_error()));
    ggufx_tensor_destroy(t);
    return w;
}

static void test_parts_hold_as_many_tensors_and_bytes_as_allowed(void **state) {
    (void)state;
    static const uint8_t data[1000] = {9};
    static const struct {
        uint64_t bytes, tensors;
        uint32_t n_parts;
        size_t n[5];
    } kCases[] = {
        {0, 2, 3, {2, 2, 1}},
        {0, 5, 1, {5}},
        {0, 100, 1, {5}},
        {2500, 0, 3, {2, 2, 1}},
        {2500, 1, 5, {1, 1, 1, 1, 1}},
        {1 << 20, 0, 1, {5}},
        /* 1024 bytes per tensor, preceded by 384 bytes of the first file, 320 of others (of two or
         * three) */
        {384 + 3 * 1024, 0, 2, {3, 2}},
        {384 + 3 * 1024 - 1, 0, 2, {2, 3}},
        {320 + 3 * 1024, 0, 2, {2, 3}},
        {320 + 3 * 1024 - 1, 0, 3, {2, 2, 1}},
    };
    ggufx_writer *w = five_tensors(data);
    for (size_t i = 0; i < sizeof kCases / sizeof *kCases; i++) {
        ggufx_write_options options = {.struct_size = sizeof options};
        ggufx_writer_facts facts = {.struct_size = sizeof facts};
        kept k;
        options.max_part_bytes = kCases[i].bytes;
        options.max_part_tensors = kCases[i].tensors;
        OK(ggufx_writer_info(&facts, w, &options, ok_error()));
        write_kept(w, &k, &options);
        if (k.n_parts != kCases[i].n_parts) fail_msg("case %zu: %u parts", i, k.n_parts);
        assert_int_equal(facts.n_parts, k.n_parts);
        assert_int_equal(facts.n_bytes, k.n);
        for (uint32_t p = 0; p < k.n_parts; p++) {
            check_part(&k, p, kCases[i].n[p], p ? 5 : 6);
            if (kCases[i].bytes) assert_true(k.part[p].n <= kCases[i].bytes);
        }
        kept_free(&k);
    }
    ggufx_writer_destroy(w);
}

/* The keys alone exceed the size of a part; each tensor does, too. */
static void test_what_is_too_large_for_a_part_stands_alone(void **state) {
    (void)state;
    static const uint8_t data[1000] = {9};
    ggufx_writer *w = five_tensors(data);
    ggufx_write_options options = {.struct_size = sizeof options};
    kept k;
    options.max_part_bytes = 100;
    write_kept(w, &k, &options);
    assert_int_equal(k.n_parts, 6);
    for (uint32_t p = 0; p < 6; p++) check_part(&k, p, p > 0, p ? 5 : 6);
    kept_free(&k);
    ggufx_writer_destroy(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_are_asked_in_order_for_rows_or_blocks),
        cmocka_unit_test(test_memory_is_written_dense),
        cmocka_unit_test(test_parts_hold_as_many_tensors_and_bytes_as_allowed),
        cmocka_unit_test(test_what_is_too_large_for_a_part_stands_alone),
    };
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
