/*
 * Shared by the tests of ggufx_quantize.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_QUANTIZE_FIXTURE_H
#define GGUFX_TESTS_QUANTIZE_FIXTURE_H

#include "matmul_fixture.h"

enum { kColumns = 1024 };

static inline uint64_t row_bytes_of(uint32_t type, uint64_t n) {
    uint64_t bytes = 0;
    assert_int_equal(ggufx_type_row_bytes(&bytes, type, n, NULL), GGUFX_OK);
    return bytes;
}

static inline uint32_t flags_of(uint32_t type) {
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    return ggufx_type_info(&facts, type, NULL) == GGUFX_OK ? facts.flags : 0;
}

static inline ggufx_quantize_args defaults(void) {
    ggufx_quantize_args options = {.struct_size = sizeof options};
    return options;
}

#endif
