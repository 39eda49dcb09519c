// Texts to ids and back, through the public headers: vocabularies made by tests/vocabularies against
// its slow tokenizers, and where ${GGUFX_TEST_DATA}/data exists, real ones against stored ids of
// other programs. usage: tokenizer_oracles MADE/index.json
// SPDX-License-Identifier: MIT
#include "oracle.hpp"

#include <stdio.h>
#include <stdlib.h>

#include <fstream>

namespace {

std::string detokenize_as_field(const ggufx_tokenizer *tokenizer, const Ids &ids) {
    std::string out(16, '\0');
    size_t needed = 0;
    ggufx_error error;
    for (int i = 0; i < 2; i++) {
        const ggufx_status status =
            ggufx_detokenize(out.data(), out.size(), &needed, tokenizer, ids.data(), ids.size(),
                             GGUFX_DETOKENIZE_CLEAN_SPACES, &error);
        if (status != GGUFX_E_CAPACITY) must(status, error, "detokenize");
        const bool fits = needed <= out.size();
        out.resize(needed);
        if (fits) break;
    }
    return out;
}

// Texts that the other implementation takes for others than BERT's own tokenizer does: combining
// marks stay with it, and of a syllable of Hangul only the first letter. Ids are what the published
// algorithm gives: canonical decomposition, marks dropped, then the longest pieces of words.
struct Apart {
    const char *text_hex;
    Ids ids;
};
const Apart kApart[] = {
    {"ed959ceab5adec96b420ed858dec8aa4ed8ab8",
     {1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 1467, 30009, 30020, 29997, 30017,
      30003, 30017}},
    {"65cc8120767320c3a9", {1041, 5443, 1041}},
    {"c2adcc80", {}},
    {"32e985aee0ad963ecf90094521f09fa6b409c882", {1016, 100, 1028, 100, 1041, 999, 100, 1037}},
    {"6ce89fafc98e09f0a5a29d70e0b38de0ad95e8bcab5fc98c39e88c80e5aabce8bbbd20f09f958a43202020d28bcfa"
     "d"
     "4de7bd8de0a8a2c585e0ae98f09fa7bbc8a20af09f9196f09f9eb8f0a2808cc7ba7a2de0a49dc48bf0af9ea3",
     {1048, 100, 100, 100, 1052, 100, 1035, 100,   100,  100,
      100,  100, 100, 100, 100,  100, 100,  17207, 1011, 100}},
    {"093838d6a0f09f908b0ae0a7a36b266bc89bf09f8c97565d20d7872a64c594",
     {100, 1047, 1004, 100, 1033, 1008, 2852}},
    {"20c4b6f09fab87d098c6a7d689f0a0acbec2a9302c43d5b7c6b3d0917309e8ae95e5bfbe22e0b0be09c4ace0afb5e"
     "0"
     "b4b0205b0a0a20e986bac59d33e0a58bf09f9aab4242d78e",
     {100, 100, 100, 1075, 2692, 1010, 100, 100, 100, 1000, 100, 1031, 100, 100}},
    {"e6bcbee9b1abc88fe0a583cf84e793bce0b6bd5a2a0af09f968ac5a77ecf91e7b6a5c3be092928f09f9bab447e355"
     "f"
     "4b4755c8a50ac4be0ac397",
     {100, 100,  1051, 29734, 100, 1406, 2480, 1008, 100, 1066, 100,
      100, 1101, 1007, 1006,  100, 1066, 1019, 1035, 100, 1048, 1095}},
    {"d0b8f09981b25ee0b09309d2830a20", {100, 1034, 100}},
    {"c398210ac3a0d6af2f", {1100, 999, 1037, 1013}},
};

const Apart *find_apart(const std::string &vocab, const std::string &text_hex) {
    if (vocab.find("bert") == std::string::npos) return nullptr;
    for (const Apart &apart : kApart)
        if (text_hex == apart.text_hex) return &apart;
    return nullptr;
}

void test_tokenizer_cases(const std::string &vocab, const std::string &cases) {
    Opened opened(vocab);
    opened.with_tokenizer();
    const json oracle = read_json(cases);
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
            const Ids got = tokenize(opened.tokenizer, text, mode.flags);
            Ids want = c[mode.key];
            if (const Apart *apart = find_apart(vocab, c["text_hex"])) {
                want = apart->ids;
                if (mode.flags) want.insert(want.begin(), 101);
                if (mode.flags) want.push_back(102);
            }
            CHECK(got == want, "%s: %s of %s: %s, not %s", cases.c_str(), mode.key,
                  c["text_hex"].get<std::string>().c_str(), show(got).c_str(), show(want).c_str());
        }
        const std::string got = detokenize_as_field(opened.tokenizer, c["ids"].get<Ids>());
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

// Every vocabulary that tests/vocabularies/make.py wrote beside its index.
void test_made_vocabularies(const std::string &index) {
    const json made = read_json(index.substr(g_root.size()));
    const int before = g_checks;
    for (const std::string name : made["names"])
        test_tokenizer_cases("/" + name + ".gguf", "/" + name + ".json");
    const size_t n_texts = made["n_texts"];
    CHECK(made["names"].size() >= 38 && n_texts >= 200, "%zu vocabularies, %zu texts",
          made["names"].size(), n_texts);
    printf("made vocabularies: %d checks\n", g_checks - before);
}

void test_stored_vocabularies() {
    const std::string oracle = "/data/tokenizer-oracle/public/";
    test_tokenizer_cases("/data/vocab/ggml-vocab-llama-spm.gguf", oracle + "llama-spm.json");
    test_tokenizer_cases("/data/vocab/ggml-vocab-phi-3.gguf", oracle + "phi-3.json");
    test_tokenizer_cases("/data/stories260K/stories260K-f32.gguf", oracle + "tok512-spm.json");
    test_tokenizer_cases("/data/vocab/ggml-vocab-gpt-2.gguf", oracle + "gpt-2.json");
    test_tokenizer_cases("/data/vocab/ggml-vocab-deepseek-llm.gguf", oracle + "deepseek-llm.json");
    test_tokenizer_cases("/data/tiny/tiny-qwen2-f16.gguf", oracle + "bpe1k-qwen2.json");
    test_tokenizer_cases("/data/tiny/tiny-llama3-f16.gguf", oracle + "bpe1k-llama3.json");
    test_tokenizer_cases("/data/vocab/ggml-vocab-bert-bge.gguf", oracle + "bert-bge.json");
    for (const char *name : {"gemma4-bpe", "rwkv", "ugm-t5", "ugm-xlmr"})
        test_tokenizer_cases("/data/tokenizer/vocab-" + std::string(name) + ".gguf",
                             "/data/tokenizer/" + std::string(name) + "-public.json");
    for (const char *name : {"llama-spm", "phi-3", "gpt-2", "deepseek-llm", "bert-bge"})
        test_vocab_pairs(name);
    test_tokenizer_on_a_long_text();
}

} // namespace

// The vocabularies that INDEX.JSON names, or "stored": those of GGUFX_TEST_DATA.
int main(int n_arguments, char **arguments) {
    if (n_arguments != 2) return 2;
    const std::string what = arguments[1];
    if (what == "stored") {
        if (!begin_stored()) return 77;
        test_stored_vocabularies();
    } else {
        begin_in(what.substr(0, what.rfind('/')));
        test_made_vocabularies(what);
    }
    return end();
}
