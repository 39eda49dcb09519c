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

// Tasks of two owners wait for a task that blocks; then one thread takes them in turns.
void test_owners_take_turns() {
    FairWorkers workers(1);
    std::promise<void> begin;
    std::string order;
    workers.add(9, [&] {
        begin.get_future().wait();
        return false;
    });
    for (int i = 0; i < 5; i++)
        workers.add(1, [&] {
            order += 'a';
            return false;
        });
    for (int i = 0; i < 2; i++)
        workers.add(2, [&] {
            order += 'b';
            return false;
        });
    CHECK(workers.n_waiting() >= 7);
    begin.set_value();
    while (!workers.is_idle()) std::this_thread::yield();
    CHECK(order == "ababaaa");
    CHECK(workers.n_waiting() == 0);
}

// A task in pieces goes on after the other owner's tasks, and before later tasks of its owner.
void test_pieces() {
    FairWorkers workers(1);
    std::promise<void> begin;
    std::string order;
    workers.add(9, [&] {
        begin.get_future().wait();
        return false;
    });
    int left = 3;
    workers.add(1, [&] {
        order += 'p';
        return --left > 0;
    });
    workers.add(1, [&] {
        order += 'a';
        return false;
    });
    for (int i = 0; i < 2; i++)
        workers.add(2, [&] {
            order += 'b';
            return false;
        });
    begin.set_value();
    while (!workers.is_idle()) std::this_thread::yield();
    CHECK(order == "pbpbpa");
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
    test_owners_take_turns();
    test_pieces();
    test_one_running_task_per_owner();
    test_a_task_that_throws_is_dropped();
    test_tasks_are_dropped_at_the_end();
    std::printf("%d checks\n", g_checks);
}
