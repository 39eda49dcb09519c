/*
 * Fuzz target: calls on three generators of a session: prompts, steps with budgets and
 * cancellations, suspensions, truncations, forks, snapshots with changed bytes and recomputed
 * checksums. Refused calls change nothing; loaded ones go on. Input: options, then calls.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/tiny_model.h"
#include "replay.h"
#include "snapshot_seeds.h"
#include "target.h"

#include <ggufx/generator.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 3, kMostBytes = 1 << 16 };

static const ggufx_model *model;
static ggufx_session *session;
static ggufx_generator *all[SEQUENCES];
static ggufx_generator_options options[SEQUENCES];
static long n_loaded;

size_t snapshot_seeds(void) {
    return 8;
}
long snapshot_n_loaded(void) {
    return n_loaded;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static ggufx_status write_piece(void *user, const void *data, size_t n) {
    saved_bytes *file = user;
    if (n > kMostBytes - file->n) return GGUFX_E_CAPACITY;
    if (n) memcpy(file->data + file->n, data, n);
    file->n += n;
    return GGUFX_OK;
}

static void change(saved_bytes *file, bytes *in) {
    static const uint64_t odd[] = {
        0,  1,   2,   7,          8,    95,         96,         97,
        98, 301, 302, 0x7fffffff, 0xff, UINT32_MAX, UINT64_MAX, 0x7ff0000000000000u};
    const size_t end = file->n - 8, at = take(in, (uint32_t)end), n = take(in, 2) ? 8 : 1;
    const uint64_t value = odd[take(in, 16)];
    for (size_t i = 0; i < n && at + i < end; i++) file->data[at + i] = (uint8_t)(value >> 8 * i);
    const uint64_t crc = checksum(file->data, end);
    for (size_t i = 0; i < 8; i++) file->data[end + i] = (uint8_t)(crc >> 8 * i);
}

static void call_load(uint32_t which, bytes *in) {
    static uint8_t data[kMostBytes];
    saved_bytes file = {data, 0, 0};
    ggufx_error error = {0};
    const uint32_t n_changes = take(in, 3);
    if (ggufx_generator_save(all[which], write_piece, &file, NULL) != GGUFX_OK) return;
    ggufx_generator_destroy(all[which]);
    for (uint32_t i = 0; i < n_changes; i++) change(&file, in);
    const ggufx_status status =
        ggufx_generator_load(&all[which], session, &options[which], read_saved, &file, &error);
    n_loaded += status == GGUFX_OK;
    must_be(n_changes > 0 || status == GGUFX_OK || status == GGUFX_E_STATE, error.message);
    must_be(status == GGUFX_OK || error.message[0], "a refusal says why");
    if (status != GGUFX_OK)
        (void)ggufx_generator_create(&all[which], session, &options[which], NULL);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int32_t stop_after(void *user, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return --*(int *)user == 0;
}

static void call_prompt(uint32_t which, bytes *in) {
    static int32_t tokens[TINY_CONTEXT + 2];
    static float rows[8 * TINY_EMBD];
    char text[16];
    const uint32_t n = take(in, TINY_CONTEXT + 2), kind = take(in, 4);
    for (uint32_t i = 0; i < TINY_CONTEXT + 2; i++)
        tokens[i] = (int32_t)((i % 11 + take(in, 4)) * 29 % TINY_VOCAB);
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)take(in, 256);
    ggufx_prompt_part parts[2] = {
        {.struct_size = sizeof *parts, .tokens = tokens, .n_tokens = n},
        {.struct_size = sizeof *parts, .rows = rows, .n_rows = (size_t)(1 + n % 4) * TINY_EMBD}};
    ggufx_prompt prompt = {.struct_size = sizeof prompt, .flags = take(in, 16)};
    if (kind == 0) prompt.text = (ggufx_text){text, n % sizeof text};
    if (kind == 1) prompt.tokens = tokens, prompt.n_tokens = n;
    if (kind == 2) prompt.parts = parts, prompt.n_parts = 2;
    (void)ggufx_generator_set_prompt(all[which], &prompt, NULL);
}

static void take_events(void) {
    ggufx_event event = {.struct_size = sizeof event};
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        if (!all[i]) continue;
        do {
            must_be(ggufx_generator_poll(&event, all[i], NULL) == GGUFX_OK, "a poll");
            must_be(event.kind <= GGUFX_EVENT_TOOL_ID && event.n_tokens < 1000, "an event");
        } while (event.kind != GGUFX_EVENT_NONE);
    }
}

static void call_step(bytes *in) {
    ggufx_step_item items[SEQUENCES + 1];
    int polls = 1 + (int)take(in, 60);
    const ggufx_progress progress = {.user = &polls, .report = stop_after};
    ggufx_step_options of = {.struct_size = sizeof of, .budget_us = take(in, 4) ? 0 : 1};
    const uint32_t n = take(in, SEQUENCES + 2), first = take(in, SEQUENCES);
    if (take(in, 4) == 0) of.progress = &progress;
    for (uint32_t i = 0; i < n; i++)
        items[i] = (ggufx_step_item){.struct_size = sizeof *items,
                                     .generator = all[(first + i) % SEQUENCES],
                                     .n_tokens = take(in, 9)};
    (void)ggufx_session_step(NULL, session, items, n, &of, NULL);
}

static void call_fork(uint32_t from, uint32_t to, bytes *in) {
    if (from == to) return;
    const ggufx_fork_options of = {
        .struct_size = sizeof of, .flags = GGUFX_FORK_RESEED, .sequence = to, .seed = take(in, 9)};
    ggufx_generator_destroy(all[to]);
    all[to] = NULL;
    options[to] = options[from];
    options[to].sequence = to;
    (void)ggufx_session_truncate(session, to, 0, NULL);
    if (ggufx_generator_fork(&all[to], all[from], &of, NULL) != GGUFX_OK)
        (void)ggufx_generator_create(&all[to], session, &options[to], NULL);
}

static void call_one(bytes *in) {
    const uint32_t what = take(in, 16), a = take(in, SEQUENCES), b = take(in, SEQUENCES);
    const uint64_t n = take(in, TINY_CONTEXT + 2);
    if (!all[a]) { /* its sequence belongs to another one that was resumed with it */
        (void)ggufx_generator_create(&all[a], session, &options[a], NULL);
        return;
    }
    if (what < 6) call_step(in);
    if (what == 6 || what == 7) call_prompt(a, in);
    if (what == 8) (void)ggufx_generator_suspend(all[a], NULL);
    if (what == 9) (void)ggufx_generator_resume(NULL, all[a], b, NULL);
    if (what == 10) (void)ggufx_generator_truncate(all[a], n, NULL);
    if (what == 11) call_fork(a, b, in);
    if (what == 12) call_load(a, in);
    if (what == 13) ggufx_generator_cancel(all[a]);
    if (what == 14) take_events();
    if (what == 15) (void)ggufx_session_truncate(session, b, n, NULL); /* by hand */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const ggufx_text stops[] = {{"e", 1}, {"the ", 4}};
    static const ggufx_draft_options draft = {.struct_size = sizeof draft, .n_match = 1};
    bytes in = {data, size};
    ggufx_session_options of;
    if (!model) model = target_model(NULL, NULL);
    of = (ggufx_session_options){.struct_size = sizeof of};
    of.n_sequences = SEQUENCES;
    of.n_batch = 16;
    of.type_k = of.type_v = take(&in, 256) % 2 ? GGUFX_TYPE_Q8_0 : GGUFX_TYPE_F16;
    must_be(ggufx_session_create(&session, model, &of, NULL) == GGUFX_OK, "a session");
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        options[i] = (ggufx_generator_options){.struct_size = sizeof *options,
                                               .flags = take(&in, 64),
                                               .sequence = i,
                                               .max_tokens = take(&in, 40),
                                               .n_logprobs = take(&in, 4)};
        if (!(options[i].flags & GGUFX_GENERATOR_IDS_ONLY))
            options[i].stops = stops, options[i].n_stops = take(&in, 3);
        if (take(&in, 2)) options[i].draft = &draft;
        must_be(ggufx_generator_create(&all[i], session, &options[i], NULL) == GGUFX_OK,
                "a generator");
    }
    while (in.n) call_one(&in);
    take_events();
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        ggufx_generator_destroy(all[i]);
        all[i] = NULL;
    }
    ggufx_session_destroy(session);
    return 0;
}
