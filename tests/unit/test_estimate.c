/*
 * ggufx_estimate: bytes against the allocations and the files of jobs. The best candidate:
 * test_recommend.c; shapes of known models: tests/cli/fit.py.
 * SPDX-License-Identifier: MIT
 */
#include "estimate_calls.h"
#include "gguf_builder.h"

#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- bytes ---------------------------------------------------------------------------------- */

static void check_session(fixture *f, const ggufx_estimate_options *asked, uint32_t type_k,
                          uint32_t type_v) {
    ggufx_session_options options = {.struct_size = sizeof options};
    ggufx_estimate_options of = *asked;
    int32_t tokens[40];
    ggufx_session *sessions[2] = {NULL, NULL};
    options.n_context = of.n_context;
    options.n_batch = of.n_batch;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    of.flags |= GGUFX_ESTIMATE_HAS_TYPE_K | GGUFX_ESTIMATE_HAS_TYPE_V;
    options.type_k = of.type_k = type_k;
    options.type_v = of.type_v = type_v;
    const long long before = f->memory.live_bytes;
    const ggufx_estimate_facts facts = estimate(f, &of);
    assert_int_equal(f->memory.live_bytes, before);
    for (uint32_t i = 0; i < facts.n_sessions; i++)
        MUST(f, ggufx_session_create(&sessions[i], f->model, &options, &f->error));
    const uint64_t taken = (uint64_t)(f->memory.live_bytes - before);
    if (taken != facts.kv_bytes + facts.session_bytes)
        fail_msg("context %u, batch %u, %u / %u: %zu bytes, estimate %zu + %zu", of.n_context,
                 of.n_batch, type_k, type_v, (size_t)taken, (size_t)facts.kv_bytes,
                 (size_t)facts.session_bytes);
    for (size_t i = 0; i < COUNT(tokens); i++) tokens[i] = (int32_t)i;
    const size_t n = facts.n_context < COUNT(tokens) ? facts.n_context : COUNT(tokens);
    MUST(f, decode_ids(sessions[0], tokens, n, NULL, 0, &f->error));
    if (facts.n_sessions == 1) /* decoding allocates nothing but the pool's threads */
        assert_true((uint64_t)(f->memory.live_bytes - before) - taken < 4096);
    for (uint32_t i = 0; i < facts.n_sessions; i++) ggufx_session_destroy(sessions[i]);
}

static void check_model(const tiny_options *tiny, uint32_t threads) {
    static const uint32_t types[][2] = {{GGUFX_TYPE_F16, GGUFX_TYPE_F16},
                                        {GGUFX_TYPE_Q8_0, GGUFX_TYPE_ROT_Q5_0},
                                        {GGUFX_TYPE_F32, GGUFX_TYPE_Q5_1},
                                        {GGUFX_TYPE_TQ3_0, GGUFX_TYPE_Q4_0}};
    static const uint32_t contexts[] = {0, 1, 64, 65, 700}, batches[] = {0, 1, 7};
    fixture f;
    memset(&f, 0, sizeof f);
    fault_init(&f.memory);
    f.rt = fault_runtime(&f.memory, threads);
    MUST(&f, open_tiny(&f.file, f.rt, tiny, &f.error));
    ggufx_estimate_options options = default_options();
    const uint64_t model_bytes = estimate(&f, &options).model_bytes;
    const long long before = f.memory.live_bytes;
    MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
    assert_int_equal(f.memory.live_bytes - before, model_bytes);
    for (size_t c = 0; c < COUNT(contexts); c++)
        for (size_t b = 0; b < COUNT(batches); b++)
            for (size_t t = 0; t < COUNT(types); t++) {
                options.n_context = contexts[c];
                options.n_batch = batches[b];
                options.n_sessions = b == 1 ? 2 : 0;
                check_session(&f, &options, types[t][0], types[t][1]);
            }
    end(&f);
}

static void test_a_model_and_its_sessions_take_what_the_estimate_says(void **state) {
    tiny_options tiny = {0};
    (void)state;
    check_model(NULL, 1);
    check_model(NULL, 3);
    tiny.untied = 1;
    tiny.weight_type = GGUFX_TYPE_Q8_0;
    check_model(&tiny, 1);
    tiny.rope_freqs = 1;
    check_model(&tiny, 2);
}

static void test_the_runtime_holds_the_workspaces_that_are_counted(void **state) {
    (void)state;
    uint64_t said[2];
    long long taken[2];
    for (int i = 0; i < 2; i++) {
        fault memory;
        fixture f;
        ggufx_runtime_options options = {.struct_size = sizeof options};
        memset(&f, 0, sizeof f);
        fault_init(&memory);
        options.allocator = &memory.allocator;
        options.threads = 1;
        options.workspace_bytes = i ? 3 << 20 : 0;
        MUST(&f, ggufx_runtime_create(&f.rt, &options, &f.error));
        taken[i] = memory.live_bytes;
        MUST(&f, open_tiny(&f.file, f.rt, NULL, &f.error));
        said[i] = estimate(&f, NULL).runtime_bytes;
        assert_true((uint64_t)taken[i] >= said[i] && (uint64_t)taken[i] < said[i] + 8192);
        ggufx_file_destroy(f.file);
        ggufx_runtime_destroy(f.rt);
    }
    assert_int_equal(said[1] - said[0], taken[1] - taken[0]);
    assert_int_equal(said[1], 4 * (3 << 20));
}

static void test_a_recipe_takes_what_its_job_would_write(void **state) {
    (void)state;
    fixture f;
    begin(&f, NULL);
    ggufx_estimate_options options = default_options();
    ggufx_quantizer_options job_options = {.struct_size = sizeof job_options};
    options.quantizer = &job_options;
    job_options.reserve_bytes = 1000;
    for (size_t i = 0; i < ggufx_file_type_count(); i++) {
        ggufx_file_type_facts recipe = {.struct_size = sizeof recipe};
        ggufx_quantizer_facts want = {.struct_size = sizeof want};
        ggufx_quantizer *job = NULL;
        MUST(&f, ggufx_file_type_at(&recipe, i, &f.error));
        options.file_type = recipe.file_type;
        /* only F32 is 0 and needs its flag */
        options.flags = recipe.file_type ? 0 : GGUFX_ESTIMATE_HAS_FILE_TYPE;
        const ggufx_status status =
            ggufx_quantizer_create(&job, f.rt, f.file, recipe.file_type, &job_options, &f.error);
        if (status != GGUFX_OK) { /* rows of 32 are no whole blocks of some types */
            ggufx_estimate_facts facts = {.struct_size = sizeof facts};
            FAILS(&f, status, "whole blocks",
                  ggufx_estimate(&facts, f.rt, f.file, &options, &f.error));
            continue;
        }
        MUST(&f, ggufx_quantizer_info(&want, job, &f.error));
        const ggufx_estimate_facts got = estimate(&f, &options);
        assert_int_equal(got.file_type, recipe.file_type);
        assert_int_equal(got.weight_bytes, want.bytes_out);
        assert_int_equal(got.file_bytes, want.file_bytes);
        assert_int_equal(got.n_parameters, want.n_values);
        assert_true(
            fabs(got.bits_per_weight * (double)want.n_values - 8.0 * (double)want.bytes_out) < 1);
        ggufx_quantizer_destroy(job);
    }
    end(&f);
}

static void test_a_file_takes_its_own_bytes(void **state) {
    (void)state;
    fixture f;
    ggufx_file_facts info = {.struct_size = sizeof info};
    begin(&f, NULL);
    MUST(&f, ggufx_file_info(&info, f.file, &f.error));
    const ggufx_estimate_facts facts = estimate(&f, NULL);
    assert_int_equal(facts.file_bytes, info.file_size);
    assert_int_equal(facts.weight_bytes, info.n_bytes);
    assert_int_equal(facts.file_type, GGUFX_ESTIMATE_AS_IS);
    assert_int_equal(facts.flags, GGUFX_ESTIMATE_FITS);
    assert_int_equal(facts.n_context, TINY_CONTEXT);
    assert_int_equal(facts.n_batch, TINY_CONTEXT);
    assert_int_equal(facts.n_sessions, 1);
    assert_int_equal(facts.type_k, GGUFX_TYPE_F16);
    assert_int_equal(facts.token_weight_bytes, info.n_bytes); /* tied: the whole embedding */
    assert_int_equal(facts.token_kv_bytes, TINY_LAYERS * TINY_KV_HEADS * 2 * TINY_HEAD_DIM * 2);
    assert_true(facts.weight_error == 0 && facts.loss < 1e-6 && facts.tokens_per_second == 0);
    end(&f);
}

/* A header without data, of an architecture without a graph: two layers of four experts, two
 * used. */
static void build_experts(gb *b) {
    const uint64_t embedding[] = {32, 10}, experts[] = {32, 48, 4}, norm[] = {32};
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.architecture", "moe");
    gb_key_u32(b, "moe.block_count", 2);
    gb_key_u32(b, "moe.context_length", 128);
    gb_key_u32(b, "moe.embedding_length", 32);
    gb_key_u32(b, "moe.attention.head_count", 4);
    gb_key_u32(b, "moe.attention.head_count_kv", 2);
    gb_key_u32(b, "moe.attention.key_length", 16);
    gb_key_u32(b, "moe.attention.value_length", 24);
    gb_key_u32(b, "moe.feed_forward_length", 48);
    gb_key_u32(b, "moe.expert_count", 4);
    gb_key_u32(b, "moe.expert_used_count", 2);
    gb_tensor(b, "token_embd.weight", GGUFX_TYPE_F16, 2, embedding, 640);
    gb_tensor(b, "output.weight", GGUFX_TYPE_F16, 2, embedding, 640);
    gb_tensor(b, "blk.0.ffn_up_exps.weight", GGUFX_TYPE_F16, 3, experts, 12288);
    gb_tensor(b, "output_norm.weight", GGUFX_TYPE_F32, 1, norm, 128);
    gb_data(b);
}

static void test_experts_and_embeddings_are_read_in_part(void **state) {
    (void)state;
    fixture f;
    gb b;
    ggufx_open_options open = {.struct_size = sizeof open};
    ggufx_estimate_options options = default_options();
    memset(&f, 0, sizeof f);
    fault_init(&f.memory);
    f.rt = fault_runtime(&f.memory, 1);
    build_experts(&b);
    open.flags = GGUFX_OPEN_METADATA_ONLY;
    MUST(&f, ggufx_open_memory(&f.file, f.rt, b.data, b.n, NULL, NULL, &open, &f.error));
    options.bandwidth = 1e6;
    ggufx_estimate_facts facts = estimate(&f, &options);
    assert_int_equal(facts.flags, GGUFX_ESTIMATE_FITS | GGUFX_ESTIMATE_UNSUPPORTED);
    assert_int_equal(facts.file_bytes, b.n + 640 + 640 + 12288 + 128);
    assert_int_equal(facts.token_weight_bytes, 64 + 640 + 6144 + 128);
    assert_int_equal(facts.token_kv_bytes, 2 * 2 * 2 * (16 + 24));
    assert_true(fabs(facts.tokens_per_second - 1e6 / 6976) < 1e-6);
    assert_true(fabs(facts.tokens_per_second_full - 1e6 / (6976 + 128 * 320)) < 1e-6);
    const uint64_t narrow = facts.session_bytes;
    options.flags = GGUFX_ESTIMATE_HAS_FILE_TYPE;
    options.file_type = 8; /* Q5_0; rows of 32 */
    facts = estimate(&f, &options);
    assert_int_equal(facts.session_bytes, narrow);
    assert_true(facts.weight_error > 0.04 && facts.weight_error < 0.04271);
    end(&f);
    gb_free(&b);
}

static void test_the_largest_context_fits_and_the_next_does_not(void **state) {
    (void)state;
    fixture f;
    begin(&f, NULL);
    ggufx_estimate_options options = default_options();
    const ggufx_estimate_facts whole = estimate(&f, &options);
    assert_int_equal(whole.max_context, TINY_CONTEXT);
    options.n_context = 5000;
    options.n_sessions = 3;
    const uint64_t most = estimate(&f, &options).total_bytes;
    assert_int_equal(estimate(&f, &options).max_context, 5000);
    for (uint64_t limit = most - 1; limit > most / 4; limit -= most / 7) {
        ggufx_estimate_options at = options;
        options.memory_bytes = at.memory_bytes = limit;
        const ggufx_estimate_facts facts = estimate(&f, &options);
        assert_false(facts.flags & GGUFX_ESTIMATE_FITS);
        assert_in_range(facts.max_context, 0, 4999);
        at.n_context = facts.max_context;
        if (at.n_context) assert_true(estimate(&f, &at).flags & GGUFX_ESTIMATE_FITS);
        at.n_context = facts.max_context + 1;
        assert_false(estimate(&f, &at).flags & GGUFX_ESTIMATE_FITS);
    }
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_model_and_its_sessions_take_what_the_estimate_says),
        cmocka_unit_test(test_the_runtime_holds_the_workspaces_that_are_counted),
        cmocka_unit_test(test_a_recipe_takes_what_its_job_would_write),
        cmocka_unit_test(test_a_file_takes_its_own_bytes),
        cmocka_unit_test(test_experts_and_embeddings_are_read_in_part),
        cmocka_unit_test(test_the_largest_context_fits_and_the_next_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
