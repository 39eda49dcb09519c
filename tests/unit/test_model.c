/*
 * Creation of models from files: accepted files, and refused ones with their errors.
 * SPDX-License-Identifier: MIT
 */
#include "model_fixture.h"

#include <stdlib.h>
#include <string.h>

static void test_model_info_tells_the_hyper_parameters(void **state) {
    fixture f;
    ggufx_model_facts facts;
    (void)state;
    begin(&f, NULL);
    MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
    MUST(&f, ggufx_model_info(&facts, f.model, &f.error));
    assert_string_equal(facts.architecture, "llama");
    assert_int_equal(facts.n_vocab, TINY_VOCAB);
    assert_int_equal(facts.n_context, TINY_CONTEXT);
    assert_int_equal(facts.n_embedding, TINY_EMBD);
    assert_int_equal(facts.n_layers, TINY_LAYERS);
    assert_int_equal(facts.n_heads, TINY_HEADS);
    assert_int_equal(facts.n_kv_heads, TINY_KV_HEADS);
    assert_int_equal(facts.head_dim, TINY_HEAD_DIM);
    /* Embedding, its norm; per layer two norms, q and o, k and v, three of the feed-forward. */
    assert_int_equal(facts.n_parameters,
                     302 * 32 + 32 + 2 * (2 * 32 + 2 * 1024 + 2 * 512 + 3 * 2048));
    assert_int_equal(facts.weight_bytes, 4 * facts.n_parameters);
    assert_int_equal(ggufx_has("arch:llama"), 1);
    end(&f);
}

static void assert_create_fails(const tiny_options *options, ggufx_status status,
                                const char *text) {
    fixture f;
    begin(&f, options);
    f.model = (ggufx_model *)&f;
    FAILS(&f, status, text, ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
    assert_null(f.model);
    end(&f);
}

static void test_model_create_rejects_unusable_hyper_parameters(void **state) {
    static const struct {
        const char *key;
        uint32_t value;
    } cases[] = {
        {"llama.block_count", 0},
        {"llama.block_count", UINT32_MAX},
        {"llama.context_length", 0},
        {"llama.context_length", UINT32_MAX},
        {"llama.embedding_length", 0},
        {"llama.embedding_length", UINT32_MAX},
        {"llama.feed_forward_length", 0},
        {"llama.feed_forward_length", UINT32_MAX},
        {"llama.attention.head_count", 0},
        {"llama.attention.head_count", 7},
        {"llama.attention.head_count", UINT32_MAX},
        {"llama.attention.head_count_kv", 0},
        {"llama.attention.head_count_kv", 3},
        {"llama.attention.head_count_kv", 8},
        {"llama.rope.dimension_count", 7},
        {"llama.rope.dimension_count", 10},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tiny_options options;
        memset(&options, 0, sizeof options);
        options.change = cases[i].key;
        options.value = cases[i].value;
        assert_create_fails(&options, GGUFX_E_HYPERPARAMETER, cases[i].key);
    }
    const tiny_options small = {.rope_factor = 1e-30f};
    assert_create_fails(&small, GGUFX_E_HYPERPARAMETER, "llama.rope.scaling.factor");
}

static void test_model_create_names_what_is_missing(void **state) {
    static const char *const names[] = {
        "general.architecture",
        "llama.block_count",
        "llama.context_length",
        "llama.embedding_length",
        "llama.feed_forward_length",
        "llama.attention.head_count",
        "llama.attention.layer_norm_rms_epsilon",
        "token_embd.weight",
        "output_norm.weight",
        "blk.0.attn_norm.weight",
        "blk.1.attn_q.weight",
        "blk.0.attn_k.weight",
        "blk.1.attn_v.weight",
        "blk.0.attn_output.weight",
        "blk.1.ffn_norm.weight",
        "blk.0.ffn_gate.weight",
        "blk.1.ffn_up.weight",
        "blk.0.ffn_down.weight",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tiny_options options;
        memset(&options, 0, sizeof options);
        options.skip = names[i];
        assert_create_fails(&options, GGUFX_E_MISSING, names[i]);
    }
}

static void test_model_create_states_both_shapes_of_a_wrong_tensor(void **state) {
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"token_embd.weight", "[64, 302, 1, 1], the model needs [32, 302]"},
        {"blk.1.ffn_down.weight", "[96, 32, 1, 1], the model needs [64, 32]"},
        {"blk.0.attn_norm.weight", "[64, 1, 1, 1], the model needs [32, 1]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tiny_options options;
        memset(&options, 0, sizeof options);
        options.misshape = cases[i].name;
        assert_create_fails(&options, GGUFX_E_SHAPE, cases[i].text);
    }
}

static void test_model_create_rejects_types_without_a_product(void **state) {
    tiny_options options;
    (void)state;
    memset(&options, 0, sizeof options);
    options.retype = "blk.0.attn_k.weight";
    assert_create_fails(&options, GGUFX_E_TYPE, "blk.0.attn_k.weight");
    options.retype = "blk.0.attn_norm.weight";
    assert_create_fails(&options, GGUFX_E_TYPE, "blk.0.attn_norm.weight");
}

static void test_model_create_says_what_is_not_supported(void **state) {
    tiny_options options;
    (void)state;
    memset(&options, 0, sizeof options);
    options.architecture = "gemma9";
    assert_create_fails(&options, GGUFX_E_UNSUPPORTED, "architecture gemma9 is not supported");
    memset(&options, 0, sizeof options);
    options.change = "llama.expert_count";
    options.value = 4;
    assert_create_fails(&options, GGUFX_E_HYPERPARAMETER, "llama.expert_count");
    memset(&options, 0, sizeof options);
    options.scaling = "dynamic";
    assert_create_fails(&options, GGUFX_E_UNSUPPORTED, "dynamic");
    memset(&options, 0, sizeof options);
    options.extra_tensor = "blk.0.attn_r.weight";
    assert_create_fails(&options, GGUFX_E_UNSUPPORTED, "blk.0.attn_r.weight");
    options.extra_tensor = "position_embd.weight";
    assert_create_fails(&options, GGUFX_E_UNSUPPORTED, "position_embd.weight");
}

static void test_model_create_ignores_tensors_outside_of_the_layers(void **state) {
    tiny_options options;
    fixture f;
    (void)state;
    memset(&options, 0, sizeof options);
    options.extra_tensor = "note";
    begin(&f, &options);
    MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
    end(&f);
}

static void test_model_create_rejects_split_keys_that_do_not_fit(void **state) {
    tiny_options options;
    (void)state;
    memset(&options, 0, sizeof options);
    options.extra_string = "split.count";
    assert_create_fails(&options, GGUFX_E_SPLIT, "split.count");
    options.extra_string = "split.tensors.count";
    assert_create_fails(&options, GGUFX_E_SPLIT, "split.tensors.count");
}

static void test_model_create_needs_tensor_data(void **state) {
    ggufx_open_options open = {.struct_size = sizeof open};
    size_t size = 0;
    unsigned char *data = tiny_model(&size, NULL);
    fixture f;
    (void)state;
    begin(&f, NULL);
    ggufx_file_destroy(f.file);
    open.flags = GGUFX_OPEN_METADATA_ONLY;
    MUST(&f, ggufx_open_memory(&f.file, f.rt, data, size, NULL, NULL, &open, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "metadata",
          ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
    end(&f);
    free(data);
}

static void test_model_calls_refuse_bad_arguments(void **state) {
    fixture f;
    ggufx_model_options options = {.struct_size = sizeof options};
    ggufx_model_facts facts;
    (void)state;
    begin(&f, NULL);
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_model_create(NULL, f.rt, f.file, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "rt", ggufx_model_create(&f.model, NULL, f.file, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "file", ggufx_model_create(&f.model, f.rt, NULL, NULL, &f.error));
    options.flags = 2;
    FAILS(&f, GGUFX_E_ARGUMENT, "ggufx_model_options",
          ggufx_model_create(&f.model, f.rt, f.file, &options, &f.error));
    options.flags = 0;
    MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, &options, &f.error));
    facts.struct_size = sizeof facts;
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_model_info(NULL, f.model, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_model_info(&facts, NULL, &f.error));
    facts.struct_size = 2;
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_model_info(&facts, f.model, &f.error));
    ggufx_model_destroy(NULL);
    end(&f);
}

static ggufx_status create_model(void *context, ggufx_runtime *rt, ggufx_error *error) {
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_status status = open_tiny(&file, rt, context, error);
    if (status == GGUFX_OK) status = ggufx_model_create(&model, rt, file, NULL, error);
    ggufx_file_destroy(file);
    ggufx_model_destroy(model);
    return status;
}

static void test_model_survives_each_failing_allocation(void **state) {
    tiny_options options;
    (void)state;
    memset(&options, 0, sizeof options);
    options.rope_freqs = 1;
    assert_true(fault_run(create_model, &options) > 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_info_tells_the_hyper_parameters),
        cmocka_unit_test(test_model_create_rejects_unusable_hyper_parameters),
        cmocka_unit_test(test_model_create_names_what_is_missing),
        cmocka_unit_test(test_model_create_states_both_shapes_of_a_wrong_tensor),
        cmocka_unit_test(test_model_create_rejects_types_without_a_product),
        cmocka_unit_test(test_model_create_says_what_is_not_supported),
        cmocka_unit_test(test_model_create_ignores_tensors_outside_of_the_layers),
        cmocka_unit_test(test_model_create_rejects_split_keys_that_do_not_fit),
        cmocka_unit_test(test_model_create_needs_tensor_data),
        cmocka_unit_test(test_model_calls_refuse_bad_arguments),
        cmocka_unit_test(test_model_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
