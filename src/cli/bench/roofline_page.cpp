// Inline SVG with one style sheet. The plot is a usual roofline: x is operations per byte of
// weights, y is Gop/s, both in decades. Speeds that a machine can reach are below the lines.
// SPDX-License-Identifier: MIT
#include "bench/roofline_page.hpp"

#include "common/markup.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace ggufx::cli {

namespace {

constexpr const char *kSetColors[] = {"#2f6fab", "#d9822b", "#3f9d5a",
                                      "#7b5ea7", "#b8433f", "#3aa6b0"};
constexpr double kPlotLeft = 60, kRight = 880, kPlotTop = 20, kBottom = 420;

std::string roofline_style() {
    return ":root{color-scheme:light dark;--ink:#222;--page:#fff;--faint:#666;--line:#ddd}"
           "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--page:#16181c;--faint:#999;"
           "--line:#3a3d44}}body{font:14px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;"
           "padding:0 1em;color:var(--ink);background:var(--page)}h1{font-size:1.5em}"
           "h2{font-size:1.15em;margin-top:2em}table{border-collapse:collapse}"
           "td,th{padding:.15em .8em;text-align:left;border-bottom:1px solid var(--line)}"
           "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
           "svg{max-width:100%;height:auto}svg text{fill:var(--ink);font-size:12px}"
           ".axis{stroke:var(--faint);fill:none}.grid{stroke:var(--line)}.faint{color:var(--faint)}"
           ".bar{display:inline-block;height:.7em;vertical-align:middle;margin-right:.4em}";
}

// Colours of instruction sets, the best last, then of peers.
class Legend {
public:
    explicit Legend(const RooflinePage &page) {
        for (const ProductFigures &f : page.figures) add(f.isa);
        for (const PeerFigure &p : page.peers) add(p.peer);
    }
    const char *color(const std::string &name) const {
        const auto at = std::find(names_.begin(), names_.end(), name);
        return kSetColors[static_cast<size_t>(at - names_.begin()) % std::size(kSetColors)];
    }
    std::string html() const {
        std::string out = "<p>";
        for (const std::string &name : names_)
            out += fmt::format("<span class=\"bar\" style=\"width:1em;background:{}\"></span>{} "
                               "&nbsp; ",
                               color(name), markup(name));
        return out + "</p>\n";
    }

private:
    void add(const std::string &name) {
        if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
    }
    std::vector<std::string> names_;
};

// A logarithmic axis, in decades around the figures.
struct Scale {
    double least = 1e300, most = 0;
    void take(double v) {
        if (!(v > 0) || !std::isfinite(v)) return;
        least = std::min(least, v);
        most = std::max(most, v);
    }
    double place(double v) const { // 0..1
        const double low = std::floor(std::log10(least)), high = std::ceil(std::log10(most));
        return high > low ? (std::log10(v) - low) / (high - low) : 0.5;
    }
    std::vector<double> decades() const {
        std::vector<double> all;
        for (double e = std::floor(std::log10(least)); e <= std::ceil(std::log10(most)); e++)
            all.push_back(std::pow(10.0, e));
        return all;
    }
};

class Plot {
public:
    explicit Plot(const RooflinePage &page) : page_(page), legend_(page) {
        for (const ProductFigures &f : page.figures) {
            x_.take(f.gops / f.gbps);
            for (const double y : {f.gops, f.peak_gops}) y_.take(y);
            read_ = std::max(read_, f.read_gbps);
        }
        for (const PeerFigure &p : page.peers)
            if (const ProductFigures *f = like(p)) y_.take(p.gbps * f->gops / f->gbps);
    }
    std::string svg() const {
        std::string out = "<svg viewBox=\"0 0 900 460\" width=\"900\" height=\"460\" role=\"img\" "
                          "aria-label=\"roofline\">\n";
        out += axes() + roofs();
        for (const ProductFigures &f : page_.figures)
            out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" "
                               "fill-opacity=\".75\"><title>{} {} n = {}: {:.1f} GB/s, {:.0f} "
                               "Gop/s</title></circle>\n",
                               x(f.gops / f.gbps), y(f.gops), legend_.color(f.isa), markup(f.type),
                               markup(f.isa), f.n, f.gbps, f.gops);
        for (const PeerFigure &p : page_.peers) out += peer(p);
        return out + "</svg>\n";
    }

private:
    double x(double v) const { return kPlotLeft + (kRight - kPlotLeft) * x_.place(v); }
    double y(double v) const { return kBottom - (kBottom - kPlotTop) * y_.place(v); }

    std::string axes() const {
        std::string out;
        for (const double v : x_.decades())
            out += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1}V{2}\"/><text x=\"{0:.1f}\" "
                               "y=\"{3}\" text-anchor=\"middle\">{4:g}</text>\n",
                               x(v), kPlotTop, kBottom, kBottom + 16, v);
        for (const double v : y_.decades())
            out += fmt::format("<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text x=\"{3}\" "
                               "y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>\n",
                               kPlotLeft, y(v), kRight, kPlotLeft - 6, y(v) + 4, v);
        return out +
               fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">operations per byte of "
                           "weights</text><text x=\"{}\" y=\"12\">Gop/s</text>\n",
                           kRight, kBottom + 34, 4);
    }
    // Draws the read bandwidth up to the highest peak, and the 8-bit peak of each instruction set.
    std::string roofs() const {
        std::string out;
        std::set<std::string> seen;
        for (const ProductFigures &f : page_.figures) {
            if (f.mode == "f32" || !(f.peak_gops > 0) || !seen.insert(f.isa).second) continue;
            out += fmt::format("<path stroke=\"{}\" stroke-dasharray=\"5 4\" fill=\"none\" "
                               "d=\"M{} {:.1f}H{}\"><title>{}: {:.0f} Gop/s</title></path>\n",
                               legend_.color(f.isa), kPlotLeft, y(f.peak_gops), kRight,
                               markup(f.isa), f.peak_gops);
        }
        const double from = x_.decades().front(), to = y_.decades().back() / read_;
        if (!(to > from)) return out;
        return out +
               fmt::format("<path class=\"axis\" stroke-width=\"2\" d=\"M{:.1f} {:.1f}L{:.1f} "
                           "{:.1f}\"><title>plain read: {:.1f} GB/s</title></path>\n",
                           x(from), y(from * read_), x(to), y(to * read_), read_);
    }
    // Returns our figure for the same type and n, which has the same operations per byte.
    const ProductFigures *like(const PeerFigure &p) const {
        for (const ProductFigures &f : page_.figures)
            if (f.type == p.type && f.n == p.n) return &f;
        return nullptr;
    }
    std::string peer(const PeerFigure &p) const {
        if (const ProductFigures *f = like(p)) {
            const double each = f->gops / f->gbps;
            return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"none\" "
                               "stroke=\"{}\" stroke-width=\"2\"><title>{} {} n = {}: {:.1f} "
                               "GB/s</title></circle>\n",
                               x(each), y(p.gbps * each), legend_.color(p.peer), markup(p.peer),
                               markup(p.type), p.n, p.gbps);
        }
        return "";
    }

    const RooflinePage &page_;
    Legend legend_;
    Scale x_, y_;
    double read_ = 0;
};

std::string bar_cell(double share, const char *color, const std::string &text) {
    return fmt::format(
        "<td><span class=\"bar\" style=\"width:{:.2f}em;background:{}\"></span>{}</td>",
        std::clamp(share, 0.0, 1.5) * 8, color, text);
}

// Returns the table for one n: rows are types, columns instruction sets and peers. Bars show the
// share of the read bandwidth or the peak, the larger one.
std::string table_of(const RooflinePage &page, const Legend &legend, uint64_t n) {
    std::vector<std::string> types, sets, peers;
    const auto add = [](std::vector<std::string> &to, const std::string &name) {
        if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
    };
    for (const ProductFigures &f : page.figures) {
        if (f.n != n) continue;
        add(types, f.type);
        add(sets, f.isa);
    }
    for (const PeerFigure &p : page.peers)
        if (p.n == n) add(peers, p.peer);
    std::string out = "<table><tr><th>type</th>";
    for (const std::string &set : sets) out += "<th>" + markup(set) + "</th>";
    for (const std::string &peer : peers) out += "<th>" + markup(peer) + "</th>";
    out += "</tr>\n";
    for (const std::string &type : types) {
        out += "<tr><td>" + markup(type) + "</td>";
        double best = 0;
        for (const std::string &set : sets) {
            const auto f =
                std::find_if(page.figures.begin(), page.figures.end(), [&](const auto &g) {
                    return g.n == n && g.type == type && g.isa == set;
                });
            if (f == page.figures.end()) {
                out += "<td></td>";
                continue;
            }
            best = std::max(best, f->gbps);
            const double share = std::max(f->of_read(), f->of_peak());
            out += bar_cell(share, legend.color(set),
                            fmt::format("{:.1f} GB/s, {:.2f} of {}{}", f->gbps, share,
                                        f->of_read() >= f->of_peak() ? "reading" : "the peak",
                                        f->bits_equal ? "" : " (BITS DIFFER)"));
        }
        for (const std::string &peer : peers) {
            const auto p = std::find_if(page.peers.begin(), page.peers.end(), [&](const auto &g) {
                return g.n == n && g.type == type && g.peer == peer;
            });
            out += p == page.peers.end() ? "<td></td>"
                                         : fmt::format("<td>{:.1f} GB/s, ours {:.2f} times</td>",
                                                       p->gbps, p->gbps > 0 ? best / p->gbps : 0.0);
        }
        out += "</tr>\n";
    }
    return out + "</table>\n";
}

} // namespace

std::string roofline_html(const RooflinePage &page) {
    const Legend legend(page);
    std::string out = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ggufx products"
        "</title><link rel=\"icon\" href=\"data:,\"><style>{}</style></head><body>\n<h1>Products "
        "under "
        "the roofs of this machine</h1>\n<p>Weights of {} values a row times n vectors; {} time. "
        "The "
        "grey line is what the fastest plain read of the same memory allows, dashed ones are the "
        "peaks "
        "of 8-bit products of each set, all measured in the same rounds.</p>\n",
        roofline_style(), page.k, page.clock);
    out += legend.html();
    if (!page.figures.empty()) out += Plot(page).svg();
    std::set<uint64_t> numbers;
    for (const ProductFigures &f : page.figures) numbers.insert(f.n);
    for (const uint64_t n : numbers)
        out += fmt::format("<h2>n = {}</h2>\n", n) + table_of(page, legend, n);
    return out + "</body></html>\n";
}

} // namespace ggufx::cli
