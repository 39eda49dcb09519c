// Embeddings and reranker scores, on their own thread, so that generation requests start meanwhile.
// SPDX-License-Identifier: MIT
#include "serve/service.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace ggufx::cli {

namespace {

// Tokens after which the embeddings of another key have their turn.
constexpr size_t kPieceTokens = 512;

// Normalizes a truncated embedding to length 1.
void cut_vector(std::span<float> values) {
    double sum = 0;
    for (const float v : values) sum += static_cast<double>(v) * static_cast<double>(v);
    const double length = std::sqrt(sum);
    for (float &v : values)
        if (length > 0) v = static_cast<float>(static_cast<double>(v) / length);
}

std::string base64(std::span<const float> values) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    for (const float value : values) {
        const auto bits = std::bit_cast<uint32_t>(value); // little-endian
        for (unsigned shift = 0; shift < 32; shift += 8)
            bytes += static_cast<char>(bits >> shift & 0xff);
    }
    std::string out;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        const auto byte = [&](size_t k) -> uint32_t {
            return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
        };
        const uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (unsigned k = 0; k < 4; k++)
            out += i + k > bytes.size() ? '=' : digits[three >> (18 - 6 * k) & 63];
    }
    return out;
}

Json vector_json(std::span<const float> values, bool as_base64) {
    if (as_base64) return base64(values);
    Json out = Json::array();
    for (const float value : values) out.push_back(static_cast<double>(value));
    return out;
}

void require_tokens(const std::vector<std::vector<int32_t>> &texts, uint32_t most,
                    const char *param) {
    for (size_t i = 0; i < texts.size(); i++) {
        if (texts[i].empty())
            throw ApiError(400, fmt::format("text {} has no tokens", i), param, "invalid_value");
        if (texts[i].size() > most)
            throw ApiError(400,
                           fmt::format("text {} has {} tokens, but the context holds {}", i,
                                       texts[i].size(), most),
                           param, "context_length_exceeded");
    }
}

uint64_t count(const std::vector<std::vector<int32_t>> &texts) {
    uint64_t n = 0;
    for (const auto &text : texts) n += text.size();
    return n;
}

} // namespace

struct Service::EmbeddingJob {
    std::shared_ptr<Exchange> exchange;
    std::shared_ptr<void> ticket;
    std::vector<std::vector<int32_t>> texts;
    std::function<Json(std::vector<float>)> object; // builds the response from the embeddings
    std::vector<float> values;
    size_t n_done = 0; // texts
};

// Embeds some of the texts. Returns true if others are left.
bool Service::embed_piece(EmbeddingJob &job) {
    const auto ends = [&] { return stops_ || job.exchange->is_gone(); };
    if (ends()) throw ApiError(503, "the server is shutting down", "", "draining");
    size_t end = job.n_done, n_tokens = 0;
    while (end < job.texts.size() && (end == job.n_done || n_tokens < kPieceTokens))
        n_tokens += job.texts[end++].size();
    const std::span all(job.texts);
    const std::vector<float> values = host_->embed(all.subspan(job.n_done, end - job.n_done), ends);
    job.values.insert(job.values.end(), values.begin(), values.end());
    job.n_done = end;
    if (end < job.texts.size()) return true;
    job.exchange->tell({"", count(job.texts), 0, 0});
    respond_json(*job.exchange, job.object(std::move(job.values)));
    return false;
}

void Service::embed_later(Call &call, std::vector<std::vector<int32_t>> texts,
                          std::function<Json(std::vector<float>)> object) {
    auto job = std::make_shared<EmbeddingJob>(
        EmbeddingJob{call.exchange, call.ticket, std::move(texts), std::move(object), {}});
    vectors_.add(call.exchange->asker(), [this, job] {
        bool is_unfinished = false;
        if (!job->exchange->is_gone())
            respond_error(*job->exchange, [&] { is_unfinished = embed_piece(*job); });
        return is_unfinished;
    });
}

void Service::embeddings(Call &call, const Json &body) {
    const EmbeddingsWanted wanted = read_embeddings(body, options_.lenient);
    require_model(wanted.model);
    if (!host_->embeds() || host_->ranks())
        throw ApiError(400, "the model is not an embedding model (see --embeddings of the server)",
                       "model", "unsupported");
    const uint32_t full = host_->dimensions(), n = wanted.dimensions.value_or(full);
    if (n > full)
        throw ApiError(400, fmt::format("the embeddings have {} values", full), "dimensions",
                       "invalid_value");
    std::vector<std::vector<int32_t>> texts;
    for (const TextOrIds &input : wanted.inputs) {
        if (input.is_ids) host_->check(input.ids, "input");
        texts.push_back(input.is_ids ? input.ids
                                     : host_->tokenize(input.text, GGUFX_TOKENIZE_ADD_SPECIAL));
    }
    require_tokens(texts, host_->n_embed_context(), "input");
    const uint64_t n_tokens = count(texts);
    embed_later(call, std::move(texts),
                [this, n, full, n_tokens, as_base64 = wanted.base64](std::vector<float> vectors) {
                    Json data = Json::array();
                    for (size_t i = 0; i < vectors.size() / full; i++) {
                        const std::span<float> values(vectors.data() + i * full, n);
                        if (n < full) cut_vector(values);
                        data.push_back(Json{{"object", "embedding"},
                                            {"index", i},
                                            {"embedding", vector_json(values, as_base64)}});
                    }
                    return Json{
                        {"object", "list"},
                        {"data", data},
                        {"model", host_->name()},
                        {"usage", Json{{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}}}};
                });
}

// Sorts by descending score; for several classes the first one is the score.
void Service::rerank(Call &call, const Json &body) {
    auto wanted = std::make_shared<RerankWanted>(read_rerank(body, options_.lenient));
    require_model(wanted->model);
    if (!host_->ranks()) throw ApiError(400, "the model is not a reranker", "model", "unsupported");
    std::vector<std::vector<int32_t>> pairs;
    for (const std::string &document : wanted->documents)
        pairs.push_back(host_->pair(wanted->query, document));
    require_tokens(pairs, host_->n_embed_context(), "documents");
    const uint64_t n_tokens = count(pairs);
    embed_later(call, std::move(pairs), [this, wanted, n_tokens](std::vector<float> scores) {
        const uint32_t each = host_->dimensions();
        std::vector<size_t> order(scores.size() / each);
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return scores[a * each] > scores[b * each]; });
        order.resize(std::min(order.size(), wanted->top_n));
        Json results = Json::array();
        for (const size_t i : order) {
            Json one =
                Json{{"index", i}, {"relevance_score", static_cast<double>(scores[i * each])}};
            if (wanted->return_documents) one["document"] = Json{{"text", wanted->documents[i]}};
            results.push_back(one);
        }
        return Json{{"object", "list"},
                    {"model", host_->name()},
                    {"results", results},
                    {"usage", Json{{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}}}};
    });
}

} // namespace ggufx::cli
