// ggufx bench read: plain reads of cold memory, the roof of every product with large weights.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "bench/blocks.hpp"
#include "bench/read_loop.hpp"
#include "bench/team_timing.hpp"
#include "floor/json.hpp"
#include "floor/signals.hpp"
#include "floor/table.hpp"

#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <sys/mman.h>

namespace ggufx::cli {

const ReadVariant kReadVariants[4] = {{1, false}, {1, true}, {4, false}, {4, true}};

ColdBuffer::ColdBuffer(size_t n_bytes) : size_(n_bytes), mapped_(n_bytes + (1u << 16)) {
    // Loops may prefetch beyond the end: the slack makes those addresses ours.
    void *memory =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    madvise(memory, mapped_, MADV_HUGEPAGE); // only a wish: without huge pages all still works
#endif
    data_ = static_cast<uint8_t *>(memory);
}

ColdBuffer::~ColdBuffer() {
    munmap(data_, mapped_);
}

void ColdBuffer::fill(const std::vector<uint8_t> &pattern) {
    for (size_t at = 0; at < size_; at += pattern.size()) {
        check_interrupt();
        std::memcpy(data_ + at, pattern.data(), std::min(pattern.size(), size_ - at));
    }
}

const char *read_isa(const ggufx_runtime *rt) {
    const uint64_t features = runtime_facts(rt).features;
    if ((features & GGUFX_CPU_AVX512) && read_loop_avx512(1, false)) return "avx512";
    return (features & GGUFX_CPU_AVX2) && read_loop_avx2(1, false) ? "avx2" : "vector16";
}

static ReadLoop choose_loop(const ggufx_runtime *rt, const ReadVariant &variant) {
    const std::string isa = read_isa(rt);
    if (isa == "avx512") return read_loop_avx512(variant.streams, variant.prefetch);
    if (isa == "avx2") return read_loop_avx2(variant.streams, variant.prefetch);
    return read_loop_baseline(variant.streams, variant.prefetch);
}

double read_gbps(const ggufx_runtime *rt, const uint8_t *data, size_t n, unsigned threads,
                 const ReadVariant &variant, Clock clock) {
    const ReadLoop loop = choose_loop(rt, variant);
    // Threads take pieces in turn, as kernels do: with fixed shares the thread that is farther
    // from the memory would set the time.
    const size_t piece = threads == 1 ? n / 1024 * 1024 : size_t{1} << 20;
    std::atomic<size_t> next = 0;
    std::atomic<uint64_t> digest = 0; // keeps the loads alive
    const double seconds = team_seconds(clock, threads, [&](unsigned) {
        for (size_t at; (at = next.fetch_add(piece)) + piece <= n;)
            digest += loop(data + at, piece);
    });
    const size_t n_read = n / piece * piece;
    return static_cast<double>(n_read) / seconds / 1e9;
}

namespace {

struct ReadOptions {
    unsigned repeats = 5;
};

} // namespace

static int bench_read(const Globals &globals, const ReadOptions &options) {
    const Runtime rt = make_runtime(globals);
    const unsigned threads = runtime_facts(rt.get()).threads;
    ColdBuffer buffer(kColdBytes);
    Random random(1);
    std::vector<uint8_t> pattern(1u << 20);
    for (uint8_t &byte : pattern) byte = static_cast<uint8_t>(random.next());
    buffer.fill(pattern);

    std::vector<double> rates[4];
    for (unsigned r = 0; r < options.repeats; r++) {
        for (size_t v = 0; v < 4; v++) {
            check_interrupt();
            rates[v].push_back(
                read_gbps(rt.get(), buffer.data(), buffer.size(), threads, kReadVariants[v]));
        }
    }
    Output out(globals);
    Table table({"loads", ">streams", "prefetch", ">threads", ">GB/s"});
    for (size_t v = 0; v < 4; v++) {
        const ReadVariant &variant = kReadVariants[v];
        const double gbps = median(rates[v]);
        table.row({read_isa(rt.get()), fmt::format("{}", variant.streams),
                   variant.prefetch ? "yes" : "no", fmt::format("{}", threads),
                   fmt::format("{:.2f}", gbps)});
        if (!globals.json) continue;
        Json line = json_object();
        line.update(Json{{"bench", "read"},
                         {"loads", read_isa(rt.get())},
                         {"streams", variant.streams},
                         {"prefetch", variant.prefetch},
                         {"pages", "huge if available"},
                         {"threads", threads},
                         {"bytes", buffer.size()},
                         {"gbps", gbps}});
        print_json_line(out, line);
    }
    if (!globals.json) table.print(out, make_style(globals, out));
    out.finish();
    return kOk;
}

void add_bench_read(Tool &tool, Command &bench) {
    auto options = std::make_shared<ReadOptions>();
    Command sub = bench.add_command("read", "plain reads of memory");
    sub.option("-r,--rounds", options->repeats, "medians of N runs; default 5").between(1u, 1000u);
    sub.examples("  ggufx bench read -t 1 --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_read(tool.globals, *options); });
}

} // namespace ggufx::cli
