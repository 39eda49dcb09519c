/*
 * Fake libggufx-mpi: rank 0 of two, whose other rank echoes this one's messages. Messages of
 * GGUFX_FAKE_BYTES bytes are answered with the number GGUFX_FAKE_VALUE instead.
 * SPDX-License-Identifier: MIT
 */
#include <ggufx/mpi.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static unsigned long long number(const char *name) {
    const char *const text = getenv(name);
    return text ? strtoull(text, NULL, 0) : 0;
}

static ggufx_status allgather(void *user, void *out, const void *in, size_t n_bytes,
                              uint32_t timeout_ms, ggufx_error *error) {
    unsigned char *const theirs = (unsigned char *)out + n_bytes;
    const unsigned long long value = number("GGUFX_FAKE_VALUE");
    (void)user, (void)timeout_ms, (void)error;
    memcpy(out, in, n_bytes);
    memcpy(theirs, in, n_bytes);
    if (n_bytes == number("GGUFX_FAKE_BYTES") && n_bytes <= sizeof value)
        memcpy(theirs, &value, n_bytes);
    return GGUFX_OK;
}

static ggufx_status allgatherv(void *user, void *out, const void *in, const size_t *n_bytes,
                               const size_t *offsets, uint32_t timeout_ms, ggufx_error *error) {
    (void)user, (void)timeout_ms, (void)error;
    for (int i = 0; i < 2; i++) {
        memset((char *)out + offsets[i], 0, n_bytes[i]);
        memcpy((char *)out + offsets[i], in, n_bytes[0] < n_bytes[i] ? n_bytes[0] : n_bytes[i]);
    }
    return GGUFX_OK;
}

static ggufx_status broadcast(void *user, void *data, size_t n_bytes, uint32_t root,
                              uint32_t timeout_ms, ggufx_error *error) {
    (void)user, (void)data, (void)n_bytes, (void)root, (void)timeout_ms, (void)error;
    return GGUFX_OK;
}

static ggufx_status barrier(void *user, uint32_t timeout_ms, ggufx_error *error) {
    (void)user, (void)timeout_ms, (void)error;
    return GGUFX_OK;
}

static void stop(void *user, const ggufx_error *why) {
    (void)user, (void)why;
}

static void destroy(void *user) {
    (void)user;
}

EXPORT void ggufx_mpi_options_init(ggufx_mpi_options *options) {
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

EXPORT ggufx_status ggufx_mpi_group(ggufx_group *out, const ggufx_mpi_options *options,
                                    ggufx_error *error) {
    (void)options, (void)error;
    const ggufx_group group = {sizeof group, 0,         NULL,    0,    2,      allgather,
                               allgatherv,   broadcast, barrier, stop, destroy};
    *out = group;
    return GGUFX_OK;
}
