/*
 * A game with a talking fox: its model is read from the archive, answers, is interrupted, answers
 * again. All results go into one hash.
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include "../abi/fp_mode.h"

#include <stdlib.h>
#include <string.h>

enum { kPast = SANITIZED ? 2 : 8, kPrompt = SANITIZED ? 24 : 48, kAnswer = SANITIZED ? 1 : 6 };

/* Like the exercise's macro, for a scenario: records the status of the failed call. */
#define DO(call)                                                                                   \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != GGUFX_OK) goto end;                                                          \
    } while (0)

static void mix(story *s, const void *data, size_t n) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++) s->hash = (s->hash ^ bytes[i]) * 1099511628211u;
}

static void write_log(void *user, int32_t level, const char *text, size_t length) {
    story *s = user;
    MUST(level >= GGUFX_LOG_ERROR && level <= GGUFX_LOG_DEBUG);
    MUST(length > 0 && memchr(text, '\n', length) == NULL && memchr(text, 0, length) == NULL);
    s->n_logged++;
}

static int32_t interrupt(void *user, uint64_t done, uint64_t total) {
    story *s = user;
    MUST(total == 0 || done <= total);
    return ++s->n_polls == s->cancel_at;
}

/* Decodes the prompt, cancelled at a poll: the session stays unchanged, and the repeated call
 * succeeds. Gives the logits after it. */
static ggufx_status hear(story *s, ggufx_session *session, const int32_t *ids, float *logits,
                         uint32_t n_vocab) {
    const ggufx_functions *a = s->api;
    const ggufx_progress progress = {.user = s, .report = interrupt};
    const int32_t *rest = ids + kPast;
    const size_t n = kPrompt - kPast;
    ggufx_status status = GGUFX_OK;
    /* a nonempty session */
    DO(exercise_decode(a, session, ids, kPast, logits, n_vocab, NULL, &s->error));
    status = exercise_decode(a, session, rest, n, logits, n_vocab, &progress, &s->error);
    if (status != GGUFX_E_CANCELLED) goto end;
    MUST(s->error.status == status && s->error.message[0] && s->n_polls == s->cancel_at);
    MUST(a->session_length(session, 0) == kPast);
    s->n_cancelled++;
    DO(exercise_decode(a, session, rest, n, logits, n_vocab, &progress, &s->error));
end:
    return status;
}

static ggufx_status answer(story *s, const ggufx_runtime *rt, ggufx_session *session, float *logits,
                           uint32_t n_vocab) {
    const ggufx_functions *a = s->api;
    ggufx_sampler *sampler = NULL;
    ggufx_status status = GGUFX_OK;
    DO(a->sampler_create(&sampler, rt, n_vocab, 0, &s->error));
    DO(a->sampler_add_top_k(sampler, 1, &s->error));
    for (int i = 0; i < kAnswer; i++) {
        int32_t id = 0;
        mix(s, logits, n_vocab * sizeof *logits);
        DO(a->sampler_sample(&id, NULL, sampler, NULL, logits, n_vocab, &s->error));
        mix(s, &id, sizeof id);
        DO(exercise_decode(a, session, &id, 1, logits, n_vocab, NULL, &s->error));
    }
end:
    a->sampler_destroy(sampler);
    return status;
}

static ggufx_status talk(story *s, const ggufx_runtime *rt, const ggufx_file *file) {
    const ggufx_functions *a = s->api;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_model_facts facts = {.struct_size = sizeof facts};
    ggufx_session_options options = {.struct_size = sizeof options};
    float *logits = NULL;
    int32_t ids[kPrompt];
    ggufx_status status = GGUFX_OK;
    for (int32_t i = 0; i < kPrompt; i++) ids[i] = 1 + i * 37 % 250;
    DO(a->model_create(&model, rt, file, NULL, &s->error));
    DO(a->model_info(&facts, model, &s->error));
    logits = malloc(facts.n_vocab * sizeof *logits);
    MUST(logits != NULL);
    options.n_context = kPrompt + kAnswer;
    options.n_batch = 16;
    DO(a->session_create(&session, model, &options, &s->error));
    DO(hear(s, session, ids, logits, facts.n_vocab));
    DO(answer(s, rt, session, logits, facts.n_vocab));
end:
    a->session_destroy(session);
    a->model_destroy(model);
    free(logits);
    return status;
}

ggufx_status story_run(story *s) {
    const ggufx_functions *a = s->api;
    const uint64_t mode = get_mode();
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL, *part = NULL;
    ggufx_status status = GGUFX_OK;
    s->hash = 14695981039346656037u;
    s->n_polls = s->n_cancelled = s->n_logged = 0;
    DO(a->runtime_create(&rt, &s->options, &s->error));
    DO(pak_open(&part, a, rt, s->archive, kPakPart, &s->error));
    MUST(!s->options.log || s->n_logged == 1); /* one of three parts, opened alone */
    DO(pak_open(&file, a, rt, s->archive, s->entry, &s->error));
    DO(talk(s, rt, file));
end:
    a->runtime_destroy(rt); /* the files keep their references */
    a->file_destroy(part);
    a->file_destroy(file);
    MUST(get_mode() == mode);
    return status;
}

void story_init(story *s, const ggufx_functions *api, const pak *archive) {
    memset(s, 0, sizeof *s);
    s->api = api;
    s->archive = archive;
    s->options = (ggufx_runtime_options){.struct_size = sizeof(ggufx_runtime_options)};
    s->options.threads = 1;
}

ggufx_status story_play(story *s, jobs *j, memory *m) {
    const ggufx_allocator allocator = memory_hooks(m);
    const ggufx_log log = {.struct_size = sizeof log, .user = s, .write = write_log};
    const ggufx_executor executor = {.struct_size = sizeof executor,
                                     .max_workers = kWorkers,
                                     .user = j,
                                     .parallel_for = jobs_run};
    s->options.allocator = &allocator;
    s->options.log = &log;
    s->options.executor = &executor;
    const ggufx_status status = story_run(s);
    s->options.allocator = NULL;
    s->options.log = NULL;
    s->options.executor = NULL;
    return status;
}
