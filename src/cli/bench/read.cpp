// ggufx bench read: plain reads of cold memory, the roofline of products with large weights.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "bench/blocks.hpp"
#include "common/json.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

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
    Command sub = bench.add_command("read", "memory read bandwidth");
    sub.option("-r,--rounds", options->repeats, "number of runs, for the median (default 5)")
        .between(1u, 1000u);
    sub.examples("  ggufx bench read -t 1 --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_read(tool.globals, *options); });
}

} // namespace ggufx::cli
