// ggufx bench matvec and matmul: weights times vectors, per type, instruction set, number of
// threads and of columns, beside the plain read of the same memory and the multiply-add peak in
// the same rounds; and whether the bits equal the scalar ones.
// SPDX-License-Identifier: MIT
#include "bench/products.hpp"
#include "bench/roofs.hpp"
#include "floor/json.hpp"
#include "floor/progress.hpp"
#include "floor/table.hpp"
#include "floor/timing.hpp"

#include <deque>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct Report {
    const Globals &globals;
    const ProductOptions &options;
    Output &out;
    Table table;
};

// One line of figures.
struct Figures {
    double gbps, read_gbps, gops, peak_gops;
};

} // namespace

static void print_json(Report &report, const Runner &runner, const Weights &w, const char *mode,
                       const Figures &f) {
    Json line = json_object();
    line.update(Json{{"bench", report.options.verb},
                     {"type", w.type.name},
                     {"isa", runner.isa_name()},
                     {"n", runner.n()},
                     {"m", runner.m()},
                     {"k", report.options.k},
                     {"threads", runner.threads()},
                     {"mode", mode},
                     {"cache", report.options.cache},
                     {"clock", report.options.clock == Clock::cpu ? "cpu" : "wall"},
                     {"gbps", f.gbps},
                     {"read_gbps", f.read_gbps},
                     {"ratio", f.gbps / f.read_gbps},
                     {"gops", f.gops},
                     {"peak_gops", f.peak_gops},
                     {"peak_ratio", f.gops / f.peak_gops},
                     {"bits_equal", runner.bits_equal()}});
    print_json_line(report.out, line);
}

static void print_runner(Report &report, const Runner &runner, const Weights &w, double read_gbps,
                         double peak_gops) {
    const double row_seconds = runner.seconds_per_row();
    const double products = static_cast<double>(report.options.k * runner.n());
    const Figures f = {static_cast<double>(w.row_bytes) / row_seconds / 1e9, read_gbps,
                       2 * products / row_seconds / 1e9, peak_gops};
    const char *mode = report.options.f32 || w.is_float() ? "f32"
                       : report.options.precise           ? "precise"
                                                          : "canonical";
    if (report.globals.json) return print_json(report, runner, w, mode, f);
    report.table.row(
        {w.type.name, runner.isa_name(), mode, fmt::format("{}", runner.n()),
         fmt::format("{}", runner.threads()), fmt::format("{:.2f}", f.gbps),
         fmt::format("{:.2f}", f.read_gbps), fmt::format("{:.2f}", f.gbps / f.read_gbps),
         fmt::format("{:.1f}", f.gops), fmt::format("{:.0f}", f.peak_gops),
         fmt::format("{:.2f}", f.gops / f.peak_gops), runner.bits_equal() ? "yes" : "NO"});
}

namespace {

// The roofs of all runners, one per number of threads and set.
struct Roofs {
    Clock clock;
    std::deque<ReadRoof> reads = {};
    std::deque<PeakRoof> peaks = {};

    ReadRoof &read(const Runner &runner) {
        for (ReadRoof &roof : reads)
            if (roof.threads() == runner.threads()) return roof;
        return reads.emplace_back(runner.threads(), clock);
    }
    PeakRoof &peak(const Runner &runner, bool f32) {
        for (PeakRoof &roof : peaks)
            if (roof.is_of(runner.isa(), runner.threads())) return roof;
        return peaks.emplace_back(runner.isa(), f32, runner.threads(), clock);
    }
};

} // namespace

static bool bench_type(Report &report, std::vector<Runner> &runners, const Weights &w,
                       const ColdBuffer &buffer) {
    constexpr double kBudget = 14; // seconds, apart from the roofs and what comes before
    const ProductOptions &options = report.options;
    const Runtime scalar = try_runtime(GGUFX_ISA_SCALAR, 0);
    const bool f32 = options.f32 || w.is_float();
    Roofs roofs = {options.clock};
    bool all_equal = true;
    for (Runner &runner : runners) {
        runner.prepare(w, options);
        runner.compare(w, scalar.get(), options);
        all_equal = all_equal && runner.bits_equal();
        roofs.read(runner);
        roofs.peak(runner, f32);
    }
    const double share = kBudget / static_cast<double>(options.rounds * runners.size());
    Progress progress(report.globals, "bench " + std::string(w.type.name));
    for (unsigned round = 0; round < options.rounds; round++) {
        progress.update(round, options.rounds);
        for (Runner &runner : runners) runner.run(std::min(share, 0.15), options);
        for (ReadRoof &roof : roofs.reads) roof.measure(runners[0].runtime(), buffer);
        for (PeakRoof &roof : roofs.peaks) roof.measure();
    }
    for (const Runner &runner : runners) {
        print_runner(report, runner, w, roofs.read(runner).gbps(), roofs.peak(runner, f32).gops());
    }
    return all_equal;
}

static int bench_products(const Globals &globals, const ProductOptions &options) {
    constexpr size_t kL2Bytes = size_t{1} << 20; // per thread
    std::vector<Runner> runners = make_runners(globals, options.n);
    unsigned threads = 1;
    for (const Runner &runner : runners) threads = std::max(threads, runner.threads());
    ColdBuffer buffer(options.cache == "memory" ? kColdBytes : kL2Bytes * threads);
    Output out(globals);
    Report report = {globals, options, out,
                     Table({"type", "isa", "mode", ">n", ">t", ">GB/s", ">read", ">of read",
                            ">Gop/s", ">peak", ">of peak", "bits equal"})};
    bool all_equal = true;
    for (const std::string &type : product_types(options.types)) {
        const Weights w = make_weights(runners[0].runtime(), type, options, buffer);
        all_equal = bench_type(report, runners, w, buffer) && all_equal;
    }
    return finish_products(globals, out, report.table, options.markdown, all_equal);
}

static void add_verb(Tool &tool, Command &bench, const char *name, const char *text,
                     const ProductOptions &defaults, const char *example) {
    auto options = std::make_shared<ProductOptions>(defaults);
    options->verb = name;
    Command sub = bench.add_command(name, text);
    sub.option("--type", options->types, "tensor types, or all; default q4_K")
        .value("TYPES")
        .list();
    sub.option("--n", options->n, fmt::format("numbers of vectors; default {}", defaults.n[0]))
        .list()
        .between(1u, 4096u);
    sub.option("-m,--m", options->m, fmt::format("rows of a matrix; default {}", defaults.m))
        .between(1u, 1u << 20);
    sub.option("-k,--k", options->k, "values of a row; default 4096").between(1u, 1u << 20);
    sub.option("-r,--rounds", options->rounds, "rounds of kernels, reads and peaks; default 9")
        .between(1u, 1000u);
    sub.option("--cache", options->cache,
               "where the weights are: memory, or l2 (1 MiB per thread); default memory")
        .one_of({"memory", "l2"});
    add_clock(sub, options->clock);
    sub.flag("--f32", options->f32, "f32 activations with quantized weights too");
    sub.flag("--precise", options->precise, "activations of 15 bits; --f32 goes before");
    sub.flag("--markdown", options->markdown, "print the table as Markdown");
    sub.examples(example);
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return bench_products(tool.globals, *options); });
}

void add_bench_matvec(Tool &tool, Command &bench) {
    add_verb(tool, bench, "matvec", "weights times vectors, per instruction set", {},
             "  ggufx bench matvec --type q4_K,q8_0 --isa all -t 1,2 --json");
    ProductOptions many;
    many.n = {512};
    many.m = 1792;
    add_verb(tool, bench, "matmul", "weights times many vectors, per instruction set", many,
             "  ggufx bench matmul --type q4_K --isa avx512 --n 8,16,512 -t 1 --json");
}

} // namespace ggufx::cli
