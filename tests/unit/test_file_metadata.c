/*
 * Metadata of every type, version and byte order through the getters, and their widening rules.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "gguf_builder.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static ggufx_runtime *rt;

static int setup(void **state) {
    (void)state;
    return ggufx_runtime_create(&rt, NULL, NULL) == GGUFX_OK ? 0 : -1;
}
static int teardown(void **state) {
    (void)state;
    ggufx_runtime_destroy(rt);
    return 0;
}

static ggufx_file *open_bytes(const gb *b, uint32_t flags) {
    ggufx_open_options o;
    ggufx_error error;
    ggufx_file *f = NULL;
    ggufx_open_options_init(&o);
    o.flags = flags | GGUFX_OPEN_LEGACY_V1;
    if (ggufx_open_memory(&f, rt, b->data, b->n, NULL, NULL, &o, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    return f;
}

static size_t find(const ggufx_file *f, const char *key) {
    size_t index = 0;
    ggufx_error error;
    if (ggufx_file_meta_find(&index, f, key, strlen(key), &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    return index;
}

typedef struct variant {
    uint32_t version;
    int big_endian;
} variant;
static const variant variants[] = {{1, 0}, {2, 0}, {3, 0}, {3, 1}, {2, 1}, {1, 1}};

static void check_scalars(const ggufx_file *f) {
    uint64_t u = 0;
    int64_t i = 0;
    double d = 0;
    int32_t b = 0;
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "s.u8"), NULL), GGUFX_OK);
    assert_int_equal(u, 200);
    assert_int_equal(ggufx_file_meta_i64(&i, f, find(f, "s.i8"), NULL), GGUFX_OK);
    assert_int_equal(i, -128);
    assert_int_equal(ggufx_file_meta_i64(&i, f, find(f, "s.u16"), NULL), GGUFX_OK);
    assert_int_equal(i, 65535);
    assert_int_equal(ggufx_file_meta_i64(&i, f, find(f, "s.i16"), NULL), GGUFX_OK);
    assert_int_equal(i, -32768);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "s.u32"), NULL), GGUFX_OK);
    assert_int_equal(u, 4294967295u);
    assert_int_equal(ggufx_file_meta_f64(&d, f, find(f, "s.i32"), NULL), GGUFX_OK);
    assert_true(d == -2147483648.0);
    assert_int_equal(ggufx_file_meta_f64(&d, f, find(f, "s.f32"), NULL), GGUFX_OK);
    assert_true(d == -1.5);
    assert_int_equal(ggufx_file_meta_bool(&b, f, find(f, "s.bool"), NULL), GGUFX_OK);
    assert_int_equal(b, 1);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "s.bool"), NULL), GGUFX_OK);
    assert_int_equal(u, 1);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "s.u64"), NULL), GGUFX_OK);
    assert_true(u == UINT64_MAX);
    assert_int_equal(ggufx_file_meta_i64(&i, f, find(f, "s.i64"), NULL), GGUFX_OK);
    assert_true(i == INT64_MIN);
    assert_int_equal(ggufx_file_meta_f64(&d, f, find(f, "s.f64"), NULL), GGUFX_OK);
    assert_true(d == 1e300);
    /* an array of exactly one */
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "a.u32"), NULL), GGUFX_OK);
    assert_int_equal(u, 42);
}

static void check_arrays(const ggufx_file *f) {
    uint64_t u[3];
    int64_t i[2];
    double d[2];
    ggufx_error error;
    assert_int_equal(ggufx_file_meta_array_u64(u, f, find(f, "a.u8"), 0, 3, NULL), GGUFX_OK);
    assert_true(u[0] == 1 && u[1] == 2 && u[2] == 3);
    assert_int_equal(ggufx_file_meta_array_i64(i, f, find(f, "a.i16"), 1, 1, NULL), GGUFX_OK);
    assert_int_equal(i[0], -1);
    assert_int_equal(ggufx_file_meta_array_f64(d, f, find(f, "a.f32"), 0, 2, NULL), GGUFX_OK);
    assert_true(d[0] == 0.5 && d[1] == 2.0);
    assert_int_equal(ggufx_file_meta_array_u64(u, f, find(f, "a.bool"), 0, 2, NULL), GGUFX_OK);
    assert_true(u[0] == 0 && u[1] == 1);
    /* a scalar is an array of one */
    assert_int_equal(ggufx_file_meta_array_u64(u, f, find(f, "s.u8"), 0, 1, NULL), GGUFX_OK);
    assert_int_equal(u[0], 200);
    assert_int_equal(ggufx_file_meta_array_u64(NULL, f, find(f, "a.u8"), 3, 0, NULL), GGUFX_OK);
    assert_int_equal(ggufx_file_meta_array_u64(u, f, find(f, "a.u8"), 2, 2, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_array_u64(u, f, find(f, "a.u8"), UINT64_MAX, 1, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_array_i64(i, f, find(f, "a.u64"), 0, 2, &error),
                     GGUFX_E_VALUE);
    assert_int_equal(error.index, 1);
    assert_int_equal(ggufx_file_meta_array_u64(u, f, find(f, "a.f32"), 0, 1, &error),
                     GGUFX_E_KVTYPE);
}

static void check_strings(const ggufx_file *f) {
    const char *text = NULL;
    size_t length = 0, i;
    ggufx_error error;
    assert_int_equal(ggufx_file_meta_string(&text, &length, f, find(f, "s.string"), NULL),
                     GGUFX_OK);
    assert_int_equal(length, 3);
    assert_memory_equal(text, "a\0b", 3);
    assert_int_equal(ggufx_file_meta_string(&text, &length, f, find(f, "s.empty"), NULL), GGUFX_OK);
    assert_int_equal(length, 0);
    for (i = 0; i < 200; i++) {
        char want[16];
        const size_t at = (i * 77) % 200;
        snprintf(want, sizeof want, "<%u>", (unsigned)at);
        if (at % 10 == 0) want[0] = 0;
        assert_int_equal(
            ggufx_file_meta_array_string(&text, &length, f, find(f, "a.string"), at, NULL),
            GGUFX_OK);
        assert_int_equal(length, strlen(want));
        assert_memory_equal(text, want, length);
    }
    assert_int_equal(
        ggufx_file_meta_array_string(&text, &length, f, find(f, "a.string"), 200, &error),
        GGUFX_E_ARGUMENT);
    assert_null(text);
    assert_int_equal(ggufx_file_meta_array_string(&text, &length, f, find(f, "a.none"), 0, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_array_string(&text, &length, f, find(f, "a.u8"), 0, &error),
                     GGUFX_E_KVTYPE);
    assert_int_equal(ggufx_file_meta_string(&text, &length, f, find(f, "s.u8"), &error),
                     GGUFX_E_KVTYPE);
}

static size_t nested(const ggufx_file *f, size_t index, uint64_t i, int32_t type, uint64_t count) {
    size_t out = 0;
    ggufx_meta_entry e = {.struct_size = sizeof e};
    ggufx_error error;
    if (ggufx_file_meta_array_nested(&out, f, index, i, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    assert_true(out >= ggufx_file_meta_count(f));
    assert_int_equal(ggufx_file_meta_at(&e, f, out, NULL), GGUFX_OK);
    assert_int_equal(e.type, GGUFX_VALUE_ARRAY);
    assert_int_equal(e.element_type, type);
    assert_int_equal(e.count, count);
    assert_null(e.key);
    return out;
}

static void check_nested(const ggufx_file *f) {
    const size_t outer = find(f, "a.nested");
    uint64_t u[2] = {0, 0};
    const char *text;
    size_t length, inner, out;
    ggufx_error error;
    assert_int_equal(
        ggufx_file_meta_array_u64(u, f, nested(f, outer, 0, GGUFX_VALUE_U16, 2), 0, 2, NULL),
        GGUFX_OK);
    assert_true(u[0] == 1 && u[1] == 2);
    nested(f, outer, 1, GGUFX_VALUE_U8, 0);
    assert_int_equal(ggufx_file_meta_array_string(
                         &text, &length, f, nested(f, outer, 2, GGUFX_VALUE_STRING, 1), 0, NULL),
                     GGUFX_OK);
    assert_true(length == 1 && text[0] == 'x');
    inner = nested(f, outer, 3, GGUFX_VALUE_ARRAY, 2);
    assert_int_equal(
        ggufx_file_meta_array_u64(u, f, nested(f, inner, 1, GGUFX_VALUE_U8, 2), 0, 2, NULL),
        GGUFX_OK);
    assert_true(u[0] == 4 && u[1] == 5);
    assert_int_equal(ggufx_file_meta_u64(u, f, nested(f, outer, 4, GGUFX_VALUE_I64, 1), NULL),
                     GGUFX_OK);
    assert_int_equal(u[0], 6);
    assert_int_equal(ggufx_file_meta_array_nested(&out, f, outer, 5, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_array_nested(&out, f, find(f, "a.u8"), 0, &error),
                     GGUFX_E_KVTYPE);
    assert_int_equal(ggufx_file_meta_u64(u, f, outer, &error), GGUFX_E_KVTYPE);
}

static void test_every_value_is_read_in_every_version_and_byte_order(void **state) {
    size_t i;
    (void)state;
    for (i = 0; i < sizeof variants / sizeof *variants; i++) {
        const variant v = variants[i];
        gb b;
        ggufx_file *f;
        ggufx_file_facts facts = {.struct_size = sizeof facts};
        gb_everything(&b, v.version, v.big_endian);
        f = open_bytes(&b, 0);
        assert_int_equal(ggufx_file_info(&facts, f, NULL), GGUFX_OK);
        assert_int_equal(facts.version, v.version);
        assert_int_equal(facts.big_endian, v.big_endian);
        assert_int_equal(facts.alignment, 32);
        assert_int_equal(facts.data_offset, b.data_start);
        assert_int_equal(facts.file_size, b.n);
        assert_int_equal(facts.n_meta, b.n_keys);
        assert_int_equal(facts.n_tensors, 3);
        assert_int_equal(facts.n_values, 8 + 96 + 1);
        assert_int_equal(facts.n_bytes, 32 + 102 + 2);
        assert_int_equal(facts.n_parts, 1);
        check_scalars(f);
        check_arrays(f);
        check_strings(f);
        check_nested(f);
        ggufx_file_destroy(f);
        gb_free(&b);
    }
}

static void test_tensor_data_of_both_byte_orders_are_equal_in_memory(void **state) {
    gb little, big;
    ggufx_file *a, *b;
    size_t i;
    (void)state;
    gb_everything(&little, 3, 0);
    gb_everything(&big, 3, 1);
    assert_memory_not_equal(little.data + little.data_start, big.data + big.data_start, 32);
    a = open_bytes(&little, 0);
    b = open_bytes(&big, 0);
    for (i = 0; i < 3; i++) {
        ggufx_tensor_facts facts = {.struct_size = sizeof facts};
        const ggufx_tensor *x = ggufx_file_tensor(a, i), *y = ggufx_file_tensor(b, i);
        assert_int_equal(ggufx_tensor_info(&facts, x, NULL), GGUFX_OK);
        assert_memory_equal(ggufx_tensor_data(x), ggufx_tensor_data(y), facts.n_bytes);
    }
    ggufx_file_destroy(a);
    ggufx_file_destroy(b);
    gb_free(&little);
    gb_free(&big);
}

static void test_entries_describe_keys_in_file_order(void **state) {
    gb b;
    ggufx_file *f;
    ggufx_meta_entry e = {.struct_size = sizeof e};
    ggufx_error error;
    size_t out;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key(&b, "n", GGUFX_VALUE_U8), gb_u8(&b, 1);
    b.n_keys++;
    gb_string_n(&b, "n\0ul", 4), gb_u32(&b, GGUFX_VALUE_U8), gb_u8(&b, 2);
    gb_key_array(&b, "arr", GGUFX_VALUE_F64, 1), gb_f64(&b, 1);
    gb_key_string(&b, "str", "four");
    gb_data(&b);
    f = open_bytes(&b, 0);
    assert_int_equal(ggufx_file_meta_count(f), 4);
    assert_int_equal(ggufx_file_meta_at(&e, f, 1, NULL), GGUFX_OK);
    assert_int_equal(e.key_length, 4);
    assert_memory_equal(e.key, "n\0ul", 4);
    assert_int_equal(e.type, GGUFX_VALUE_U8);
    assert_int_equal(e.element_type, -1);
    assert_int_equal(e.count, 1);
    assert_int_equal(b.data[e.offset], 2);
    assert_int_equal(ggufx_file_meta_find(&out, f, "n\0ul", 4, NULL), GGUFX_OK);
    assert_int_equal(out, 1);
    assert_int_equal(ggufx_file_meta_find(&out, f, "n", 1, NULL), GGUFX_OK);
    assert_int_equal(out, 0);
    assert_int_equal(ggufx_file_meta_find(&out, f, "n\0u", 3, &error), GGUFX_E_NOT_FOUND);
    assert_int_equal(ggufx_file_meta_find(&out, f, "", 0, &error), GGUFX_E_NOT_FOUND);
    assert_int_equal(ggufx_file_meta_at(&e, f, 2, NULL), GGUFX_OK);
    assert_int_equal(e.element_type, GGUFX_VALUE_F64);
    assert_int_equal(ggufx_file_meta_at(&e, f, 3, NULL), GGUFX_OK);
    assert_int_equal(e.count, 4);
    assert_int_equal(ggufx_file_meta_at(&e, f, 4, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_at(&e, f, SIZE_MAX, &error), GGUFX_E_ARGUMENT);
    e.struct_size = 4;
    assert_int_equal(ggufx_file_meta_at(&e, f, 0, &error), GGUFX_E_ARGUMENT);
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_getters_refuse_what_loses_a_value(void **state) {
    gb b;
    ggufx_file *f;
    ggufx_error error;
    uint64_t u;
    int64_t i;
    double d;
    int32_t flag;
    (void)state;
    gb_everything(&b, 3, 0);
    f = open_bytes(&b, 0);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "s.i8"), &error), GGUFX_E_VALUE);
    assert_non_null(strstr(error.message, "s.i8"));
    assert_non_null(strstr(error.message, "-128"));
    assert_int_equal(b.data[error.offset], 0x80);
    assert_int_equal(ggufx_file_meta_i64(&i, f, find(f, "s.u64"), &error), GGUFX_E_VALUE);
    assert_int_equal(ggufx_file_meta_f64(&d, f, find(f, "s.u64"), &error), GGUFX_E_VALUE);
    assert_int_equal(ggufx_file_meta_f64(&d, f, find(f, "s.i64"), &error), GGUFX_E_VALUE);
    assert_int_equal(ggufx_file_meta_f64(&d, f, find(f, "s.bool"), &error), GGUFX_E_KVTYPE);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "s.f32"), &error), GGUFX_E_KVTYPE);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "a.u8"), &error), GGUFX_E_KVTYPE);
    assert_int_equal(ggufx_file_meta_u64(&u, f, find(f, "s.string"), &error), GGUFX_E_KVTYPE);
    assert_int_equal(ggufx_file_meta_bool(&flag, f, find(f, "s.u8"), &error), GGUFX_E_KVTYPE);
    assert_int_equal(ggufx_file_meta_u64(NULL, f, 0, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_u64(&u, NULL, 0, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_file_meta_u64(&u, f, 1000000, &error), GGUFX_E_ARGUMENT);
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_f64_takes_integers_up_to_2_to_the_53(void **state) {
    gb b;
    ggufx_file *f;
    double d;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key(&b, "yes", GGUFX_VALUE_U64), gb_u64(&b, UINT64_C(1) << 53);
    gb_key(&b, "no", GGUFX_VALUE_U64), gb_u64(&b, (UINT64_C(1) << 53) + 1);
    gb_key(&b, "minus", GGUFX_VALUE_I64), gb_u64(&b, 0 - (UINT64_C(1) << 53));
    gb_key(&b, "less", GGUFX_VALUE_I64), gb_u64(&b, 0 - (UINT64_C(1) << 53) - 1);
    gb_data(&b);
    f = open_bytes(&b, 0);
    assert_int_equal(ggufx_file_meta_f64(&d, f, 0, NULL), GGUFX_OK);
    assert_true(d == 9007199254740992.0);
    assert_int_equal(ggufx_file_meta_f64(&d, f, 1, NULL), GGUFX_E_VALUE);
    assert_int_equal(ggufx_file_meta_f64(&d, f, 2, NULL), GGUFX_OK);
    assert_true(d == -9007199254740992.0);
    assert_int_equal(ggufx_file_meta_f64(&d, f, 3, NULL), GGUFX_E_VALUE);
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_any_nonzero_byte_is_true(void **state) {
    gb b;
    ggufx_file *f;
    int32_t flag = 0;
    uint64_t u = 0;
    (void)state;
    gb_begin(&b, 3, 0);
    gb_key(&b, "b", GGUFX_VALUE_BOOL), gb_u8(&b, 0xff);
    gb_data(&b);
    f = open_bytes(&b, 0);
    assert_int_equal(ggufx_file_meta_bool(&flag, f, 0, NULL), GGUFX_OK);
    assert_int_equal(flag, 1);
    assert_int_equal(ggufx_file_meta_u64(&u, f, 0, NULL), GGUFX_OK);
    assert_int_equal(u, 1);
    ggufx_file_destroy(f);
    gb_free(&b);
}

/* ---- large vocabularies --------------------------------------------------------------------- */

enum { TOKENS = 262144 };

static void big_vocabulary(gb *b) {
    unsigned i;
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.architecture", "test");
    gb_key_array(b, "tokens", GGUFX_VALUE_STRING, TOKENS);
    for (i = 0; i < TOKENS; i++) {
        char text[16];
        snprintf(text, sizeof text, "%x", i * 2654435761u);
        gb_string(b, text);
    }
    gb_data(b);
}

static void test_a_large_vocabulary_opens_with_a_few_kib_of_heap(void **state) {
    fault memory;
    ggufx_runtime *own;
    gb b;
    ggufx_file *f = NULL;
    ggufx_open_options o;
    const char *text;
    size_t length;
    long long before;
    (void)state;
    big_vocabulary(&b);
    fault_init(&memory);
    own = fault_runtime(&memory, 1);
    fault_reset(&memory);
    before = memory.live_bytes;
    ggufx_open_options_init(&o);
    o.flags = GGUFX_OPEN_METADATA_ONLY;
    assert_int_equal(ggufx_open_memory(&f, own, b.data, b.n, NULL, NULL, &o, NULL), GGUFX_OK);
    assert_true(memory.peak_bytes - before < 8192);
    /* the table of offsets is sparse */
    assert_int_equal(
        ggufx_file_meta_array_string(&text, &length, f, find(f, "tokens"), TOKENS - 1, NULL),
        GGUFX_OK);
    assert_true(memory.live_bytes - before < 128 * 1024);
    ggufx_file_destroy(f);
    ggufx_runtime_destroy(own);
    assert_int_equal(memory.live_bytes, 0);
    gb_free(&b);
}

typedef struct reader {
    const ggufx_file *f;
    unsigned start;
    long wrong;
} reader;

static void *read_tokens(void *context) {
    reader *r = context;
    unsigned i;
    for (i = 0; i < 20000; i++) {
        const unsigned at = (r->start + i * 7919u) % TOKENS;
        char want[16];
        const char *text = NULL;
        size_t length = 0;
        snprintf(want, sizeof want, "%x", at * 2654435761u);
        if (ggufx_file_meta_array_string(&text, &length, r->f, 1, at, NULL) != GGUFX_OK ||
            length != strlen(want) || memcmp(text, want, length) != 0)
            r->wrong++;
    }
    return NULL;
}

static void test_threads_may_index_one_array_at_once(void **state) {
    gb b;
    ggufx_file *f;
    pthread_t threads[4];
    reader readers[4];
    int i;
    (void)state;
    big_vocabulary(&b);
    f = open_bytes(&b, GGUFX_OPEN_METADATA_ONLY);
    for (i = 0; i < 4; i++) {
        readers[i] = (reader){f, (unsigned)i * 65536u, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_tokens, &readers[i]), 0);
    }
    for (i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].wrong, 0);
    }
    ggufx_file_destroy(f);
    gb_free(&b);
}

static void test_many_keys_are_found_quickly(void **state) {
    gb b;
    ggufx_file *f;
    unsigned i;
    char key[32];
    (void)state;
    gb_begin(&b, 3, 0);
    for (i = 0; i < 50000; i++) {
        snprintf(key, sizeof key, "key.%u", i * 7919u);
        gb_key_u32(&b, key, i);
    }
    gb_data(&b);
    f = open_bytes(&b, 0);
    for (i = 0; i < 50000; i += 13) {
        uint64_t u = 0;
        snprintf(key, sizeof key, "key.%u", i * 7919u);
        assert_int_equal(find(f, key), i);
        assert_int_equal(ggufx_file_meta_u64(&u, f, i, NULL), GGUFX_OK);
        assert_int_equal(u, i);
    }
    ggufx_file_destroy(f);
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value_is_read_in_every_version_and_byte_order),
        cmocka_unit_test(test_tensor_data_of_both_byte_orders_are_equal_in_memory),
        cmocka_unit_test(test_entries_describe_keys_in_file_order),
        cmocka_unit_test(test_getters_refuse_what_loses_a_value),
        cmocka_unit_test(test_f64_takes_integers_up_to_2_to_the_53),
        cmocka_unit_test(test_any_nonzero_byte_is_true),
        cmocka_unit_test(test_a_large_vocabulary_opens_with_a_few_kib_of_heap),
        cmocka_unit_test(test_threads_may_index_one_array_at_once),
        cmocka_unit_test(test_many_keys_are_found_quickly),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
