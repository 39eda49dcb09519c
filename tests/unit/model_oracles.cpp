// Tokenizer, logits and greedy ids against stored answers of other implementations, through the
// public headers. Reads ${GGUFX_TEST_DATA}/data; exits with 77 where that is absent.
// SPDX-License-Identifier: MIT
#include <ggufx/ggufx.h>

#include <math.h>
#include <nlohmann/json.hpp>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fstream>
#include <string>
#include <vector>

using nlohmann::json;
using Ids = std::vector<int32_t>;

namespace {

// A correct F32 run differs from the stored logits by rounding alone (data/README.md).
constexpr double kAbsolute = 1e-3, kRelative = 1e-4;

std::string g_root;
ggufx_runtime *g_runtime;
int g_failed, g_checks;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        g_checks++;                                                                                \
        if (!(condition)) {                                                                        \
            g_failed++;                                                                            \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
        }                                                                                          \
    } while (0)

void must(ggufx_status status, const ggufx_error &error, const char *what) {
    if (status == GGUFX_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, ggufx_status_name(status), error.message);
    exit(1);
}

json read_json(const std::string &path) {
    std::ifstream in(g_root + path);
    if (!in) {
        fprintf(stderr, "cannot read %s\n", path.c_str());
        exit(1);
    }
    return json::parse(in);
}

std::string read_bytes(const std::string &path) {
    std::ifstream in(g_root + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string from_hex(const std::string &hex) {
    std::string out;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return out;
}

std::string show(const Ids &ids) {
    std::string out;
    for (const int32_t id : ids) out += std::to_string(id) + " ";
    return out;
}

// An opened file with what can be made from it.
struct Opened {
    ggufx_file *file = nullptr;
    ggufx_tokenizer *tokenizer = nullptr;
    ggufx_model *model = nullptr;
    explicit Opened(const std::string &path) {
        ggufx_error error;
        must(ggufx_open(&file, g_runtime, (g_root + path).c_str(), nullptr, &error), error,
             path.c_str());
    }
    Opened(const Opened &) = delete;
    ~Opened() {
        ggufx_model_destroy(model);
        ggufx_tokenizer_destroy(tokenizer);
        ggufx_file_destroy(file);
    }
    Opened &with_tokenizer() {
        ggufx_error error;
        must(ggufx_tokenizer_create(&tokenizer, file, &error), error, "tokenizer");
        return *this;
    }
    Opened &with_model() {
        ggufx_error error;
        must(ggufx_model_create(&model, g_runtime, file, nullptr, &error), error, "model");
        return *this;
    }
};

Ids tokenize(const ggufx_tokenizer *tokenizer, const std::string &text, uint32_t flags) {
    ggufx_error error;
    Ids ids(text.size() + 8);
    size_t n = 0;
    must(ggufx_tokenize(ids.data(), ids.size(), &n, tokenizer, text.data(), text.size(), flags,
                        &error),
         error, "tokenize");
    ids.resize(n);
    return ids;
}

std::string detokenize(const ggufx_tokenizer *tokenizer, const Ids &ids) {
    ggufx_error error;
    std::string out(64 + 64 * ids.size(), '\0');
    size_t n = 0;
    must(ggufx_detokenize(out.data(), out.size(), &n, tokenizer, ids.data(), ids.size(), 0, &error),
         error, "detokenize");
    out.resize(n);
    return out;
}

// ---- tokenizers ---------------------------------------------------------------------------------

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

// ---- models -------------------------------------------------------------------------------------

ggufx_session *new_session(const ggufx_model *model) {
    ggufx_session_options options;
    ggufx_session_options_init(&options);
    options.type_k = options.type_v = GGUFX_KV_F32; // the oracles' cache
    ggufx_error error;
    ggufx_session *session = nullptr;
    must(ggufx_session_create(&session, model, &options, &error), error, "session");
    return session;
}

int32_t argmax(const float *logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return static_cast<int32_t>(best);
}

// Prompt with all logits, then greedy token by token; compares with the stored rows and ids.
void test_model_case(const Opened &opened, const std::string &folder, const std::string &name) {
    const json c = read_json(folder + name + ".json");
    const Ids prompt = c["prompt_tokens"], want = c["generated_tokens"];
    const size_t n_vocab = c["n_vocab"], n_rows = c["logits_rows"];
    const std::string raw = read_bytes(folder + name + ".logits.f32");
    std::vector<float> stored(raw.size() / 4);
    for (size_t i = 0; i < stored.size(); i++) { // little-endian
        uint32_t u = 0;
        for (size_t j = 4; j-- > 0;) u = u << 8 | static_cast<uint8_t>(raw[4 * i + j]);
        memcpy(&stored[i], &u, 4);
    }
    CHECK(stored.size() == n_rows * n_vocab, "%s: %zu logits", name.c_str(), stored.size());
    ggufx_session *session = new_session(opened.model);
    std::vector<float> logits(prompt.size() * n_vocab);
    ggufx_decode_options options;
    ggufx_decode_options_init(&options);
    options.flags = GGUFX_DECODE_ALL_LOGITS;
    options.logits = logits.data();
    options.n_logits = logits.size();
    ggufx_error error;
    must(ggufx_session_decode(session, prompt.data(), prompt.size(), &options, &error), error,
         "decode");
    Ids got;
    while (got.size() < want.size()) {
        got.push_back(argmax(logits.data() + logits.size() - n_vocab, n_vocab));
        if (got.size() == want.size() && logits.size() == n_rows * n_vocab) break;
        must(ggufx_session_decode(session, &got.back(), 1, nullptr, &error), error, "decode");
        logits.resize(logits.size() + n_vocab);
        must(
            ggufx_session_logits(logits.data() + logits.size() - n_vocab, n_vocab, session, &error),
            error, "logits");
    }
    CHECK(got == want, "%s: greedy ids %s, not %s", name.c_str(), show(got).c_str(),
          show(want).c_str());
    CHECK(logits.size() >= stored.size(), "%s: %zu logits of %zu", name.c_str(), logits.size(),
          stored.size());
    double worst = 0;
    for (size_t i = 0; i < stored.size() && i < logits.size(); i++) {
        const double a = static_cast<double>(logits[i]), b = static_cast<double>(stored[i]);
        worst = fmax(worst, fabs(a - b) / (kAbsolute + kRelative * fabs(b)));
    }
    CHECK(worst <= 1.0, "%s%s: logits differ by %.3g of the tolerance", folder.c_str(),
          name.c_str(), worst);
    printf("%s%s: %zu ids, %zu rows, worst %.2g of the tolerance\n", folder.c_str(), name.c_str(),
           want.size(), n_rows, worst);
    ggufx_session_destroy(session);
}

void test_stories(const char *file) {
    Opened opened(std::string("/data/stories260K/") + file);
    opened.with_model().with_tokenizer();
    for (const char *name : {"bos_only", "empty", "lily_park", "long_prompt", "newlines",
                             "one_day_dog", "tell_once", "unicode_fallback"}) {
        test_model_case(opened, "/data/stories260K/oracle-public/", name);
        const json c = read_json(std::string("/data/stories260K/oracle-public/") + name + ".json");
        if (strcmp(name, "bos_only") == 0) continue; // its prompt is a token
        CHECK(tokenize(opened.tokenizer, from_hex(c["prompt_hex"]), GGUFX_TOKENIZE_ADD_SPECIAL) ==
                  c["prompt_tokens"].get<Ids>(),
              "%s: prompt tokens", name);
    }
}

Ids greedy(const Opened &opened, const Ids &prompt, size_t n, std::vector<float> *last = nullptr) {
    ggufx_session *session = new_session(opened.model);
    ggufx_model_facts facts;
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_model_info(&facts, opened.model, &error), error, "info");
    std::vector<float> logits(facts.n_vocab);
    must(ggufx_session_decode(session, prompt.data(), prompt.size(), nullptr, &error), error,
         "decode");
    Ids out;
    for (;;) {
        must(ggufx_session_logits(logits.data(), logits.size(), session, &error), error, "logits");
        out.push_back(argmax(logits.data(), logits.size()));
        if (out.size() == n) break;
        must(ggufx_session_decode(session, &out.back(), 1, nullptr, &error), error, "decode");
    }
    if (last) *last = logits;
    ggufx_session_destroy(session);
    return out;
}

void test_tiny_stories_greedy_ids() {
    Opened opened("/data/tinymodel/tiny-stories-f32.gguf");
    opened.with_model().with_tokenizer();
    const json oracle = read_json("/data/tinymodel/greedy-public.json");
    for (const json &p : oracle["prompts"]) {
        const std::string name = p["name"];
        const Ids prompt = p["prompt_tokens"], want = p["generated_tokens"];
        const Ids got = greedy(opened, prompt, want.size());
        CHECK(got == want, "%s: %s, not %s", name.c_str(), show(got).c_str(), show(want).c_str());
        CHECK(tokenize(opened.tokenizer, p["prompt"], GGUFX_TOKENIZE_ADD_SPECIAL) == prompt,
              "%s: prompt tokens", name.c_str());
    }
}

// One set of weights in three containers: bits must be equal.
void test_split_and_big_endian_files_equal_their_original() {
    const Ids prompt = {1, 403, 407, 261, 378};
    std::vector<float> want, got;
    const auto run = [&](const char *path, std::vector<float> *logits) {
        Opened opened(std::string("/data/stories260K/") + path);
        opened.with_model();
        return greedy(opened, prompt, 24, logits);
    };
    const Ids ids = run("stories260K-f16.gguf", &want);
    for (const char *path :
         {"stories260K-f16-bigendian.gguf", "split/stories260K-f16-00001-of-00003.gguf",
          "split/stories260K-f16-00003-of-00003.gguf"}) {
        CHECK(run(path, &got) == ids, "%s: greedy ids", path);
        CHECK(memcmp(got.data(), want.data(), want.size() * sizeof(float)) == 0, "%s: bits", path);
    }
}

// What opens but is no usable model: model_create and tokenizer_create together must say so, with
// the class that is written down for the case.
void test_hostile_models() {
    const json cases = read_json("/data/malformed/expected.json")["cases"];
    size_t n = 0;
    for (const json &c : cases) {
        const std::string name = c["name"], expect = c["expect"];
        if (expect.rfind("open_ok_model_", 0) != 0) continue;
        const std::string path = g_root + "/data/malformed/" + c["file"].get<std::string>();
        if (!std::ifstream(path)) continue; // not in this copy of the data
        n++;
        ggufx_error error;
        ggufx_file *file = nullptr;
        ggufx_model *model = nullptr;
        ggufx_tokenizer *tokenizer = nullptr;
        const std::string codes = "|" + c["code"].get<std::string>() + "|";
        const auto listed = [&](ggufx_status status) {
            return codes.find(std::string("|") + ggufx_status_name(status) + "|") !=
                   std::string::npos;
        };
        const bool either = expect == "open_ok_model_either";
        const ggufx_status opened = ggufx_open(&file, g_runtime, path.c_str(), nullptr, &error);
        if (opened != GGUFX_OK) {
            CHECK(either && listed(opened), "%s: open: %s: %s", name.c_str(),
                  ggufx_status_name(opened), error.message);
            continue;
        }
        ggufx_error vocab_error;
        const ggufx_status vocab = ggufx_tokenizer_create(&tokenizer, file, &vocab_error);
        const ggufx_status bound = ggufx_model_create(&model, g_runtime, file, nullptr, &error);
        // These files are fragments: the fault of the case is the tokenizer's if it is one of the
        // vocabulary, else the model's.
        const bool of_vocab = codes.find("|VOCAB|") != std::string::npos;
        const ggufx_status got = of_vocab ? vocab : bound;
        CHECK(listed(got) || (either && got == GGUFX_OK), "%s: %s: %s", name.c_str(),
              ggufx_status_name(got), of_vocab ? vocab_error.message : error.message);
        if (!of_vocab && codes.find("|SPLIT|") == std::string::npos) {
            CHECK(vocab == GGUFX_OK, "%s: tokenizer: %s", name.c_str(), vocab_error.message);
        }
        ggufx_tokenizer_destroy(tokenizer);
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
    }
    CHECK(n >= 15, "only %zu hostile models", n);
}

// Well-formed models and vocabularies of other kinds: refused by name.
void test_unsupported_files() {
    const struct {
        const char *file, *model, *tokenizer;
    } cases[] = {
        {"tiny/tiny-qwen2-f16.gguf", "qwen2", "gpt2"},
        {"tiny/tiny-qwen3-f16.gguf", "qwen3", "gpt2"},
        {"tiny/tiny-mixtral-f16.gguf", "mixture of experts", nullptr},
        {"tiny/tiny-gemma2-f16.gguf", "gemma2", nullptr},
        {"tiny/tiny-gemma3-f16.gguf", "gemma3", nullptr},
        {"tiny/tiny-phi3-f16.gguf", "phi3", nullptr},
        {"tiny/tiny-llama3-f16.gguf", nullptr, "gpt2"},
        {"vocab/ggml-vocab-bert-bge.gguf", "bert", "bert"},
    };
    for (const auto &c : cases) {
        Opened opened(std::string("/data/") + c.file);
        ggufx_error error;
        ggufx_status status =
            ggufx_model_create(&opened.model, g_runtime, opened.file, nullptr, &error);
        if (c.model) {
            CHECK(status == GGUFX_E_UNSUPPORTED && strstr(error.message, c.model), "%s: %s: %s",
                  c.file, ggufx_status_name(status), error.message);
        } else {
            CHECK(status == GGUFX_OK, "%s: %s", c.file, error.message);
        }
        if (!c.tokenizer) continue;
        status = ggufx_tokenizer_create(&opened.tokenizer, opened.file, &error);
        CHECK(status == GGUFX_E_UNSUPPORTED && strstr(error.message, c.tokenizer), "%s: %s: %s",
              c.file, ggufx_status_name(status), error.message);
    }
}

struct Expected {
    const char *file, *text;
    double perplexity, tolerance;
};

void test_perplexity(const Expected &e) {
    Opened opened(std::string("/data/") + e.file);
    opened.with_model().with_tokenizer();
    const Ids ids = tokenize(opened.tokenizer, read_bytes(std::string("/data/") + e.text),
                             GGUFX_TOKENIZE_ADD_SPECIAL);
    ggufx_session *session = new_session(opened.model);
    ggufx_perplexity_facts facts;
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
    std::vector<double> running;
    const auto report = [](void *user, const ggufx_perplexity_facts *f) {
        static_cast<std::vector<double> *>(user)->push_back(f->perplexity);
        return int32_t{0};
    };
    ggufx_error error;
    must(
        ggufx_perplexity(&facts, session, ids.data(), ids.size(), 512, 1, report, &running, &error),
        error, "perplexity");
    printf("%s: perplexity %.4f +- %.4f, %llu chunks\n", e.file, facts.perplexity,
           facts.standard_error, static_cast<unsigned long long>(facts.n_chunks));
    CHECK(fabs(facts.perplexity - e.perplexity) <= e.tolerance, "%s: perplexity %.5f", e.file,
          facts.perplexity);
    CHECK(running.size() == facts.n_chunks, "%zu reports", running.size());
    if (strstr(e.file, "stories260K-f32")) {
        std::ifstream stored(g_root + "/data/stories260K/ppl-running-f32-public.txt");
        const std::string text{std::istreambuf_iterator<char>(stored), {}};
        size_t n = 0; // "[1]3.3982,[2]3.7504,..."
        for (size_t at = 0; (at = text.find(']', at)) != std::string::npos; n++) {
            const double want = strtod(text.c_str() + ++at, nullptr);
            CHECK(n < running.size() && fabs(running[n] - want) <= 5e-4, "chunk %zu: %.5f", n,
                  n < running.size() ? running[n] : 0.0);
        }
        CHECK(n == running.size(), "%zu stored values", n);
    }
    ggufx_session_destroy(session);
}

} // namespace

int main() {
    const char *root = getenv("GGUFX_TEST_DATA");
    g_root = root ? root : "../shared";
    if (!std::ifstream(g_root + "/data/stories260K/stories260K-f32.gguf")) {
        printf("skipped: no test data in %s\n", g_root.c_str());
        return 77;
    }
    ggufx_error error;
    must(ggufx_runtime_create(&g_runtime, nullptr, &error), error, "runtime");
    test_tokenizer_cases("/data/vocab/ggml-vocab-llama-spm.gguf", "llama-spm.json");
    test_tokenizer_cases("/data/vocab/ggml-vocab-phi-3.gguf", "phi-3.json");
    test_tokenizer_cases("/data/stories260K/stories260K-f32.gguf", "tok512-spm.json");
    test_vocab_pairs("llama-spm");
    test_vocab_pairs("phi-3");
    test_tokenizer_on_a_long_text();
    test_stories("stories260K-f32.gguf");
    Opened tiny("/data/tiny/tiny-llama3-f16.gguf");
    tiny.with_model();
    test_model_case(tiny, "/data/tiny/oracle-public/llama3/", "seq_a");
    test_model_case(tiny, "/data/tiny/oracle-public/llama3/", "single");
    test_tiny_stories_greedy_ids();
    test_split_and_big_endian_files_equal_their_original();
    test_hostile_models();
    test_unsupported_files();
    test_perplexity(
        {"stories260K/stories260K-f32.gguf", "corpus/tinystories-valid-public.txt", 3.8928, 5e-4});
    test_perplexity({"tinymodel/tiny-stories-f32.gguf", "tinymodel/valid.txt", 1.4545, 5e-4});
    ggufx_runtime_destroy(g_runtime);
    printf("%d checks, %d failed\n", g_checks, g_failed);
    return g_failed ? 1 : 0;
}
