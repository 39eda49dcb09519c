// ggufx bench read: plain reads of cold memory, the roofline of products with large weights.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "bench/blocks.hpp"
#include "common/json.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct ReadOptions {
    unsigned repeats = 5;
};

} // namespace

namespace {

// Reads of one page size by one number of threads.
struct ReadCase {
    PageSize pages;
    unsigned threads;
    std::vector<double> rates[4]; // one per variant and round

    const char *page_name() const { return pages == PageSize::huge ? "huge" : "small"; }
    double best() const {
        double out = 0;
        for (const std::vector<double> &rate : rates) out = std::max(out, median(rate));
        return out;
    }
};

// Measures both sizes of pages in turn, with one thread and with all.
std::vector<ReadCase> measure_reads(const ggufx_runtime *rt, unsigned rounds) {
    const unsigned threads = runtime_facts(rt).threads;
    std::vector<unsigned> counts = {1};
    if (threads > 1) counts.push_back(threads);
    Random random(1);
    std::vector<uint8_t> pattern(1u << 20);
    for (uint8_t &byte : pattern) byte = static_cast<uint8_t>(random.next());
    ColdBuffer small(kColdBytes, PageSize::small), huge(kColdBytes, PageSize::huge);
    small.fill(pattern);
    huge.fill(pattern);
    std::vector<ReadCase> cases;
    for (const PageSize pages : {PageSize::small, PageSize::huge})
        for (const unsigned n : counts) cases.push_back({pages, n, {}});
    for (unsigned r = 0; r < rounds; r++) {
        for (size_t v = 0; v < 4; v++) {
            for (ReadCase &which : cases) {
                check_interrupt();
                const ColdBuffer &buffer = which.pages == PageSize::huge ? huge : small;
                which.rates[v].push_back(
                    read_gbps(rt, buffer.data(), buffer.size(), which.threads, kReadVariants[v]));
            }
        }
    }
    return cases;
}

} // namespace

// The share is that of the best read with the same number of threads.
static int bench_read(const Globals &globals, const ReadOptions &options) {
    const Runtime rt = make_runtime(globals);
    const std::vector<ReadCase> cases = measure_reads(rt.get(), options.repeats);
    Output out(globals);
    Table table({"loads", "pages", ">threads", ">streams", "prefetch", ">GB/s", ">share"});
    for (const ReadCase &which : cases) {
        double best = 0;
        for (const ReadCase &other : cases)
            if (other.threads == which.threads) best = std::max(best, other.best());
        for (size_t v = 0; v < 4; v++) {
            const ReadVariant &variant = kReadVariants[v];
            const double gbps = median(which.rates[v]);
            table.row({read_isa(rt.get()), which.page_name(), fmt::format("{}", which.threads),
                       fmt::format("{}", variant.streams), variant.prefetch ? "yes" : "no",
                       fmt::format("{:.2f}", gbps), fmt::format("{:.2f}", gbps / best)});
            if (!globals.json) continue;
            Json line = json_object();
            line.update(Json{{"bench", "read"},
                             {"loads", read_isa(rt.get())},
                             {"pages", which.page_name()},
                             {"streams", variant.streams},
                             {"prefetch", variant.prefetch},
                             {"threads", which.threads},
                             {"bytes", kColdBytes},
                             {"gbps", gbps},
                             {"ratio", gbps / best}});
            print_json_line(out, line);
        }
    }
    if (!globals.json) table.print(out, make_style(globals, out));
    out.finish();
    return kOk;
}

void add_bench_read(Tool &tool, Command &bench) {
    auto options = std::make_shared<ReadOptions>();
    Command sub = bench.add_command("read", "memory read bandwidth");
    sub.option("-r,--rounds", options->repeats, "number of runs, for the median (default 5)")
        .between(1u, 1000u);
    sub.examples("  ggufx bench read -t 1 --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_read(tool.globals, *options); });
}

} // namespace ggufx::cli
