/*
 * Fuzz target: saved logits that are compared with the tiny model's. Numbers of the header and of
 * rows are changed and checksums recomputed. Refusals have a message; accepted files give finite
 * figures. Input: positions and bytes.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/tiny_model.h"
#include "replay.h"
#include "target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long measure_n_taken(void);

enum {
    CHUNK = 12,
    CHUNKS = 2,
    N = CHUNK * CHUNKS,
    SCORED = CHUNK - 1 - CHUNK / 2,
    ROW = 16 + 2 * TINY_VOCAB,
    HEAD = 52, /* without its checksum */
    CHUNK_BYTES = 8 + SCORED * ROW + 8,
    FILE_BYTES = HEAD + 8 + CHUNKS * CHUNK_BYTES
};

static long n_taken;

long measure_n_taken(void) {
    return n_taken;
}

static ggufx_status write_piece(void *user, const void *data, size_t n) {
    saved_bytes *file = user;
    must_be(n <= FILE_BYTES - file->n, "the size of the file");
    memcpy(file->data + file->n, data, n);
    file->n += n;
    return GGUFX_OK;
}

static ggufx_session *tiny(void) {
    ggufx_session *session = NULL;
    ggufx_model *model = target_model(NULL, NULL);
    must_be(ggufx_session_create(&session, model, NULL, NULL) == GGUFX_OK, "the tiny model");
    ggufx_model_destroy(model); /* the session keeps the model */
    return session;
}

static ggufx_status measure(ggufx_eval_facts *facts, ggufx_session *session,
                            const ggufx_eval_options *options, ggufx_error *error) {
    int32_t tokens[N];
    for (int i = 0; i < N; i++) tokens[i] = (i * i * 17 + 3 * i + 9) % TINY_VOCAB;
    memset(facts, 0, sizeof *facts);
    facts->struct_size = sizeof *facts;
    return ggufx_eval_perplexity(facts, session, tokens, N, CHUNK, TINY_BOS, options, error);
}

/* Recomputes the checksum of all bytes before it. */
static void seal(saved_bytes *file, size_t end) {
    const uint64_t crc = checksum(file->data, end);
    for (size_t i = 0; i < 8; i++) file->data[end + i] = (uint8_t)(crc >> 8 * i);
}

static void check(const ggufx_eval_facts *facts) {
    const double *value = &facts->reference_perplexity, *end = &facts->rms_delta_p_error;
    n_taken++;
    for (; value <= end; value++) must_be(*value == *value, "figures are numbers");
    must_be(facts->kl >= 0 && facts->same_top_token >= 0 && facts->same_top_token <= 1,
            "they have bounds");
    must_be(facts->n_scored == CHUNKS * SCORED, "all is scored");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ggufx_session *session;
    static uint8_t whole_data[FILE_BYTES];
    static saved_bytes whole = {whole_data, 0, 0};
    saved_bytes file = {malloc(FILE_BYTES), FILE_BYTES, 0};
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts;
    ggufx_error error;
    if (!session) {
        session = tiny();
        options.write = write_piece;
        options.write_user = &whole;
        must_be(measure(&facts, session, &options, NULL) == GGUFX_OK, "logits are saved");
        must_be(whole.n == FILE_BYTES, "their size");
    }
    must_be(file.data != NULL, "memory");
    memcpy(file.data, whole.data, FILE_BYTES);
    for (; size >= 4; data += 4, size -= 4) {
        const size_t at = (size_t)(data[0] | data[1] << 8) % FILE_BYTES;
        file.data[at] = data[2];
        if (data[3] & 1) file.n = at; /* truncated */
    }
    seal(&file, HEAD);
    for (int i = 1; i <= CHUNKS; i++) seal(&file, HEAD + (size_t)i * CHUNK_BYTES);
    options.write = NULL;
    options.write_user = NULL;
    options.read = read_saved;
    options.read_user = &file;
    error.message[0] = 0;
    if (measure(&facts, session, &options, &error) == GGUFX_OK)
        check(&facts);
    else
        must_be(error.message[0] && facts.n_chunks == 0, "a failure says why, and nothing else");
    must_be(ggufx_session_length(session, 0) == 0, "the session is empty");
    free(file.data);
    return 0;
}
