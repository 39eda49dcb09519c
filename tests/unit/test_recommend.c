/*
 * ggufx_recommend: the best candidate compared with all others.
 * SPDX-License-Identifier: MIT
 */
#include "estimate_calls.h"
#include "gguf_builder.h"

#include <math.h>
#include <string.h>

static ggufx_estimate_facts recommend(fixture *f, const ggufx_estimate_options *options) {
    ggufx_estimate_facts facts = {.struct_size = sizeof facts};
    MUST(f, ggufx_recommend(&facts, f->rt, f->file, options, &f->error));
    assert_true(facts.flags & GGUFX_ESTIMATE_FITS);
    return facts;
}

/* With given cache types only the quantization mix remains to be chosen: estimates each of them. */
static void test_the_recommendation_loses_least_of_all_that_fit(void **state) {
    (void)state;
    fixture f;
    size_t n_answers = 0;
    uint32_t last = 0;
    begin(&f, NULL);
    ggufx_estimate_options options = default_options();
    options.type_k = options.type_v = GGUFX_TYPE_Q8_0;
    const ggufx_estimate_facts whole = estimate(&f, &options);
    for (uint64_t limit = whole.total_bytes; limit > whole.total_bytes - whole.weight_bytes;
         limit -= whole.weight_bytes / 40) {
        ggufx_estimate_facts best = {.struct_size = sizeof best};
        ggufx_estimate_options each = options;
        each.flags = GGUFX_ESTIMATE_HAS_FILE_TYPE;
        options.memory_bytes = limit;
        double least = whole.total_bytes <= limit ? whole.loss : INFINITY;
        for (size_t i = 0; i < ggufx_file_type_count(); i++) {
            ggufx_file_type_facts recipe = {.struct_size = sizeof recipe};
            ggufx_estimate_facts one = {.struct_size = sizeof one};
            MUST(&f, ggufx_file_type_at(&recipe, i, &f.error));
            each.file_type = recipe.file_type;
            if (ggufx_estimate(&one, f.rt, f.file, &each, NULL) != GGUFX_OK) continue;
            const int takes_part = !(one.flags & GGUFX_ESTIMATE_NEEDS_IMATRIX);
            if (takes_part && one.total_bytes <= limit && one.loss < least) least = one.loss;
        }
        if (least == INFINITY) break;
        best = recommend(&f, &options);
        assert_true(best.loss == least && best.total_bytes <= limit);
        n_answers += best.file_type != last;
        last = best.file_type;
    }
    assert_true(n_answers >= 4);
    end(&f);
}

/* Opens a header of two layers whose heads support every cache type. */
static void open_heads(fixture *f, gb *b) {
    const uint64_t embedding[] = {256, 10};
    ggufx_open_options open = {.struct_size = sizeof open};
    memset(f, 0, sizeof *f);
    fault_init(&f->memory);
    f->rt = fault_runtime(&f->memory, 1);
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.architecture", "heads");
    gb_key_u32(b, "heads.block_count", 2);
    gb_key_u32(b, "heads.context_length", 20000);
    gb_key_u32(b, "heads.embedding_length", 256);
    gb_key_u32(b, "heads.attention.head_count", 4);
    gb_tensor(b, "token_embd.weight", GGUFX_TYPE_Q8_0, 2, embedding, 2720);
    gb_data(b);
    open.flags = GGUFX_OPEN_METADATA_ONLY;
    MUST(f, ggufx_open_memory(&f->file, f->rt, b->data, b->n, NULL, NULL, &open, &f->error));
}

/* Less memory gives more loss, step by step, until nothing fits. */
static void test_less_memory_goes_down_the_ladder_of_caches(void **state) {
    static const uint32_t ladder[][2] = {
        {GGUFX_TYPE_F16, GGUFX_TYPE_F16},       {GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0},
        {GGUFX_TYPE_Q8_0, GGUFX_TYPE_ROT_Q5_0}, {GGUFX_TYPE_ROT_Q5_0, GGUFX_TYPE_ROT_Q5_0},
        {GGUFX_TYPE_ROT_Q5_0, GGUFX_TYPE_GX4},  {GGUFX_TYPE_ROT_IQ4_NL, GGUFX_TYPE_ROT_IQ4_NL},
        {GGUFX_TYPE_GX4, GGUFX_TYPE_GX4},       {GGUFX_TYPE_GX4, GGUFX_TYPE_GX3},
        {GGUFX_TYPE_GX3, GGUFX_TYPE_GX3},       {GGUFX_TYPE_GX3, GGUFX_TYPE_GX2},
        {GGUFX_TYPE_GX2, GGUFX_TYPE_GX2}};
    enum { N_STEPS = sizeof ladder / sizeof *ladder };
    (void)state;
    fixture f;
    gb b;
    ggufx_estimate_facts last = {.total_bytes = UINT64_MAX, .loss = -1},
                         none = {.struct_size = sizeof none};
    ggufx_estimate_options options = default_options();
    options.n_context = 20000; /* the default would be 8192 */
    open_heads(&f, &b);
    for (size_t i = 0; i < N_STEPS; i++) {
        const ggufx_estimate_facts now = recommend(&f, &options);
        assert_int_equal(now.file_type, GGUFX_ESTIMATE_AS_IS);
        assert_int_equal(now.type_k, ladder[i][0]);
        assert_int_equal(now.type_v, ladder[i][1]);
        assert_int_equal(now.max_context, 20000);
        assert_true(now.total_bytes < last.total_bytes && now.loss > last.loss);
        options.memory_bytes = now.total_bytes - 1;
        last = now;
    }
    FAILS(&f, GGUFX_E_CAPACITY, "context of 19",
          ggufx_recommend(&none, f.rt, f.file, &options, &f.error));
    options.memory_bytes = 1000;
    FAILS(&f, GGUFX_E_CAPACITY, "the file as it is with keys gx2 and values gx2",
          ggufx_recommend(&none, f.rt, f.file, &options, &f.error));
    end(&f);
    gb_free(&b);
}

/* Q8_0 stays unless the job may requantize it. */
static void test_a_quantized_file_stays_as_it_is_unless_that_is_allowed(void **state) {
    (void)state;
    fixture f;
    ggufx_estimate_options options = default_options();
    ggufx_quantizer_options job = {.struct_size = sizeof job};
    const tiny_options tiny = {.weight_type = GGUFX_TYPE_Q8_0};
    begin(&f, &tiny);
    options.type_k = options.type_v = GGUFX_TYPE_F16;
    options.memory_bytes = estimate(&f, &options).total_bytes - 1;
    FAILS(&f, GGUFX_E_CAPACITY, "the file as it is",
          ggufx_recommend(&(ggufx_estimate_facts){.struct_size = sizeof(ggufx_estimate_facts)},
                          f.rt, f.file, &options, &f.error));
    job.flags = GGUFX_QUANTIZER_ALLOW_REQUANTIZE;
    options.quantizer = &job;
    assert_int_not_equal(recommend(&f, &options).file_type, GGUFX_ESTIMATE_AS_IS);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_recommendation_loses_least_of_all_that_fit),
        cmocka_unit_test(test_less_memory_goes_down_the_ladder_of_caches),
        cmocka_unit_test(test_a_quantized_file_stays_as_it_is_unless_that_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
