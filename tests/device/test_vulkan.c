/*
 * Products on the first usable Vulkan device, with the processor's bits. Without a GPU, Mesa's
 * lavapipe is the device.
 *
 * usage: test_vulkan PLUGIN [layers|times]
 *   layers: calls of every kind, once
 *   times: no tests; prints times of launches (tests/bench/devices.md)
 * GGUFX_TEST_VULKAN=all:I/N: all sizes, modes and fma of the I-th of N parts of all types
 * (tests/full.sh)
 * SPDX-License-Identifier: MIT
 */
#include "../unit/ok.h"
#include "../unit/weight_calls.h"
#include "cross.h"
#include "vulkan_calls.h"

#include <stdio.h>
#include <time.h>

static char device_id[40];
static cross asked;

static ggufx_device *open_vulkan(const ggufx_runtime *rt, uint32_t flags) {
    const ggufx_device_options options = vulkan_options(flags);
    ggufx_device *device = NULL;
    ggufx_error error;
    if (ggufx_device_open(&device, rt, device_id, &options, &error) != GGUFX_OK) {
        fail_msg("open: %s", error.message);
    }
    return device;
}

typedef struct host {
    ggufx_runtime *rt;
    ggufx_device *device;
} host;

static host begin(uint32_t flags) {
    host h = {make_runtime(GGUFX_ISA_BEST, 2), NULL};
    h.device = open_vulkan(h.rt, flags);
    return h;
}

static void end(host *h) {
    ggufx_device_destroy(h->device);
    ggufx_runtime_destroy(h->rt);
}

static void compare(const host *h, matrix *m, const size_t *n, size_t n_n, const uint32_t *modes,
                    size_t n_modes) {
    ggufx_tensor *here = wrap_matrix(h->rt, m), *there = upload(h->device, here);
    for (size_t i = 0; i < n_n; i++)
        for (size_t k = 0; k < n_modes; k++)
            assert_same_product(h->rt, h->device, there, here, n[i], modes[k]);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    free_matrix(m);
}

static const size_t one_column[] = {1}, three_columns[] = {1, 2, 3}, some_columns[] = {1, 2, 3, 5},
                    five_columns[] = {5};
static const uint32_t plain_mode[] = {0};
static const uint32_t fmas[] = {0, GGUFX_DEVICE_FMA_F64, GGUFX_DEVICE_FMA_F32};

static void test_the_device_is_exact(void **state) {
    (void)state;
    host h = begin(0);
    const ggufx_device_facts facts = facts_of(h.device);
    assert_true(facts.flags & GGUFX_DEVICE_EXACT);
    assert_true(facts.fma >= GGUFX_FMA_DEVICE && facts.fma <= GGUFX_FMA_F32);
    assert_string_equal(facts.id, device_id);
    assert_true(facts.free_bytes > 0 && facts.memory_bytes >= facts.free_bytes);
    assert_int_equal(facts.n_launches, 1);
    end(&h);
}

/* Formats of most models with 1 to 3 columns, as in decode. */
static void test_products_of_a_token_have_the_processors_bits(void **state) {
    (void)state;
    static const uint32_t types[] = {GGUFX_TYPE_Q2_K, GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q8_0,
                                     GGUFX_TYPE_Q4_K, GGUFX_TYPE_Q5_K, GGUFX_TYPE_Q6_K,
                                     GGUFX_TYPE_F16,  GGUFX_TYPE_F32};
    host h = begin(0);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        matrix m = quantized_matrix(h.rt, types[t], 37, 1024, 0);
        compare(&h, &m, three_columns, 3, plain_mode, 1);
    }
    end(&h);
}

/* Each type in each product mode, with 1 to 3 columns and more, with each fma. The short run takes
 * two modes of each type, so that every type has row-wise and tiled kernels, and all activation
 * formats occur. */
static void test_every_type_has_the_processors_bits(void **state) {
    (void)state;
    assert_true(n_multiplied_types >= 28);
    for (size_t f = 0; f < (asked.all ? 3 : 1); f++) {
        host h = begin(fmas[f]);
        for (size_t t = 0; t < n_multiplied_types; t++) {
            if (!in_part(&asked, t)) continue;
            const uint32_t type = multiplied_types[t];
            /* Random bytes include NaN and infinite scales. */
            for (int made = 0; made < 2; made++) {
                matrix m = made ? quantized_matrix(h.rt, type, 11, 768, 0)
                                : random_matrix(type, 11, 768, 0);
                if (asked.all) {
                    compare(&h, &m, some_columns, 4, product_modes, N_PRODUCT_MODES);
                } else {
                    compare(&h, &m, one_column, 1, product_modes + t % 3, 1);
                    m = made ? quantized_matrix(h.rt, type, 11, 768, 0)
                             : random_matrix(type, 11, 768, 0);
                    compare(&h, &m, five_columns, 1, product_modes + 3 + (t + made) % 3, 1);
                }
            }
        }
        end(&h);
    }
}

static void test_each_exact_fma_has_the_processors_bits(void **state) {
    (void)state;
    static const uint32_t flags[] = {GGUFX_DEVICE_FMA_F64, GGUFX_DEVICE_FMA_F32};
    static const uint32_t types[] = {GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q4_K, GGUFX_TYPE_BF16};
    for (size_t f = 0; f < 2; f++) {
        host h = begin(flags[f]);
        assert_int_equal(facts_of(h.device).fma, f ? GGUFX_FMA_F32 : GGUFX_FMA_F64);
        for (size_t t = 0; t < 3; t++) {
            matrix m = random_matrix(types[t], 37, 512, 0);
            compare(&h, &m, one_column, 1, plain_mode, 1);
        }
        end(&h);
    }
}

/* Rows and columns as in large models. */
static void test_sizes_of_models_have_the_processors_bits(void **state) {
    (void)state;
    static const struct { uint64_t rows, cols; } few[] = {{37, 28672}, {4096, 1024}};
    static const char *const variants[] = {"device or first exact", "f64", "f32"};
    for (size_t f = 0; f < (asked.all ? 3 : 1); f++) {
        host h = begin(fmas[f]);
        for (size_t i = 0; !asked.all && i < 2; i++) {
            matrix m = random_matrix(GGUFX_TYPE_Q4_K, few[i].rows, few[i].cols, 0);
            compare(&h, &m, one_column, 1, plain_mode, 1);
        }
        if (asked.all) run_cross(&asked, h.rt, h.device, variants[f]);
        end(&h);
    }
}

/* Accumulation chains longer than 65,535 steps, where lavapipe ends every loop of an invocation. An
 * exact fma has loops of its own, which count. */
static void test_long_chains_are_not_cut(void **state) {
    (void)state;
    static const struct {
        uint32_t type, fma, mode;
        uint64_t cols;
    } cases[] = {{GGUFX_TYPE_F16, 0, 0, 70001},
                 {GGUFX_TYPE_F16, GGUFX_DEVICE_FMA_F32, 0, 1 << 17},
                 {GGUFX_TYPE_F32, GGUFX_DEVICE_FMA_F64, 0, 1 << 17},
                 {GGUFX_TYPE_Q8_0, GGUFX_DEVICE_FMA_F32, GGUFX_MATMUL_F32, 1 << 17}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        host h = begin(cases[i].fma);
        matrix m = quantized_matrix(h.rt, cases[i].type, 2, cases[i].cols, 0);
        compare(&h, &m, five_columns, 1, &cases[i].mode, 1);
        end(&h);
    }
}

static void test_a_processor_says_which_rows_are_too_long(void **state) {
    (void)state;
    host h = begin(0);
    const bool processor = facts_of(h.device).flags & GGUFX_DEVICE_SOFTWARE;
    const size_t cols = (1 << 17) + 32;
    matrix m = quantized_matrix(h.rt, GGUFX_TYPE_Q8_0, 2, cols, 0);
    ggufx_tensor *here = wrap_matrix(h.rt, &m), *there = upload(h.device, here);
    float *x = random_values(cols, 3), y[2];
    ggufx_error error;
    const ggufx_status status = ggufx_matvec(y, 2, h.rt, there, x, cols, NULL, &error);
    assert_int_equal(status, processor ? GGUFX_E_LIMIT : GGUFX_OK);
    if (processor) assert_non_null(strstr(error.message, "131104 values"));
    free(x);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    free_matrix(&m);
    end(&h);
}

/* Larger than the largest binding: 128 MiB on lavapipe. */
static void test_a_matrix_beyond_the_range_of_a_binding(void **state) {
    (void)state;
    host h = begin(0);
    matrix m = random_matrix(GGUFX_TYPE_F32, 4200, 8192, 0);
    assert_true(m.n_bytes > (uint64_t)128 << 20);
    compare(&h, &m, one_column, 1, plain_mode, 1);
    end(&h);
}

static void test_slices_have_the_processors_bits(void **state) {
    (void)state;
    host h = begin(0);
    assert_slices_have_the_bits_of_here(h.rt, h.device);
    end(&h);
}

/* Types of MoE models, or all types if all sizes are requested. Tiled and row-wise. */
static void test_experts_have_the_processors_bits(void **state) {
    (void)state;
    static const uint32_t types[] = {GGUFX_TYPE_MXFP4, GGUFX_TYPE_Q4_K,    GGUFX_TYPE_Q6_K,
                                     GGUFX_TYPE_Q8_0,  GGUFX_TYPE_IQ2_XXS, GGUFX_TYPE_F16};
    host h = begin(0);
    for (size_t t = 0; asked.all && t < n_multiplied_types; t++)
        if (in_part(&asked, t))
            assert_experts_have_the_bits_of_here(h.rt, h.device, multiplied_types[t], product_modes,
                                                 N_PRODUCT_MODES);
    for (size_t t = 0; !asked.all && t < sizeof types / sizeof types[0]; t++)
        assert_experts_have_the_bits_of_here(h.rt, h.device, types[t], plain_mode, 1);
    end(&h);
}

static void test_empty_lists_are_results(void **state) {
    (void)state;
    host h = begin(0);
    assert_empty_lists_are_results(h.rt, h.device);
    end(&h);
}

static void test_bytes_come_back(void **state) {
    (void)state;
    host h = begin(0);
    matrix m = random_matrix(GGUFX_TYPE_Q6_K, 301, 2048, 0);
    ggufx_tensor *here = wrap_matrix(h.rt, &m), *there = upload(h.device, here);
    assert_bytes_come_back(there, &m);
    ggufx_tensor_destroy(there);
    ggufx_tensor_destroy(here);
    free_matrix(&m);
    end(&h);
}

static void test_words_are_added_up_there(void **state) {
    (void)state;
    static const uint32_t types[] = {GGUFX_TYPE_Q6_K, GGUFX_TYPE_Q4_K, GGUFX_TYPE_F32};
    host h = begin(0);
    for (size_t t = 0; t < 3; t++) {
        matrix m = random_matrix(types[t], 3001, 1024, 0);
        ggufx_tensor *here = wrap_matrix(h.rt, &m), *there = upload(h.device, here);
        assert_word_sums(there, &m, 2999, 1);
        ggufx_tensor_destroy(there);
        ggufx_tensor_destroy(here);
        free_matrix(&m);
    }
    end(&h);
}

static void test_memory_that_ends_is_reported_and_nothing_is_lost(void **state) {
    (void)state;
    host h = begin(0);
    const uint64_t used = facts_of(h.device).used_bytes;
    /* More rows than any device has room for, in a mapping that is never read. */
    const uint64_t ne[2] = {1 << 20, 1 << 20};
    ggufx_tensor *here = NULL, *there = NULL;
    ggufx_error error;
    static uint8_t byte;
    OK(tensor_of(&here, h.rt, GGUFX_TYPE_F32, 2, ne, 0, &byte, (uint64_t)1 << 42, "w", NULL, NULL,
                 ok_error()));
    assert_int_equal(ggufx_tensor_upload(&there, h.device, here, NULL, &error), GGUFX_E_MEMORY);
    assert_null(there);
    assert_non_null(strstr(error.message, "free"));
    assert_int_equal(facts_of(h.device).used_bytes, used);
    ggufx_tensor_destroy(here);
    matrix m = random_matrix(GGUFX_TYPE_Q8_0, 5, 256, 0);
    compare(&h, &m, one_column, 1, plain_mode, 1);
    end(&h);
}

/* Compiled programs are reused by the next open, unless the stored data is invalid. */
typedef struct store {
    uint8_t *data;
    uint64_t n, n_stores;
} store;

static uint64_t load_programs(void *user, const char *key, void *out, uint64_t capacity) {
    const store *s = user;
    (void)key;
    if (out && s->n) memcpy(out, s->data, (size_t)(capacity < s->n ? capacity : s->n));
    return s->n;
}

static void store_programs(void *user, const char *key, const void *data, uint64_t n_bytes) {
    store *s = user;
    (void)key;
    free(s->data);
    s->data = malloc((size_t)n_bytes);
    memcpy(s->data, data, (size_t)n_bytes);
    s->n = n_bytes;
    s->n_stores++;
}

static void test_compiled_programs_are_kept_or_refused(void **state) {
    (void)state;
    store s = {NULL, 0, 0};
    ggufx_device_options options = vulkan_options(0);
    options.cache_user = &s;
    options.cache_load = load_programs;
    options.cache_store = store_programs;
    for (uint64_t round = 0; round < 6; round++) {
        host h = {make_runtime(GGUFX_ISA_BEST, 1), NULL};
        OK(ggufx_device_open(&h.device, h.rt, device_id, &options, ok_error()));
        matrix m = random_matrix(GGUFX_TYPE_Q4_0, 3, 64, 0);
        compare(&h, &m, one_column, 1, plain_mode, 1);
        end(&h);
        assert_int_equal(s.n_stores, round + 1);
        assert_true(s.n > 32);
        if (round == 1) s.data[s.n - 1] ^= 1;
        if (round == 2) s.n -= 7;
        if (round == 3) memset(s.data, 0xee, (size_t)s.n);
        if (round == 4) s.n = 3;
    }
    free(s.data);
}

static void test_handles_go_in_any_order(void **state) {
    (void)state;
    for (unsigned order = 0; order < 6; order++) {
        host h = begin(0);
        matrix m = random_matrix(GGUFX_TYPE_Q4_0, 5, 256, 0);
        ggufx_tensor *here = wrap_matrix(h.rt, &m), *there = upload(h.device, here);
        assert_same_product(h.rt, h.device, there, here, 1, 0);
        unsigned left[3] = {0, 1, 2}, code = order;
        for (unsigned n = 3; n > 0; n--) {
            const unsigned at = code % n;
            code /= n;
            if (left[at] == 0) ggufx_device_destroy(h.device);
            if (left[at] == 1) ggufx_runtime_destroy(h.rt);
            if (left[at] == 2) ggufx_tensor_destroy(there);
            left[at] = left[n - 1];
        }
        ggufx_tensor_destroy(here);
        free_matrix(&m);
    }
}

/* ---- times ----------------------------------------------------------------------------------- */

static double now_ms(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Returns the milliseconds per launch of a call with several launches of the largest size; median
 * of five calls. */
static double launch_ms(const host *h, const ggufx_tensor *w, size_t n, uint32_t flags) {
    ggufx_tensor_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_tensor_info(&facts, w, ok_error()));
    const size_t rows = (size_t)facts.n_rows, cols = (size_t)facts.ne[0];
    float *x = random_values(n * cols, 1), *y = malloc(n * rows * sizeof *y);
    const ggufx_matmul_options options = options_with(flags, NULL, NULL);
    double each[6];
    for (int i = 0; i < 6; i++) { /* the first one compiles */
        const uint64_t before = launches_of(h->device);
        const double begin = now_ms();
        OK(matmul(y, 0, n * rows, h->rt, w, x, 0, n * cols, n, &options, ok_error()));
        each[i] = (now_ms() - begin) / (double)(launches_of(h->device) - before);
        for (int k = i; k > 1 && each[k] < each[k - 1]; k--) {
            const double less = each[k];
            each[k] = each[k - 1];
            each[k - 1] = less;
        }
    }
    free(x);
    free(y);
    return each[3];
}

/* The slowest types, in each mode and with each fma: at least 2^24 multiplications a call. */
static int print_times(void) {
    static const uint32_t types[] = {GGUFX_TYPE_Q4_K,  GGUFX_TYPE_Q6_K, GGUFX_TYPE_IQ3_S,
                                     GGUFX_TYPE_NVFP4, GGUFX_TYPE_F16,  GGUFX_TYPE_F32};
    static const struct {
        const char *name;
        size_t n;
        uint32_t flags;
    } ways[] = {{"dots", 1, 0},
                {"chains", 16, 0},
                {"dots of 15 bits", 1, GGUFX_MATMUL_INT16},
                {"chains of 15 bits", 16, GGUFX_MATMUL_INT16},
                {"dots of floats", 1, GGUFX_MATMUL_F32},
                {"chains of floats", 16, GGUFX_MATMUL_F32}};
    for (size_t f = 0; f < 3; f++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
            for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
                host h = begin(fmas[f]);
                matrix m = quantized_matrix(h.rt, types[t], ways[i].n > 1 ? 256 : 4096, 4096, 0);
                ggufx_tensor *here = wrap_matrix(h.rt, &m), *there = upload(h.device, here);
                printf("%8.2f ms a launch: type %u, %s, fma %u\n",
                       launch_ms(&h, there, ways[i].n, ways[i].flags), types[t], ways[i].name,
                       facts_of(h.device).fma);
                fflush(stdout);
                ggufx_tensor_destroy(there);
                ggufx_tensor_destroy(here);
                free_matrix(&m);
                end(&h);
            }
    return 0;
}

int main(int argc, char **argv) {
    plugin_path = argc > 1 ? argv[1] : "";
    asked = asked_cross("GGUFX_TEST_VULKAN");
    list_multiplied_types();
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    const ggufx_device_options options = vulkan_options(0);
    ggufx_device_facts facts[8] = {{.struct_size = sizeof facts[0]}};
    size_t n = 0;
    ggufx_error error;
    const ggufx_status status = ggufx_device_list(facts, 8, &n, rt, &options, &error);
    ggufx_runtime_destroy(rt);
    for (size_t i = 0; status == GGUFX_OK && i < n && !device_id[0]; i++) {
        if (facts[i].flags & GGUFX_DEVICE_UNUSABLE) {
            printf("%s: %s\n", facts[i].id, facts[i].reason);
        } else {
            snprintf(device_id, sizeof device_id, "%s", facts[i].id);
            printf("%s: %s, %s\n", facts[i].id, facts[i].name, facts[i].driver);
        }
    }
    if (!device_id[0]) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_device_is_exact),
        cmocka_unit_test(test_products_of_a_token_have_the_processors_bits),
        cmocka_unit_test(test_every_type_has_the_processors_bits),
        cmocka_unit_test(test_each_exact_fma_has_the_processors_bits),
        cmocka_unit_test(test_sizes_of_models_have_the_processors_bits),
        cmocka_unit_test(test_long_chains_are_not_cut),
        cmocka_unit_test(test_a_processor_says_which_rows_are_too_long),
        cmocka_unit_test(test_a_matrix_beyond_the_range_of_a_binding),
        cmocka_unit_test(test_slices_have_the_processors_bits),
        cmocka_unit_test(test_experts_have_the_processors_bits),
        cmocka_unit_test(test_empty_lists_are_results),
        cmocka_unit_test(test_bytes_come_back),
        cmocka_unit_test(test_words_are_added_up_there),
        cmocka_unit_test(test_memory_that_ends_is_reported_and_nothing_is_lost),
        cmocka_unit_test(test_compiled_programs_are_kept_or_refused),
        cmocka_unit_test(test_handles_go_in_any_order),
    };
    const struct CMUnitTest once[] = {
        cmocka_unit_test(test_the_device_is_exact),
        cmocka_unit_test(test_each_exact_fma_has_the_processors_bits),
        cmocka_unit_test(test_slices_have_the_processors_bits),
        cmocka_unit_test(test_experts_have_the_processors_bits),
        cmocka_unit_test(test_empty_lists_are_results),
        cmocka_unit_test(test_bytes_come_back),
        cmocka_unit_test(test_words_are_added_up_there),
        cmocka_unit_test(test_memory_that_ends_is_reported_and_nothing_is_lost),
        cmocka_unit_test(test_compiled_programs_are_kept_or_refused),
        cmocka_unit_test(test_handles_go_in_any_order),
    };
    if (argc > 2 && strcmp(argv[2], "times") == 0) return print_times();
    if (argc > 2 && strcmp(argv[2], "layers") == 0) return cmocka_run_group_tests(once, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
