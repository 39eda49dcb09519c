// Weights in a buffer, and selection of runners and types.
// SPDX-License-Identifier: MIT
#include "bench/products.hpp"
#include "common/signals.hpp"
#include "common/text.hpp"
#include "common/timing.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

static std::vector<IsaName> chosen_isas(const std::string &list) {
    if (list == "all") return {std::begin(kIsaNames) + 1, std::end(kIsaNames)};
    std::vector<IsaName> chosen;
    for (size_t at = 0; at <= list.size();) {
        const size_t end = std::min(list.find(',', at), list.size());
        const int32_t isa = isa_from_name(list.substr(at, end - at));
        const auto named = [isa](const IsaName &known) { return known.isa == isa; };
        chosen.push_back(*std::find_if(std::begin(kIsaNames), std::end(kIsaNames), named));
        at = end + 1;
    }
    return chosen;
}

std::vector<Runner> make_runners(const Globals &globals, const std::vector<uint64_t> &n) {
    std::vector<Runner> runners;
    for (const IsaName &isa : chosen_isas(globals.isa)) {
        for (const unsigned threads : globals.thread_counts) {
            for (const uint64_t columns : n) {
                Runtime rt = try_runtime(isa.isa, threads);
                if (!rt && globals.isa == "all") continue;
                if (!rt) {
                    throw Failure(kUnsupported, fmt::format("this machine has no {}", isa.name));
                }
                runners.emplace_back(std::move(rt), columns);
            }
        }
    }
    return runners;
}

void add_clock(Command &sub, Clock &clock) {
    sub.choice(
        "--clock", {"wall", "cpu"},
        [&clock](size_t index) { clock = index == 0 ? Clock::wall : Clock::cpu; },
        "wall = elapsed time, cpu = processor time per thread, for machines that are not idle "
        "(default wall)");
}

std::vector<std::string> types_with(uint32_t flag, const std::vector<std::string> &names) {
    if (names != std::vector<std::string>{"all"}) return names;
    std::vector<std::string> all;
    for (const ggufx_type_facts &type : all_types()) {
        if (type.flags & flag) all.emplace_back(type.name);
    }
    return all;
}

// Returns about 64 KiB of weights as in files; random bytes if the type has no quantizer. (Random
// bytes include tiny scales, and products with subnormal values cost a hundred cycles.)
static std::vector<uint8_t> make_pattern(const ggufx_runtime *rt, const ggufx_type_facts &type) {
    constexpr size_t kRowBlocks = 16, kBytes = size_t{64} << 10;
    Random random(1);
    const size_t n_rows = std::max<size_t>(kBytes / type.block_bytes / kRowBlocks, 1);
    const size_t n_blocks = n_rows * kRowBlocks;
    if (!(type.flags & GGUFX_TYPE_HAS_QUANTIZE)) {
        return random_blocks(rt, type, n_blocks, Blocks::tame, random);
    }
    const size_t n_cols = kRowBlocks * type.block_values;
    const std::vector<float> values = random_vector(n_rows * n_cols, random);
    const std::vector<float> imatrix(n_cols, 1.0f);
    auto args = sized<ggufx_quantize_args>();
    args.type = type.id;
    args.rows = values.data();
    args.n_rows = n_rows;
    args.n_cols = n_cols;
    args.imatrix = imatrix.data();
    std::vector<uint8_t> bytes(n_blocks * type.block_bytes);
    call([&](ggufx_error *error) {
        return ggufx_quantize(bytes.data(), bytes.size(), rt, &args, error);
    });
    return bytes;
}

Weights make_weights(const ggufx_runtime *rt, const std::string &type_text,
                     const ProductOptions &options, ColdBuffer &buffer) {
    Weights w;
    w.type = type_facts(type_from_name(type_text, "--type"));
    if (!(w.type.flags & GGUFX_TYPE_HAS_MATVEC)) {
        throw Failure(kUnsupported, std::string("no products with ") + w.type.name + " weights");
    }
    call([&](ggufx_error *error) {
        return ggufx_type_row_bytes(&w.row_bytes, w.type.id, options.k, error);
    });
    const uint64_t n_fit = buffer.size() / w.row_bytes;
    if (n_fit == 0 || (n_fit < options.m && options.cache == "memory")) {
        throw Failure(kUsage,
                      fmt::format("a matrix of {} does not fit the buffer of {}",
                                  bytes_text(w.row_bytes * options.m), bytes_text(buffer.size())));
    }
    w.m = std::min(options.m, n_fit);
    w.data = buffer.data();
    w.n_matrices = n_fit / w.m;
    buffer.fill(make_pattern(rt, w.type));
    Random random(2);
    const uint64_t n = *std::max_element(options.n.begin(), options.n.end());
    w.x = random_vector(static_cast<size_t>(options.k * n), random);
    return w;
}

Runner::Runner(Runtime rt, uint64_t n) : rt_(std::move(rt)), n_(n) {
    const ggufx_runtime_facts info = runtime_facts(rt_.get());
    threads_ = info.threads;
    isa_ = info.isa;
    isa_name_ = info.isa_name;
}

double Runner::seconds_per_row() const {
    return median(seconds_);
}

// Computes y_ = matrix * x; returns the time.
double Runner::multiply(const ggufx_tensor *matrix, const ProductOptions &options) {
    auto matmul = sized<ggufx_matmul_options>();
    matmul.flags = options.flags();
    const ggufx_product product =
        product_of(matrix, std::span(*x_).first(static_cast<size_t>(options.k * n_)),
                   static_cast<size_t>(n_), y_);
    return seconds_of(options.clock, threads_, [&] {
        call([&](ggufx_error *error) {
            return ggufx_matmul(rt_.get(), &product, 1, &matmul, error);
        });
    });
}

void Runner::prepare(const Weights &w, const ProductOptions &options) {
    constexpr uint64_t kTrialRows = 64;
    constexpr double kLongest = 0.25; // seconds per call
    x_ = &w.x;
    seconds_.clear();
    bits_equal_ = true;
    m_ = std::min(kTrialRows, w.m);
    y_.resize(static_cast<size_t>(m_ * n_));
    const auto wrap = [&](uint64_t first_row) {
        return wrap_matrix(rt_.get(), w.type.id, options.k, m_, 0, w.data + first_row * w.row_bytes,
                           m_ * w.row_bytes);
    };
    const double trial = multiply(wrap(0).get(), options);
    m_ = w.m;
    while (m_ > kTrialRows && trial / kTrialRows * static_cast<double>(m_) > kLongest) m_ /= 2;
    matrices_.clear();
    for (size_t i = 0; i < w.n_matrices; i++) matrices_.push_back(wrap(i * w.m));
    y_.resize(static_cast<size_t>(m_ * n_));
}

void Runner::compare(const Weights &w, const ggufx_runtime *scalar, const ProductOptions &options) {
    constexpr uint64_t kProducts = uint64_t{1} << 27; // about 0.2 s with the scalar kernels
    const uint64_t rows = std::clamp<uint64_t>(kProducts / (options.k * n_), 1, m_);
    const Tensor part =
        wrap_matrix(rt_.get(), w.type.id, options.k, rows, 0, w.data, rows * w.row_bytes);
    y_.resize(static_cast<size_t>(rows * n_));
    multiply(part.get(), options);
    std::vector<float> y(y_.size());
    auto matmul = sized<ggufx_matmul_options>();
    matmul.flags = options.flags();
    const ggufx_product product =
        product_of(part.get(), std::span(*x_).first(static_cast<size_t>(options.k * n_)),
                   static_cast<size_t>(n_), y);
    call([&](ggufx_error *error) { return ggufx_matmul(scalar, &product, 1, &matmul, error); });
    bits_equal_ = std::memcmp(y.data(), y_.data(), y.size() * sizeof(float)) == 0;
    y_.resize(static_cast<size_t>(m_ * n_));
}

void Runner::run(double seconds, const ProductOptions &options) {
    for (double elapsed = 0; elapsed < seconds;) {
        check_interrupt();
        const ggufx_tensor *matrix = matrices_[next_++ % matrices_.size()].get();
        elapsed += seconds_of(
            [&] { seconds_.push_back(multiply(matrix, options) / static_cast<double>(m_)); });
    }
}

int finish_products(const Globals &globals, Output &out, const Table &table, bool markdown,
                    bool all_equal) {
    if (markdown) {
        table.print_markdown(out);
    } else if (!globals.json) {
        table.print(out, make_style(globals, out));
    }
    out.finish();
    return all_equal ? kOk : kCheckFailed;
}

} // namespace ggufx::cli
