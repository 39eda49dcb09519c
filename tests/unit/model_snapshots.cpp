// Caches and states of every kind of model, through internals. A saved session continues in another
// one with the bits of an uninterrupted run, also after truncations. Damaged snapshots and those of
// another session are refused and change nothing. Sequences are copied.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "fault_model.hpp"

#include "../state/memory_file.hpp"
#include "abi/model_handles.hpp"
#include "base/crc64.hpp"
#include "run/runner.hpp"

extern "C" {
#include "test_step.h"
}

#include <stdio.h>
#include <string.h>

#include <algorithm>

namespace {

using ggufx::Failure;
using ggufx::Status;

constexpr const char *kFiles[] = {"deepseek2-lite", "gemma3", "gemma4", "gpt-oss",
                                  "granitehybrid",  "mamba2", "qwen35"};
constexpr uint32_t kTypes[] = {GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0, GGUFX_TYPE_GX4};
constexpr size_t kTokens = 480; // windows of 16 tokens have dropped pages
constexpr uint32_t kContext = 500;

ggufx::model::Session &inner(const Session &session) {
    return session.handle()->session;
}

MemoryFile saved(const Session &session) {
    MemoryFile file;
    Failure failure{};
    const Status status = inner(session).save(0, MemoryFile::write, &file, &failure);
    CHECK(status == Status::ok, "save: %s", failure.message);
    return file;
}

Status load(const Session &session, MemoryFile &file, Failure *failure) {
    file.at = 0;
    return inner(session).load(0, {MemoryFile::read, &file, MemoryFile::ended}, failure);
}

// Offsets in the snapshot of a sequence of 70 tokens: its header ends with a checksum at kEnd.
constexpr size_t kCountsAt = 8 + 4 + 4, kIdsAt = kCountsAt + 16, kPositionsAt = kIdsAt + 4 * 70,
                 kModesAt = kPositionsAt + 4 * 70, kEnd = kModesAt + 70;

void sign(MemoryFile &file, size_t end) {
    const uint64_t crc = ggufx::crc64(0, file.bytes.data(), end);
    ggufx::store_u32le(&file.bytes[end], static_cast<uint32_t>(crc));
    ggufx::store_u32le(&file.bytes[end + 4], static_cast<uint32_t>(crc >> 32));
}

class Subject {
public:
    Subject(const std::string &name, const ggufx_model *model, uint32_t type)
        : name_(name + ", type " + std::to_string(type)),
          model_(model), mode_{GGUFX_MATMUL_BATCH_INVARIANT, type, type, kContext, 100},
          tokens_(random_ids(kTokens, vocabulary_of(model), 21)),
          want_(Session(model, mode_).decode(tokens_)) {}

    void run() {
        goes_on();
        goes_on_where_it_was_cut();
        damage_is_refused();
        other_parts_are_refused();
        odd_numbers_are_refused();
        the_version_before_is_read();
    }

private:
    void decode(Session &session, size_t first, size_t end, const char *how);
    // Checks that a failed load leaves a session of 70 tokens unchanged.
    void refuses(MemoryFile &file, const char *how);
    void goes_on();
    void goes_on_where_it_was_cut();
    void damage_is_refused();
    void other_parts_are_refused();
    void odd_numbers_are_refused();
    void the_version_before_is_read();

    const std::string name_;
    const ggufx_model *model_;
    const Mode mode_;
    const Ids tokens_;
    const std::vector<float> want_; // [kTokens][n_vocab]
};

void Subject::decode(Session &session, size_t first, size_t end, const char *how) {
    const std::vector<float> got = session.decode(tokens_.data() + first, end - first);
    CHECK(memcmp(got.data(), &want_[first * session.n_vocab()], got.size() * sizeof(float)) == 0,
          "%s, %s: other bits in tokens %zu to %zu", name_.c_str(), how, first, end);
}

void Subject::refuses(MemoryFile &file, const char *how) {
    Session session(model_, mode_);
    decode(session, 0, 70, "before a load");
    const MemoryFile before = saved(session);
    Failure failure{};
    const Status status = load(session, file, &failure);
    const bool tells = failure.message[0] || file.end != Status::ok; // ended() failed itself
    CHECK(status != Status::ok && tells, "%s: %s was loaded", name_.c_str(), how);
    CHECK(saved(session).bytes == before.bytes, "%s: %s: changed", name_.c_str(), how);
    decode(session, 70, 90, "after a load that failed");
}

// Loads into a session with tokens, into a new one, and once more from there.
void Subject::goes_on() {
    for (const size_t n : {1u, 64u, 65u, 300u, 470u}) {
        Session from(model_, mode_), to(model_, mode_), third(model_, mode_);
        decode(from, 0, n, "before a save");
        if (n == 65) decode(to, 0, 200, "before a load");
        MemoryFile file = saved(from);
        Failure failure{};
        CHECK(load(to, file, &failure) == Status::ok, "%s: %s", name_.c_str(), failure.message);
        CHECK(file.at == file.bytes.size() && file.ends == 1, "%s: %zu of %zu bytes, %ld ends",
              name_.c_str(), file.at, file.bytes.size(), file.ends);
        CHECK(ggufx_session_length(to.handle(), 0) == n, "%s: another length", name_.c_str());
        MemoryFile again = saved(to);
        CHECK(again.bytes == file.bytes, "%s: another snapshot", name_.c_str());
        CHECK(load(third, again, &failure) == Status::ok, "%s: %s", name_.c_str(), failure.message);
        decode(to, n, n + 7, "after a load");
        decode(from, n, n + 7, "after a save");
        CHECK(ggufx_session_truncate(to.handle(), 0, n / 2, nullptr) == GGUFX_OK, "%s: truncate",
              name_.c_str());
        decode(to, n / 2, n / 2 + 5, "cut after a load");
        CHECK(ggufx_session_truncate(third.handle(), 0, 0, nullptr) == GGUFX_OK, "%s: truncate",
              name_.c_str());
        if (n > 64) decode(third, 0, std::min(n, size_t{200}), "emptied after a load");
    }
}

// Tokens that the next decode recomputes are saved as such.
void Subject::goes_on_where_it_was_cut() {
    Session from(model_, mode_), to(model_, mode_);
    decode(from, 0, 300, "before a cut");
    CHECK(ggufx_session_truncate(from.handle(), 0, 205, nullptr) == GGUFX_OK, "%s: truncate",
          name_.c_str());
    MemoryFile file = saved(from);
    Failure failure{};
    CHECK(load(to, file, &failure) == Status::ok, "%s: %s", name_.c_str(), failure.message);
    CHECK(ggufx_session_length(to.handle(), 0) == 205, "%s: another length", name_.c_str());
    decode(to, 205, 240, "cut, saved and loaded");
}

void Subject::damage_is_refused() {
    Session from(model_, mode_);
    decode(from, 0, 150, "before a save");
    const MemoryFile whole = saved(from);
    Random random = {3};
    for (int i = 0; i < 24; i++) { // mostly in the headers of the parts, which are short
        MemoryFile file = whole;
        file.calls = 0;
        const size_t at = i < 8 ? static_cast<size_t>(i) * 13 : random.below(file.bytes.size());
        if (i % 2) {
            file.bytes[at] ^= static_cast<uint8_t>(1u << random.below(8));
            refuses(file, "a flipped bit");
        } else {
            file.bytes.resize(at);
            refuses(file, "an end that lacks");
        }
    }
    MemoryFile file = whole;
    file.end = Status::malformed;
    refuses(file, "what goes on behind its end");
    file = whole;
    file.calls = 0;
    file.fail_at = 9;
    refuses(file, "a reader that fails");
}

// Valid parts that do not belong together.
void Subject::other_parts_are_refused() {
    Session from(model_, mode_), shorter(model_, mode_);
    decode(from, 0, 150, "before a save");
    decode(shorter, 0, 149, "before a save");
    const auto part = [&](const Session &session, bool caches) {
        MemoryFile all = saved(session), rest;
        const size_t head = 8 + 4 + 4 + 8 + 8 + 9 * ggufx_session_length(session.handle(), 0) + 8;
        rest.bytes.assign(all.bytes.begin() + (caches ? static_cast<ptrdiff_t>(head) : 0),
                          caches ? all.bytes.end()
                                 : all.bytes.begin() + static_cast<ptrdiff_t>(head));
        return rest;
    };
    MemoryFile file = part(from, false), rest = part(shorter, true);
    file.bytes.insert(file.bytes.end(), rest.bytes.begin(), rest.bytes.end());
    refuses(file, "the caches of a shorter session");
    // The headers of the caches, and all but the last part, of the longer one.
    constexpr size_t kHead = 8 + 4 + 4 * 8 + 8;
    const MemoryFile own = part(from, true);
    file = part(from, false);
    file.bytes.insert(file.bytes.end(), own.bytes.begin(), own.bytes.begin() + kHead);
    file.bytes.insert(file.bytes.end(), rest.bytes.begin() + kHead, rest.bytes.end());
    refuses(file, "caches of another length");
    file = part(from, false);
    file.bytes.insert(file.bytes.end(), file.bytes.begin(), file.bytes.end());
    refuses(file, "a head in place of caches");
}

// Invalid numbers in a header with a valid checksum.
void Subject::odd_numbers_are_refused() {
    Session from(model_, mode_);
    decode(from, 0, 70, "before a save");
    const MemoryFile whole = saved(from);
    const auto changed = [&](size_t at, uint32_t value) {
        MemoryFile file = whole;
        ggufx::store_u32le(&file.bytes[at], value);
        sign(file, kEnd);
        return file;
    };
    MemoryFile same = changed(kCountsAt, 70);
    Session to(model_, mode_);
    CHECK(same.bytes == whole.bytes && load(to, same, nullptr) == Status::ok, "%s: the checksum",
          name_.c_str());
    const struct {
        size_t at;
        uint32_t value;
        Status status;
    } cases[] = {{0, 7, Status::magic},
                 {8, 1, Status::version},
                 {8, 5, Status::version},
                 {8, 4, Status::mismatch}, // tokens of ranks, which store their model here
                 {12, 2, Status::mismatch},
                 {12, 0, Status::mismatch},
                 {kCountsAt, kContext + 1, Status::capacity},
                 {kCountsAt + 4, 1, Status::capacity},
                 {kCountsAt + 8, 71, Status::malformed},
                 {kCountsAt + 8, 69, Status::mismatch},
                 {kIdsAt + 4 * 50, static_cast<uint32_t>(to.n_vocab()), Status::malformed},
                 {kIdsAt + 4 * 69, UINT32_MAX, Status::malformed},
                 {kPositionsAt, UINT32_MAX, Status::malformed},
                 {kPositionsAt + 4 * 50, 49, Status::malformed},
                 {kPositionsAt + 4 * 69, INT32_MAX, Status::malformed},
                 {kModesAt + 40, 0x02200202, Status::malformed},  // no such mode
                 {kModesAt + 41, 0x02020205, Status::malformed},  // F32 and PRECISE
                 {kModesAt + 66, 0x0a020202, Status::malformed}}; // BATCH_INVARIANT and TILES
    for (const auto &odd : cases) {
        MemoryFile file = changed(odd.at, odd.value);
        Failure failure{};
        const Status status = load(to, file, &failure);
        CHECK(status == odd.status && failure.message[0], "%s: %u at %zu: status %d: %s",
              name_.c_str(), odd.value, odd.at, static_cast<int>(status), failure.message);
    }
    MemoryFile file = changed(kModesAt + 40, 0x02120202); // rows that do not exist
    CHECK(load(to, file, nullptr) != Status::ok, "%s: loaded without its rows", name_.c_str());
    if (!model_->model.graph().caches.empty()) {
        file = changed(kPositionsAt + 4 * 69, 75); // the caches have another token there
        CHECK(load(to, file, nullptr) == Status::malformed, "%s: loaded", name_.c_str());
    }
    decode(to, 70, 90, "after loads that failed");
}

// Format without positions and number of sequences.
void Subject::the_version_before_is_read() {
    Session from(model_, mode_), to(model_, mode_);
    decode(from, 0, 70, "before a save");
    MemoryFile file = saved(from);
    const auto at = [&](size_t n) { return file.bytes.begin() + static_cast<ptrdiff_t>(n); };
    file.bytes.erase(at(kPositionsAt), at(kModesAt));
    file.bytes.erase(at(12), at(16));
    ggufx::store_u32le(&file.bytes[8], 2);
    sign(file, kEnd - 4 * 70 - 4);
    Failure failure{};
    CHECK(load(to, file, &failure) == Status::ok, "%s: %s", name_.c_str(), failure.message);
    decode(to, 70, 90, "after a load of the version before");
}

// ---- memory -------------------------------------------------------------------------------------

struct Loading {
    const ggufx_model *model;
    MemoryFile file;
    Mode mode;
};

// Every allocation of a load fails once; after a successful load, decoding allocates nothing.
void test_memory(const TinyFile &tiny, uint32_t type) {
    FaultModel faulty(tiny);
    fault &memory = faulty.memory;
    const ggufx_model *const model = faulty.model;
    ggufx_error error;
    const Mode mode = {GGUFX_MATMUL_BATCH_INVARIANT, type, type, kContext, 100};
    const Ids ids = random_ids(kContext, vocabulary_of(model), 4);
    Session from(model, mode), to(model, mode);
    (void)from.decode(ids.data(), 450);
    (void)to.decode(ids.data(), 70);
    MemoryFile snapshot = saved(from);
    const MemoryFile before = saved(to);
    const long long live = memory.live_bytes;
    Status status = Status::memory;
    long n = 0;
    Failure failure{};
    while (status != Status::ok && n < 1000) {
        fault_reset(&memory);
        memory.fail_at = ++n;
        status = load(to, snapshot, &failure);
        memory.fail_at = 0;
        if (status == Status::ok) break;
        CHECK(status == Status::memory, "%s: %s", tiny.name.c_str(), failure.message);
        CHECK(saved(to).bytes == before.bytes && memory.live_bytes == live,
              "%s: allocation %ld: changed", tiny.name.c_str(), n);
    }
    CHECK(memory.live_bytes <= live, "%s, type %u: %lld bytes more after a load", tiny.name.c_str(),
          type, memory.live_bytes - live);
    const long least = tiny.architecture == "mamba2" ? 2 : 10; // no keys and values
    CHECK(n > least && n < 1000, "%s: %ld allocations", tiny.name.c_str(), n);
    fault_reset(&memory);
    for (const size_t cut : {450u, 490u, 200u, 499u, 10u, 480u}) {
        const size_t length = ggufx_session_length(to.handle(), 0);
        if (cut < length)
            must(ggufx_session_truncate(to.handle(), 0, cut, &error), error, "truncate");
        else if (cut > length)
            must(decode_ids(to.handle(), &ids[length], cut - length, nullptr, 0, &error), error,
                 "decode");
    }
    CHECK(memory.calls == 0, "%s, type %u: decoding allocated after a load", tiny.name.c_str(),
          type);
}

// ---- copies -------------------------------------------------------------------------------------

uint32_t id_of(uint32_t type) {
    return ggufx::kv::type_of(type)->id;
}

// Sequences of one set of caches, whose calls are single batches.
class Sequences {
public:
    Sequences(const ggufx_model *model, uint32_t type)
        : model_(model->model), caches_(model_.graph(), model_.host(), model_.engine().kernels(),
                                        {kContext, id_of(type), id_of(type), kBatch, 4, 3, 0, 0}),
          scratch_(model_.graph().row_floats * kBatch), rows_(model_.host().get(), kBatch, 3) {
        for (const ggufx::model::RopeTable &rope_table : model_.graph().rope_tables)
            frequencies_.push_back(model_.graph().frequencies.data() + rope_table.start(kContext));
    }
    ggufx::model::Caches &caches() { return caches_; }
    std::vector<float> decode(uint32_t sequence, const int32_t *tokens, size_t n) {
        ggufx::matmul::Options options;
        options.batch_invariant = true;
        const ggufx::model::Runner::Memory memory = {scratch_.data(), kBatch, frequencies_.data()};
        ggufx::model::Runner run(model_.graph(), model_.engine(), caches_, memory, options);
        const size_t n_vocab = model_.shape().n_vocab;
        std::vector<float> logits(n * n_vocab);
        Failure failure{};
        const uint64_t length = caches_.length(sequence);
        Status status = caches_.begin(sequence, 0, n, &failure);
        for (size_t done = 0; status == Status::ok && done < n; done += kBatch) {
            const size_t some = std::min(n - done, kBatch);
            rows_.clear();
            const uint64_t first = length + done;
            rows_.add({.sequence = sequence,
                       .first = first,
                       .n = some,
                       .ids = tokens + done,
                       .positions = nullptr,
                       .position = static_cast<int32_t>(first),
                       .n_logits = some});
            run.begin({logits.data() + done * n_vocab, nullptr}, rows_);
            bool complete = false;
            status = run.advance(nullptr, &complete, &failure);
        }
        CHECK(status == Status::ok, "decode: %s", failure.message);
        caches_.commit(sequence, n);
        return logits;
    }

private:
    static constexpr size_t kBatch = 40;
    const ggufx::model::Model &model_;
    ggufx::model::Caches caches_;
    std::vector<float> scratch_;
    std::vector<const double *> frequencies_;
    ggufx::model::BatchRows rows_;
};

// Two copies continue from one sequence, each with the bits of a sequence of its own; the original
// continues, too.
void test_copies(const TinyFile &tiny, const ggufx_model *model, uint32_t type) {
    const Ids shared = random_ids(200, vocabulary_of(model), 31),
              a = random_ids(90, vocabulary_of(model), 32),
              b = random_ids(90, vocabulary_of(model), 33);
    Sequences two(model, type), fresh(model, type);
    const auto run = [](Sequences &s, uint32_t sequence, const Ids &ids) {
        return s.decode(sequence, ids.data(), ids.size());
    };
    (void)run(two, 0, shared);
    (void)run(two, 0, a);
    Failure failure{};
    const uint64_t n = two.caches().nearest(0, 200), odd = two.caches().nearest(0, 250);
    CHECK(n == 200 || n == 192, "%s: nearest to 200 is %llu", tiny.name.c_str(),
          static_cast<unsigned long long>(n));
    if (odd != 250)
        CHECK(two.caches().copy(0, 1, 250, &failure) == Status::state && failure.index == odd,
              "%s: copied where nothing fits", tiny.name.c_str());
    CHECK(two.caches().copy(0, 1, n, &failure) == Status::ok, "%s: %s", tiny.name.c_str(),
          failure.message);
    CHECK(two.caches().copy(0, 1, n, &failure) == Status::state, "%s: copied twice",
          tiny.name.c_str());
    CHECK(two.caches().copy(0, 3, n, &failure) == Status::argument, "%s: sequence 3",
          tiny.name.c_str());
    const Ids rest(shared.begin() + static_cast<ptrdiff_t>(n), shared.end());
    if (!rest.empty()) (void)run(two, 1, rest);
    CHECK(two.caches().copy(1, 2, 200, &failure) == Status::ok, "%s: %s", tiny.name.c_str(),
          failure.message); // the last page, which all of them share
    (void)run(fresh, 0, shared);
    (void)run(fresh, 1, shared);
    const std::vector<float> want_a = run(fresh, 0, a), want_b = run(fresh, 1, b);
    CHECK(run(two, 1, b) == want_b, "%s, type %u: the copy has other bits", tiny.name.c_str(),
          type);
    CHECK(run(two, 2, a) == want_a, "%s, type %u: the second copy has other bits",
          tiny.name.c_str(), type);
    CHECK(run(two, 0, b) == run(fresh, 0, b), "%s, type %u: the first one has other bits",
          tiny.name.c_str(), type);
}

// A copy that fails to allocate changes nothing; after a successful copy, decoding allocates
// nothing.
void test_memory_of_copies(const TinyFile &tiny, uint32_t type) {
    FaultModel faulty(tiny);
    fault &memory = faulty.memory;
    const ggufx_model *const model = faulty.model;
    Sequences sequences(model, type);
    const Ids ids = random_ids(100, vocabulary_of(model), 31);
    (void)sequences.decode(0, ids.data(), 100);
    Failure failure{};
    long n = 0;
    for (Status status = Status::memory; status != Status::ok && n < 1000;) {
        fault_reset(&memory);
        memory.fail_at = ++n;
        status = sequences.caches().copy(0, 1, 100, &failure);
        memory.fail_at = 0;
        CHECK(status == Status::ok || status == Status::memory, "%s: %s", tiny.name.c_str(),
              failure.message);
        CHECK(sequences.caches().length(1) == (status == Status::ok ? 100 : 0),
              "%s: allocation %ld: a copy in part", tiny.name.c_str(), n);
    }
    CHECK(n < 1000, "%s: no copy", tiny.name.c_str());
    fault_reset(&memory);
    const std::vector<float> one = sequences.decode(0, ids.data(), 100);
    CHECK(sequences.decode(1, ids.data(), 100) == one, "%s: other bits", tiny.name.c_str());
    CHECK(memory.calls == 0, "%s, type %u: decoding allocated after a copy", tiny.name.c_str(),
          type);
}

// A file that differs in one bit of a norm is another model.
void test_models_are_distinguished(const TinyFile &tiny, const Opened &opened) {
    ggufx_error error;
    ggufx_tensor_facts norm = {};
    norm.struct_size = sizeof norm;
    size_t index = 0;
    constexpr char kNorm[] = "output_norm.weight";
    must(ggufx_file_tensor_find(&index, opened.file, kNorm, sizeof kNorm - 1, &error), error,
         kNorm);
    must(ggufx_tensor_info(&norm, ggufx_file_tensor(opened.file, index), &error), error, kNorm);
    std::string bytes = read_bytes(tiny.path);
    bytes[norm.file_offset] ^= 1;
    ggufx_file *file = nullptr;
    ggufx_model *other = nullptr;
    must(ggufx_open_memory(&file, g_runtime, bytes.data(), bytes.size(), nullptr, nullptr, nullptr,
                           &error),
         error, "open");
    must(ggufx_model_create(&other, g_runtime, file, nullptr, &error), error, "model");
    {
        const Mode mode = {GGUFX_MATMUL_BATCH_INVARIANT, GGUFX_TYPE_F16, GGUFX_TYPE_F16, kContext,
                           0};
        Session from(opened.model, mode), same(opened.model, mode), to(other, mode);
        (void)from.decode(random_ids(20, from.n_vocab(), 4));
        MemoryFile snapshot = saved(from);
        Failure failure{};
        CHECK(load(to, snapshot, &failure) == Status::mismatch && strstr(failure.message, "model"),
              "%s: loaded by another model: %s", tiny.name.c_str(), failure.message);
        CHECK(load(same, snapshot, &failure) == Status::ok, "%s: %s", tiny.name.c_str(),
              failure.message);
    }
    ggufx_model_destroy(other);
    ggufx_file_destroy(file);
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    size_t n_files = 0, done = 0;
    for (const TinyFile &file : tiny_files()) {
        const auto is_it = [&](const char *name) { return file.name == name; };
        if (std::none_of(std::begin(kFiles), std::end(kFiles), is_it)) continue;
        n_files++;
        Opened opened(file.path);
        const ggufx_model *model = opened.with_model().model;
        for (const uint32_t type : kTypes) {
            if (done++ % test_step()) continue;
            Subject(file.name, model, type).run();
            test_copies(file, model, type);
            test_memory(file, type);
            test_memory_of_copies(file, type);
        }
        test_models_are_distinguished(file, opened);
    }
    CHECK(n_files == std::size(kFiles), "%zu of the models were found", n_files);
    return end();
}
