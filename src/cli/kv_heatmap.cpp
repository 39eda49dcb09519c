// The heat map of ggufx kv-eval.
// SPDX-License-Identifier: MIT
#include "kv_eval.hpp"

#include "markup.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr int kCell = 74, kRow = 26, kLeft = 70, kTop = 110; // pixels
constexpr double kLow = -5, kHigh = 0; // log10 of the errors at both ends of the colours

// White to dark red, even in log10; white is also for no error at all.
std::string colour(double error) {
    const double level = error > 0 ? std::log10(error) : kLow;
    const double t = std::clamp((level - kLow) / (kHigh - kLow), 0.0, 1.0);
    const auto mix = [&](double from, double to) { return std::lround(from + (to - from) * t); };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(255, 150), mix(250, 10), mix(240, 20));
}

std::string cell(int x, int y, double error) {
    const bool dark = error > 0 && std::log10(error) > kLow + (kHigh - kLow) * 0.6;
    return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>"
                       "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{}\">{:.1e}</text>\n",
                       x, y, kCell - 2, kRow - 2, colour(error), x + kCell / 2 - 1, y + 16,
                       dark ? "#fff" : "#222", error);
}

} // namespace

std::string kv_heatmap(const KvReport &report, const std::string &title) {
    const int n_pairs = static_cast<int>(report.results.size());
    const int n_layers = static_cast<int>(report.layers.size());
    const int width = std::max(kLeft + n_pairs * kCell + 20, 460);
    const int height = kTop + (n_layers + 1) * kRow + 20;
    std::string svg =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                    "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
                    "<text x=\"10\" y=\"20\" font-size=\"14\">KV cache: error of the attention's "
                    "output</text>\n"
                    "<text x=\"10\" y=\"38\">{2}; relative rms against an F32 cache</text>\n",
                    width, height, markup(title));
    for (int p = 0; p < n_pairs; ++p) {
        const KvResult &r = report.results[static_cast<size_t>(p)];
        const int x = kLeft + p * kCell;
        svg += fmt::format("<text transform=\"translate({},{}) rotate(-30)\">{}</text>\n",
                           x + kCell / 2 - 8, kTop - 8, markup(r.pair.name()));
        for (int l = 0; l < n_layers; ++l) {
            svg += cell(x, kTop + l * kRow, r.error(static_cast<size_t>(l)));
        }
        svg += cell(x, kTop + n_layers * kRow + 4, r.error());
    }
    for (int l = 0; l < n_layers; ++l) {
        svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">layer {}</text>\n",
                           kLeft - 6, kTop + l * kRow + 16, report.layers[static_cast<size_t>(l)]);
    }
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">all</text>\n</svg>\n",
                       kLeft - 6, kTop + n_layers * kRow + 20);
    return svg;
}

} // namespace ggufx::cli
