// Prompts processed in slices of rows. Products are computed while a message is pending, only on
// the thread of the call. A failure at any point on one rank fails on all ranks, and sessions stay
// unchanged. Ranks are threads. argv[1]: a model.
// SPDX-License-Identifier: MIT
#include "rank_checks.hpp"

extern "C" {
#include "test_step.h"
}

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <thread>

namespace {

// Forbids this thread to create threads.
bool refuse_threads() {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::string g_model;

// Step between tried k of long loops: a run takes a second under sanitizers.
uint64_t stride() {
    return test_step() == 1 ? 1 : 4 * test_step();
}

// For CI's sanitizers: TSan takes ten seconds for a case.
bool is_short() {
    return test_step() > 4;
}

constexpr uint32_t kRanks = 3, kContext = 200;
constexpr size_t kBefore = 21, kPrompt = 131; // slices begin at odd positions of sequences
constexpr uint64_t kNever = UINT64_MAX;

void expect(ggufx_status got, ggufx_status want, const ggufx_error &error, const char *text) {
    CHECK(got == want && strstr(error.message, text), "%s: %s; expected %s with \"%s\"",
          ggufx_status_name(got), error.message, ggufx_status_name(want), text);
}

// Runs all tasks in the calling thread, which must be the rank's thread; fails at a chosen call.
struct Executor {
    std::atomic<uint64_t> n_calls{0}, fail_at{kNever};
    std::atomic<int> n_foreign{0};
    std::thread::id home = std::this_thread::get_id();
    ggufx_executor hooks = {};
    Executor() {
        hooks.struct_size = sizeof hooks;
        hooks.max_workers = 2;
        hooks.user = this;
        hooks.parallel_for = [](void *user, uint32_t n, void (*task)(void *, uint32_t, uint32_t),
                                void *context) {
            auto &self = *static_cast<Executor *>(user);
            self.n_foreign += std::this_thread::get_id() != self.home;
            if (self.n_calls++ == self.fail_at) return ggufx_status{GGUFX_E_INTERNAL};
            for (uint32_t i = 0; i < n; i++) task(context, i, 0);
            return ggufx_status{GGUFX_OK};
        };
    }
};

// A rank with a session that holds kBefore tokens.
class Subject {
public:
    explicit Subject(const RankOptions &options) : rank_(g_model, options) {
        for (size_t i = 0; i < kContext; i++) ids_[i] = static_cast<int32_t>(i * i * 7 % 509 + 1);
        ggufx_session_options session = {};
        session.struct_size = sizeof session;
        session.n_context = kContext;
        session.n_sequences = 2;
        session.type_k = session.type_v = GGUFX_TYPE_Q8_0;
        CHECK(ggufx_session_create(&session_, rank_.model(), &session, &error_) == GGUFX_OK, "%s",
              error_.message);
        CHECK(decode_ids(session_, ids_, kBefore, nullptr, 0, &error_) == GGUFX_OK, "%s",
              error_.message);
    }
    Subject(const Subject &) = delete;
    ~Subject() { ggufx_session_destroy(session_); }

    // Decodes one more token of sequence 0 and a prompt of sequence 1, with logits of both or none.
    ggufx_status prompt(bool has_logits, const ggufx_progress *progress = nullptr) {
        ggufx_decode_item items[2] = {};
        items[0].n_tokens = 1;
        items[0].tokens = ids_ + kBefore;
        items[1].sequence = 1;
        items[1].n_tokens = kPrompt;
        items[1].tokens = ids_;
        for (ggufx_decode_item &item : items) {
            item.struct_size = sizeof item;
            item.flags = has_logits ? GGUFX_DECODE_LOGITS : 0;
        }
        ggufx_decode_options options = {};
        options.struct_size = sizeof options;
        options.progress = progress;
        std::vector<float> logits(has_logits ? 2 * n_vocab() : 0);
        options.logits = has_logits ? logits.data() : nullptr;
        options.n_logits = logits.size();
        const ggufx_status status = ggufx_session_decode(session_, items, 2, &options, &error_);
        if (status == GGUFX_OK) logits_ = logits;
        return status;
    }
    // Returns the logits of the prompt and of the next tokens.
    std::vector<float> results() {
        std::vector<float> out(n_vocab());
        expect(decode_ids(session_, ids_, 1, out.data(), out.size(), &error_), GGUFX_OK, error_,
               "");
        out.insert(out.end(), logits_.begin(), logits_.end());
        return out;
    }
    bool is_as_before() const {
        return ggufx_session_length(session_, 0) == kBefore &&
               ggufx_session_length(session_, 1) == 0;
    }
    const ggufx_error &error() const { return error_; }

private:
    size_t n_vocab() const {
        ggufx_model_facts facts = {};
        facts.struct_size = sizeof facts;
        (void)ggufx_model_info(&facts, rank_.model(), nullptr);
        return facts.n_vocab;
    }
    const Rank rank_;
    int32_t ids_[kContext];
    ggufx_session *session_ = nullptr;
    ggufx_error error_ = {};
    std::vector<float> logits_;
};

std::vector<float> expected(bool has_logits) {
    Subject alone({});
    expect(alone.prompt(has_logits), GGUFX_OK, alone.error(), "");
    return alone.results();
}

// Called before each message of rank 0 in a prompt; products(): number of products so far.
using Products = std::function<uint64_t()>;
using Seen = std::function<void(uint64_t message, const Products &products)>;

void watch_prompt(const std::vector<float> &want, bool has_thread, const Seen &seen) {
    Executor executors[kRanks];
    std::atomic<bool> is_watched{false};
    std::atomic<uint64_t> first{0}, before{0};
    std::atomic<int> n_aside{0};
    ThreadGroup group(kRanks);
    group.set_fault([&](uint32_t rank, uint64_t call, std::vector<uint8_t> &) {
        const Products products = [&] { return executors[0].n_calls - before; };
        if (rank != 0 || !is_watched) return ggufx_status{GGUFX_OK};
        n_aside += std::this_thread::get_id() != executors[0].home;
        seen(call - first, products);
        return ggufx_status{GGUFX_OK};
    });
    group.run([&](uint32_t rank) {
        executors[rank].home = std::this_thread::get_id();
        CHECK(rank != 0 || has_thread || refuse_threads(), "no filter: %s", strerror(errno));
        Subject part({&group, rank, nullptr, 60000, nullptr, 0, &executors[rank].hooks});
        if (rank == 0) {
            first = group.n_calls(0);
            before = executors[0].n_calls.load();
            is_watched = true;
        }
        expect(part.prompt(true), GGUFX_OK, part.error(), "");
        if (rank == 0) is_watched = false;
        CHECK(part.results() == want, "rank %u has other logits", rank);
        CHECK(executors[rank].n_foreign == 0, "rank %u: products in %d other threads", rank,
              executors[rank].n_foreign.load());
    });
    CHECK((n_aside > 0) == has_thread, "%d messages by another thread", n_aside.load());
}

// Without a thread for messages, each message is sent where it is posted. With one, each message
// waits in this test until a product after that point has run. That happens wherever products
// follow before the next message, except at the end, where slices wait for each other.
void products_run_while_a_message_is_under_way() {
    constexpr auto kLong = std::chrono::seconds(2);
    constexpr int kLast = 1;
    const std::vector<float> want = expected(true);
    std::vector<uint64_t> posted;
    watch_prompt(want, false,
                 [&](uint64_t, const Products &products) { posted.push_back(products()); });
    CHECK(posted.size() > 30, "%zu messages", posted.size());
    int n_followed = 0, n_beside = 0;
    watch_prompt(want, true, [&](uint64_t message, const Products &products) {
        if (message + 1 >= posted.size() || posted[message] == posted[message + 1]) return;
        n_followed++;
        const auto end = std::chrono::steady_clock::now() + kLong;
        while (products() == posted[message] && std::chrono::steady_clock::now() < end)
            std::this_thread::yield();
        n_beside += products() > posted[message];
    });
    CHECK(n_followed > 10 && n_beside >= n_followed - kLast,
          "products ran beside %d of %d messages", n_beside, n_followed);
}

// Progress callback that cancels at the k-th poll.
struct Poll {
    std::atomic<uint64_t> left;
    ggufx_progress hooks = {};
    explicit Poll(uint64_t k) : left(k) {
        hooks.user = this;
        hooks.report = [](void *user, uint64_t, uint64_t) -> int32_t {
            return static_cast<Poll *>(user)->left-- == 0;
        };
    }
};

// One rank fails at its k-th opportunity, for all k: all ranks fail, and continue unchanged.
// arm(k): the rank's prompt with that failure.
using Arm = std::function<ggufx_status(Subject &, Executor &, uint64_t k)>;

void all_fail_and_go_on(const char *what, bool has_logits, ggufx_status want, const char *text,
                        const Arm &arm) {
    const std::vector<float> results = expected(has_logits);
    int n_failed = 0;
    for (uint64_t k = 0; k < 100000; k += (1 + k / 8) * stride()) {
        std::atomic<int> n_refused{0};
        ThreadGroup group(kRanks, 3 + k);
        group.run([&](uint32_t rank) {
            Executor executor;
            Subject part({&group, rank, nullptr, 60000, nullptr, 0, &executor.hooks});
            const ggufx_status status =
                rank == k % kRanks ? arm(part, executor, k) : part.prompt(has_logits);
            executor.fail_at = kNever;
            if (status != GGUFX_OK) {
                n_refused++;
                expect(status, want, part.error(), text);
                CHECK(part.is_as_before(), "%s %llu: the session has other tokens", what,
                      static_cast<unsigned long long>(k));
                expect(part.prompt(has_logits), GGUFX_OK, part.error(), "");
            }
            CHECK(part.results() == results, "%s %llu: other logits", what,
                  static_cast<unsigned long long>(k));
        });
        CHECK(n_refused == 0 || n_refused == kRanks, "%s %llu: %d ranks failed", what,
              static_cast<unsigned long long>(k), n_refused.load());
        n_failed += n_refused != 0;
        if (n_refused == 0) break;
    }
    CHECK(n_failed > (test_step() == 1 ? 25 : 2), "%s: %d failures", what, n_failed);
}

void what_one_rank_cancels_all_cancel(bool has_logits) {
    all_fail_and_go_on("poll", has_logits, GGUFX_E_CANCELLED, "cancelled",
                       [=](Subject &part, Executor &, uint64_t k) {
                           Poll poll(k / kRanks);
                           return part.prompt(has_logits, &poll.hooks);
                       });
}

void what_one_rank_cannot_compute_all_cannot(bool has_logits) {
    all_fail_and_go_on("executor", has_logits, GGUFX_E_INTERNAL, "executor",
                       [=](Subject &part, Executor &executor, uint64_t k) {
                           executor.fail_at = executor.n_calls + k / kRanks;
                           return part.prompt(has_logits);
                       });
}

// Returns the number of executor calls in a rank's prompt.
uint64_t calls_of_a_prompt() {
    ThreadGroup group(kRanks);
    std::atomic<uint64_t> least{kNever};
    group.run([&](uint32_t rank) {
        Executor executor;
        Subject part({&group, rank, nullptr, 60000, nullptr, 0, &executor.hooks});
        const uint64_t before = executor.n_calls;
        expect(part.prompt(true), GGUFX_OK, part.error(), "");
        if (rank != 1) least = std::min<uint64_t>(least, executor.n_calls - before);
    });
    return least;
}

// Two ranks fail, each at a point of its own: all ranks get the message of one of them.
void two_failures_are_one() {
    const uint64_t n_calls = calls_of_a_prompt();
    CHECK(n_calls > 20, "%llu products", static_cast<unsigned long long>(n_calls));
    for (uint64_t k = 0; k < n_calls; k += stride() * (is_short() ? 2 : 1)) {
        ThreadGroup group(kRanks, 9 + k);
        std::atomic<int> n_internal{0};
        group.run([&](uint32_t rank) {
            Executor executor;
            Subject part({&group, rank, nullptr, 60000, nullptr, 0, &executor.hooks});
            if (rank != 1) executor.fail_at = executor.n_calls + (rank ? k * 7 % n_calls : k);
            n_internal += part.prompt(true) == GGUFX_E_INTERNAL;
            CHECK(part.is_as_before(), "the session has other tokens");
        });
        CHECK(n_internal == kRanks, "%d ranks failed", n_internal.load());
    }
}

// Rank 1 stops responding from message k, while other ranks compute or wait.
void a_lost_rank_ends_all() {
    int n_lost = 0;
    for (uint64_t k = 0; k < 400; k += (1 + k / 4) * stride()) {
        std::atomic<uint64_t> start{kNever};
        std::atomic<bool> was_lost{false};
        ThreadGroup group(kRanks);
        group.set_fault([&](uint32_t rank, uint64_t call, std::vector<uint8_t> &) {
            const bool is_lost = rank == 1 && call >= start && call - start >= k;
            return ggufx_status{is_lost ? GGUFX_E_IO : GGUFX_OK};
        });
        group.run([&](uint32_t rank) {
            Subject part({&group, rank, nullptr, 300});
            if (rank == 1) start = group.n_calls(1);
            const ggufx_status status = part.prompt(true);
            if (status == GGUFX_OK) return;
            was_lost = true;
            if (rank != 1) expect(status, GGUFX_E_IO, part.error(), "");
            CHECK(part.is_as_before(), "the session has other tokens");
            expect(part.prompt(true), GGUFX_E_STATE, part.error(), "lost a rank");
        });
        if (!was_lost) break;
        n_lost++;
    }
    CHECK(n_lost > (test_step() == 1 ? 10 : 1), "%d ranks were lost", n_lost);
}

// Allocation number k fails on rank 1.
struct Failing {
    std::atomic<int64_t> left{INT64_MAX};
    std::atomic<uint64_t> n_calls{0};
    ggufx_allocator hooks = {};
    Failing() {
        hooks.struct_size = sizeof hooks;
        hooks.user = this;
        hooks.alloc = [](void *user, size_t size, size_t align) -> void * {
            auto &self = *static_cast<Failing *>(user);
            self.n_calls++;
            if (self.left-- == 0) return nullptr;
            const size_t unit = align < 16 ? 16 : align; // sizes must be a multiple of it
            return aligned_alloc(unit, (size / unit + 1) * unit);
        };
        hooks.free = [](void *, void *p, size_t, size_t) { free(p); };
    }
};

void memory_for_a_session_is_wanted_by_all_and_a_prompt_takes_none() {
    int n_failed = 0;
    bool is_made = false;
    Failing failing;
    std::atomic<int> n_made{0};
    for (int64_t k = 0; k < 1000 && !is_made; k += int64_t(stride())) {
        n_made = 0;
        ThreadGroup one(2);
        one.run([&](uint32_t rank) {
            RankOptions options = {&one, rank};
            if (rank == 1) options.allocator = &failing.hooks;
            const Rank part(g_model, options);
            ggufx_session_options how = {};
            how.struct_size = sizeof how;
            how.n_context = how.n_batch = 128;
            ggufx_session *session = nullptr;
            ggufx_error error = {};
            if (rank == 1) failing.left = k;
            const ggufx_status status = ggufx_session_create(&session, part.model(), &how, &error);
            if (rank == 1) failing.left = INT64_MAX;
            n_made += status == GGUFX_OK;
            if (status != GGUFX_OK) expect(status, GGUFX_E_MEMORY, error, "");
            const std::vector<int32_t> ids(128, 7);
            const uint64_t n_calls = failing.n_calls;
            if (status == GGUFX_OK) {
                expect(decode_ids(session, ids.data(), ids.size(), nullptr, 0, &error), GGUFX_OK,
                       error, "");
                if (rank == 1)
                    CHECK(failing.n_calls == n_calls, "a prompt takes memory %llu times",
                          static_cast<unsigned long long>(failing.n_calls - n_calls));
            }
            ggufx_session_destroy(session);
        });
        CHECK(n_made == 0 || n_made == 2, "allocation %lld: %d sessions", static_cast<long long>(k),
              n_made.load());
        is_made = n_made == 2;
        n_failed += !is_made;
    }
    CHECK(is_made && n_failed > (test_step() == 1 ? 10 : 1), "%d allocations failed", n_failed);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    g_model = argv[1];
    products_run_while_a_message_is_under_way();
    for (const bool has_logits : {true, false}) {
        if (!has_logits && is_short()) continue;
        what_one_rank_cancels_all_cancel(has_logits);
        // two_failures_are_one() covers as many, on two ranks.
        if (!is_short()) what_one_rank_cannot_compute_all_cannot(has_logits);
    }
    two_failures_are_one();
    a_lost_rank_ends_all();
    memory_for_a_session_is_wanted_by_all_and_a_prompt_takes_none();
    printf("%d checks, %d failed\n", g_checks.load(), g_failed.load());
    return g_failed != 0;
}
