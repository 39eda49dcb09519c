/*
 * What a writer refuses: every fault a reader would find, by code and text, with nothing changed.
 * SPDX-License-Identifier: MIT
 */
#include "writer_fixture.h"

#include <stdlib.h>
#include <string.h>

static uint64_t n_bytes_of(const ggufx_writer *w) {
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_writer_info(&facts, w, NULL, NULL));
    return facts.n_bytes;
}

static void test_numbers_out_of_their_type_are_refused(void **state) {
    (void)state;
    static const struct {
        int32_t type;
        uint64_t largest;
        int64_t smallest;
    } kTypes[] = {
        {GGUFX_VALUE_U8, 255, 0},           {GGUFX_VALUE_I8, 127, -128},
        {GGUFX_VALUE_U16, 65535, 0},        {GGUFX_VALUE_I16, 32767, -32768},
        {GGUFX_VALUE_U32, 4294967295, 0},   {GGUFX_VALUE_I32, 2147483647, INT32_MIN},
        {GGUFX_VALUE_U64, UINT64_MAX, 0},   {GGUFX_VALUE_I64, INT64_MAX, INT64_MIN},
        {GGUFX_VALUE_BOOL, 1, 0},
    };
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_error e;
    for (size_t i = 0; i < sizeof kTypes / sizeof *kTypes; i++) {
        const int32_t type = kTypes[i].type;
        OK(ggufx_writer_set_u64(w, S("k"), type, kTypes[i].largest, NULL));
        OK(ggufx_writer_set_i64(w, S("k"), type, kTypes[i].smallest, NULL));
        if (kTypes[i].largest < UINT64_MAX)
            expect(ggufx_writer_set_u64(w, S("k"), type, kTypes[i].largest + 1, &e), GGUFX_E_VALUE,
                   &e, "\"k\"");
        if (kTypes[i].smallest > INT64_MIN)
            expect(ggufx_writer_set_i64(w, S("k"), type, kTypes[i].smallest - 1, &e),
                   GGUFX_E_VALUE, &e, "does not fit type");
    }
    expect(ggufx_writer_set_u64(w, S("k"), GGUFX_VALUE_F32, 1, &e), GGUFX_E_ARGUMENT, &e, "type");
    expect(ggufx_writer_set_i64(w, S("k"), GGUFX_VALUE_STRING, 1, &e), GGUFX_E_ARGUMENT, &e,
           "type");
    expect(ggufx_writer_set_u64(w, S("k"), 13, 1, &e), GGUFX_E_ARGUMENT, &e, "GGUFX_VALUE");
    expect(ggufx_writer_set_f64(w, S("k"), GGUFX_VALUE_U32, 1, &e), GGUFX_E_ARGUMENT, &e, "F32");
    expect(ggufx_writer_set_f64(w, S("k"), GGUFX_VALUE_F32, 1e39, &e), GGUFX_E_VALUE, &e, "f32");
    OK(ggufx_writer_set_f64(w, S("k"), GGUFX_VALUE_F32, 1e300 * 1e300, NULL)); /* infinity */
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
    OK(ggufx_writer_set_bool(w, S("k"), 1, NULL));
    OK(ggufx_writer_set_bool(w, S("l"), 1, NULL));
    expect(ggufx_writer_rename(w, S("k"), S("l"), &e), GGUFX_E_DUPLICATE, &e, "\"l\"");
    expect(ggufx_writer_rename(w, S("k"), S(""), &e), GGUFX_E_KEY, &e, "empty");
    expect(ggufx_writer_rename(w, S("k"), S("general.alignment"), &e), GGUFX_E_KVTYPE, &e, "u32");
    expect(ggufx_writer_rename(w, S("k"), NULL, 1, &e), GGUFX_E_ARGUMENT, &e, "new_key");
    OK(ggufx_writer_unset(w, S("k"), NULL));
    OK(ggufx_writer_unset(w, S("l"), NULL));
    assert_int_equal(n_bytes_of(w), before);
    ggufx_writer_destroy(w);
}

static void test_only_powers_of_two_align(void **state) {
    (void)state;
    ggufx_writer *w = new_writer(rt, 0, 0);
    ggufx_error e;
    OK(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 64, NULL));
    expect(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 0, &e),
           GGUFX_E_ALIGNMENT, &e, "power of two");
    expect(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 24, &e),
           GGUFX_E_ALIGNMENT, &e, "24");
    expect(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U64, 32, &e),
           GGUFX_E_KVTYPE, &e, "u32");
    expect(ggufx_writer_set_value(w, S("general.alignment"), GGUFX_VALUE_U32, "\3\0\0\0", 4, &e),
           GGUFX_E_ALIGNMENT, &e, "3");
    ggufx_writer_destroy(w);
    w = new_writer(rt, 0, 1); /* also where it stands in the other byte order */
    OK(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 256, NULL));
    expect(ggufx_writer_set_u64(w, S("general.alignment"), GGUFX_VALUE_U32, 24, &e),
           GGUFX_E_ALIGNMENT, &e, "24");
    ggufx_writer_destroy(w);
}

/* A value of `depth` arrays in arrays; the innermost is one of u8. */
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
#define REFUSED(type, bytes, status, text) \
    expect(ggufx_writer_set_value(w, S("key"), type, S(bytes), &e), status, &e, text)
    REFUSED(GGUFX_VALUE_U32, "\1\0\0", GGUFX_E_TRUNCATED, "\"key\"");
    REFUSED(GGUFX_VALUE_U32, "\1\0\0\0\0", GGUFX_E_ARGUMENT, "4 bytes");
    REFUSED(GGUFX_VALUE_BOOL, "\2", GGUFX_E_VALUE, "not 0 or 1");
    REFUSED(GGUFX_VALUE_STRING, "\3\0\0\0\0\0\0\0ab", GGUFX_E_TRUNCATED, "a string");
    REFUSED(GGUFX_VALUE_ARRAY, "\15\0\0\0\0\0\0\0\0\0\0\0", GGUFX_E_KVTYPE, "13");
    REFUSED(GGUFX_VALUE_ARRAY, "\4\0\0\0\2\0\0\0\0\0\0\0abcdefg", GGUFX_E_COUNT, "2 x u32");
    REFUSED(GGUFX_VALUE_ARRAY, "\4\0\0\0\377\377\377\377\377\377\377\377abcd", GGUFX_E_COUNT, "u32");
    REFUSED(GGUFX_VALUE_ARRAY, "\10\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0a\0\0\0\0\0\0\0",
            GGUFX_E_TRUNCATED, "length of a string");
    REFUSED(13, "\0", GGUFX_E_ARGUMENT, "GGUFX_VALUE");
    gb deep = nested_to(8), deeper = nested_to(9);
    OK(ggufx_writer_set_value(w, S("deep"), GGUFX_VALUE_ARRAY, deep.data, deep.n, NULL));
    expect(ggufx_writer_set_value(w, S("key"), GGUFX_VALUE_ARRAY, deeper.data, deeper.n, &e),
           GGUFX_E_LIMIT, &e, "nested deeper than 8");
    gb many = many_inner(65536), more = many_inner(65537);
    expect(ggufx_writer_set_value(w, S("key"), GGUFX_VALUE_ARRAY, more.data, more.n, &e),
           GGUFX_E_LIMIT, &e, "65536");
    OK(ggufx_writer_unset(w, S("deep"), NULL));
    assert_int_equal(n_bytes_of(w), before);
    OK(ggufx_writer_set_value(w, S("many"), GGUFX_VALUE_ARRAY, many.data, many.n, NULL));
    (void)n_bytes_of(w);
    OK(ggufx_writer_set_value(w, S("deep"), GGUFX_VALUE_ARRAY, deep.data, deep.n, NULL));
    ggufx_writer_facts facts = {.struct_size = sizeof facts}; /* together they are too many */
    expect(ggufx_writer_info(&facts, w, NULL, &e), GGUFX_E_LIMIT, &e, "65536");
    OK(ggufx_writer_rename(w, S("many"), S("renamed"), NULL));
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
    ggufx_tensor_stream stream = {.struct_size = sizeof stream, .user = &destroyed,
                                  .read = no_data, .destroy = count_one};
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
    expect(ggufx_writer_add_stream(w, NULL, 1, 0, 1, one, &stream, &e), GGUFX_E_ARGUMENT, &e, "name");
    expect(ggufx_writer_add_stream(w, S("t"), 0, 1, NULL, &stream, &e), GGUFX_E_ARGUMENT, &e, "ne");
    expect(ggufx_writer_add_stream(NULL, S("t"), 0, 1, one, &stream, &e), GGUFX_E_ARGUMENT, &e,
           "writer");
    assert_int_equal(destroyed, expected += 4);
    OK(ggufx_writer_add_stream(w, name, 63, 0, 1, one, &stream, NULL));
    OK(ggufx_writer_add_stream(w, S(""), 0, 0, NULL, &stream, NULL));
    assert_int_equal(destroyed, expected);
    expect(ggufx_writer_add_stream(w, name, 63, 0, 1, one, &stream, &e), GGUFX_E_DUPLICATE, &e,
           "tensor 0");
    assert_int_equal(e.index, 2);
    assert_int_equal(destroyed, ++expected);
    stream.read = NULL;
    expect(ggufx_writer_add_stream(w, S("u"), 0, 1, one, &stream, &e), GGUFX_E_ARGUMENT, &e, "read");
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
    OK(ggufx_writer_add_stream(w, S("a"), GGUFX_TYPE_I8, 1, half, &stream, NULL));
    OK(ggufx_writer_info(&facts, w, NULL, NULL));
    OK(ggufx_writer_add_stream(w, S("b"), GGUFX_TYPE_I8, 1, half, &stream, NULL));
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
    ggufx_write_options options;
    ggufx_error e;
    char name[8];
    ggufx_write_options_init(&options);
    options.max_part_tensors = 1;
    for (unsigned i = 0; i < 65536; i++) {
        for (int d = 0; d < 4; d++) name[d] = (char)('a' + (i >> 4 * d & 15));
        if (i == 65535) OK(ggufx_writer_info(&facts, w, &options, NULL));
        OK(ggufx_writer_add_stream(w, name, 4, GGUFX_TYPE_I8, 1, none, &stream, NULL));
    }
    assert_int_equal(facts.n_parts, 65535);
    expect(ggufx_writer_info(&facts, w, &options, &e), GGUFX_E_LIMIT, &e, "65535");
    ggufx_writer_destroy(w);
}

/* Room for a gigabyte of keys: more than a reader takes. */
static void test_metadata_over_the_limit_are_refused(void **state) {
    (void)state;
    ggufx_writer *w = NULL;
    ggufx_writer_options options;
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    ggufx_error e;
    ggufx_writer_options_init(&options);
    options.reserve_bytes = (1ull << 30) - 24 - (8 + 13 + 4) - 12;
    for (int more = 0; more < 2; more++, options.reserve_bytes++) {
        OK(ggufx_writer_create(&w, rt, &options, NULL));
        if (more)
            expect(ggufx_writer_info(&facts, w, NULL, &e), GGUFX_E_LIMIT, &e, "1073741824");
        else
            OK(ggufx_writer_info(&facts, w, NULL, NULL));
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
    for (uint32_t id = 0; id < 43; id++) { /* types whose fields are not known to be swapped */
        if (ggufx_type_info(&type, id, NULL) != GGUFX_OK) continue;
        ggufx_tensor *t = wrap(id, 1, 0, 1, NULL, 0);
        const ggufx_status status =
            ggufx_writer_add_tensor(big, t, type.name, strlen(type.name), &e);
        if (status != GGUFX_OK) expect(status, GGUFX_E_ENDIAN, &e, type.name), n_refused++;
        ggufx_tensor_destroy(t);
    }
    assert_int_equal(n_refused, 21); /* the other 14 are floats, integers, q4_0 q8_0 q4_K q6_K, fp4 */
    ggufx_writer_destroy(w);
    ggufx_writer_destroy(big);
    ggufx_file_destroy(f);
    gb_free(&source);
}

/* The third tensor has a name that is taken: none of the file's is added. */
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
    OK(ggufx_writer_add_tensor(w, t, S("scalar"), NULL));
    expect(ggufx_writer_copy_tensors(w, f, &e), GGUFX_E_DUPLICATE, &e, "\"scalar\"");
    OK(ggufx_writer_add_tensor(w, t, S("vector"), NULL));
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

static void test_options_and_handles_are_checked(void **state) {
    (void)state;
    ggufx_writer *w = (ggufx_writer *)1;
    ggufx_writer_options options;
    ggufx_write_options how;
    ggufx_writer_facts facts = {.struct_size = sizeof facts};
    ggufx_error e;
    ggufx_writer_options_init(&options);
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
    OK(ggufx_writer_create(&w, rt, NULL, NULL));
    ggufx_write_options_init(&how);
    how.flags = 1;
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
        cmocka_unit_test(test_unusable_tensors_are_refused),
        cmocka_unit_test(test_sizes_beyond_63_bits_are_refused_before_a_byte_is_written),
        cmocka_unit_test(test_more_parts_than_a_set_can_number_are_refused),
        cmocka_unit_test(test_metadata_over_the_limit_are_refused),
        cmocka_unit_test(test_tensors_that_cannot_be_written_are_refused),
        cmocka_unit_test(test_copies_are_made_whole_or_not_at_all),
        cmocka_unit_test(test_options_and_handles_are_checked),
    };
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
