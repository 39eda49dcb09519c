/* SPDX-License-Identifier: MIT */
#include "writer_fixture.h"
#include "ok.h"
#include "weight_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ggufx_runtime *rt;

int writer_setup(void **state) {
    (void)state;
    return ggufx_runtime_create(&rt, NULL, NULL) == GGUFX_OK ? 0 : -1;
}

int writer_teardown(void **state) {
    (void)state;
    ggufx_runtime_destroy(rt);
    return 0;
}

void expect(ggufx_status got, ggufx_status want, const ggufx_error *e, const char *text) {
    if (got != want)
        fail_msg("%s, expected %s: %s", ggufx_status_name(got), ggufx_status_name(want),
                 e->message);
    assert_int_equal(e->status, want);
    if (!strstr(e->message, text)) fail_msg("\"%s\" does not say \"%s\"", e->message, text);
}

ggufx_writer *new_writer(const ggufx_runtime *own, uint32_t version, int big_endian) {
    ggufx_writer *w = NULL;
    ggufx_writer_options options = {.struct_size = sizeof options};
    options.version = version;
    options.flags = big_endian ? GGUFX_WRITE_BIG_ENDIAN : 0;
    OK(ggufx_writer_create(&w, own, &options, ok_error()));
    return w;
}

ggufx_tensor *wrap(uint32_t type, uint32_t n_dims, uint64_t ne0, uint64_t ne1, const void *data,
                   uint64_t n_bytes) {
    const uint64_t ne[2] = {ne0, ne1};
    ggufx_tensor *t = NULL;
    OK(tensor_of(&t, rt, type, n_dims, ne, 0, data, n_bytes, "own", NULL, NULL, ok_error()));
    return t;
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((status = (call)) != GGUFX_OK) goto end;                                               \
    } while (0)

static ggufx_status fill_scalars(ggufx_writer *w, ggufx_error *e) {
    ggufx_status status;
    TRY(ggufx_writer_set_string(w, S("general.architecture"), S("test"), e));
    TRY(ggufx_writer_set_u64(w, S("s.u8"), GGUFX_VALUE_U8, 200, e));
    TRY(ggufx_writer_set_i64(w, S("s.i8"), GGUFX_VALUE_I8, -128, e));
    TRY(ggufx_writer_set_u64(w, S("s.u16"), GGUFX_VALUE_U16, 65535, e));
    TRY(ggufx_writer_set_i64(w, S("s.i16"), GGUFX_VALUE_I16, -32768, e));
    TRY(ggufx_writer_set_i64(w, S("s.u32"), GGUFX_VALUE_U32, 4294967295, e));
    TRY(ggufx_writer_set_i64(w, S("s.i32"), GGUFX_VALUE_I32, INT32_MIN, e));
    TRY(ggufx_writer_set_f64(w, S("s.f32"), GGUFX_VALUE_F32, -1.5, e));
    TRY(ggufx_writer_set_bool(w, S("s.bool"), 7, e));
    TRY(ggufx_writer_set_string(w, S("s.string"), S("a\0b"), e));
    TRY(ggufx_writer_set_u64(w, S("s.u64"), GGUFX_VALUE_U64, UINT64_MAX, e));
    TRY(ggufx_writer_set_i64(w, S("s.i64"), GGUFX_VALUE_I64, INT64_MIN, e));
    TRY(ggufx_writer_set_f64(w, S("s.f64"), GGUFX_VALUE_F64, 1e300, e));
    TRY(ggufx_writer_set_string(w, S("s.empty"), NULL, 0, e));
end:
    return status;
}

/* [[1, 2], [], ["x"], [[3], [4, 5]], [6]] as bytes of a little-endian file. */
static gb nested_value(void) {
    gb b;
    gb_begin(&b, 3, 0);
    b.n = 0;
    gb_array(&b, GGUFX_VALUE_ARRAY, 5);
    gb_array(&b, GGUFX_VALUE_U16, 2), gb_u16(&b, 1), gb_u16(&b, 2);
    gb_array(&b, GGUFX_VALUE_U8, 0);
    gb_array(&b, GGUFX_VALUE_STRING, 1), gb_string(&b, "x");
    gb_array(&b, GGUFX_VALUE_ARRAY, 2);
    gb_array(&b, GGUFX_VALUE_U8, 1), gb_u8(&b, 3);
    gb_array(&b, GGUFX_VALUE_U8, 2), gb_u8(&b, 4), gb_u8(&b, 5);
    gb_array(&b, GGUFX_VALUE_I64, 1), gb_u64(&b, 6);
    return b;
}

static ggufx_status fill_strings(ggufx_writer *w, ggufx_error *e) {
    static char text[200][8];
    const char *texts[200];
    size_t lengths[200];
    for (unsigned i = 0; i < 200; i++) {
        snprintf(text[i], sizeof text[i], "<%u>", i);
        texts[i] = text[i];
        lengths[i] = i % 10 ? strlen(text[i]) : 0;
    }
    return ggufx_writer_set_array_string(w, S("a.string"), texts, lengths, 200, e);
}

static ggufx_status fill_arrays(ggufx_writer *w, ggufx_error *e) {
    static const int16_t i16[2] = {7, -1};
    static const uint32_t u32[1] = {42};
    static const float f32[2] = {0.5f, 2.0f};
    static const uint64_t u64[2] = {1, UINT64_MAX};
    ggufx_status status;
    gb nested = nested_value();
    TRY(ggufx_writer_set_array(w, S("a.u8"), GGUFX_VALUE_U8, "\1\2\3", 3, e));
    TRY(ggufx_writer_set_array(w, S("a.i16"), GGUFX_VALUE_I16, i16, 2, e));
    TRY(ggufx_writer_set_array(w, S("a.u32"), GGUFX_VALUE_U32, u32, 1, e));
    TRY(ggufx_writer_set_array(w, S("a.f32"), GGUFX_VALUE_F32, f32, 2, e));
    TRY(ggufx_writer_set_array(w, S("a.bool"), GGUFX_VALUE_BOOL, "\0\5", 2, e));
    TRY(ggufx_writer_set_array(w, S("a.u64"), GGUFX_VALUE_U64, u64, 2, e));
    TRY(ggufx_writer_set_array_string(w, S("a.none"), NULL, NULL, 0, e));
    TRY(fill_strings(w, e));
    TRY(ggufx_writer_set_value(w, S("a.nested"), GGUFX_VALUE_ARRAY, nested.data, nested.n, e));
end:
    gb_free(&nested);
    return status;
}

static void matrix_bytes(uint8_t *q8) {
    for (int i = 0; i < 3; i++) {
        *q8++ = 0x00, *q8++ = 0x3c; /* scale 1 */
        for (int k = 0; k < 32; k++) *q8++ = (uint8_t)(i * 32 + k);
    }
}

ggufx_status fill_everything(ggufx_writer *w, const ggufx_runtime *own, ggufx_error *e) {
    static const uint8_t vector[32] = {
        0, 0, 0x20, 0xc0, 0, 0, 0xc0, 0xbf, 0, 0, 0,    0xbf, 0, 0, 0,    0x3f,
        0, 0, 0xc0, 0x3f, 0, 0, 0x20, 0x40, 0, 0, 0x60, 0x40, 0, 0, 0x90, 0x40}; /* -2.5 .. 4.5 */
    static uint8_t matrix[3 * 34];
    static const uint8_t scalar[2] = {0xfe, 0xff};
    const uint64_t ne_vector[1] = {8}, ne_matrix[2] = {32, 3};
    ggufx_tensor *a = NULL, *b = NULL, *c = NULL;
    ggufx_status status;
    matrix_bytes(matrix);
    TRY(fill_scalars(w, e));
    TRY(fill_arrays(w, e));
    TRY(tensor_of(&a, own, GGUFX_TYPE_F32, 1, ne_vector, 0, vector, 32, "vector", NULL, NULL, e));
    TRY(tensor_of(&b, own, GGUFX_TYPE_Q8_0, 2, ne_matrix, 0, matrix, 102, "x", NULL, NULL, e));
    TRY(tensor_of(&c, own, GGUFX_TYPE_I16, 0, NULL, 0, scalar, 2, "scalar", NULL, NULL, e));
    TRY(ggufx_writer_add_tensor(w, a, NULL, 0, e));
    TRY(ggufx_writer_add_tensor(w, b, S("matrix"), e));
    TRY(ggufx_writer_add_tensor(w, c, NULL, 0, e));
end:
    ggufx_tensor_destroy(a);
    ggufx_tensor_destroy(b);
    ggufx_tensor_destroy(c);
    return status;
}

ggufx_status kept_write(void *user, uint32_t part, const void *data, size_t n) {
    kept *k = user;
    if (part >= MAX_PARTS || n == 0) return GGUFX_E_CAPACITY;
    if (k->fail_at && k->n + n >= k->fail_at) return -77;
    if (part + 1 > k->n_parts) k->n_parts = part + 1;
    if (part + 1 != k->n_parts) return GGUFX_E_STATE; /* parts arrive in order */
    gb_bytes(&k->part[part], data, n);
    k->n += n;
    if (n > k->largest) k->largest = n;
    return GGUFX_OK;
}

void kept_free(kept *k) {
    for (int i = 0; i < MAX_PARTS; i++) gb_free(&k->part[i]);
    memset(k, 0, sizeof *k);
}

void write_kept(ggufx_writer *w, kept *k, const ggufx_write_options *options) {
    ggufx_error e;
    memset(k, 0, sizeof *k);
    if (ggufx_writer_write_stream(w, kept_write, k, options, &e) != GGUFX_OK)
        fail_msg("%s", e.message);
}

void assert_bytes(const gb *got, const void *want, size_t n) {
    assert_int_equal(got->n, n);
    assert_memory_equal(got->data, want, n);
}

ggufx_file *open_bytes(const gb *bytes, uint32_t flags) {
    ggufx_open_options options = {.struct_size = sizeof options};
    ggufx_file *f = NULL;
    ggufx_error e;
    options.flags = flags;
    if (ggufx_open_memory(&f, rt, bytes->data, bytes->n, NULL, NULL, &options, &e) != GGUFX_OK)
        fail_msg("%s", e.message);
    return f;
}
