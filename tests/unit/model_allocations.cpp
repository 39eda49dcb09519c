// Memory of models and sessions of every architecture: the estimate equals the allocations,
// decoding allocates nothing, and each allocation may fail.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "rewrite.hpp"
#include "tiny_files.hpp"

extern "C" {
#include "fault.h"
#include "test_step.h"
}

#include <stdio.h>

namespace {

constexpr uint32_t kTypes[] = {GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0};

// A model file's bytes, from which models are created.
struct Subject {
    std::string name, bytes;
    uint32_t type;
};

ggufx_session_options session_options(const ggufx_estimate_options &from) {
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = from.n_context;
    options.n_batch = from.n_batch;
    if (from.flags & GGUFX_ESTIMATE_HAS_TYPE_K) options.flags |= GGUFX_SESSION_HAS_TYPE_K;
    if (from.flags & GGUFX_ESTIMATE_HAS_TYPE_V) options.flags |= GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = from.type_k;
    options.type_v = from.type_v;
    options.n_checkpoints = from.n_checkpoints;
    return options;
}

bool has_windows(const ggufx_model *model) {
    ggufx_layer_facts facts = {};
    facts.struct_size = sizeof facts;
    for (uint32_t i = 0; ggufx_model_layer_info(&facts, model, i, nullptr) == GGUFX_OK; i++)
        if (facts.window) return true;
    return false;
}

ggufx_estimate_facts estimate(const ggufx_runtime *rt, const ggufx_file *file,
                              const ggufx_estimate_options &options) {
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_estimate(&facts, rt, file, &options, &error), error, "estimate");
    CHECK(!(facts.flags & GGUFX_ESTIMATE_UNSUPPORTED), "estimated without the program");
    return facts;
}

// Makes calls of one token to several batches, a cancelled call, and truncations that make the next
// call recompute tokens.
void use_session(ggufx_session *session, size_t n_vocab, const Subject &subject, const Ids &ids) {
    std::vector<float> logits(n_vocab);
    static constexpr int kPercent[] = {40, 41, 23, 97, 60, 100, 7, 70, 69, 100, 98, 99, 0, 30};
    size_t length = 0;
    ggufx_error error;
    for (const int percent : kPercent) {
        const size_t n = ids.size() * static_cast<size_t>(percent) / 100;
        if (n <= length) {
            must(ggufx_session_truncate(session, 0, n, &error), error, subject.name.c_str());
        } else {
            must(
                decode_ids(session, &ids[length], n - length, logits.data(), logits.size(), &error),
                error, subject.name.c_str());
        }
        length = n;
    }
}

// A session allocates kv_bytes + session_bytes, and decoding allocates nothing more.
void test_session(const Subject &subject, const fault &memory, const ggufx_runtime *rt,
                  const ggufx_file *file, const ggufx_model *model,
                  const ggufx_estimate_options &options) {
    const ggufx_estimate_facts facts = estimate(rt, file, options);
    const ggufx_session_options asked = session_options(options);
    const long long before = memory.live_bytes;
    ggufx_session *session = nullptr;
    ggufx_error error;
    must(ggufx_session_create(&session, model, &asked, &error), error, subject.name.c_str());
    const uint64_t taken = static_cast<uint64_t>(memory.live_bytes - before);
    CHECK(taken == facts.kv_bytes + facts.session_bytes,
          "%s, context %u, batch %u, type %u: %llu bytes, estimate %llu + %llu",
          subject.name.c_str(), facts.n_context, facts.n_batch, options.type_k,
          static_cast<unsigned long long>(taken), static_cast<unsigned long long>(facts.kv_bytes),
          static_cast<unsigned long long>(facts.session_bytes));
    const long calls = memory.calls;
    const size_t most = facts.n_context > 1000 && options.n_context ? facts.n_context : 70;
    const Ids ids =
        random_ids(facts.n_context < most ? facts.n_context : most, vocabulary_of(model), 3);
    use_session(session, vocabulary_of(model), subject, ids);
    CHECK(memory.calls == calls, "%s, context %u, batch %u, type %u: decoding allocated",
          subject.name.c_str(), facts.n_context, facts.n_batch, options.type_k);
    ggufx_session_destroy(session);
    CHECK(memory.live_bytes == before, "%s: bytes left", subject.name.c_str());
}

void test_estimates(const Subject &subject) {
    fault memory;
    fault_init(&memory);
    ggufx_runtime *rt = fault_runtime(&memory, 1);
    ggufx_file *file = open_bytes(subject.bytes, rt);
    ggufx_estimate_options options = {};
    options.struct_size = sizeof options;
    const uint64_t want = estimate(rt, file, options).model_bytes;
    const long long before = memory.live_bytes;
    ggufx_model *model = nullptr;
    ggufx_error error;
    must(ggufx_model_create(&model, rt, file, nullptr, &error), error, subject.name.c_str());
    const uint64_t taken = static_cast<uint64_t>(memory.live_bytes - before);
    CHECK(taken == want, "%s: the model takes %llu bytes, estimate %llu", subject.name.c_str(),
          static_cast<unsigned long long>(taken), static_cast<unsigned long long>(want));
    for (const uint32_t type : kTypes) {
        for (const uint32_t n_context : {0u, 1u, 65u, 300u}) {
            options.n_context = n_context;
            options.n_batch = n_context == 65 ? 7 : 0;
            options.flags = GGUFX_ESTIMATE_HAS_TYPE_K | GGUFX_ESTIMATE_HAS_TYPE_V;
            options.type_k = options.type_v = type;
            options.n_checkpoints = n_context == 65    ? 3
                                    : n_context == 300 ? GGUFX_SESSION_NO_CHECKPOINTS
                                                       : 0;
            test_session(subject, memory, rt, file, model, options);
        }
        // Windows and batches that allocate and free pages.
        options.n_checkpoints = 0;
        for (const uint32_t n_batch : {0u, 700u}) {
            if (!has_windows(model)) break;
            options.n_context = 2000;
            options.n_batch = n_batch;
            test_session(subject, memory, rt, file, model, options);
        }
    }
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    CHECK(memory.live == 0, "%s: %ld blocks left", subject.name.c_str(), memory.live);
}

ggufx_status use(void *context, ggufx_runtime *rt, ggufx_error *error) {
    const Subject &subject = *static_cast<const Subject *>(context);
    ggufx_file *file = nullptr;
    ggufx_model *model = nullptr;
    ggufx_session *session = nullptr;
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = 96;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = options.type_v = subject.type;
    const Ids ids = random_ids(5, 300, 5);
    ggufx_status status = ggufx_open_memory(&file, rt, subject.bytes.data(), subject.bytes.size(),
                                            nullptr, nullptr, nullptr, error);
    if (status == GGUFX_OK) status = ggufx_model_create(&model, rt, file, nullptr, error);
    if (status == GGUFX_OK) status = ggufx_session_create(&session, model, &options, error);
    if (status == GGUFX_OK) status = decode_ids(session, ids.data(), 5, nullptr, 0, error);
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    return status;
}

void test_each_allocation_may_fail(Subject &subject) {
    subject.type = GGUFX_TYPE_Q8_0;
    const long n_calls = fault_run(use, &subject);
    CHECK(n_calls > 20, "%s: %ld allocations", subject.name.c_str(), n_calls);
    printf("%s: %ld allocations\n", subject.name.c_str(), n_calls);
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    const std::vector<TinyFile> files = tiny_files();
    for (size_t i = 0; i < files.size(); i++) {
        Subject subject = {files[i].name, read_bytes(files[i].path), GGUFX_TYPE_F16};
        test_estimates(subject);
        if (i % test_step() == 0) test_each_allocation_may_fail(subject);
    }
    return end();
}
