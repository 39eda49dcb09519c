// ggufx_estimate of one rank against that rank: allocated bytes, and the number and size of
// messages per token. Ranks are threads. argv[1]: a model.
// SPDX-License-Identifier: MIT
#include "rank_checks.hpp"

extern "C" {
#include "fault.h"
}

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace {

std::string g_model;
#define OK(call)                                                                                   \
    do {                                                                                           \
        const ggufx_status ok_status = (call);                                                     \
        CHECK(ok_status == GGUFX_OK, "%s: %s", #call, error.message);                              \
    } while (0)

constexpr int32_t kIds[] = {1, 403, 407, 261, 378, 12, 99, 500, 17};

constexpr uint32_t kBatch = 8, kLongBatch = 150; // the second is processed in slices

ggufx_estimate_options asked(uint32_t n_ranks, uint32_t rank, const uint32_t *speeds,
                             uint32_t n_batch = kBatch, bool by_layers = false) {
    ggufx_estimate_options options = {};
    options.struct_size = sizeof options;
    options.flags = by_layers ? GGUFX_ESTIMATE_LAYERS : 0;
    options.n_ranks = n_ranks;
    options.rank = rank;
    options.weights = speeds;
    options.n_context = 150;
    options.n_batch = n_batch;
    return options;
}

ggufx_estimate_facts estimate(const ggufx_runtime *rt, const ggufx_file *file,
                              const ggufx_estimate_options &options) {
    ggufx_error error = {};
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    OK(ggufx_estimate(&facts, rt, file, &options, &error));
    return facts;
}

// A rank with a counting allocator of its own.
void check_rank(ThreadGroup &group, uint32_t rank, const uint32_t *speeds, uint32_t n_batch,
                bool by_layers) {
    fault memory;
    fault_init(&memory);
    ggufx_error error = {};
    ggufx_runtime *const rt = fault_runtime(&memory, 1);
    ggufx_file *file = nullptr;
    OK(ggufx_open(&file, rt, g_model.c_str(), nullptr, &error));
    const ggufx_estimate_facts want =
        estimate(rt, file, asked(group.size(), rank, speeds, n_batch, by_layers));
    ggufx_group hooks = group.hooks(rank);
    ggufx_group_options how = {};
    how.struct_size = sizeof how;
    how.group = &hooks;
    how.flags = by_layers ? GGUFX_GROUP_PIPELINE : 0;
    how.weights = speeds;
    how.timeout_ms = how.start_timeout_ms = 60000;
    ggufx_model_options options = {};
    options.struct_size = sizeof options;
    options.group = &how;
    const long long before = memory.live_bytes;
    ggufx_model *model = nullptr;
    OK(ggufx_model_create(&model, rt, file, &options, &error));
    const auto model_bytes = static_cast<uint64_t>(memory.live_bytes - before);
    if (group.size() > 1)
        CHECK(model_bytes == want.model_bytes,
              "rank %u of %u: the model takes %llu bytes, not %llu", rank, group.size(),
              static_cast<unsigned long long>(model_bytes),
              static_cast<unsigned long long>(want.model_bytes));
    ggufx_session_options of_session = {};
    of_session.struct_size = sizeof of_session;
    of_session.n_context = 150;
    of_session.n_batch = n_batch;
    ggufx_session *session = nullptr;
    const long long without = memory.live_bytes;
    OK(ggufx_session_create(&session, model, &of_session, &error));
    const auto taken = static_cast<uint64_t>(memory.live_bytes - without);
    CHECK(taken == want.kv_bytes + want.session_bytes,
          "rank %u of %u: the session takes %llu bytes", rank, group.size(),
          static_cast<unsigned long long>(taken));
    OK(decode_ids(session, kIds, 8, nullptr, 0, &error));
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    OK(ggufx_model_info(&facts, model, &error));
    std::vector<float> logits(facts.n_vocab);
    const uint64_t n_calls = group.n_calls(rank), n_bytes = group.n_bytes();
    OK(decode_ids(session, kIds + 8, 1, logits.data(), logits.size(), &error));
    const uint64_t n_messages = group.size() > 1 ? group.n_calls(rank) - n_calls : 0;
    CHECK(n_messages == want.n_messages, "rank %u of %u: %llu messages, not %u", rank, group.size(),
          static_cast<unsigned long long>(n_messages), want.n_messages);
    if (rank == 0) // its bytes are counted
        CHECK(group.n_bytes() - n_bytes == want.received_bytes, "of %u: %llu bytes came, not %llu",
              group.size(), static_cast<unsigned long long>(group.n_bytes() - n_bytes),
              static_cast<unsigned long long>(want.received_bytes));
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
}

void check_groups() {
    constexpr uint32_t kSpeeds[] = {3, 1, 100, 7, 1};
    for (uint32_t n = 1; n <= std::size(kSpeeds); n++)
        for (const uint32_t *speeds : {static_cast<const uint32_t *>(nullptr), kSpeeds})
            for (const uint32_t n_batch : {kBatch, kLongBatch})
                for (const bool by_layers : {false, true}) {
                    ThreadGroup group(n);
                    group.run([&](uint32_t rank) {
                        check_rank(group, rank, speeds, n_batch, by_layers);
                    });
                }
}

// The ranks together read all weights once, except for vectors, which each rank reads.
void check_weights() {
    ggufx_error error = {};
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    OK(ggufx_runtime_create(&rt, nullptr, &error));
    OK(ggufx_open(&file, rt, g_model.c_str(), nullptr, &error));
    const ggufx_estimate_facts whole = estimate(rt, file, asked(0, 0, nullptr));
    CHECK(whole.rank_weight_bytes == whole.weight_bytes && whole.n_messages == 0 &&
              whole.received_bytes == 0 && whole.total_bytes > whole.file_bytes,
          "one process");
    for (uint32_t n = 2; n <= 4; n++) {
        uint64_t all = 0, most = 0;
        for (uint32_t rank = 0; rank < n; rank++) {
            const ggufx_estimate_facts part = estimate(rt, file, asked(n, rank, nullptr));
            CHECK(part.total_bytes == part.rank_weight_bytes + part.runtime_bytes +
                                          part.model_bytes + part.kv_bytes + part.session_bytes,
                  "the total of rank %u of %u", rank, n);
            CHECK(part.kv_bytes < whole.kv_bytes &&
                      part.token_weight_bytes < whole.token_weight_bytes,
                  "rank %u of %u is the whole", rank, n);
            all += part.rank_weight_bytes;
            most = std::max(most, part.rank_weight_bytes);
        }
        CHECK(all >= whole.weight_bytes * 95 / 100 && all <= whole.weight_bytes * 5 / 4,
              "%u ranks read %llu of %llu bytes", n, static_cast<unsigned long long>(all),
              static_cast<unsigned long long>(whole.weight_bytes));
    }
    // With pipeline parallelism each weight and each layer's keys belong to one rank.
    for (uint32_t n = 2; n <= 5; n++) {
        uint64_t weights = 0, keys = 0;
        for (uint32_t rank = 0; rank < n; rank++) {
            const ggufx_estimate_facts part =
                estimate(rt, file, asked(n, rank, nullptr, kBatch, true));
            weights += part.token_weight_bytes;
            keys += part.token_kv_bytes;
            CHECK(part.n_messages >= 2 && part.n_messages <= n + 1, "%u messages of %u ranks",
                  part.n_messages, n);
            CHECK(part.kv_bytes < whole.kv_bytes, "rank %u of %u is the whole", rank, n);
        }
        CHECK(weights <= whole.token_weight_bytes && // except vectors
                  weights > whole.token_weight_bytes * 99 / 100,
              "%u ranks read %llu bytes for a token, not %llu", n,
              static_cast<unsigned long long>(weights),
              static_cast<unsigned long long>(whole.token_weight_bytes));
        CHECK(keys == whole.token_kv_bytes, "%u ranks keep %llu bytes of a token, not %llu", n,
              static_cast<unsigned long long>(keys),
              static_cast<unsigned long long>(whole.token_kv_bytes));
    }
    ggufx_estimate_facts out = {};
    out.struct_size = sizeof out;
    const auto refused = [&](uint32_t n, uint32_t rank, const uint32_t *speeds, const char *text) {
        const ggufx_estimate_options options = asked(n, rank, speeds);
        const ggufx_status status = ggufx_estimate(&out, rt, file, &options, &error);
        CHECK(status == GGUFX_E_ARGUMENT && strstr(error.message, text), "%u of %u: %s", rank, n,
              error.message);
    };
    constexpr uint32_t kWrong[] = {1, 0}, kFast[] = {(1u << 20) + 1, 1};
    refused(257, 0, nullptr, "rank 0 of 257, at most 256");
    refused(2, 2, nullptr, "rank 2 of 2");
    refused(0, 1, nullptr, "rank 1 of 1");
    refused(UINT32_MAX, UINT32_MAX, nullptr, "at most 256");
    refused(2, 0, kWrong, "weights[1] is 0");
    refused(2, 1, kFast, "weights[0] is 1048577");
    ggufx_estimate_options adapted = asked(2, 0, nullptr);
    const ggufx_file *const adapters[] = {file};
    adapted.adapters = adapters;
    adapted.n_adapters = 1;
    CHECK(ggufx_estimate(&out, rt, file, &adapted, &error) == GGUFX_E_UNSUPPORTED, "adapters: %s",
          error.message);
    ggufx_estimate_options placed = asked(2, 0, nullptr);
    placed.device_memory_bytes = 1 << 30;
    CHECK(ggufx_estimate(&out, rt, file, &placed, &error) == GGUFX_E_UNSUPPORTED, "a device: %s",
          error.message);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) return 1;
    g_model = argv[1];
    check_weights();
    check_groups();
    printf("%d checks, %d failed\n", g_checks.load(), g_failed.load());
    return g_failed == 0 && g_checks > 100 ? 0 : 1;
}
