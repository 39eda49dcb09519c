/*
 * Writes GGUF files into memory for tests: any version, either byte order, any field, also invalid.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TEST_BUILDER_H
#define GGUFX_TEST_BUILDER_H

#include <stddef.h>
#include <stdint.h>

typedef struct gb {
    unsigned char *data;
    size_t n, capacity;
    uint32_t version;
    int big_endian;
    uint64_t alignment;
    uint64_t n_tensors, n_keys; /* written so far */
    size_t data_start;          /* set by gb_data */
    uint64_t next_offset;       /* offset of the next tensor of gb_tensor */
} gb;

/* Begins a file; gb_end fills in the counts. */
void gb_begin(gb *b, uint32_t version, int big_endian);
void gb_free(gb *b);

/* Raw fields in the file's byte order; counts and lengths are 32 bits wide in version 1. */
void gb_bytes(gb *b, const void *data, size_t n);
void gb_u8(gb *b, unsigned v);
void gb_u16(gb *b, unsigned v);
void gb_u32(gb *b, uint32_t v);
void gb_u64(gb *b, uint64_t v);
void gb_f32(gb *b, float v);
void gb_f64(gb *b, double v);
void gb_count(gb *b, uint64_t v);
void gb_string(gb *b, const char *text);
void gb_string_n(gb *b, const char *text, size_t n);

/* Writes a key and its value's type; the value follows by the raw calls. */
void gb_key(gb *b, const char *key, uint32_t type);
void gb_key_u32(gb *b, const char *key, uint32_t v);
void gb_key_string(gb *b, const char *key, const char *v);
/* Writes the type, element type and count of an array; the elements follow. */
void gb_key_array(gb *b, const char *key, uint32_t element, uint64_t count);
void gb_array(gb *b, uint32_t element, uint64_t count); /* within an array */

/* Writes a directory entry with any offset. Returns the entry's offset in the file. */
size_t gb_tensor_at(gb *b, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *ne,
                    uint64_t offset);
/* Writes a directory entry for data after the last tensor; n_bytes is the size of its data. */
size_t gb_tensor(gb *b, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *ne,
                 uint64_t n_bytes);

/* Ends the directory: pads to the alignment and fills in the counts. */
void gb_data(gb *b);
/* Writes n bytes of data at the next free offset and pads to the alignment. */
void gb_tensor_data(gb *b, const void *data, size_t n);
void gb_pad(gb *b);

/* Overwrites a field. */
void gb_set_u32(gb *b, size_t at, uint32_t v);
void gb_set_u64(gb *b, size_t at, uint64_t v);

/* A small complete file: architecture "test", one F32 tensor "t0" [32], data 0, 1, 2, ... */
void gb_minimal(gb *b);
/* Every value type, arrays of each, nested arrays, three tensors. */
void gb_everything(gb *b, uint32_t version, int big_endian);

/* Writes a file; returns 0, or -1 with errno. */
int gb_write(const gb *b, const char *path);

#endif
