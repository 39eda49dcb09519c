/*
 * The adapter part of the run: a LoRA adapter of rank 2 and a control vector for the demo model,
 * built here and used in a session and an embedder.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/gguf_builder.h"
#include "exercise.h"

#include <stdlib.h>
#include <string.h>

enum { kRank = 2, kTokens = 4, kMostWidth = 512 };

static const char kTarget[] = "blk.0.attn_q.weight";

static void put_tensor(gb *b, uint64_t n) {
    float values[kRank * kMostWidth];
    MUST(n <= kRank * kMostWidth);
    exercise_fill(values, n);
    for (uint64_t i = 0; i < n; i++) gb_f32(b, values[i]); /* in the file's byte order */
    gb_pad(b);
}

static ggufx_file *made_lora(exercise *e, const ggufx_runtime *rt, const uint64_t *ne, gb *b) {
    const uint64_t of_a[2] = {ne[0], kRank}, of_b[2] = {kRank, ne[1]};
    ggufx_file *file = NULL;
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.architecture", "llama");
    gb_key_string(b, "general.type", "adapter");
    gb_key_string(b, "adapter.type", "lora");
    gb_tensor(b, "blk.0.attn_q.weight.lora_a", GGUFX_TYPE_F32, 2, of_a, ne[0] * kRank * 4);
    gb_tensor(b, "blk.0.attn_q.weight.lora_b", GGUFX_TYPE_F32, 2, of_b, ne[1] * kRank * 4);
    gb_data(b);
    put_tensor(b, ne[0] * kRank);
    put_tensor(b, ne[1] * kRank);
    (void)e->api->open_memory(&file, rt, b->data, b->n, NULL, NULL, NULL, &e->error);
    return file;
}

static ggufx_file *made_control(exercise *e, const ggufx_runtime *rt, uint64_t n, gb *b) {
    ggufx_file *file = NULL;
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.architecture", "controlvector");
    gb_tensor(b, "direction.1", GGUFX_TYPE_F32, 1, &n, n * 4);
    gb_data(b);
    put_tensor(b, n);
    (void)e->api->open_memory(&file, rt, b->data, b->n, NULL, NULL, NULL, &e->error);
    return file;
}

static ggufx_status use(exercise *e, const ggufx_model *model, const ggufx_adapter_use *uses,
                        const int32_t *ids, float *logits, uint32_t n_vocab) {
    const ggufx_functions *a = e->api;
    const ggufx_token_list text = {ids, kTokens};
    ggufx_status status = GGUFX_OK;
    ggufx_session *session = NULL;
    ggufx_embedder *embedder = NULL;
    ggufx_session_options options = {.struct_size = sizeof options};
    ggufx_embed_options embedding = {.struct_size = sizeof embedding};
    float out[8];
    options.n_context = 2 * kTokens;
    options.n_sequences = 2;
    TRY(a->session_create(&session, model, &options, &e->error));
    TRY(a->session_set_adapters(session, GGUFX_ALL_SEQUENCES, uses, 2, &e->error));
    TRY(exercise_decode(a, session, ids, kTokens, logits, n_vocab, NULL, &e->error));
    exercise_mix(e, logits, n_vocab, sizeof *logits);
    embedding.n_context = kTokens;
    embedding.dimensions = 8;
    TRY(a->embedder_create(&embedder, model, &embedding, &e->error));
    TRY(a->embedder_set_adapters(embedder, uses, 2, &e->error));
    TRY(a->embed(out, 8, embedder, &text, 1, e->progress, &e->error));
    exercise_mix(e, out, 8, sizeof *out);
end:
    a->embedder_destroy(embedder);
    a->session_destroy(session);
    return status;
}

ggufx_status exercise_adapter(exercise *e, const ggufx_runtime *rt, const ggufx_file *file,
                              const ggufx_model *model, const int32_t *ids, uint32_t n_vocab) {
    const ggufx_functions *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_adapter *adapters[2] = {NULL, NULL};
    ggufx_file *files[2] = {NULL, NULL};
    ggufx_adapter_options options = {.struct_size = sizeof options};
    ggufx_adapter_facts facts = {.struct_size = sizeof facts};
    ggufx_tensor_facts tensor = {.struct_size = sizeof tensor};
    gb built[2] = {{0}, {0}};
    float row[kMostWidth], *const logits = calloc(n_vocab, sizeof *logits);
    size_t target = 0;
    TRY(a->file_tensor_find(&target, file, kTarget, strlen(kTarget), &e->error));
    TRY(a->tensor_info(&tensor, a->file_tensor(file, target), &e->error));
    files[0] = made_lora(e, rt, tensor.ne, &built[0]);
    files[1] = files[0] ? made_control(e, rt, tensor.ne[0], &built[1]) : NULL;
    TRY(files[1] ? GGUFX_OK : e->error.status);
    TRY(a->adapter_create(&adapters[0], model, files[0], &options, &e->error));
    options.first_layer = 1;
    TRY(a->adapter_create(&adapters[1], model, files[1], &options, &e->error));
    TRY(a->adapter_info(&facts, adapters[0], &e->error));
    MUST(facts.kind == GGUFX_ADAPTER_LORA && facts.rank == kRank && facts.n_targets == 1);
    exercise_mix(e, &facts.fingerprint, 1, sizeof facts.fingerprint);
    MUST(a->adapter_has_tensor(adapters[0], target) == 1);
    exercise_fill(row, tensor.ne[0]);
    TRY(a->adapter_add_rows(row, tensor.ne[0], adapters[0], target, 1, 1, 0.5f, &e->error));
    exercise_mix(e, row, tensor.ne[0], sizeof *row);
    const ggufx_adapter_use uses[2] = {{adapters[0], 0.5f, 0}, {adapters[1], 0.25f, 0}};
    TRY(use(e, model, uses, ids, logits, n_vocab));
end:
    for (size_t i = 0; i < 2; i++) {
        a->adapter_destroy(adapters[i]);
        a->file_destroy(files[i]);
        gb_free(&built[i]);
    }
    free(logits);
    return status;
}
