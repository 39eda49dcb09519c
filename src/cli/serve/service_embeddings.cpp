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

void require_tokens(size_t n, uint32_t most, size_t index, const char *param) {
    if (n == 0)
        throw ApiError(400, fmt::format("text {} has no tokens", index), param, "invalid_value");
    if (n > most)
        throw ApiError(
            400, fmt::format("text {} has {} tokens, but the context holds {}", index, n, most),
            param, "context_length_exceeded");
}

// Body of a response with embeddings; `n` of the `full` values of each are returned.
class EmbeddingList {
public:
    EmbeddingList(std::vector<float> values, uint32_t full, uint32_t n, bool as_base64, Json tail)
        : values_(std::move(values)), full_(full), n_(n), as_base64_(as_base64),
          tail_(std::move(tail)) {}

    bool append_to(std::string &out) {
        out += index_ == 0 ? "{\"object\":\"list\",\"data\":[" : ",";
        const std::span<float> values(values_.data() + index_ * full_, n_);
        if (n_ < full_) cut_vector(values);
        out += Json{{"object", "embedding"},
                    {"index", index_},
                    {"embedding", vector_json(values, as_base64_)}}
                   .dump();
        if (++index_ < values_.size() / full_) return true;
        out += "]," + tail_.dump().substr(1) + "\n";
        return false;
    }

private:
    std::vector<float> values_;
    uint32_t full_, n_;
    bool as_base64_;
    Json tail_; // members after the list
    size_t index_ = 0;
};

} // namespace

struct Service::EmbeddingJob {
    std::shared_ptr<Exchange> exchange;
    std::shared_ptr<void> ticket;
    size_t n_texts;
    uint64_t n_tokens; // in all texts
    std::function<std::vector<int32_t>(size_t index)> text;
    std::function<void(Exchange &, std::vector<float>)> respond;
    std::vector<float> values;
    size_t n_done = 0; // texts
};

// Embeds some of the texts. Returns true if others are left.
bool Service::embed_piece(EmbeddingJob &job) {
    const auto ends = [&] { return stops_ || job.exchange->is_gone(); };
    if (ends()) throw ApiError(503, "the server is shutting down", "", "draining");
    std::vector<std::vector<int32_t>> texts;
    for (size_t n = 0; n < kPieceTokens && job.n_done < job.n_texts; n += texts.back().size())
        texts.push_back(job.text(job.n_done++));
    const std::vector<float> values = host_->embed(texts, ends);
    job.values.insert(job.values.end(), values.begin(), values.end());
    if (job.n_done < job.n_texts) return true;
    job.exchange->tell({"", job.n_tokens, 0, 0});
    job.respond(*job.exchange, std::move(job.values));
    return false;
}

void Service::embed_later(EmbeddingJob all) {
    auto job = std::make_shared<EmbeddingJob>(std::move(all));
    vectors_.add(job->exchange->asker(), [this, job] {
        bool is_unfinished = false;
        if (!job->exchange->is_gone())
            respond_error(*job->exchange, [&] { is_unfinished = embed_piece(*job); });
        return is_unfinished;
    });
}

void Service::embeddings(Call &call, Json body) {
    EmbeddingsWanted wanted = read_embeddings(std::exchange(body, {}), options_.lenient);
    require_model(wanted.model);
    if (!host_->embeds() || host_->ranks())
        throw ApiError(400, "the model is not an embedding model (see --embeddings of the server)",
                       "model", "unsupported");
    const uint32_t full = host_->dimensions(), n = wanted.dimensions.value_or(full);
    if (n > full)
        throw ApiError(400, fmt::format("the embeddings have {} values", full), "dimensions",
                       "invalid_value");
    auto texts = std::make_shared<std::vector<std::vector<int32_t>>>();
    uint64_t n_tokens = 0;
    for (TextOrIds &input : wanted.inputs) {
        if (input.is_ids)
            host_->check(input.ids, "input");
        else
            input.ids = host_->tokenize(input.text, GGUFX_TOKENIZE_ADD_SPECIAL);
        require_tokens(input.ids.size(), host_->n_embed_context(), texts->size(), "input");
        n_tokens += input.ids.size();
        texts->push_back(std::move(input.ids));
    }
    const Json tail =
        Json{{"model", host_->name()},
             {"usage", Json{{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}}}};
    embed_later({call.exchange,
                 call.ticket,
                 texts->size(),
                 n_tokens,
                 [texts](size_t i) { return (*texts)[i]; },
                 [=, as_base64 = wanted.base64](Exchange &exchange, std::vector<float> values) {
                     respond_parts(exchange, std::make_shared<EmbeddingList>(
                                                 std::move(values), full, n, as_base64, tail));
                 },
                 {}});
}

// Sorts by descending score; for several classes the first one is the score.
void Service::rerank(Call &call, Json body) {
    auto wanted =
        std::make_shared<RerankWanted>(read_rerank(std::exchange(body, {}), options_.lenient));
    require_model(wanted->model);
    if (!host_->ranks()) throw ApiError(400, "the model is not a reranker", "model", "unsupported");
    const std::vector<std::string> &documents = wanted->documents;
    // Pairs repeat the query, so they are made again when their turn comes.
    const auto pair = [this, wanted](size_t i) {
        return host_->pair(wanted->query, wanted->documents[i]);
    };
    uint64_t n_tokens = 0;
    for (size_t i = 0; i < documents.size(); i++) {
        host_->require_room(wanted->query.size() + documents[i].size(), "documents");
        const size_t n = pair(i).size();
        require_tokens(n, host_->n_embed_context(), i, "documents");
        n_tokens += n;
    }
    const auto respond = [this, wanted, n_tokens](Exchange &exchange, std::vector<float> scores) {
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
        respond_json(exchange, Json{{"object", "list"},
                                    {"model", host_->name()},
                                    {"results", results},
                                    {"usage", Json{{"prompt_tokens", n_tokens},
                                                   {"total_tokens", n_tokens}}}});
    };
    embed_later({call.exchange, call.ticket, documents.size(), n_tokens, pair, respond, {}});
}

} // namespace ggufx::cli
