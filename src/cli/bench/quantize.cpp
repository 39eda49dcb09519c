// ggufx bench quantize: quantizes f32 rows from cold memory, per type and instruction set.
// SPDX-License-Identifier: MIT
#include "bench/products.hpp"
#include "common/json.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"
#include "common/timing.hpp"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct QuantizeOptions : ProductOptions {
    bool imatrix = false;
};

// Rows of one type, shared by all instruction sets and numbers of threads.
struct QuantizeCase {
    const QuantizeOptions &options;
    ggufx_type_facts type;
    const float *rows; // n_rows rows, more than a call takes
    uint64_t n_rows;
    const std::vector<float> &weights;
    uint64_t row_bytes = 0;

    bool needs_imatrix() const {
        return type.id == GGUFX_TYPE_IQ2_XXS || type.id == GGUFX_TYPE_IQ2_XS ||
               type.id == GGUFX_TYPE_IQ1_S;
    }
    bool weighted() const { return options.imatrix || needs_imatrix(); }
    void quantize(std::vector<uint8_t> &out, const ggufx_runtime *rt, uint64_t first,
                  uint64_t count) const {
        auto args = sized<ggufx_quantize_args>();
        args.type = type.id;
        args.rows = rows + first * options.k;
        args.n_rows = count;
        args.n_cols = options.k;
        if (weighted()) args.imatrix = weights.data();
        call([&](ggufx_error *error) {
            return ggufx_quantize(out.data(), out.size(), rt, &args, error);
        });
    }
};

} // namespace

// Measures calls of `m` rows, fewer if they would take long. Returns MB/s of f32.
static double measure_quantize(const QuantizeCase &c, const Runner &runner) {
    constexpr double kLongest = 0.5, kBudget = 1.0;
    const auto bytes_of = [&](uint64_t n) { return static_cast<double>(n * c.options.k * 4); };
    std::vector<uint8_t> out(static_cast<size_t>(c.row_bytes * c.options.m));
    uint64_t count = std::min<uint64_t>(16, c.options.m), next = 0;
    double seconds = 0;
    for (;; count = std::min(4 * count, c.options.m)) { // also warms up
        seconds = seconds_of([&] { c.quantize(out, runner.runtime(), 0, count); });
        if (count == c.options.m || 4 * seconds > kLongest) break;
    }
    std::vector<double> mbps;
    double elapsed = 0;
    while (mbps.size() < 3 || (mbps.size() < 1000 && elapsed < kBudget / c.options.rounds)) {
        check_interrupt();
        next = next + count > c.n_rows ? 0 : next;
        elapsed += seconds_of([&] {
            mbps.push_back(bytes_of(count) / 1e6 /
                           seconds_of(c.options.clock, runner.threads(),
                                      [&] { c.quantize(out, runner.runtime(), next, count); }));
        });
        next += count;
    }
    return median(mbps);
}

// Compares a few rows with the scalar kernels on one thread.
static bool same_bytes(const QuantizeCase &c, const Runner &runner) {
    constexpr uint64_t kRows = 20;
    const Runtime scalar = try_runtime(GGUFX_ISA_SCALAR, 1);
    std::vector<uint8_t> got(static_cast<size_t>(c.row_bytes * kRows)), want(got.size());
    c.quantize(got, runner.runtime(), 0, kRows);
    c.quantize(want, scalar.get(), 0, kRows);
    return got == want;
}

static void print_quantize(const Globals &globals, Output &out, Table &table, const QuantizeCase &c,
                           const Runner &runner, double mbps, bool equal) {
    if (!globals.json) {
        table.row({c.type.name, c.weighted() ? "yes" : "no", runner.isa_name(),
                   fmt::format("{}", runner.threads()), fmt::format("{:.0f}", mbps),
                   equal ? "yes" : "NO"});
        return;
    }
    Json line = json_object();
    line.update(Json{{"bench", "quantize"},
                     {"type", c.type.name},
                     {"imatrix", c.weighted()},
                     {"threads", runner.threads()},
                     {"isa", runner.isa_name()},
                     {"mbps", mbps},
                     {"bytes_equal", equal}});
    print_json_line(out, line);
}

// Returns bell-shaped f32 values as bytes.
static std::vector<uint8_t> bell_pattern(size_t n, Random &random) {
    std::vector<float> x(n);
    for (float &value : x) {
        value = 0;
        for (int i = 0; i < 6; i++) value += 0.02f * random.real();
    }
    std::vector<uint8_t> bytes(n * sizeof(float));
    std::memcpy(bytes.data(), x.data(), bytes.size());
    return bytes;
}

static int bench_quantize(const Globals &globals, const QuantizeOptions &options) {
    const std::vector<Runner> runners = make_runners(globals, {1});
    const uint64_t row_bytes = options.k * sizeof(float);
    ColdBuffer buffer(std::max<size_t>(size_t{256} << 20, 2 * options.m * row_bytes));
    Random random(1);
    buffer.fill(bell_pattern(size_t{3} << 16, random));
    std::vector<float> weights(static_cast<size_t>(options.k));
    for (float &w : weights) w = std::exp(3 * random.real());
    Output out(globals);
    Table table({"type", "imatrix", "isa", ">t", ">MB/s of f32", "bytes equal"});
    bool all_equal = true;
    for (const std::string &name : types_with(GGUFX_TYPE_HAS_QUANTIZE, options.types)) {
        QuantizeCase c = {options, type_facts(type_from_name(name, "--type")),
                          reinterpret_cast<const float *>(buffer.data()), buffer.size() / row_bytes,
                          weights};
        call([&](ggufx_error *error) {
            return ggufx_type_row_bytes(&c.row_bytes, c.type.id, options.k, error);
        });
        Progress progress(globals, "bench " + std::string(c.type.name));
        std::vector<std::vector<double>> mbps(runners.size());
        for (unsigned round = 0; round < options.rounds; round++) {
            progress.update(round, options.rounds);
            for (size_t i = 0; i < runners.size(); i++)
                mbps[i].push_back(measure_quantize(c, runners[i]));
        }
        for (size_t i = 0; i < runners.size(); i++) {
            const bool equal = same_bytes(c, runners[i]);
            print_quantize(globals, out, table, c, runners[i], median(mbps[i]), equal);
            all_equal = all_equal && equal;
        }
    }
    return finish_products(globals, out, table, options.markdown, all_equal);
}

void add_bench_quantize(Tool &tool, Command &bench) {
    auto options = std::make_shared<QuantizeOptions>();
    options->m = 512;
    options->rounds = 5;
    Command sub = bench.add_command("quantize", "quantize f32 to blocks, per instruction set");
    sub.option("--type", options->types, "tensor types, or all (default q4_K)")
        .value("TYPES")
        .list();
    sub.flag("--imatrix", options->imatrix, "weigh columns; types that need weights always do");
    sub.option("-m,--m", options->m, "rows of a call (default 512)").between(1u, 1u << 20);
    sub.option("-k,--k", options->k, "values of a row (default 4096)").between(1u, 1u << 20);
    sub.option("-r,--rounds", options->rounds, "rounds of all instruction sets (default 5)")
        .between(1u, 1000u);
    add_clock(sub, options->clock);
    sub.flag("--markdown", options->markdown, "print the table as Markdown");
    sub.examples("  ggufx bench quantize --type q4_K,q8_0 --isa all -t 1,2 --imatrix");
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return bench_quantize(tool.globals, *options); });
}

} // namespace ggufx::cli
