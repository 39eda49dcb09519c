// ggufx embed: embeddings of texts, their cosine similarities, and the ranking by a reranker.
// SPDX-License-Identifier: MIT
#include "common/f32_bytes.hpp"
#include "common/json.hpp"
#include "common/machine_memory.hpp"
#include "common/npy.hpp"
#include "common/progress.hpp"
#include "common/table.hpp"
#include "models/adapters.hpp"
#include "models/text_model.hpp"
#include "run/embed_texts.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <span>

namespace ggufx::cli {

namespace {

constexpr size_t kMostInTable = 64; // maximum texts: a table of all pairs grows with their square

struct EmbedOptions {
    std::string model;
    EmbedTextOptions text;
    ModelMaking making;
    AdapterOptions adapters;
    uint32_t n_context = 0, n_batch = 0, dimensions = 0;
    uint32_t pooling = GGUFX_POOLING_DEFAULT;
    bool unscaled = false, npy = false, lines = false, f32 = false;
};

// Embeddings: one row per text, or one per token with --pooling none.
struct Embeddings {
    EmbedTexts texts;
    ggufx_embedder_facts facts = {};
    std::vector<float> values;

    bool by_token() const { return facts.pooling == GGUFX_POOLING_NONE; }
    bool ranks() const { return facts.pooling == GGUFX_POOLING_RANK; }
    size_t n_rows() const { return facts.dimensions ? values.size() / facts.dimensions : 0; }
    std::span<const float> row(size_t i) const {
        return {&values[i * facts.dimensions], facts.dimensions};
    }
};

ggufx_embed_options library_options(const EmbedOptions &options) {
    auto out = sized<ggufx_embed_options>();
    out.n_context = options.n_context;
    out.n_batch = options.n_batch;
    out.pooling = options.text.query.empty() ? options.pooling : uint32_t{GGUFX_POOLING_RANK};
    out.dimensions = options.dimensions;
    out.matmul_flags = options.f32 ? GGUFX_MATMUL_F32 : 0;
    const bool scores = out.pooling == GGUFX_POOLING_RANK;
    out.flags = options.unscaled || scores ? 0 : GGUFX_EMBED_NORMALIZE;
    return out;
}

// Overcommit: the system grants pages until they run out, then kills the tool.
void require_memory(uint64_t needed) {
    const uint64_t there = machine_memory();
    if (there == 0 || needed <= there) return; // 0: unknown
    throw Failure(kNoMemory, fmt::format("batches take {}; this machine has {} (--ctx, --batch)",
                                         bytes_text(needed), bytes_text(there)));
}

Embedder open_embedder(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                       const EmbedOptions &options, ggufx_embedder_facts &out_facts) {
    const ggufx_embed_options asked = library_options(options);
    uint64_t needed = 0;
    // The estimate refuses files that need overrides; the embedder accepts them.
    if (ggufx_embedder_estimate(&needed, rt, file, &asked, nullptr) == GGUFX_OK)
        require_memory(needed);
    return make_embedder(model, asked, out_facts);
}

bool for_people(const Globals &globals, const EmbedOptions &options) {
    return !globals.json && !options.npy && !options.lines && !globals.output.ends_with(".npy");
}

// Refuses options that a table cannot show, before minutes of work.
void check_table(const Embeddings &e) {
    if (e.by_token()) throw Failure(kUsage, "--pooling none needs --json, --npy or --lines");
    if (!e.ranks() && e.texts.size() > kMostInTable)
        throw Failure(
            kUsage,
            fmt::format(
                "{} texts are too many for a table, the limit is {} (use --json, --npy or --lines)",
                e.texts.size(), kMostInTable));
}

Embeddings embed_all(const Globals &globals, const EmbedOptions &options) {
    const Runtime rt = make_runtime(globals);
    const File file = open_model(rt.get(), options.model, options.making);
    const Model model = make_model(rt.get(), file.get(), options.making);
    Embeddings out;
    const Embedder embedder = open_embedder(rt.get(), file.get(), model.get(), options, out.facts);
    Adapters(rt.get(), model.get(), options.adapters).give_to(embedder.get());
    out.texts = read_texts(rt.get(), file.get(), options.text, out.facts.n_context);
    if (out.texts.size() == 0) throw Failure(kUsage, "no text: give TEXT, or --file FILE");
    if (for_people(globals, options)) check_table(out);
    const size_t rows = out.by_token() ? out.texts.ids.size() : out.texts.size();
    out.values.resize(rows * out.facts.dimensions);
    Progress progress(globals, "embed");
    const ggufx_progress hook = progress.hook();
    const std::vector<ggufx_token_list> texts = token_lists(out.texts.ids, out.texts.lengths);
    call([&](ggufx_error *error) {
        return ggufx_embed(out.values.data(), out.values.size(), embedder.get(), texts.data(),
                           texts.size(), &hook, error);
    });
    return out;
}

// ---- output ------------------------------------------------------------------------------------

Json row_json(std::span<const float> row) {
    Json out = Json::array();
    for (const float v : row) out.push_back(static_cast<double>(v));
    return out;
}

void write_json(Output &out, const Embeddings &e) {
    size_t row = 0;
    for (size_t i = 0; i < e.texts.size(); i++) {
        Json line = json_object();
        line.update(Json{{"index", i}, {"tokens", e.texts.lengths[i]}});
        if (e.by_token()) {
            Json rows = Json::array();
            for (size_t t = 0; t < e.texts.lengths[i]; t++) rows.push_back(row_json(e.row(row++)));
            line["embeddings"] = rows;
        } else if (e.ranks()) {
            line["score"] = static_cast<double>(e.row(i)[0]);
            line["scores"] = row_json(e.row(i));
        } else {
            line["embedding"] = row_json(e.row(i));
        }
        print_json_line(out, line);
    }
}

void write_npy(Output &out, const Embeddings &e) {
    if (out.is_terminal())
        throw Failure(kUsage, "binary data on a terminal: use -o FILE or a pipe");
    const std::string head = npy_header("<f4", {e.n_rows(), e.facts.dimensions});
    out.require_space(head.size() + e.values.size() * sizeof(float));
    out.write(head);
    out.write(f32_bytes(e.values));
}

void write_lines(Output &out, const Embeddings &e) {
    for (size_t i = 0; i < e.n_rows(); i++) {
        std::string line;
        for (const float v : e.row(i)) line += fmt::format("{}{}", line.empty() ? "" : " ", v);
        out.write(line + "\n");
    }
}

double cosine(std::span<const float> a, std::span<const float> b) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < a.size(); i++) {
        const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

void write_cosines(Output &out, const Style &style, const Embeddings &e) {
    const size_t n = e.texts.size();
    std::vector<std::string> titles = {">#"};
    for (size_t i = 0; i < n; i++) titles.push_back(fmt::format(">{}", i + 1));
    titles.emplace_back("text");
    Table table(titles);
    for (size_t i = 0; i < n; i++) {
        std::vector<std::string> cells = {std::to_string(i + 1)};
        for (size_t j = 0; j < n; j++)
            cells.push_back(fmt::format("{:.4f}", cosine(e.row(i), e.row(j))));
        cells.push_back(escape(e.texts.shown[i]));
        table.row(cells);
    }
    std::vector<std::string> last_first;
    for (size_t i = n; i > 1; i--) last_first.push_back(std::to_string(i));
    table.dispensable(last_first);
    table.print(out, style);
}

// Sorts by descending score; equal scores keep their order.
void write_ranks(Output &out, const Style &style, const Embeddings &e) {
    std::vector<size_t> order(e.texts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return e.row(a)[0] > e.row(b)[0]; });
    Table table({">score", ">#", "text"});
    table.essential({"score", "#"});
    for (const size_t i : order)
        table.row(
            {fmt::format("{:.6f}", e.row(i)[0]), std::to_string(i + 1), escape(e.texts.shown[i])});
    table.print(out, style);
}

int embed(const Globals &globals, const EmbedOptions &options) {
    const Embeddings e = embed_all(globals, options);
    Output out(globals);
    if (globals.json)
        write_json(out, e);
    else if (options.lines)
        write_lines(out, e);
    else if (!for_people(globals, options))
        write_npy(out, e);
    else if (e.ranks())
        write_ranks(out, make_style(globals, out), e);
    else
        write_cosines(out, make_style(globals, out), e);
    out.finish();
    return kOk;
}

void add_input_options(Command &sub, EmbedOptions &options) {
    EmbedTextOptions &text = options.text;
    sub.option("MODEL", options.model, "GGUF file").required();
    sub.option("TEXT", text.texts, "texts to embed");
    sub.option("-f,--file", text.file, "file of texts, one per line (- = stdin)").value("FILE");
    sub.flag("--ids", text.ids, "texts are lists of token ids, 1,2,3; no special tokens are added");
    sub.flag("--truncate", text.cut, "truncate texts that are longer than the context");
}

} // namespace

void add_embed(Tool &tool) {
    auto options = std::make_shared<EmbedOptions>();
    Command sub =
        tool.app.add_command("embed", "embeddings of texts, their similarity, reranker scores");
    add_input_options(sub, *options);
    Option rerank =
        sub.option("--rerank", options->text.query,
                   "sort the texts by reranker score for QUERY (models with a classifier)")
            .value("QUERY");
    Option pooling = sub.choice(
        "--pooling", {"default", "mean", "first", "last", "rank", "none"},
        [options](size_t i) { options->pooling = static_cast<uint32_t>(i); },
        "pooling of the token embeddings: mean, first, last, rank (scores), none (one embedding "
        "per token) (default that of the model)");
    rerank.excludes(pooling);
    sub.option("--dimensions", options->dimensions, "keep the first N values (default all)")
        .between(1u, 1u << 24);
    sub.flag("--unscaled", options->unscaled, "do not normalize embeddings to length 1");
    sub.option("--ctx", options->n_context,
               "maximum number of tokens per text (default the trained context, at most 8192)")
        .between(1u, 1u << 30);
    sub.option("--batch", options->n_batch,
               "maximum number of tokens computed at once (default 512 or --ctx)")
        .between(1u, 1u << 30);
    sub.flag("--f32", options->f32, "f32 activations: slower, errors of 1e-6");
    add_model_options(sub, options->making);
    add_adapter_options(sub, options->adapters);
    Option npy = sub.flag("--npy", options->npy, "NumPy file of f32 (default for -o *.npy)");
    Option lines = sub.flag("--lines", options->lines, "one embedding per line");
    npy.excludes(lines);
    sub.examples("  ggufx embed bge.gguf \"a cat\" \"a kitten\" \"a bridge\"\n"
                 "  ggufx embed bge.gguf -f lines.txt -o vectors.npy\n"
                 "  ggufx embed reranker.gguf --rerank \"what is a cat\" -f passages.txt\n"
                 "  ggufx embed model.gguf --ids 5,17,300 --pooling mean --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return embed(tool.globals, *options); });
}

} // namespace ggufx::cli
