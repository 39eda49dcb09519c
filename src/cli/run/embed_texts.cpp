// SPDX-License-Identifier: MIT
#include "run/embed_texts.hpp"

#include "common/output.hpp"
#include "common/text.hpp"
#include "models/text_model.hpp"
#include "models/text_pairs.hpp"

#include <fmt/format.h>
#include <memory>

namespace ggufx::cli {

namespace {

using Ids = std::vector<int32_t>;

// Tokenizes a text, or a query and a text.
class TextMaker {
public:
    TextMaker(const ggufx_runtime *rt, const ggufx_file *file, const EmbedTextOptions &options)
        : options_(options) {
        if (options.ids) {
            if (!options.query.empty()) query_ = parse_ids(options.query, "--rerank");
            return;
        }
        tokenizer_ = make_tokenizer(file, "; --ids takes texts as ids");
        pairs_ = std::make_unique<PairMaker>(rt, file, tokenizer_.get());
    }

    // `from` describes the source of the text for error messages.
    Ids make(const std::string &text, const std::string &from) const {
        if (options_.ids) {
            Ids out = query_, more = parse_ids(text, from.c_str());
            out.insert(out.end(), more.begin(), more.end());
            return out;
        }
        require_utf8(text, from, kUsage);
        if (options_.query.empty()) return pairs_->ids_of(text, GGUFX_TOKENIZE_ADD_SPECIAL);
        return pairs_->make(options_.query, text);
    }

    // Returns the number of special tokens at the end: [SEP], </s>.
    size_t n_ending() const {
        if (!pairs_) return 0;
        return options_.query.empty() ? pairs_->n_ending() : pairs_->n_pair_ending();
    }

private:
    const EmbedTextOptions &options_;
    Tokenizer tokenizer_;
    std::unique_ptr<PairMaker> pairs_;
    Ids query_;
};

void cut_to(Ids &ids, size_t n, size_t n_ending) {
    if (ids.size() <= n) return;
    const size_t kept = std::min(n_ending, n);
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(n - kept),
              ids.end() - static_cast<ptrdiff_t>(kept));
}

void add(EmbedTexts &out, const TextMaker &maker, const std::string &text, const std::string &from,
         uint32_t n_context, bool cut) {
    Ids ids = maker.make(text, from);
    if (ids.empty()) throw Failure(kUsage, from + " has no tokens");
    if (cut) cut_to(ids, n_context, maker.n_ending());
    if (ids.size() > n_context)
        throw Failure(
            kUsage,
            fmt::format("{} has {} tokens, but the context holds {} (use --truncate or --ctx)",
                        from, ids.size(), n_context));
    out.shown.push_back(text);
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
    out.lengths.push_back(ids.size());
}

} // namespace

EmbedTexts read_texts(const ggufx_runtime *rt, const ggufx_file *file,
                      const EmbedTextOptions &options, uint32_t n_context) {
    EmbedTexts out;
    const TextMaker maker(rt, file, options);
    for (size_t i = 0; i < options.texts.size(); i++)
        add(out, maker, options.texts[i], fmt::format("text {}", i + 1), n_context, options.cut);
    if (options.file.empty()) return out;
    const std::string all = options.ids ? read_text(options.file) : read_utf8(options.file);
    const std::string name = options.file == "-" ? "standard input" : options.file;
    size_t line = 0;
    for (size_t at = 0, end; at < all.size(); at = end + 1) {
        end = std::min(all.find('\n', at), all.size());
        const size_t last = end > at && all[end - 1] == '\r' ? end - 1 : end;
        add(out, maker, all.substr(at, last - at), fmt::format("{}:{}", name, ++line), n_context,
            options.cut);
    }
    return out;
}

} // namespace ggufx::cli
