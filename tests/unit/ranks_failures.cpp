// A failure on one rank is a failure on all ranks, with a message, and sessions stay unchanged.
// Failures: other files, versions, options, tokens; a rank that is lost, cancelled or out of
// memory. Ranks are threads. Long, as it is one list of failures, all tried for tensor and pipeline
// parallelism.
// argv[1]: a model.
// SPDX-License-Identifier: MIT
#include "rank_checks.hpp"

extern "C" {
#include "temporary.h"
#include "test_step.h"
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <fstream>
#include <iterator>

namespace {

std::string g_model;
uint32_t g_flags; // group flags: 0 or GGUFX_GROUP_PIPELINE
size_t g_width;   // width of hidden states
size_t g_n_vocab; // tokens of the vocabulary

constexpr uint32_t kRanks = 3;
constexpr size_t kTokens = 12;
constexpr int32_t kIds[kTokens] = {1, 403, 407, 261, 378, 12, 99, 500, 17, 3, 64, 311};

// Step between tried k of long loops, growing with k: a run takes a second under sanitizers.
int stride(int k, int n) {
    return (1 + k / n) * static_cast<int>(test_step());
}
const bool kIsWhole = test_step() == 1;

void expect(ggufx_status got, ggufx_status want, const ggufx_error &error, const char *text) {
    CHECK(got == want && strstr(error.message, text), "%s: %s; expected %s with \"%s\"",
          ggufx_status_name(got), error.message, ggufx_status_name(want), text);
}

RankOptions of(ThreadGroup &group, uint32_t rank, uint32_t timeout_ms = 20000,
               const ggufx_allocator *allocator = nullptr) {
    return {&group, rank, nullptr, timeout_ms, allocator, g_flags};
}

std::string read(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string write(const std::string &name, const std::string &bytes) {
    char path[TEMPORARY_PATH];
    temporary_path(path, name.c_str());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

// Writes the model with one byte of a tensor changed.
std::string other_model(const std::string &tensor, uint64_t at) {
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    ggufx_error error;
    size_t index = 0;
    if (ggufx_runtime_create(&rt, nullptr, &error) ||
        ggufx_open(&file, rt, g_model.c_str(), nullptr, &error) ||
        ggufx_file_tensor_find(&index, file, tensor.data(), tensor.size(), &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    ggufx_tensor_facts facts = {};
    facts.struct_size = sizeof facts;
    (void)ggufx_tensor_info(&facts, ggufx_file_tensor(file, index), &error);
    std::string bytes = read(g_model);
    bytes[static_cast<size_t>(facts.file_offset + at)] ^= 1;
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return write("other.gguf", bytes);
}

// Writes the model with an additional tensor that is ignored.
std::string with_one_more_tensor() {
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    ggufx_writer *writer = nullptr;
    ggufx_error error = {};
    constexpr char kFrom[] = "blk.0.attn_norm.weight", kTo[] = "blk.0.attn_rot_embd";
    char path[TEMPORARY_PATH];
    temporary_path(path, "more.gguf");
    size_t index = 0;
    if (ggufx_runtime_create(&rt, nullptr, &error) ||
        ggufx_open(&file, rt, g_model.c_str(), nullptr, &error) ||
        ggufx_file_tensor_find(&index, file, kFrom, sizeof kFrom - 1, &error) ||
        ggufx_writer_create(&writer, rt, nullptr, &error) ||
        ggufx_writer_copy_meta(writer, file, &error) ||
        ggufx_writer_copy_tensors(writer, file, &error) ||
        ggufx_writer_add_tensor(writer, ggufx_file_tensor(file, index), kTo, sizeof kTo - 1,
                                &error) ||
        ggufx_writer_write(writer, path, nullptr, &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    ggufx_writer_destroy(writer);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return path;
}

// All ranks create the model, rank 1 from another file or with other options; all fail with the
// same status.
void all_refuse(ggufx_status status, const char *text,
                const std::function<void(uint32_t rank, std::string &path, RankOptions &)> &change,
                const ThreadGroup::Fault &fault = {}) {
    ThreadGroup group(kRanks);
    group.set_fault(fault);
    group.run([&](uint32_t rank) {
        std::string path = g_model;
        RankOptions options = of(group, rank);
        if (change) change(rank, path, options);
        const Rank part(path, options);
        expect(part.status(), status, part.error(), text);
    });
    CHECK(group.n_destroyed() == kRanks, "%d groups were destroyed", group.n_destroyed());
}

void what_differs_is_named() {
    const std::string other = other_model("blk.1.ffn_up.weight", 5);
    const auto takes = [&](uint32_t rank, std::string &path, RankOptions &) {
        if (rank == 1) path = other;
    };
    all_refuse(GGUFX_E_MISMATCH, "rank 1: the file differs in tensor blk.1.ffn_up.weight", takes);
    remove(other.c_str());
    const std::string norm = other_model("blk.0.attn_norm.weight", 100);
    const auto takes_norm = [&](uint32_t rank, std::string &path, RankOptions &) {
        if (rank == 2) path = norm;
    };
    all_refuse(GGUFX_E_MISMATCH, "rank 2: the file differs in keys, norms", takes_norm);
    remove(norm.c_str());
    // Differing tensors are found with messages as long as the number of tensors.
    const std::string more = with_one_more_tensor(),
                      changed = other_model("blk.1.ffn_up.weight", 5);
    all_refuse(GGUFX_E_MISMATCH, "rank 2: the file has 39 tensors, that of rank 0 38",
               [&](uint32_t rank, std::string &path, RankOptions &) {
                   if (rank) path = rank == 1 ? changed : more;
               });
    remove(more.c_str());
    remove(changed.c_str());
    static const uint32_t speeds[kRanks] = {1, 2, 1};
    all_refuse(GGUFX_E_MISMATCH, "rank 1: other options",
               [&](uint32_t rank, std::string &, RankOptions &options) {
                   if (rank == 1) options.speeds = speeds;
               });
    all_refuse(GGUFX_E_MISMATCH,
               g_flags ? "rank 1: takes rows of each matrix, rank 0 whole layers"
                       : "rank 1: takes whole layers, rank 0 rows of each matrix",
               [&](uint32_t rank, std::string &, RankOptions &options) {
                   if (rank == 1) options.flags ^= GGUFX_GROUP_PIPELINE;
               });
    all_refuse(GGUFX_E_MISMATCH, "rank 2: other options",
               [&](uint32_t rank, std::string &, RankOptions &options) {
                   if (rank == 2) options.group_flags = GGUFX_GROUP_SHARED_MEMORY;
               });
    // The first message has the version at byte 16.
    const auto lies = [](uint32_t rank, uint64_t call, std::vector<uint8_t> &sent) {
        if (rank == 2 && call == 0) sent[16 + 2] = '9';
        return ggufx_status{GGUFX_OK};
    };
    all_refuse(GGUFX_E_MISMATCH, "rank 2: runs version 0.9.0 of the library, rank 0 0.1.0", {},
               lies);
}

void files_that_one_rank_refuses_are_refused_by_all() {
    const std::string cut = write("keys.gguf", [] {
        std::string bytes = read(g_model);
        const size_t at = bytes.find("llama.block_count");
        bytes.replace(at, 17, "llama.block_coumt");
        return bytes;
    }());
    all_refuse(GGUFX_E_MISSING, "llama.block_count",
               [&](uint32_t rank, std::string &path, RankOptions &) {
                   if (rank == 1) path = cut;
               });
    remove(cut.c_str());
}

// Allocation number k fails.
struct Failing {
    std::atomic<int64_t> left;
    ggufx_allocator hooks;
    explicit Failing(int64_t k) : left(k), hooks{} {
        hooks.struct_size = sizeof hooks;
        hooks.user = this;
        hooks.alloc = [](void *user, size_t size, size_t align) -> void * {
            if (static_cast<Failing *>(user)->left-- == 0) return nullptr;
            const size_t unit = align < 16 ? 16 : align; // sizes must be a multiple of it
            return aligned_alloc(unit, (size / unit + 1) * unit);
        };
        hooks.free = [](void *, void *p, size_t, size_t) { free(p); };
    }
};

void memory_that_one_rank_lacks_is_lacked_by_all() {
    int n_failed = 0;
    for (int k = 0; k < 100000; k += stride(k, 9)) {
        Failing failing(k);
        std::atomic<int> n_made{0}, n_refused{0}, n_late{0};
        ThreadGroup group(2);
        group.run([&](uint32_t rank) {
            RankOptions options = of(group, rank);
            if (rank == 1) options.allocator = &failing.hooks;
            const Rank part(g_model, options);
            n_made += part.status() == GGUFX_OK;
            n_refused += part.status() == GGUFX_E_MEMORY;
            n_late += strstr(part.error().message, "did not answer") != nullptr;
        });
        CHECK(n_late == 0, "allocation %d: a rank waited in vain", k);
        CHECK(n_made == 2 || n_made == 0, "allocation %d: %d ranks made the model", k,
              n_made.load());
        n_failed += n_refused == 2;
        if (n_made == 2) break;
    }
    CHECK(n_failed > 3, "%d allocations failed on both ranks", n_failed);
}

ggufx_session *make_session(const ggufx_model *model, uint32_t n_context, ggufx_status status,
                            const char *text) {
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = n_context;
    options.n_batch = 4;
    options.n_sequences = 2;
    options.type_k = options.type_v = GGUFX_TYPE_Q8_0;
    ggufx_session *session = nullptr;
    ggufx_error error = {};
    const ggufx_status got = ggufx_session_create(&session, model, &options, &error);
    expect(got, status, error, text);
    return session;
}

// An invalid argument on one rank is refused on all ranks, and so is a longer call that one rank
// has no memory for.
void calls_that_one_rank_cannot_begin() {
    ThreadGroup group(kRanks);
    group.run([&](uint32_t rank) {
        Failing failing(1 << 30);
        const Rank part(g_model, of(group, rank, 20000, &failing.hooks));
        ggufx_session_options options = {};
        options.struct_size = sizeof options;
        options.n_context = 64;
        if (rank == 1) options.matmul_flags = 1u << 31;
        ggufx_session *session = nullptr;
        ggufx_error error = {};
        expect(ggufx_session_create(&session, part.model(), &options, &error), GGUFX_E_ARGUMENT,
               error, "unknown flags 0x80000000");
        options.matmul_flags = 0;
        expect(ggufx_session_create(&session, part.model(), &options, &error), GGUFX_OK, error, "");
        ggufx_eval_facts facts = {};
        facts.struct_size = sizeof facts;
        if (rank == 1) failing.left = 0;
        const ggufx_status status =
            ggufx_eval_perplexity(&facts, session, kIds, kTokens, 8, -1, nullptr, &error);
        failing.left = 1 << 30;
        expect(status, rank == 1 ? GGUFX_E_MEMORY : GGUFX_E_IO, error, "memory");
        ggufx_session_destroy(session);
    });
}

// Progress callback that cancels at the k-th poll.
struct Poll {
    std::atomic<int> left;
    ggufx_progress hooks;
    explicit Poll(int k) : left(k), hooks{} {
        hooks.user = this;
        hooks.report = [](void *user, uint64_t, uint64_t) -> int32_t {
            return --static_cast<Poll *>(user)->left < 0;
        };
    }
};

// Decodes token ids, and returns the logits after the last one.
std::vector<float> logits_of(ggufx_session *session, size_t n) {
    std::vector<float> out(g_n_vocab);
    ggufx_error error;
    expect(decode_ids(session, kIds, n, out.data(), out.size(), &error), GGUFX_OK, error, "");
    return out;
}

// A call on the last six tokens, in two batches.
using Call = ggufx_status (*)(ggufx_session *session, const ggufx_progress *progress,
                              ggufx_error *error);

ggufx_status with_logits(ggufx_session *session, const ggufx_progress *progress,
                         ggufx_error *error) {
    std::vector<float> logits(g_n_vocab);
    ggufx_decode_options options = {};
    options.progress = progress;
    options.logits = logits.data();
    options.n_logits = logits.size();
    return decode_with(session, kIds + 6, 6, GGUFX_DECODE_LOGITS, &options, error);
}

ggufx_status batch(ggufx_session *session, ggufx_decode_item item, const ggufx_progress *progress,
                   ggufx_error *error) {
    ggufx_decode_options options = {};
    options.struct_size = sizeof options;
    options.progress = progress;
    return ggufx_session_decode(session, &item, 1, &options, error);
}

ggufx_status without_logits(ggufx_session *session, const ggufx_progress *progress,
                            ggufx_error *error) {
    ggufx_decode_options options = {};
    options.progress = progress;
    return decode_with(session, kIds + 6, 6, 0, &options, error);
}

// Hidden states, which in pipeline parallelism only the last rank has and broadcasts.
ggufx_status with_hidden(ggufx_session *session, const ggufx_progress *progress,
                         ggufx_error *error) {
    std::vector<float> hidden(6 * g_width);
    ggufx_decode_options options = {};
    options.progress = progress;
    options.hidden = hidden.data();
    options.n_hidden = hidden.size();
    return decode_with(session, kIds + 6, 6, GGUFX_DECODE_ALL_HIDDEN, &options, error);
}

// Returns the logits of one process after six tokens, a call, and one more token.
std::vector<float> expected(Call call) {
    const Rank alone(g_model);
    ggufx_session *session = make_session(alone.model(), 64, GGUFX_OK, "");
    ggufx_error error = {};
    expect(decode_ids(session, kIds, 6, nullptr, 0, &error), GGUFX_OK, error, "");
    expect(call(session, nullptr, &error), GGUFX_OK, error, "");
    const std::vector<float> out = logits_of(session, 1);
    ggufx_session_destroy(session);
    return out;
}

void sessions_of_other_options_are_refused() {
    ThreadGroup group(kRanks);
    group.run([&](uint32_t rank) {
        const Rank part(g_model, of(group, rank));
        ggufx_session *const none =
            make_session(part.model(), rank == 1 ? 96 : 64, GGUFX_E_MISMATCH,
                         "rank 1: n_context is 96, that of rank 0 64");
        CHECK(!none, "a session was made");
        ggufx_session_destroy(make_session(part.model(), 64, GGUFX_OK, ""));
    });
}

// A rank cancels at any poll: all ranks stop, and continue unchanged. Returns the number of
// cancelled calls.
int what_a_rank_cancels_all_cancel(Call call, uint32_t who, const std::vector<float> &want) {
    std::atomic<int> n_cancelled{0};
    for (int k = 0; k < 400; k += stride(k, 6) * static_cast<int>(test_step())) {
        std::atomic<bool> was_cancelled{false};
        ThreadGroup group(kRanks, 5);
        group.run([&](uint32_t rank) {
            const Rank part(g_model, of(group, rank));
            ggufx_session *session = make_session(part.model(), 64, GGUFX_OK, "");
            ggufx_error error = {};
            Poll poll(rank == who ? k : 1 << 30);
            expect(decode_ids(session, kIds, 6, nullptr, 0, &error), GGUFX_OK, error, "");
            const ggufx_status status = call(session, &poll.hooks, &error);
            if (status == GGUFX_E_CANCELLED) {
                was_cancelled = true;
                n_cancelled++;
                expect(status, GGUFX_E_CANCELLED, error, "cancelled");
                CHECK(ggufx_session_length(session, 0) == 6, "the session has other tokens");
                expect(call(session, nullptr, &error), GGUFX_OK, error, "");
            } else {
                expect(status, GGUFX_OK, error, "");
            }
            CHECK(logits_of(session, 1) == want, "other logits after poll %d", k);
            ggufx_session_destroy(session);
        });
        if (!was_cancelled) break;
    }
    return n_cancelled;
}

void what_one_rank_cancels_all_cancel(Call call) {
    const std::vector<float> want = expected(call);
    int n_cancelled = 0;
    for (uint32_t who = 0; who < kRanks; who++)
        n_cancelled += what_a_rank_cancels_all_cancel(call, who, want);
    CHECK(n_cancelled > (kIsWhole ? 10 : 1) * static_cast<int>(kRanks), "%d calls were cancelled",
          n_cancelled);
}

// The session keeps embeddings given as input; rank 1 has no memory for them.
void memory_that_one_rank_lacks_for_a_call() {
    ThreadGroup group(kRanks);
    group.run([&](uint32_t rank) {
        Failing failing(1 << 30);
        const Rank part(g_model, of(group, rank, 20000, &failing.hooks));
        ggufx_session *session = make_session(part.model(), 64, GGUFX_OK, "");
        ggufx_error error = {};
        ggufx_model_facts facts = {};
        facts.struct_size = sizeof facts;
        (void)ggufx_model_info(&facts, part.model(), &error);
        const std::vector<float> rows(6 * facts.n_embedding, 0.25f);
        ggufx_decode_item item = {};
        item.struct_size = sizeof item;
        item.n_tokens = 6;
        item.input_rows = rows.data();
        item.n_input_rows = rows.size();
        if (rank == 1) failing.left = 0;
        expect(batch(session, item, nullptr, &error), GGUFX_E_MEMORY, error, "6 embeddings");
        failing.left = 1 << 30;
        CHECK(ggufx_session_length(session, 0) == 0, "the session has tokens");
        expect(batch(session, item, nullptr, &error), GGUFX_OK, error, "");
        // An edit sends no messages: the next call reports the failure.
        if (rank == 1) failing.left = 0;
        const ggufx_status status = ggufx_session_copy(session, 0, 1, 6, &error);
        failing.left = 1 << 30;
        expect(status, rank == 1 ? GGUFX_E_MEMORY : GGUFX_OK, error, "");
        expect(decode_ids(session, kIds, 1, nullptr, 0, &error),
               rank == 1 ? GGUFX_E_STATE : GGUFX_E_IO, error, rank == 1 ? "lost" : "memory");
        CHECK(ggufx_session_length(session, 0) == 6, "the session has other tokens");
        ggufx_session_destroy(session);
    });
}

// Calls that need all heads in one process are refused.
void what_a_rank_cannot_do_is_refused() {
    ThreadGroup group(1);
    const Rank part(g_model, of(group, 0));
    ggufx_session *session = make_session(part.model(), 64, GGUFX_OK, "");
    ggufx_error error = {};
    ggufx_embedder *embedder = nullptr;
    expect(ggufx_embedder_create(&embedder, part.model(), nullptr, &error), GGUFX_E_UNSUPPORTED,
           error, "embeddings");
    ggufx_adapter *adapter = nullptr;
    expect(ggufx_adapter_create(&adapter, part.model(), part.file(), nullptr, &error),
           GGUFX_E_UNSUPPORTED, error, "adapters");
    ggufx_imatrix *imatrix = nullptr;
    expect(ggufx_imatrix_create(&imatrix, session, kIds, kTokens, 8, -1, nullptr, &error),
           GGUFX_E_UNSUPPORTED, error, "importance");
    ggufx_attention_hook hook = {};
    hook.struct_size = sizeof hook;
    hook.layer = [](void *, uint32_t, uint64_t, size_t, const float *, const float *, const float *,
                    const float *) { return int32_t{0}; };
    ggufx_decode_options options = {};
    options.attention = &hook;
    expect(decode_with(session, kIds, 6, 0, &options, &error), GGUFX_E_UNSUPPORTED, error,
           "attention hooks");
    CHECK(ggufx_session_length(session, 0) == 0, "the session has tokens");
    ggufx_session_destroy(session);
}

std::string temporary(const char *name) {
    char path[TEMPORARY_PATH];
    temporary_path(path, name);
    return path;
}

// Writes a snapshot of six tokens of another session.
void save_six(const std::string &path, bool is_rank) {
    ThreadGroup group(1);
    const Rank alone(g_model, {is_rank ? &group : nullptr, 0});
    ggufx_session *session = make_session(alone.model(), 64, GGUFX_OK, "");
    ggufx_error error = {};
    expect(decode_ids(session, kIds, 6, nullptr, 0, &error), GGUFX_OK, error, "");
    expect(ggufx_session_save_file(session, 0, path.c_str(), &error), GGUFX_OK, error, "");
    ggufx_session_destroy(session);
}

// A snapshot that one rank refuses is refused by all, and they keep their tokens.
void snapshots_that_one_rank_cannot_load() {
    const std::string path = temporary("six.snapshot"), whole = temporary("whole.snapshot");
    save_six(path, true);
    save_six(whole, false);
    std::string cut = read(path), changed = cut, other = cut;
    cut.pop_back();
    changed[40] ^= 1;
    other[16] ^= 1; // the model
    const std::string cut_path = write("cut.snapshot", cut),
                      changed_path = write("changed.snapshot", changed),
                      other_path = write("other.snapshot", other),
                      longer_path = write("longer.snapshot", read(path) + "x");
    const struct {
        std::string path;
        ggufx_status status;
        const char *text;
    } cases[] = {{"no-such-file", GGUFX_E_IO, "no-such-file"},
                 {cut_path, GGUFX_E_TRUNCATED, "cut.snapshot"},
                 {changed_path, GGUFX_E_CHECKSUM, "damaged"},
                 {other_path, GGUFX_E_MISMATCH, "model and adapters"},
                 {longer_path, GGUFX_E_MALFORMED, "has bytes after"},
                 {whole, GGUFX_E_MISMATCH, "is of one process"}};
    ThreadGroup group(kRanks);
    group.run([&](uint32_t rank) {
        const Rank part(g_model, of(group, rank));
        ggufx_session *session = make_session(part.model(), 64, GGUFX_OK, "");
        ggufx_error error = {};
        expect(decode_ids(session, kIds + 2, 3, nullptr, 0, &error), GGUFX_OK, error, "");
        for (const auto &c : cases) {
            const std::string &own = rank == 1 ? c.path : path;
            expect(ggufx_session_load_file(session, 0, own.c_str(), &error), c.status, error,
                   c.text);
            CHECK(ggufx_session_length(session, 0) == 3, "%s: the session has other tokens",
                  c.text);
        }
        // A sequence whose tokens differ from those of the other ranks.
        ggufx_session *wrong = make_session(part.model(), 64, GGUFX_OK, "");
        expect(decode_ids(wrong, kIds, 2, nullptr, 0, &error), GGUFX_OK, error, "");
        const std::string own = temporary(("own-" + std::to_string(rank)).c_str());
        if (rank == 2) {
            expect(ggufx_session_save_file(wrong, 0, own.c_str(), &error), GGUFX_OK, error, "");
        }
        expect(ggufx_session_load_file(session, 0, (rank == 2 ? own : path).c_str(), &error),
               GGUFX_E_MISMATCH, error, "rank 2: the checksum of the snapshot's tokens is");
        remove(own.c_str());
        CHECK(ggufx_session_length(session, 0) == 3, "the session has other tokens");
        expect(ggufx_session_load_file(session, 0, path.c_str(), &error), GGUFX_OK, error, "");
        CHECK(ggufx_session_length(session, 0) == 6, "the snapshot was not taken");
        expect(decode_ids(session, kIds, 1, nullptr, 0, &error), GGUFX_OK, error, "");
        ggufx_session_destroy(wrong);
        ggufx_session_destroy(session);
    });
    for (const auto &c : cases) remove(c.path.c_str());
    remove(path.c_str());
}

// After edits, the caches depend on removed tokens, which a snapshot of tokens does not have.
void edited_sequences_are_not_saved() {
    ThreadGroup group(1);
    const Rank part(g_model, of(group, 0));
    ggufx_session *session = make_session(part.model(), 64, GGUFX_OK, "");
    ggufx_error error = {};
    const std::string path = temporary("edited.snapshot");
    const auto save = [&](uint32_t sequence, ggufx_status status, const char *text) {
        expect(ggufx_session_save_file(session, sequence, path.c_str(), &error), status, error,
               text);
    };
    expect(decode_ids(session, kIds, 6, nullptr, 0, &error), GGUFX_OK, error, "");
    expect(ggufx_session_remove(session, 0, 4, 2, &error), GGUFX_OK, error, "");
    save(0, GGUFX_OK, ""); // no tokens followed the removed ones
    expect(ggufx_session_remove(session, 0, 1, 1, &error), GGUFX_OK, error, "");
    save(0, GGUFX_E_UNSUPPORTED, "sequence 0 has removed or shifted");
    save(1, GGUFX_OK, "");
    save(GGUFX_ALL_SEQUENCES, GGUFX_E_UNSUPPORTED, "sequence 0 has removed or shifted");
    expect(ggufx_session_copy(session, 0, 1, 3, &error), GGUFX_OK, error, "");
    save(1, GGUFX_E_UNSUPPORTED, "sequence 1 has removed or shifted");
    expect(ggufx_session_truncate(session, 0, 0, &error), GGUFX_OK, error, "");
    save(0, GGUFX_OK, "");
    expect(decode_ids(session, kIds, 6, nullptr, 0, &error), GGUFX_OK, error, "");
    expect(ggufx_session_shift(session, 0, 2, 4, 5, &error), GGUFX_OK, error, "");
    save(0, GGUFX_E_UNSUPPORTED, "sequence 0 has removed or shifted");
    expect(ggufx_session_load_file(session, 0, path.c_str(), &error), GGUFX_OK, error, "");
    save(0, GGUFX_OK, "");
    remove(path.c_str());
    ggufx_session_destroy(session);
}

void other_tokens_are_found_at_once() {
    ThreadGroup group(kRanks);
    group.run([&](uint32_t rank) {
        const Rank part(g_model, of(group, rank));
        ggufx_session *session = make_session(part.model(), 64, GGUFX_OK, "");
        ggufx_error error = {};
        int32_t ids[6];
        memcpy(ids, kIds, sizeof ids);
        if (rank == 2) ids[3]++;
        const ggufx_status status = decode_ids(session, ids, 6, nullptr, 0, &error);
        if (rank != 2) expect(status, GGUFX_E_MISMATCH, error, "rank 2 makes another call");
        CHECK(status == GGUFX_E_MISMATCH && ggufx_session_length(session, 0) == 0, "not refused");
        expect(decode_ids(session, kIds, 6, nullptr, 0, &error), GGUFX_E_STATE, error, "lost");
        ggufx_session_destroy(session);
    });
}

// With pipeline parallelism the timeout grows with the batch, because a rank answers only after its
// layers.
void who_has_layers_is_waited_for_by_tokens() {
    for (const size_t n : {1u, 16u, 40u}) {
        ThreadGroup group(2);
        group.run([&](uint32_t rank) {
            const Rank part(g_model, of(group, rank, 30000));
            ggufx_session_options options = {};
            options.struct_size = sizeof options;
            options.n_context = 64;
            ggufx_session *session = nullptr;
            ggufx_error error = {};
            expect(ggufx_session_create(&session, part.model(), &options, &error), GGUFX_OK, error,
                   "");
            const std::vector<int32_t> ids(n, 5);
            std::vector<float> logits(g_n_vocab);
            expect(decode_ids(session, ids.data(), n, logits.data(), logits.size(), &error),
                   GGUFX_OK, error, "");
            ggufx_session_destroy(session);
        });
        const uint32_t want = g_flags && n == 40 ? 90000 : 30000;
        CHECK(group.longest_timeout() == want, "%zu tokens: %u ms, not %u", n,
              group.longest_timeout(), want);
    }
}

// Rank 1 stops responding from message k.
void a_lost_rank_ends_all_and_leaves_sessions_as_they_were() {
    int n_lost = 0;
    const std::string six = temporary("six.snapshot");
    save_six(six, true);
    const std::string want = read(six);
    // Long enough for the rank's computation, also under sanitizers.
    const auto timeout_ms = static_cast<uint32_t>(300 * test_step() * test_step());
    for (int k = 0; k < 400; k += stride(k, 4)) {
        std::atomic<uint64_t> start{UINT64_MAX};
        std::atomic<bool> was_lost{false};
        ThreadGroup group(kRanks);
        group.set_fault([&](uint32_t rank, uint64_t call, std::vector<uint8_t> &) {
            const bool is_lost = rank == 1 && call >= start && call - start >= uint64_t(k);
            return ggufx_status{is_lost ? GGUFX_E_IO : GGUFX_OK};
        });
        group.run([&](uint32_t rank) {
            const Rank part(g_model, of(group, rank, timeout_ms));
            ggufx_session *session = make_session(part.model(), 64, GGUFX_OK, "");
            ggufx_error error = {};
            expect(decode_ids(session, kIds, 6, nullptr, 0, &error), GGUFX_OK, error, "");
            if (rank == 1) start = group.n_calls(1);
            const ggufx_status status = with_logits(session, nullptr, &error);
            if (status == GGUFX_OK) {
                CHECK(ggufx_session_length(session, 0) == 12, "the session has other tokens");
                ggufx_session_destroy(session);
                return;
            }
            was_lost = true;
            if (rank != 1) expect(status, GGUFX_E_IO, error, "");
            CHECK(ggufx_session_length(session, 0) == 6, "the session has other tokens");
            expect(with_logits(session, nullptr, &error), GGUFX_E_STATE, error, "lost a rank");
            const std::string own = temporary(("left-" + std::to_string(rank)).c_str());
            expect(ggufx_session_save_file(session, 0, own.c_str(), &error), GGUFX_OK, error, "");
            CHECK(read(own) == want, "another snapshot of what is left");
            remove(own.c_str());
            ggufx_session_destroy(session);
        });
        if (!was_lost) break;
        n_lost++;
    }
    remove(six.c_str());
    CHECK(n_lost > (kIsWhole ? 5 : 1), "%d ranks were lost", n_lost);
}

void wrong_groups_are_refused() {
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    ggufx_error error;
    (void)ggufx_runtime_create(&rt, nullptr, &error);
    (void)ggufx_open(&file, rt, g_model.c_str(), nullptr, &error);
    const auto refuses =
        [&](const char *text,
            const std::function<void(ggufx_group &, ggufx_group_options &)> &change) {
            ThreadGroup one(1);
            ggufx_group hooks = one.hooks(0);
            ggufx_group_options how = {};
            how.struct_size = sizeof how;
            how.group = &hooks;
            change(hooks, how);
            ggufx_model_options options = {};
            options.struct_size = sizeof options;
            options.group = &how;
            ggufx_model *model = nullptr;
            const ggufx_status status = ggufx_model_create(&model, rt, file, &options, &error);
            expect(status, *text ? GGUFX_E_ARGUMENT : GGUFX_OK, error, text);
            ggufx_model_destroy(model);
            CHECK(one.n_destroyed() == (how.group && hooks.destroy ? 1 : 0),
                  "%s: destroyed %d times", text, one.n_destroyed());
        };
    using Group = ggufx_group;
    using How = ggufx_group_options;
    static const uint32_t none[] = {0}, many[] = {(1u << 20) + 1};
    refuses("", [](Group &, How &) {});
    refuses("group must be set", [](Group &, How &how) { how.group = nullptr; });
    refuses("rank 1 of 1", [](Group &g, How &) { g.rank = 1; });
    refuses("rank 0 of 0", [](Group &g, How &) { g.size = 0; });
    refuses("rank 0 of 257", [](Group &g, How &) { g.size = 257; });
    refuses("all functions", [](Group &g, How &) { g.allgatherv = nullptr; });
    refuses("all functions", [](Group &g, How &) { g.abort = nullptr; });
    refuses("weights[0] is 0", [](Group &, How &how) { how.weights = none; });
    refuses("weights[0] is 1048577", [](Group &, How &how) { how.weights = many; });
    refuses("flags", [](Group &, How &how) { how.flags = 1u << 31; });
    refuses("", [](Group &, How &how) { how.flags = GGUFX_GROUP_PIPELINE; });
    refuses("flags", [](Group &g, How &) { g.flags = 2; });
    refuses("", [](Group &g, How &) { g.flags = GGUFX_GROUP_SHARED_MEMORY; });
    refuses("", [](Group &g, How &) { g.destroy = nullptr; });
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
}

void check_all() {
    what_differs_is_named();
    files_that_one_rank_refuses_are_refused_by_all();
    memory_that_one_rank_lacks_is_lacked_by_all();
    sessions_of_other_options_are_refused();
    calls_that_one_rank_cannot_begin();
    snapshots_that_one_rank_cannot_load();
    edited_sequences_are_not_saved();
    other_tokens_are_found_at_once();
    for (const Call call : {with_logits, without_logits, with_hidden}) {
        // Under CI's sanitizers: one call for tensor parallelism, another one for pipeline
        // parallelism.
        if (test_step() > 4 && call != (g_flags ? with_hidden : with_logits)) continue;
        what_one_rank_cancels_all_cancel(call);
    }
    memory_that_one_rank_lacks_for_a_call();
    what_a_rank_cannot_do_is_refused();
    who_has_layers_is_waited_for_by_tokens();
    a_lost_rank_ends_all_and_leaves_sessions_as_they_were();
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    g_model = argv[1];
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error = {};
    expect(ggufx_model_info(&facts, Rank(g_model).model(), &error), GGUFX_OK, error, "");
    g_width = facts.n_embedding;
    g_n_vocab = facts.n_vocab;
    wrong_groups_are_refused();
    for (const uint32_t flags : {0u, GGUFX_GROUP_PIPELINE}) {
        g_flags = flags;
        check_all();
    }
    printf("%d checks, %d failed\n", g_checks.load(), g_failed.load());
    return g_failed != 0;
}
