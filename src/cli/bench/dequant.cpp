// ggufx bench dequant: dequantizes blocks from cold memory to f32 that stays in cache, per type and
// instruction set.
// SPDX-License-Identifier: MIT
#include "bench/products.hpp"
#include "bench/roofs.hpp"
#include "common/json.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"
#include "common/timing.hpp"

#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// One instruction set with a number of threads.
struct Decoder {
    const Runner *runner;
    Clock clock;
    std::vector<float> out;
    std::vector<double> gbps; // GB/s of f32
    bool bits_equal = true;

    double run(const ggufx_tensor *matrix, uint64_t first_row, uint64_t n_rows) {
        return seconds_of(clock, runner->threads(), [&] {
            call([&](ggufx_error *error) {
                return ggufx_dequantize(out.data(), out.size(), runner->runtime(), matrix,
                                        first_row, n_rows, error);
            });
        });
    }
};

} // namespace

// Dequantizes all rows in the buffer, with calls of `rows` rows.
static void race(Decoder &decoder, const ggufx_tensor *matrix, const ProductOptions &options,
                 uint64_t n_rows, double seconds, uint64_t &next) {
    const uint64_t rows = decoder.out.size() / options.k;
    const double bytes = static_cast<double>(decoder.out.size() * sizeof(float));
    for (double elapsed = 0; elapsed < seconds;) {
        check_interrupt();
        next = next + rows > n_rows ? 0 : next;
        elapsed += seconds_of(
            [&] { decoder.gbps.push_back(bytes / decoder.run(matrix, next, rows) / 1e9); });
        next += rows;
    }
}

static void print_decoder(const Globals &globals, Output &out, Table &table, const Decoder &decoder,
                          const Weights &w, double read_gbps) {
    const double gbps = median(decoder.gbps);
    const Runner &runner = *decoder.runner;
    if (!globals.json) {
        table.row({w.type.name, runner.isa_name(), fmt::format("{}", runner.threads()),
                   fmt::format("{:.2f}", gbps), fmt::format("{:.2f}", read_gbps),
                   decoder.bits_equal ? "yes" : "NO"});
        return;
    }
    Json line = json_object();
    line.update(Json{{"bench", "dequant"},
                     {"type", w.type.name},
                     {"isa", runner.isa_name()},
                     {"threads", runner.threads()},
                     {"gbps", gbps},
                     {"read_gbps", read_gbps},
                     {"bits_equal", decoder.bits_equal}});
    print_json_line(out, line);
}

// Dequantizes the first rows of the matrix, also with the scalar kernels for comparison.
static Decoder make_decoder(const Runner &runner, const ggufx_tensor *matrix,
                            const ggufx_runtime *scalar, const ProductOptions &options) {
    constexpr size_t kOutBytes = 256u << 10; // per thread
    const size_t n_fit = kOutBytes * runner.threads() / (options.k * sizeof(float));
    const size_t n_rows = std::max<size_t>(n_fit, 1);
    Decoder decoder = {&runner, options.clock, std::vector<float>(n_rows * options.k), {}, true};
    std::vector<float> expected(decoder.out.size());
    decoder.run(matrix, 0, n_rows);
    call([&](ggufx_error *error) {
        return ggufx_dequantize(expected.data(), expected.size(), scalar, matrix, 0, n_rows, error);
    });
    decoder.bits_equal =
        std::memcmp(expected.data(), decoder.out.data(), expected.size() * sizeof(float)) == 0;
    return decoder;
}

namespace {

struct DequantReport {
    const Globals &globals;
    const ProductOptions &options;
    Output &out;
    Table table;
};

} // namespace

static bool bench_type(DequantReport &report, std::vector<Runner> &runners, const std::string &type,
                       ColdBuffer &buffer) {
    const ProductOptions &options = report.options;
    const Weights w = make_weights(runners[0].runtime(), type, options, buffer);
    const uint64_t n_rows = w.n_matrices * w.m;
    const Tensor matrix = wrap_matrix(runners[0].runtime(), w.type.id, options.k, n_rows, 0, w.data,
                                      n_rows * w.row_bytes);
    const Runtime scalar = try_runtime(GGUFX_ISA_SCALAR, 0);
    std::vector<Decoder> decoders;
    std::vector<ReadRoof> roofs;
    for (const Runner &runner : runners) {
        decoders.push_back(make_decoder(runner, matrix.get(), scalar.get(), options));
        roofs.emplace_back(runner.threads(), options.clock);
    }
    Progress progress(report.globals, "bench " + std::string(w.type.name));
    const double slots = static_cast<double>(options.rounds * runners.size());
    uint64_t next = 0;
    for (unsigned round = 0; round < options.rounds; round++) {
        progress.update(round, options.rounds);
        for (size_t i = 0; i < decoders.size(); i++) {
            race(decoders[i], matrix.get(), options, n_rows, std::min(0.1, 10.0 / slots), next);
            roofs[i].measure(runners[i].runtime(), buffer);
        }
    }
    bool all_equal = true;
    for (size_t i = 0; i < decoders.size(); i++) {
        print_decoder(report.globals, report.out, report.table, decoders[i], w, roofs[i].gbps());
        all_equal = all_equal && decoders[i].bits_equal;
    }
    return all_equal;
}

static int bench_dequant(const Globals &globals, const ProductOptions &options) {
    std::vector<Runner> runners = make_runners(globals, {1});
    ColdBuffer buffer(kColdBytes);
    Output out(globals);
    DequantReport report = {globals, options, out,
                            Table({"type", "isa", ">t", ">GB/s of f32", ">read", "bits equal"})};
    bool all_equal = true;
    for (const std::string &type : types_with(GGUFX_TYPE_HAS_MATVEC, options.types)) {
        all_equal = bench_type(report, runners, type, buffer) && all_equal;
    }
    return finish_products(globals, out, report.table, options.markdown, all_equal);
}

void add_bench_dequant(Tool &tool, Command &bench) {
    auto options = std::make_shared<ProductOptions>();
    options->m = 64;
    Command sub = bench.add_command("dequant", "dequantize weights to f32, per instruction set");
    sub.option("--type", options->types, "tensor types, or all (default q4_K)")
        .value("TYPES")
        .list();
    sub.option("-k,--k", options->k, "values of a row (default 4096)").between(1u, 1u << 20);
    sub.option("-r,--rounds", options->rounds, "rounds of kernels and reads (default 9)")
        .between(1u, 1000u);
    add_clock(sub, options->clock);
    sub.flag("--markdown", options->markdown, "print the table as Markdown");
    sub.examples("  ggufx bench dequant --type q4_K,q8_0 --isa all -t 1");
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return bench_dequant(tool.globals, *options); });
}

} // namespace ggufx::cli
