/* SPDX-License-Identifier: MIT */
#include "cross.h"

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

typedef struct tally {
    uint64_t n_compared, n_different;
} tally;

static void compare_size(tally *t, const ggufx_runtime *rt, const ggufx_device *device,
                         uint32_t type, uint64_t rows, uint64_t cols) {
    static const size_t columns[] = {1, 2, 3, 5};
    matrix m = random_matrix(type, rows, cols, 0);
    ggufx_tensor *here = wrap_matrix(rt, &m), *there = upload(device, here);
    const size_t n = rows * cols <= (uint64_t)1 << 22 ? 4 : 1;
    for (size_t i = 0; i < n; i++) {
        t->n_different += count_different(rt, device, there, here, columns[i], 0);
        t->n_compared += rows * columns[i];
    }
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    free_matrix(&m);
}

void run_cross(const cross *c, const ggufx_runtime *rt, const ggufx_device *device,
               const char *variant) {
    static const uint64_t rows[] = {1, 3, 37, 4096}, cols[] = {256, 1024, 4096, 8192, 28672};
    uint64_t n_different = 0;
    for (size_t t = 0; t < n_multiplied_types; t++) {
        if (!in_part(c, t)) continue;
        tally sum = {0, 0};
        for (size_t r = 0; r < 4; r++)
            for (size_t k = 0; k < 5; k++)
                compare_size(&sum, rt, device, multiplied_types[t], rows[r], cols[k]);
        ggufx_type_facts facts = {.struct_size = sizeof facts};
        assert_int_equal(ggufx_type_info(&facts, multiplied_types[t], NULL), GGUFX_OK);
        printf("cross\t%s\t%s\t%llu compared\t%llu different\n", facts.name, variant,
               (unsigned long long)sum.n_compared, (unsigned long long)sum.n_different);
        fflush(stdout);
        n_different += sum.n_different;
    }
    assert_int_equal(n_different, 0);
}
