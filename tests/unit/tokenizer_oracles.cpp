// Texts to ids and back against stored answers of other implementations, through the public
// headers. Reads ${GGUFX_TEST_DATA}/data; exits with 77 where that is absent.
// SPDX-License-Identifier: MIT
#include "oracle.hpp"

#include <stdio.h>
#include <stdlib.h>

#include <fstream>

namespace {

void test_tokenizer_cases(const std::string &vocab, const std::string &cases) {
    Opened opened(vocab);
    opened.with_tokenizer();
    const json oracle = read_json("/data/tokenizer-oracle/public/" + cases);
    for (const json &c : oracle["cases"]) {
        const std::string text = from_hex(c["text_hex"]);
        const struct {
            uint32_t flags;
            const char *key;
        } modes[] = {
            {0, "ids"},
            {GGUFX_TOKENIZE_ADD_SPECIAL, "ids_add_special"},
            {GGUFX_TOKENIZE_ADD_SPECIAL | GGUFX_TOKENIZE_PARSE_SPECIAL, "ids_add_parse_special"},
        };
        for (const auto &mode : modes) {
            const Ids got = tokenize(opened.tokenizer, text, mode.flags), want = c[mode.key];
            CHECK(got == want, "%s: %s of %s: %s, not %s", cases.c_str(), mode.key,
                  c["text_hex"].get<std::string>().c_str(), show(got).c_str(), show(want).c_str());
        }
        const std::string got = detokenize(opened.tokenizer, c["ids"].get<Ids>());
        CHECK(got == from_hex(c["detok_hex"]), "%s: text of %s is \"%s\"", cases.c_str(),
              show(c["ids"].get<Ids>()).c_str(), got.c_str());
    }
}

// Pairs of files: texts between separator lines, ids per line.
void test_vocab_pairs(const std::string &name) {
    Opened opened("/data/vocab/ggml-vocab-" + name + ".gguf");
    opened.with_tokenizer();
    const std::string texts = read_bytes("/data/vocab/ggml-vocab-" + name + ".gguf.inp");
    std::ifstream lines(g_root + "/data/vocab/ggml-vocab-" + name + ".gguf.out");
    const std::string separator = "\n__ggml_vocab_test__\n";
    size_t at = 0, n = 0;
    for (std::string line; std::getline(lines, line); n++) {
        const size_t end = texts.find(separator, at);
        const std::string text = texts.substr(at, end == std::string::npos ? end : end - at);
        Ids want;
        char *rest = line.data();
        for (char *next;
             want.push_back(static_cast<int32_t>(strtol(rest, &next, 10))), next != rest;
             rest = next) {}
        want.pop_back();
        const Ids got = tokenize(opened.tokenizer, text, 0);
        CHECK(got == want, "%s: text %zu: %s, not %s", name.c_str(), n, show(got).c_str(),
              show(want).c_str());
        if (end == std::string::npos) break;
        at = end + separator.size();
    }
    CHECK(n >= 46, "%s: only %zu texts", name.c_str(), n);
}

void test_tokenizer_on_a_long_text() {
    Opened opened("/data/stories260K/stories260K-f32.gguf");
    opened.with_tokenizer();
    const std::string text = read_bytes("/data/corpus/tinystories-valid-public.txt");
    const json stored = read_json("/data/stories260K/tokens-tinystories-valid-public.json");
    const Ids want = stored.is_array() ? stored.get<Ids>() : stored["tokens"].get<Ids>();
    const Ids got = tokenize(opened.tokenizer, text, GGUFX_TOKENIZE_ADD_SPECIAL);
    CHECK(got == want, "%zu ids, not %zu", got.size(), want.size());
    CHECK(detokenize(opened.tokenizer, got) == text, "the text does not come back");
}

} // namespace

int main() {
    if (!begin()) return 77;
    test_tokenizer_cases("/data/vocab/ggml-vocab-llama-spm.gguf", "llama-spm.json");
    test_tokenizer_cases("/data/vocab/ggml-vocab-phi-3.gguf", "phi-3.json");
    test_tokenizer_cases("/data/stories260K/stories260K-f32.gguf", "tok512-spm.json");
    test_vocab_pairs("llama-spm");
    test_vocab_pairs("phi-3");
    test_tokenizer_on_a_long_text();
    return end();
}
