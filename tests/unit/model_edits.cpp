// Edits of sequences in a session with shared memory. Each sequence has the rows, bit for bit, of a
// session of its own with the same edits. Other sequences, snapshots and cancelled calls have no
// influence. Embeddings in place of tokens, gaps between positions, removed tokens and shifts, on
// models of every kind of memory.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "batch_calls.hpp"

extern "C" {
#include "test_step.h"
}

#include <math.h>
#include <stdio.h>

#include <algorithm>

namespace {

constexpr uint32_t kSequences = 4, kContext = 400;
constexpr uint64_t kTotal = 700;
constexpr size_t kOperations = 60;

constexpr const char *kFiles[] = {"deepseek2-lite", "gemma3", "gemma4",        "gpt-oss", "llama3",
                                  "llama4",         "qwen35", "granitehybrid", "mamba2"};
constexpr uint32_t kTypes[] = {GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0, GGUFX_TYPE_GX4};
constexpr uint32_t kWays[] = {GGUFX_MATMUL_BATCH_INVARIANT, GGUFX_MATMUL_TILED};

// Returns the factor of a model's embeddings.
float factor_of(const TinyFile &file, uint32_t width) {
    if (file.architecture.starts_with("gemma")) return sqrtf(static_cast<float>(width));
    return file.architecture == "granitehybrid" ? 12 : 1; // value of its key
}

std::vector<float> embeddings_of(const Opened &opened, const TinyFile &file, const Ids &ids) {
    const uint32_t width = facts_of(opened.model).n_embedding;
    constexpr char kName[] = "token_embd.weight";
    size_t index = 0;
    ggufx_error error;
    must(ggufx_file_tensor_find(&index, opened.file, kName, sizeof kName - 1, &error), error,
         kName);
    std::vector<float> out(ids.size() * width);
    for (size_t i = 0; i < ids.size(); i++)
        must(ggufx_dequantize(&out[i * width], width, g_runtime,
                              ggufx_file_tensor(opened.file, index), static_cast<uint64_t>(ids[i]),
                              1, &error),
             error, kName);
    for (float &value : out) value *= factor_of(file, width);
    return out;
}

// ---- equivalent inputs --------------------------------------------------------------------------

// Rows of token_embd equal the tokens, hidden states equal an embedder's, and positions without
// gaps equal the default positions.
void test_equal_ways(const TinyFile &file, const Opened &opened, uint32_t type) {
    const ggufx_model_facts facts = facts_of(opened.model);
    const CrowdMode mode = {.n_sequences = 3, .n_context = 120, .n_batch = 50, .type = type};
    ggufx_error error = {};
    ggufx_session *const session = make_session(opened.model, mode, &error);
    must(session ? GGUFX_OK : GGUFX_E_INTERNAL, error, "session");
    const Ids ids = random_ids(110, facts.n_vocab, 8);
    const std::vector<float> rows = embeddings_of(opened, file, ids);
    Ids positions(ids.size());
    for (size_t i = 0; i < positions.size(); i++) positions[i] = static_cast<int32_t>(i);
    Call call;
    call.flags = GGUFX_MATMUL_TILED;
    for (uint32_t s = 0; s < 3; s++)
        call.items.push_back(make_item(s, GGUFX_DECODE_ALL_LOGITS | GGUFX_DECODE_ALL_HIDDEN,
                                       ids.data(), ids.size()));
    call.items[1].input_rows = rows.data();
    call.items[1].n_input_rows = rows.size();
    call.items[2].positions = positions.data();
    must(call.run(session, facts, nullptr, &error), error, file.name.c_str());
    const auto part = [](const std::vector<float> &all, size_t i) {
        return std::vector<float>(all.begin() + static_cast<ptrdiff_t>(all.size() / 3 * i),
                                  all.begin() + static_cast<ptrdiff_t>(all.size() / 3 * (i + 1)));
    };
    for (size_t i = 1; i < 3; i++) {
        CHECK(part(call.logits, i) == part(call.logits, 0), "%s: other logits, item %zu",
              file.name.c_str(), i);
        CHECK(part(call.hidden, i) == part(call.hidden, 0), "%s: other hidden states, item %zu",
              file.name.c_str(), i);
    }
    ggufx_session_destroy(session);
    if (type != GGUFX_TYPE_F32) return;
    Embedder embedder(
        opened.model,
        {.matmul_flags = GGUFX_MATMUL_TILED, .pooling = GGUFX_POOLING_NONE, .n_context = 120});
    // The number of an expert's columns depends on the tokens that select it; an embedder computes
    // them one by one.
    const std::vector<float> want = embedder.embed({ids});
    const std::vector<float> got = part(call.hidden, 0);
    double worst = 0;
    for (size_t i = 0; i < want.size(); i++)
        worst = std::max(worst, std::fabs(double(got[i]) - double(want[i])));
    CHECK(want.size() == got.size() && worst < 0.05, "%s: hidden states are %g off an embedder's",
          file.name.c_str(), worst);
}

// ---- edits --------------------------------------------------------------------------------------

// Sequences of one session, and the same ones in sessions of their own.
class Pairs {
public:
    Pairs(const ggufx_model *model, const std::string &name, uint32_t type, uint32_t flags,
          uint64_t seed)
        : facts_(facts_of(model)), name_(name + ", type " + std::to_string(type)),
          flags_(flags), random_{seed} {
        CrowdMode mode = {.n_sequences = 1, .n_context = kContext, .n_batch = 90, .type = type};
        for (auto *&session : alone_) session = make(model, mode);
        mode.n_sequences = kSequences;
        mode.n_context_total = kTotal;
        crowd_ = make(model, mode);
    }
    Pairs(const Pairs &) = delete;
    ~Pairs() {
        for (auto *session : alone_) ggufx_session_destroy(session);
        ggufx_session_destroy(crowd_);
    }
    void run() {
        for (size_t i = 0; i < kOperations; i++) step();
    }
    size_t n_removed = 0, n_refused = 0, n_shifted = 0, n_full = 0, n_cancelled = 0;

private:
    // Tokens of an item.
    struct Text {
        Ids ids, positions;
        std::vector<float> rows;
    };

    ggufx_session *make(const ggufx_model *model, const CrowdMode &mode) const {
        ggufx_error error = {};
        ggufx_session *const session = make_session(model, mode, &error);
        must(session ? GGUFX_OK : GGUFX_E_INTERNAL, error, name_.c_str());
        return session;
    }
    uint64_t length(size_t i) const {
        return ggufx_session_length(crowd_, static_cast<uint32_t>(i));
    }
    Ids positions(const ggufx_session *session, uint32_t sequence) const;
    Text text(size_t sequence, size_t n);
    void step();
    void decode();
    void decode_alone(size_t sequence, ggufx_decode_item item, const float *&logits,
                      const float *&hidden);
    void remove();
    void shift();
    void truncate();
    void save_and_load();
    void check_same(const char *how);

    const ggufx_model_facts facts_;
    const std::string name_;
    const uint32_t flags_;
    Random random_;
    ggufx_session *crowd_ = nullptr, *alone_[kSequences] = {};
    bool edited_[kSequences] = {}; // recomputed tokens have other bits
    bool cut_[kSequences] = {};    // the next call recomputes tokens
};

Ids Pairs::positions(const ggufx_session *session, uint32_t sequence) const {
    Ids out(ggufx_session_length(session, sequence));
    ggufx_error error;
    must(ggufx_session_tokens(nullptr, out.data(), session, sequence, 0, out.size(), &error), error,
         name_.c_str());
    return out;
}

void Pairs::check_same(const char *how) {
    for (uint32_t i = 0; i < kSequences; i++)
        CHECK(positions(crowd_, i) == positions(alone_[i], 0), "%s, %s: sequence %u is another",
              name_.c_str(), how, i);
}

// One of three consists of embeddings, and one of three has gaps.
Pairs::Text Pairs::text(size_t sequence, size_t n) {
    Text out;
    const Ids before = positions(crowd_, static_cast<uint32_t>(sequence));
    int32_t next = before.empty() ? 0 : before.back() + 1;
    const bool gaps = random_.below(3) == 0;
    for (size_t i = 0; i < n; i++) {
        if (gaps && random_.below(5) == 0) next += static_cast<int32_t>(random_.below(40));
        out.ids.push_back(static_cast<int32_t>(random_.below(facts_.n_vocab)));
        out.positions.push_back(next++);
    }
    if (random_.below(3) == 0)
        for (size_t i = 0; i < n * facts_.n_embedding; i++)
            out.rows.push_back(static_cast<float>(random_.below(256)) / 128 - 1);
    return out;
}

void Pairs::decode_alone(size_t sequence, ggufx_decode_item item, const float *&logits,
                         const float *&hidden) {
    Call call;
    call.flags = flags_;
    item.sequence = 0;
    call.items.push_back(item);
    ggufx_error error = {};
    must(call.run(alone_[sequence], facts_, nullptr, &error), error, name_.c_str());
    const auto has = [](const std::vector<float> &all, const float *got) {
        return all.empty() || !memcmp(all.data(), got, all.size() * sizeof(float));
    };
    const bool same = has(call.logits, logits) && has(call.hidden, hidden);
    CHECK(same, "%s: other bits of sequence %zu, %llu tokens", name_.c_str(), sequence,
          static_cast<unsigned long long>(length(sequence)));
    logits += call.logits.size();
    hidden += call.hidden.size();
}

void Pairs::decode() {
    Call call;
    call.flags = flags_;
    std::vector<Text> texts(kSequences);
    for (uint32_t i = 0; i < kSequences; i++) {
        const size_t room = kContext - length(i);
        if (random_.below(3) == 0 || room == 0) continue;
        const size_t n = random_.below(2) ? 1 : 1 + random_.below(std::min<size_t>(room, 150));
        texts[i] = text(i, n);
        const Text &t = texts[i];
        ggufx_decode_item item =
            make_item(i, GGUFX_DECODE_LOGITS | (random_.below(2) ? GGUFX_DECODE_ALL_HIDDEN : 0),
                      t.rows.empty() || n % 2 ? t.ids.data() : nullptr, n);
        item.input_rows = t.rows.empty() ? nullptr : t.rows.data();
        item.n_input_rows = t.rows.size();
        item.positions = t.positions.data();
        call.items.push_back(item);
    }
    const Countdown end(static_cast<int>(1 + random_.below(20)));
    ggufx_error error = {};
    const ggufx_status status =
        call.run(crowd_, facts_, random_.below(4) ? nullptr : &end.progress, &error);
    n_cancelled += status == GGUFX_E_CANCELLED;
    n_full += status == GGUFX_E_CAPACITY;
    const bool told = status != GGUFX_E_CAPACITY || error.index < call.items.size();
    CHECK(told && (status == GGUFX_OK || status == GGUFX_E_CANCELLED || status == GGUFX_E_CAPACITY),
          "%s: %s", name_.c_str(), error.message);
    if (status != GGUFX_OK) return check_same("not decoded");
    const float *logits = call.logits.data(), *hidden = call.hidden.data();
    for (const ggufx_decode_item &item : call.items) {
        decode_alone(item.sequence, item, logits, hidden);
        cut_[item.sequence] = false;
    }
}

// Both sessions accept or refuse the same edits. The number of recomputed tokens after a truncation
// depends on earlier loads and cancelled calls; edited sequences show it, so they are not truncated
// here.
void Pairs::remove() {
    const auto i = static_cast<uint32_t>(random_.below(kSequences));
    const uint64_t first = random_.below(length(i) + 1),
                   n = random_.below(length(i) - first + 1) / (1 + random_.below(3));
    if (cut_[i] || (edited_[i] && first + n == length(i))) return;
    const ggufx_status status = ggufx_session_remove(crowd_, i, first, n, nullptr);
    const ggufx_status other = ggufx_session_remove(alone_[i], 0, first, n, nullptr);
    CHECK(status == other, "%s: remove %d, %d", name_.c_str(), status, other);
    const bool tail = first + n == length(i) + n;
    edited_[i] |= status == GGUFX_OK && n > 0 && !tail;
    cut_[i] |= status == GGUFX_OK && n > 0 && tail;
    n_refused += status != GGUFX_OK;
    n_removed += status == GGUFX_OK && n > 0 && !tail;
    check_same("removed");
}

// Closes the first gap.
void Pairs::shift() {
    const auto i = static_cast<uint32_t>(random_.below(kSequences));
    const Ids p = positions(crowd_, i);
    size_t first = 0;
    if (cut_[i]) return;
    while (first < p.size() && p[first] == (first ? p[first - 1] + 1 : 0)) first++;
    if (first == p.size()) return;
    const int32_t delta = (first ? p[first - 1] + 1 : 0) - p[first];
    const ggufx_status status =
        ggufx_session_shift(crowd_, i, first, p.size() - first, delta, nullptr);
    const ggufx_status other =
        ggufx_session_shift(alone_[i], 0, first, p.size() - first, delta, nullptr);
    CHECK(status == other, "%s: shift %d, %d", name_.c_str(), status, other);
    CHECK(status == GGUFX_OK || status == GGUFX_E_STATE, "%s: shift %d", name_.c_str(), status);
    edited_[i] |= status == GGUFX_OK;
    n_shifted += status == GGUFX_OK;
    check_same("shifted");
}

void Pairs::truncate() {
    const auto i = static_cast<uint32_t>(random_.below(kSequences));
    const uint64_t n = edited_[i] || random_.below(3) == 0 ? 0 : random_.below(length(i) + 1);
    ggufx_error error;
    must(ggufx_session_truncate(crowd_, i, n, &error), error, name_.c_str());
    must(ggufx_session_truncate(alone_[i], 0, n, &error), error, name_.c_str());
    cut_[i] = true;
    if (n == 0) edited_[i] = false;
}

void Pairs::save_and_load() {
    const bool all = random_.below(2) == 0;
    const auto i = static_cast<uint32_t>(random_.below(kSequences));
    const uint32_t which = all ? GGUFX_ALL_SEQUENCES : i;
    SnapshotFile file;
    ggufx_error error = {};
    must(ggufx_session_save(crowd_, which, SnapshotFile::write, &file, &error), error,
         name_.c_str());
    for (uint32_t s = 0; s < kSequences; s++)
        if (all || s == i)
            must(ggufx_session_truncate(crowd_, s, length(s) / 3, &error), error, "cut");
    must(ggufx_session_load(crowd_, which, SnapshotFile::read, &file, &error), error,
         name_.c_str());
    check_same("loaded");
}

void Pairs::step() {
    switch (random_.below(10)) {
    case 0:
    case 1:
        return remove();
    case 2:
        return shift();
    case 3:
        return truncate();
    case 4:
        return save_and_load();
    default:
        return decode();
    }
}

bool takes(const ggufx_model *model, uint32_t type) {
    ggufx_session *session = make_session(model, {.n_context = 10, .type = type}, nullptr);
    ggufx_session_destroy(session);
    return session != nullptr;
}

struct Totals {
    size_t removed = 0, refused = 0, shifted = 0, full = 0, cancelled = 0;
};

void test_edits(const TinyFile &file, const Opened &opened, uint64_t *done, Totals *totals) {
    for (const uint32_t type : kTypes) {
        if (!takes(opened.model, type) || (*done)++ % test_step()) continue;
        Pairs pairs(opened.model, file.name, type, kWays[*done % 2], *done);
        pairs.run();
        totals->removed += pairs.n_removed;
        totals->refused += pairs.n_refused;
        totals->shifted += pairs.n_shifted;
        totals->full += pairs.n_full;
        totals->cancelled += pairs.n_cancelled;
    }
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    size_t n_files = 0;
    uint64_t done = 0;
    Totals totals;
    for (const TinyFile &file : tiny_files()) {
        const auto is_it = [&](const char *name) { return file.name == name; };
        if (std::none_of(std::begin(kFiles), std::end(kFiles), is_it)) continue;
        n_files++;
        Opened opened(file.path);
        opened.with_model();
        for (const uint32_t type : {GGUFX_TYPE_F32, GGUFX_TYPE_Q8_0})
            if (takes(opened.model, type)) test_equal_ways(file, opened, type);
        test_edits(file, opened, &done, &totals);
    }
    CHECK(n_files == std::size(kFiles), "%zu of the models were found", n_files);
    printf("%zu removed, %zu refused, %zu shifted, %zu times full, %zu cancelled\n", totals.removed,
           totals.refused, totals.shifted, totals.full, totals.cancelled);
    CHECK(totals.removed * test_step() > 50 && totals.shifted * test_step() > 50 &&
              totals.full * test_step() > 20 && totals.cancelled * test_step() > 20 &&
              totals.refused > 0,
          "too little was done");
    return end();
}
