/*
 * ggufx_quantize: refused arguments, types and values, with their messages.
 * SPDX-License-Identifier: MIT
 */
#include "quantize_fixture.h"
#include "weight_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_wrong_arguments_are_refused_and_named(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float x[512] = {0}, w[256];
    uint8_t out[1024];
    ggufx_error e;
    ggufx_quantize_args options = defaults();
    const uint32_t q8 = GGUFX_TYPE_Q8_0;
    assert_int_equal(quantize_rows(out, 34, NULL, q8, x, 1, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(quantize_rows(NULL, 34, rt, q8, x, 1, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(quantize_rows(out, 34, rt, q8, NULL, 1, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(quantize_rows(out, 33, rt, q8, x, 1, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_non_null(strstr(e.message, "33"));
    assert_int_equal(quantize_rows(out, 67, rt, q8, x, 2, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(quantize_rows(out, 1024, rt, q8, x, SIZE_MAX, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(quantize_rows(out, 1024, rt, q8, x, 1, 33, NULL, &e), GGUFX_E_SHAPE);
    assert_non_null(strstr(e.message, "33"));
    assert_int_equal(quantize_rows(out, 1024, rt, 4, x, 1, 32, NULL, &e), GGUFX_E_TYPE);
    assert_non_null(strstr(e.message, "Q4_2"));
    assert_int_equal(quantize_rows(out, 1024, rt, 99, x, 1, 32, NULL, &e), GGUFX_E_TYPE);
    assert_int_equal(quantize_rows(x, 34, rt, q8, x, 1, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_non_null(strstr(e.message, "overlaps"));
    assert_int_equal(quantize_rows(x + 31, 34, rt, q8, x, 1, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(quantize_rows(x + 32, 34, rt, q8, x, 1, 32, NULL, &e), GGUFX_OK);
    assert_int_equal(quantize_rows(x, 34, rt, q8, x + 8, 1, 32, NULL, &e), GGUFX_E_ARGUMENT);
    assert_int_equal(quantize_rows(x, 36, rt, q8, x + 9, 1, 32, NULL, &e), GGUFX_OK);
    options.mode = 77;
    assert_int_equal(quantize_rows(out, 34, rt, q8, x, 1, 32, &options, &e), GGUFX_E_UNSUPPORTED);
    options.mode = 0;
    options.flags = 1;
    assert_int_not_equal(quantize_rows(out, 34, rt, q8, x, 1, 32, &options, &e), GGUFX_OK);
    options.flags = 0;
    for (size_t i = 0; i < 256; i++) w[i] = 1.0f;
    w[200] = -1.0f;
    options.imatrix = w;
    assert_int_equal(quantize_rows(out, 1024, rt, GGUFX_TYPE_Q4_K, x, 2, 256, &options, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(e.index, 200);
    w[200] = NAN;
    assert_int_equal(quantize_rows(out, 1024, rt, GGUFX_TYPE_Q4_K, x, 2, 256, &options, &e),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(quantize_rows(NULL, 0, rt, q8, NULL, 0, 32, NULL, &e), GGUFX_OK);
    assert_int_equal(quantize_rows(NULL, 0, rt, q8, NULL, 3, 0, NULL, &e), GGUFX_OK);
    ggufx_runtime_destroy(rt);
}

static void test_types_that_need_an_imatrix_say_so(void **state) {
    (void)state;
    const uint32_t types[] = {GGUFX_TYPE_IQ2_XXS, GGUFX_TYPE_IQ2_XS, GGUFX_TYPE_IQ1_S};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float x[256] = {0};
    uint8_t out[128];
    ggufx_error e;
    for (size_t t = 0; t < 3; t++) {
        assert_int_equal(quantize_rows(out, sizeof out, rt, types[t], x, 1, 256, NULL, &e),
                         GGUFX_E_ARGUMENT);
        assert_non_null(strstr(e.message, "needs an imatrix"));
    }
    ggufx_runtime_destroy(rt);
}

static void test_types_without_an_encoder_are_named(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float x[256] = {0};
    uint8_t out[2048];
    ggufx_error e;
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    for (uint32_t type = 0; type < 43; type++) {
        if (ggufx_type_info(&facts, type, NULL) != GGUFX_OK) continue;
        if (facts.flags & GGUFX_TYPE_HAS_QUANTIZE) continue;
        assert_int_equal(quantize_rows(out, sizeof out, rt, type, x, 1, 256, NULL, &e),
                         GGUFX_E_UNSUPPORTED);
        assert_non_null(strstr(e.message, facts.name));
    }
    assert_false(flags_of(GGUFX_TYPE_I8) & GGUFX_TYPE_HAS_QUANTIZE);
    assert_false(flags_of(GGUFX_TYPE_Q8_K) & GGUFX_TYPE_HAS_QUANTIZE);
    assert_true(flags_of(GGUFX_TYPE_Q4_K) & GGUFX_TYPE_HAS_QUANTIZE);
    ggufx_runtime_destroy(rt);
}

/* The first of several, whether values are checked beforehand (searches) or during quantization. */
static void test_the_first_bad_value_is_named(void **state) {
    (void)state;
    const uint32_t bad[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xff800001u};
    const uint32_t types[] = {GGUFX_TYPE_F32,  GGUFX_TYPE_F16,   GGUFX_TYPE_Q4_0,
                              GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q4_K,  GGUFX_TYPE_TQ2_0,
                              GGUFX_TYPE_Q1_0, GGUFX_TYPE_IQ4_XS};
    enum { kMany = 64 };
    const size_t n = (size_t)kMany * kColumns, places[] = {0, 3 * kColumns + 77, n / 2, n - 1};
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 2);
    float *x = random_values(n, 5);
    uint8_t *out = malloc(4 * n);
    char text[64];
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t i = 0; i < 4; i++) {
            ggufx_error e;
            float kept[4];
            for (size_t k = i; k < 4; k++)
                kept[k] = x[places[k]], x[places[k]] = float_of(bad[(i + k) % 4]);
            assert_int_equal(quantize_rows(out, 4 * n, rt, types[t], x, kMany, kColumns, NULL, &e),
                             GGUFX_E_VALUE);
            snprintf(text, sizeof text, "row %zu, column %zu ", places[i] / kColumns,
                     places[i] % kColumns);
            assert_int_equal(e.index, places[i] / kColumns);
            assert_non_null(strstr(e.message, text));
            for (size_t k = i; k < 4; k++) x[places[k]] = kept[k];
        }
    free(out);
    free(x);
    ggufx_runtime_destroy(rt);
}

/* Vectors of every instruction set, and the rest after the last whole one. */
static void test_one_bad_value_is_found_in_every_place(void **state) {
    (void)state;
    const int32_t sets[] = {GGUFX_ISA_SCALAR, GGUFX_ISA_AVX2, GGUFX_ISA_AVX512, GGUFX_ISA_NEON};
    const uint32_t bad[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffffffffu};
    enum { kLongest = 75 };
    float *x = random_values(kLongest, 6);
    uint8_t out[4 * kLongest];
    ggufx_error e;
    for (size_t set = 0; set < 4; set++) {
        ggufx_runtime_options options = {.struct_size = sizeof options};
        options.isa = sets[set];
        options.threads = 1;
        ggufx_runtime *rt = NULL;
        if (ggufx_runtime_create(&rt, &options, NULL) != GGUFX_OK) continue; /* unsupported */
        for (size_t n = 1; n <= kLongest; n++)
            for (size_t place = 0; place < n; place++) {
                const float kept = x[place];
                x[place] = float_of(bad[(n + place) % 4]);
                assert_int_equal(
                    quantize_rows(out, sizeof out, rt, GGUFX_TYPE_F16, x, n, 1, NULL, &e),
                    GGUFX_E_VALUE);
                assert_int_equal(e.index, place);
                x[place] = kept;
            }
        ggufx_runtime_destroy(rt);
    }
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_arguments_are_refused_and_named),
        cmocka_unit_test(test_types_that_need_an_imatrix_say_so),
        cmocka_unit_test(test_types_without_an_encoder_are_named),
        cmocka_unit_test(test_the_first_bad_value_is_named),
        cmocka_unit_test(test_one_bad_value_is_found_in_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
