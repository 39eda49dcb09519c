/*
 * ggufx_estimate and ggufx_recommend: refused calls.
 * SPDX-License-Identifier: MIT
 */
#include "estimate_calls.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void test_what_cannot_be_estimated_is_refused(void **state) {
    (void)state;
    fixture f;
    ggufx_estimate_facts out = {.struct_size = sizeof out};
    ggufx_estimate_options o = default_options();
    begin(&f, NULL);
#define REFUSED(code, text) FAILS(&f, code, text, ggufx_estimate(&out, f.rt, f.file, &o, &f.error))
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_estimate(NULL, f.rt, f.file, &o, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "rt", ggufx_recommend(&out, NULL, f.file, &o, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "file", ggufx_recommend(&out, f.rt, NULL, &o, &f.error));
    o.bandwidth = NAN;
    REFUSED(GGUFX_E_ARGUMENT, "bandwidth");
    o.bandwidth = -1;
    REFUSED(GGUFX_E_ARGUMENT, "bandwidth");
    o = default_options();
    o.flags = 256;
    REFUSED(GGUFX_E_ARGUMENT, "0x100");
    o.flags = GGUFX_ESTIMATE_HAS_FILE_TYPE;
    o.file_type = 4;
    REFUSED(GGUFX_E_ARGUMENT, "file type 4");
    o = default_options();
    o.type_v = 99;
    REFUSED(GGUFX_E_TYPE, "99");
    o.type_v = GGUFX_TYPE_GX4;
    REFUSED(GGUFX_E_ARGUMENT, "multiple of 16");
    o = default_options();
    o.n_context = UINT32_MAX;
    REFUSED(GGUFX_E_ARGUMENT, "n_context");
    end(&f);
}

static void test_files_that_cannot_be_estimated_are_refused(void **state) {
    (void)state;
    static const struct {
        tiny_options tiny;
        ggufx_status status;
        const char *text;
    } cases[] = {
        {{.skip = "llama.block_count"}, GGUFX_E_MISSING, "llama.block_count"},
        {{.skip = "token_embd.weight"}, GGUFX_E_MISSING, "token_embd.weight"},
        {{.architecture = "other"}, GGUFX_E_MISSING, "other.block_count"},
        {{.change = "llama.attention.head_count_kv", .value = 3},
         GGUFX_E_HYPERPARAMETER,
         "head_count_kv"},
        {{.weight_type = GGUFX_TYPE_Q8_0}, GGUFX_E_ARGUMENT, "quantized already"},
    };
    ggufx_estimate_facts out = {.struct_size = sizeof out};
    ggufx_estimate_options o = default_options();
    o.flags = GGUFX_ESTIMATE_HAS_FILE_TYPE;
    o.file_type = 2;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        begin(&f, &cases[i].tiny);
        FAILS(&f, cases[i].status, cases[i].text, ggufx_estimate(&out, f.rt, f.file, &o, &f.error));
        end(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_cannot_be_estimated_is_refused),
        cmocka_unit_test(test_files_that_cannot_be_estimated_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
