// Prompts that a group processes in slices of rows, so that one slice is computed while the columns
// of another are exchanged. Results are bit-identical to those of one process, for any slice
// boundaries, several sequences, recomputed tokens and hidden states. Pipeline-parallel ranks use
// more slices. Ranks are threads here.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "rank.hpp"
#include "tiny_files.hpp"

extern "C" {
#include "temporary.h"
#include "test_step.h"
}

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace {

constexpr uint32_t kMostRanks = 4, kContext = 400;

struct Way {
    const char *name;
    uint32_t flags, type_k, type_v, n_batch;
};
constexpr Way kWays[] = {
    {"8 bit", 0, GGUFX_TYPE_F16, GGUFX_TYPE_F16, 0},
    {"15 bit", GGUFX_MATMUL_INT16, GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q5_1, 300},
    {"f32", GGUFX_MATMUL_F32, GGUFX_TYPE_F32, GGUFX_TYPE_F32, 139},
    {"8 bit by rows", GGUFX_MATMUL_BATCH_INVARIANT, GGUFX_TYPE_Q4_0, GGUFX_TYPE_IQ4_NL, 150},
    {"15 bit in tiles", GGUFX_MATMUL_INT16 | GGUFX_MATMUL_TILED, GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0,
     0},
};

using Floats = std::vector<float>;

bool same(const Floats &a, const Floats &b) {
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Calls on a session of four sequences, and all their results.
class Calls {
public:
    Calls(const ggufx_model *model, const Way &way, const Ids &ids) : ids_(ids) {
        ggufx_session_options options = {};
        options.struct_size = sizeof options;
        options.n_context = kContext;
        options.n_sequences = 4;
        options.n_batch = way.n_batch;
        options.matmul_flags = way.flags;
        options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
        options.type_k = way.type_k;
        options.type_v = way.type_v;
        must(ggufx_session_create(&session_, model, &options, &error_), error_, "session");
        ggufx_model_facts facts = {};
        facts.struct_size = sizeof facts;
        must(ggufx_model_info(&facts, model, &error_), error_, "model");
        n_vocab_ = facts.n_vocab;
        n_embd_ = facts.n_embedding;
        embeddings_.resize(130 * n_embd_);
        for (size_t i = 0; i < embeddings_.size(); i++)
            embeddings_[i] = static_cast<float>(ids_[i % ids_.size()] % 31) / 16 - 1;
    }
    Calls(const Calls &) = delete;
    ~Calls() { ggufx_session_destroy(session_); }

    struct Item {
        uint32_t sequence;
        size_t n;
        uint32_t flags;
        bool is_embedded = false;
    };
    void decode(std::initializer_list<Item> list) {
        std::vector<ggufx_decode_item> items;
        size_t n_logits = 0, n_hidden = 0;
        for (const Item &one : list) {
            ggufx_decode_item item = {};
            item.struct_size = sizeof item;
            item.sequence = one.sequence;
            item.flags = one.flags;
            item.n_tokens = one.n;
            if (one.is_embedded) {
                item.input_rows = embeddings_.data();
                item.n_input_rows = one.n * n_embd_;
            } else {
                item.tokens = ids_.data() + one.sequence * 5;
            }
            items.push_back(item);
            n_logits +=
                one.flags & GGUFX_DECODE_ALL_LOGITS ? one.n : one.flags & GGUFX_DECODE_LOGITS;
            n_hidden +=
                one.flags & GGUFX_DECODE_ALL_HIDDEN ? one.n : one.flags / GGUFX_DECODE_HIDDEN;
        }
        Floats logits(n_logits * n_vocab_), hidden(n_hidden * n_embd_);
        ggufx_decode_options how = {};
        how.struct_size = sizeof how;
        how.logits = logits.empty() ? nullptr : logits.data();
        how.n_logits = logits.size();
        how.hidden = hidden.empty() ? nullptr : hidden.data();
        how.n_hidden = hidden.size();
        must(ggufx_session_decode(session_, items.data(), items.size(), &how, &error_), error_,
             "batch");
        out_.insert(out_.end(), logits.begin(), logits.end());
        out_.insert(out_.end(), hidden.begin(), hidden.end());
    }
    void truncate(uint32_t sequence, uint64_t n) {
        must(ggufx_session_truncate(session_, sequence, n, &error_), error_, "truncate");
    }
    void copy(uint32_t from, uint32_t to, uint64_t n) {
        must(ggufx_session_copy(session_, from, to, n, &error_), error_, "copy");
    }
    const Floats &results() const { return out_; }

private:
    const Ids &ids_;
    ggufx_session *session_ = nullptr;
    ggufx_error error_ = {};
    size_t n_vocab_ = 0, n_embd_ = 0;
    Floats embeddings_, out_;
};

// Prompts of 128 tokens and more, and shorter ones: one sequence, sequences that cross slice
// boundaries, requested rows in one slice or in all.
Floats run_calls(const ggufx_model *model, const Way &way, const Ids &ids) {
    constexpr uint32_t kLast = GGUFX_DECODE_LOGITS, kAll = GGUFX_DECODE_ALL_LOGITS,
                       kHidden = GGUFX_DECODE_HIDDEN, kAllHidden = GGUFX_DECODE_ALL_HIDDEN;
    Calls calls(model, way, ids);
    calls.decode({{0, 300, kLast}});
    calls.decode({{0, 1, kLast}});
    calls.decode({{1, 131, kAll}});
    calls.decode({{1, 67, kHidden}, {2, 3, kLast}, {3, 141, kLast | kHidden}, {0, 1, kLast}});
    calls.decode({{2, 195, 0}});
    calls.decode({{0, 1, kLast}, {1, 1, kLast}, {2, 1, kLast}, {3, 173, kAllHidden}});
    calls.truncate(0, 211); // the next call first recomputes tokens dropped from the caches
    calls.decode({{0, 77, kLast}, {3, 66, kAll}});
    calls.truncate(1, 3);
    calls.truncate(3, 0);
    calls.copy(0, 3, 131);
    calls.decode({{3, 2, kLast}, {2, 95, kLast}, {1, 60, kHidden}});
    calls.decode({{1, 130, kLast, true}});
    calls.decode({{1, 2, kLast}});
    return calls.results();
}

Floats perplexity_of(const ggufx_model *model, const Way &way, const Ids &ids) {
    Session session(model, {way.flags, GGUFX_TYPE_F16, GGUFX_TYPE_F16, 160, 0});
    ggufx_eval_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_eval_perplexity(&facts, session.handle(), ids.data(), 320, 160, -1, nullptr, &error),
         error, "perplexity");
    return {static_cast<float>(facts.perplexity), static_cast<float>(facts.standard_error)};
}

struct Case {
    const Way &way;
    Floats calls, perplexity; // from one process
};

void check_ranks(const std::string &name, const std::string &path, uint32_t n_ranks, uint32_t flags,
                 const std::vector<Case> &cases, const Ids &ids) {
    ThreadGroup group(n_ranks, 70 + n_ranks);
    std::atomic<int> n_wrong{0};
    std::atomic<size_t> n_compared{0};
    std::mutex mutex;
    std::string first;
    group.run([&](uint32_t rank) {
        const Rank part(path, {&group, rank, nullptr, 20000, nullptr, flags});
        const auto compare = [&](const Floats &got, const Floats &want, const char *what) {
            n_compared++;
            if (same(got, want)) return;
            const std::lock_guard<std::mutex> lock(mutex);
            if (n_wrong++ == 0) first = what;
        };
        for (const Case &c : cases) {
            compare(run_calls(part.model(), c.way, ids), c.calls, c.way.name);
            compare(perplexity_of(part.model(), c.way, ids), c.perplexity, "perplexity");
        }
    });
    CHECK(n_wrong == 0 && n_compared == n_ranks * cases.size() * 2,
          "%s, %u ranks of %s: %d of %zu differ, first %s", name.c_str(), n_ranks,
          flags ? "layers" : "rows", n_wrong.load(), n_compared.load(), first.c_str());
}

// ways: all modes, or every third one.
void check_file(const std::string &name, const std::string &path, size_t number, bool all_ways) {
    const Rank alone(path);
    const Ids ids = random_ids(kContext, vocabulary_of(alone.model()), 9);
    std::vector<Case> cases;
    for (size_t w = 0; w < std::size(kWays); w++)
        if (all_ways || (w + number) % 3 == 0)
            cases.push_back({kWays[w], run_calls(alone.model(), kWays[w], ids),
                             perplexity_of(alone.model(), kWays[w], ids)});
    for (uint32_t n = 2; n <= kMostRanks; n++) check_ranks(name, path, n, 0, cases, ids);
    check_ranks(name, path, all_ways ? 3 : 2, GGUFX_GROUP_PIPELINE, cases, ids);
}

// Returns the number of messages of two ranks for the logits of n tokens, without the one that
// starts a call.
uint64_t messages_of(const std::string &path, uint32_t flags, size_t n, uint32_t group_flags = 0) {
    ThreadGroup group(2);
    std::atomic<uint64_t> n_calls{0};
    group.run([&](uint32_t rank) {
        RankOptions options = {&group, rank, nullptr, 20000, nullptr, flags};
        options.group_flags = group_flags;
        const Rank part(path, options);
        const Ids ids = random_ids(kContext, vocabulary_of(part.model()), 9);
        Session session(part.model(), {0, GGUFX_TYPE_F16, GGUFX_TYPE_F16, kContext, 300});
        const uint64_t before = group.n_calls(rank);
        (void)session.decode(ids.data(), n);
        if (rank == 0) n_calls = group.n_calls(rank) - before - 1;
    });
    return n_calls;
}

// A sliced batch sends all messages for each slice, and one more at the end.
void check_number_of_slices(const std::string &path, uint32_t flags, size_t least,
                            uint64_t n_slices) {
    const uint64_t one = messages_of(path, flags, 1);
    CHECK(messages_of(path, flags, least - 1) == one, "%zu rows are cut", least - 1);
    CHECK(messages_of(path, flags, least) == 2 * one + 1, "%zu rows are not cut", least);
    const uint64_t n = messages_of(path, flags, 300);
    CHECK(one > 1 && n == n_slices * one + 1, "%s: %llu messages, %llu of one token", path.c_str(),
          static_cast<unsigned long long>(n), static_cast<unsigned long long>(one));
    const uint64_t there = messages_of(path, flags, 300, GGUFX_GROUP_SHARED_MEMORY);
    CHECK(n_slices == 2 ? there < 2 * one : there == n, "%s: %llu messages on one machine",
          path.c_str(), static_cast<unsigned long long>(there));
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    size_t number = 0;
    for (const TinyFile &file : tiny_files()) {
        if (number++ % test_step() != 0) continue;
        const std::string path = quantized(file.path, file.name);
        if (file.name == "llama3") {
            check_number_of_slices(path, 0, 128, 2);
            check_number_of_slices(path, GGUFX_GROUP_PIPELINE, 64, 8);
        }
        const char *const whole[] = {"llama3",  "mixtral", "gemma3",
                                     "gpt-oss", "qwen35",  "deepseek2-v3"};
        check_file(file.name, path, number,
                   test_step() == 1 && std::count(std::begin(whole), std::end(whole), file.name));
        remove(path.c_str());
    }
    return end();
}
