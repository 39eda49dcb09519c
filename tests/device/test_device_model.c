/*
 * Models with their last layers on the fake device. Logits are bit-identical to the processor's,
 * memory use matches the estimate, and every failure is a status.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/model_fixture.h"
#include "../unit/ok.h"
#include "fake_fixture.h"

enum { kTokens = 9 };
static const int32_t ids[kTokens] = {TINY_BOS, 40, 77, 12, 200, 5, 61, 99, 130};

static const tiny_options untied = {.weight_type = GGUFX_TYPE_Q8_0, .untied = 1};
static const tiny_options tied = {.weight_type = GGUFX_TYPE_Q8_0};

static ggufx_model_options on_device(const ggufx_device *device, uint32_t n_layers) {
    ggufx_model_options options = {.struct_size = sizeof options};
    options.device = device;
    options.n_device_layers = n_layers;
    return options;
}

/* Decodes all tokens in one call, then one by one: products of many columns and of one. */
static ggufx_status decode(float *logits, const ggufx_model *model, ggufx_error *error) {
    ggufx_session_options options = {.struct_size = sizeof options};
    ggufx_session *session = NULL;
    ggufx_status status = ggufx_session_create(&session, model, &options, error);
    for (size_t i = 0; status == GGUFX_OK && i < 4; i++) {
        const size_t first = i ? 5 + i : 0, n = i ? 1 : 6;
        status = decode_ids(session, ids + first, n, logits + i * TINY_VOCAB, TINY_VOCAB, error);
    }
    ggufx_session_destroy(session);
    return status;
}

static float *logits_of(const ggufx_model *model) {
    float *logits = malloc(4 * TINY_VOCAB * sizeof *logits);
    ggufx_error error;
    if (decode(logits, model, &error) != GGUFX_OK) fail_msg("decode: %s", error.message);
    return logits;
}

static float *logits_here(fixture *f) {
    MUST(f, ggufx_model_create(&f->model, f->rt, f->file, NULL, &f->error));
    float *logits = logits_of(f->model);
    ggufx_model_destroy(f->model);
    f->model = NULL;
    return logits;
}

static ggufx_model_facts facts_of(const ggufx_model *model) {
    ggufx_model_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_model_info(&facts, model, ok_error()));
    return facts;
}

static uint64_t used_by(const ggufx_device *device) {
    ggufx_device_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_device_info(&facts, device, ok_error()));
    return facts.used_bytes;
}

static void test_layers_there_have_the_bits_of_those_here(void **state) {
    (void)state;
    const tiny_options *const models[] = {&untied, &tied};
    for (size_t m = 0; m < 2; m++) {
        uint64_t last_bytes = 0, last_launches = 0;
        for (uint32_t n = 1; n <= TINY_LAYERS + 1; n++) {
            fixture f;
            begin(&f, models[m]);
            float *want = logits_here(&f);
            ggufx_device *device = open_fake(f.rt, 0);
            const uint32_t asked = n <= TINY_LAYERS ? n : 0; /* 0: all */
            const ggufx_model_options options = on_device(device, asked);
            MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, &options, &f.error));
            const uint64_t before = launches_of(device);
            float *got = logits_of(f.model);
            assert_equal_bits(got, want, 4 * TINY_VOCAB);
            const uint64_t launches = launches_of(device) - before;
            const ggufx_model_facts facts = facts_of(f.model);
            assert_int_equal(facts.n_device_layers, asked ? asked : TINY_LAYERS);
            if (asked) {
                assert_true(facts.device_bytes > last_bytes);
                assert_true(launches > last_launches);
            } else {
                assert_int_equal(facts.device_bytes, last_bytes);
                assert_int_equal(launches, last_launches);
            }
            last_bytes = facts.device_bytes;
            last_launches = launches;
            free(got);
            free(want);
            if (n % 2) ggufx_device_destroy(device); /* the model keeps it */
            ggufx_model_destroy(f.model);
            f.model = NULL;
            if (n % 2 == 0) ggufx_device_destroy(device);
            assert_int_equal(fake->live_devices, 0);
            assert_int_equal(fake->n_faults, 0);
            end(&f);
        }
    }
    reset_fake();
}

/* A request for more layers than the model has means all layers. */
static void test_an_estimate_is_what_a_device_then_holds(void **state) {
    (void)state;
    const tiny_options *const models[] = {&untied, &tied};
    for (size_t m = 0; m < 2; m++) {
        fixture f;
        begin(&f, models[m]);
        ggufx_estimate_options options = {.struct_size = sizeof options};
        ggufx_estimate_facts facts = {.struct_size = sizeof facts};
        MUST(&f, ggufx_estimate(&facts, f.rt, f.file, &options, &f.error));
        assert_int_equal(facts.device_bytes, 0);
        assert_int_equal(facts.device_bytes_all, 0);
        options.device_memory_bytes = (uint64_t)1 << 40;
        MUST(&f, ggufx_estimate(&facts, f.rt, f.file, &options, &f.error));
        assert_int_equal(facts.n_layers, TINY_LAYERS);
        assert_int_equal(facts.n_device_layers, TINY_LAYERS);
        assert_int_equal(facts.device_bytes, facts.device_bytes_all);
        for (uint32_t n = TINY_LAYERS; n > 0; n--) {
            const uint64_t bytes = facts.device_bytes;
            ggufx_device *device = open_fake(f.rt, 0);
            const ggufx_model_options there = on_device(device, n < TINY_LAYERS ? n : 1000);
            assert_int_equal(facts.n_device_layers, n);
            MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, &there, &f.error));
            assert_int_equal(used_by(device), bytes);
            ggufx_model_destroy(f.model);
            f.model = NULL;
            ggufx_device_destroy(device);
            options.device_memory_bytes = bytes; /* exactly enough */
            MUST(&f, ggufx_estimate(&facts, f.rt, f.file, &options, &f.error));
            assert_int_equal(facts.n_device_layers, n);
            options.device_memory_bytes = bytes - 1;
            MUST(&f, ggufx_estimate(&facts, f.rt, f.file, &options, &f.error));
            assert_int_equal(facts.n_device_layers, n - 1);
        }
        assert_int_equal(facts.device_bytes, 0); /* not even one layer */
        end(&f);
    }
    reset_fake();
}

static ggufx_status make_and_decode(const fixture *f, float *logits, ggufx_error *error) {
    const ggufx_device_options options = fake_options(0);
    ggufx_device *device = NULL;
    ggufx_model *model = NULL;
    ggufx_status status = ggufx_device_open(&device, f->rt, "fake:0", &options, error);
    const ggufx_model_options there = on_device(device, 0);
    if (status == GGUFX_OK) status = ggufx_model_create(&model, f->rt, f->file, &there, error);
    if (status == GGUFX_OK) status = decode(logits, model, error);
    ggufx_model_destroy(model);
    ggufx_device_destroy(device);
    return status;
}

static void test_every_entry_that_fails_ends_a_model_or_a_call(void **state) {
    (void)state;
    fixture f;
    begin(&f, &untied);
    float *want = logits_here(&f), *got = malloc(4 * TINY_VOCAB * sizeof *got);
    static const int entries[] = {FAKE_OPEN,    FAKE_ALLOCATE, FAKE_COPY, FAKE_LAUNCH,
                                  FAKE_BARRIER, FAKE_SUBMIT,   FAKE_WAIT};
    size_t n_failed = 0;
    for (int unmapped = 0; unmapped < 2; unmapped++) {
        for (size_t e = 0; e < sizeof entries / sizeof entries[0]; e++) {
            ggufx_status status = GGUFX_E_INTERNAL;
            for (uint64_t at = 1; status != GGUFX_OK; at += 1 + at / 4) {
                ggufx_error error = {0};
                reset_fake();
                fake->unmapped = unmapped;
                fake->fail_entry = entries[e];
                fake->fail_at = at;
                fake->fail_status = at % 2 ? GGUFX_E_DEVICE : GGUFX_E_MEMORY;
                status = make_and_decode(&f, got, &error);
                assert_int_equal(fake->live_devices, 0);
                assert_int_equal(fake->live_bytes, 0);
                assert_int_equal(fake->n_faults, 0);
                if (status == GGUFX_OK) {
                    assert_equal_bits(got, want, 4 * TINY_VOCAB);
                    break;
                }
                n_failed++;
                assert_int_equal(status, at % 2 ? GGUFX_E_DEVICE : GGUFX_E_MEMORY);
                assert_non_null(strstr(error.message, "a fault on command"));
            }
        }
    }
    assert_true(n_failed > 50);
    free(got);
    free(want);
    reset_fake();
    end(&f);
}

static void test_a_session_on_a_lost_device_says_so_for_ever(void **state) {
    (void)state;
    for (int detaches = 0; detaches < 2; detaches++) {
        fixture f;
        begin(&f, &untied);
        ggufx_device *device = open_fake(f.rt, 0);
        const ggufx_model_options there = on_device(device, 1);
        ggufx_session_options options = {.struct_size = sizeof options};
        MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, &there, &f.error));
        MUST(&f, ggufx_session_create(&f.session, f.model, &options, &f.error));
        MUST(&f, decode_ids(f.session, ids, 3, NULL, 0, &f.error));
        fake->leaves_buffers = 1;
        if (detaches) {
            ggufx_device_detach(device);
        } else {
            fake->fail_entry = FAKE_WAIT;
            fake->fail_status = GGUFX_E_DEVICE;
            fake->fail_at = fake->n_calls[FAKE_WAIT] + 1;
        }
        FAILS(&f, GGUFX_E_DEVICE, detaches ? "detached" : "on command",
              decode_ids(f.session, ids + 3, 1, NULL, 0, &f.error));
        for (int again = 0; again < 2; again++) {
            FAILS(&f, GGUFX_E_DEVICE, detaches ? "detached" : "lost",
                  decode_ids(f.session, ids + 3, 1, NULL, 0, &f.error));
        }
        ggufx_device_destroy(device);
        ggufx_session_destroy(f.session);
        f.session = NULL;
        float *here = logits_here((ggufx_model_destroy(f.model), f.model = NULL, &f));
        free(here);
        assert_int_equal(fake->live_devices, 0);
        end(&f);
        reset_fake();
    }
}

static ggufx_status make_there(void *context, ggufx_runtime *rt, ggufx_error *error) {
    const ggufx_device_options options = fake_options(0);
    ggufx_file *file = NULL;
    ggufx_device *device = NULL;
    ggufx_model *model = NULL;
    (void)context;
    ggufx_status status = open_tiny(&file, rt, &untied, error);
    if (status == GGUFX_OK) status = ggufx_device_open(&device, rt, "fake:0", &options, error);
    const ggufx_model_options there = on_device(device, 0);
    if (status == GGUFX_OK) status = ggufx_model_create(&model, rt, file, &there, error);
    ggufx_model_destroy(model);
    ggufx_device_destroy(device);
    ggufx_file_destroy(file);
    assert_int_equal(fake->live_bytes, 0);
    return status;
}

static void test_every_allocation_that_fails_leaks_nothing(void **state) {
    (void)state;
    assert_true(fault_run(make_there, NULL) > 20);
}

static int32_t count_to(void *user, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    int *left = user;
    return (*left)-- <= 0;
}

static void test_uploads_of_a_model_are_cancelled(void **state) {
    (void)state;
    fixture f;
    begin(&f, &untied);
    ggufx_device *device = open_fake(f.rt, 0);
    const uint64_t used = used_by(device);
    int n_cancelled = 0;
    for (int after = 0;; after++) {
        int left = after;
        const ggufx_progress progress = {.user = &left, .report = count_to};
        ggufx_model_options options = on_device(device, 0);
        options.progress = &progress;
        const ggufx_status status = ggufx_model_create(&f.model, f.rt, f.file, &options, &f.error);
        if (status == GGUFX_OK) break;
        assert_int_equal(status, GGUFX_E_CANCELLED);
        assert_int_equal(used_by(device), used);
        n_cancelled++;
    }
    assert_true(n_cancelled > TINY_LAYERS + 1);
    ggufx_device_destroy(device);
    end(&f);
    reset_fake();
}

int main(int argc, char **argv) {
    use_fake(argc > 1 ? argv[1] : "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_there_have_the_bits_of_those_here),
        cmocka_unit_test(test_an_estimate_is_what_a_device_then_holds),
        cmocka_unit_test(test_every_entry_that_fails_ends_a_model_or_a_call),
        cmocka_unit_test(test_a_session_on_a_lost_device_says_so_for_ever),
        cmocka_unit_test(test_every_allocation_that_fails_leaks_nothing),
        cmocka_unit_test(test_uploads_of_a_model_are_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
