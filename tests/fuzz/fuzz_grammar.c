/*
 * Fuzz target: a grammar, or a JSON schema if it begins with '{', over a small vocabulary. Each
 * mask equals accepting one token at a time, and rollback restores the matcher.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/gguf_builder.h"
#include "chat_main.h"

#include <ggufx/ggufx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const chat_seeds[] = {
    "root ::= \"a\" [b-d]+ (\",\" item){2,5} | . ws\nitem ::= \"x\" root? \"y\" | [^a-z\\n]\nws "
    "::= "
    "[ \\t]*",
    "root ::= value # JSON\nvalue ::= \"{\" (s \":\" value (\",\" s \":\" value)*)? \"}\" | s | "
    "[0-9]{1,3}\ns ::= \"\\\"\" [^\"\\\\]* \"\\\"\"",
    "root ::= (\"a\" | \"ab\" | \"\")* (\"b\"{0,1000000})* \"\\u00e9\\U0001F600\\x41\"",
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-3,\"maximum\":"
    "120},"
    "\"ab\":{\"enum\":[\"x\",1,[null]]}},\"required\":[\"a\",\"ab\"],\"additionalProperties\":"
    "false}",
    "{\"anyOf\":[{\"$ref\":\"#/$defs/n\"},{\"type\":[\"null\",\"string\"],\"maxLength\":3}],"
    "\"$defs\":{\"n\":{\"type\":\"array\",\"prefixItems\":[true],\"items\":{\"$ref\":\"#\"},"
    "\"maxItems\":4}}}",
    "{\"oneOf\":[{\"type\":\"string\",\"pattern\":\"^(a|[^b-d]\\\\d){1,3}$\"},{\"type\":\"number\"}"
    ","
    "{\"properties\":{\"k\":{\"const\":\"a\"}},\"required\":[\"k\"],\"type\":\"object\"}]}",
    "{\"allOf\":[{\"type\":\"string\",\"format\":\"date\"},{\"type\":\"string\"}],\"title\":\"t\"}",
    "{\"type\":\"object\",\"patternProperties\":{\"^p(?!q)\":{\"type\":\"string\",\"pattern\":\"b$"
    "\",\"maxLength\":3},\"\\\\d\":{\"type\":\"null\"}},\"propertyNames\":{\"maxLength\":3},"
    "\"minProperties\":1,\"maxProperties\":3,\"dependentRequired\":{\"p\":[\"q\"]},"
    "\"dependentSchemas\":{\"q\":{\"not\":{\"required\":[\"r\"]}}}}",
    "{\"type\":\"array\",\"contains\":{\"const\":1},\"minContains\":1,\"maxContains\":2,\"items\":{"
    "\"enum\":[\"a\",1,2.5,null,{\"x\":[]}]},\"uniqueItems\":true,\"minItems\":2}",
    "{\"if\":{\"type\":\"number\"},\"then\":{\"multipleOf\":0.25,\"exclusiveMinimum\":-7.5,"
    "\"maximum\":1000.0},\"else\":{\"not\":{\"type\":[\"object\",\"array\"]}}}",
    "{\"$id\":\"https://x.y/"
    "a\",\"$defs\":{\"t\":{\"$id\":\"t\",\"$dynamicAnchor\":\"n\",\"type\":\"object\","
    "\"properties\":{\"k\":{\"$dynamicRef\":\"#n\"}},\"unevaluatedProperties\":false}},\"$ref\":"
    "\"t\",\"$dynamicAnchor\":\"n\",\"anyOf\":[{\"properties\":{\"a\":{\"multipleOf\":3}},"
    "\"required\":[\"a\"]},true]}",
    "{\"prefixItems\":[{\"type\":\"string\",\"format\":\"date-time\"},{\"format\":\"email\"}],"
    "\"oneOf\":[{\"minItems\":1},{\"maxItems\":3}],\"unevaluatedItems\":{\"type\":\"integer\","
    "\"multipleOf\":100},\"type\":\"array\"}",
    NULL,
};
const char chat_seed_end[] = "";
const size_t chat_seed_end_length = 0;

/* The first steps compare all tokens, later ones every eighth, because long texts make each call
 * slow. */
enum { N = 3 + 128, WORDS = (N + 31) / 32, STEPS = 12, FULL_STEPS = 3 };

static ggufx_runtime *rt;
static ggufx_tokenizer *tokenizer;
static gb bytes;

static void make_tokenizer(void) {
    ggufx_file *file = NULL;
    if (ggufx_runtime_create(&rt, NULL, NULL) != GGUFX_OK) abort();
    gb_begin(&bytes, 3, 0);
    gb_key_string(&bytes, "tokenizer.ggml.model", "llama");
    gb_key_array(&bytes, "tokenizer.ggml.tokens", GGUFX_VALUE_STRING, N);
    gb_string(&bytes, "<unk>");
    gb_string(&bytes, "<s>");
    gb_string(&bytes, "</s>");
    for (unsigned i = 0; i < 128; i++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", i < 120 ? i : 0x48 + i);
        if (i < 32) snprintf(text, sizeof text, "%c%c", 'a' + (char)(i % 8), "\"},:1b[ "[i / 4]);
        gb_string(&bytes, text);
    }
    gb_key_array(&bytes, "tokenizer.ggml.scores", GGUFX_VALUE_F32, N);
    for (int i = 0; i < N; i++) gb_f32(&bytes, 0);
    gb_key_array(&bytes, "tokenizer.ggml.token_type", GGUFX_VALUE_I32, N);
    for (unsigned i = 0; i < N; i++) gb_u32(&bytes, i == 0 ? 2 : i < 3 ? 3 : i < 35 ? 1 : 6);
    gb_data(&bytes);
    if (ggufx_open_memory(&file, rt, bytes.data, bytes.n, NULL, NULL, NULL, NULL) != GGUFX_OK)
        abort();
    if (ggufx_tokenizer_create(&tokenizer, file, NULL) != GGUFX_OK) abort();
    ggufx_file_destroy(file);
}

/* Returns an accepted token, or -1; checks one in `every` tokens. */
static int32_t check_mask(ggufx_matcher *m, uint64_t draw, int32_t every) {
    uint32_t bits[WORDS];
    int32_t chosen = -1;
    ggufx_error error = {0};
    const ggufx_status status = ggufx_matcher_mask(bits, WORDS, m, &error);
    if (status == GGUFX_E_LIMIT || status == GGUFX_E_MISMATCH || status == GGUFX_E_STATE) return -1;
    if (status != GGUFX_OK) abort();
    for (int32_t i = 0; i < N; i++) {
        const int32_t id = (int32_t)(((uint64_t)i + draw) % N);
        if (i % every != 0 && chosen >= 0) continue;
        const ggufx_status fits = ggufx_matcher_accept(m, &id, 1, &error);
        const int bit = (int)(bits[id / 32] >> id % 32 & 1);
        if (fits == GGUFX_E_LIMIT) return -1;
        if ((fits == GGUFX_OK) != bit) abort();
        if (fits == GGUFX_OK && ggufx_matcher_rollback(m, 1, NULL) != GGUFX_OK) abort();
        if (bit && chosen < 0) chosen = id;
    }
    return chosen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ggufx_grammar_options options = {.struct_size = sizeof options};
    ggufx_grammar *grammar = NULL;
    ggufx_matcher *m = NULL;
    ggufx_error error;
    uint64_t draw = size;
    char *const exact = malloc(size ? size : 1); /* so that sanitizers detect reads past the end */
    if (!rt) make_tokenizer();
    if (!exact) abort();
    memset(&error, 0, sizeof error);
    if (size) memcpy(exact, data, size);
    options.kind = size && data[0] == '{' ? GGUFX_GRAMMAR_JSON_SCHEMA : GGUFX_GRAMMAR_GBNF;
    options.flags = size % 16; /* every combination of flags */
    options.text = (ggufx_text){exact, size};
    if (ggufx_grammar_create(&grammar, rt, tokenizer, &options, &error) != GGUFX_OK) {
        if (!error.message[0] || error.status == GGUFX_E_INTERNAL) abort();
    } else if (ggufx_matcher_create(&m, grammar, &error) == GGUFX_OK) {
        for (int i = 0; i < STEPS; i++) {
            const int32_t id = check_mask(m, draw, i < FULL_STEPS ? 1 : 8);
            if (id < 0 || ggufx_matcher_accept(m, &id, 1, NULL) != GGUFX_OK) break;
            draw = draw * 0x9e3779b97f4a7c15u + (uint64_t)id + 1;
            draw ^= draw >> 29;
        }
    }
    ggufx_matcher_destroy(m);
    ggufx_grammar_destroy(grammar);
    free(exact);
    return 0;
}
