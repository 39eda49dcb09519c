// SPDX-License-Identifier: MIT
#include "serve/call_plan.hpp"

#include <algorithm>

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

// Resolves $ref within the schema of the arguments.
const Json *resolve(const Json &root, const Json *schema) {
    for (unsigned depth = 0; schema && depth < 16; depth++) {
        const Json *const reference = schema->is_object() ? schema->find("$ref") : nullptr;
        if (!reference || !reference->text() || !reference->text()->starts_with("#")) return schema;
        const Json *at = &root;
        std::string_view path = std::string_view(*reference->text()).substr(1);
        while (at && !path.empty()) {
            path.remove_prefix(1);
            const std::string key(path.substr(0, path.find('/')));
            path.remove_prefix(key.size());
            at = at->is_object() ? at->find(key) : nullptr;
        }
        schema = at;
    }
    return nullptr;
}

// Returns true if every value that the schema accepts is a string; stores allowed values and
// maximum length.
bool only_strings(const Json &root, const Json *given, CallPlan::Parameter &out) {
    const Json *const schema = resolve(root, given);
    if (!schema || !schema->is_object()) return false;
    if (const Json *const values = schema->find("enum")) {
        if (!values->is_array()) return false;
        for (size_t i = 0; i < values->size(); i++) {
            const std::string *const text = values->elements()[i].text();
            if (!text) return false;
            out.texts.push_back(*text);
        }
        return !out.texts.empty();
    }
    if (const Json *const value = schema->find("const")) {
        if (!value->text()) return false;
        out.texts.push_back(*value->text());
        return true;
    }
    const Json *const most = schema->find("maxLength");
    if (most) out.max_length = most->whole().value_or(UINT64_MAX);
    const Json *const type = schema->find("type");
    return type && type->text() && *type->text() == "string";
}

CallPlan::Parameter plan_parameter(const ModelHost &host, const CallSyntax &syntax,
                                   const Json &root, const std::string &key, const Json &schema) {
    CallPlan::Parameter out;
    out.key = key;
    out.is_string = !syntax.string_end.empty() && only_strings(root, &schema, out);
    if (out.is_string) return out;
    out.texts.clear();
    Json own = schema.is_object() ? schema : Json::object();
    for (const char *const name : {"$defs", "definitions"})
        if (const Json *const definitions = root.find(name)) own[name] = *definitions;
    out.grammar =
        host.grammar_of(GGUFX_GRAMMAR_JSON_SCHEMA, own.dump(), "tools", syntax.grammar_flags);
    return out;
}

// Adds the properties of a schema and of its allOf members, and those of the first anyOf or oneOf
// alternative.
void add_parameters(const ModelHost &host, const CallSyntax &syntax, const Json &root,
                    const Json *given, CallPlan::Function &out, unsigned depth) {
    const Json *const schema = resolve(root, given);
    if (!schema || !schema->is_object() || depth > 8) return;
    const Json *const properties = schema->find("properties");
    for (size_t i = 0; properties && properties->is_object() && i < properties->size(); i++) {
        const std::string &key = properties->keys()[i];
        const auto same = [&](const CallPlan::Parameter &other) { return other.key == key; };
        if (std::none_of(out.parameters.begin(), out.parameters.end(), same))
            out.parameters.push_back(
                plan_parameter(host, syntax, root, key, properties->elements()[i]));
    }
    const Json *const all = schema->find("allOf");
    for (size_t i = 0; all && all->is_array() && i < all->size(); i++)
        add_parameters(host, syntax, root, &all->elements()[i], out, depth + 1);
    for (const char *const key : {"anyOf", "oneOf"})
        if (const Json *const any = schema->find(key); any && any->is_array() && any->size() > 0)
            add_parameters(host, syntax, root, &any->elements()[0], out, depth + 1);
    const Json *const required = schema->find("required");
    for (size_t i = 0; required && required->is_array() && i < required->size(); i++)
        for (CallPlan::Parameter &parameter : out.parameters)
            if (required->elements()[i].text() && *required->elements()[i].text() == parameter.key)
                parameter.is_required = true;
}

} // namespace

// A schema that cannot become a grammar refuses the request if the request names that function.
// Otherwise the function accepts any arguments.
static void plan_function(const ModelHost &host, const CallSyntax &syntax, const Callable &function,
                          CallPlan::Function &out) {
    const auto plan = [&](const std::string &schema) {
        if (syntax.is_object) {
            out.arguments =
                host.grammar_of(GGUFX_GRAMMAR_JSON_SCHEMA, schema, "tools", syntax.grammar_flags);
            return;
        }
        const Json root = Json::parse(schema, "tools");
        add_parameters(host, syntax, root, &root, out, 0);
    };
    try {
        plan(function.schema);
    } catch (const ApiError &) {
        if (function.is_named) throw;
        out.parameters.clear();
        plan(R"({"type":"object"})");
    }
}

std::shared_ptr<const CallPlan>
plan_call(const ModelHost &host, const std::vector<Callable> &functions, uint32_t grammar_flags) {
    auto out = std::make_shared<CallPlan>();
    out->id = random_name(9);
    out->syntax = call_syntax(host.chat_facts(), out->id);
    out->syntax.grammar_flags = grammar_flags;
    for (const Callable &function : functions) {
        CallPlan::Function &one = out->functions.emplace_back();
        one.name = function.name;
        plan_function(host, out->syntax, function, one);
    }
    return out;
}

// ---- writing ----

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
        matcher_ = make_matcher(function_->arguments.get());
        stage_ = Stage::object;
        return;
    }
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
    for (const CallPlan::Parameter &parameter : function_->parameters) {
        if (std::find(written_.begin(), written_.end(), &parameter) != written_.end()) continue;
        can_end = can_end && !parameter.is_required;
        Ids ids = marker_ids(host_, (written_.empty() ? "" : syntax.separator) + syntax.before_key);
        append(ids, text_ids(host_, parameter.key));
        append(ids, marker_ids(host_, parameter.is_string ? syntax.after_key + syntax.string_open
                                                          : syntax.after_key_other));
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
    put(delta, (written_.empty() ? "" : ", ") + Json(parameter_->key).dump() + ": ");
    written_.push_back(parameter_);
    choice_.clear();
    text_.clear();
    n_chars_ = n_wanted_ = 0;
    if (!parameter_->is_string) {
        matcher_ = make_matcher(parameter_->grammar.get());
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
    for (const std::string &text : parameter_->texts) {
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
        put(delta, Json(parameter_->texts[*chosen]).dump());
        end_value(delta);
    } else {
        end_value(delta);
    }
}

} // namespace ggufx::cli
