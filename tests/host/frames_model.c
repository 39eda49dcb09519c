/*
 * A model: its whole prompt in one call, token by token; embeddings; validation and quantization of
 * its file.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/decode_ids.h"
#include "frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kPrompt = 192 };

typedef struct play {
    const ggufx_runtime *rt;
    ggufx_file *file;
    ggufx_session *session;
    ggufx_embedder *embedder;
    int32_t ids[kPrompt];
    uint64_t n_before;
    size_t n;
} play;

static ggufx_status decode(void *user) {
    play *p = user;
    const ggufx_status status = ggufx_session_truncate(p->session, 0, p->n_before, NULL);
    if (status != GGUFX_OK) return status;
    return decode_ids(p->session, p->ids, p->n, NULL, 0, NULL);
}

static ggufx_status embed(void *user) {
    play *p = user;
    const ggufx_token_list texts[] = {{p->ids, kPrompt - 1}, {p->ids + kPrompt - 1, 1}};
    float out[2 * 16];
    return ggufx_embed(out, 2 * 16, p->embedder, texts, 2, NULL, NULL);
}

static int32_t go_on(void *user, const ggufx_finding_facts *finding) {
    (void)user, (void)finding;
    return 0;
}

static ggufx_status validate(void *user) {
    const play *p = user;
    return ggufx_file_validate(p->file, GGUFX_VALIDATE_DEEP, go_on, NULL, NULL, NULL);
}

static ggufx_status quantize(void *user) {
    const play *p = user;
    char path[] = "/tmp/ggufx-frames-XXXXXX";
    const int fd = mkstemp(path);
    ggufx_quantizer *job = NULL;
    ggufx_quantizer_options options = {.struct_size = sizeof options};
    uint32_t recipe = 0;
    if (fd < 0 || close(fd) != 0) return GGUFX_E_IO;
    options.flags = GGUFX_QUANTIZER_ALLOW_REQUANTIZE;
    ggufx_status status = ggufx_file_type_find(&recipe, "Q4_K_M", NULL);
    if (status == GGUFX_OK)
        status = ggufx_quantizer_create(&job, p->rt, p->file, recipe, &options, NULL);
    if (status == GGUFX_OK) status = ggufx_quantizer_run(job, path, NULL, NULL);
    ggufx_quantizer_destroy(job);
    unlink(path);
    return status;
}

void frames_of_model(frames *f, const ggufx_runtime *rt, const char *model_path) {
    play p = {.rt = rt};
    ggufx_model *model = NULL;
    ggufx_session_options options = {.struct_size = sizeof options};
    ggufx_embed_options embedding = {.struct_size = sizeof embedding};
    if (ggufx_open(&p.file, rt, model_path, NULL, NULL) != GGUFX_OK) exit(1);
    if (ggufx_model_create(&model, rt, p.file, NULL, NULL) != GGUFX_OK) exit(1);
    options.n_context = 2 * kPrompt;
    if (ggufx_session_create(&p.session, model, &options, NULL) != GGUFX_OK) exit(1);
    for (int32_t i = 0; i < kPrompt; i++) p.ids[i] = 1 + i * 7 % 200;
    p.n = kPrompt;
    frames_check(f, "decode a prompt", decode, &p);
    p.n_before = kPrompt - 1;
    p.n = 1;
    frames_check(f, "decode a token", decode, &p);
    embedding.dimensions = 16;
    embedding.n_context = kPrompt;
    if (ggufx_embedder_create(&p.embedder, model, &embedding, NULL) != GGUFX_OK) exit(1);
    frames_check(f, "embed", embed, &p);
    frames_check(f, "validate", validate, &p);
    frames_check(f, "quantize a file", quantize, &p);
    ggufx_embedder_destroy(p.embedder);
    ggufx_session_destroy(p.session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(p.file);
}
