// The published errors of the reference's quantizers (errors.md), from the same random numbers: 64
// x 4096 values of a normal distribution and of Student's t with 3 degrees of freedom, lognormal
// importance. The generator is numpy's default_rng(4096): PCG64, seeded by hashing, and ziggurats.
// SPDX-License-Identifier: MIT
#include "base/cpu.hpp"
#include "base/host.hpp"
#include "golden.hpp"
#include "kernels/dispatch.hpp"
#include "quant/quantize.hpp"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace golden {

using namespace ggufx;

namespace {

constexpr size_t kRows = 64, kColumns = 4096, kValues = kRows * kColumns;

// ---- random numbers -----------------------------------------------------------------------------

struct U128 {
    uint64_t high, low;
};
U128 add(U128 a, U128 b) {
    const uint64_t low = a.low + b.low;
    return {a.high + b.high + (low < a.low), low};
}
U128 multiply(U128 a, U128 b) {
    const uint64_t a0 = a.low & 0xffffffffu, a1 = a.low >> 32, b0 = b.low & 0xffffffffu,
                   b1 = b.low >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffffu);
    const uint64_t carried = a1 * b1 + (middle >> 32) + (other >> 32);
    return {carried + a.high * b.low + a.low * b.high, a.low * b.low};
}

// Expands a seed of 32 bits to four words of 64.
void spread_seed(uint64_t words[4], uint32_t seed) {
    uint32_t pool[4] = {seed, 0, 0, 0}, factor = 0x43b0d7e5u;
    const auto hash = [&factor](uint32_t v, uint32_t by) {
        v ^= factor;
        factor *= by;
        v *= factor;
        return v ^ v >> 16;
    };
    for (uint32_t &p : pool) p = hash(p, 0x931e8875u);
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++) {
            if (from == to) continue;
            const uint32_t mixed =
                0xca01f9ddu * pool[to] - 0x4973f715u * hash(pool[from], 0x931e8875u);
            pool[to] = mixed ^ mixed >> 16;
        }
    factor = 0x8b51f9ddu;
    for (int i = 0; i < 8; i++) {
        const uint64_t half = hash(pool[i % 4], 0x58f38dedu);
        words[i / 2] = i % 2 ? words[i / 2] | half << 32 : half;
    }
}

class Draws {
public:
    explicit Draws(uint32_t seed) {
        uint64_t w[4];
        spread_seed(w, seed);
        step_ = {w[2] << 1 | w[3] >> 63, w[3] << 1 | 1};
        advance();
        state_ = add(state_, {w[0], w[1]});
        advance();
        make_layers();
    }
    double normal() {
        for (;;) {
            const uint64_t bits = next(), mantissa = bits >> 9 & 0xfffffffffffffu;
            const auto layer = static_cast<size_t>(bits & 255);
            const double x = static_cast<double>(mantissa) * width_[layer];
            const double drawn = bits >> 8 & 1 ? -x : x;
            if (mantissa < inside_[layer]) return drawn;
            if (layer == 0) return tail(mantissa >> 8 & 1);
            const double y = (height_[layer - 1] - height_[layer]) * uniform() + height_[layer];
            if (y < exp(-0.5 * x * x)) return drawn;
        }
    }
    double student_t(double freedom) {
        const double n = normal(), g = gamma(freedom / 2);
        return sqrt(freedom / 2) * n / sqrt(g);
    }

private:
    static constexpr double kEnd = 3.6541528853610087963519472518; // start of the tail
    void advance() {
        state_ = add(multiply(state_, {0x2360ed051fc65da4u, 0x4385df649fccf645u}), step_);
    }
    uint64_t next() {
        advance();
        const uint64_t mixed = state_.high ^ state_.low;
        const unsigned by = static_cast<unsigned>(state_.high >> 58);
        return mixed >> by | mixed << ((64 - by) & 63);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    double tail(bool negative) {
        for (;;) {
            const double x = -log1p(-uniform()) / kEnd, y = -log1p(-uniform());
            if (y + y > x * x) return negative ? -(kEnd + x) : kEnd + x;
        }
    }
    double gamma(double shape) { // shape > 1
        const double b = shape - 1.0 / 3.0, c = 1.0 / sqrt(9 * b);
        for (;;) {
            double x, v;
            do {
                x = normal();
                v = 1.0 + c * x;
            } while (v <= 0);
            v = v * v * v;
            const double u = uniform();
            if (u < 1.0 - 0.0331 * (x * x) * (x * x)) return b * v;
            if (log(u) < 0.5 * x * x + b * (1.0 - v + log(v))) return b * v;
        }
    }
    // 256 layers of equal area under exp(-x^2 / 2); the lowest has the tail.
    void make_layers() {
        const double area =
            kEnd * exp(-0.5 * kEnd * kEnd) + sqrt(atan(1.0) * 2) * erfc(kEnd / sqrt(2.0));
        const double lowest = area / exp(-0.5 * kEnd * kEnd);
        double x = kEnd;
        width_[0] = lowest * 0x1p-52;
        inside_[0] = static_cast<uint64_t>(kEnd / lowest * 0x1p52);
        inside_[1] = 0;
        height_[0] = 1;
        for (size_t i = 255; i >= 1; i--) {
            height_[i] = exp(-0.5 * x * x);
            width_[i] = x * 0x1p-52;
            const double above = i > 1 ? sqrt(-2.0 * log(area / x + height_[i])) : 0;
            if (i > 1) inside_[i] = static_cast<uint64_t>(above / x * 0x1p52);
            x = above;
        }
    }

    U128 state_ = {0, 0}, step_;
    uint64_t inside_[256];
    double width_[256], height_[256];
};

// ---- errors -------------------------------------------------------------------------------------

struct Sample {
    std::vector<float> values[2], importance; // normal, Student's t
};
Sample draw() {
    Draws draws(4096);
    Sample s;
    for (size_t i = 0; i < kValues; i++)
        s.values[0].push_back(static_cast<float>(draws.normal() * 0.02));
    for (size_t i = 0; i < kValues; i++)
        s.values[1].push_back(static_cast<float>(draws.student_t(3) * 0.02));
    for (size_t i = 0; i < kColumns; i++)
        s.importance.push_back(static_cast<float>(exp(draws.normal())));
    return s;
}

// RMSE, largest error, RMSE weighted by the importance; all relative to the RMS of x.
struct Figures {
    double of[3];
};
Figures figures_of(const std::vector<float> &y, const std::vector<float> &x,
                   const std::vector<float> &importance) {
    double square = 0, error = 0, most = 0, weighted = 0, weights = 0;
    for (size_t i = 0; i < kValues; i++) {
        const double v = static_cast<double>(x[i]), e = static_cast<double>(y[i]) - v;
        const auto w = static_cast<double>(importance[i % kColumns]);
        square += v * v, error += e * e, weighted += w * e * e, weights += w;
        if (fabs(e) > most) most = fabs(e);
    }
    const double rms = sqrt(square / kValues);
    return {{sqrt(error / kValues) / rms, most / rms, sqrt(weighted / weights) / rms}};
}

// Quantizes and dequantizes the values; returns false when the type needs an importance matrix.
bool round_trip(Report &r, std::vector<float> *y, const Host &host, const fmt::TypeInfo &type,
                const std::vector<float> &x, const float *imatrix, bool best = false) {
    const kernels::Encode *encoder = quant::encoder(type.id);
    if (!r.check(encoder != nullptr, "%s has no encoder", type.name)) return false;
    if (encoder->needs.imatrix && !imatrix) return false;
    const size_t row_bytes = kColumns / type.block_values * type.block_bytes;
    Bytes blocks(kRows * row_bytes);
    Failure failure = {};
    const kernels::Kernels *sets[8];
    const size_t n_sets = kernels::list(sets, 8, cpu::features());
    const Status status =
        quant::quantize({blocks.data(), blocks.size(), type.id}, host, *sets[n_sets - 1],
                        {x.data(), kRows, kColumns, imatrix, best}, Progress(), &failure);
    r.check(status == Status::ok, "%s: %s", type.name, failure.message);
    y->resize(kValues);
    for (size_t row = 0; row < kRows; row++)
        fmt::decode_row(y->data() + row * kColumns, type, blocks.data() + row * row_bytes,
                        kColumns);
    return true;
}

// `| type | bits | twelve figures |`: both samples, without and with the importance.
struct Line {
    char name[16] = "";
    std::string cells[12];
};
bool parse_line(Line *line, const char *text) {
    if (sscanf(text, "| %15[a-z0-9_K] |", line->name) != 1) return false;
    const char *at = strchr(strchr(text + 1, '|') + 1, '|');
    for (std::string &cell : line->cells) {
        const char *end = at ? strchr(at + 1, '|') : nullptr;
        if (!end) return false;
        cell.assign(at + 1, end);
        at = end;
    }
    return true;
}

size_t check_line(Report &r, const Host &host, const Sample &sample, const Line &line) {
    const fmt::TypeInfo *type = fmt::type_by_name(line.name, strlen(line.name));
    if (!type) return 0; // the heading
    std::vector<float> y;
    for (size_t set = 0; set < 4; set++) {
        const std::vector<float> &x = sample.values[set / 2];
        const float *imatrix = set % 2 ? sample.importance.data() : nullptr;
        const std::string *cells = line.cells + 3 * set;
        if (!round_trip(r, &y, host, *type, x, imatrix)) {
            r.check(cells[0].find("needs im") != std::string::npos, "%s needs an imatrix",
                    type->name);
            continue;
        }
        const Figures got = figures_of(y, x, sample.importance);
        for (size_t k = 0; k < 3; k++) {
            char *end;
            const double want = strtod(cells[k].c_str(), &end);
            // Equal to the five published decimals.
            r.check(end != cells[k].c_str() && fabs(got.of[k] - want) < 5.01e-6,
                    "%s, set %zu, figure %zu: %.7f, published %s", type->name, set, k, got.of[k],
                    cells[k].c_str());
        }
    }
    return 12;
}

} // namespace

int test_published_errors_of_the_reference(Report &r, const std::string &folder) {
    Bytes text;
    if (!r.check(read_file(&text, folder + "/errors.md"), "no errors.md")) return 1;
    const Ref<Host> host = Host::create({nullptr, nullptr, nullptr, 2});
    const Sample sample = draw();
    text.push_back(0);
    size_t n = 0;
    for (const char *at = reinterpret_cast<const char *>(text.data()); at; at = strchr(at, '\n')) {
        Line line;
        at += *at == '\n';
        if (parse_line(&line, at)) n += check_line(r, *host, sample, line);
    }
    r.check(n == 27 * 12, "%zu figures compared, not 27 * 12", n);
    r.note("%zu figures", n);
    return r.exit_code();
}

// The table of tests/bench/quantize.md: RMSE; with an importance matrix, weighted by it.
int test_print_best(Report &r, const std::string &) {
    const Ref<Host> host = Host::create({nullptr, nullptr, nullptr, 2});
    const Sample sample = draw();
    for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
        const fmt::TypeInfo *type = fmt::type_info(id);
        if (!type || type->block_values == 1 || !quant::encoder(id)) continue;
        printf("| %s |", type->name);
        for (size_t set = 0; set < 4; set++) {
            const float *imatrix = set % 2 ? sample.importance.data() : nullptr;
            for (int best = 0; best < 2; best++) {
                std::vector<float> y;
                const std::vector<float> &x = sample.values[set / 2];
                if (round_trip(r, &y, *host, *type, x, imatrix, best == 1))
                    printf(" %.5f |", figures_of(y, x, sample.importance).of[set % 2 ? 2 : 0]);
                else
                    printf("  |");
            }
        }
        printf("\n");
    }
    return r.exit_code();
}

} // namespace golden
