// The page of ggufx report: inline SVG, one style sheet, no scripts.
// SPDX-License-Identifier: MIT
#include "inspect/report.hpp"

#include "common/input_file.hpp"
#include "common/markup.hpp"
#include "common/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace ggufx::cli {

namespace {

constexpr const char *kPieColors[] = {"#2f6fab", "#d9822b", "#3f9d5a", "#b8433f", "#7b5ea7",
                                      "#8a6a4f", "#c96fa5", "#6f7780", "#a3a33a", "#3aa6b0"};

std::string report_style() {
    return ":root{color-scheme:light dark;--ink:#222;--page:#fff;--faint:#666;--line:#ddd;"
           "--bar:#2f6fab}@media(prefers-color-scheme:dark){:root{--ink:#ddd;--page:#16181c;"
           "--faint:#999;--line:#3a3d44;--bar:#6aa5dd}}"
           "body{font:14px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;"
           "color:var(--ink);background:var(--page)}h1{font-size:1.5em}"
           "h2{font-size:1.15em;margin-top:2em}table{border-collapse:collapse}"
           "td,th{padding:.15em .8em;text-align:left;border-bottom:1px solid var(--line)}"
           "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
           "svg{max-width:100%;height:auto}svg text{fill:var(--ink)}.bar{fill:var(--bar)}"
           ".axis{stroke:var(--faint)}figure{display:inline-block;margin:.5em 1em .5em 0}"
           "figcaption{font-size:12px;color:var(--faint)}";
}

std::string slice(double from, double to, const char *color, const std::string &title) {
    constexpr double kRadius = 90;
    const auto at = [&](double share) {
        const double angle = 2 * std::numbers::pi * share;
        return fmt::format("{:.2f} {:.2f}", 100 + kRadius * std::sin(angle),
                           100 - kRadius * std::cos(angle));
    };
    if (to - from > 0.9999) {
        return fmt::format(
            "<circle cx=\"100\" cy=\"100\" r=\"90\" fill=\"{}\"><title>{}</title></circle>\n",
            color, title);
    }
    return fmt::format(
        "<path d=\"M100 100L{}A90 90 0 {} 1 {}Z\" fill=\"{}\"><title>{}</title></path>\n", at(from),
        to - from > 0.5 ? 1 : 0, at(to), color, title);
}

std::string size_pie(const ModelReport &report) {
    std::string svg =
        fmt::format("<svg viewBox=\"0 0 460 {0}\" width=\"460\" height=\"{0}\" role=\"img\" "
                    "aria-label=\"bytes by type\">\n",
                    std::max<size_t>(200, 30 + 20 * report.sizes.size()));
    const double total = std::max(1.0, static_cast<double>(report.n_bytes));
    double from = 0;
    for (size_t i = 0; i < report.sizes.size(); i++) {
        const auto &[type, bytes] = report.sizes[i];
        const char *color = kPieColors[i % std::size(kPieColors)];
        const double share = static_cast<double>(bytes) / total;
        const std::string label =
            fmt::format("{}: {} ({:.1f} %)", markup(type), bytes_text(bytes), 100 * share);
        svg += slice(from, from + share, color, label);
        from += share;
        svg += fmt::format("<rect x=\"215\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
                           "<text x=\"234\" y=\"{}\" font-size=\"13\">{}</text>\n",
                           20 + 20 * i, color, 30 + 20 * i, label);
    }
    return svg + "</svg>\n";
}

// Draws a bar chart of counts; the largest count has the full height.
std::string bars(const std::vector<uint64_t> &counts, const std::string &caption, const char *left,
                 const char *right) {
    constexpr double kWidth = 256, kHeight = 80;
    const uint64_t most = std::max<uint64_t>(1, *std::max_element(counts.begin(), counts.end()));
    const double step = kWidth / static_cast<double>(counts.size());
    std::string svg =
        fmt::format("<figure><svg viewBox=\"0 0 256 96\" width=\"256\" height=\"96\" role=\"img\" "
                    "aria-label=\"{}\">\n<path class=\"bar\" d=\"",
                    caption);
    for (size_t i = 0; i < counts.size(); i++) {
        const double height = kHeight * static_cast<double>(counts[i]) / static_cast<double>(most);
        if (counts[i]) {
            svg += fmt::format("M{:.2f} 80v{:.2f}h{:.2f}v{:.2f}z", static_cast<double>(i) * step,
                               -height, std::max(0.5, step - 0.3), height);
        }
    }
    return svg +
           fmt::format("\"/>\n<path class=\"axis\" d=\"M0 80H256\"/><text x=\"0\" y=\"93\" "
                       "font-size=\"11\">{}</text><text x=\"256\" y=\"93\" font-size=\"11\" "
                       "text-anchor=\"end\">{}</text></svg><figcaption>{}</figcaption></figure>\n",
                       left, right, caption);
}

std::string number_cell(const std::string &text) {
    return "<td class=\"n\">" + text + "</td>";
}

// Lists the worst tensors; columns of errors need a reference.
std::string worst_table(const ModelReport &report) {
    const bool errors = !report.reference.empty();
    std::string out = "<table><tr><th>tensor</th><th>type</th><th class=\"n\">bytes</th>"
                      "<th class=\"n\">rms</th><th class=\"n\">largest</th>";
    if (errors) out += "<th class=\"n\">relative rmse</th><th class=\"n\">largest error</th>";
    out += "</tr>\n";
    for (const size_t i : report.worst) {
        const TensorReport &t = report.tensors[i];
        out += fmt::format("<tr><td>{}</td><td>{}</td>", markup(t.name), markup(t.type)) +
               number_cell(bytes_text(t.n_bytes)) + number_cell(fmt::format("{:.4g}", t.rms)) +
               number_cell(fmt::format("{:.4g}", t.largest));
        if (errors) {
            out += number_cell(fmt::format("{:.4g}", t.error)) +
                   number_cell(fmt::format("{:.4g}", t.max_error));
        }
        out += "</tr>\n";
    }
    return out + "</table>\n";
}

std::string head(const ModelReport &report) {
    const double bits = report.n_values ? 8 * static_cast<double>(report.n_bytes) /
                                              static_cast<double>(report.n_values)
                                        : 0;
    const std::string title = markup(report.name.empty() ? base_name(report.file) : report.name);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>"
        "<link rel=\"icon\" href=\"data:,\"><style>{1}</style></head><body>\n<h1>{0}</h1>\n"
        "<p>{2}{3}, {4}; {5} values in {6} tensors, {7} ({8:.3f} bits per value).</p>\n",
        title, report_style(), markup(base_name(report.file)),
        report.reference.empty() ? "" : " against " + markup(base_name(report.reference)),
        markup(report.architecture), count_text(report.n_values), report.tensors.size(),
        bytes_text(report.n_bytes), bits);
}

} // namespace

std::string report_html(const ModelReport &report) {
    const bool errors = !report.reference.empty();
    std::string page = head(report) + "<h2>Size by type</h2>\n" + size_pie(report);
    page += errors ? "<h2>Largest errors</h2>\n" : "<h2>Largest weights</h2>\n";
    page += worst_table(report) +
            "<h2>Weights</h2>\n<p>How they lie around 0, in units of the rms of their "
            "tensor.</p>\n";
    for (const auto &[kind, bins] : report.weights) {
        page += bars({bins.begin(), bins.end()}, markup(kind), "-4", "4");
    }
    if (!report.codes.empty())
        page += "<h2>Codes</h2>\n<p>How often each code of a type is used.</p>\n";
    for (const CodeHistogram &h : report.codes) {
        const std::string low = std::to_string(h.lowest);
        const std::string high = std::to_string(h.lowest + static_cast<int>(h.counts.size()) - 1);
        page += bars(h.counts, markup(h.type), low.c_str(), high.c_str());
    }
    return page + "</body></html>\n";
}

} // namespace ggufx::cli
