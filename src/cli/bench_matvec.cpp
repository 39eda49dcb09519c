// ggufx bench matvec: weights from cold memory times vectors, per type and instruction set, beside
// the plain read of the same buffer in the same run; and whether the bits equal the scalar ones.
// SPDX-License-Identifier: MIT
#include "bench.hpp"
#include "blocks.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "signals.hpp"
#include "table.hpp"
#include "timing.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

struct MatvecOptions {
    std::vector<std::string> types = {"q4_K"};
    uint64_t n = 1;
    uint64_t m = 4096;
    uint64_t k = 4096;
    unsigned rounds = 5;
    double seconds = 0.3; // per instruction set and round
    bool f32 = false;
};

struct Racer {
    const char *name;
    Runtime rt;
    unsigned threads = 1;
    std::vector<double> gbps; // per round
    double peak_gops = 0;     // with weights that stay in the first cache levels
    bool bits_equal = true;
};

// One type's weights: as many matrices as the cold buffer holds.
struct Weights {
    ggufx_type_facts type;
    uint64_t matrix_bytes;
    std::vector<Tensor> matrices;
    std::vector<float> x;
    size_t next = 0; // matrix used last long ago
};

static std::vector<Racer> make_racers(const Globals &globals) {
    std::vector<Racer> racers;
    for (const IsaName &isa : kIsaNames) {
        const bool wanted =
            globals.isa == "all" ? isa.isa != GGUFX_ISA_BEST : globals.isa == isa.name;
        if (!wanted) continue;
        if (Runtime rt = try_runtime(isa.isa, globals.threads)) {
            const auto info =
                facts<ggufx_runtime_facts>([&](ggufx_runtime_facts *out, ggufx_error *error) {
                    return ggufx_runtime_info(out, rt.get(), error);
                });
            racers.push_back({info.isa_name, std::move(rt), info.threads, {}, 0, true});
        }
    }
    if (racers.empty()) {
        isa_from_name(globals.isa); // throws for a name that does not exist
        throw Failure(kUnsupported, "this machine has no " + globals.isa);
    }
    return racers;
}

static std::vector<float> multiply(const ggufx_runtime *rt, const ggufx_tensor *w,
                                   const std::vector<float> &x, const MatvecOptions &options) {
    ggufx_matmul_options matmul;
    ggufx_matmul_options_init(&matmul);
    matmul.flags = options.f32 ? GGUFX_MATMUL_F32 : 0;
    std::vector<float> y(static_cast<size_t>(options.m * options.n));
    call([&](ggufx_error *error) {
        return ggufx_matmul(y.data(), 0, y.size(), rt, w, x.data(), 0, x.size(),
                            static_cast<size_t>(options.n), &matmul, error);
    });
    return y;
}

static Weights make_weights(const ggufx_runtime *rt, const std::string &type_text,
                            const MatvecOptions &options, ColdBuffer &buffer) {
    Weights w;
    w.type = type_facts(type_from_name(type_text));
    if (!(w.type.flags & GGUFX_TYPE_HAS_MATVEC)) {
        throw Failure(kUnsupported, std::string("no products with ") + w.type.name + " weights");
    }
    uint64_t row_bytes = 0;
    call([&](ggufx_error *error) {
        return ggufx_row_bytes(&row_bytes, w.type.id, options.k, error);
    });
    w.matrix_bytes = row_bytes * options.m;
    if (w.matrix_bytes > buffer.size()) {
        throw Failure(kUsage, fmt::format("a matrix of {} does not fit the buffer of {}",
                                          bytes_text(w.matrix_bytes), bytes_text(buffer.size())));
    }
    Random random(1);
    const size_t n_blocks = (size_t{1} << 20) / w.type.block_bytes; // a pattern of 1 MiB
    buffer.fill(random_blocks(rt, w.type, n_blocks, Blocks::tame, random));
    for (uint64_t at = 0; at + w.matrix_bytes <= buffer.size(); at += w.matrix_bytes) {
        w.matrices.push_back(wrap_matrix(rt, w.type.id, options.k, options.m, 0, buffer.data() + at,
                                         w.matrix_bytes));
    }
    w.x = random_vector(static_cast<size_t>(options.k * options.n), random);
    return w;
}

static bool same_bits(const std::vector<float> &a, const std::vector<float> &b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

static void compare_bits(std::vector<Racer> &racers, const Weights &w,
                         const MatvecOptions &options) {
    const Runtime scalar = try_runtime(GGUFX_ISA_SCALAR, 0);
    for (size_t i = 0; i < w.matrices.size(); i += 1 + w.matrices.size() / 2) {
        const std::vector<float> expected =
            multiply(scalar.get(), w.matrices[i].get(), w.x, options);
        for (Racer &racer : racers) {
            const auto y = multiply(racer.rt.get(), w.matrices[i].get(), w.x, options);
            racer.bits_equal = racer.bits_equal && same_bits(expected, y);
        }
    }
}

// Multiplies by the next matrices for about the given time; GB/s of weights.
static double race(Racer &racer, Weights &w, const MatvecOptions &options) {
    uint64_t bytes = 0;
    double elapsed = 0;
    std::vector<float> y(static_cast<size_t>(options.m * options.n));
    ggufx_matmul_options matmul;
    ggufx_matmul_options_init(&matmul);
    matmul.flags = options.f32 ? GGUFX_MATMUL_F32 : 0;
    while (elapsed < options.seconds) {
        check_interrupt();
        const ggufx_tensor *matrix = w.matrices[w.next++ % w.matrices.size()].get();
        elapsed += seconds_of([&] {
            call([&](ggufx_error *error) {
                return ggufx_matmul(y.data(), 0, y.size(), racer.rt.get(), matrix, w.x.data(), 0,
                                    w.x.size(), static_cast<size_t>(options.n), &matmul, error);
            });
        });
        bytes += w.matrix_bytes;
    }
    return static_cast<double>(bytes) / elapsed / 1e9;
}

// Speed without memory in the way: a few rows, again and again.
static double peak_gops(const Racer &racer, const Weights &w, const MatvecOptions &options) {
    constexpr uint64_t kHotBytes = 128u << 10; // inside of a second-level cache
    const uint64_t row_bytes = w.matrix_bytes / options.m;
    const uint64_t n_rows = std::clamp<uint64_t>(kHotBytes / row_bytes, 1, options.m);
    MatvecOptions hot = options;
    hot.m = n_rows;
    const void *data = ggufx_tensor_data(w.matrices[0].get());
    const Tensor matrix =
        wrap_matrix(racer.rt.get(), w.type.id, options.k, n_rows, 0, data, n_rows * row_bytes);
    const double seconds =
        median_seconds(0.1, [&] { multiply(racer.rt.get(), matrix.get(), w.x, hot); });
    return 2 * static_cast<double>(n_rows * options.k * options.n) / seconds / 1e9;
}

// Reads a part of the buffer that no kernel touched in this round.
static void race_read(std::vector<double> (&rates)[4], const Racer &racer, const ColdBuffer &buffer,
                      unsigned round) {
    constexpr size_t kPart = size_t{128} << 20;
    for (size_t v = 0; v < 4; ++v) {
        const size_t at = (round + v) % (buffer.size() / kPart) * kPart;
        rates[v].push_back(
            read_gbps(racer.rt.get(), buffer.data() + at, kPart, racer.threads, kReadVariants[v]));
    }
}

static double best_median(const std::vector<double> (&rates)[4]) {
    double best = 0;
    for (const auto &variant : rates) best = std::max(best, median(variant));
    return best;
}

struct Report {
    const Globals &globals;
    Output &out;
    Table table;
};

static void print_type(Report &report, const std::vector<Racer> &racers, const Weights &w,
                       double read, const MatvecOptions &options) {
    const bool float_type = (w.type.flags & GGUFX_TYPE_IS_FLOAT) != 0;
    const char *mode = options.f32 || float_type ? "f32" : "canonical";
    for (const Racer &racer : racers) {
        const double gbps = median(racer.gbps);
        const double weights = static_cast<double>(options.m * options.k);
        const double gops = 2 * weights * static_cast<double>(options.n) * gbps /
                            static_cast<double>(w.matrix_bytes);
        report.table.row({w.type.name, racer.name, mode, fmt::format("{}", racer.threads),
                          fmt::format("{:.2f}", gbps), fmt::format("{:.2f}", read),
                          fmt::format("{:.3f}", gbps / read), fmt::format("{:.1f}", gops),
                          racer.bits_equal ? "yes" : "NO"});
        if (!report.globals.json) continue;
        Json line = json_object();
        line.update(Json{{"bench", "matvec"},
                         {"type", w.type.name},
                         {"isa", racer.name},
                         {"n", options.n},
                         {"m", options.m},
                         {"k", options.k},
                         {"threads", racer.threads},
                         {"mode", mode},
                         {"gbps", gbps},
                         {"read_gbps", read},
                         {"ratio", gbps / read},
                         {"gops", gops},
                         {"peak_gops", racer.peak_gops},
                         {"bits_equal", racer.bits_equal}});
        print_json_line(report.out, line);
    }
}

static int bench_matvec(const Globals &globals, const MatvecOptions &options) {
    std::vector<Racer> racers = make_racers(globals);
    ColdBuffer buffer(kColdBytes);
    Output out(globals);
    Report report = {globals, out,
                     Table({"type", "isa", "mode", ">threads", ">GB/s", ">read GB/s", ">ratio",
                            ">Gop/s", "bits equal"})};
    bool all_equal = true;
    for (const std::string &type : options.types) {
        Weights w = make_weights(racers[0].rt.get(), type, options, buffer);
        compare_bits(racers, w, options);
        for (Racer &racer : racers) racer.peak_gops = peak_gops(racer, w, options);
        Progress progress(globals, "bench " + std::string(w.type.name));
        std::vector<double> reads[4];
        for (unsigned round = 0; round < options.rounds; ++round) {
            progress.update(round, options.rounds);
            for (Racer &racer : racers) {
                racer.gbps.push_back(race(racer, w, options));
                race_read(reads, racer, buffer, round);
            }
        }
        print_type(report, racers, w, best_median(reads), options);
        for (Racer &racer : racers) {
            all_equal = all_equal && racer.bits_equal;
            racer.gbps.clear();
            racer.bits_equal = true;
        }
    }
    if (!globals.json) report.table.print(out, make_style(globals, out));
    out.finish();
    return all_equal ? kOk : kCheckFailed;
}

void add_bench_matvec(Tool &tool, CLI::App &bench) {
    auto options = std::make_shared<MatvecOptions>();
    CLI::App *sub = bench.add_subcommand("matvec", "weights times vectors, per instruction set");
    sub->add_option("--type", options->types, "tensor type; may be given again; q4_K")
        ->allow_extra_args(false);
    sub->add_option("-n,--n", options->n, "vectors; 1")->check(CLI::Range(1u, 4096u));
    sub->add_option("-m,--m", options->m, "rows of a matrix; 4096")
        ->check(CLI::Range(1u, 1u << 20));
    sub->add_option("-k,--k", options->k, "columns of a matrix; 4096")
        ->check(CLI::Range(1u, 1u << 20));
    sub->add_option("-r,--rounds", options->rounds, "medians of N rounds; 5")
        ->check(CLI::Range(1u, 1000u));
    sub->add_flag("--f32", options->f32, "f32 activations with quantized weights too");
    sub->footer("  ggufx bench matvec --type q4_K --isa all -t 1 --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_matvec(tool.globals, *options); });
}

} // namespace ggufx::cli
