// The group of libggufx-mpi, each process a rank of mpirun. Messages of any length arrive intact.
// The other ranks report a rank that is missing, and the reason of a rank that aborts.
// Each rank prints its number of failed checks (../cli/ranks.py).
// usage: mpi_group [late | abort | memory]
// SPDX-License-Identifier: MIT
#include <ggufx/mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <vector>

namespace {

int64_t g_allocations = INT64_MAX; // C++ allocations that succeed

} // namespace

void *operator new(size_t n) {
    void *const p = g_allocations-- > 0 ? malloc(n ? n : 1) : nullptr;
    if (!p) throw std::bad_alloc();
    return p;
}
void operator delete(void *p) noexcept {
    free(p);
}
void operator delete(void *p, size_t) noexcept {
    free(p);
}

namespace {

int g_checks, g_failed;
ggufx_group g_group;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        g_checks++;                                                                                \
        if (!(condition)) {                                                                        \
            g_failed++;                                                                            \
            fprintf(stderr, "rank %u, %s:%d: ", g_group.rank, __FILE__, __LINE__);                 \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
        }                                                                                          \
    } while (0)

constexpr uint32_t kTimeout = 20000;
using Bytes = std::vector<uint8_t>;

// Byte i of rank r's message in call number k.
uint8_t byte_of(uint32_t r, size_t k, size_t i) {
    return static_cast<uint8_t>(r * 31 + k * 7 + i * 13 + (i >> 8));
}
Bytes bytes_of(uint32_t r, size_t k, size_t n) {
    Bytes out(n);
    for (size_t i = 0; i < n; i++) out[i] = byte_of(r, k, i);
    return out;
}

// Message lengths of all kinds, different for each rank.
size_t length_of(uint32_t r, size_t k) {
    constexpr size_t kLengths[] = {0, 1, 16, 4095, 70000, 3, 3 << 20, 8};
    return kLengths[(r * 3 + k) % 8];
}

void messages_arrive_as_they_were() {
    const uint32_t size = g_group.size;
    ggufx_error error = {};
    for (size_t k = 0; k < 64; k++) {
        std::vector<size_t> n(size), at(size);
        size_t all = 0;
        for (uint32_t r = 0; r < size; r++) {
            n[r] = length_of(r, k);
            at[r] = all + r; // one byte between messages
            all = at[r] + n[r];
        }
        Bytes in = bytes_of(g_group.rank, k, n[g_group.rank]), out(all + 1, 99);
        ggufx_status status = g_group.allgatherv(g_group.user, out.data(), in.data(), n.data(),
                                                 at.data(), kTimeout, &error);
        memset(in.data(), 0, in.size()); // the send buffer is no longer read
        CHECK(status == GGUFX_OK, "%s", error.message);
        for (uint32_t r = 0; r < size; r++) {
            const Bytes want = bytes_of(r, k, n[r]);
            CHECK(memcmp(out.data() + at[r], want.data(), n[r]) == 0, "call %zu, rank %u", k, r);
            CHECK(out[at[r] + n[r]] == 99, "call %zu wrote behind rank %u", k, r);
        }
        const uint32_t root = static_cast<uint32_t>(k % size);
        const size_t length = length_of(root, k);
        Bytes data = bytes_of(g_group.rank, k, length);
        status = g_group.broadcast(g_group.user, data.data(), length, root, kTimeout, &error);
        CHECK(status == GGUFX_OK, "%s", error.message);
        CHECK(data == bytes_of(root, k, length), "broadcast %zu", k);
        if (k % 5 == 0)
            CHECK(g_group.barrier(g_group.user, kTimeout, &error) == GGUFX_OK, "%s", error.message);
        const Bytes eight = bytes_of(g_group.rank, k, 8);
        Bytes gathered(8 * size);
        status =
            g_group.allgather(g_group.user, gathered.data(), eight.data(), 8, kTimeout, &error);
        CHECK(status == GGUFX_OK, "%s", error.message);
        for (uint32_t r = 0; r < size; r++)
            CHECK(memcmp(gathered.data() + 8 * r, bytes_of(r, k, 8).data(), 8) == 0, "call %zu", k);
    }
}

// The last rank does not answer, or aborts with a reason.
void a_rank_that_is_missing_is_named(bool says) {
    const uint32_t last = g_group.size - 1;
    ggufx_error error = {};
    CHECK(g_group.barrier(g_group.user, kTimeout, &error) == GGUFX_OK, "%s", error.message);
    if (g_group.rank == last) {
        ggufx_error why = {};
        why.status = GGUFX_E_IO;
        why.index = last;
        snprintf(why.message, sizeof why.message, "the last rank has enough");
        if (says) g_group.abort(g_group.user, &why);
        usleep(1500000);
        return;
    }
    const auto start = std::chrono::steady_clock::now();
    const ggufx_status status = g_group.barrier(g_group.user, says ? kTimeout : 300, &error);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    CHECK(status == GGUFX_E_IO && error.index == last, "%s, index %u", error.message,
          static_cast<unsigned>(error.index));
    CHECK(strstr(error.message, says ? "has enough" : "did not answer within 0.3 s"), "%s",
          error.message);
    CHECK(took.count() < 10, "it took %.1f s", took.count());
    CHECK(g_group.barrier(g_group.user, 300, &error) == GGUFX_E_STATE, "%s", error.message);
}

// Each allocation of a call fails in turn, on one rank. No message is pending after the failure;
// the repeated call succeeds, while the other ranks wait.
void a_message_without_memory_is_no_end() {
    const uint32_t last = g_group.size - 1;
    int n_failed = 0;
    for (size_t k = 0; k < 4; k++) {
        const size_t n = size_t{1000} << (2 * k); // longer than before: reallocates
        const std::vector<size_t> counts(g_group.size, n);
        std::vector<size_t> at(g_group.size);
        for (uint32_t r = 0; r < g_group.size; r++) at[r] = r * n;
        const Bytes in = bytes_of(g_group.rank, k, n);
        Bytes all(g_group.size * n), gathered = all, data = bytes_of(last, k, n);
        ggufx_error error = {};
        const auto try_all = [&](const auto &call) {
            ggufx_status status = GGUFX_E_MEMORY;
            for (int64_t left = 0; status == GGUFX_E_MEMORY && left < 100; left++) {
                if (g_group.rank == last) g_allocations = left;
                status = call();
                g_allocations = INT64_MAX;
                n_failed += status == GGUFX_E_MEMORY;
            }
            CHECK(status == GGUFX_OK, "%s", error.message);
        };
        try_all([&] {
            return g_group.allgatherv(g_group.user, all.data(), in.data(), counts.data(), at.data(),
                                      kTimeout, &error);
        });
        try_all([&] {
            return g_group.allgather(g_group.user, gathered.data(), in.data(), n, kTimeout, &error);
        });
        try_all([&] {
            return g_group.broadcast(g_group.user, data.data(), n, last, kTimeout, &error);
        });
        CHECK(all == gathered && data == bytes_of(last, k, n), "other bytes in call %zu", k);
        for (uint32_t r = 0; r < g_group.size; r++)
            CHECK(memcmp(all.data() + at[r], bytes_of(r, k, n).data(), n) == 0, "rank %u", r);
    }
    CHECK(g_group.rank != last || n_failed > 10, "%d allocations failed", n_failed);
}

void wrong_options_are_refused() {
    ggufx_error error = {};
    ggufx_group none = {};
    ggufx_mpi_options options;
    ggufx_mpi_options_init(&options);
    options.flags = 1;
    CHECK(ggufx_mpi_group(&none, &options, &error) == GGUFX_E_ARGUMENT, "%s", error.message);
    ggufx_mpi_options_init(&options);
    options.struct_size--;
    CHECK(ggufx_mpi_group(&none, &options, &error) == GGUFX_E_ARGUMENT, "%s", error.message);
    CHECK(ggufx_mpi_group(nullptr, nullptr, &error) == GGUFX_E_ARGUMENT, "%s", error.message);
}

} // namespace

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    ggufx_error error = {};
    wrong_options_are_refused();
    if (ggufx_mpi_group(&g_group, nullptr, &error) != GGUFX_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const bool lacks_memory = strcmp(what, "memory") == 0;
    if (lacks_memory)
        a_message_without_memory_is_no_end();
    else if (*what)
        a_rank_that_is_missing_is_named(strcmp(what, "abort") == 0);
    else
        messages_arrive_as_they_were();
    // Printed by each rank, because mpirun with recovery returns no exit code.
    printf("rank %u: %d checks, %d failed\n", g_group.rank, g_checks, g_failed);
    fflush(stdout);
    if (*what && !lacks_memory) _exit(g_failed != 0); // messages are pending
    g_group.destroy(g_group.user);
    return g_failed != 0;
}
