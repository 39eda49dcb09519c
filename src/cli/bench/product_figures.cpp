// SPDX-License-Identifier: MIT
#include "bench/product_figures.hpp"
#include "bench/roofs.hpp"
#include "common/progress.hpp"

#include <deque>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// The rooflines of all runners, one per number of threads and instruction set.
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

static ProductFigures figures_of(const ProductOptions &options, const Runner &runner,
                                 const Weights &w, double read_gbps, double peak_gops) {
    const double row_seconds = runner.seconds_per_row();
    const double products = static_cast<double>(options.k * runner.n());
    static constexpr const char *kModes[][2] = {
        {"canonical", "row-wise"}, {"precise", "precise-row-wise"}, {"f32", "f32-row-wise"}};
    const size_t activations = options.f32 || w.is_float() ? 2 : options.precise ? 1 : 0;
    const char *mode = kModes[activations][options.rows];
    return {w.type.name,
            runner.isa_name(),
            mode,
            runner.n(),
            runner.m(),
            runner.threads(),
            static_cast<double>(w.row_bytes) / row_seconds / 1e9,
            read_gbps,
            2 * products / row_seconds / 1e9,
            peak_gops,
            runner.bits_equal()};
}

static std::vector<ProductFigures> measure_products(const Globals &globals,
                                                    const ProductOptions &options,
                                                    std::vector<Runner> &runners, const Weights &w,
                                                    const ColdBuffer &buffer) {
    constexpr double kBudget = 14; // seconds, without rooflines and preparation
    const Runtime scalar = try_runtime(GGUFX_ISA_SCALAR, 0);
    const bool f32 = options.f32 || w.is_float();
    Roofs roofs = {options.clock};
    for (Runner &runner : runners) {
        runner.prepare(w, options);
        runner.compare(w, scalar.get(), options);
        roofs.read(runner);
        roofs.peak(runner, f32);
    }
    const double share = kBudget / static_cast<double>(options.rounds * runners.size());
    Progress progress(globals, "bench " + std::string(w.type.name));
    for (unsigned round = 0; round < options.rounds; round++) {
        progress.update(round, options.rounds);
        for (Runner &runner : runners) runner.run(std::min(share, 0.15), options);
        for (ReadRoof &roof : roofs.reads) roof.measure(runners[0].runtime(), buffer);
        for (PeakRoof &roof : roofs.peaks) roof.measure();
    }
    std::vector<ProductFigures> figures;
    for (const Runner &runner : runners)
        figures.push_back(figures_of(options, runner, w, roofs.read(runner).gbps(),
                                     roofs.peak(runner, f32).gops()));
    return figures;
}

static Json json_of(const ProductFigures &f, const ProductOptions &options) {
    Json line = json_object();
    line.update(Json{{"bench", options.verb},
                     {"type", f.type},
                     {"isa", f.isa},
                     {"n", f.n},
                     {"m", f.m},
                     {"k", options.k},
                     {"threads", f.threads},
                     {"mode", f.mode},
                     {"cache", options.cache},
                     {"clock", options.clock == Clock::cpu ? "cpu" : "wall"},
                     {"gbps", f.gbps},
                     {"read_gbps", f.read_gbps},
                     {"ratio", f.of_read()},
                     {"gops", f.gops},
                     {"peak_gops", f.peak_gops},
                     {"peak_ratio", f.of_peak()},
                     {"bits_equal", f.bits_equal}});
    return line;
}

static void add_row(Table &table, const ProductFigures &f) {
    table.row({f.type, f.isa, f.mode, fmt::format("{}", f.n), fmt::format("{}", f.threads),
               fmt::format("{:.2f}", f.gbps), fmt::format("{:.2f}", f.read_gbps),
               fmt::format("{:.2f}", f.of_read()), fmt::format("{:.1f}", f.gops),
               fmt::format("{:.0f}", f.peak_gops), fmt::format("{:.2f}", f.of_peak()),
               f.bits_equal ? "yes" : "NO"});
}

static Table product_table() {
    Table table({"type", "isa", "mode", ">n", ">t", ">GB/s", ">read", ">of read", ">Gop/s", ">peak",
                 ">of peak", "bits equal"});
    table.essential({"type", "GB/s", "bits equal"});
    table.dispensable({"peak", "read", "of peak", "Gop/s"});
    return table;
}

int measure_types(const Globals &globals, const ProductOptions &options) {
    constexpr size_t kL2Bytes = size_t{1} << 20; // per thread
    Output out(globals);
    Table table = product_table();
    std::vector<Runner> runners = make_runners(globals, options.n);
    unsigned threads = 1;
    for (const Runner &runner : runners) threads = std::max(threads, runner.threads());
    ColdBuffer buffer(options.cache == "memory" ? kColdBytes : kL2Bytes * threads);
    bool all_equal = true;
    for (const std::string &type : types_with(GGUFX_TYPE_HAS_MATVEC, options.types)) {
        const Weights w = make_weights(runners[0].runtime(), type, options, buffer);
        for (const ProductFigures &f : measure_products(globals, options, runners, w, buffer)) {
            all_equal = all_equal && f.bits_equal;
            if (globals.json)
                print_json_line(out, json_of(f, options));
            else
                add_row(table, f);
        }
    }
    return finish_products(globals, out, table, options.markdown, all_equal);
}

} // namespace ggufx::cli
