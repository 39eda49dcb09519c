/* SPDX-License-Identifier: MIT */
#include "file_fixture.h"

#include <string.h>

ggufx_runtime *rt;

int file_setup(void **state) {
    (void)state;
    return ggufx_runtime_create(&rt, NULL, NULL) == GGUFX_OK ? 0 : -1;
}

int file_teardown(void **state) {
    (void)state;
    ggufx_runtime_destroy(rt);
    return 0;
}

ggufx_file *open_bytes(const gb *b, uint32_t flags) {
    ggufx_open_options o = {.struct_size = sizeof o};
    ggufx_error error;
    ggufx_file *f = NULL;
    o.flags = flags | GGUFX_OPEN_LEGACY_V1;
    if (ggufx_open_memory(&f, rt, b->data, b->n, NULL, NULL, &o, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    return f;
}

size_t find(const ggufx_file *f, const char *key) {
    size_t index = 0;
    ggufx_error error;
    if (ggufx_file_meta_find(&index, f, key, strlen(key), &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    return index;
}

ggufx_status open_as(const gb *b, size_t n, uint32_t flags, ggufx_error *first) {
    int i;
    for (i = 0; i < 4; i++) {
        ggufx_open_options o = {.struct_size = sizeof o};
        ggufx_error own, *error = i == 0 ? first : &own;
        ggufx_file *f = NULL;
        ggufx_status status;
        o.flags = flags | (i & 1 ? GGUFX_OPEN_METADATA_ONLY : 0);
        o.io = i & 2 ? GGUFX_IO_READ : GGUFX_IO_AUTO;
        memset(error, 0, sizeof *error);
        status = ggufx_open_memory(&f, rt, b->data, n, NULL, NULL, &o, error);
        assert_int_equal(f != NULL, status == GGUFX_OK);
        assert_int_equal(error->status, status);
        ggufx_file_destroy(f);
        /* A metadata-only open does not notice missing data. */
        if (first->status == GGUFX_E_BOUNDS && status == GGUFX_OK && (i & 1)) continue;
        if (status != first->status)
            fail_msg("variant %d gives %s, variant 0 %s", i, ggufx_status_name(status),
                     ggufx_status_name(first->status));
        if (error->offset != first->offset)
            fail_msg("variant %d says offset %llu, variant 0 %llu", i,
                     (unsigned long long)error->offset, (unsigned long long)first->offset);
    }
    return first->status;
}

void expect(gb *b, uint32_t flags, ggufx_status status, uint64_t offset) {
    ggufx_error error;
    const ggufx_status got = open_as(b, b->n, flags, &error);
    if (got != status)
        fail_msg("%s instead of %s: %s", ggufx_status_name(got), ggufx_status_name(status),
                 error.message);
    if (status != GGUFX_OK && error.offset != offset)
        fail_msg("offset %llu instead of %llu: %s", (unsigned long long)error.offset,
                 (unsigned long long)offset, error.message);
    gb_free(b);
}
