// Workers that run tasks of several owners: turns, one running task per owner, and tasks that throw.
// SPDX-License-Identifier: MIT
#include "serve/fair_workers.hpp"
#include "check.hpp"

#include <atomic>
#include <future>
#include <new>
#include <string>

using namespace ggufx::cli;

namespace {

// One thread, held by a task until run(), and the letters of the tasks in the order they ran.
class Turns {
public:
    FairWorkers workers{1};
    std::string order;

    Turns() {
        workers.add(9, [&] {
            begin_.get_future().wait();
            return false;
        });
    }
    // Adds a task that runs n_pieces times.
    void add(uint32_t owner, char letter, int n_pieces = 1) {
        workers.add(owner, [this, letter, n_pieces]() mutable {
            order += letter;
            return --n_pieces > 0;
        });
    }
    void run() {
        begin_.set_value();
        while (!workers.is_idle()) std::this_thread::yield();
    }

private:
    std::promise<void> begin_;
};

// Tasks of two owners wait for a task that blocks; then one thread takes them in turns.
void test_owners_take_turns() {
    Turns turns;
    for (int i = 0; i < 5; i++) turns.add(1, 'a');
    for (int i = 0; i < 2; i++) turns.add(2, 'b');
    CHECK(turns.workers.n_waiting() >= 7);
    turns.run();
    CHECK(turns.order == "ababaaa");
    CHECK(turns.workers.n_waiting() == 0);
}

// A task in pieces goes on after the other owner's tasks, and before later tasks of its owner.
void test_pieces() {
    Turns turns;
    turns.add(1, 'p', 3);
    turns.add(1, 'a');
    for (int i = 0; i < 2; i++) turns.add(2, 'b');
    turns.run();
    CHECK(turns.order == "pbpbpa");
}

// An owner whose tasks never end has one thread; the other owner's task runs at once.
void test_one_running_task_per_owner() {
    FairWorkers workers(2);
    std::promise<void> done;
    std::atomic<int> n_running = 0, most = 0;
    const auto finished = done.get_future().share();
    for (int i = 0; i < 4; i++)
        workers.add(1, [&] {
            const int now = ++n_running;
            if (now > most) most = now;
            finished.wait();
            n_running--;
            return false;
        });
    workers.add(2, [&] {
        done.set_value();
        return false;
    });
    while (!workers.is_idle()) std::this_thread::yield();
    CHECK(most == 1);
}

void test_a_task_that_throws_is_dropped() {
    FairWorkers workers(1);
    std::atomic<int> n = 0;
    for (int i = 0; i < 3; i++)
        workers.add(1, [&]() -> bool {
            n++;
            throw std::bad_alloc();
        });
    while (!workers.is_idle()) std::this_thread::yield();
    CHECK(n == 3);
}

void test_tasks_are_dropped_at_the_end() {
    auto held = std::make_shared<int>(1);
    std::promise<void> begin;
    std::thread release;
    {
        FairWorkers workers(1);
        std::promise<void> runs;
        workers.add(1, [&] {
            runs.set_value();
            begin.get_future().wait();
            return true;
        });
        runs.get_future().wait();
        for (int i = 0; i < 3; i++) workers.add(1, [held] { return *held == 0; });
        CHECK(held.use_count() == 4);
        release = std::thread([&] { begin.set_value(); });
    }
    release.join();
    CHECK(held.use_count() == 1);
}

} // namespace

int main() {
    return run_checks({test_owners_take_turns, test_pieces, test_one_running_task_per_owner,
                       test_a_task_that_throws_is_dropped, test_tasks_are_dropped_at_the_end});
}
