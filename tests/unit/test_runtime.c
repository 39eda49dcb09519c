/*
 * Runtimes: facts, instruction sets, versions, structs of other sizes.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <ggufx/ggufx.h>

static void test_status_names_are_those_of_the_codes(void **state) {
    (void)state;
    assert_string_equal(ggufx_status_name(GGUFX_OK), "OK");
    assert_string_equal(ggufx_status_name(GGUFX_E_TRUNCATED), "TRUNCATED");
    assert_string_equal(ggufx_status_name(GGUFX_E_MISSING), "MISSING");
    assert_non_null(ggufx_status_name(12345));
    assert_non_null(ggufx_status_name(INT32_MIN));
}

static void test_version_texts_and_numbers_agree(void **state) {
    (void)state;
    assert_string_equal(ggufx_version(), "0.1.0");
    assert_int_equal(ggufx_abi_version(), GGUFX_ABI_VERSION);
    assert_int_equal(ggufx_has("type:Q4_k"), 1);
    assert_int_equal(ggufx_has("type:q4_2"), 0);
    assert_int_equal(ggufx_has("kv:f16"), 1);
    assert_int_equal(ggufx_has("isa:scalar"), 1);
    assert_int_equal(ggufx_has("isa:vax"), 0);
    assert_int_equal(ggufx_has("arch:llama"), 1);
    assert_int_equal(ggufx_has(""), 0);
    assert_int_equal(ggufx_has(NULL), 0);
}

static void test_runtime_describes_itself(void **state) {
    (void)state;
    ggufx_runtime *rt = NULL;
    ggufx_error error;
    assert_int_equal(ggufx_runtime_create(&rt, NULL, &error), GGUFX_OK);
    ggufx_runtime_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(ggufx_runtime_info(&facts, rt, &error), GGUFX_OK);
    assert_true(facts.threads >= 1);
    assert_true(facts.isa >= GGUFX_ISA_SCALAR);
    assert_non_null(facts.isa_name);
    assert_non_null(facts.allocator_name);
    assert_non_null(ggufx_runtime_kernel_name(rt, GGUFX_TYPE_Q4_K));
    assert_null(ggufx_runtime_kernel_name(rt, 4));
    assert_null(ggufx_runtime_kernel_name(rt, 4000000000u));
    ggufx_runtime_destroy(rt);
    ggufx_runtime_destroy(NULL);
}

static void test_isa_can_be_lowered_and_absent_ones_are_refused(void **state) {
    (void)state;
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.isa = GGUFX_ISA_SCALAR;
    ggufx_runtime *rt = NULL;
    ggufx_error error;
    assert_int_equal(ggufx_runtime_create(&rt, &options, &error), GGUFX_OK);
    assert_string_equal(ggufx_runtime_kernel_name(rt, GGUFX_TYPE_Q4_0), "scalar");
    ggufx_runtime_destroy(rt);
    rt = (ggufx_runtime *)&options;
    options.isa = 77;
    assert_int_equal(ggufx_runtime_create(&rt, &options, &error), GGUFX_E_UNSUPPORTED);
    assert_null(rt);
    assert_int_equal(error.status, GGUFX_E_UNSUPPORTED);
    assert_true(error.offset == GGUFX_NONE && error.index == GGUFX_NONE);
    assert_non_null(strstr(error.message, "77"));
#if defined(__x86_64__)
    options.isa = GGUFX_ISA_NEON;
#else
    options.isa = GGUFX_ISA_AVX2;
#endif
    assert_int_equal(ggufx_runtime_create(&rt, &options, NULL), GGUFX_E_UNSUPPORTED);
}

static void test_option_structs_may_be_shorter_or_longer_with_zeros(void **state) {
    (void)state;
    struct {
        ggufx_runtime_options options;
        unsigned char more[16];
    } big;
    memset(&big, 0, sizeof big);
    ggufx_runtime *rt = NULL;
    ggufx_error error;
    big.options.struct_size = sizeof big;
    big.options.isa = GGUFX_ISA_SCALAR;
    assert_int_equal(ggufx_runtime_create(&rt, &big.options, &error), GGUFX_OK);
    ggufx_runtime_destroy(rt);
    big.more[3] = 1;
    assert_int_equal(ggufx_runtime_create(&rt, &big.options, &error), GGUFX_E_VERSION);
    big.options.struct_size = 8; /* struct_size and flags alone: all defaults */
    assert_int_equal(ggufx_runtime_create(&rt, &big.options, &error), GGUFX_OK);
    ggufx_runtime_destroy(rt);
    big.options.struct_size = 0;
    assert_int_equal(ggufx_runtime_create(&rt, &big.options, &error), GGUFX_E_ARGUMENT);
    assert_non_null(strstr(error.message, "struct_size"));
}

static void test_facts_fill_only_what_the_caller_has(void **state) {
    (void)state;
    ggufx_runtime *rt = NULL;
    OK(ggufx_runtime_create(&rt, NULL, ok_error()));
    ggufx_runtime_facts facts;
    memset(&facts, 0x55, sizeof facts);
    facts.struct_size = 16;
    OK(ggufx_runtime_info(&facts, rt, ok_error()));
    assert_int_equal(facts.struct_size, 16);
    assert_true(facts.threads >= 1 && facts.threads != 0x55555555u);
    assert_true(facts.features == UINT64_C(0x5555555555555555));
    facts.struct_size = 4;
    ggufx_error error;
    assert_int_equal(ggufx_runtime_info(&facts, rt, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_runtime_info(NULL, rt, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_runtime_info(&facts, NULL, &error), GGUFX_E_ARGUMENT);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_names_are_those_of_the_codes),
        cmocka_unit_test(test_version_texts_and_numbers_agree),
        cmocka_unit_test(test_runtime_describes_itself),
        cmocka_unit_test(test_isa_can_be_lowered_and_absent_ones_are_refused),
        cmocka_unit_test(test_option_structs_may_be_shorter_or_longer_with_zeros),
        cmocka_unit_test(test_facts_fill_only_what_the_caller_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
