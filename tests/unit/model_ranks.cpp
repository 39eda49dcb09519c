// One model on several ranks. Logits are bit-identical to those of one process, for any number of
// ranks, mode, cache types and number of tokens. Several sequences; a failure of one rank fails all
// ranks. Ranks are threads here.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "rank.hpp"
#include "tiny_files.hpp"

extern "C" {
#include "test_step.h"
}

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>

namespace {

constexpr uint32_t kMostRanks = 4, kContext = 160;
constexpr size_t kTokens = 64 + 7 + 2; // calls of 64, 7, 1 and 1

struct Way {
    const char *name;
    uint32_t flags;
};
constexpr Way kWays[] = {
    {"8 bit", 0},
    {"15 bit", GGUFX_MATMUL_INT16},
    {"f32", GGUFX_MATMUL_F32},
    {"8 bit by rows", GGUFX_MATMUL_BATCH_INVARIANT},
    {"15 bit in tiles", GGUFX_MATMUL_INT16 | GGUFX_MATMUL_TILED},
};
constexpr uint32_t kSpeeds[kMostRanks + 1] = {3, 7, 2, 5, 4};

struct Types {
    uint32_t k, v;
};
constexpr Types kTypes[] = {
    {GGUFX_TYPE_F16, GGUFX_TYPE_F16},   {GGUFX_TYPE_F32, GGUFX_TYPE_F32},
    {GGUFX_TYPE_BF16, GGUFX_TYPE_Q8_0}, {GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q5_1},
    {GGUFX_TYPE_Q5_0, GGUFX_TYPE_Q4_1}, {GGUFX_TYPE_Q4_0, GGUFX_TYPE_IQ4_NL},
    {GGUFX_TYPE_TQ3_0, GGUFX_TYPE_GX4}, {GGUFX_TYPE_GX3, GGUFX_TYPE_GX2},
    {GGUFX_TYPE_GX4, GGUFX_TYPE_F16},
};

using Floats = std::vector<float>;

bool same(const Floats &a, const Floats &b) {
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Returns whether the cache types support the model's head sizes.
bool takes(const ggufx_model *model, const Types &types) {
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = kContext;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = types.k;
    options.type_v = types.v;
    ggufx_session *session = nullptr;
    (void)ggufx_session_create(&session, model, &options, nullptr);
    ggufx_session_destroy(session);
    return session != nullptr;
}

// Returns all logits of 64 tokens, of 7, of 1 and 1.
Floats decode(const ggufx_model *model, const Way &way, const Types &types, const Ids &ids) {
    Session session(model, {way.flags, types.k, types.v, kContext, 0});
    Floats out;
    size_t at = 0;
    for (const size_t n : {size_t{64}, size_t{7}, size_t{1}, size_t{1}}) {
        const Floats some = session.decode(ids.data() + at, n);
        out.insert(out.end(), some.begin(), some.end());
        at += n;
    }
    return out;
}

// Three sequences in a batch, appended to, truncated, copied.
Floats decode_batches(const ggufx_model *model, uint32_t type, const Ids &ids) {
    ggufx_error error;
    ggufx_session *session = nullptr;
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = kContext;
    options.n_sequences = 4;
    options.n_batch = 24;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = options.type_v = type;
    options.matmul_flags = GGUFX_MATMUL_BATCH_INVARIANT;
    must(ggufx_session_create(&session, model, &options, &error), error, "session");
    const size_t n_vocab = vocabulary_of(model);
    Floats out;
    const auto call = [&](std::initializer_list<std::pair<uint32_t, size_t>> list) {
        std::vector<ggufx_decode_item> items;
        for (const auto &[sequence, n] : list) {
            ggufx_decode_item item = {};
            item.struct_size = sizeof item;
            item.sequence = sequence;
            item.flags = GGUFX_DECODE_LOGITS;
            item.tokens = ids.data() + sequence;
            item.n_tokens = n;
            items.push_back(item);
        }
        Floats logits(items.size() * n_vocab);
        ggufx_decode_options how = {};
        how.struct_size = sizeof how;
        how.logits = logits.data();
        how.n_logits = logits.size();
        must(ggufx_session_decode(session, items.data(), items.size(), &how, &error), error,
             "batch");
        out.insert(out.end(), logits.begin(), logits.end());
    };
    call({{0, 50}, {1, 3}});
    call({{0, 1}, {1, 1}, {2, 30}});
    must(ggufx_session_truncate(session, 0, 20, &error), error, "truncate");
    must(ggufx_session_copy(session, 2, 3, 17, &error), error, "copy");
    call({{3, 2}, {0, 1}, {2, 1}, {1, 9}});
    ggufx_session_destroy(session);
    return out;
}

// Hidden states of tokens and of embeddings; removed tokens, shifted positions; a pool of pages.
Floats decode_edits(const ggufx_model *model, const Ids &ids) {
    ggufx_error error;
    ggufx_session *session = nullptr;
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = kContext;
    options.n_sequences = 2;
    options.n_context_total = 256;
    options.n_batch = 24;
    must(ggufx_session_create(&session, model, &options, &error), error, "session");
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    must(ggufx_model_info(&facts, model, &error), error, "model");
    Floats rows(5 * facts.n_embedding), out;
    for (size_t i = 0; i < rows.size(); i++)
        rows[i] = static_cast<float>(ids[i % ids.size()] % 31) / 16 - 1;
    const auto call = [&](size_t n, const float *embeddings) {
        ggufx_decode_item item = {};
        item.struct_size = sizeof item;
        item.flags = GGUFX_DECODE_ALL_HIDDEN | (embeddings ? 0 : GGUFX_DECODE_LOGITS);
        item.tokens = embeddings ? nullptr : ids.data();
        item.n_tokens = n;
        item.input_rows = embeddings;
        item.n_input_rows = embeddings ? n * facts.n_embedding : 0;
        Floats logits(embeddings ? 0 : facts.n_vocab), hidden(n * facts.n_embedding);
        ggufx_decode_options how = {};
        how.struct_size = sizeof how;
        how.logits = logits.empty() ? nullptr : logits.data();
        how.n_logits = logits.size();
        how.hidden = hidden.data();
        how.n_hidden = hidden.size();
        must(ggufx_session_decode(session, &item, 1, &how, &error), error, "batch");
        out.insert(out.end(), logits.begin(), logits.end());
        out.insert(out.end(), hidden.begin(), hidden.end());
    };
    call(30, nullptr);
    call(5, rows.data());
    // Some models refuse: recurrent layers, windows, learned positions.
    if (ggufx_session_remove(session, 0, 3, 7, &error) == GGUFX_OK) call(2, nullptr);
    if (ggufx_session_shift(session, 0, 3, 27, -7, &error) == GGUFX_OK) call(1, nullptr);
    ggufx_session_destroy(session);
    return out;
}

constexpr size_t kSaved = 41; // tokens of a snapshot

// A batch-invariant mode, because recomputed tokens are in other batches.
uint32_t flags_of(const Types &types) {
    return types.k == types.v ? GGUFX_MATMUL_BATCH_INVARIANT
                              : GGUFX_MATMUL_TILED | GGUFX_MATMUL_INT16;
}

std::string saved(const ggufx_model *model, const Types &types, const Ids &ids) {
    Session session(model, {flags_of(types), types.k, types.v, kContext, 0});
    (void)session.decode(ids.data(), kSaved - 3);
    (void)session.decode(ids.data() + kSaved - 3, 3);
    std::string out;
    ggufx_error error;
    const auto write = [](void *user, const void *data, size_t n) -> ggufx_status {
        static_cast<std::string *>(user)->append(static_cast<const char *>(data), n);
        return GGUFX_OK;
    };
    must(ggufx_session_save(session.handle(), 0, write, &out, &error), error, "save");
    return out;
}

// Returns the logits after a snapshot, or after its tokens if it is empty.
Floats go_on(const ggufx_model *model, const Types &types, const Ids &ids,
             const std::string &snapshot) {
    Session session(model, {flags_of(types), types.k, types.v, kContext, 0});
    struct Rest {
        const std::string &bytes;
        size_t at;
    } rest = {snapshot, 0};
    ggufx_error error;
    const auto read = [](void *user, void *data, size_t n) -> ggufx_status {
        Rest &from = *static_cast<Rest *>(user);
        if (n > from.bytes.size() - from.at) return GGUFX_E_TRUNCATED;
        memcpy(data, from.bytes.data() + from.at, n);
        from.at += n;
        return GGUFX_OK;
    };
    if (snapshot.empty()) {
        (void)session.decode(ids.data(), kSaved - 3);
        (void)session.decode(ids.data() + kSaved - 3, 3);
    } else {
        (void)session.decode(ids.data() + 9, 5); // replaced by the load
        must(ggufx_session_load(session.handle(), 0, read, &rest, &error), error, "load");
    }
    Floats out = session.decode(ids.data() + kSaved, 1);
    const Floats more = session.decode(ids.data() + kSaved + 1, kTokens - kSaved - 1);
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

double perplexity_of(const ggufx_model *model, const Ids &ids) {
    Session session(model, {0, GGUFX_TYPE_F16, GGUFX_TYPE_F16, 24, 0});
    ggufx_eval_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_eval_perplexity(&facts, session.handle(), ids.data(), ids.size(), 24, -1, nullptr,
                               &error),
         error, "perplexity");
    return facts.perplexity;
}

struct Case {
    const Way &way;
    const Types &types;
    Floats logits; // from one process
};

// Selects each type and mode once, or all combinations.
bool is_looked_at(size_t way, size_t types, size_t file) {
    if (test_step() == 1 && getenv("GGUFX_TEST_RANKS")) return true;
    return (types + file) % std::size(kWays) == way;
}

// Results of one process, and the snapshot of the previous group.
struct Wanted {
    const std::string &name, &path;
    const Ids ids;
    std::vector<Case> cases;
    Floats batches, edits, rest;
    double perplexity = 0;
    Types saved = {};
    std::string snapshot;
};

void check_group(const Rank &alone, Wanted &want, uint32_t n, const uint32_t *speeds,
                 uint32_t flags) {
    const char *const what = flags ? "with layers" : "with rows";
    ThreadGroup group(n, 40 + n);
    std::atomic<int> n_wrong{0};
    std::atomic<size_t> n_compared{0};
    std::mutex mutex;
    std::string first;
    std::vector<std::string> snapshots(n);
    group.run([&](uint32_t rank) {
        RankOptions options = {&group, rank, speeds};
        options.flags = flags;
        const Rank part(want.path, options);
        const auto compare = [&](const Floats &got, const Floats &wanted, const char *of) {
            n_compared++;
            if (same(got, wanted)) return;
            const std::lock_guard<std::mutex> lock(mutex);
            if (n_wrong++ == 0) first = of;
        };
        for (const Case &c : want.cases)
            compare(decode(part.model(), c.way, c.types, want.ids), c.logits, c.way.name);
        compare(decode_batches(part.model(), GGUFX_TYPE_Q8_0, want.ids), want.batches, "batches");
        compare(decode_edits(part.model(), want.ids), want.edits, "edits");
        const double loss = perplexity_of(part.model(), want.ids);
        if (memcmp(&loss, &want.perplexity, sizeof loss) != 0) n_wrong++;
        snapshots[rank] = saved(part.model(), want.saved, want.ids);
        const std::string &from = want.snapshot.empty() ? snapshots[rank] : want.snapshot;
        compare(go_on(part.model(), want.saved, want.ids, from), want.rest, "after a snapshot");
    });
    for (const std::string &one : snapshots) CHECK(one == snapshots[0], "other snapshots");
    want.snapshot = snapshots[0];
    CHECK(same(go_on(alone.model(), want.saved, want.ids, want.snapshot), want.rest),
          "%s: one process after a snapshot of %u ranks %s", want.name.c_str(), n, what);
    CHECK(n_wrong == 0, "%s, %u ranks %s: %d of %zu differ, first %s", want.name.c_str(), n, what,
          n_wrong.load(), n_compared.load(), first.c_str());
    CHECK(n_compared == n * (want.cases.size() + 3) && want.cases.size() > 2, "%s: compared %zu",
          want.name.c_str(), n_compared.load());
    CHECK(group.n_destroyed() == static_cast<int>(n), "%d of %u groups were destroyed",
          group.n_destroyed(), n);
}

void check_file(const std::string &name, const std::string &path, size_t number, bool everywhere) {
    const Rank alone(path);
    Wanted want = {
        name, path, random_ids(kTokens, vocabulary_of(alone.model()), 7), {}, {}, {}, {}, 0,
        {},   {}};
    const Ids &ids = want.ids;
    for (size_t t = 0; t < std::size(kTypes); t++)
        for (size_t w = 0; w < std::size(kWays) && takes(alone.model(), kTypes[t]); w++)
            if (is_looked_at(w, t, number))
                want.cases.push_back(
                    {kWays[w], kTypes[t], decode(alone.model(), kWays[w], kTypes[t], ids)});
    want.batches = decode_batches(alone.model(), GGUFX_TYPE_Q8_0, ids);
    want.edits = decode_edits(alone.model(), ids);
    want.perplexity = perplexity_of(alone.model(), ids);
    const size_t t = number % std::size(kTypes);
    want.saved = kTypes[takes(alone.model(), kTypes[t]) ? t : 0];
    want.rest = go_on(alone.model(), want.saved, ids, {});
    for (uint32_t n = everywhere ? 1 : 2; n <= kMostRanks; n++)
        check_group(alone, want, n, (number + n) % 3 == 0 ? kSpeeds : nullptr, 0);
    // More ranks than most models have layers.
    for (uint32_t n = everywhere ? 1 : 2; n <= kMostRanks + 1; n++)
        check_group(alone, want, n, (number + n) % 3 == 1 ? kSpeeds : nullptr,
                    GGUFX_GROUP_PIPELINE);
}

} // namespace

// argv[1]: a model of 38 tensors with heads of 64 values, independent of other data.
int main(int argc, char **argv) {
    if (!begin_models()) return 77;
    size_t number = 0;
    if (argc > 1) check_file("demo", argv[1], number, true);
    for (const TinyFile &file : tiny_files()) {
        if (number++ % test_step() != 0) continue;
        const std::string path = quantized(file.path, file.name);
        check_file(file.name, path, number, number % 5 == 0);
        remove(path.c_str());
    }
    return end();
}
