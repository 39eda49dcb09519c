// The server's scheduler: a model that computes logits by arithmetic, a clock that advances per
// computed token, clients that disconnect at any time.
// SPDX-License-Identifier: MIT
#include "serve/scheduler.hpp"
#include "check.hpp"

#include <cstdio>
#include <set>

using namespace ggufx::cli;

namespace {

using Ids = std::vector<int32_t>;

// A token's logits depend on all tokens before it and their modes, so that any mix-up by the
// scheduler changes the output.
class FakeMachine : public DecodeBackend {
public:
    FakeMachine(uint32_t n_sequences, uint32_t n_batch)
        : rows_(n_sequences), reserved_(n_sequences), n_batch_(n_batch),
          logits_((n_sequences + n_batch) * 2) {}
    uint32_t n_sequences() const override { return static_cast<uint32_t>(rows_.size()); }
    uint32_t n_vocab() const override { return 2; }
    uint32_t n_batch() const override { return n_batch_; }

    const float *decode(std::span<const Item> items, Path path,
                        const std::function<bool()> &is_cancelled) override {
        n_calls++;
        std::set<uint32_t> seen;
        uint64_t n = 0;
        for (const Item &item : items) {
            CHECK(seen.insert(item.sequence).second);
            CHECK(!item.ids.empty());
            n += item.ids.size();
        }
        most = std::max(most, n);
        time += 0.001 * static_cast<double>(n);
        if (is_cancelled()) throw Refused(Refused::Why::cancelled, "cancelled");
        for (const Item &item : items)
            for (const int32_t id : item.ids) {
                if (id == fails_at) throw Refused(Refused::Why::other, "a NaN");
                if (id == full_at && n_full > 0) {
                    n_full--;
                    throw Refused(Refused::Why::memory, "no memory");
                }
            }
        size_t row = 0;
        for (const Item &item : items) {
            for (size_t i = 0; i < item.ids.size(); i++) {
                rows_[item.sequence].push_back(item.ids[i] * 2 + (path == Path::rows));
                if (item.logits == Logits::all ||
                    (item.logits == Logits::last && i + 1 == item.ids.size()))
                    logits_.at(2 * row++) = value(rows_[item.sequence]);
            }
        }
        return logits_.data();
    }
    void truncate(uint32_t sequence, uint64_t n) override {
        CHECK(n <= rows_[sequence].size());
        rows_[sequence].resize(n);
    }
    bool copy(uint32_t from, uint32_t to, uint64_t n) override {
        CHECK(rows_[to].empty() && from != to && n <= rows_[from].size());
        if (refuses_copies) return false;
        rows_[to].assign(rows_[from].begin(), rows_[from].begin() + static_cast<ptrdiff_t>(n));
        n_copies++;
        return true;
    }
    // Memory for `room` tokens in total, if that is set.
    bool reserve(uint32_t sequence, uint64_t n) override {
        uint64_t others = 0;
        for (size_t i = 0; i < reserved_.size(); i++)
            if (i != sequence) others += std::max<uint64_t>(reserved_[i], rows_[i].size());
        if (room > 0 && others + n > room) return false;
        reserved_[sequence] = n;
        return true;
    }
    static float value(const Ids &row) {
        uint32_t hash = 7;
        for (const int32_t id : row) hash = (hash ^ static_cast<uint32_t>(id)) * 16777619u;
        return static_cast<float>(hash % 1000);
    }

    double time = 0;
    uint64_t n_calls = 0, n_copies = 0, most = 0;
    uint64_t room = 0;
    int32_t fails_at = -1, full_at = -1, n_full = 0;
    bool refuses_copies = false;

private:
    std::vector<Ids> rows_;
    std::vector<uint64_t> reserved_;
    uint32_t n_batch_;
    std::vector<float> logits_;
};

struct FakeWriter : Writer {
    FakeWriter(FakeMachine &backend_, size_t n) : machine(backend_), n_wanted(n) {}
    bool is_gone() override { return gone; }
    bool is_late() override { return late; }
    void score(size_t first, std::span<const float> logits) override {
        CHECK(first == scores.size());
        for (size_t i = 0; i < logits.size(); i += 2)
            scores.push_back(static_cast<int32_t>(logits[i]));
    }
    void begin(size_t n) override {
        CHECK(begun == 0 || machine.n_calls == 0);
        n_cached = n;
        begun = machine.n_calls;
    }
    void pass() override { n_passed++; }
    std::optional<int32_t> next(std::span<const float> logits) override {
        out.push_back(static_cast<int32_t>(logits[0]));
        if (last > 0) longest = std::max(longest, machine.time - last);
        last = machine.time;
        if (out.size() < n_wanted) return out.back();
        ended = machine.n_calls;
        return {};
    }
    void fail(const std::string &why, bool is_full) override {
        failure = why;
        full = is_full;
    }
    void stop(const std::string &) override { stopped = true; }

    FakeMachine &machine;
    size_t n_wanted, n_cached = 0;
    uint64_t n_passed = 0, begun = 0, ended = 0;
    Ids out, scores;
    double last = 0, longest = 0;
    bool gone = false, late = false, stopped = false, full = false;
    std::string failure;
};

Ids made(int32_t first, size_t n) {
    Ids out;
    for (size_t i = 0; i < n; i++) out.push_back(first + static_cast<int32_t>(i % 50));
    return out;
}

struct Bench {
    explicit Bench(uint32_t n_sequences, SchedulerOptions options = {}, uint32_t n_batch = 64)
        : machine(n_sequences, n_batch),
          scheduler(machine, options, [this] { return machine.time; }) {}
    std::shared_ptr<FakeWriter> add(const Ids &prompt, size_t n, uint64_t owner = 0,
                                    std::shared_ptr<Job> first = nullptr, bool share = true) {
        auto writer = std::make_shared<FakeWriter>(machine, n);
        last_job = std::make_shared<Job>();
        last_job->prompt = prompt;
        last_job->owner = owner;
        last_job->cache = shared_cache ? 0 : owner;
        last_job->most = n;
        last_job->writer = writer;
        last_job->first = std::move(first);
        last_job->share = share;
        scheduler.add(last_job);
        return writer;
    }
    void run() {
        for (int i = 0; !scheduler.is_idle(); i++) {
            CHECK(i < 100000);
            scheduler.step();
        }
    }
    FakeMachine machine;
    Scheduler scheduler;
    std::shared_ptr<Job> last_job;
    bool shared_cache = false;
};

Ids alone(const Ids &prompt, size_t n, Path answers = Path::rows) {
    SchedulerOptions options;
    options.answers = answers;
    Bench bench(1, options);
    const auto writer = bench.add(prompt, n);
    bench.run();
    return writer->out;
}

void texts_among_others_are_those_alone() {
    for (const Path answers : {Path::rows, Path::tiles}) {
        for (const uint32_t n_sequences : {1u, 3u, 16u}) {
            SchedulerOptions options;
            options.answers = answers;
            Bench bench(n_sequences, options, 16);
            std::vector<std::shared_ptr<FakeWriter>> writers;
            std::vector<Ids> prompts;
            for (int i = 0; i < 40; i++) {
                prompts.push_back(made(i % 3, 5 + static_cast<size_t>(i * 7 % 90)));
                writers.push_back(bench.add(prompts.back(), 1 + static_cast<size_t>(i % 9),
                                            static_cast<uint64_t>(i % 4)));
                if (i % 5 == 0) bench.scheduler.step();
            }
            bench.run();
            for (size_t i = 0; i < writers.size(); i++)
                CHECK(writers[i]->out == alone(prompts[i], 1 + i % 9, answers));
            CHECK(n_sequences < 16 || bench.scheduler.counts().n_cached_tokens > 0);
        }
    }
}

void a_conversation_that_goes_on_takes_its_beginning() {
    Bench bench(2);
    const Ids first = made(1, 40);
    const auto one = bench.add(first, 20);
    bench.run();
    Ids more = first;
    more.insert(more.end(), one->out.begin(), one->out.end());
    more.push_back(9);
    const auto two = bench.add(more, 5);
    bench.run();
    CHECK(two->n_cached == 40); // the answer was decoded row-wise, and the prompt is tiled
    CHECK(two->out == alone(more, 5));
    SchedulerOptions tiles;
    tiles.answers = Path::tiles;
    Bench both(2, tiles);
    const auto three = both.add(first, 20);
    both.run();
    more = first;
    more.insert(more.end(), three->out.begin(), three->out.end());
    const auto four = both.add(more, 5);
    both.run();
    CHECK(four->n_cached == 59); // the last token was never computed
    CHECK(four->out == alone(more, 5, Path::tiles));
}

void beginnings_are_not_shared_between_owners_unless_asked() {
    for (const bool share : {false, true}) {
        Bench bench(4);
        bench.shared_cache = share;
        bench.add(made(1, 60), 2, 1);
        bench.run();
        const auto other = bench.add(made(1, 60), 2, 2);
        const auto same = bench.add(made(1, 60), 2, 1);
        const auto none = bench.add(made(1, 60), 2, 1, nullptr, false);
        bench.run();
        CHECK(other->n_cached == (share ? 59u : 0u));
        CHECK(same->n_cached == 59);
        CHECK(none->n_cached == 0);
        CHECK(other->out == same->out && none->out == same->out);
    }
}

void a_prompt_is_read_once_for_many() {
    Bench bench(8);
    std::vector<std::shared_ptr<FakeWriter>> writers;
    for (int i = 0; i < 8; i++) {
        Ids prompt = made(1, 1000);
        prompt.push_back(60 + i);
        writers.push_back(bench.add(prompt, 3));
    }
    bench.run();
    CHECK(bench.scheduler.counts().n_prompt_tokens <=
          1001 + 7 * 65); // no wait for a shorter prefix
    for (size_t i = 1; i < 8; i++) CHECK(writers[i]->n_cached > 1000 - 64);
    Bench texts(4);
    const auto first = texts.add(made(1, 30), 3);
    const auto second = texts.add(made(1, 30), 3, 0, texts.last_job);
    texts.run();
    CHECK(second->n_cached == 29 && second->out == first->out);
}

void a_copy_that_has_no_memory_is_computed() {
    Bench bench(2);
    bench.machine.refuses_copies = true;
    bench.add(made(1, 200), 50);
    for (int i = 0; i < 10; i++) bench.scheduler.step();
    const auto other = bench.add(made(1, 200), 3);
    bench.run();
    CHECK(other->n_cached == 0 && other->out == alone(made(1, 200), 3));
}

void a_long_prompt_does_not_stop_others() {
    SchedulerOptions options;
    options.prompt_seconds = 0.01; // ten tokens of this model
    Bench bench(4, options, 512);
    const auto writer = bench.add(made(1, 8), 300);
    for (int i = 0; i < 5; i++) bench.scheduler.step();
    const auto long_one = bench.add(made(70, 2000), 2);
    const auto short_one = bench.add(made(200, 12), 2);
    bench.run();
    CHECK(writer->longest < 0.01 + 0.005 + 0.032); // the rate is unknown at first
    CHECK(short_one->ended < long_one->ended);
    CHECK(writer->out == alone(made(1, 8), 300));
    CHECK(bench.machine.most <= 512);
}

void owners_take_turns() {
    Bench bench(1);
    std::vector<std::shared_ptr<FakeWriter>> many;
    for (int i = 0; i < 10; i++) many.push_back(bench.add(made(1, 8), 3, 1));
    const auto other = bench.add(made(1, 8), 3, 2);
    bench.run();
    CHECK(other->begun <= many[1]->begun);
    for (size_t i = 1; i < many.size(); i++) CHECK(many[i - 1]->begun <= many[i]->begun);
    CHECK(many[9]->n_passed > 0);
}

void who_leaves_frees_the_place_at_the_next_step() {
    Bench bench(1);
    const auto gone = bench.add(made(1, 8), 1000);
    const auto queued = bench.add(made(1, 8), 5);
    const auto waits = bench.add(made(3, 8), 5);
    for (int i = 0; i < 5; i++) bench.scheduler.step();
    gone->gone = queued->gone = true;
    bench.scheduler.step();
    CHECK(bench.scheduler.counts().n_left == 2);
    CHECK(waits->begun > 0);
    const size_t n = gone->out.size();
    bench.run();
    CHECK(gone->out.size() == n && queued->out.empty() && waits->out == alone(made(3, 8), 5));
    const auto reads = bench.add(made(5, 5000), 5); // disconnects during prefill
    bench.scheduler.step();
    reads->gone = true;
    bench.run();
    CHECK(reads->out.empty() && bench.scheduler.counts().n_running == 0);
}

void a_fault_of_one_is_nobody_elses() {
    Bench bench(4);
    bench.machine.fails_at = 999;
    const auto good = bench.add(made(1, 20), 10);
    Ids bad = made(1, 10);
    bad.push_back(999);
    const auto faulty = bench.add(bad, 10);
    const auto other = bench.add(made(4, 20), 10);
    bench.run();
    CHECK(faulty->failure == "a NaN" && !faulty->full && faulty->out.empty());
    CHECK(good->out == alone(made(1, 20), 10) && other->out == alone(made(4, 20), 10));
}

void without_memory_free_places_give_theirs() {
    Bench bench(3);
    bench.add(made(1, 40), 3);
    bench.run();
    CHECK(bench.scheduler.counts().n_held == 40); // tokens in the prefix cache
    bench.machine.full_at = 777;
    bench.machine.n_full = 1;
    const Ids prompt = {777, 1, 2};
    const auto tried = bench.add(prompt, 3);
    bench.run();
    CHECK(tried->failure.empty() && tried->out == alone(prompt, 3));
    CHECK(bench.scheduler.counts().n_held == 3);
    bench.machine.n_full = 3;
    const auto refused = bench.add(prompt, 3, 5);
    bench.run();
    CHECK(refused->full && refused->out.empty());
}

void stop_ends_all() {
    Bench bench(1);
    const auto runs = bench.add(made(1, 8), 100), waits = bench.add(made(1, 8), 100);
    for (int i = 0; i < 5; i++) bench.scheduler.step();
    bench.scheduler.stop("the end");
    CHECK(runs->stopped && waits->stopped && bench.scheduler.is_idle());
    const auto later = bench.add(made(1, 8), 4);
    bench.run();
    CHECK(later->out == alone(made(1, 8), 4));
}

// Hash collisions change which prefixes are found, but no output.
void hashes_decide_nothing() {
    const auto zero = [](uint64_t, uint64_t) { return uint64_t{7}; };
    PrefixIndex index(3, 1, zero);
    std::vector<PrefixIndex::Code> a(200), b(200), c(200);
    for (size_t i = 0; i < 200; i++) {
        a[i] = static_cast<uint32_t>(i);
        b[i] = i < 130 ? a[i] : 9;
        c[i] = 5;
    }
    const auto begin = [&](uint32_t sequence, uint64_t owner,
                           std::span<const PrefixIndex::Code> codes) {
        index.begin(sequence, owner);
        for (size_t i = 0; i < codes.size(); i += 7)
            index.append(sequence, codes.subspan(i, std::min<size_t>(7, codes.size() - i)));
    };
    begin(0, 1, a);
    begin(1, 1, c);
    begin(2, 2, b);
    CHECK(index.find(1, b).sequence == 0 && index.find(1, b).n == 130);
    CHECK(index.find(2, a).sequence == 2 && index.find(2, a).n == 130);
    CHECK(index.find(3, a).n == 0);
    index.cut(0, 100);
    CHECK(index.find(1, a).n == 100);
    index.cut(0, 15); // shorter than the minimum for a copy
    CHECK(index.find(1, a).n == 0);
    index.begin(0, 2);
    CHECK(index.codes(0).empty() && index.find(2, c).n == 0);
}

// Prefixes of finished requests are found among many, by whole pages and within one; more slots
// than parallel requests.
void beginnings_of_ended_texts_are_kept() {
    SchedulerOptions options;
    options.n_parallel = 2;
    Bench bench(40, options);
    for (int i = 0; i < 30; i++) bench.add(made(100 * i, 70 + static_cast<size_t>(i)), 2);
    bench.run();
    CHECK(bench.scheduler.counts().n_kept > 30 * 70);
    for (int i = 0; i < 30; i++) {
        Ids prompt = made(100 * i, 70 + static_cast<size_t>(i));
        prompt.push_back(5);
        const auto writer = bench.add(prompt, 3);
        bench.run();
        CHECK(writer->n_cached == 70u + static_cast<size_t>(i) && writer->out == alone(prompt, 3));
    }
}

// With memory for a third of the tokens all requests finish; a preempted request gives the same
// output.
void a_text_that_gave_its_place_back_goes_on() {
    for (const Path answers : {Path::rows, Path::tiles}) {
        SchedulerOptions options;
        options.answers = answers;
        Bench bench(8, options);
        bench.machine.room = 1400;
        std::vector<std::shared_ptr<FakeWriter>> writers;
        for (int i = 0; i < 8; i++)
            writers.push_back(bench.add(made(40 * i, 30), 600, static_cast<uint64_t>(i % 3)));
        bench.run();
        CHECK(bench.scheduler.counts().n_preempted > 0);
        for (int i = 0; i < 8; i++)
            CHECK(writers[static_cast<size_t>(i)]->out == alone(made(40 * i, 30), 600, answers));
        const auto large = bench.add(made(3, 2000), 5); // never fits
        bench.run();
        CHECK(large->full && large->out.empty());
    }
}

void who_waits_long_gets_a_place_of_one_with_many() {
    SchedulerOptions options;
    options.patience_seconds = 0.5;
    Bench bench(4, options);
    std::vector<std::shared_ptr<FakeWriter>> many;
    for (int i = 0; i < 8; i++) many.push_back(bench.add(made(40 * i, 30), 2000, 1));
    for (int i = 0; i < 100; i++) bench.scheduler.step();
    const auto other = bench.add(made(7, 30), 10, 2);
    const double start = bench.machine.time;
    while (other->ended == 0) bench.scheduler.step();
    CHECK(bench.machine.time - start < 1.0);
    CHECK(bench.scheduler.counts().n_preempted == 1);
    bench.run();
    CHECK(bench.scheduler.counts().n_again > 0);
    for (int i = 0; i < 8; i++)
        CHECK(many[static_cast<size_t>(i)]->out == alone(made(40 * i, 30), 2000));
    CHECK(other->out == alone(made(7, 30), 10));
}

// Deficit round robin: an owner of long requests does not get more tokens than one of short
// requests.
void owners_get_as_many_tokens() {
    Bench bench(1);
    std::vector<std::shared_ptr<FakeWriter>> large, small;
    for (int i = 0; i < 6; i++) large.push_back(bench.add(made(i, 1000), 200, 1));
    for (int i = 0; i < 60; i++) small.push_back(bench.add(made(i + 7, 40), 60, 2));
    while (large[2]->ended == 0) bench.scheduler.step();
    size_t n = 0; // finished short requests, which have as many tokens as the long ones
    for (const auto &writer : small) n += writer->ended > 0;
    CHECK(n >= 20 && n <= 50);
    bench.run();
}

void scores_are_those_of_every_token() {
    for (const size_t n : {1u, 16u, 17u, 100u}) {
        Bench bench(3);
        bench.add(made(1, 64), 3);
        const Ids prompt = made(1, n);
        const auto other = bench.add(made(9, 100), 10);
        const auto writer = bench.add(prompt, 4);
        bench.last_job->scores = true;
        bench.run();
        CHECK(writer->n_cached == 0 && writer->scores.size() == n);
        Ids row;
        for (size_t i = 0; i < n; i++) {
            row.push_back(prompt[i] * 2);
            CHECK(writer->scores[i] == static_cast<int32_t>(FakeMachine::value(row)));
        }
        CHECK(writer->out == alone(prompt, 4) && other->out == alone(made(9, 100), 10));
    }
}

void who_is_late_ends() {
    Bench bench(1);
    const auto runs = bench.add(made(1, 8), 1000), waits = bench.add(made(1, 8), 10);
    for (int i = 0; i < 5; i++) bench.scheduler.step();
    runs->late = waits->late = true;
    bench.run();
    CHECK(runs->stopped && waits->stopped && runs->out.size() > 2 && waits->out.empty());
    CHECK(bench.scheduler.counts().n_left == 0);
}

// Four times as many equal requests take four times the work, plus at most a third.
void work_grows_with_what_is_asked() {
    const auto calls = [](int n) {
        Bench bench(4);
        for (int i = 0; i < n; i++) bench.add(made(i, 30), 20);
        bench.run();
        return bench.machine.n_calls;
    };
    CHECK(calls(400) <= calls(100) * 16 / 3);
}

} // namespace

int main() {
    texts_among_others_are_those_alone();
    a_conversation_that_goes_on_takes_its_beginning();
    beginnings_are_not_shared_between_owners_unless_asked();
    a_prompt_is_read_once_for_many();
    a_copy_that_has_no_memory_is_computed();
    a_long_prompt_does_not_stop_others();
    owners_take_turns();
    who_leaves_frees_the_place_at_the_next_step();
    a_fault_of_one_is_nobody_elses();
    without_memory_free_places_give_theirs();
    stop_ends_all();
    hashes_decide_nothing();
    beginnings_of_ended_texts_are_kept();
    a_text_that_gave_its_place_back_goes_on();
    who_waits_long_gets_a_place_of_one_with_many();
    owners_get_as_many_tokens();
    scores_are_those_of_every_token();
    who_is_late_ends();
    work_grows_with_what_is_asked();
    std::printf("%d checks\n", g_checks);
    return g_checks > 100 ? 0 : 1;
}
