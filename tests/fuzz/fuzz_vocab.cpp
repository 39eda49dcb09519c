// Fuzz target: a text and a file with a vocabulary; a vocabulary that loads tokenizes and
// detokenizes the text. Input: length of the text, the text, the file.
// usage: fuzz-vocab [number of inputs] or fuzz-vocab FILE...
// SPDX-License-Identifier: MIT
#include "../text_of.h"
#include "../unit/made_vocab.hpp"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

namespace {

long n_loaded, n_refused;

void must(bool holds) {
    if (!holds) abort();
}

ggufx_runtime *runtime() {
    static ggufx_runtime *one = [] {
        ggufx_runtime *rt = nullptr;
        ggufx_runtime_options options = {};
        options.struct_size = sizeof options;
        options.threads = 1;
        must(ggufx_runtime_create(&rt, &options, nullptr) == GGUFX_OK);
        return rt;
    }();
    return one;
}

// Ids are within the vocabulary, and the tokens' pieces join to the text.
void use(const ggufx_tokenizer *tokenizer, const char *text, size_t length, uint32_t flags) {
    ggufx_tokenizer_facts facts = {};
    facts.struct_size = sizeof facts;
    must(ggufx_tokenizer_info(&facts, tokenizer, nullptr) == GGUFX_OK);
    for (const int32_t id :
         {facts.bos, facts.eos, facts.unknown, facts.eot, facts.eom, facts.separator, facts.pad,
          facts.mask, facts.fim_prefix, facts.fim_suffix, facts.fim_middle, facts.fim_pad,
          facts.fim_repository, facts.fim_separator})
        must(id >= -1 && id < static_cast<int64_t>(facts.n_tokens));
    size_t n = 0, needed = 0;
    Ids ids(64 * length + 4);
    ggufx_error error;
    const ggufx_status status =
        ggufx_tokenize(ids.data(), ids.size(), &n, tokenizer, text, length, flags, &error);
    if (status != GGUFX_OK) return must(error.message[0] != 0);
    ids.resize(n);
    for (const int32_t id : ids) must(id >= 0 && static_cast<uint32_t>(id) < facts.n_tokens);
    const uint32_t how = GGUFX_DETOKENIZE_CLEAN_SPACES;
    must(ggufx_detokenize(nullptr, 0, &needed, tokenizer, ids.data(), n, how, nullptr) ==
         (needed ? GGUFX_E_CAPACITY : GGUFX_OK));
    std::string whole(needed, '\0'), parts;
    must(ggufx_detokenize(whole.data(), needed, &needed, tokenizer, ids.data(), n, how, nullptr) ==
         GGUFX_OK);
    ggufx_detokenizer_state state = {};
    std::string part(whole.size() + 8, '\0');
    for (size_t i = 0; i <= n; i++) {
        const bool last = i == n;
        state.flags = last ? how | GGUFX_DETOKENIZE_FLUSH : how;
        must(ggufx_detokenize_stream(part.data(), part.size(), &needed, &state, tokenizer,
                                     ids.data() + i, last ? 0 : 1, nullptr) == GGUFX_OK);
        parts.append(part, 0, needed);
    }
    must(parts == whole);
}

// The text as a user's message in a chat template: only the template's own text gives control
// tokens.
void use_in_a_chat(const ggufx_tokenizer *tokenizer, const char *text, size_t length) {
    static ggufx_chat_template *const chat = [] {
        ggufx_chat_template *made = nullptr;
        ggufx_chat_template_options options = {};
        options.struct_size = sizeof options;
        options.text = text_of("{{ messages[0].content }}<|ctl|>{{ messages[0].content | trim }}");
        must(ggufx_chat_template_create(&made, runtime(), nullptr, &options, nullptr) == GGUFX_OK);
        return made;
    }();
    ggufx_chat_message message = {};
    message.struct_size = sizeof message;
    ggufx_chat_request request = {};
    request.struct_size = sizeof request;
    message.content = {text, length};
    request.messages = &message;
    request.n_messages = 1;
    size_t n = 0;
    Ids ids(128 * length + 64);
    ggufx_error error;
    const ggufx_status status = ggufx_chat_template_tokenize(ids.data(), ids.size(), &n, chat,
                                                             tokenizer, &request, 0, &error);
    if (status != GGUFX_OK) return must(error.message[0] != 0 && status != GGUFX_E_INTERNAL);
    ggufx_tokenizer_facts facts = {};
    facts.struct_size = sizeof facts;
    must(ggufx_tokenizer_info(&facts, tokenizer, nullptr) == GGUFX_OK);
    int n_controls = 0;
    for (size_t i = 0; i < n; i++) {
        ggufx_token_facts token = {};
        token.struct_size = sizeof token;
        must(ggufx_token_info(&token, tokenizer, ids[i], nullptr) == GGUFX_OK);
        n_controls += (token.flags & GGUFX_TOKEN_CONTROL) != 0 && ids[i] != facts.unknown;
    }
    must(n_controls <= 7); // the template's text may give several
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t length = size ? data[0] : 0;
    if (size < 1 + length) return 0;
    const std::string text(reinterpret_cast<const char *>(data + 1), length);
    ggufx_open_options options = {};
    options.struct_size = sizeof options;
    options.flags = GGUFX_OPEN_COPY;
    ggufx_file *file = nullptr;
    ggufx_tokenizer *tokenizer = nullptr;
    ggufx_error error;
    if (ggufx_open_memory(&file, runtime(), data + 1 + length, size - 1 - length, nullptr, nullptr,
                          &options, &error) == GGUFX_OK &&
        ggufx_tokenizer_create(&tokenizer, file, &error) == GGUFX_OK) {
        n_loaded++;
        for (uint32_t flags = 0; flags < 4; flags++)
            use(tokenizer, text.data(), text.size(), flags);
        use_in_a_chat(tokenizer, text.data(), text.size());
    } else {
        n_refused++;
        must(error.message[0] != 0);
    }
    ggufx_tokenizer_destroy(tokenizer);
    ggufx_file_destroy(file);
    return 0;
}

#ifndef GGUFX_FUZZER
namespace {

uint32_t next(uint32_t *state) {
    return (*state = *state * 1664525u + 1013904223u) >> 8;
}

// Runs a vocabulary of each kind with some changed bytes.
void run_number(long which) {
    const auto number = static_cast<uint32_t>(which);
    uint32_t state = 2 * number + 1;
    MadeVocab vocab = full_vocab(kMadeKinds[number % std::size(kMadeKinds)]);
    if (vocab.model == "t5" && number % 4 == 1)
        vocab.map = std::string("\x08\0\0\0\0\x04\0\0\x61\x01\0\0x\0", 14);
    constexpr const char *kPre[] = {"", "qwen2", "whitespace", "sarvam-moe", "minicpm5"};
    if (vocab.model == "gpt2") vocab.pre = kPre[number / std::size(kMadeKinds) % std::size(kPre)];
    std::string input = "\x18"
                        "abc \xc3\xa9\n\n<|ctl|> 's . \xff\xe2\x96";
    input.resize(1 + 0x18, ' ');
    const size_t head = input.size();
    input += vocab.bytes();
    for (uint32_t i = next(&state) % 4; i > 0; i--)
        input[head + next(&state) % (input.size() - head)] = static_cast<char>(next(&state));
    for (uint32_t i = next(&state) % 8; i > 0; i--)
        input[1 + next(&state) % 0x18] = static_cast<char>(next(&state));
    replay_input(reinterpret_cast<const uint8_t *>(input.data()), input.size());
}

} // namespace

int main(int argc, char **argv) {
    const long n_stored = replay_archives(&argc, &argv);
    const long count = replay_numbers(argc, argv, 3000, run_number);
    if (count < 0) return 0;
    printf("%ld inputs, %ld loaded, %ld refused\n", n_stored + count, n_loaded, n_refused);
    return count < 500 || (n_loaded * 4 > count && n_refused * 20 > count) ? 0 : 1;
}
#endif
