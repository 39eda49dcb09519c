/* SPDX-License-Identifier: MIT */
#include "tokenizer_fixture.h"

#include <string.h>

void begin_tokenizer(fixture *f, int vocab_fault) {
    tiny_options options;
    memset(&options, 0, sizeof options);
    options.vocab_fault = vocab_fault;
    begin(f, &options);
    MUST(f, ggufx_tokenizer_create(&f->tokenizer, f->file, &f->error));
}

size_t encode(fixture *f, int32_t *ids, const char *text, size_t length, uint32_t flags) {
    size_t n = 0;
    MUST(f, ggufx_tokenize(ids, MAX_IDS, &n, f->tokenizer, text, length, flags, &f->error));
    return n;
}

int32_t id_of(fixture *f, const char *piece) {
    ggufx_token_facts facts;
    facts.struct_size = sizeof facts;
    for (int32_t id = 0; id < TINY_VOCAB; id++) {
        MUST(f, ggufx_token_info(&facts, f->tokenizer, id, &f->error));
        if (facts.text.size == strlen(piece) &&
            memcmp(facts.text.data, piece, strlen(piece)) == 0) {
            return id;
        }
    }
    fail_msg("no token %s", piece);
    return -1;
}

void assert_pieces(fixture *f, const char *text, uint32_t flags, const char *expected) {
    int32_t ids[MAX_IDS];
    char got[1024] = "";
    const size_t n = encode(f, ids, text, strlen(text), flags);
    for (size_t i = 0; i < n; i++) {
        ggufx_token_facts facts;
        facts.struct_size = sizeof facts;
        MUST(f, ggufx_token_info(&facts, f->tokenizer, ids[i], &f->error));
        if (i) strcat(got, "|");
        strncat(got, facts.text.data, facts.text.size);
    }
    assert_string_equal(got, expected);
}
