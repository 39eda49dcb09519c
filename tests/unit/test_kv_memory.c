/*
 * Allocations of a cache: equal to the estimate.
 * SPDX-License-Identifier: MIT
 */
#include "kv_small.h"
#include "ok.h"

static size_t allocated; /* bytes that counting_alloc has allocated and not freed */

static void *counting_alloc(void *user, size_t size, size_t align) {
    (void)user;
    void *p = NULL;
    if (posix_memalign(&p, align < sizeof p ? sizeof p : align, size)) return NULL;
    allocated += size;
    return p;
}
static void counting_free(void *user, void *p, size_t size, size_t align) {
    (void)user;
    (void)align;
    allocated -= size;
    free(p);
}

static void test_the_estimate_is_what_is_then_allocated(void **state) {
    (void)state;
    ggufx_allocator allocator = {
        .struct_size = sizeof allocator, .alloc = counting_alloc, .free = counting_free};
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.allocator = &allocator;
    options.threads = 1;
    ggufx_runtime *rt = NULL;
    OK(ggufx_runtime_create(&rt, &options, ok_error()));
    static const uint32_t types[][2] = {{GGUFX_TYPE_F16, GGUFX_TYPE_F16},
                                        {GGUFX_TYPE_GX4, GGUFX_TYPE_GX3},
                                        {GGUFX_TYPE_F32, GGUFX_TYPE_Q5_1},
                                        {GGUFX_TYPE_TQ3_0, GGUFX_TYPE_Q8_0}};
    static const size_t counts[] = {0, 1, 4, 5, 63, 64, 68, 69, 700};
    float *x = kv_random(700 * kRow, 1);
    for (size_t t = 0; t < 4; t++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int how = 0; how < 3; how++) {
                ggufx_kv_options shape = shape_of(types[t][0], types[t][1], 2);
                const size_t n = counts[c];
                uint64_t want = 0;
                shape.n_layers = 2;
                const size_t before = allocated;
                OK(ggufx_kv_estimate(&want, rt, &shape, n, ok_error()));
                assert_int_equal(allocated, before);
                ggufx_kv *kv = kv_make(rt, &shape);
                for (uint32_t s = 0; s < 2 && how != 1; s++)
                    OK(ggufx_kv_reserve(kv, s, n, ok_error()));
                for (uint32_t s = 0; s < 2 && how; s++)
                    for (uint32_t layer = 0; layer < 2; layer++)
                        for (size_t i = 0; i < n; i += 33) {
                            const size_t m = n - i < 33 ? n - i : 33;
                            OK(kv_append_rows(kv, layer, s, m, NULL, x, m * kRow, x, m * kRow,
                                              ok_error()));
                        }
                if (allocated - before != want)
                    fail_msg("%zu tokens of %u, %u, way %d: %zu bytes, estimate %zu", n,
                             types[t][0], types[t][1], how, allocated - before, (size_t)want);
                ggufx_kv_destroy(kv);
                assert_int_equal(allocated, before);
            }
    ggufx_runtime_destroy(rt);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_estimate_is_what_is_then_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
