/*
 * Shared by fuzz targets: the input as a sequence of small numbers, conditions, the tiny model, the
 * checksum of stored files.
 * SPDX-License-Identifier: MIT
 */
#ifndef TARGET_H
#define TARGET_H

#include <ggufx/ggufx.h>

#include <stddef.h>
#include <stdint.h>

typedef struct bytes {
    const uint8_t *data;
    size_t n;
} bytes;

/* Takes as many bytes as a number below `below` needs; 0 stands for 2^32. Zeros follow the input. */
uint32_t take(bytes *in, uint32_t below);

/* Ends the program if the condition does not hold. */
void must_be(int condition, const char *what);

/* Creates the tiny model (tiny_model.h). `rt` and `file` may be NULL; otherwise the caller has them
 * to destroy. */
ggufx_model *target_model(ggufx_runtime **rt, ggufx_file **file);

/* CRC-64 (ECMA-182, reflected). */
uint64_t checksum(const uint8_t *data, size_t n);

/* Bytes that a save wrote, and the position of the next load. */
typedef struct saved_bytes {
    uint8_t *data;
    size_t n, at;
} saved_bytes;

ggufx_status read_saved(void *user, void *data, size_t n);

#endif
