// Ranks that only have the files of their own rows. The logits are bit-identical to those of one
// process with the whole model, for every architecture with a tiny model; also in groups with some
// whole files. Ranks are threads here.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "rank.hpp"
#include "rank_files.hpp"
#include "tiny_files.hpp"

extern "C" {
#include "test_step.h"
}

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>

namespace {

constexpr uint32_t kMostRanks = 5, kContext = 96; // more than most models have KV heads
constexpr size_t kTokens = 33 + 5 + 2;
constexpr uint32_t kSpeeds[kMostRanks] = {3, 7, 2, 5, 1};
constexpr uint32_t kFlags[] = {0, GGUFX_MATMUL_INT16, GGUFX_MATMUL_F32,
                               GGUFX_MATMUL_BATCH_INVARIANT};

using Floats = std::vector<float>;

bool same(const Floats &a, const Floats &b) {
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// In every mode, returns all logits of 33 tokens, of 5, of 1 and 1.
Floats decode(const ggufx_model *model, const Ids &ids) {
    Floats out;
    for (const uint32_t flags : kFlags) {
        Session session(model, {flags, GGUFX_TYPE_F16, GGUFX_TYPE_F16, kContext, 0});
        size_t at = 0;
        for (const size_t n : {size_t{33}, size_t{5}, size_t{1}, size_t{1}}) {
            const Floats some = session.decode(ids.data() + at, n);
            out.insert(out.end(), some.begin(), some.end());
            at += n;
        }
    }
    return out;
}

struct Model {
    std::string name, path;
    Ids ids;
    Floats logits;                 // from one process
    uint64_t identity, read_bytes; // read_bytes: weights that are read
};

ggufx_model_facts facts_of(const ggufx_model *model) {
    ggufx_error error;
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    must(ggufx_model_info(&facts, model, &error), error, "model");
    return facts;
}

// takes(rank): whether a rank opens its own file instead of the model's.
void check_group(const Model &m, const RankFiles &files, uint32_t n, const uint32_t *speeds,
                 uint32_t flags, bool (*takes)(uint32_t rank)) {
    ThreadGroup group(n, 70 + n);
    std::atomic<uint32_t> n_same{0};
    group.run([&](uint32_t rank) {
        // A rank's file stores the speeds.
        RankOptions options = {&group, rank, takes(rank) ? nullptr : speeds};
        options.flags = flags;
        const Rank part(takes(rank) ? files[rank] : m.path, options);
        if (!part.model()) {
            fprintf(stderr, "%s, rank %u of %u: %s\n", m.name.c_str(), rank, n,
                    part.error().message);
            return;
        }
        n_same += same(decode(part.model(), m.ids), m.logits) &&
                  facts_of(part.model()).identity == m.identity;
    });
    CHECK(n_same == n, "%s: %u of %u ranks have the logits of one process", m.name.c_str(),
          n_same.load(), n);
}

ggufx_estimate_facts estimate(const std::string &path, uint32_t n, uint32_t rank,
                              const uint32_t *speeds, uint32_t flags = 0) {
    ggufx_error error;
    ggufx_file *file = nullptr;
    ggufx_open_options how = {};
    how.struct_size = sizeof how;
    how.flags = GGUFX_OPEN_METADATA_ONLY;
    must(ggufx_open(&file, g_runtime, path.c_str(), &how, &error), error, path.c_str());
    ggufx_estimate_options options = {};
    options.struct_size = sizeof options;
    options.flags = flags ? GGUFX_ESTIMATE_LAYERS : 0;
    options.n_context = kContext;
    options.n_ranks = n;
    options.rank = rank;
    options.weights = speeds;
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    must(ggufx_estimate(&facts, g_runtime, file, &options, &error), error, "estimate");
    ggufx_file_destroy(file);
    return facts;
}

// Estimates from a rank's file equal the estimates of that rank from the whole file.
void check_sizes(const Model &m, const RankFiles &files, uint32_t n, const uint32_t *speeds,
                 uint32_t flags) {
    const ggufx_estimate_facts whole = estimate(m.path, 0, 0, nullptr);
    uint64_t all = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        const ggufx_estimate_facts want = estimate(m.path, n, rank, speeds, flags);
        const ggufx_estimate_facts got = estimate(files[rank], 0, 0, nullptr);
        CHECK(got.rank_weight_bytes == want.rank_weight_bytes &&
                  got.token_weight_bytes == want.token_weight_bytes &&
                  got.model_bytes == want.model_bytes && got.kv_bytes == want.kv_bytes &&
                  got.session_bytes == want.session_bytes &&
                  got.received_bytes == want.received_bytes && got.n_messages == want.n_messages,
              "%s: other estimates of rank %u of %u", m.name.c_str(), rank, n);
        CHECK(got.weight_bytes <= whole.weight_bytes, "%s: rank %u of %u has more than all",
              m.name.c_str(), rank, n);
        all += got.weight_bytes;
    }
    CHECK(all >= m.read_bytes, "%s: %u ranks have not all rows", m.name.c_str(), n);
}

void check_model(const std::string &name, const std::string &path, size_t number) {
    const Rank alone(path);
    Model m = {name, path, random_ids(kTokens, vocabulary_of(alone.model()), 11), {}, 0, 0};
    m.logits = decode(alone.model(), m.ids);
    m.identity = facts_of(alone.model()).identity;
    m.read_bytes = facts_of(alone.model()).weight_bytes;
    for (uint32_t n = 2; n <= kMostRanks; n++) {
        const uint32_t *const speeds = (number + n) % 2 ? kSpeeds : nullptr;
        for (const uint32_t flags : {0u, GGUFX_GROUP_PIPELINE}) {
            const RankFiles files(path, "part-" + name, n, speeds, flags);
            check_sizes(m, files, n, speeds, flags);
            check_group(m, files, n, speeds, flags, [](uint32_t) { return true; });
            if (number % 3 == n % 3)
                check_group(m, files, n, speeds, flags, [](uint32_t rank) { return rank != 1; });
        }
    }
}

} // namespace

// argv[1]: a model, independent of other data.
int main(int argc, char **argv) {
    if (!begin_models()) return 77;
    size_t number = 0;
    if (argc > 1) check_model("demo", argv[1], number);
    for (const TinyFile &file : tiny_files()) {
        if (number++ % test_step() != 0) continue;
        const std::string path = quantized(file.path, file.name);
        check_model(file.name, path, number);
        remove(path.c_str());
    }
    return end();
}
