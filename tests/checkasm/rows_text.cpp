// The formulas of kernels/rows.hpp in binary64, with the C library's functions.
// SPDX-License-Identifier: MIT
#include "rows_text.hpp"

#include "../tolerances.h"
#include "base/fpenv.hpp"
#include "rows_cases.hpp"

#include <algorithm>
#include <math.h>
#include <stdio.h>
#include <vector>

namespace rowsteps {

namespace {

using namespace ggufx;
using namespace ggufx::kernels;
using testdata::Random;
using Values = std::vector<float>;

class Text {
public:
    Text(const RowKernels &k, long *n_checked) : k_(k), n_checked_(n_checked) {}

    void norms(size_t n);
    void rotations(size_t pairs);
    void values(size_t n);
    void activations(size_t n);
    void softmax(size_t n);
    void recurrent(size_t rows, size_t n);
    void conv(size_t k, size_t n);
    void limits();
    void nan(const Case &c);
    long failed() const { return failed_; }

private:
    Values fill(size_t n, float largest) {
        Values v(n);
        for (float &f : v) f = random_.unit() * largest;
        return v;
    }
    // magnitude: sum of the terms without their signs. The constant covers results below normal
    // numbers.
    void near(const char *what, float got, double want, double magnitude) {
        check(what, fabs(got - want) <= TOLERANCE_ROWS * magnitude + 1e-37, got, want);
    }
    void check(const char *what, bool ok, double got, double want) {
        ++*n_checked_;
        if (!ok && failed_++ < 20) printf("FAILED text of %s: %.9g, not %.9g\n", what, got, want);
    }
    void same(const char *what, float got, float want) {
        check(what, f32_bits(got) == f32_bits(want), got, want);
    }

    const RowKernels &k_;
    long *n_checked_;
    long failed_ = 0;
    Random random_{37};
};

// A sum, and the sum of its terms' magnitudes.
struct Terms {
    double sum = 0.0, magnitude = 0.0;
    void add(double term, double of_term) {
        sum += term;
        magnitude += of_term;
    }
    void add(double term) { add(term, fabs(term)); }
};

double sum_of(const Values &v, double (*f)(double)) {
    double sum = 0.0;
    for (const float x : v) sum += f(x);
    return sum;
}
double square(double x) {
    return x * x;
}
double sigmoid_of(double x) {
    return 1.0 / (1.0 + exp(-x));
}

void Text::norms(size_t n) {
    const Values x = fill(n, 3.0f), w = fill(n, 2.0f), b = fill(n, 1.0f);
    const double count = static_cast<double>(n);
    Values y(n);
    k_.rms(y.data(), x.data(), w.data(), n, 1e-2f);
    const double rms = sqrt(sum_of(x, square) / count + 1e-2f);
    for (size_t i = 0; i < n; i++) near("rms", y[i], x[i] / rms * w[i], fabs(x[i] / rms * w[i]));

    k_.layer_norm(y.data(), x.data(), w.data(), b.data(), n, 1e-2f);
    const double mean = sum_of(x, [](double v) { return v; }) / count;
    double variance = 0.0;
    for (const float v : x) variance += square(v - mean) / count;
    const double deviation = sqrt(variance + 1e-2f);
    for (size_t i = 0; i < n; i++)
        near("layer_norm", y[i], (x[i] - mean) / deviation * w[i] + b[i],
             (3.0 / deviation) * fabs(w[i]) + fabs(b[i]));

    k_.l2(y.data(), x.data(), n, 1e-6f);
    const double length = sqrt(sum_of(x, square));
    for (size_t i = 0; i < n; i++) near("l2", y[i], x[i] / length, fabs(x[i] / length));
    k_.l2(y.data(), x.data(), n, 1e6f);
    for (size_t i = 0; i < n; i++) near("l2, short", y[i], x[i] / 1e6, fabs(x[i] / 1e6));
}

void Text::rotations(size_t pairs) {
    const Values x = fill(2 * pairs, 3.0f), angles = fill(2 * pairs, 1.0f);
    for (const bool halves : {false, true}) {
        Values y = x;
        (halves ? k_.rotate_halves : k_.rotate_pairs)(y.data(), angles.data(), pairs);
        for (size_t i = 0; i < pairs; i++) {
            const size_t first = halves ? i : 2 * i, second = halves ? i + pairs : 2 * i + 1;
            const double a = x[first], b = x[second], c = angles[2 * i], s = angles[2 * i + 1];
            const double magnitude = fabs(a) + fabs(b);
            near("rotation", y[first], a * c - b * s, magnitude);
            near("rotation", y[second], a * s + b * c, magnitude);
        }
    }
}

void Text::values(size_t n) {
    const Values a = fill(n, 9.0f), x = fill(n, 9.0f);
    Values y = a;
    k_.add(y.data(), x.data(), n);
    for (size_t i = 0; i < n; i++) near("add", y[i], double(a[i]) + x[i], fabs(a[i]) + fabs(x[i]));
    y = a;
    k_.add_scaled(y.data(), x.data(), 0.3f, n);
    for (size_t i = 0; i < n; i++)
        near("add_scaled", y[i], a[i] + 0.3f * double(x[i]), fabs(a[i]) + fabs(x[i]));
    y = a;
    k_.multiply(y.data(), x.data(), n);
    for (size_t i = 0; i < n; i++) near("multiply", y[i], double(a[i]) * x[i], fabs(a[i] * x[i]));
    y = a;
    k_.scale(y.data(), 0.3f, n);
    for (size_t i = 0; i < n; i++) near("scale", y[i], double(a[i]) * 0.3f, fabs(a[i]));
    y = a;
    k_.clamp(y.data(), 4.0f, n);
    for (size_t i = 0; i < n; i++) same("clamp", y[i], fmaxf(-4.0f, fminf(4.0f, a[i])));
    y = a;
    k_.cap(y.data(), 3.0f, n);
    for (size_t i = 0; i < n; i++) near("cap", y[i], 3.0 * tanh(a[i] / 3.0), 3.0);
}

void Text::activations(size_t n) {
    const Values a = fill(n, 30.0f), u = fill(n, 9.0f);
    const auto check_one = [&](const char *name, void (*f)(float *, const float *, size_t),
                               double (*act)(double)) {
        Values gated = a, alone = a;
        f(gated.data(), u.data(), n);
        f(alone.data(), nullptr, n);
        for (size_t i = 0; i < n; i++) {
            const double want = act(a[i]), magnitude = fmax(fabs(want), 1e-3 * fabs(a[i]));
            near(name, alone[i], want, magnitude);
            near(name, gated[i], want * u[i], magnitude * fabs(u[i]));
        }
    };
    check_one("silu", k_.silu, [](double g) { return g * sigmoid_of(g); });
    check_one("gelu", k_.gelu, [](double g) {
        return 0.5 * g * (1.0 + tanh(0.79788456080286536 * (g + 0.044715 * g * g * g)));
    });
    check_one("relu2", k_.relu2, [](double g) { return g > 0.0 ? g * g : 0.0; });
    Values y = a;
    k_.oai(y.data(), u.data(), n);
    for (size_t i = 0; i < n; i++) {
        const double g = fmin(a[i], 7.0), up = fmax(-7.0, fmin(u[i], 7.0)) + 1.0;
        near("oai", y[i], g * sigmoid_of(1.702f * g) * up, fabs(g) * 8.0);
    }
    y = u;
    k_.sigmoid(y.data(), a.data(), n);
    for (size_t i = 0; i < n; i++) near("sigmoid", y[i], u[i] * sigmoid_of(a[i]), fabs(u[i]));
}

void Text::softmax(size_t n) {
    const Values a = fill(n, 8.0f);
    Values y = a;
    k_.softmax(y.data(), n);
    const double sum = sum_of(a, exp);
    for (size_t i = 0; i < n; i++) near("softmax", y[i], exp(a[i]) / sum, 2.0 * exp(a[i]) / sum);
    k_.maxima(y.data(), a.data(), n);
    for (size_t i = 0; i < n; i += 64) {
        const size_t end = i + 64 < n ? i + 64 : n;
        const auto first = a.begin();
        same("maxima", y[i / 64],
             *std::max_element(first + static_cast<ptrdiff_t>(i),
                               first + static_cast<ptrdiff_t>(end)));
    }
    k_.exp_from(y.data(), a.data(), 2.5f, n);
    for (size_t i = 0; i < n; i++) {
        const double want = exp(double(a[i] - 2.5f));
        near("exp_from", y[i], want, 2.0 * want);
    }
}

void Text::conv(size_t k, size_t n) {
    const size_t w_step = n + 3; // w may have longer rows
    const Values x = fill(k * n, 3.0f), w = fill(k * w_step, 2.0f), b = fill(n, 1.0f);
    const float *columns[kConvTaps];
    for (size_t j = 0; j < k; j++) columns[j] = x.data() + j * n;
    for (const float *bias : {b.data(), static_cast<const float *>(nullptr)}) {
        Values y(n);
        k_.conv(y.data(), columns, w.data(), w_step, bias, k, n);
        for (size_t c = 0; c < n; c++) {
            Terms terms;
            if (bias) terms.add(bias[c]);
            for (size_t j = 0; j < k; j++) terms.add(double(w[j * w_step + c]) * x[j * n + c]);
            near("conv", y[c], terms.sum, terms.magnitude);
        }
    }
}

void Text::recurrent(size_t rows, size_t n) {
    const Values m = fill(rows * n, 2.0f), key = fill(n, 1.0f), query = fill(n, 1.0f),
                 v = fill(rows, 3.0f), rates = fill(rows * n, 2.0f), dt = fill(rows, 1.0f);
    const struct { float decay, beta, scale; } s = {0.9f, 0.7f, 0.3f};
    Values delta = m, scan = m, each = m, out(3 * rows);
    k_.delta({1,
              {key.data(), 0},
              {query.data(), 0},
              {v.data(), 0},
              {&s.decay, 0},
              {&s.beta, 0},
              s.scale,
              out.data(),
              0},
             delta.data(), m.data(), rows, n);
    k_.scan({out.data() + rows, key.data(), query.data(), v.data(), 0.9f, 0.2f}, scan.data(),
            m.data(), rows, n);
    k_.scan_each(
        {out.data() + 2 * rows, rates.data(), key.data(), query.data(), v.data(), dt.data()},
        each.data(), m.data(), rows, n);
    for (size_t r = 0; r < rows; r++) {
        Terms found, read[3];
        for (size_t i = 0; i < n; i++) found.add(double(m[r * n + i]) * s.decay * key[i]);
        const double step = s.beta * (v[r] - found.sum);
        const double meet = s.beta * (fabs(v[r]) + found.magnitude);
        for (size_t i = 0; i < n; i++) {
            const size_t at = r * n + i;
            Terms now[3];
            now[0].add(double(m[at]) * s.decay);
            now[0].add(step * key[i], meet * fabs(key[i]));
            now[1].add(double(m[at]) * 0.9f);
            now[1].add(double(v[r]) * 0.2f * key[i]);
            now[2].add(m[at] * exp(double(dt[r]) * rates[at]));
            now[2].add(double(v[r]) * dt[r] * key[i]);
            near("state of delta", delta[at], now[0].sum, now[0].magnitude);
            near("state of scan", scan[at], now[1].sum, now[1].magnitude);
            near("state of scan_each", each[at], now[2].sum, now[2].magnitude);
            for (size_t j = 0; j < 3; j++)
                read[j].add(now[j].sum * query[i], now[j].magnitude * fabs(query[i]));
        }
        near("delta", out[r], read[0].sum * s.scale, read[0].magnitude * s.scale);
        near("scan", out[rows + r], read[1].sum, read[1].magnitude);
        near("scan_each", out[2 * rows + r], read[2].sum, read[2].magnitude);
    }
}

// Infinities and zeros, as documented in the header.
void Text::limits() {
    const float inf = __builtin_inff();
    float masked[3] = {-inf, 2.0f, 2.0f}, none[2] = {-inf, -inf}, top[2] = {inf, 1.0f};
    k_.softmax(masked, 3);
    same("softmax of -Inf", masked[0], 0.0f);
    same("softmax of equals", masked[1], 0.5f);
    k_.softmax(none, 2);
    k_.softmax(top, 2);
    for (const float v : {none[0], none[1], top[0], top[1]})
        same("softmax without a largest value", v, f32_from_bits(0x7fc00000u));
    float ends[3];
    const float nan[66] = {0, __builtin_nanf("")}, infinite[2] = {-inf, inf};
    k_.maxima(ends, nan, 66);
    same("maxima with NaN", ends[0], f32_from_bits(0x7fc00000u));
    same("maxima behind NaN", ends[1], 0.0f);
    k_.maxima(ends, infinite, 2);
    same("maxima with Inf", ends[0], inf);
    k_.maxima(ends, infinite, 1);
    same("maxima of -Inf", ends[0], -inf);
    float wide[3] = {inf, -inf, -0.0f};
    k_.clamp(wide, 7.0f, 3);
    same("clamp of Inf", wide[0], 7.0f);
    same("clamp of -Inf", wide[1], -7.0f);
    same("clamp of -0", wide[2], -0.0f);
    float capped[3] = {inf, -1e30f, -0.0f};
    k_.cap(capped, 5.0f, 3);
    same("cap of Inf", capped[0], 5.0f);
    same("cap of -1e30", capped[1], -5.0f);
    same("cap of -0", capped[2], -0.0f);
    float gate[4] = {inf, 200.0f, -200.0f, -1e38f};
    k_.silu(gate, nullptr, 4);
    same("silu of Inf", gate[0], inf);
    same("silu of 200", gate[1], 200.0f);
    same("silu of -200", gate[2], -0.0f);
    same("silu of -1e38", gate[3], -0.0f);
    float factor[2] = {3.0f, 3.0f};
    const float open[2] = {inf, -inf};
    k_.sigmoid(factor, open, 2);
    same("sigmoid of Inf", factor[0], 3.0f);
    same("sigmoid of -Inf", factor[1], 0.0f);
}

// Inputs of NaN with any bits give only the canonical NaN.
void Text::nan(const Case &c) {
    Memory m({6, 3});
    for (unsigned i = 0; i < kVectors; i++)
        for (size_t j = 0; j < m.shape().count(i); j++)
            m.at(i)[j] = f32_from_bits(j % 2 ? 0xffc12345u : 0x7f812345u);
    c.run(k_, m, {0.5f, 1e-6f, {0.5f, 0.5f, 0.5f}, 4});
    for (unsigned i = 0; i < kVectors; i++) {
        const size_t written = i == kTaps ? 6 : m.shape().count(i);
        for (size_t j = 0; c.writes >> i & 1 && j < written; j++)
            same(c.name, m.at(i)[j], f32_from_bits(0x7fc00000u));
    }
}

} // namespace

long check_text(const RowKernels &scalar, long *n_checked) {
    Text text(scalar, n_checked);
    const CanonicalFp canonical;
    for (const size_t n : {1u, 2u, 15u, 64u, 65u, 257u, 4096u}) {
        text.norms(n);
        text.rotations(n);
        text.values(n);
        text.activations(n);
        text.softmax(n);
        for (size_t k = 1; k <= kConvTaps; k++) text.conv(k, n);
        text.recurrent(7, n < 300 ? n : 128);
    }
    text.limits();
    for (size_t i = 0; i < kCaseCount; i++) text.nan(kCases[i]);
    return text.failed();
}

} // namespace rowsteps
