/*
 * The generator part of the run on the demo model: prompts, steps of two generators, events.
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <stdlib.h>
#include <string.h>

static ggufx_status take_events(exercise *e, ggufx_generator *generator, int *ended) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_event event = {.struct_size = sizeof event};
    do {
        TRY(a->generator_poll(&event, generator, &e->error));
        if (event.kind == GGUFX_EVENT_NONE) break; /* how often depends on the time */
        exercise_mix(e, &event.kind, 1, sizeof event.kind);
        exercise_mix(e, event.text.data, event.text.size, 1);
        for (size_t i = 0; i < event.n_tokens; i++) {
            exercise_mix(e, &event.tokens[i].id, 1, sizeof event.tokens[i].id);
            exercise_mix(e, &event.tokens[i].logprob, 1, sizeof event.tokens[i].logprob);
        }
        *ended = *ended || event.kind == GGUFX_EVENT_END;
    } while (!*ended);
end:
    return status;
}

/* Saves a generator, and continues the loaded one and a fork. */
static ggufx_status use_edits(exercise *e, ggufx_session *session, ggufx_generator **generator,
                              const ggufx_generator_options *options) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_generator *fork = NULL;
    const ggufx_fork_options how = {
        .struct_size = sizeof how, .flags = GGUFX_FORK_RESEED, .sequence = 2, .seed = 3};
    uint64_t n_reused = 0;
    exercise_snapshot *saved = calloc(1, sizeof *saved);
    MUST(saved);
    TRY(a->generator_suspend(*generator, &e->error));
    TRY(a->generator_save(*generator, exercise_write_piece, saved, &e->error));
    TRY(a->generator_resume(&n_reused, *generator, options->sequence, &e->error));
    MUST(n_reused > 0);
    a->generator_destroy(*generator);
    *generator = NULL;
    TRY(a->generator_load(generator, session, options, exercise_read_piece, saved, &e->error));
    TRY(a->generator_truncate(*generator, 4, &e->error));
    TRY(a->generator_fork(&fork, *generator, &how, &e->error));
end:
    a->generator_destroy(fork);
    free(saved);
    return status;
}

/* Steps of one item: wrappers of the test of struct sizes take no lists. */
static ggufx_status step_alone(exercise *e, ggufx_session *session, ggufx_generator *generator) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    const ggufx_step_options options = {
        .struct_size = sizeof options, .budget_us = 20, .progress = e->progress};
    const ggufx_step_item item = {.struct_size = sizeof item, .generator = generator};
    int ended = 0;
    while (!ended) {
        int32_t complete = 0;
        TRY(a->session_step(&complete, session, &item, 1, &options, &e->error));
        TRY(take_events(e, generator, &ended));
    }
end:
    return status;
}

static ggufx_status use_generators(exercise *e, ggufx_session *session,
                                   const ggufx_tokenizer *tokenizer) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_generator *first = NULL, *second = NULL;
    const ggufx_text stop = {"@@", 2};
    const ggufx_draft_options draft = {.struct_size = sizeof draft, .n_match = 1};
    ggufx_generator_options options = {.struct_size = sizeof options,
                                       .max_tokens = 5,
                                       .n_logprobs = 2,
                                       .tokenizer = tokenizer,
                                       .stops = &stop,
                                       .n_stops = 1,
                                       .draft = &draft};
    const ggufx_prompt_part part = {.struct_size = sizeof part, .text = {"Once upon", 9}};
    const ggufx_prompt prompt = {.struct_size = sizeof prompt, .parts = &part, .n_parts = 1};
    const ggufx_step_options step = {.struct_size = sizeof step, .progress = e->progress};
    ggufx_generator_facts facts = {.struct_size = sizeof facts};
    ggufx_event event = {.struct_size = sizeof event};
    int32_t ids[32];
    size_t n = 0;
    TRY(a->generator_create(&first, session, &options, &e->error));
    options.sequence = 1;
    options.flags = GGUFX_GENERATOR_SCORE_PROMPT;
    TRY(a->generator_create(&second, session, &options, &e->error));
    TRY(a->generator_set_prompt(first, &prompt, &e->error));
    TRY(a->generator_set_prompt(second, &prompt, &e->error));
    TRY(step_alone(e, session, first));
    do {
        TRY(a->generator_next(&event, second, &step, &e->error));
        exercise_mix(e, event.text.data, event.text.size, 1);
        if (event.kind == GGUFX_EVENT_TEXT) a->generator_cancel(second);
    } while (event.kind != GGUFX_EVENT_END);
    MUST(event.end == GGUFX_END_CANCELLED);
    TRY(use_edits(e, session, &second, &options));
    TRY(a->generator_info(&facts, first, &e->error));
    MUST(facts.state == GGUFX_GENERATOR_STATE_ENDED && facts.n_tokens == 5);
    TRY(a->generator_tokens(ids, 32, &n, first, &e->error));
    MUST(n == facts.n_prompt + facts.n_tokens);
    exercise_mix(e, ids, n, sizeof *ids);
end:
    a->generator_destroy(second);
    a->generator_destroy(first);
    return status;
}

ggufx_status exercise_generator(exercise *e, const ggufx_file *file, const ggufx_model *model) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_session *session = NULL;
    ggufx_tokenizer *tokenizer = NULL;
    const ggufx_session_options options = {
        .struct_size = sizeof options, .n_context = 24, .n_batch = 4, .n_sequences = 3};
    TRY(a->tokenizer_create(&tokenizer, file, &e->error));
    TRY(a->session_create(&session, model, &options, &e->error));
    TRY(use_generators(e, session, tokenizer));
end:
    a->session_destroy(session);
    a->tokenizer_destroy(tokenizer);
    return status;
}
