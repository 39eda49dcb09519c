// SPDX-License-Identifier: MIT
#include "serve/call_parameters.hpp"

namespace ggufx::cli {

namespace {

std::string with_id(std::string text, const std::string &id) {
    const std::string placeholder = "ggufxid01";
    if (const size_t at = text.find(placeholder); at != text.npos)
        text.replace(at, placeholder.size(), id);
    return text;
}

std::string trimmed(const std::string &text) {
    const size_t begin = text.find_first_not_of(" \t\r\n");
    return begin == text.npos ? ""
                              : text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

} // namespace

CallSyntax call_syntax(const ggufx_chat_facts &facts, const std::string &id) {
    CallSyntax out;
    if ((facts.flags & GGUFX_CHAT_CHANNELS) != 0) {
        out.prefix = "<|channel|>commentary to=functions.";
        out.middle = " <|constrain|>json<|message|>";
        return out;
    }
    out.prefix = with_id(facts.call_prefix, id);
    out.middle = with_id(facts.call_middle, id);
    out.end = facts.call_end;
    if (facts.call_form == GGUFX_CHAT_CALL_TAGGED) {
        out.is_object = false;
        out.before_key = facts.call_before_key;
        out.after_key = facts.call_after_key;
        out.after_key_other = facts.call_after_key_other;
        out.value_end = out.string_end = facts.call_after_value;
    } else if (facts.call_notation == GGUFX_CHAT_NOTATION_PYTHON) {
        out.is_object = false;
        out.open = "(";
        out.separator = ", ";
        out.after_key = "=";
        out.end = ")";
    } else if (facts.call_notation == GGUFX_CHAT_NOTATION_QUOTED) {
        out.is_object = false;
        out.open = "{";
        out.separator = ",";
        out.after_key = ":";
        out.string_open = out.string_end = facts.call_quote;
        out.end = "}";
    }
    if (out.after_key_other.empty()) out.after_key_other = out.after_key;
    return out;
}

bool is_complete(const ggufx_matcher *matcher) {
    const auto info = facts<ggufx_matcher_facts>([&](ggufx_matcher_facts *out, ggufx_error *error) {
        return ggufx_matcher_info(out, matcher, error);
    });
    return (info.flags & GGUFX_MATCHER_WHOLE) != 0;
}

// ---- plan ----

namespace {

using Ids = std::vector<int32_t>;

void append(Ids &out, const Ids &more) {
    out.insert(out.end(), more.begin(), more.end());
}

Ids marker_ids(const ModelHost &host, const std::string &text) {
    return text.empty() ? Ids() : host.tokenize(text, GGUFX_TOKENIZE_PARSE_SPECIAL);
}

// Tokenizes client text without parsing special tokens.
Ids text_ids(const ModelHost &host, const std::string &text) {
    return text.empty() ? Ids() : host.tokenize(text, 0);
}

void plan_schema(SchemaCompiler &grammars, const CallSyntax &syntax, const std::string &schema,
                 CallPlan::Function &out) {
    if (syntax.is_object) {
        out.arguments = grammars.of_schema(schema, {"tools", out.name});
        return;
    }
    const Json root = Json::parse(schema, "tools");
    out.parameters = ParameterReader(grammars, syntax, out.name, root).read();
}

// A schema that cannot become a grammar refuses the request if the request names that function.
// Otherwise the function accepts any arguments.
void plan_function(SchemaCompiler &grammars, const CallSyntax &syntax, const Callable &function,
                   CallPlan::Function &out) {
    out.name = function.name;
    try {
        plan_schema(grammars, syntax, function.schema, out);
    } catch (const ApiError &error) {
        const bool is_of_schema = error.status == 400 && error.code != SchemaCompiler::kTooMuch;
        if (function.is_named || !is_of_schema) throw;
        plan_schema(grammars, syntax, R"({"type":"object"})", out);
    }
}

} // namespace

std::shared_ptr<const CallPlan> plan_call(const ModelHost &host, SchemaCompiler &grammars,
                                          const std::vector<Callable> &functions) {
    auto out = std::make_shared<CallPlan>();
    out->id = random_name(9);
    out->syntax = call_syntax(host.chat_facts(), out->id);
    const CallSyntax &syntax = out->syntax;
    const Ids before_text = marker_ids(host, syntax.after_key + syntax.string_open);
    const Ids before_json = marker_ids(host, syntax.after_key_other);
    for (const Callable &function : functions) {
        CallPlan::Function &one = out->functions.emplace_back();
        plan_function(grammars, syntax, function, one);
        for (CallPlan::Parameter &parameter : one.parameters) {
            parameter.ids = text_ids(host, parameter.key);
            append(parameter.ids, parameter.is_string ? before_text : before_json);
        }
    }
    return out;
}

// ---- writing ----

namespace {

Ids name_ids(const ModelHost &host, const CallPlan &plan, const std::string &name) {
    Ids out = text_ids(host, name);
    append(out,
           marker_ids(host, plan.syntax.middle + (plan.syntax.is_object ? "" : plan.syntax.open)));
    return out;
}

} // namespace

Ids call_opening(const ModelHost &host, const CallPlan &plan) {
    Ids out = marker_ids(host, plan.syntax.prefix);
    if (plan.has_name()) append(out, name_ids(host, plan, plan.functions[0].name));
    return out;
}

CallWriter::CallWriter(const ModelHost &host, std::shared_ptr<const CallPlan> plan)
    : host_(host), plan_(std::move(plan)), allowed_(host.facts().n_vocab) {
    for (const CallPlan::Function &function : plan_->functions)
        choice_.add(name_ids(host_, *plan_, function.name));
}

void CallWriter::begin(Delta &delta) {
    if (!plan_->has_name()) return;
    function_ = plan_->functions.data();
    begin_arguments(delta);
}

Constraint CallWriter::constraint() {
    Constraint out;
    if (stage_ == Stage::object) {
        out.matcher = matcher_.get();
        return out;
    }
    if (stage_ == Stage::string && choice_.empty()) {
        allowed_ = host_.plain_tokens(plan_->syntax.string_end);
        out.allowed = &allowed_;
        return out;
    }
    if (stage_ != Stage::value) {
        out.given = choice_.given();
        if (out.given) return out;
    }
    allowed_ = TokenSet(host_.facts().n_vocab);
    if (stage_ != Stage::value || is_complete(matcher_.get())) choice_.add_next(allowed_);
    if (stage_ == Stage::value) {
        TokenSet fitting(host_.facts().n_vocab);
        fitting.add_fitting(matcher_.get());
        for (const int32_t id : host_.end_tokens()) fitting.remove(id);
        allowed_.add(fitting);
    }
    out.allowed = &allowed_;
    return out;
}

void CallWriter::put(Delta &delta, const std::string &json) {
    if (json.empty()) return;
    if (delta.calls.empty()) delta.calls.push_back({0, "", "", ""});
    delta.calls.back().arguments += json;
}

void CallWriter::begin_arguments(Delta &delta) {
    delta.calls.push_back({0, plan_->id, function_->name, ""});
    has_begun_ = true;
    choice_.clear();
    if (plan_->syntax.is_object) {
        matcher_ = make_matcher(function_->arguments->handle.get());
        stage_ = Stage::object;
        return;
    }
    is_written_.assign(function_->parameters.size(), false);
    put(delta, "{");
    offer_keys();
    if (offered_.empty()) finish(delta);
}

// Offers the keys that may come next, and the end of the call if all required keys are written.
void CallWriter::offer_keys() {
    const CallSyntax &syntax = plan_->syntax;
    stage_ = Stage::key;
    choice_.clear();
    offered_.clear();
    bool can_end = true;
    const Ids before =
        marker_ids(host_, (n_written_ == 0 ? "" : syntax.separator) + syntax.before_key);
    for (size_t i = 0; i < function_->parameters.size(); i++) {
        if (is_written_[i]) continue;
        const CallPlan::Parameter &parameter = function_->parameters[i];
        can_end = can_end && !parameter.is_required;
        Ids ids = before;
        append(ids, parameter.ids);
        choice_.add(std::move(ids));
        offered_.push_back(&parameter);
    }
    if (offered_.empty()) return;
    if (can_end) choice_.add(marker_ids(host_, syntax.end));
}

void CallWriter::finish(Delta &delta) {
    put(delta, "}");
    stage_ = Stage::whole;
}

void CallWriter::begin_value(Delta &delta) {
    put(delta, (n_written_ == 0 ? "" : ", ") + Json(parameter_->key).dump() + ": ");
    is_written_[static_cast<size_t>(parameter_ - function_->parameters.data())] = true;
    n_written_++;
    choice_.clear();
    text_.clear();
    n_chars_ = n_wanted_ = 0;
    if (!parameter_->is_string) {
        matcher_ = make_matcher(parameter_->grammar->handle.get());
        stage_ = Stage::value;
        if (plan_->syntax.value_end.empty()) {
            offer_keys(); // the separator and the next key end the value
            stage_ = Stage::value;
            if (offered_.empty()) choice_.add(marker_ids(host_, plan_->syntax.end));
        } else {
            choice_.add(marker_ids(host_, plan_->syntax.value_end));
        }
        return;
    }
    stage_ = Stage::string;
    if (!parameter_->texts) return;
    for (const std::string &text : *parameter_->texts) {
        Ids ids = text_ids(host_, text);
        append(ids, marker_ids(host_, plan_->syntax.string_end));
        choice_.add(std::move(ids));
    }
}

void CallWriter::end_value(Delta &delta) {
    offer_keys();
    if (offered_.empty()) finish(delta);
}

// Appends bytes up to the marker that ends the string, or up to its maximum length.
void CallWriter::add_to_string(const std::string &bytes, Delta &delta) {
    const std::string end = trimmed(plan_->syntax.string_end);
    const size_t from = text_.size() > end.size() ? text_.size() - end.size() : 0;
    text_ += bytes;
    const size_t at = text_.find(end, from);
    if (at != text_.npos) {
        text_.resize(at);
        if (plan_->syntax.string_end.starts_with("\n") && text_.ends_with("\n")) text_.pop_back();
        put(delta, Json(text_).dump());
        return end_value(delta);
    }
    const size_t begin = text_.size() - bytes.size();
    size_t cut = text_.size(); // end of the last character that fits
    for (size_t i = begin; i < text_.size(); i++) {
        const auto c = static_cast<unsigned char>(text_[i]);
        if ((c & 0xc0) == 0x80 && n_wanted_ > 0) {
            n_wanted_--;
            continue;
        }
        n_wanted_ = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        if (n_chars_++ == parameter_->max_length) cut = i;
    }
    if (n_chars_ < parameter_->max_length) return;
    if (n_chars_ == parameter_->max_length && n_wanted_ > 0) return;
    text_.resize(cut);
    put(delta, Json(text_).dump());
    choice_.clear();
    choice_.add(marker_ids(host_, plan_->syntax.string_end));
    stage_ = Stage::value_end;
}

void CallWriter::add(int32_t id, const std::string &bytes, Delta &delta) {
    if (stage_ == Stage::object) {
        put(delta, bytes);
        if (is_complete(matcher_.get())) stage_ = Stage::whole;
        return;
    }
    if (stage_ == Stage::string && choice_.empty()) { return add_to_string(bytes, delta); }
    if (stage_ == Stage::value) {
        const bool fits =
            !host_.ends(id) && ggufx_matcher_accept(matcher_.get(), &id, 1, nullptr) == GGUFX_OK;
        if (fits) return put(delta, bytes);
        stage_ = plan_->syntax.value_end.empty() ? Stage::key : Stage::value_end;
    }
    choice_.take(id);
    // The call is complete as soon as its end is the only option left.
    if (stage_ == Stage::key && choice_.has_only(offered_.size())) return finish(delta);
    const auto chosen = choice_.chosen();
    if (!chosen) return;
    if (stage_ == Stage::name) {
        function_ = &plan_->functions[*chosen];
        begin_arguments(delta);
    } else if (stage_ == Stage::key) {
        if (*chosen == offered_.size()) return finish(delta);
        parameter_ = offered_[*chosen];
        begin_value(delta);
    } else if (stage_ == Stage::string) {
        put(delta, Json((*parameter_->texts)[*chosen]).dump());
        end_value(delta);
    } else {
        end_value(delta);
    }
}

} // namespace ggufx::cli
