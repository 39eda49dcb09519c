// Logits, greedy ids and perplexities against stored answers of other implementations, through the
// public headers. Reads ${GGUFX_TEST_DATA}/data; exits with 77 if it is absent.
// SPDX-License-Identifier: MIT
#include "oracle.hpp"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fstream>

namespace {

// A correct F32 run differs from the stored logits by rounding alone (data/README.md of the shared
// vectors).
constexpr double kAbsolute = 1e-3, kRelative = 1e-4;

int32_t argmax(const float *logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return static_cast<int32_t>(best);
}

// Decodes the prompt with all logits, then greedily token by token; compares with the stored rows
// and ids.
void test_model_case(const Opened &opened, const std::string &folder, const std::string &name) {
    const Json c = read_json(folder + name + ".json");
    const Ids prompt = numbers_of(c.at("prompt_tokens")),
              want = numbers_of(c.at("generated_tokens"));
    const size_t n_vocab = c.at("n_vocab").natural(), n_rows = c.at("logits_rows").natural();
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
    ggufx_error error;
    must(decode_all(session, prompt.data(), prompt.size(), logits.data(), logits.size(), &error),
         error, "decode");
    Ids got;
    while (got.size() < want.size()) {
        got.push_back(argmax(logits.data() + logits.size() - n_vocab, n_vocab));
        if (got.size() == want.size() && logits.size() == n_rows * n_vocab) break;
        logits.resize(logits.size() + n_vocab);
        float *const last = logits.data() + logits.size() - n_vocab;
        must(decode_ids(session, &got.back(), 1, last, n_vocab, &error), error, "decode");
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
        const Json c = read_json(std::string("/data/stories260K/oracle-public/") + name + ".json");
        if (strcmp(name, "bos_only") == 0) continue; // its prompt is a single token
        CHECK(tokenize(opened.tokenizer, from_hex(text_at(c, "prompt_hex")),
                       GGUFX_TOKENIZE_ADD_SPECIAL) == numbers_of(c.at("prompt_tokens")),
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
    Ids out;
    const auto decode = [&](const Ids &ids) {
        must(decode_ids(session, ids.data(), ids.size(), logits.data(), logits.size(), &error),
             error, "decode");
        out.push_back(argmax(logits.data(), logits.size()));
    };
    for (decode(prompt); out.size() < n;) decode({out.back()});
    if (last) *last = logits;
    ggufx_session_destroy(session);
    return out;
}

void test_tiny_stories_greedy_ids() {
    Opened opened("/data/tinymodel/tiny-stories-f32.gguf");
    opened.with_model().with_tokenizer();
    const Json oracle = read_json("/data/tinymodel/greedy-public.json");
    for (const Json &p : oracle.at("prompts").elements()) {
        const std::string name = text_at(p, "name");
        const Ids prompt = numbers_of(p.at("prompt_tokens"));
        const Ids want = numbers_of(p.at("generated_tokens"));
        const Ids got = greedy(opened, prompt, want.size());
        CHECK(got == want, "%s: %s, not %s", name.c_str(), show(got).c_str(), show(want).c_str());
        CHECK(tokenize(opened.tokenizer, text_at(p, "prompt"), GGUFX_TOKENIZE_ADD_SPECIAL) ==
                  prompt,
              "%s: prompt tokens", name.c_str());
    }
}

// The same weights in three containers: bits must be equal.
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
    ggufx_eval_facts facts = {};
    facts.struct_size = sizeof facts;
    std::vector<double> running;
    ggufx_eval_options options = {};
    options.struct_size = sizeof options;
    options.report_user = &running;
    options.report = [](void *user, const ggufx_eval_facts *f) {
        static_cast<std::vector<double> *>(user)->push_back(f->perplexity);
        return int32_t{0};
    };
    ggufx_error error;
    must(ggufx_eval_perplexity(&facts, session, ids.data(), ids.size(), 512, 1, &options, &error),
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
    if (!begin_stored()) return 77;
    test_stories("stories260K-f32.gguf");
    Opened tiny("/data/tiny/tiny-llama3-f16.gguf");
    tiny.with_model();
    test_model_case(tiny, "/data/tiny/oracle-public/llama3/", "seq_a");
    test_model_case(tiny, "/data/tiny/oracle-public/llama3/", "single");
    test_tiny_stories_greedy_ids();
    test_split_and_big_endian_files_equal_their_original();
    test_perplexity(
        {"stories260K/stories260K-f32.gguf", "corpus/tinystories-valid-public.txt", 3.8928, 5e-4});
    test_perplexity({"tinymodel/tiny-stories-f32.gguf", "tinymodel/valid.txt", 1.4545, 5e-4});
    return end();
}
