/*
 * Fuzz target: saved logits that are compared with the tiny model's. Numbers of the header and of
 * rows are changed and checksums recomputed. Refusals have a message; accepted files give finite
 * figures. Input: positions and bytes.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/tiny_model.h"
#include "replay.h"

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

typedef struct saved_file {
    uint8_t data[FILE_BYTES];
    size_t n, at;
} saved_file;

static long n_taken;

long measure_n_taken(void) {
    return n_taken;
}

static void must_be(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static ggufx_status write_piece(void *user, const void *data, size_t n) {
    saved_file *file = user;
    must_be(n <= FILE_BYTES - file->n, "the size of the file");
    memcpy(file->data + file->n, data, n);
    file->n += n;
    return GGUFX_OK;
}

static ggufx_status read_piece(void *user, void *data, size_t n) {
    saved_file *file = user;
    if (n > file->n - file->at) return GGUFX_E_TRUNCATED;
    memcpy(data, file->data + file->at, n);
    file->at += n;
    return GGUFX_OK;
}

static ggufx_session *tiny(void) {
    ggufx_session *session = NULL;
    ggufx_model *model = NULL;
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL;
    ggufx_runtime_options options = {.struct_size = sizeof options};
    size_t size = 0;
    unsigned char *data = tiny_model(&size, NULL);
    options.threads = 1;
    must_be(ggufx_runtime_create(&rt, &options, NULL) == GGUFX_OK &&
                ggufx_open_memory(&file, rt, data, size, free, data, NULL, NULL) == GGUFX_OK &&
                ggufx_model_create(&model, rt, file, NULL, NULL) == GGUFX_OK &&
                ggufx_session_create(&session, model, NULL, NULL) == GGUFX_OK,
            "the tiny model");
    ggufx_model_destroy(model); /* the session keeps the model */
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
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

/* CRC-64 (ECMA-182, reflected) of all bytes before it. */
static void seal(saved_file *file, size_t end) {
    uint64_t crc = UINT64_MAX;
    for (size_t i = 0; i < end; i++) {
        crc ^= file->data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xc96c5795d7870f42u : 0);
    }
    for (size_t i = 0; i < 8; i++) file->data[end + i] = (uint8_t)(~crc >> 8 * i);
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
    static saved_file whole;
    saved_file *file = malloc(sizeof *file);
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
    must_be(file != NULL, "memory");
    *file = whole;
    for (; size >= 4; data += 4, size -= 4) {
        const size_t at = (size_t)(data[0] | data[1] << 8) % FILE_BYTES;
        file->data[at] = data[2];
        if (data[3] & 1) file->n = at; /* truncated */
    }
    seal(file, HEAD);
    for (int i = 1; i <= CHUNKS; i++) seal(file, HEAD + (size_t)i * CHUNK_BYTES);
    options.write = NULL;
    options.write_user = NULL;
    options.read = read_piece;
    options.read_user = file;
    error.message[0] = 0;
    if (measure(&facts, session, &options, &error) == GGUFX_OK)
        check(&facts);
    else
        must_be(error.message[0] && facts.n_chunks == 0, "a failure says why, and nothing else");
    must_be(ggufx_session_length(session, 0) == 0, "the session is empty");
    free(file);
    return 0;
}
