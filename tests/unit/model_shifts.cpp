// Tokens removed from the middle of a sequence, the later ones shifted, in caches of several types.
// A model of one layer has the logits of a fresh run, because its keys and values depend on no
// other token. Models of more layers have finite logits near those of an F32 cache. Recurrent
// models refuse with a message and change nothing.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "rewrite.hpp"
#include "tiny_files.hpp"

extern "C" {
#include "test_step.h"
}

#include <math.h>
#include <stdio.h>

#include <algorithm>

namespace {

constexpr size_t kTokens = 140, kFirst = 4, kRemoved = 70, kMore = 3;
constexpr uint32_t kContext = 256;

enum class Edit { none, remove, shift };

struct CacheType {
    uint32_t type;
    const char *name;
    // Largest relative distances of logits: from a fresh run, with one layer, and from an F32
    // cache, with all layers. Two to three times the largest measured: 6.5e-7, 5.5e-4, 0.017,
    // 0.155; 0, 0.0037, 0.06, 0.61. Keys without RoPE for their new positions are 0.007 to 0.27
    // away.
    double of_fresh, of_f32;
};
constexpr CacheType kTypes[] = {{GGUFX_TYPE_F32, "F32", 2e-6, 0},
                                {GGUFX_TYPE_F16, "F16", 0.0017, 0.008},
                                {GGUFX_TYPE_Q8_0, "Q8_0", 0.05, 0.12},
                                {GGUFX_TYPE_Q4_0, "Q4_0", 0.3, 1.2}};

// Models whose first layer alone is a valid model.
constexpr const char *kOneLayer[] = {"gemma",      "glm4",   "granite", "llama-linear",
                                     "llama-yarn", "llama3", "mixtral", "olmo2",
                                     "phi3",       "qwen2",  "qwen3",   "starcoder2"};

double relative_distance(const std::vector<float> &got, const std::vector<float> &want) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < want.size(); i++) {
        difference += (double{got[i]} - want[i]) * (double{got[i]} - want[i]);
        norm += double{want[i]} * want[i];
    }
    return sqrt(difference / norm);
}

Mode mode_of(uint32_t type) {
    return {.type_k = type, .type_v = type, .n_context = kContext};
}

// Returns the logits of the last three tokens, after an edit of the 140 before them. Empty if the
// edit is refused, with the error.
std::vector<float> edited(const ggufx_model *model, uint32_t type, Edit edit, const Ids &ids,
                          ggufx_error *error) {
    Session session(model, mode_of(type));
    session.decode(ids.data(), kTokens);
    if (edit != Edit::none &&
        ggufx_session_remove(session.handle(), 0, kFirst, kRemoved, error) != GGUFX_OK)
        return {};
    if (edit == Edit::shift &&
        ggufx_session_shift(session.handle(), 0, kFirst, kTokens - kRemoved - kFirst,
                            -static_cast<int32_t>(kRemoved), error) != GGUFX_OK)
        return {};
    return session.decode(ids.data() + kTokens, kMore);
}

void test_one_layer(const TinyFile &tiny) {
    const Opened opened(tiny.path);
    Rewrite copy(opened.file);
    for (const MetaKey &key : keys_of(opened.file))
        if (key.name == tiny.architecture + ".block_count") copy.set(key, uint64_t{1});
    const std::vector<TensorShape> tensors = tensors_of(opened.file);
    for (size_t i = 0; i < tensors.size(); i++)
        if (!tensors[i].name.starts_with("blk.") || tensors[i].name.starts_with("blk.0."))
            copy.add_tensor(i, tensors[i].name);
    const std::string bytes = copy.bytes();
    ggufx_file *const file = open_bytes(bytes);
    ggufx_model *model = nullptr;
    ggufx_error error;
    must(ggufx_model_create(&model, g_runtime, file, nullptr, &error), error, tiny.name.c_str());

    const Ids ids = random_ids(kTokens + kMore, vocabulary_of(model), 7);
    Ids kept(ids.begin(), ids.begin() + kFirst);
    kept.insert(kept.end(), ids.begin() + kFirst + kRemoved, ids.end());
    const std::vector<float> whole = Session(model, mode_of(GGUFX_TYPE_F32)).decode(kept);
    const size_t n = kMore * vocabulary_of(model);
    const std::vector<float> want(whole.end() - static_cast<ptrdiff_t>(n), whole.end());
    const std::vector<float> untouched = edited(model, GGUFX_TYPE_F32, Edit::none, ids, &error);
    CHECK(relative_distance(untouched, want) > 0.01, "%s: what is removed changes nothing",
          tiny.name.c_str());
    for (const CacheType &type : kTypes) {
        const std::vector<float> got = edited(model, type.type, Edit::shift, ids, &error);
        CHECK(got.size() == want.size(), "%s, %s: %s", tiny.name.c_str(), type.name, error.message);
        if (got.size() != want.size()) continue;
        const double far = relative_distance(got, want);
        CHECK(far <= type.of_fresh, "%s, %s: %g from a fresh run", tiny.name.c_str(), type.name,
              far);
    }
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
}

void test_refusal(const TinyFile &tiny, const ggufx_model *model, const CacheType &type,
                  const Ids &ids) {
    Session session(model, mode_of(type.type)), other(model, mode_of(type.type));
    session.decode(ids.data(), kTokens);
    other.decode(ids.data(), kTokens);
    ggufx_error error = {};
    const ggufx_status status = ggufx_session_remove(session.handle(), 0, kFirst, kRemoved, &error);
    const std::string text = "cannot remove tokens before others of a " + tiny.architecture +
                             " model: its recurrent layers remember all of them as one state";
    CHECK(status == GGUFX_E_UNSUPPORTED && text == error.message, "%s, %s: %d, %s",
          tiny.name.c_str(), type.name, status, error.message);
    CHECK(session.decode(ids.data() + kTokens, kMore) == other.decode(ids.data() + kTokens, kMore),
          "%s, %s: a refused removal changed the sequence", tiny.name.c_str(), type.name);
}

// A model with recurrent states, whose sequences cannot be edited.
constexpr const char *kRefused = "mamba2";

struct Counts {
    size_t n_edited = 0, n_refused = 0;
};

void test_all_layers(const TinyFile &tiny, Counts *counts) {
    Opened opened(tiny.path);
    opened.with_model();
    const Ids ids = random_ids(kTokens + kMore, vocabulary_of(opened.model), 7);
    for (const Edit edit : {Edit::none, Edit::remove, Edit::shift}) {
        ggufx_error error = {};
        const std::vector<float> want = edited(opened.model, GGUFX_TYPE_F32, edit, ids, &error);
        for (const CacheType &type : kTypes) {
            if (want.empty()) {
                test_refusal(tiny, opened.model, type, ids);
                counts->n_refused++;
                continue;
            }
            const std::vector<float> got = edited(opened.model, type.type, edit, ids, &error);
            CHECK(got.size() == want.size(), "%s, %s: %s", tiny.name.c_str(), type.name,
                  error.message);
            if (got.size() != want.size()) continue;
            const double far = relative_distance(got, want); // a NaN is not below any limit
            CHECK(far <= type.of_f32, "%s, %s, edit %d: %g from the F32 cache", tiny.name.c_str(),
                  type.name, static_cast<int>(edit), far);
            counts->n_edited++;
        }
    }
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    size_t n_layers = 0;
    uint64_t done = 0;
    Counts counts;
    for (const TinyFile &tiny : tiny_files()) {
        const auto is_it = [&](const char *name) { return tiny.name == name; };
        if (std::any_of(std::begin(kOneLayer), std::end(kOneLayer), is_it)) {
            n_layers++;
            test_one_layer(tiny);
        }
        const bool is_refused = tiny.name == kRefused; // part of every selection
        if (done++ % test_step_sanitized() == 0 || is_refused) test_all_layers(tiny, &counts);
    }
    CHECK(n_layers == std::size(kOneLayer), "%zu of the models were found", n_layers);
    printf("%zu sequences edited, %zu refused\n", counts.n_edited, counts.n_refused);
    CHECK(counts.n_edited * test_step_sanitized() > 200 && counts.n_refused > 0,
          "too little was done");
    return end();
}
