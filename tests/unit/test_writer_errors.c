/*
 * Keys and options that a writer refuses: every fault a reader would find, with its status and
 * message, without a change.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "writer_fixture.h"

#include <stdlib.h>

static uint64_t n_bytes_of(const ggufx_writer *w) {
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_writer_info(&facts, w, NULL, ok_error()));
    return facts.n_bytes;
}

static void test_numbers_out_of_their_type_are_refused(void **state) {
    (void)state;
    static const struct {
        int32_t type;
        uint64_t largest;
        int64_t smallest;
    } kTypes[] = {
        {GGUFX_VALUE_U8, 255, 0},         {GGUFX_VALUE_I8, 127, -128},
        {GGUFX_VALUE_U16, 65535, 0},      {GGUFX_VALUE_I16, 32767, -32768},
        {GGUFX_VALUE_U32, 4294967295, 0}, {GGUFX_VALUE_I32, 2147483647, INT32_MIN},
        {GGUFX_VALUE_U64, UINT64_MAX, 0}, {GGUFX_VALUE_I64, INT64_MAX, INT64_MIN},
        {GGUFX_VALUE_BOOL, 1, 0},
    };
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_error e;
    for (size_t i = 0; i < sizeof kTypes / sizeof *kTypes; i++) {
        const int32_t type = kTypes[i].type;
        OK(ggufx_writer_set_u64(w, S("k"), type, kTypes[i].largest, ok_error()));
        OK(ggufx_writer_set_i64(w, S("k"), type, kTypes[i].smallest, ok_error()));
        if (kTypes[i].largest < UINT64_MAX)
            expect(ggufx_writer_set_u64(w, S("k"), type, kTypes[i].largest + 1, &e), GGUFX_E_VALUE,
                   &e, "\"k\"");
        if (kTypes[i].smallest > INT64_MIN)
            expect(ggufx_writer_set_i64(w, S("k"), type, kTypes[i].smallest - 1, &e), GGUFX_E_VALUE,
                   &e, "does not fit type");
    }
    expect(ggufx_writer_set_u64(w, S("k"), GGUFX_VALUE_F32, 1, &e), GGUFX_E_ARGUMENT, &e, "type");
    expect(ggufx_writer_set_i64(w, S("k"), GGUFX_VALUE_STRING, 1, &e), GGUFX_E_ARGUMENT, &e,
           "type");
    expect(ggufx_writer_set_u64(w, S("k"), 13, 1, &e), GGUFX_E_ARGUMENT, &e, "GGUFX_VALUE");
    expect(ggufx_writer_set_f64(w, S("k"), GGUFX_VALUE_U32, 1, &e), GGUFX_E_ARGUMENT, &e, "F32");
    expect(ggufx_writer_set_f64(w, S("k"), GGUFX_VALUE_F32, 1e39, &e), GGUFX_E_VALUE, &e, "f32");
    OK(ggufx_writer_set_f64(w, S("k"), GGUFX_VALUE_F32, 1e300 * 1e300, ok_error())); /* infinity */
    ggufx_writer_destroy(w);
}

static void test_unusable_keys_are_refused(void **state) {
    (void)state;
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_error e;
    const uint64_t before = n_bytes_of(w);
    expect(ggufx_writer_set_bool(w, S(""), 1, &e), GGUFX_E_KEY, &e, "empty");
    expect(ggufx_writer_set_string(w, NULL, 0, S("x"), &e), GGUFX_E_KEY, &e, "empty");
    expect(ggufx_writer_set_string(w, NULL, 3, S("x"), &e), GGUFX_E_ARGUMENT, &e, "key");
    expect(ggufx_writer_set_string(w, S("k"), NULL, 3, &e), GGUFX_E_ARGUMENT, &e, "text");
    expect(ggufx_writer_unset(w, S("k"), &e), GGUFX_E_NOT_FOUND, &e, "\"k\"");
    expect(ggufx_writer_rename(w, S("k"), S("l"), &e), GGUFX_E_NOT_FOUND, &e, "\"k\"");
    assert_int_equal(n_bytes_of(w), before);
    OK(ggufx_writer_set_bool(w, S("k"), 1, ok_error()));
    OK(ggufx_writer_set_bool(w, S("l"), 1, ok_error()));
    expect(ggufx_writer_rename(w, S("k"), S("l"), &e), GGUFX_E_DUPLICATE, &e, "\"l\"");
    expect(ggufx_writer_rename(w, S("k"), S(""), &e), GGUFX_E_KEY, &e, "empty");
    expect(ggufx_writer_rename(w, S("k"), S("general.alignment"), &e), GGUFX_E_VALUE_TYPE, &e,
           "u32");
    expect(ggufx_writer_rename(w, S("k"), NULL, 1, &e), GGUFX_E_ARGUMENT, &e, "new_key");
    OK(ggufx_writer_unset(w, S("k"), ok_error()));
    OK(ggufx_writer_unset(w, S("l"), ok_error()));
    assert_int_equal(n_bytes_of(w), before);
    ggufx_writer_destroy(w);
}

static void test_only_powers_of_two_align(void **state) {
    (void)state;
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_error e;
    OK(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 64, ok_error()));
    expect(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 0, &e),
           GGUFX_E_ALIGNMENT, &e, "power of two");
    expect(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 24, &e),
           GGUFX_E_ALIGNMENT, &e, "24");
    expect(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U64, 32, &e),
           GGUFX_E_VALUE_TYPE, &e, "u32");
    expect(ggufx_writer_set_value(w, S("general.alignment"), GGUFX_VALUE_U32, "\3\0\0\0", 4, &e),
           GGUFX_E_ALIGNMENT, &e, "3");
    ggufx_writer_destroy(w);
    w = new_writer(rt, 0, 1); /* also in the other byte order */
    OK(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 256, ok_error()));
    expect(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 24, &e),
           GGUFX_E_ALIGNMENT, &e, "24");
    ggufx_writer_destroy(w);
}

/* A value of `depth` nested arrays; the innermost is an array of u8. */
static gb nested_to(int depth) {
    gb b;
    gb_begin(&b, 3, 0);
    b.n = 0;
    for (int i = 1; i < depth; i++) gb_array(&b, GGUFX_VALUE_ARRAY, 1);
    gb_array(&b, GGUFX_VALUE_U8, 1), gb_u8(&b, 1);
    return b;
}

static gb many_inner(uint64_t n) {
    gb b;
    gb_begin(&b, 3, 0);
    b.n = 0;
    gb_array(&b, GGUFX_VALUE_ARRAY, n);
    for (uint64_t i = 0; i < n; i++) gb_array(&b, GGUFX_VALUE_U8, 0);
    return b;
}

static void test_values_given_as_bytes_are_checked(void **state) {
    (void)state;
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_error e;
    const uint64_t before = n_bytes_of(w);
#define REFUSED(type, bytes, status, text)                                                         \
    expect(ggufx_writer_set_value(w, S("key"), type, S(bytes), &e), status, &e, text)
    REFUSED(GGUFX_VALUE_U32, "\1\0\0", GGUFX_E_TRUNCATED, "\"key\"");
    REFUSED(GGUFX_VALUE_U32, "\1\0\0\0\0", GGUFX_E_ARGUMENT, "4 bytes");
    REFUSED(GGUFX_VALUE_BOOL, "\2", GGUFX_E_VALUE, "not 0 or 1");
    REFUSED(GGUFX_VALUE_STRING, "\3\0\0\0\0\0\0\0ab", GGUFX_E_TRUNCATED, "a string");
    REFUSED(GGUFX_VALUE_ARRAY, "\15\0\0\0\0\0\0\0\0\0\0\0", GGUFX_E_VALUE_TYPE, "13");
    REFUSED(GGUFX_VALUE_ARRAY, "\4\0\0\0\2\0\0\0\0\0\0\0abcdefg", GGUFX_E_COUNT, "2 x u32");
    REFUSED(GGUFX_VALUE_ARRAY, "\4\0\0\0\377\377\377\377\377\377\377\377abcd", GGUFX_E_COUNT,
            "u32");
    REFUSED(GGUFX_VALUE_ARRAY, "\10\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0a\0\0\0\0\0\0\0",
            GGUFX_E_TRUNCATED, "length of a string");
    REFUSED(13, "\0", GGUFX_E_ARGUMENT, "GGUFX_VALUE");
    gb deep = nested_to(8), deeper = nested_to(9);
    OK(ggufx_writer_set_value(w, S("deep"), GGUFX_VALUE_ARRAY, deep.data, deep.n, ok_error()));
    expect(ggufx_writer_set_value(w, S("key"), GGUFX_VALUE_ARRAY, deeper.data, deeper.n, &e),
           GGUFX_E_LIMIT, &e, "nested deeper than 8");
    gb many = many_inner(65536), more = many_inner(65537);
    expect(ggufx_writer_set_value(w, S("key"), GGUFX_VALUE_ARRAY, more.data, more.n, &e),
           GGUFX_E_LIMIT, &e, "65536");
    OK(ggufx_writer_unset(w, S("deep"), ok_error()));
    assert_int_equal(n_bytes_of(w), before);
    OK(ggufx_writer_set_value(w, S("many"), GGUFX_VALUE_ARRAY, many.data, many.n, ok_error()));
    (void)n_bytes_of(w);
    OK(ggufx_writer_set_value(w, S("deep"), GGUFX_VALUE_ARRAY, deep.data, deep.n, ok_error()));
    ggufx_writer_facts facts = {.struct_size = sizeof facts}; /* together they are too many */
    expect(ggufx_writer_info(&facts, w, NULL, &e), GGUFX_E_LIMIT, &e, "65536");
    OK(ggufx_writer_rename(w, S("many"), S("renamed"), ok_error()));
    expect(ggufx_writer_info(&facts, w, NULL, &e), GGUFX_E_LIMIT, &e, "65536");
    gb_free(&deep), gb_free(&deeper), gb_free(&many), gb_free(&more);
    ggufx_writer_destroy(w);
}

static void test_bad_arguments_of_arrays_are_refused(void **state) {
    (void)state;
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_error e;
    const char *texts[2] = {"a", NULL};
    const size_t lengths[2] = {1, 1};
    expect(ggufx_writer_set_array(w, S("k"), GGUFX_VALUE_STRING, "", 0, &e), GGUFX_E_ARGUMENT, &e,
           "element_type");
    expect(ggufx_writer_set_array(w, S("k"), GGUFX_VALUE_ARRAY, "", 0, &e), GGUFX_E_ARGUMENT, &e,
           "element_type");
    expect(ggufx_writer_set_array(w, S("k"), GGUFX_VALUE_U8, NULL, 1, &e), GGUFX_E_ARGUMENT, &e,
           "elements");
    expect(ggufx_writer_set_array(w, S("k"), GGUFX_VALUE_U64, "", SIZE_MAX / 4, &e),
           GGUFX_E_ARGUMENT, &e, "address space");
    expect(ggufx_writer_set_array_string(w, S("k"), texts, lengths, 2, &e), GGUFX_E_ARGUMENT, &e,
           "string 1");
    assert_int_equal(e.index, 1);
    expect(ggufx_writer_set_array_string(w, S("k"), NULL, lengths, 1, &e), GGUFX_E_ARGUMENT, &e,
           "texts");
    expect(ggufx_writer_set_value(w, S("k"), GGUFX_VALUE_U8, NULL, 1, &e), GGUFX_E_ARGUMENT, &e,
           "value");
    ggufx_writer_destroy(w);
}

static void test_options_and_handles_are_checked(void **state) {
    (void)state;
    ggufx_writer *w = (ggufx_writer *)1;
    ggufx_writer_options options = {.struct_size = sizeof options};
    ggufx_write_options how = {.struct_size = sizeof how};
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    ggufx_error e;
    options.version = 1;
    expect(ggufx_writer_create(&w, rt, &options, &e), GGUFX_E_VERSION, &e, "version is 1");
    assert_null(w);
    options.version = 4;
    expect(ggufx_writer_create(&w, rt, &options, &e), GGUFX_E_VERSION, &e, "version is 4");
    options.version = 0;
    options.flags = 2;
    expect(ggufx_writer_create(&w, rt, &options, &e), GGUFX_E_ARGUMENT, &e, "flags");
    expect(ggufx_writer_create(NULL, rt, NULL, &e), GGUFX_E_ARGUMENT, &e, "out");
    expect(ggufx_writer_create(&w, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e, "rt");
    OK(ggufx_writer_create(&w, rt, NULL, ok_error()));
    how.flags = 2;
    expect(ggufx_writer_info(&facts, w, &how, &e), GGUFX_E_ARGUMENT, &e, "flags");
    expect(ggufx_writer_info(NULL, w, NULL, &e), GGUFX_E_ARGUMENT, &e, "out");
    expect(ggufx_writer_info(&facts, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e, "writer");
    expect(ggufx_writer_write(w, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    expect(ggufx_writer_write(w, "", NULL, &e), GGUFX_E_ARGUMENT, &e, "path");
    expect(ggufx_writer_write_stream(w, NULL, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e, "write");
    expect(ggufx_writer_write_stream(NULL, kept_write, NULL, NULL, &e), GGUFX_E_ARGUMENT, &e,
           "writer");
    ggufx_writer_destroy(w);
    ggufx_writer_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_out_of_their_type_are_refused),
        cmocka_unit_test(test_unusable_keys_are_refused),
        cmocka_unit_test(test_only_powers_of_two_align),
        cmocka_unit_test(test_values_given_as_bytes_are_checked),
        cmocka_unit_test(test_bad_arguments_of_arrays_are_refused),
        cmocka_unit_test(test_options_and_handles_are_checked),
    };
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
