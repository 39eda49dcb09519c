// ggufx bench all: products of every type on every instruction set, and a page that shows them
// under the rooflines of the machine, with figures of other programs.
// SPDX-License-Identifier: MIT
#include "bench/roofline_page.hpp"
#include "common/input_file.hpp"

#include <fmt/format.h>
#include <optional>

namespace ggufx::cli {

namespace {

struct AllOptions {
    ProductOptions products;
    std::string html, peers;
};

constexpr uint64_t kPeerBytes = uint64_t{1} << 20, kMostColumns = 4096;
constexpr size_t kMostPeers = 1000;
constexpr double kMostGbps = 1e6;

PeerFigure peer_of(const Json &entry, const std::string &what, size_t index) {
    const auto refuse = [&](const char *why) {
        return Failure(kInvalidFile, fmt::format("{}: entry {}: {}", what, index, why));
    };
    if (!entry.is_object()) throw refuse("is not an object");
    const Json *peer = entry.find("peer"), *type = entry.find("type"), *n = entry.find("n"),
               *gbps = entry.find("gbps");
    if (!peer || !peer->text() || !type || !type->text())
        throw refuse("needs the texts \"peer\" and \"type\"");
    if (!n || !n->whole() || *n->whole() < 1 || *n->whole() > kMostColumns)
        throw refuse("needs \"n\", 1 to 4096");
    if (!gbps || !gbps->number() || !(*gbps->number() > 0) || *gbps->number() > kMostGbps)
        throw refuse("needs \"gbps\", a number above 0, at most 1e6");
    return {*peer->text(), *type->text(), *n->whole(), *gbps->number()};
}

std::vector<PeerFigure> read_peers(const std::string &path) {
    const Json all = parse_json(InputFile(path).read_all(kPeerBytes), path);
    if (!all.is_array()) throw Failure(kInvalidFile, path + ": is not an array");
    if (all.size() > kMostPeers)
        throw Failure(kInvalidFile,
                      fmt::format("{}: {} entries, {} at most", path, all.size(), kMostPeers));
    std::vector<PeerFigure> peers;
    for (const Json &entry : all.elements()) peers.push_back(peer_of(entry, path, peers.size()));
    return peers;
}

} // namespace

static int bench_all(Globals globals, const AllOptions &options) {
    if (globals.isa == "best") globals.isa = "all";
    RooflinePage page;
    if (!options.peers.empty()) page.peers = read_peers(options.peers);
    page.clock = options.products.clock == Clock::cpu ? "processor" : "wall";
    page.k = options.products.k;
    std::optional<Output> html;
    if (!options.html.empty()) html.emplace(options.html, globals.force);
    Output out(globals);
    Table table = product_table();
    const bool all_equal =
        measure_types(globals, options.products, [&](const std::vector<ProductFigures> &figures) {
            page.figures.insert(page.figures.end(), figures.begin(), figures.end());
            report(globals, options.products, figures, out, table);
        });
    if (html) {
        html->write(roofline_html(page));
        html->finish();
    }
    return finish_products(globals, out, table, options.products.markdown, all_equal);
}

void add_bench_all(Tool &tool, Command &bench) {
    auto options = std::make_shared<AllOptions>();
    ProductOptions &products = options->products;
    products.verb = "all";
    products.types = {"all"};
    products.n = {1, 8, 512};
    products.m = 1792;
    products.rounds = 3;
    Command sub = bench.add_command("all", "products of every type and instruction set, as a page");
    sub.option("--html", options->html, "write one self-contained page").value("FILE");
    sub.option("--peers", options->peers,
               "measurements of other programs, a JSON array of {peer, type, n, gbps}")
        .value("FILE");
    sub.option("--type", products.types, "tensor types (default all)").value("TYPES").list();
    sub.option("--n", products.n, "numbers of vectors (default 1,8,512)")
        .list()
        .between(1u, static_cast<unsigned>(kMostColumns));
    sub.option("-m,--m", products.m, "rows of a matrix (default 1792)").between(1u, 1u << 20);
    sub.option("-k,--k", products.k, "values of a row (default 4096)").between(1u, 1u << 20);
    sub.option("-r,--rounds", products.rounds, "rounds of kernels, reads and peaks (default 3)")
        .between(1u, 1000u);
    sub.option("--cache", products.cache,
               "location of the weights: memory, or l2 (1 MiB per thread) (default memory)")
        .one_of({"memory", "l2"});
    add_clock(sub, products.clock);
    sub.flag("--markdown", products.markdown, "print the table as Markdown");
    sub.examples("  ggufx bench all -t 1 --html roofline.html\n"
                 "  ggufx bench all --type q4_K,q6_K --peers peers.json --html roofline.html");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_all(tool.globals, *options); });
}

} // namespace ggufx::cli
