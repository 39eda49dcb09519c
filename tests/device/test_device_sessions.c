/*
 * Sessions with a model's layers on a device: speculative decoding, grammars, batches of sequences,
 * snapshots moved between device and host. Every bit is that of a model in host memory. On the fake
 * device, the device is also lost during a call.
 *
 * usage: test_device_sessions PLUGIN [fake|few]      few: runs that an emulated GPU does in seconds
 * SPDX-License-Identifier: MIT
 */
#include "../text_of.h"
#include "../unit/ok.h"
#include "../unit/session_fixture.h"
#include "fake_fixture.h"

#include <stdio.h>

static const char *plugin_path;
static const tiny_options untied = {.weight_type = GGUFX_TYPE_Q8_0, .untied = 1};

/* Opens the first usable device, which may be a software device. */
static ggufx_device *open_any(const ggufx_runtime *rt) {
    ggufx_device_options options = {.struct_size = sizeof options};
    options.plugin_path = plugin_path;
    ggufx_device_facts facts[8] = {{.struct_size = sizeof facts[0]}};
    ggufx_device *device = NULL;
    ggufx_error error;
    size_t n = 0, i = 0;
    OK(ggufx_device_list(facts, 8, &n, rt, &options, ok_error()));
    while (i < n && facts[i].flags & GGUFX_DEVICE_UNUSABLE) i++;
    if (i == n) skip();
    if (ggufx_device_open(&device, rt, facts[i].id, &options, &error) != GGUFX_OK)
        fail_msg("open: %s", error.message);
    return device;
}

static ggufx_model *model_on(fixture *f, const ggufx_file *file, const ggufx_device *device,
                             uint32_t n_layers) {
    ggufx_model_options options = {.struct_size = sizeof options};
    ggufx_model *model = NULL;
    options.device = device;
    options.n_device_layers = n_layers;
    MUST(f, ggufx_model_create(&model, f->rt, file, &options, &f->error));
    return model;
}

/* Output of a scenario: logits, ids and snapshots in sequence. */
typedef struct record {
    uint8_t *data;
    size_t n, at;
} record;

static ggufx_status write_record(void *user, const void *data, size_t n) {
    record *r = user;
    r->data = realloc(r->data, r->n + n);
    assert_non_null(r->data);
    memcpy(r->data + r->n, data, n);
    r->n += n;
    return GGUFX_OK;
}

static ggufx_status read_record(void *user, void *data, size_t n) {
    record *r = user;
    if (n > r->n - r->at) return GGUFX_E_TRUNCATED;
    memcpy(data, r->data + r->at, n);
    r->at += n;
    return GGUFX_OK;
}

static ggufx_session *new_session(fixture *f, const ggufx_model *model, uint32_t matmul_flags) {
    ggufx_session_options options = {.struct_size = sizeof options};
    ggufx_session *session = NULL;
    options.matmul_flags = matmul_flags;
    options.n_sequences = 3;
    MUST(f, ggufx_session_create(&session, model, &options, &f->error));
    return session;
}

/* Decodes ids and notes the logits after the last one. */
static void note_decode(fixture *f, ggufx_session *session, const int32_t *ids, size_t n,
                        record *out) {
    float logits[TINY_VOCAB];
    MUST(f, decode_ids(session, ids, n, logits, TINY_VOCAB, &f->error));
    (void)write_record(out, logits, sizeof logits);
}

/* A text whose second half repeats the first, so that drafts are accepted and rejected. */
static void make_text(int32_t *tokens) {
    make_tokens(tokens, N);
    for (size_t i = N / 2; i < N; i++) tokens[i] = tokens[i - N / 2];
}

static void begin_text(fixture *f, ggufx_session *session, size_t n) {
    int32_t tokens[N];
    make_text(tokens);
    MUST(f, decode_ids(session, tokens, n, NULL, 0, &f->error));
}

/* Generation with drafts: those of `draft`, or of prompt lookup. */
typedef struct drafting {
    ggufx_generator *generator;
    ggufx_session *session, *draft;
} drafting;

static drafting begin_drafts(fixture *f, const ggufx_model *model, const ggufx_model *draft,
                             const ggufx_grammar *grammar) {
    drafting d = {NULL, NULL, NULL};
    ggufx_draft_options drafts = {.struct_size = sizeof drafts};
    ggufx_generator_options options = {.struct_size = sizeof options};
    ggufx_prompt prompt = {.struct_size = sizeof prompt};
    int32_t tokens[N];
    d.session = new_session(f, model, 0);
    if (draft) drafts.session = d.draft = new_session(f, draft, 0);
    options.draft = &drafts;
    options.grammar = grammar;
    options.flags = GGUFX_GENERATOR_LOGPROBS;
    if (!grammar) options.flags |= GGUFX_GENERATOR_IDS_ONLY | GGUFX_GENERATOR_IGNORE_EOG;
    MUST(f, ggufx_generator_create(&d.generator, d.session, &options, &f->error));
    make_text(tokens);
    prompt.tokens = tokens;
    prompt.n_tokens = N;
    MUST(f, ggufx_generator_set_prompt(d.generator, &prompt, &f->error));
    return d;
}

/* Computes a step, after which all of its events are polled. */
static ggufx_status step(drafting *d, record *out, ggufx_error *error) {
    const ggufx_step_item item = {.struct_size = sizeof item, .generator = d->generator};
    ggufx_event event = {.struct_size = sizeof event};
    const ggufx_status status = ggufx_session_step(NULL, d->session, &item, 1, NULL, error);
    do {
        OK(ggufx_generator_poll(&event, d->generator, ok_error()));
        for (size_t i = 0; out && i < event.n_tokens; i++) {
            (void)write_record(out, &event.tokens[i].id, sizeof event.tokens[i].id);
            (void)write_record(out, &event.tokens[i].logprob, sizeof event.tokens[i].logprob);
        }
    } while (event.kind != GGUFX_EVENT_NONE && event.kind != GGUFX_EVENT_END);
    return status;
}

static void end_drafts(drafting *d) {
    ggufx_generator_destroy(d->generator);
    ggufx_session_destroy(d->draft);
    ggufx_session_destroy(d->session);
}

static void draft_often(fixture *f, const ggufx_model *model, const ggufx_model *draft,
                        record *out) {
    drafting d = begin_drafts(f, model, draft, NULL);
    for (int i = 0; i < 6; i++) MUST(f, step(&d, out, &f->error));
    ggufx_generator_facts facts = {.struct_size = sizeof facts};
    MUST(f, ggufx_generator_info(&facts, d.generator, &f->error));
    if (draft) assert_true(facts.n_drafted > 0);
    (void)write_record(out, &facts, sizeof facts);
    end_drafts(&d);
}

static void looked_up(fixture *f, const ggufx_model *model, const ggufx_model *here, record *out) {
    (void)here;
    draft_often(f, model, NULL, out);
}

static void drafted_here(fixture *f, const ggufx_model *model, const ggufx_model *here,
                         record *out) {
    draft_often(f, model, here, out);
}

static void drafted_there(fixture *f, const ggufx_model *model, const ggufx_model *here,
                          record *out) {
    (void)here;
    draft_often(f, model, model, out);
}

static void within_a_grammar(fixture *f, const ggufx_model *model, const ggufx_model *here,
                             record *out) {
    (void)here;
    static const char text[] = "root ::= [a-z]+ (\" \" [a-z]+)*";
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_grammar *grammar = NULL;
    ggufx_grammar_options options = {.struct_size = sizeof options};
    options.text = text_of(text);
    MUST(f, ggufx_tokenizer_create(&tokenizer, f->file, &f->error));
    MUST(f, ggufx_grammar_create(&grammar, f->rt, tokenizer, &options, &f->error));
    drafting d = begin_drafts(f, model, NULL, grammar);
    for (int i = 0; i < 5; i++) MUST(f, step(&d, out, &f->error));
    end_drafts(&d);
    ggufx_grammar_destroy(grammar);
    ggufx_tokenizer_destroy(tokenizer);
}

/* Three sequences of different lengths in a call, then a copy and truncations, in each product
 * mode. */
static void side_by_side(fixture *f, const ggufx_model *model, const ggufx_model *here,
                         record *out) {
    (void)here;
    static const uint32_t flags[] = {GGUFX_MATMUL_BATCH_INVARIANT, GGUFX_MATMUL_TILED, 0};
    int32_t tokens[N];
    make_tokens(tokens, N);
    for (size_t way = 0; way < 3; way++) {
        ggufx_session *session = new_session(f, model, 0);
        float *logits = malloc(28 * TINY_VOCAB * sizeof *logits);
        ggufx_decode_options options = {.struct_size = sizeof options};
        options.flags = GGUFX_DECODE_HAS_MATMUL_FLAGS;
        options.matmul_flags = flags[way];
        options.logits = logits;
        ggufx_decode_item items[3] = {{.struct_size = sizeof(ggufx_decode_item),
                                       .sequence = 1,
                                       .tokens = tokens,
                                       .n_tokens = 17},
                                      {.struct_size = sizeof(ggufx_decode_item),
                                       .sequence = 0,
                                       .tokens = tokens + 9,
                                       .n_tokens = 1},
                                      {.struct_size = sizeof(ggufx_decode_item),
                                       .sequence = 2,
                                       .tokens = tokens + 3,
                                       .n_tokens = 9}};
        for (size_t i = 0; i < 3; i++) items[i].flags = GGUFX_DECODE_ALL_LOGITS;
        options.n_logits = 27 * TINY_VOCAB;
        MUST(f, ggufx_session_decode(session, items, 3, &options, &f->error));
        (void)write_record(out, logits, (size_t)options.n_logits * sizeof *logits);
        MUST(f, ggufx_session_truncate(session, 0, 0, &f->error));
        MUST(f, ggufx_session_copy(session, 1, 0, 11, &f->error));
        MUST(f, ggufx_session_truncate(session, 2, 4, &f->error));
        for (size_t i = 0; i < 3; i++)
            items[i] = (ggufx_decode_item){.struct_size = sizeof(ggufx_decode_item),
                                           .sequence = (uint32_t)i,
                                           .flags = GGUFX_DECODE_LOGITS,
                                           .tokens = tokens + 20,
                                           .n_tokens = 1};
        options.n_logits = 3 * TINY_VOCAB;
        MUST(f, ggufx_session_decode(session, items, 3, &options, &f->error));
        (void)write_record(out, logits, (size_t)options.n_logits * sizeof *logits);
        MUST(f, ggufx_session_save(session, GGUFX_ALL_SEQUENCES, write_record, out, &f->error));
        free(logits);
        ggufx_session_destroy(session);
    }
}

/* Saves a sequence with `from` and continues it with `to`. */
static void moved(fixture *f, const ggufx_model *from, const ggufx_model *to, record *out) {
    int32_t tokens[N];
    record snapshot = {NULL, 0, 0};
    ggufx_session *first = new_session(f, from, 0), *second = new_session(f, to, 0);
    make_text(tokens);
    note_decode(f, first, tokens, N - 5, out);
    MUST(f, ggufx_session_save(first, 0, write_record, &snapshot, &f->error));
    (void)write_record(out, snapshot.data, snapshot.n);
    MUST(f, ggufx_session_load(second, 0, read_record, &snapshot, &f->error));
    for (int32_t id = 5; id < 9; id++) note_decode(f, second, &id, 1, out);
    ggufx_session_destroy(second);
    ggufx_session_destroy(first);
    free(snapshot.data);
}

static void moved_here(fixture *f, const ggufx_model *model, const ggufx_model *here, record *out) {
    moved(f, model, here, out);
}

static void moved_there(fixture *f, const ggufx_model *model, const ggufx_model *here,
                        record *out) {
    moved(f, here, model, out);
}

typedef void story(fixture *f, const ggufx_model *model, const ggufx_model *here, record *out);

static void assert_same_story(story *told) {
    for (uint32_t n_layers = 0; n_layers < TINY_LAYERS; n_layers++) { /* 0: all */
        fixture f;
        record want = {NULL, 0, 0}, got = {NULL, 0, 0};
        begin(&f, &untied);
        ggufx_device *device = open_any(f.rt);
        ggufx_model *here = model_on(&f, f.file, NULL, 0);
        f.model = model_on(&f, f.file, device, n_layers);
        told(&f, here, here, &want);
        const uint64_t before = launches_of(device);
        told(&f, f.model, here, &got);
        assert_true(launches_of(device) > before);
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.data, want.data, want.n);
        free(got.data);
        free(want.data);
        ggufx_model_destroy(here);
        ggufx_device_destroy(device);
        end(&f);
    }
}

static void test_prompt_lookup_proposes_drafts(void **state) {
    (void)state;
    assert_same_story(looked_up);
}
static void test_a_draft_model_proposes_drafts_here(void **state) {
    (void)state;
    assert_same_story(drafted_here);
}
static void test_a_draft_model_proposes_drafts_there(void **state) {
    (void)state;
    assert_same_story(drafted_there);
}
static void test_texts_within_a_grammar(void **state) {
    (void)state;
    assert_same_story(within_a_grammar);
}
static void test_sequences_side_by_side(void **state) {
    (void)state;
    assert_same_story(side_by_side);
}
static void test_snapshots_go_from_there_to_here(void **state) {
    (void)state;
    assert_same_story(moved_here);
}
static void test_snapshots_go_from_here_to_there(void **state) {
    (void)state;
    assert_same_story(moved_there);
}

/* ---- MoE models ------------------------------------------------------------------------------ */

static float *logits_of_file(fixture *f, const ggufx_model *model, size_t *n) {
    ggufx_model_facts facts = {.struct_size = sizeof facts};
    MUST(f, ggufx_model_info(&facts, model, &f->error));
    ggufx_session *session = new_session(f, model, 0);
    float *logits = malloc(4 * facts.n_vocab * sizeof *logits);
    int32_t ids[12];
    for (size_t i = 0; i < 12; i++) ids[i] = (int32_t)((i * 7919 + 1) % facts.n_vocab);
    for (size_t i = 0; i < 4; i++) {
        const size_t first = i ? 8 + i : 0, count = i ? 1 : 9;
        MUST(f, decode_ids(session, ids + first, count, logits + i * facts.n_vocab, facts.n_vocab,
                           &f->error));
    }
    ggufx_session_destroy(session);
    *n = 4 * facts.n_vocab;
    return logits;
}

static void compare_file(const char *path) {
    fixture f;
    begin(&f, &untied);
    ggufx_file *file = NULL;
    MUST(&f, ggufx_open(&file, f.rt, path, NULL, &f.error));
    ggufx_device *device = open_any(f.rt);
    ggufx_model *here = model_on(&f, file, NULL, 0);
    size_t n = 0, n_got = 0;
    float *want = logits_of_file(&f, here, &n);
    for (uint32_t n_layers = 0; n_layers < 2; n_layers++) {
        ggufx_model *there = model_on(&f, file, device, n_layers);
        const uint64_t before = launches_of(device);
        float *got = logits_of_file(&f, there, &n_got);
        assert_true(launches_of(device) > before);
        assert_int_equal(n_got, n);
        assert_equal_bits(got, want, n);
        free(got);
        ggufx_model_destroy(there);
    }
    free(want);
    ggufx_model_destroy(here);
    ggufx_device_destroy(device);
    ggufx_file_destroy(file);
    end(&f);
}

static void test_models_with_experts(void **state) {
    (void)state;
    static const char *const files[] = {
        "mixtral/tiny-mixtral-f16.gguf",   "gpt-oss/tiny-gpt-oss-f16.gguf",
        "qwen3moe/tiny-qwen3moe-f16.gguf", "deepseek2-lite/tiny-deepseek2-lite-f16.gguf",
        "llama4/tiny-llama4-f16.gguf",     "lfm2moe/tiny-lfm2moe-f16.gguf"};
    const char *root = getenv("GGUFX_TEST_MODELS");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/data/tiny/%s", root ? root : "", files[i]);
        FILE *there = fopen(path, "rb");
        if (!there) {
            printf("%s is not there\n", path);
            skip();
            return;
        }
        fclose(there);
        compare_file(path);
    }
}

/* ---- device lost during a call --------------------------------------------------------------- */

/* The device is lost at its at-th wait from now on. */
static void lose_at(uint64_t at) {
    fake->leaves_buffers = 1;
    fake->fail_entry = FAKE_WAIT;
    fake->fail_status = GGUFX_E_DEVICE;
    fake->fail_at = fake->n_calls[FAKE_WAIT] + at;
}

/* Asserts that a session whose device was lost has the state before the call, and continues on the
 * host. */
static void assert_goes_on_here(fixture *f, const ggufx_session *lost, const ggufx_model *here,
                                size_t n_tokens, ggufx_matmul_flags products) {
    record snapshot = {NULL, 0, 0}, never_failed = {NULL, 0, 0};
    ggufx_session *fresh = new_session(f, here, products), *loaded = new_session(f, here, products);
    begin_text(f, fresh, n_tokens);
    assert_int_equal(ggufx_session_length(lost, 0), n_tokens);
    MUST(f, ggufx_session_save(lost, 0, write_record, &snapshot, &f->error));
    /* The snapshot has nothing of the failed call. */
    MUST(f, ggufx_session_save(fresh, 0, write_record, &never_failed, &f->error));
    assert_int_equal(snapshot.n, never_failed.n);
    assert_memory_equal(snapshot.data, never_failed.data, snapshot.n);
    free(never_failed.data);
    MUST(f, ggufx_session_load(loaded, 0, read_record, &snapshot, &f->error));
    record a = {NULL, 0, 0}, b = {NULL, 0, 0};
    const int32_t id = 77;
    note_decode(f, fresh, &id, 1, &a);
    note_decode(f, loaded, &id, 1, &b);
    assert_memory_equal(a.data, b.data, a.n);
    free(a.data);
    free(b.data);
    free(snapshot.data);
    ggufx_session_destroy(loaded);
    ggufx_session_destroy(fresh);
}

static void test_a_loss_within_a_prompt_leaves_the_session_as_before(void **state) {
    (void)state;
    int32_t tokens[N];
    make_tokens(tokens, N);
    size_t n_lost = 0;
    for (uint64_t at = 1;; at++) {
        fixture f;
        begin(&f, &untied);
        ggufx_device *device = open_any(f.rt);
        ggufx_model *here = model_on(&f, f.file, NULL, 0);
        f.model = model_on(&f, f.file, device, 0);
        f.session = new_session(&f, f.model, GGUFX_MATMUL_BATCH_INVARIANT);
        begin_text(&f, f.session, 10);
        lose_at(at);
        float logits[TINY_VOCAB];
        const ggufx_status status = decode_ids(f.session, tokens, 20, logits, TINY_VOCAB, &f.error);
        if (status != GGUFX_OK) {
            FAILS(&f, GGUFX_E_DEVICE, "a fault on command", status);
            assert_goes_on_here(&f, f.session, here, 10, GGUFX_MATMUL_BATCH_INVARIANT);
            FAILS(&f, GGUFX_E_DEVICE, "lost", decode_ids(f.session, tokens, 1, NULL, 0, &f.error));
            n_lost++;
        }
        ggufx_model_destroy(here);
        ggufx_device_destroy(device);
        end(&f);
        assert_int_equal(fake->live_devices, 0);
        assert_int_equal(fake->n_faults, 0);
        reset_fake();
        if (status == GGUFX_OK) break;
    }
    assert_true(n_lost > TINY_LAYERS);
}

static void test_a_failure_within_drafts_leaves_the_session_as_before(void **state) {
    (void)state;
    size_t n_lost = 0;
    for (uint64_t at = 1;; at++) {
        fixture f;
        begin(&f, &untied);
        ggufx_device *device = open_any(f.rt);
        ggufx_model *here = model_on(&f, f.file, NULL, 0);
        f.model = model_on(&f, f.file, device, 0);
        drafting d = begin_drafts(&f, f.model, at % 2 ? NULL : f.model, NULL);
        MUST(&f, step(&d, NULL, &f.error)); /* the prompt; leaves a token that is not decoded yet */
        lose_at(at);
        const ggufx_status status = step(&d, NULL, &f.error);
        if (status != GGUFX_OK) {
            FAILS(&f, GGUFX_E_DEVICE, "a fault on command", status);
            assert_goes_on_here(&f, d.session, here, N, GGUFX_MATMUL_TILED);
            FAILS(&f, GGUFX_E_DEVICE, "lost", step(&d, NULL, &f.error));
            n_lost++;
        }
        end_drafts(&d);
        ggufx_model_destroy(here);
        ggufx_device_destroy(device);
        end(&f);
        assert_int_equal(fake->live_devices, 0);
        assert_int_equal(fake->n_faults, 0);
        reset_fake();
        if (status == GGUFX_OK && at % 2 == 0) break;
    }
    assert_true(n_lost > TINY_LAYERS);
}

int main(int argc, char **argv) {
    plugin_path = argc > 1 ? argv[1] : "";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prompt_lookup_proposes_drafts),
        cmocka_unit_test(test_a_draft_model_proposes_drafts_here),
        cmocka_unit_test(test_a_draft_model_proposes_drafts_there),
        cmocka_unit_test(test_texts_within_a_grammar),
        cmocka_unit_test(test_sequences_side_by_side),
        cmocka_unit_test(test_snapshots_go_from_there_to_here),
        cmocka_unit_test(test_snapshots_go_from_here_to_there),
        cmocka_unit_test(test_models_with_experts),
    };
    const struct CMUnitTest losses[] = {
        cmocka_unit_test(test_a_loss_within_a_prompt_leaves_the_session_as_before),
        cmocka_unit_test(test_a_failure_within_drafts_leaves_the_session_as_before),
    };
    const struct CMUnitTest few[] = {
        cmocka_unit_test(test_prompt_lookup_proposes_drafts),
        cmocka_unit_test(test_sequences_side_by_side),
    };
    if (argc > 2 && strcmp(argv[2], "few") == 0) return cmocka_run_group_tests(few, NULL, NULL);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (argc < 3 || strcmp(argv[2], "fake") != 0) return failed;
    use_fake(plugin_path);
    return failed + cmocka_run_group_tests(losses, NULL, NULL);
}
