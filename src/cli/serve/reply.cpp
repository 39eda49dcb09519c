// SPDX-License-Identifier: MIT
#include "serve/reply.hpp"

#include "common/random.hpp"

#include <algorithm>
#include <ctime>

namespace ggufx::cli {

Reply::Reply(std::shared_ptr<Exchange> exchange, ReplyShape shape, const std::string &prefix,
             size_t n_random)
    : shape_(std::move(shape)), id_(prefix + random_name(n_random)),
      created_(static_cast<uint64_t>(std::time(nullptr))), exchange_(std::move(exchange)) {
    exchange_->tell({id_, 0, 0, 0});
}

void Reply::fail(const ApiError &error) {
    if (failed_) return;
    failed_ = true;
    if (shape_.stream)
        end_stream(error);
    else
        exchange().respond(error);
}

std::string random_name(size_t n) {
    constexpr std::string_view letters =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // Letters per random number; the bias of the remainder is negligible.
    constexpr size_t of_each = 8;
    std::string out;
    for (uint64_t number = 0; out.size() < n; number /= letters.size()) {
        if (out.size() % of_each == 0) number = random_number();
        out += letters[number % letters.size()];
    }
    return out;
}

void join(Delta &all, Delta delta) {
    all.content += delta.content;
    all.reasoning += delta.reasoning;
    for (CallPart &call : delta.calls) {
        if (!call.id.empty())
            all.calls.push_back(std::move(call));
        else if (!all.calls.empty())
            all.calls.back().arguments += call.arguments;
    }
    for (TokenLogprob &token : delta.logprobs) all.logprobs.push_back(std::move(token));
}

void JsonList::add(const Json &value) {
    text_ += text_.empty() ? '[' : ',';
    text_ += value.dump();
}

Json JsonList::json() && {
    if (text_.empty()) text_ = "[";
    return Json::written(std::move(text_) + "]");
}

static Json bytes_json(std::string_view bytes) {
    Json out = Json::array();
    for (const char byte : bytes) out.push_back(static_cast<unsigned char>(byte));
    return out;
}

Json logprob_json(float value) {
    return static_cast<double>(std::max(value, -9999.0f));
}

static Json token_json(std::string_view piece, float logprob) {
    return Json{{"token", piece}, {"logprob", logprob_json(logprob)}, {"bytes", bytes_json(piece)}};
}

Json logprob_list(const std::vector<TokenLogprob> &tokens) {
    JsonList content;
    for (const TokenLogprob &token : tokens) {
        Json one = token_json(token.piece, token.logprob.value_or(0));
        Json top = Json::array();
        for (const auto &other : token.top) top.push_back(token_json(other.piece, other.logprob));
        one["top_logprobs"] = top;
        content.add(one);
    }
    return std::move(content).json();
}

} // namespace ggufx::cli
