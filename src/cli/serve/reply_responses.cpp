// SPDX-License-Identifier: MIT
#include "serve/reply_responses.hpp"

#include "common/text.hpp"

#include <utility>

namespace ggufx::cli {

// ---- parts of objects ----

Json ResponsesReply::part_json(const Item &item, const Json &logprobs) {
    if (item.kind == Kind::reasoning) return Json{{"type", "reasoning_text"}, {"text", item.text}};
    return Json{{"type", "output_text"},
                {"text", item.text},
                {"annotations", Json::array()},
                {"logprobs", logprobs}};
}

Json ResponsesReply::item_json(const Item &item, const char *status) const {
    if (item.kind == Kind::call)
        return Json{{"id", item.id},           {"type", "function_call"}, {"status", status},
                    {"call_id", item.call_id}, {"name", item.name},       {"arguments", item.text}};
    Json content = Json::array();
    if (!item.text.empty()) content.push_back(part_json(item, logprob_list(item.logprobs)));
    if (item.kind == Kind::reasoning)
        return Json{{"id", item.id},
                    {"type", "reasoning"},
                    {"status", status},
                    {"summary", Json::array()},
                    {"content", content}};
    return Json{{"id", item.id},
                {"type", "message"},
                {"status", status},
                {"role", "assistant"},
                {"content", content}};
}

static Json usage_json(const Usage &usage) {
    return Json{{"input_tokens", usage.n_prompt},
                {"input_tokens_details", Json{{"cached_tokens", usage.n_cached}}},
                {"output_tokens", usage.n_answer},
                {"output_tokens_details", Json{{"reasoning_tokens", usage.n_reasoning}}},
                {"total_tokens", usage.n_prompt + usage.n_answer}};
}

// Returns the response object in its current state.
Json ResponsesReply::response(const char *status, const Ending &ending) const {
    const bool cut = ending.reason == "length";
    Json out = Json{{"id", id_},
                    {"object", "response"},
                    {"created_at", created_},
                    {"status", status},
                    {"error", Json()},
                    {"incomplete_details", Json()},
                    {"model", shape_.model},
                    {"system_fingerprint", shape_.fingerprint},
                    {"seed", shape_.seed}};
    if (cut) out["incomplete_details"] = Json{{"reason", "max_output_tokens"}};
    out.update(asked_);
    Json items = Json::array();
    if (!ending.reason.empty()) {
        for (size_t i = 0; i < items_.size(); i++)
            items.push_back(
                item_json(items_[i], cut && i + 1 == items_.size() ? "incomplete" : "completed"));
    }
    out["output"] = items;
    out["usage"] = ending.reason.empty() ? Json() : usage_json(usage);
    if (!ending.note.empty()) out["warning"] = ending.note;
    return out;
}

// ---- events ----

Json ResponsesReply::event(const char *type) const {
    return Json{{"type", type}, {"sequence_number", n_events_}};
}

Json ResponsesReply::item_event(const char *type) const {
    Json out = event(type);
    out["item_id"] = items_.back().id;
    out["output_index"] = items_.size() - 1;
    if (items_.back().kind != Kind::call) out["content_index"] = 0;
    return out;
}

void ResponsesReply::send(Json event) {
    n_events_++;
    exchange().write("event: " + *event.find("type")->text() + "\ndata: " + event.dump() + "\n\n");
}

static std::string cut_event(const ApiError &error, size_t n_events) {
    const Json event = Json{{"type", "error"},
                            {"sequence_number", n_events},
                            {"code", error.code},
                            {"message", error.what()},
                            {"param", Json()}};
    return "event: error\ndata: " + event.dump() + "\n\n";
}

void ResponsesReply::open() {
    if (!shape_.stream) return;
    exchange().open_stream(cut_event);
    for (const char *type : {"response.created", "response.in_progress"}) {
        Json one = event(type);
        one["response"] = response("in_progress", {});
        send(std::move(one));
    }
}

// Returns the item that a piece belongs to; ends the previous item before a new one begins.
ResponsesReply::Item &ResponsesReply::item_of(Kind kind, const CallPart *call) {
    const bool goes_on = item_is_open_ && items_.back().kind == kind && (!call || call->id.empty());
    if (goes_on) return items_.back();
    close_item("completed");
    const char *const prefix = kind == Kind::call ? "fc_" : kind == Kind::message ? "msg_" : "rs_";
    Item item = {kind, prefix + random_name(24), "", "", "", {}};
    if (call) {
        item.call_id = "call_" + call->id;
        item.name = call->name;
    }
    items_.push_back(std::move(item));
    item_is_open_ = true;
    if (!shape_.stream) return items_.back();
    Json added = event("response.output_item.added");
    added["output_index"] = items_.size() - 1;
    added["item"] = item_json(items_.back(), "in_progress");
    send(std::move(added));
    if (kind == Kind::call) return items_.back();
    Json part = item_event("response.content_part.added");
    part["part"] = part_json(items_.back(), Json::array());
    send(std::move(part));
    return items_.back();
}

void ResponsesReply::add(Kind kind, const std::string &text,
                         const std::vector<TokenLogprob> &logprobs, const CallPart *call) {
    Item &item = item_of(kind, call);
    item.text += text;
    if (kind == Kind::message)
        item.logprobs.insert(item.logprobs.end(), logprobs.begin(), logprobs.end());
    if (!shape_.stream || (text.empty() && logprobs.empty())) return;
    Json delta = item_event(kind == Kind::call        ? "response.function_call_arguments.delta"
                            : kind == Kind::reasoning ? "response.reasoning_text.delta"
                                                      : "response.output_text.delta");
    delta["delta"] = text;
    if (kind == Kind::message) delta["logprobs"] = logprob_list(logprobs);
    send(std::move(delta));
}

void ResponsesReply::send_item_done(const Item &item, const char *status) {
    const bool is_call = item.kind == Kind::call;
    Json text = item_event(is_call                        ? "response.function_call_arguments.done"
                           : item.kind == Kind::reasoning ? "response.reasoning_text.done"
                                                          : "response.output_text.done");
    if (is_call) text["name"] = item.name;
    text[is_call ? "arguments" : "text"] = item.text;
    const Json logprobs = logprob_list(item.logprobs);
    if (item.kind == Kind::message) text["logprobs"] = logprobs;
    send(std::move(text));
    if (!is_call) {
        Json part = item_event("response.content_part.done");
        part["part"] = part_json(item, logprobs);
        send(std::move(part));
    }
    Json done = event("response.output_item.done");
    done["output_index"] = items_.size() - 1;
    done["item"] = item_json(item, status);
    send(std::move(done));
}

void ResponsesReply::close_item(const char *status) {
    if (!item_is_open_) return;
    item_is_open_ = false;
    if (shape_.stream) send_item_done(items_.back(), status);
}

// ---- deltas of the sequence ----

// Keeps the log-probabilities of a delta for the text that follows. Without text of its own it is of
// the message that goes on, or a part of its first character.
void ResponsesReply::keep(Delta &delta) {
    if (!shape_.logprobs) return;
    const bool is_other = !delta.reasoning.empty() || !delta.calls.empty();
    const bool goes_on = item_is_open_ && items_.back().kind == Kind::message;
    if (delta.content.empty() && is_other) kept_.clear();
    for (TokenLogprob &token : delta.logprobs)
        if (!delta.content.empty() || (!is_other && (goes_on || !is_utf8(token.piece))))
            kept_.push_back(std::move(token));
}

void ResponsesReply::put(uint32_t, Delta delta) {
    if (failed_) return;
    const std::vector<TokenLogprob> none;
    keep(delta);
    if (!delta.reasoning.empty()) add(Kind::reasoning, delta.reasoning, none, nullptr);
    if (!delta.content.empty())
        add(Kind::message, delta.content, std::exchange(kept_, {}), nullptr);
    for (const CallPart &call : delta.calls) add(Kind::call, call.arguments, none, &call);
}

void ResponsesReply::finish(uint32_t, const Ending &ending) {
    if (failed_) return;
    const bool cut = ending.reason == "length";
    if (items_.empty()) item_of(Kind::message, nullptr); // an empty answer
    if (item_is_open_ && items_.back().kind == Kind::message)
        add(Kind::message, "", std::exchange(kept_, {}), nullptr);
    close_item(cut ? "incomplete" : "completed");
    tell_usage();
    const char *const status = cut ? "incomplete" : "completed";
    if (!shape_.stream) {
        respond(response(status, ending));
        return;
    }
    Json last = event(cut ? "response.incomplete" : "response.completed");
    last["response"] = response(status, ending);
    send(std::move(last));
    exchange().end();
}

void ResponsesReply::end_stream(const ApiError &error) {
    Json last = event("response.failed");
    Json whole = response("failed", {});
    whole["error"] = Json{{"code", error.code.empty() ? "server_error" : error.code.c_str()},
                          {"message", error.what()}};
    last["response"] = whole;
    send(std::move(last));
    exchange().end();
}

} // namespace ggufx::cli
