// SPDX-License-Identifier: MIT
#include "common/heat_scale.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr const char *kZero = "#dcefe0";     // no error
constexpr const char *kInfinite = "#5b2a86"; // infinity or NaN
constexpr double kDark = 0.55;               // light text is easier to read from here on

// Pale yellow through orange to dark red. Lightness always falls, so the scale reads without hues.
constexpr int kStops[][3] = {{255, 247, 220}, {253, 187, 112}, {227, 92, 58}, {122, 8, 24}};
constexpr int kSpans = static_cast<int>(std::size(kStops)) - 1;

std::string colour_at(double place) {
    const double at = std::clamp(place, 0.0, 1.0) * kSpans;
    const int span = std::min(static_cast<int>(at), kSpans - 1);
    const auto mix = [&](int i) {
        const double from = kStops[span][i], to = kStops[span + 1][i];
        return std::lround(from + (to - from) * (at - span));
    };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2));
}

std::string swatch(double x, double y, const char *colour, const char *label) {
    return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
                       "<text x=\"{}\" y=\"{}\">{}</text>\n",
                       x, y, colour, x + 17, y + 10, label);
}

} // namespace

void HeatScale::add(double value) {
    has_zero_ = has_zero_ || value == 0;
    has_infinite_ = has_infinite_ || !std::isfinite(value);
    if (value == 0 || !std::isfinite(value)) return;
    least_ = least_ == 0 ? value : std::min(least_, value);
    most_ = std::max(most_, value);
}

double HeatScale::place(double value) const {
    if (most_ <= least_) return 0.5;
    return std::log(value / least_) / std::log(most_ / least_);
}

std::string HeatScale::fill(double value) const {
    if (!std::isfinite(value)) return kInfinite;
    return value == 0 ? kZero : colour_at(place(value));
}

const char *HeatScale::text(double value) const {
    const bool dark = !std::isfinite(value) || (value != 0 && place(value) > kDark);
    return dark ? "#fff" : "#222";
}

std::string HeatScale::legend(double x, double y, const std::string &what) const {
    constexpr int kSteps = 40, kStep = 6, kWidth = kSteps * kStep;
    std::string svg = fmt::format("<g class=\"legend\" font-size=\"11\">\n"
                                  "<text x=\"{}\" y=\"{}\">{}</text>\n",
                                  x, y + 10, what);
    double right = x;
    if (most_ > 0) {
        for (int i = 0; i < kSteps; i++) {
            svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\" fill=\"{}\"/>\n",
                               x + i * kStep, y + 16, kStep, colour_at((i + 0.5) / kSteps));
        }
        const auto tick = [&](double at, const char *anchor, double value) {
            svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{:.2g}</text>\n",
                               x + at * kWidth, y + 40, anchor, value);
        };
        tick(0, "start", least_);
        if (most_ > least_) tick(0.5, "middle", std::sqrt(least_) * std::sqrt(most_));
        if (most_ > least_) tick(1, "end", most_);
        right += kWidth + 20;
    }
    if (has_zero_) svg += swatch(right, y + 16, kZero, "0");
    if (has_infinite_) svg += swatch(right + (has_zero_ ? 40 : 0), y + 16, kInfinite, "not finite");
    return svg + "</g>\n";
}

} // namespace ggufx::cli
