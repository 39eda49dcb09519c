// GPU emulation on the processor: one fiber per thread of a block, one block after another.
// Implements the device functions of plugins/cuda/kernels.hpp: barriers block, and copies complete
// at once or as late as a wait allows. Fibers run in order, or in a different order every round.
// Forbidden accesses, outside the memory that a block requested, are counted.
// SPDX-License-Identifier: MIT
#pragma once

#include "device/emulated_kernels.hpp"
#include "plugins/lanes/host.hpp"

#include <functional>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <vector>

namespace ggufx::emulation {

class Card {
public:
    explicit Card(const Control &c) : control(c) {}
    Control control;

    struct Fiber {
        jmp_buf place;
        bool begun, done;
        uint32_t n_half; // barriers of its half so far, for fault injection
    };
    struct Barrier {
        uint32_t n = 0, generation = 0;
    };
    struct Copy {
        void *to;
        const void *from;
        uint32_t group;
    };
    struct Copies {
        std::vector<Copy> open;
        uint32_t group = 0;
    };

    uint32_t at = 0, n_threads = 0, block[2] = {0, 0}, grid[2] = {1, 1};
    std::vector<uint8_t> shared;
    std::vector<uint32_t> box;
    std::vector<Fiber> fibers;
    std::vector<Barrier> halves;
    std::vector<Copies> copies;
    Barrier all;

    void run(uint32_t grid_x, uint32_t grid_y, uint32_t n, size_t n_shared,
             const std::function<void()> &kernel) {
        Card *const outer = current();
        current() = this;
        body_ = &kernel;
        grid[0] = grid_x;
        grid[1] = grid_y;
        n_threads = n;
        if (fibers.size() < n) {
            fibers.assign(n, Fiber()); // new stacks: fibers restart
            stacks_.resize(n * kStack);
        }
        for (block[1] = 0; block[1] < grid_y; block[1]++)
            for (block[0] = 0; block[0] < grid_x; block[0]++) run_block(n_shared);
        current() = outer;
    }
    void yield() {
        if (_setjmp(fibers[at].place) == 0) _longjmp(main_, 1);
    }
    void wait(Barrier &barrier, uint32_t n) {
        const uint32_t generation = barrier.generation;
        if (++barrier.n == n) {
            barrier.n = 0;
            barrier.generation++;
        }
        while (barrier.generation == generation) yield();
    }
    static Card *&current() {
        static Card *card = nullptr;
        return card;
    }

private:
    static constexpr size_t kStack = 64 << 10;

    // Fiber function: runs the kernel for one block after another.
    static void enter() {
        Card *const self = current();
        for (;;) {
            (*self->body_)();
            self->fibers[self->at].done = true;
            self->yield();
        }
    }
    // Runs fiber `at` until it yields. The context only sets up the stack, because swapcontext
    // costs a system call.
    void resume() {
        if (_setjmp(main_) != 0) return;
        if (fibers[at].begun) _longjmp(fibers[at].place, 1);
        fibers[at].begun = true;
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = stacks_.data() + at * kStack;
        context.uc_stack.ss_size = kStack;
        context.uc_link = nullptr; // enter() does not return
        makecontext(&context, enter, 0);
        setcontext(&context);
    }
    void run_block(size_t n_shared) {
        const uint32_t n = n_threads;
        control.n_blocks++;
        shared.assign(n_shared + 16, 0xcd);
        box.assign(n, 0);
        halves.assign(n / 16, {});
        copies.assign(n, {});
        all = {};
        for (uint32_t i = 0; i < n; i++) {
            fibers[i].done = false;
            fibers[i].n_half = 0;
        }
        for (bool live = true; live;) {
            live = false;
            turn_ = control.order ? turn_ * 1664525 + 1013904223 + control.order : 0;
            for (uint32_t i = 0; i < n; i++) {
                at = control.order ? (i * 77 + (turn_ >> 8)) % n : i; // 77 and 256 are coprime
                if (fibers[at].done) continue;
                resume();
                live = live || !fibers[at].done;
            }
        }
    }

    jmp_buf main_;
    const std::function<void()> *body_ = nullptr;
    std::vector<uint8_t> stacks_;
    uint32_t turn_ = 1;
};

} // namespace ggufx::emulation

#define CARD [[gnu::unused]] static inline
#define CARD_MEMBER inline
#define SLOT_LESS ggufx::emulation::Card::current()->control.slot_less

namespace ggufx::card {
namespace {

using emulation::Card;

CARD uint32_t thread_x() {
    return Card::current()->at;
}
CARD uint32_t block_x() {
    return Card::current()->block[0];
}
CARD uint32_t block_y() {
    return Card::current()->block[1];
}
CARD uint32_t grid_x() {
    return Card::current()->grid[0];
}
CARD void sync_block() {
    Card *card = Card::current();
    if (!card->control.no_block) card->wait(card->all, card->n_threads);
}
CARD void sync_half_always() {
    Card *card = Card::current();
    card->wait(card->halves[card->at / 16], 16);
}
// Kernels alternate between two barriers: before a segment is used and after it.
CARD void sync_half() {
    Card *card = Card::current();
    const uint32_t place = 1 + card->fibers[card->at].n_half++ % 2;
    if (card->control.no_half != static_cast<int32_t>(place)) sync_half_always();
}
CARD uint32_t from_other(uint32_t v, uint32_t step) {
    Card *card = Card::current();
    const uint32_t me = card->at;
    sync_half_always();
    card->box[me] = v;
    sync_half_always();
    return card->box[me ^ step];
}
CARD void copy_now(void *to, const void *from) {
    Card *card = Card::current();
    auto *at = static_cast<uint8_t *>(to);
    const bool inside =
        at >= card->shared.data() && at + 16 <= card->shared.data() + card->shared.size() - 16;
    if (!inside) card->control.n_outside += 16;
    if (inside) memcpy(to, from, 16);
}
CARD void copy16(void *to, const void *from) {
    Card *card = Card::current();
    if (!card->control.copies_late) return copy_now(to, from);
    Card::Copies &copies = card->copies[card->at];
    copies.open.push_back({to, from, copies.group});
}
CARD void copy_commit() {
    Card *card = Card::current();
    card->copies[card->at].group++;
}
template <int N> CARD void copy_wait() {
    Card *card = Card::current();
    Card::Copies &copies = card->copies[card->at];
    size_t kept = 0;
    for (const Card::Copy &copy : copies.open) {
        if (copy.group + N + static_cast<uint32_t>(card->control.wait_less) < copies.group)
            copy_now(copy.to, copy.from);
        else
            copies.open[kept++] = copy;
    }
    copies.open.resize(kept);
}
CARD uint8_t *shared_memory() {
    auto address = reinterpret_cast<uintptr_t>(Card::current()->shared.data());
    return reinterpret_cast<uint8_t *>((address + 15) / 16 * 16);
}

} // namespace
} // namespace ggufx::card

#include "plugins/cuda/kernels.hpp"
