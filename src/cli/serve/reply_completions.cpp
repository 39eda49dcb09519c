// SPDX-License-Identifier: MIT
#include "serve/reply_completions.hpp"

#include <algorithm>
#include <numeric>

namespace ggufx::cli {

CompletionReply::CompletionReply(std::shared_ptr<Exchange> exchange, ReplyShape shape,
                                 const Wanted &wanted, bool is_chat, size_t n_prompts)
    : Reply(std::move(exchange), std::move(shape), is_chat ? "chatcmpl-" : "cmpl-", 24),
      is_chat_(is_chat), include_usage_(wanted.include_usage), n_of_(wanted.best_of),
      n_best_(wanted.n), texts_(n_prompts * wanted.best_of) {}

void CompletionReply::open() {
    if (!shape_.stream) return;
    head_ = head(false).dump();
    head_.pop_back(); // removes the brace: choices follow
    exchange().open_stream(
        [](const ApiError &error, size_t) { return "data: " + error.to_json().dump() + "\n\n"; });
}

// ---- parts of objects ----

namespace {

Json chat_logprobs(const std::vector<TokenLogprob> &tokens) {
    return Json{{"content", logprob_list(tokens)}, {"refusal", Json()}};
}

Json completion_logprobs(const std::vector<TokenLogprob> &tokens) {
    JsonList pieces, logprobs, tops, offsets;
    for (const TokenLogprob &token : tokens) {
        pieces.add(token.piece);
        logprobs.add(token.logprob ? logprob_json(*token.logprob) : Json());
        Json top = Json::object();
        for (const auto &other : token.top) top[other.piece] = logprob_json(other.logprob);
        tops.add(token.logprob ? top : Json());
        offsets.add(token.offset);
    }
    return Json{{"tokens", std::move(pieces).json()},
                {"token_logprobs", std::move(logprobs).json()},
                {"top_logprobs", std::move(tops).json()},
                {"text_offset", std::move(offsets).json()}};
}

Json call_json(const CallPart &call, bool indexed) {
    Json function = Json::object();
    if (!call.name.empty()) function["name"] = call.name;
    function["arguments"] = call.arguments;
    Json out = Json::object();
    if (indexed) out["index"] = call.index;
    if (!call.id.empty()) {
        out["id"] = call.id;
        out["type"] = "function";
    }
    out["function"] = function;
    return out;
}

Json calls_json(const std::vector<CallPart> &calls, bool indexed) {
    Json out = Json::array();
    for (const CallPart &call : calls) out.push_back(call_json(call, indexed));
    return out;
}

} // namespace

Json CompletionReply::head(bool whole) const {
    const char *const object = !is_chat_ ? "text_completion"
                               : whole   ? "chat.completion"
                                         : "chat.completion.chunk";
    return Json{{"id", id_},
                {"object", object},
                {"created", created_},
                {"model", shape_.model},
                {"system_fingerprint", shape_.fingerprint},
                {"seed", shape_.seed}};
}

Json CompletionReply::usage_json() const {
    return Json{
        {"prompt_tokens", usage.n_prompt},
        {"completion_tokens", usage.n_answer},
        {"total_tokens", usage.n_prompt + usage.n_answer},
        {"prompt_tokens_details", Json{{"cached_tokens", usage.n_cached}, {"audio_tokens", 0}}},
        {"completion_tokens_details", Json{{"reasoning_tokens", usage.n_reasoning},
                                           {"audio_tokens", 0},
                                           {"accepted_prediction_tokens", 0},
                                           {"rejected_prediction_tokens", 0}}}};
}

Json CompletionReply::logprobs_json(const std::vector<TokenLogprob> &tokens) const {
    if (!shape_.logprobs) return {};
    return is_chat_ ? chat_logprobs(tokens) : completion_logprobs(tokens);
}

// Choice of a reply that is not streamed.
Json CompletionReply::choice(uint32_t of, uint32_t index) const {
    const Text &text = texts_[of];
    Json out = Json{{"index", index}};
    if (is_chat_) {
        Json message = Json{{"role", "assistant"}};
        const bool calls_alone = text.all.content.empty() && !text.all.calls.empty();
        message["content"] = calls_alone ? Json() : Json(text.all.content);
        message["refusal"] = Json();
        if (!text.all.reasoning.empty()) message["reasoning_content"] = text.all.reasoning;
        if (!text.all.calls.empty()) message["tool_calls"] = calls_json(text.all.calls, false);
        message["annotations"] = Json::array();
        out["message"] = message;
    } else {
        out["text"] = text.all.content;
    }
    out["logprobs"] = logprobs_json(text.all.logprobs);
    out["finish_reason"] = text.ending.reason;
    return out;
}

// Returns the n best sequences of each prompt, in the order of their seeds.
Json CompletionReply::choices() const {
    Json out = Json::array();
    for (uint32_t first = 0; first < texts_.size(); first += n_of_) {
        std::vector<uint32_t> order(n_of_);
        std::iota(order.begin(), order.end(), first);
        std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
            return texts_[a].ending.mean_logprob > texts_[b].ending.mean_logprob;
        });
        order.resize(n_best_);
        std::sort(order.begin(), order.end());
        for (const uint32_t of : order)
            out.push_back(choice(of, static_cast<uint32_t>(out.size())));
    }
    return out;
}

// ---- deltas of the sequences ----

void CompletionReply::put(uint32_t index, Delta delta) {
    if (failed_ || delta.empty()) return;
    Text &text = texts_[index];
    if (!shape_.stream) {
        join(text.all, std::move(delta));
        return;
    }
    const Json logprobs = logprobs_json(delta.logprobs);
    if (!is_chat_) {
        send(index, Json(delta.content), logprobs, {});
        return;
    }
    Json out = Json::object();
    if (!text.began) out["role"] = "assistant";
    text.began = true;
    if (!delta.reasoning.empty()) out["reasoning_content"] = delta.reasoning;
    if (!delta.content.empty()) out["content"] = delta.content;
    if (!delta.calls.empty()) out["tool_calls"] = calls_json(delta.calls, true);
    send(index, out, logprobs, {});
}

void CompletionReply::send(uint32_t index, const Json &delta, const Json &logprobs,
                           const Json &reason) {
    Json one = Json{{"index", index}};
    one[is_chat_ ? "delta" : "text"] = delta;
    one["logprobs"] = logprobs;
    one["finish_reason"] = reason;
    std::string event = "data: " + head_ + ",\"choices\":[" + one.dump() + "]";
    if (include_usage_) event += ",\"usage\":null";
    exchange().write(event += "}\n\n");
}

void CompletionReply::send_event(const Json &event) {
    exchange().write("data: " + event.dump() + "\n\n");
}

void CompletionReply::finish(uint32_t index, const Ending &ending) {
    if (failed_) return;
    texts_[index].ending = ending;
    if (shape_.stream) {
        Json delta = is_chat_ ? Json::object() : Json("");
        if (is_chat_ && !texts_[index].began) delta["role"] = "assistant";
        send(index, delta, {}, ending.reason);
        if (!ending.note.empty())
            send_event(Json{{"error", Json{{"message", ending.note},
                                           {"type", "server_error"},
                                           {"param", Json()},
                                           {"code", Json()}}}});
    }
    if (++n_finished_ == texts_.size()) end();
}

void CompletionReply::end() {
    tell_usage();
    if (shape_.stream) {
        if (include_usage_) {
            Json event = head(false);
            event["choices"] = Json::array();
            event["usage"] = usage_json();
            send_event(event);
        }
        exchange().write("data: [DONE]\n\n");
        exchange().end();
        return;
    }
    Json out = head(true);
    out["choices"] = choices();
    out["usage"] = usage_json();
    out["timings"] = Json{{"prompt_ms", usage.prompt_seconds * 1e3},
                          {"predicted_ms", usage.answer_seconds * 1e3}};
    for (const Text &text : texts_)
        if (!text.ending.note.empty()) out["warning"] = text.ending.note;
    respond(out);
}

void CompletionReply::end_stream(const ApiError &error) {
    send_event(error.to_json());
    exchange().write("data: [DONE]\n\n");
    exchange().end();
}

} // namespace ggufx::cli
