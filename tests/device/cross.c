/* SPDX-License-Identifier: MIT */
#include "cross.h"
#include "../unit/ok.h"

#include <stdio.h>

cross asked_cross(const char *name) {
    cross c = {false, 1, 1};
    const char *text = getenv(name);
    if (!text) return c;
    c.all = strncmp(text, "all", 3) == 0;
    const char *rest = c.all ? text + 3 : text;
    if (!*rest) return c;
    if (!c.all || sscanf(rest, ":%u/%u", &c.part, &c.n_parts) != 2 || c.part < 1 ||
        c.part > c.n_parts) {
        fprintf(stderr, "%s: %s\n", name, text);
        exit(1);
    }
    return c;
}

bool in_part(const cross *c, size_t type) {
    return type % c->n_parts == c->part - 1;
}

/* Blocks picked at random from `made`, which yield finite numbers if its own do, for any shape. */
static matrix scattered_matrix(const matrix *made, uint64_t rows, uint64_t cols) {
    matrix m = random_matrix(made->type, rows, cols, 0);
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_type_info(&facts, made->type, ok_error()));
    const size_t block = facts.block_bytes;
    uint64_t random = rows * cols;
    for (uint64_t at = 0; at < m.n_bytes; at += block) /* rows without padding */
        memcpy(m.data + at, made->data + next_random(&random) % (made->n_bytes / block) * block,
               block);
    return m;
}

static void compare_size(tally *t, const ggufx_runtime *rt, const ggufx_device *device,
                         const matrix *made, uint64_t rows, uint64_t cols) {
    static const size_t columns[] = {1, 2, 3, 5, 6, 17};
    matrix m = scattered_matrix(made, rows, cols);
    ggufx_tensor *here = wrap_matrix(rt, &m), *there = upload(device, here);
    const size_t n = rows * cols <= (uint64_t)1 << 22 ? 6 : 1;
    for (size_t i = 0; i < n; i++) compare_product(t, rt, device, there, here, columns[i], 0);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    free_matrix(&m);
}

static tally compare_type(const ggufx_runtime *rt, const ggufx_device *device, uint32_t type) {
    static const uint64_t rows[] = {1, 3, 37, 4096}, cols[] = {256, 1024, 4096, 8192, 28672};
    tally t = {0, 0, 0};
    matrix made = quantized_matrix(rt, type, 16, 1024, 0);
    for (size_t r = 0; r < 4; r++)
        for (size_t k = 0; k < 5; k++) compare_size(&t, rt, device, &made, rows[r], cols[k]);
    free_matrix(&made);
    return t;
}

void run_cross(const cross *c, const ggufx_runtime *rt, const ggufx_device *device,
               const char *variant) {
    uint64_t n_different = 0;
    for (size_t i = 0; i < n_multiplied_types; i++) {
        if (!in_part(c, i)) continue;
        ggufx_type_facts facts = {.struct_size = sizeof facts};
        OK(ggufx_type_info(&facts, multiplied_types[i], ok_error()));
        const tally t = compare_type(rt, device, multiplied_types[i]);
        printf("cross\t%s\t%s\t%llu compared\t%llu NaN\t%llu different\n", facts.name, variant,
               (unsigned long long)t.n_compared, (unsigned long long)t.n_nan,
               (unsigned long long)t.n_different);
        fflush(stdout);
        n_different += t.n_different;
        if (facts.flags & GGUFX_TYPE_HAS_QUANTIZE) assert_int_equal(t.n_nan, 0);
    }
    assert_int_equal(n_different, 0);
}
