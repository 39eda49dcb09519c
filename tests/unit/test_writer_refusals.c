/*
 * Tensors, sizes and copies that a writer refuses, with status and message, without a change.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "writer_fixture.h"

#include <string.h>

static ggufx_status no_data(void *user, uint64_t offset, void *dst, size_t n) {
    (void)user, (void)offset, (void)dst, (void)n;
    return GGUFX_E_IO;
}
static void count_one(void *user) {
    ++*(int *)user;
}

static void test_unusable_tensors_are_refused(void **state) {
    (void)state;
    static const struct {
        uint32_t type, n_dims;
        uint64_t ne[4];
        ggufx_status status;
        const char *text;
    } kCases[] = {
        {99, 1, {32}, GGUFX_E_TYPE, "99"},
        {4, 1, {32}, GGUFX_E_TYPE, "removed"},
        {GGUFX_TYPE_Q4_0, 2, {31, 2}, GGUFX_E_SHAPE, "32"},
        {GGUFX_TYPE_F32, 4, {1ull << 40, 1ull << 40, 1, 1}, GGUFX_E_OVERFLOW, "2^63"},
        {GGUFX_TYPE_F32, 1, {1ull << 62}, GGUFX_E_OVERFLOW, "2^63"},
        {GGUFX_TYPE_F32, 2, {0, 1ull << 63}, GGUFX_E_OVERFLOW, "dimension 1"},
        {GGUFX_TYPE_F32, 5, {1, 1, 1, 1}, GGUFX_E_ARGUMENT, "n_dims"},
    };
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_error e;
    int destroyed = 0, expected = 0;
    ggufx_tensor_stream stream = {
        .struct_size = sizeof stream, .user = &destroyed, .read = no_data, .destroy = count_one};
    const uint64_t one[1] = {1};
    char name[65];
    memset(name, 'n', sizeof name);
    for (size_t i = 0; i < sizeof kCases / sizeof *kCases; i++) {
        expect(ggufx_writer_add_stream(w, S("t"), kCases[i].type, kCases[i].n_dims, kCases[i].ne,
                                       &stream, &e),
               kCases[i].status, &e, kCases[i].text);
        assert_int_equal(destroyed, ++expected);
    }
    expect(ggufx_writer_add_stream(w, name, 64, 0, 1, one, &stream, &e), GGUFX_E_NAME, &e, "63");
    expect(ggufx_writer_add_stream(w, NULL, 1, 0, 1, one, &stream, &e), GGUFX_E_ARGUMENT, &e,
           "name");
    expect(ggufx_writer_add_stream(w, S("t"), 0, 1, NULL, &stream, &e), GGUFX_E_ARGUMENT, &e, "ne");
    expect(ggufx_writer_add_stream(NULL, S("t"), 0, 1, one, &stream, &e), GGUFX_E_ARGUMENT, &e,
           "writer");
    assert_int_equal(destroyed, expected += 4);
    OK(ggufx_writer_add_stream(w, name, 63, 0, 1, one, &stream, ok_error()));
    OK(ggufx_writer_add_stream(w, S(""), 0, 0, NULL, &stream, ok_error()));
    assert_int_equal(destroyed, expected);
    expect(ggufx_writer_add_stream(w, name, 63, 0, 1, one, &stream, &e), GGUFX_E_DUPLICATE, &e,
           "tensor 0");
    assert_int_equal(e.index, 2);
    assert_int_equal(destroyed, ++expected);
    stream.read = NULL;
    expect(ggufx_writer_add_stream(w, S("u"), 0, 1, one, &stream, &e), GGUFX_E_ARGUMENT, &e,
           "read");
    expect(ggufx_writer_add_stream(w, S("u"), 0, 1, one, NULL, &e), GGUFX_E_ARGUMENT, &e, "stream");
    ggufx_writer_destroy(w);
    assert_int_equal(destroyed, expected + 3);
}

static void test_sizes_beyond_63_bits_are_refused_before_a_byte_is_written(void **state) {
    (void)state;
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_tensor_stream stream = {.struct_size = sizeof stream, .read = no_data};
    const uint64_t half[1] = {1ull << 62};
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    ggufx_error e;
    kept k = {0};
    OK(ggufx_writer_add_stream(w, S("a"), GGUFX_TYPE_I8, 1, half, &stream, ok_error()));
    OK(ggufx_writer_info(&facts, w, NULL, ok_error()));
    OK(ggufx_writer_add_stream(w, S("b"), GGUFX_TYPE_I8, 1, half, &stream, ok_error()));
    expect(ggufx_writer_info(&facts, w, NULL, &e), GGUFX_E_OVERFLOW, &e, "2^63");
    expect(ggufx_writer_write_stream(w, kept_write, &k, NULL, &e), GGUFX_E_OVERFLOW, &e, "2^63");
    assert_int_equal(k.n, 0);
    ggufx_writer_destroy(w);
}

static void test_more_parts_than_a_set_can_number_are_refused(void **state) {
    (void)state;
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_tensor_stream stream = {.struct_size = sizeof stream, .read = no_data};
    const uint64_t none[1] = {0};
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    ggufx_write_options options = {.struct_size = sizeof options};
    ggufx_error e;
    char name[8];
    options.max_part_tensors = 1;
    for (unsigned i = 0; i < 65536; i++) {
        for (int d = 0; d < 4; d++) name[d] = (char)('a' + (i >> 4 * d & 15));
        if (i == 65535) OK(ggufx_writer_info(&facts, w, &options, ok_error()));
        OK(ggufx_writer_add_stream(w, name, 4, GGUFX_TYPE_I8, 1, none, &stream, ok_error()));
    }
    assert_int_equal(facts.n_parts, 65535);
    expect(ggufx_writer_info(&facts, w, &options, &e), GGUFX_E_LIMIT, &e, "65535");
    ggufx_writer_destroy(w);
}

/* A gigabyte of reserved space for keys: more than a reader accepts. */
static void test_metadata_over_the_limit_are_refused(void **state) {
    (void)state;
    ggufx_writer *w = NULL;
    ggufx_writer_options options = {.struct_size = sizeof options};
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    ggufx_error e;
    options.reserve_bytes = (1ull << 30) - 24 - (8 + 13 + 4) - 12;
    for (int more = 0; more < 2; more++, options.reserve_bytes++) {
        OK(ggufx_writer_create(&w, rt, &options, ok_error()));
        if (more)
            expect(ggufx_writer_info(&facts, w, NULL, &e), GGUFX_E_LIMIT, &e, "1073741824");
        else
            OK(ggufx_writer_info(&facts, w, NULL, ok_error()));
        ggufx_writer_destroy(w);
    }
}

static void test_tensors_that_cannot_be_written_are_refused(void **state) {
    (void)state;
    gb source;
    ggufx_error e;
    gb_everything(&source, 3, 0);
    ggufx_file *f = open_bytes(&source, GGUFX_OPEN_METADATA_ONLY);
    ggufx_writer *w = new_writer(rt, 0, 0), *big = new_writer(rt, 0, 1);
    expect(ggufx_writer_copy_tensors(w, f, &e), GGUFX_E_UNSUPPORTED, &e, "\"vector\"");
    expect(ggufx_writer_add_tensor(w, ggufx_file_tensor(f, 1), NULL, 0, &e), GGUFX_E_UNSUPPORTED,
           &e, "not in memory");
    expect(ggufx_writer_add_tensor(w, NULL, NULL, 0, &e), GGUFX_E_ARGUMENT, &e, "tensor");
    expect(ggufx_writer_copy_tensors(w, NULL, &e), GGUFX_E_ARGUMENT, &e, "file");
    expect(ggufx_writer_copy_meta(w, NULL, &e), GGUFX_E_ARGUMENT, &e, "file");
    ggufx_type_facts type = {.struct_size = sizeof type};
    int n_refused = 0;
    for (uint32_t id = 0; id < 43; id++) { /* types whose fields have no byte swap */
        if (ggufx_type_info(&type, id, NULL) != GGUFX_OK) continue;
        ggufx_tensor *t = wrap(id, 1, 0, 1, NULL, 0);
        const ggufx_status status =
            ggufx_writer_add_tensor(big, t, type.name, strlen(type.name), &e);
        if (status != GGUFX_OK) expect(status, GGUFX_E_ENDIAN, &e, type.name), n_refused++;
        ggufx_tensor_destroy(t);
    }
    assert_int_equal(n_refused,
                     21); /* the other 14 are floats, integers, q4_0 q8_0 q4_K q6_K, fp4 */
    ggufx_writer_destroy(w);
    ggufx_writer_destroy(big);
    ggufx_file_destroy(f);
    gb_free(&source);
}

/* An allocator that never reuses or overwrites freed memory: names that should be removed could
 * still be found. */
static _Alignas(64) unsigned char arena[1 << 20];
static size_t arena_used;
static void *arena_alloc(void *user, size_t size, size_t align) {
    (void)user;
    arena_used = (arena_used + align - 1) / align * align;
    if (size > sizeof arena - arena_used) return NULL;
    arena_used += size;
    return arena + arena_used - size;
}
static void arena_free(void *user, void *ptr, size_t size, size_t align) {
    (void)user, (void)ptr, (void)size, (void)align;
}

static void test_names_of_a_failed_copy_are_free_again(void **state) {
    (void)state;
    static const ggufx_allocator allocator = {
        .struct_size = sizeof allocator, .alloc = arena_alloc, .free = arena_free};
    static const uint8_t byte[1] = {1};
    ggufx_runtime_options options = {.struct_size = sizeof options,
                                     .allocator = &allocator,
                                     .threads = 1,
                                     .workspace_bytes = 4096};
    ggufx_runtime *own = NULL;
    gb source;
    ggufx_error e;
    gb_everything(&source, 3, 0);
    OK(ggufx_runtime_create(&own, &options, ok_error()));
    ggufx_file *f = open_bytes(&source, 0);
    ggufx_writer *w = new_writer(own, 0, 0);
    ggufx_tensor *t = wrap(GGUFX_TYPE_I8, 1, 1, 1, byte, 1);
    OK(ggufx_writer_add_tensor(w, t, S("scalar"), ok_error()));
    expect(ggufx_writer_copy_tensors(w, f, &e), GGUFX_E_DUPLICATE, &e, "\"scalar\"");
    OK(ggufx_writer_add_tensor(w, t, S("vector"), ok_error()));
    OK(ggufx_writer_add_tensor(w, t, S("matrix"), ok_error()));
    ggufx_tensor_destroy(t);
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    ggufx_runtime_destroy(own);
    gb_free(&source);
}

/* The third tensor has an existing name: none of the file's tensors is added. */
static void test_copies_are_made_whole_or_not_at_all(void **state) {
    (void)state;
    static const uint8_t byte[1] = {1};
    gb source, want;
    kept k;
    ggufx_error e;
    gb_everything(&source, 3, 0);
    ggufx_file *f = open_bytes(&source, 0);
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_tensor *t = wrap(GGUFX_TYPE_I8, 1, 1, 1, byte, 1);
    const uint64_t ne[1] = {1};
    OK(ggufx_writer_add_tensor(w, t, S("scalar"), ok_error()));
    expect(ggufx_writer_copy_tensors(w, f, &e), GGUFX_E_DUPLICATE, &e, "\"scalar\"");
    OK(ggufx_writer_add_tensor(w, t, S("vector"), ok_error()));
    expect(ggufx_writer_add_tensor(w, t, S("vector"), &e), GGUFX_E_DUPLICATE, &e, "tensor 1");
    expect(ggufx_writer_add_tensor(w, t, S("scalar"), &e), GGUFX_E_DUPLICATE, &e, "tensor 0");
    gb_begin(&want, 3, 0);
    gb_tensor(&want, "scalar", GGUFX_TYPE_I8, 1, ne, 1);
    gb_tensor(&want, "vector", GGUFX_TYPE_I8, 1, ne, 1);
    gb_data(&want);
    gb_tensor_data(&want, byte, 1);
    gb_tensor_data(&want, byte, 1);
    write_kept(w, &k, NULL);
    assert_bytes(&k.part[0], want.data, want.n);
    kept_free(&k);
    gb_free(&want);
    ggufx_tensor_destroy(t);
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    gb_free(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unusable_tensors_are_refused),
        cmocka_unit_test(test_sizes_beyond_63_bits_are_refused_before_a_byte_is_written),
        cmocka_unit_test(test_more_parts_than_a_set_can_number_are_refused),
        cmocka_unit_test(test_metadata_over_the_limit_are_refused),
        cmocka_unit_test(test_tensors_that_cannot_be_written_are_refused),
        cmocka_unit_test(test_names_of_a_failed_copy_are_free_again),
        cmocka_unit_test(test_copies_are_made_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
