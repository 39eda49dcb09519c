// Many sequences in one session. Each has the logits, bit for bit, of a session of its own,
// whatever else is in the batch, truncated, copied, saved, loaded or cancelled. Random operations
// on models of every kind of memory, with row-wise calls, tiled calls, or both.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "batch_calls.hpp"

extern "C" {
#include "test_step.h"
}

#include <stdio.h>
#include <string.h>

#include <algorithm>

namespace {

constexpr uint32_t kSequences = 8, kContext = 230;
constexpr size_t kStreams = 6, kFamily = 3, kShared = 100; // streams of a family share a prefix
constexpr size_t kPrompt = 90; // tokens of the prompt, which may use another mode than later tokens

constexpr const char *kFiles[] = {"deepseek2-lite", "gemma3",  "gemma4", "gpt-oss",
                                  "llama3",         "mixtral", "qwen35", "qwen35moe",
                                  "granitehybrid",  "lfm2moe", "llama4", "mamba2"};

struct CacheType {
    const char *name;
    uint32_t type;
};
constexpr CacheType kTypes[] = {
    {"F16", GGUFX_TYPE_F16}, {"Q8_0", GGUFX_TYPE_Q8_0}, {"GX4", GGUFX_TYPE_GX4}};

// Product flags of a token by its position.
struct Way {
    const char *name;
    uint32_t prompt, token;
    uint32_t at(size_t place) const { return place < kPrompt ? prompt : token; }
    size_t end(size_t place) const { return place < kPrompt ? kPrompt : kContext; }
};
constexpr Way kWays[] = {
    {"rows", GGUFX_MATMUL_BATCH_INVARIANT, GGUFX_MATMUL_BATCH_INVARIANT},
    {"tiles", GGUFX_MATMUL_TILED, GGUFX_MATMUL_TILED},
    {"both", GGUFX_MATMUL_TILED | GGUFX_MATMUL_INT16, GGUFX_MATMUL_BATCH_INVARIANT},
};

// Number of operations for each type and mode. By default a model runs each type once, and each
// mode once.
const char *asked() {
    return getenv("GGUFX_TEST_BATCH_OPERATIONS");
}
size_t operations() {
    return asked() ? strtoul(asked(), nullptr, 10) : 60;
}

// One model with one cache type, in one mode.
class Crowd {
public:
    Crowd(const ggufx_model *model, const std::string &name, const CacheType &type, const Way &way,
          uint64_t seed)
        : model_(model), name_(name + ", " + type.name + ", " + way.name), type_(type.type),
          way_(way), facts_(facts_of(model)), n_vocab_(facts_.n_vocab), random_{seed} {
        for (size_t i = 0; i < kStreams; i++) {
            streams_.push_back(random_ids(kContext, n_vocab_, 100 + i));
            const Ids &first = streams_[i / kFamily * kFamily];
            std::copy_n(first.begin(), kShared, streams_[i].begin());
            const auto &both = alone(streams_[i]);
            want_.push_back(both.logits);
            want_hidden_.push_back(both.hidden);
        }
    }
    Crowd(const Crowd &) = delete;
    ~Crowd() { ggufx_session_destroy(session_); }

    void run(uint32_t n_batch, size_t n_operations);
    size_t n_cancelled() const { return n_cancelled_; }

private:
    struct Sequence {
        size_t stream = 0, length = 0;
    };

    struct Rows {
        std::vector<float> logits, hidden; // [kContext][..]
    };
    Rows alone(const Ids &ids);
    CrowdMode mode(uint32_t n_sequences, uint32_t n_batch) const {
        // the session's own flags, which no call uses
        return {
            .n_sequences = n_sequences, .n_context = kContext, .n_batch = n_batch, .type = type_};
    }
    void step();
    Call random_call(bool many);
    void check(const Call &call, const std::vector<size_t> &before);
    void check_lengths(const char *how);
    void decode(bool cancel);
    void truncate();
    void copy();
    void save_and_load();

    const ggufx_model *model_;
    const std::string name_;
    const uint32_t type_;
    const Way &way_;
    const ggufx_model_facts facts_;
    const size_t n_vocab_;
    Random random_;
    std::vector<Ids> streams_;
    std::vector<std::vector<float>> want_, want_hidden_; // [kContext][..] for each stream
    ggufx_session *session_ = nullptr;
    Sequence sequences_[kSequences];
    size_t n_cancelled_ = 0;
};

// Returns all rows of a stream in a session of its own: two calls, whole batches.
Crowd::Rows Crowd::alone(const Ids &ids) {
    ggufx_error error = {};
    ggufx_session *session = make_session(model_, mode(0, 0), &error);
    must(session ? GGUFX_OK : GGUFX_E_INTERNAL, error, name_.c_str());
    Rows out;
    for (size_t at = 0; at < kContext; at = way_.end(at)) {
        Call call;
        call.flags = way_.at(at);
        call.items.push_back(make_item(0, GGUFX_DECODE_ALL_LOGITS | GGUFX_DECODE_ALL_HIDDEN,
                                       ids.data() + at, way_.end(at) - at));
        must(call.run(session, facts_, nullptr, &error), error, name_.c_str());
        out.logits.insert(out.logits.end(), call.logits.begin(), call.logits.end());
        out.hidden.insert(out.hidden.end(), call.hidden.begin(), call.hidden.end());
    }
    ggufx_session_destroy(session);
    return out;
}

// Returns the next tokens of some sequences, in a random order.
Call Crowd::random_call(bool many) {
    Call call;
    uint32_t order[kSequences];
    for (uint32_t i = 0; i < kSequences; i++) order[i] = i;
    for (uint32_t i = kSequences; i > 1; i--) std::swap(order[i - 1], order[random_.below(i)]);
    for (const uint32_t i : order) {
        const Sequence &s = sequences_[i];
        if (s.length == kContext || random_.below(4) == 0) continue;
        if (!call.items.empty() && call.flags != way_.at(s.length)) continue;
        call.flags = way_.at(s.length);
        const size_t most = way_.end(s.length) - s.length;
        const size_t n = many && random_.below(3) == 0 ? 1 + random_.below(most) : 1;
        static constexpr uint32_t kFlags[] = {GGUFX_DECODE_LOGITS,
                                              GGUFX_DECODE_LOGITS | GGUFX_DECODE_ALL_HIDDEN,
                                              0,
                                              GGUFX_DECODE_ALL_LOGITS | GGUFX_DECODE_HIDDEN,
                                              GGUFX_DECODE_HIDDEN,
                                              GGUFX_DECODE_LOGITS | GGUFX_DECODE_CHECKPOINT};
        call.items.push_back(make_item(i, kFlags[random_.below(std::size(kFlags))],
                                       streams_[s.stream].data() + s.length, n));
    }
    return call;
}

void Crowd::check_lengths(const char *how) {
    for (uint32_t i = 0; i < kSequences; i++) {
        const uint64_t n = ggufx_session_length(session_, i);
        CHECK(n == sequences_[i].length, "%s, %s: sequence %u has %llu tokens, not %zu",
              name_.c_str(), how, i, static_cast<unsigned long long>(n), sequences_[i].length);
    }
}

void Crowd::check(const Call &call, const std::vector<size_t> &before) {
    const float *logits = call.logits.data(), *hidden = call.hidden.data();
    for (size_t i = 0; i < call.items.size(); i++) {
        const ggufx_decode_item &item = call.items[i];
        const size_t stream = sequences_[item.sequence].stream, end = before[i] + item.n_tokens;
        const auto same = [&](const float *&got, const std::vector<float> &all, size_t n,
                              size_t width) {
            const bool is =
                n == 0 || !memcmp(got, &all[(end - n) * width], n * width * sizeof(float));
            got += n * width;
            return is;
        };
        const size_t n = Call::rows_of(item, GGUFX_DECODE_LOGITS, GGUFX_DECODE_ALL_LOGITS);
        const size_t n_hidden = Call::rows_of(item, GGUFX_DECODE_HIDDEN, GGUFX_DECODE_ALL_HIDDEN);
        const bool equal = same(logits, want_[stream], n, n_vocab_);
        CHECK(same(hidden, want_hidden_[stream], n_hidden, facts_.n_embedding) && equal,
              "%s: item %zu of %zu: other bits of sequence %u, tokens %zu to %zu", name_.c_str(), i,
              call.items.size(), item.sequence, before[i], end);
    }
}

void Crowd::decode(bool cancel) {
    Call call = random_call(random_.below(3) == 0);
    const Countdown end(static_cast<int>(1 + random_.below(60)));
    ggufx_error error = {};
    const ggufx_status status =
        call.run(session_, facts_, cancel ? &end.progress : nullptr, &error);
    CHECK(status == GGUFX_OK || (cancel && status == GGUFX_E_CANCELLED), "%s: %s", name_.c_str(),
          error.message);
    n_cancelled_ += status != GGUFX_OK;
    if (status != GGUFX_OK) return check_lengths("cancelled");
    std::vector<size_t> before;
    for (const ggufx_decode_item &item : call.items) {
        before.push_back(sequences_[item.sequence].length);
        sequences_[item.sequence].length += item.n_tokens;
    }
    check(call, before);
}

// Often to nothing, and then continues as another stream.
void Crowd::truncate() {
    const auto i = static_cast<uint32_t>(random_.below(kSequences));
    Sequence &s = sequences_[i];
    const size_t n = random_.below(3) ? random_.below(s.length + 1) : 0;
    ggufx_error error = {};
    must(ggufx_session_truncate(session_, i, n, &error), error, name_.c_str());
    s.length = n;
    if (n <= kShared) s.stream = s.stream / kFamily * kFamily + random_.below(kFamily);
    if (n == 0) s.stream = random_.below(kStreams);
}

void Crowd::copy() {
    const auto from = static_cast<uint32_t>(random_.below(kSequences));
    const auto to = static_cast<uint32_t>(random_.below(kSequences));
    const size_t n =
        random_.below(2) ? sequences_[from].length : random_.below(sequences_[from].length + 1);
    ggufx_error error = {};
    if (from != to && random_.below(4)) { // few sequences are empty
        must(ggufx_session_truncate(session_, to, 0, &error), error, name_.c_str());
        sequences_[to].length = 0;
    }
    const ggufx_status status = ggufx_session_copy(session_, from, to, n, &error);
    const bool fits = from != to && sequences_[to].length == 0;
    CHECK(status == (fits ? GGUFX_OK : GGUFX_E_STATE), "%s: copy %u to %u: %s", name_.c_str(), from,
          to, error.message);
    if (fits) sequences_[to] = {sequences_[from].stream, n};
    check_lengths("copied");
}

void Crowd::save_and_load() {
    const auto from = static_cast<uint32_t>(random_.below(kSequences));
    const auto to = static_cast<uint32_t>(random_.below(kSequences));
    const bool all = random_.below(3) == 0;
    const std::vector<Sequence> before(sequences_, sequences_ + kSequences);
    SnapshotFile file;
    ggufx_error error = {};
    must(ggufx_session_save(session_, all ? GGUFX_ALL_SEQUENCES : from, SnapshotFile::write, &file,
                            &error),
         error, name_.c_str());
    const bool cut = random_.below(4) == 0;
    if (cut) file.bytes.resize(random_.below(file.bytes.size()));
    if (all) decode(false); // the load reverts it
    const ggufx_status status = ggufx_session_load(session_, all ? GGUFX_ALL_SEQUENCES : to,
                                                   SnapshotFile::read, &file, &error);
    CHECK(status == (cut ? GGUFX_E_TRUNCATED : GGUFX_OK), "%s: load: %s", name_.c_str(),
          error.message);
    if (!cut && all) std::copy(before.begin(), before.end(), sequences_);
    if (!cut && !all) sequences_[to] = sequences_[from];
    check_lengths("loaded");
}

void Crowd::step() {
    switch (random_.below(10)) {
    case 0:
        return truncate();
    case 1:
        return copy();
    case 2:
        return save_and_load();
    case 3:
        return decode(true);
    default:
        return decode(false);
    }
}

void Crowd::run(uint32_t n_batch, size_t n_operations) {
    ggufx_error error = {};
    ggufx_session_destroy(session_);
    session_ = make_session(model_, mode(kSequences, n_batch), &error);
    must(session_ ? GGUFX_OK : GGUFX_E_INTERNAL, error, name_.c_str());
    for (uint32_t i = 0; i < kSequences; i++) sequences_[i] = {random_.below(kStreams), 0};
    for (size_t i = 0; i < n_operations; i++) step();
}

bool takes(const ggufx_model *model, uint32_t type) {
    ggufx_session *session = make_session(model, {.n_context = kContext, .type = type}, nullptr);
    ggufx_session_destroy(session);
    return session != nullptr;
}

ggufx_runtime *make_runtime(int32_t isa, uint32_t threads) {
    ggufx_runtime_options options = {};
    options.struct_size = sizeof options;
    options.isa = isa;
    options.threads = threads;
    ggufx_runtime *runtime = nullptr;
    ggufx_error error;
    must(ggufx_runtime_create(&runtime, &options, &error), error, "runtime");
    return runtime;
}

void test_file(const TinyFile &file, ggufx_runtime *runtime, size_t *done, size_t *n_cancelled) {
    static size_t turn = 0;
    turn++;
    Opened opened(file.path);
    ggufx_error error;
    must(ggufx_model_create(&opened.model, runtime, opened.file, nullptr, &error), error,
         file.path.c_str());
    for (const CacheType &type : kTypes) {
        if (!takes(opened.model, type.type)) {
            CHECK(type.type != GGUFX_TYPE_F16, "%s: no F16 cache", file.name.c_str());
            continue;
        }
        for (const Way &way : kWays) {
            const auto place = static_cast<size_t>(&type - kTypes + (&way - kWays));
            if (!asked() && (place + turn) % std::size(kWays) != 0) continue;
            if ((*done)++ % test_step() != 0) continue;
            Crowd crowd(opened.model, file.name, type, way, *done);
            for (const uint32_t n_batch : {0u, 37u, 3u}) crowd.run(n_batch, operations() / 3);
            *n_cancelled += crowd.n_cancelled();
        }
    }
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    ggufx_runtime *const best = make_runtime(GGUFX_ISA_BEST, 2);
    ggufx_runtime *const scalar = make_runtime(GGUFX_ISA_SCALAR, 1);
    size_t n_files = 0, done = 0, n_cancelled = 0;
    for (const TinyFile &file : tiny_files()) {
        const auto is_it = [&](const char *name) { return file.name == name; };
        if (std::none_of(std::begin(kFiles), std::end(kFiles), is_it)) continue;
        n_files++;
        test_file(file, file.name == "llama3" ? scalar : best, &done, &n_cancelled);
    }
    CHECK(n_files == std::size(kFiles), "%zu of the models were found", n_files);
    CHECK(n_cancelled * test_step() > 20, "%zu calls were cancelled", n_cancelled);
    ggufx_runtime_destroy(scalar);
    ggufx_runtime_destroy(best);
    return end();
}
