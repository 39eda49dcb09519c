// Conversion of messages to a template's forms: see history.hpp.
// SPDX-License-Identifier: MIT
#include "chat/history.hpp"

#include "chat/call_writer.hpp"
#include "chat/json.hpp"

namespace ggufx::chat {

namespace {

void put_member(Meter &meter, Dict *dict, std::string_view key, const Value &value) {
    assign(meter, dict, Value::of(borrow_text(meter, key, true)), value);
}

Value user_text(Meter &meter, std::string_view kept) {
    return Value::of(borrow_text(meter, kept, true));
}

Value user_dict(Meter &meter) {
    Dict *const dict = make_dict(meter);
    dict->user = true;
    return Value::of(dict);
}

Value user_list(Meter &meter) {
    List *const list = make_list(meter);
    list->user = true;
    return Value::of(list);
}

// A member of a dict, or nullptr if it is absent or null.
const Value *member(Meter &meter, const Value &of, std::string_view key) {
    if (!of.is(Kind::dict)) return nullptr;
    const Value *const found = lookup(meter, *of.dict, key);
    return found && !found->is(Kind::none) ? found : nullptr;
}

const Text *text_member(Meter &meter, const Value &of, std::string_view key) {
    const Value *const found = member(meter, of, key);
    return found && found->is(Kind::string) ? found->text : nullptr;
}

// The function of a call or a tool, or nullptr.
Dict *function_of(Meter &meter, const Value &of) {
    const Value *const found = member(meter, of, "function");
    return found && found->is(Kind::dict) ? found->dict : nullptr;
}

const List *calls_of(Meter &meter, const Value &message) {
    const Value *const calls = member(meter, message, "tool_calls");
    return calls && calls->is(Kind::list) && calls->list->size > 0 ? calls->list : nullptr;
}

class Fitter {
public:
    Fitter(Meter &meter, const Forms &forms, const CallFormat *format, bool names)
        : meter_(meter), forms_(forms), format_(format), names_(names) {}

    void fit(const Value &message, size_t index) {
        if (!message.is(Kind::dict)) return;
        const List *calls = calls_of(meter_, message);
        const size_t n_calls = calls ? calls->size : 0;
        if (calls && loses_calls(message)) {
            write_calls(message, *calls, index);
            calls = nullptr;
        } else if (calls) {
            for (size_t i = 0; i < calls->size; i++) fit_call(calls->items[i], index, i);
        } else if (forms_.has(Forms::no_empty_calls)) {
            remove(meter_, message.dict, user_text(meter_, "tool_calls"));
        }
        n_calls_ += n_calls;
        fit_content(message, calls != nullptr);
        if (names_) name_reasoning(message);
    }

private:
    bool has_text(const Value &message) {
        const Value *const content = member(meter_, message, "content");
        if (!content) return false;
        return content->is(Kind::list) ? content->list->size > 0
                                       : content->is(Kind::string) && content->text->size > 0;
    }

    // A message whose calls are written into its content.
    bool loses_calls(const Value &message) {
        const Text *const role = text_member(meter_, message, "role");
        if (!role || role->view() != "assistant") return false;
        if (!format_ || format_->shape == CallShape::none) return false;
        return forms_.has(Forms::no_calls) ||
               (forms_.has(Forms::calls_or_text) && has_text(message));
    }

    void write_calls(const Value &message, const List &calls, size_t index) {
        const Value *const content = member(meter_, message, "content");
        TextBuilder out(meter_);
        std::string_view before;
        if (content && content->is(Kind::string)) {
            out.add(*content->text);
            before = content->text->view();
        }
        const bool line_begins = content && content->is(Kind::list)
                                     ? content->list->size == 0
                                     : before.empty() || before.ends_with('\n');
        CallWriter writer(meter_, *format_, out, n_calls_, line_begins);
        for (size_t i = 0; i < calls.size; i++) {
            WrittenCall call;
            if (read_call(calls.items[i], index, i, call)) writer.add(call);
        }
        writer.finish();
        if (content && content->is(Kind::list))
            append(meter_, content->list, part_of(*out.finish()).list->items[0]);
        else
            put_member(meter_, message.dict, "content", Value::of(out.finish()));
        remove(meter_, message.dict, user_text(meter_, "tool_calls"));
    }

    // False for what is no call of a function.
    bool read_call(const Value &call, size_t message, size_t index, WrittenCall &out) {
        Dict *const function = function_of(meter_, call);
        out.name = function ? text_member(meter_, Value::of(function), "name") : nullptr;
        if (!out.name) return false;
        out.id = text_member(meter_, call, "id");
        const Value *const given = lookup(meter_, *function, std::string_view("arguments"));
        if (is_empty(given)) {
            out.object = user_dict(meter_);
            return true;
        }
        if (given->is(Kind::string)) {
            const std::string_view text = trimmed(given->text->view());
            out.object = read_arguments(text, JsonNumbers::as_written);
            if (out.object.is(Kind::dict)) out.arguments = borrow_text(meter_, text, true);
        } else {
            out.object = *given;
        }
        if (out.object.is(Kind::none)) out.object = user_dict(meter_);
        if (!out.object.is(Kind::dict)) refuse_arguments(*given, message, index);
        return true;
    }

    static bool is_empty(const Value *arguments) {
        return !arguments || arguments->is(Kind::none) ||
               (arguments->is(Kind::string) && trimmed(arguments->text->view()).empty());
    }

    void fit_call(const Value &call, size_t message, size_t index) {
        Dict *const function = function_of(meter_, call);
        if (!function) return;
        const Value *const given = lookup(meter_, *function, std::string_view("arguments"));
        if (forms_.has(Forms::text_arguments)) {
            if (is_empty(given) ||
                trimmed(given->is(Kind::string) ? given->text->view() : "") == "null")
                put_member(meter_, function, "arguments", user_text(meter_, "{}"));
            else if (!given->is(Kind::string))
                put_member(meter_, function, "arguments",
                           Value::of(write_json(meter_, *given, {})));
            return;
        }
        if (is_empty(given))
            put_member(meter_, function, "arguments", user_dict(meter_));
        else if (!given->is(Kind::dict))
            put_member(meter_, function, "arguments", object_of(*given, message, index));
    }

    // Converts JSON text to an object. If the template's form is unknown, other text stays
    // unchanged.
    Value object_of(const Value &given, size_t message, size_t index) {
        Value out = given;
        if (given.is(Kind::string)) out = read_arguments(given.text->view(), JsonNumbers::values);
        if (out.is(Kind::none)) return user_dict(meter_);
        if (out.is(Kind::dict) || !forms_.has(Forms::object_arguments))
            return out.is(Kind::dict) ? out : given;
        refuse_arguments(given, message, index);
    }

    // A value that is missing where the text is no JSON.
    Value read_arguments(std::string_view text, JsonNumbers numbers) {
        try {
            return read_json(meter_, text, "arguments", numbers);
        } catch (const Error &e) {
            if (e.failure.status != static_cast<int32_t>(Status::malformed)) throw;
        }
        return Value();
    }

    [[noreturn]] void refuse_arguments(const Value &given, size_t message, size_t index) {
        const Text &shown = given.is(Kind::string) ? *given.text : *write_json(meter_, given, {});
        fail(Status::malformed, {kNone, message},
             "messages[%" PRIu64 "].tool_calls[%" PRIu64
             "].function.arguments is not a JSON object, but %s",
             static_cast<uint64_t>(message), static_cast<uint64_t>(index),
             Quoted(shown.data, shown.size).c_str());
    }

    void name_reasoning(const Value &message) {
        const Text *const reasoning = text_member(meter_, message, "reasoning_content");
        unsigned shift = 0;
        for (const std::string_view name : kReasoningNames) {
            const bool is_read = forms_.has(Forms::reasoning << shift++);
            if (reasoning && is_read && !member(meter_, message, name))
                put_member(meter_, message.dict, name, Value::of(reasoning));
        }
    }

    void fit_content(const Value &message, bool has_calls) {
        const Value *const content = lookup(meter_, *message.dict, std::string_view("content"));
        if (!content || content->is(Kind::none)) {
            if (has_calls && forms_.has(Forms::empty_content))
                put_member(meter_, message.dict, "content", user_text(meter_, ""));
            else if (has_calls && forms_.has(Forms::null_content))
                put_member(meter_, message.dict, "content", Value::none(true));
            return;
        }
        if (has_calls && forms_.has(Forms::null_for_calls) && !has_text(message)) {
            put_member(meter_, message.dict, "content", Value::none(true));
            return;
        }
        const Text *const role = text_member(meter_, message, "role");
        const Role of = role ? role_from(role->view()) : Role::none;
        if (of == Role::none) return;
        const bool takes_text = forms_.has(Forms::text, of),
                   takes_parts = forms_.has(Forms::parts, of);
        if (content->is(Kind::list) && takes_text && !takes_parts)
            join_parts(message.dict, *content->list);
        if (content->is(Kind::string) && takes_parts && !takes_text && content->text->size > 0)
            put_member(meter_, message.dict, "content", part_of(*content->text));
    }

    // Joins text parts; a list with other parts stays unchanged.
    void join_parts(Dict *message, const List &parts) {
        TextBuilder out(meter_);
        for (size_t i = 0; i < parts.size; i++) {
            const Text *const type = text_member(meter_, parts.items[i], "type");
            const Text *const text = text_member(meter_, parts.items[i], "text");
            if (!text || !type || type->view() != "text") return;
            out.add(*text);
        }
        put_member(meter_, message, "content",
                   parts.size > 0 ? Value::of(out.finish()) : user_text(meter_, ""));
    }

    Value part_of(const Text &text) {
        const Value out = user_list(meter_), part = user_dict(meter_);
        put_member(meter_, part.dict, "type", user_text(meter_, "text"));
        put_member(meter_, part.dict, "text", Value::of(&text));
        append(meter_, out.list, part);
        return out;
    }

    Meter &meter_;
    const Forms &forms_;
    const CallFormat *format_; // null: not known
    bool names_;
    size_t n_calls_ = 0; // calls of earlier messages
};

// ---- later attempts ----

// Ids in the form that the strictest templates require: nine letters and digits.
constexpr size_t kIdLength = 9;
bool is_plain_id(std::string_view id) {
    if (id.size() != kIdLength) return false;
    for (const char c : id)
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            return false;
    return true;
}

class Completer {
public:
    explicit Completer(Meter &meter) : meter_(meter) {}

    void message(const Value &message) {
        if (!message.is(Kind::dict)) return;
        has_changed_ = has_changed_ || member(meter_, message, "reasoning_content");
        if (!calls_of(meter_, message) && !member(meter_, message, "content"))
            set(message.dict, "content", user_text(meter_, ""));
        if (const List *const calls = calls_of(meter_, message)) {
            calls_ = calls;
            n_before_ += n_calls_;
            n_calls_ = calls->size;
            n_results_ = 0;
            indices_ = make_dict(meter_);
            for (size_t i = 0; i < calls->size; i++) name_call(calls->items[i], i);
        }
        const Text *const role = text_member(meter_, message, "role");
        if (role && role->view() == "tool") name_result(message.dict);
    }

    void tool(const Value &tool) {
        Dict *const function = function_of(meter_, tool);
        if (!function) return;
        const Value of = Value::of(function);
        if (!member(meter_, of, "description")) set(function, "description", user_text(meter_, ""));
        if (!member(meter_, of, "parameters")) set(function, "parameters", user_dict(meter_));
        const Value *const parameters = member(meter_, of, "parameters");
        if (!parameters->is(Kind::dict)) return;
        if (!member(meter_, *parameters, "type"))
            set(parameters->dict, "type", user_text(meter_, "object"));
        schema(*parameters, 0);
    }

    bool has_changed() const { return has_changed_; }

private:
    void set(Dict *dict, std::string_view key, const Value &value) {
        put_member(meter_, dict, key, value);
        has_changed_ = true;
    }

    void name_call(const Value &call, size_t index) {
        const Text *const id = text_member(meter_, call, "id");
        if (id) assign(meter_, indices_, Value::of(id), Value::of(static_cast<int64_t>(index)));
        if (!call.is(Kind::dict) || (id && is_plain_id(id->view()))) return;
        char text[32];
        const size_t n = print_text(text, sizeof text, "call%05" PRIu64,
                                    static_cast<uint64_t>(n_before_ + index + 1));
        set(call.dict, "id", text_value(meter_, {text, n}, true));
    }

    // Completes the result of the call that it names, or of the next call.
    void name_result(Dict *message) {
        if (!calls_) return;
        const Value of = Value::of(message);
        const Text *const id = text_member(meter_, of, "tool_call_id");
        const Value *const named = id ? lookup(meter_, *indices_, Value::of(id)) : nullptr;
        const size_t at = named ? static_cast<size_t>(named->integer) : n_results_;
        n_results_++;
        if (at >= calls_->size) return;
        const Text *const now = text_member(meter_, calls_->items[at], "id");
        if (now && !(id && id->view() == now->view())) set(message, "tool_call_id", Value::of(now));
        Dict *const function = function_of(meter_, calls_->items[at]);
        const Text *const name =
            function ? text_member(meter_, Value::of(function), "name") : nullptr;
        if (name && !member(meter_, of, "name")) set(message, "name", Value::of(name));
    }

    // Completes members of a JSON Schema that templates read: a single type, descriptions, nested
    // schemas.
    void schema(const Value &value, unsigned depth) {
        if (!value.is(Kind::dict) || depth >= kDeepest) return;
        meter_.charge(1);
        if (const Value *const type = member(meter_, value, "type"); type && type->is(Kind::list))
            set(value.dict, "type", first_type(*type->list));
        const Value *const type = member(meter_, value, "type");
        const bool is_object = type && type->is(Kind::string) && type->text->view() == "object";
        if (is_object && !member(meter_, value, "properties")) {
            if (!lookup(meter_, *value.dict, std::string_view("additionalProperties")))
                set(value.dict, "additionalProperties", user_dict(meter_));
            set(value.dict, "properties", user_dict(meter_));
        }
        if (const Value *const items = member(meter_, value, "items")) schema(*items, depth + 1);
        const Value *const properties = member(meter_, value, "properties");
        if (!properties || !properties->is(Kind::dict)) return;
        for (size_t i = 0; i < properties->dict->size; i++) {
            Value &property = properties->dict->entries[i]->value;
            if (!property.is(Kind::dict)) { // true: any value
                property = user_dict(meter_);
                has_changed_ = true;
            }
            if (!member(meter_, property, "description"))
                set(property.dict, "description", user_text(meter_, ""));
            schema(property, depth + 1);
        }
    }

    Value first_type(const List &types) {
        for (size_t i = 0; i < types.size; i++) {
            const Value &one = types.items[i];
            if (one.is(Kind::string) && one.text->view() != "null") return one;
        }
        return user_text(meter_, "null");
    }

    Meter &meter_;
    const List *calls_ = nullptr; // latest message with calls
    Dict *indices_ = nullptr;     // index of a call by its original id
    size_t n_before_ = 0, n_calls_ = 0, n_results_ = 0;
    bool has_changed_ = false;
};

} // namespace

void fit_messages(Meter &meter, List *messages, const Forms &forms, const CallFormat *calls,
                  Attempt attempt) {
    Fitter fitter(meter, forms, calls, attempt == Attempt::given);
    for (size_t i = 0; i < messages->size; i++) fitter.fit(messages->items[i], i);
}

// Merges the system messages at the start of a conversation: some templates refuse a second one.
static bool merge_systems(Meter &meter, List *messages) {
    TextBuilder all(meter);
    size_t n = 0;
    for (; n < messages->size; n++) {
        const Text *const role = text_member(meter, messages->items[n], "role");
        const Text *const content = text_member(meter, messages->items[n], "content");
        if (!role || !content || role->view() != "system") break;
        if (n > 0) all.add("\n\n", true);
        all.add(*content);
    }
    if (n < 2) return false;
    put_member(meter, messages->items[0].dict, "content", Value::of(all.finish()));
    for (size_t i = n; i < messages->size; i++) messages->items[i - n + 1] = messages->items[i];
    messages->size -= n - 1;
    return true;
}

namespace {

// Splits a message with several calls into one message per call, each before the call's result.
class Splitter {
public:
    explicit Splitter(Meter &meter) : meter_(meter), out_(make_list(meter)) {}

    bool split(List *messages) {
        for (size_t i = 0; i < messages->size; i++) {
            const Value &message = messages->items[i];
            const List *const calls = calls_of(meter_, message);
            append(meter_, out_, message);
            if (!calls || calls->size < 2) continue;
            i = split_message(*messages, i, *calls);
            has_changed_ = true;
        }
        const bool user = messages->user;
        *messages = *out_;
        messages->user = user;
        return has_changed_;
    }

private:
    // Assumes that results are in the order of the calls. Returns the index of the last result.
    size_t split_message(const List &messages, size_t at, const List &calls) {
        put_member(meter_, messages.items[at].dict, "tool_calls", list_of(calls.items[0]));
        for (size_t k = 0; k < calls.size; k++) {
            if (k > 0) append(meter_, out_, message_of(calls.items[k]));
            if (at + 1 < messages.size && is_result(messages.items[at + 1]))
                append(meter_, out_, messages.items[++at]);
        }
        return at;
    }

    bool is_result(const Value &message) {
        const Text *const role = text_member(meter_, message, "role");
        return role && role->view() == "tool";
    }

    Value list_of(const Value &call) {
        const Value out = user_list(meter_);
        append(meter_, out.list, call);
        return out;
    }

    Value message_of(const Value &call) {
        const Value out = user_dict(meter_);
        const Value role = Value::of(borrow_text(meter_, std::string_view("assistant"), false));
        put_member(meter_, out.dict, "role", role);
        put_member(meter_, out.dict, "content", user_text(meter_, ""));
        put_member(meter_, out.dict, "tool_calls", list_of(call));
        return out;
    }

    Meter &meter_;
    List *out_;
    bool has_changed_ = false;
};

} // namespace

bool complete_messages(Meter &meter, List *messages, Attempt attempt) {
    const bool has_merged = merge_systems(meter, messages);
    Completer completer(meter);
    for (size_t i = 0; i < messages->size; i++) completer.message(messages->items[i]);
    if (attempt == Attempt::single) return Splitter(meter).split(messages);
    return completer.has_changed() || has_merged;
}

void complete_tools(Meter &meter, const Value &tools) {
    Completer completer(meter);
    for (size_t i = 0; tools.is(Kind::list) && i < tools.list->size; i++)
        completer.tool(tools.list->items[i]);
}

const Text *functions_text(Meter &meter, const Value &tools) {
    constexpr std::string_view kIndent = "    ";
    const Value functions = user_list(meter);
    for (size_t i = 0; tools.is(Kind::list) && i < tools.list->size; i++)
        if (Dict *const function = function_of(meter, tools.list->items[i]))
            append(meter, functions.list, Value::of(function));
    JsonStyle style;
    style.indent = borrow_text(meter, kIndent, true);
    return write_json(meter, functions, style);
}

} // namespace ggufx::chat
