/* SPDX-License-Identifier: MIT */
#include "gguf_builder.h"

#include <ggufx/file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gb_bytes(gb *b, const void *data, size_t n) {
    if (b->n + n > b->capacity) {
        b->capacity = 2 * (b->n + n) + 256;
        b->data = realloc(b->data, b->capacity);
        if (!b->data) abort();
    }
    if (n) memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void store(unsigned char *p, uint64_t v, int n_bytes, int big_endian) {
    int i;
    for (i = 0; i < n_bytes; i++)
        p[big_endian ? n_bytes - 1 - i : i] = (unsigned char)(v >> (8 * i));
}

static void number(gb *b, uint64_t v, int n_bytes) {
    unsigned char p[8];
    store(p, v, n_bytes, b->big_endian);
    gb_bytes(b, p, (size_t)n_bytes);
}

void gb_u8(gb *b, unsigned v) {
    number(b, v, 1);
}
void gb_u16(gb *b, unsigned v) {
    number(b, v, 2);
}
void gb_u32(gb *b, uint32_t v) {
    number(b, v, 4);
}
void gb_u64(gb *b, uint64_t v) {
    number(b, v, 8);
}
void gb_count(gb *b, uint64_t v) {
    number(b, v, b->version == 1 ? 4 : 8);
}

void gb_f32(gb *b, float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    gb_u32(b, u);
}

void gb_f64(gb *b, double v) {
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    gb_u64(b, u);
}

void gb_string_n(gb *b, const char *text, size_t n) {
    gb_count(b, n);
    gb_bytes(b, text, n);
}

void gb_string(gb *b, const char *text) {
    gb_string_n(b, text, strlen(text));
}

void gb_begin(gb *b, uint32_t version, int big_endian) {
    memset(b, 0, sizeof *b);
    b->version = version;
    b->big_endian = big_endian;
    b->alignment = 32;
    gb_bytes(b, "GGUF", 4);
    gb_u32(b, version);
    gb_count(b, 0);
    gb_count(b, 0);
}

void gb_free(gb *b) {
    free(b->data);
    memset(b, 0, sizeof *b);
}

void gb_key(gb *b, const char *key, uint32_t type) {
    gb_string(b, key);
    gb_u32(b, type);
    b->n_keys++;
}

void gb_key_u32(gb *b, const char *key, uint32_t v) {
    gb_key(b, key, GGUFX_VALUE_U32);
    gb_u32(b, v);
}

void gb_key_string(gb *b, const char *key, const char *v) {
    gb_key(b, key, GGUFX_VALUE_STRING);
    gb_string(b, v);
}

void gb_array(gb *b, uint32_t element, uint64_t count) {
    gb_u32(b, element);
    gb_count(b, count);
}

void gb_key_array(gb *b, const char *key, uint32_t element, uint64_t count) {
    gb_key(b, key, GGUFX_VALUE_ARRAY);
    gb_array(b, element, count);
}

size_t gb_tensor_at(gb *b, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *ne,
                    uint64_t offset) {
    const size_t at = b->n;
    uint32_t i;
    gb_string(b, name);
    gb_u32(b, n_dims);
    for (i = 0; i < n_dims; i++) gb_count(b, ne[i]);
    gb_u32(b, type);
    gb_u64(b, offset);
    b->n_tensors++;
    return at;
}

size_t gb_tensor(gb *b, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *ne,
                 uint64_t n_bytes) {
    const size_t at = gb_tensor_at(b, name, type, n_dims, ne, b->next_offset);
    b->next_offset += (n_bytes + b->alignment - 1) / b->alignment * b->alignment;
    return at;
}

void gb_pad(gb *b) {
    while (b->n % b->alignment) gb_bytes(b, "", 1);
}

void gb_data(gb *b) {
    const int width = b->version == 1 ? 4 : 8;
    store(b->data + 8, b->n_tensors, width, b->big_endian);
    store(b->data + 8 + width, b->n_keys, width, b->big_endian);
    if (b->n_tensors) gb_pad(b);
    b->data_start = b->n;
}

void gb_tensor_data(gb *b, const void *data, size_t n) {
    gb_bytes(b, data, n);
    gb_pad(b);
}

void gb_set_u32(gb *b, size_t at, uint32_t v) {
    store(b->data + at, v, 4, b->big_endian);
}
void gb_set_u64(gb *b, size_t at, uint64_t v) {
    store(b->data + at, v, 8, b->big_endian);
}

void gb_minimal(gb *b) {
    const uint64_t ne[1] = {32};
    int i;
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.architecture", "test");
    gb_tensor(b, "t0", GGUFX_TYPE_F32, 1, ne, 128);
    gb_data(b);
    for (i = 0; i < 32; i++) gb_f32(b, (float)i);
}

static void every_scalar(gb *b) {
    gb_key(b, "s.u8", GGUFX_VALUE_U8), gb_u8(b, 200);
    gb_key(b, "s.i8", GGUFX_VALUE_I8), gb_u8(b, 0x80);
    gb_key(b, "s.u16", GGUFX_VALUE_U16), gb_u16(b, 65535);
    gb_key(b, "s.i16", GGUFX_VALUE_I16), gb_u16(b, 0x8000);
    gb_key(b, "s.u32", GGUFX_VALUE_U32), gb_u32(b, 4294967295u);
    gb_key(b, "s.i32", GGUFX_VALUE_I32), gb_u32(b, 0x80000000u);
    gb_key(b, "s.f32", GGUFX_VALUE_F32), gb_f32(b, -1.5f);
    gb_key(b, "s.bool", GGUFX_VALUE_BOOL), gb_u8(b, 1);
    gb_key(b, "s.string", GGUFX_VALUE_STRING), gb_string_n(b, "a\0b", 3);
    gb_key(b, "s.u64", GGUFX_VALUE_U64), gb_u64(b, UINT64_MAX);
    gb_key(b, "s.i64", GGUFX_VALUE_I64), gb_u64(b, UINT64_C(0x8000000000000000));
    gb_key(b, "s.f64", GGUFX_VALUE_F64), gb_f64(b, 1e300);
    gb_key(b, "s.empty", GGUFX_VALUE_STRING), gb_string(b, "");
}

static void every_array(gb *b) {
    char text[16];
    unsigned i;
    gb_key_array(b, "a.u8", GGUFX_VALUE_U8, 3), gb_bytes(b, "\1\2\3", 3);
    gb_key_array(b, "a.i16", GGUFX_VALUE_I16, 2), gb_u16(b, 7), gb_u16(b, 0xffff);
    gb_key_array(b, "a.u32", GGUFX_VALUE_U32, 1), gb_u32(b, 42);
    gb_key_array(b, "a.f32", GGUFX_VALUE_F32, 2), gb_f32(b, 0.5f), gb_f32(b, 2.0f);
    gb_key_array(b, "a.bool", GGUFX_VALUE_BOOL, 2), gb_u8(b, 0), gb_u8(b, 1);
    gb_key_array(b, "a.u64", GGUFX_VALUE_U64, 2), gb_u64(b, 1), gb_u64(b, UINT64_MAX);
    gb_key_array(b, "a.none", GGUFX_VALUE_STRING, 0);
    gb_key_array(b, "a.string", GGUFX_VALUE_STRING, 200);
    for (i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "<%u>", i);
        gb_string(b, i % 10 ? text : "");
    }
    /* [[1, 2], [], ["x"], [[3], [4, 5]], [6]] */
    gb_key_array(b, "a.nested", GGUFX_VALUE_ARRAY, 5);
    gb_array(b, GGUFX_VALUE_U16, 2), gb_u16(b, 1), gb_u16(b, 2);
    gb_array(b, GGUFX_VALUE_U8, 0);
    gb_array(b, GGUFX_VALUE_STRING, 1), gb_string(b, "x");
    gb_array(b, GGUFX_VALUE_ARRAY, 2);
    gb_array(b, GGUFX_VALUE_U8, 1), gb_u8(b, 3);
    gb_array(b, GGUFX_VALUE_U8, 2), gb_u8(b, 4), gb_u8(b, 5);
    gb_array(b, GGUFX_VALUE_I64, 1), gb_u64(b, 6);
}

void gb_everything(gb *b, uint32_t version, int big_endian) {
    const uint64_t vector[1] = {8}, matrix[2] = {32, 3}, scalar[1] = {1};
    int i, k;
    gb_begin(b, version, big_endian);
    gb_key_string(b, "general.architecture", "test");
    every_scalar(b);
    every_array(b);
    gb_tensor(b, "vector", GGUFX_TYPE_F32, 1, vector, 32);
    gb_tensor(b, "matrix", GGUFX_TYPE_Q8_0, 2, matrix, 3 * 34);
    gb_tensor(b, "scalar", GGUFX_TYPE_I16, 0, scalar, 2);
    gb_data(b);
    for (i = 0; i < 8; i++) gb_f32(b, (float)i - 2.5f);
    gb_pad(b);
    for (i = 0; i < 3; i++) {
        gb_u16(b, 0x3c00); /* scale 1 */
        for (k = 0; k < 32; k++) gb_u8(b, (unsigned)(i * 32 + k));
    }
    gb_pad(b);
    gb_u16(b, 0xfffe);
    gb_pad(b);
}

int gb_write(const gb *b, const char *path) {
    FILE *f = fopen(path, "wb");
    if (!f) return -1;
    if (fwrite(b->data, 1, b->n, f) != b->n) {
        fclose(f);
        return -1;
    }
    return fclose(f);
}
