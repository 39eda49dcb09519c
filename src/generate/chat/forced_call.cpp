// SPDX-License-Identifier: MIT
#include "generate/chat/forced_call.hpp"

#include "base/utf8_repair.hpp"
#include "chat/json.hpp"
#include "generate/events.hpp"

#include <algorithm>

namespace ggufx::generate {

ForcedCall::ForcedCall(const AnswerPlan &plan)
    : plan_(plan), call_(*plan.call),
      offered_(HostAllocator<const CallPlan::Parameter *>(plan.host())),
      is_written_(HostAllocator<bool>(plan.host())), choice_(plan.host()),
      allowed_(plan.host(), plan.tokenizer().vocab().size()),
      text_(HostAllocator<char>(plan.host())) {
    if (call_.has_name()) {
        function_ = call_.functions.data();
        begin_arguments();
        return;
    }
    for (const CallPlan::Function &function : call_.functions)
        choice_.add(plan_.name_ids(function));
}

bool ForcedCall::ends(int32_t id) const {
    return plan_.tokenizer().vocab()[static_cast<size_t>(id)].ends;
}

// ---- next token

Constraint::Next ForcedCall::next() {
    if (stage_ == Stage::object) return {-1, matcher_->allowed()};
    if (stage_ == Stage::string && choice_.empty()) return {-1, call_.string_tokens.allowed()};
    if (stage_ != Stage::value)
        if (const auto given = choice_.given()) return {*given, {}};
    allowed_.clear();
    if (stage_ == Stage::value) {
        allowed_.add(matcher_->allowed());
        const model::Vocab &vocab = plan_.tokenizer().vocab();
        for (size_t i = 0; i < vocab.size(); i++)
            if (vocab[i].ends) allowed_.remove(static_cast<int32_t>(i));
    }
    if (stage_ != Stage::value || matcher_->is_whole()) choice_.add_next(allowed_);
    return {-1, allowed_.allowed()};
}

// ---- JSON

void ForcedCall::put(std::string_view json) {
    if (json.empty() || !sink_->event) return;
    sink_->event(sink_->user, static_cast<uint32_t>(EventKind::tool_arguments), 0, json);
}

void ForcedCall::put_string(std::string_view text) {
    chat::Meter meter(plan_.host(), {UINT64_MAX, 4096 + 32 * uint64_t{text.size()}, 0});
    put(chat::schema_text(meter, chat::text_value(meter, text)));
}

// ---- arguments

void ForcedCall::begin(const OutputSink &sink) {
    sink_ = &sink;
    if (function_ && !has_begun_) tell_name();
}

void ForcedCall::tell_name() {
    has_begun_ = true;
    const auto tell = [&](EventKind kind, std::string_view text) {
        if (!text.empty() && sink_->event)
            sink_->event(sink_->user, static_cast<uint32_t>(kind), 0, text);
    };
    tell(EventKind::tool_call, function_->name);
    tell(EventKind::tool_id, call_.id);
    if (!call_.syntax.is_object) put("{");
}

void ForcedCall::begin_arguments() {
    choice_.clear();
    if (call_.syntax.is_object) {
        matcher_ = function_->arguments->matcher();
        stage_ = Stage::object;
        return;
    }
    is_written_.assign(function_->parameters.size(), false);
    offer_keys();
    if (offered_.empty()) finish();
}

// Offers the keys that may come next, and the end of the call if all required keys are written.
void ForcedCall::offer_keys() {
    const chat::CallSyntax &syntax = call_.syntax;
    stage_ = Stage::key;
    choice_.clear();
    offered_.clear();
    bool can_end = true;
    Vector<char> text{HostAllocator<char>(plan_.host())};
    if (n_written_ > 0) text.insert(text.end(), syntax.separator.begin(), syntax.separator.end());
    text.insert(text.end(), syntax.before_key.begin(), syntax.before_key.end());
    const TokenIds before = plan_.marker_ids({text.data(), text.size()});
    for (size_t i = 0; i < function_->parameters.size(); i++) {
        if (is_written_[i]) continue;
        const CallPlan::Parameter &parameter = function_->parameters[i];
        can_end = can_end && !parameter.is_required;
        TokenIds ids = before;
        ids.insert(ids.end(), parameter.ids.begin(), parameter.ids.end());
        choice_.add(std::move(ids));
        offered_.push_back(&parameter);
    }
    if (offered_.empty()) return;
    if (can_end) choice_.add(plan_.marker_ids(syntax.end));
}

void ForcedCall::finish() {
    put("}");
    stage_ = Stage::whole;
}

void ForcedCall::begin_value() {
    if (n_written_ > 0) put(", ");
    put({parameter_->key_json.data(), parameter_->key_json.size()});
    put(": ");
    is_written_[static_cast<size_t>(parameter_ - function_->parameters.data())] = true;
    n_written_++;
    choice_.clear();
    text_.clear();
    n_chars_ = n_counted_ = 0;
    repair_ = {};
    const chat::CallSyntax &syntax = call_.syntax;
    if (!parameter_->is_string) {
        matcher_ = parameter_->grammar->matcher();
        if (syntax.value_end.empty()) {
            offer_keys(); // the separator and the next key end the value
            if (offered_.empty()) choice_.add(plan_.marker_ids(syntax.end));
        } else {
            choice_.add(plan_.marker_ids(syntax.value_end));
        }
        stage_ = Stage::value;
        return;
    }
    stage_ = Stage::string;
    for (size_t i = 0; parameter_->texts && i < parameter_->texts->size; i++) {
        TokenIds ids = plan_.text_ids(parameter_->texts->items[i].text->view());
        const TokenIds end = plan_.marker_ids(syntax.string_end);
        ids.insert(ids.end(), end.begin(), end.end());
        choice_.add(std::move(ids));
    }
}

void ForcedCall::end_value() {
    offer_keys();
    if (offered_.empty()) finish();
}

void ForcedCall::end_string(size_t length) {
    text_.resize(length);
    put_string({text_.data(), text_.size()});
}

// Returns the bytes at the end of the string that may be a prefix of its end marker.
size_t ForcedCall::unfinished_end() const {
    const std::string_view text(text_.data(), text_.size()), marker = call_.syntax.string_end;
    for (const std::string_view end : {marker, chat::trimmed(marker)})
        for (size_t n = std::min(end.size(), text.size() + 1) - 1; n > 0; n--)
            if (text.ends_with(end.substr(0, n))) return n;
    return 0;
}

// Appends text up to the marker that ends the string, or up to its maximum length.
void ForcedCall::add_to_string(std::string_view bytes) {
    const size_t old_size = text_.size();
    repair_.feed(
        bytes, [&](std::string_view part) { text_.insert(text_.end(), part.begin(), part.end()); });
    const std::string_view text(text_.data(), text_.size());
    const std::string_view end = chat::trimmed(call_.syntax.string_end);
    const size_t from = old_size > end.size() ? old_size - end.size() : 0;
    if (const size_t at = text.find(end, from); at != text.npos) {
        const bool has_break =
            call_.syntax.string_end.starts_with('\n') && text.substr(0, at).ends_with('\n');
        end_string(at - has_break);
        return end_value();
    }
    const size_t sure = text.size() - unfinished_end(); // bytes that are no part of a marker
    size_t cut = sure;                                  // end of the last character that fits
    for (; n_counted_ < sure; n_counted_++) {
        const bool begins = (static_cast<uint8_t>(text[n_counted_]) & 0xc0) != 0x80;
        if (begins && n_chars_++ == parameter_->max_length) cut = n_counted_;
    }
    if (n_chars_ < parameter_->max_length) return;
    if (n_chars_ == parameter_->max_length && sure < text.size()) return;
    end_string(cut);
    choice_.clear();
    choice_.add(plan_.marker_ids(call_.syntax.string_end));
    stage_ = Stage::value_end;
}

// Returns whether a token goes on with the value; otherwise it begins what follows.
bool ForcedCall::fits_value(int32_t id) {
    if (ends(id)) return false;
    try {
        matcher_->accept(id);
        return true;
    } catch (const Error &error) {
        if (static_cast<Status>(error.failure.status) != Status::value) throw;
        return false;
    }
}

void ForcedCall::add(int32_t id, std::string_view bytes, const OutputSink &sink) {
    sink_ = &sink;
    if (stage_ == Stage::object) {
        matcher_->accept(id);
        put(bytes);
        if (matcher_->is_whole()) stage_ = Stage::whole;
        return;
    }
    if (stage_ == Stage::string && choice_.empty()) return add_to_string(bytes);
    if (stage_ == Stage::value) {
        if (fits_value(id)) return put(bytes);
        stage_ = call_.syntax.value_end.empty() ? Stage::key : Stage::value_end;
    }
    choice_.take(id);
    // The call is complete as soon as its end is the only option left.
    if (stage_ == Stage::key && choice_.has_only(offered_.size())) return finish();
    const auto chosen = choice_.chosen();
    if (!chosen) return;
    if (stage_ == Stage::name) {
        function_ = &call_.functions[*chosen];
        tell_name();
        begin_arguments();
    } else if (stage_ == Stage::key) {
        if (*chosen == offered_.size()) return finish();
        parameter_ = offered_[*chosen];
        begin_value();
    } else if (stage_ == Stage::string) {
        put_string(parameter_->texts->items[*chosen].text->view());
        end_value();
    } else {
        end_value();
    }
}

} // namespace ggufx::generate
