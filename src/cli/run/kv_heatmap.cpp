// SVG heat map of ggufx kv-eval.
// SPDX-License-Identifier: MIT
#include "run/kv_eval.hpp"

#include "common/heat_scale.hpp"
#include "common/markup.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr int kCell = 74, kRow = 26, kHeatLeft = 70, kHeatTop = 160; // pixels

std::string cell(const HeatScale &scale, int x, int y, double error) {
    return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>"
                       "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" style=\"fill:{}\">{:.1e}"
                       "</text>\n",
                       x, y, kCell - 2, kRow - 2, scale.fill(error), x + kCell / 2 - 1, y + 16,
                       scale.text(error), error);
}

HeatScale scale_of(const KvReport &report) {
    HeatScale scale;
    for (const KvResult &r : report.results) {
        scale.add(r.sums.error());
        for (size_t l = 0; l < report.layers.size(); l++) scale.add(r.sums.error(l));
    }
    return scale;
}

} // namespace

std::string kv_heatmap(const KvReport &report, const std::string &title) {
    const int n_pairs = static_cast<int>(report.results.size());
    const int n_layers = static_cast<int>(report.layers.size());
    const int width = std::max(kHeatLeft + n_pairs * kCell + 20, 460);
    const int height = kHeatTop + (n_layers + 1) * kRow + 20;
    const HeatScale scale = scale_of(report);
    std::string svg =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                    "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
                    "<style>text{{fill:#222}}.ground{{fill:#fff}}@media(prefers-color-scheme:dark)"
                    "{{text{{fill:#ddd}}.ground{{fill:#16181c}}}}</style>\n"
                    "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
                    "<text x=\"10\" y=\"20\" font-size=\"14\">KV cache: error of the attention's "
                    "output</text>\n"
                    "<text x=\"10\" y=\"38\">{2}; against an F32 cache</text>\n",
                    width, height, markup(title));
    svg += scale.legend(10, 46, "relative rms");
    for (int p = 0; p < n_pairs; p++) {
        const KvResult &r = report.results[static_cast<size_t>(p)];
        const int x = kHeatLeft + p * kCell;
        svg += fmt::format("<text transform=\"translate({},{}) rotate(-30)\">{}</text>\n",
                           x + kCell / 2 - 8, kHeatTop - 8, markup(r.pair.name()));
        for (int l = 0; l < n_layers; l++) {
            svg += cell(scale, x, kHeatTop + l * kRow, r.sums.error(static_cast<size_t>(l)));
        }
        svg += cell(scale, x, kHeatTop + n_layers * kRow + 4, r.sums.error());
    }
    for (int l = 0; l < n_layers; l++) {
        svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">layer {}</text>\n",
                           kHeatLeft - 6, kHeatTop + l * kRow + 16,
                           report.layers[static_cast<size_t>(l)]);
    }
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">all</text>\n</svg>\n",
                       kHeatLeft - 6, kHeatTop + n_layers * kRow + 20);
    return svg;
}

} // namespace ggufx::cli
