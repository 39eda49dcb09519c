/*
 * Fuzz target: adapter files for the tiny model with changed bytes. Refusals have a message and
 * leak nothing; an adapter that binds also decodes. Input: kind of file, then positions and bytes.
 * A position may be that of a dimension, an offset or a name.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/decode_ids.h"
#include "../unit/tiny_adapter.h"
#include "../unit/tiny_model.h"
#include "replay.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long measure_n_taken(void);

enum { CONTEXT = 8 };

static const ggufx_model *model;
static ggufx_file *model_file;
static ggufx_runtime *rt;
static long n_taken;

long measure_n_taken(void) {
    return n_taken;
}

/* Decodes a prompt and a token; numbers may overflow, which is status VALUE. */
static void decode(const ggufx_adapter *adapter) {
    static const int32_t tokens[] = {1, 5, 301, 9, 0};
    const ggufx_adapter_use uses[2] = {{adapter, 1, 0}, {adapter, -0.5f, 0}};
    float logits[TINY_VOCAB];
    ggufx_session *session = NULL;
    ggufx_session_options options = {.struct_size = sizeof options};
    options.n_context = CONTEXT;
    must_be(ggufx_session_create(&session, model, &options, NULL) == GGUFX_OK, "a session");
    ggufx_status status = ggufx_session_set_adapters(session, 0, uses, 2, NULL);
    must_be(status == GGUFX_OK || status == GGUFX_E_MEMORY, "an adapter that binds is taken");
    if (status == GGUFX_OK) status = decode_ids(session, tokens, 4, logits, TINY_VOCAB, NULL);
    if (status == GGUFX_OK) status = decode_ids(session, tokens + 4, 1, logits, TINY_VOCAB, NULL);
    must_be(status == GGUFX_OK || status == GGUFX_E_VALUE || status == GGUFX_E_MEMORY,
            "it decodes");
    ggufx_session_destroy(session);
}

static void merge(const ggufx_adapter *adapter) {
    for (size_t i = 0; i < ggufx_file_tensor_count(model_file); i++) {
        ggufx_tensor_facts facts = {.struct_size = sizeof facts};
        must_be(ggufx_tensor_info(&facts, ggufx_file_tensor(model_file, i), NULL) == GGUFX_OK,
                "a tensor");
        float *rows = calloc((size_t)(2 * facts.ne[0]), sizeof *rows);
        const uint64_t n = facts.n_rows < 2 ? facts.n_rows : 2;
        must_be(rows && ggufx_adapter_add_rows(rows, (size_t)(n * facts.ne[0]), adapter, i,
                                               facts.n_rows - n, n, 1, NULL) == GGUFX_OK,
                "rows are added to");
        free(rows);
    }
}

static void use(const ggufx_adapter *adapter) {
    ggufx_adapter_facts facts = {.struct_size = sizeof facts};
    must_be(ggufx_adapter_info(&facts, adapter, NULL) == GGUFX_OK && facts.n_targets > 0, "facts");
    n_taken++;
    if (facts.rank > 64) return; /* larger than any generated rank */
    decode(adapter);
    if (facts.kind == GGUFX_ADAPTER_LORA) merge(adapter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gb b;
    ggufx_file *file = NULL;
    ggufx_adapter *adapter = NULL;
    ggufx_adapter_options options = {.struct_size = sizeof options};
    ggufx_error error;
    if (!model) model = target_model(&rt, &model_file);
    (size && data[0] & 1 ? tiny_control : tiny_lora)(&b, NULL);
    options.last_layer = size ? data[0] >> 1 & 1 : 0;
    for (; size >= 4; data += 4, size -= 4) {
        const size_t at = (size_t)(data[0] | data[1] << 8) % b.n;
        b.data[at] = data[2];
        if (data[3] & 1) b.n = at; /* truncated */
        if (b.n == 0) break;
    }
    if (ggufx_open_memory(&file, rt, b.data, b.n, NULL, NULL, NULL, NULL) == GGUFX_OK) {
        error.message[0] = 0;
        if (ggufx_adapter_create(&adapter, model, file, &options, &error) == GGUFX_OK)
            use(adapter);
        else
            must_be(error.message[0] && !adapter, "a refusal says why, and makes nothing");
    }
    ggufx_adapter_destroy(adapter);
    ggufx_file_destroy(file);
    gb_free(&b);
    return 0;
}
