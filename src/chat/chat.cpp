// Converts a request into variables of a template: see chat.hpp.
// SPDX-License-Identifier: MIT
#include "chat/chat.hpp"

#include "base/fpenv.hpp"
#include "base/utf8.hpp"
#include "chat/json.hpp"

namespace ggufx::chat {

namespace {

// Limits grow with the input, so that the time is linear in it. A template needs some hundred steps
// per message.
constexpr uint64_t kSteps = 1000000, kStepsPerByte = 128;
constexpr uint64_t kMemory = 32 << 20, kMemoryPerByte = 64;
constexpr uint64_t kOutput = 32 << 20, kOutputPerByte = 16;
constexpr uint64_t kMessageBytes = 64; // per message without text

Limits compile_limits(size_t bytes) {
    return {1000 + 64 * uint64_t{bytes}, (1 << 20) + 256 * uint64_t{bytes}, 0};
}

uint64_t size_of(const Request &request, size_t source) {
    uint64_t n = source + request.messages_json.size() + request.tools.size() +
                 request.documents.size() + request.variables.size();
    for (size_t i = 0; i < request.n_messages; i++) {
        const Message &m = request.messages[i];
        n += kMessageBytes + m.role.size() + m.content.size() + m.parts.size() +
             m.tool_calls.size() + m.more.size();
    }
    return n;
}

Limits limits_of(const Request &request, size_t source) {
    const uint64_t n = size_of(request, source);
    const Limits &given = request.limits;
    return {given.steps ? given.steps : kSteps + n * kStepsPerByte,
            given.memory_bytes ? given.memory_bytes : kMemory + n * kMemoryPerByte,
            given.output_bytes ? given.output_bytes : kOutput + n * kOutputPerByte};
}

const Text *checked_text(Meter &meter, std::string_view text, size_t message, const char *what) {
    meter.charge_bytes(text.size());
    const size_t bad = first_invalid(text);
    if (bad < text.size()) {
        fail(Status::malformed, {bad, message},
             "%s of message %" PRIu64 " has a byte that is not valid UTF-8 at %" PRIu64, what,
             static_cast<uint64_t>(message), static_cast<uint64_t>(bad));
    }
    return borrow_text(meter, text, true); // the caller's bytes outlive the rendering
}

void put(Meter &meter, Dict *dict, std::string_view key, const Value &value) {
    assign(meter, dict, Value::of(borrow_text(meter, key, false)), value);
}

// Variables with special tokens: their text counts as the template's own.
bool is_special(std::string_view name) {
    static constexpr std::string_view names[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                                 "sep_token", "cls_token", "mask_token"};
    for (const std::string_view special : names)
        if (name == special) return true;
    return false;
}

[[noreturn]] void refuse_kind(const char *what, const char *wanted, const Value &value, At at) {
    fail(Status::value, at, "%s: JSON of type %s, %s is wanted", what, type_name(value), wanted);
}

// Templates build special tokens from roles, "<|" + role + "|>": the usual role names count as the
// template's text. All other roles keep the user as origin.
bool is_role(std::string_view name) {
    static constexpr std::string_view names[] = {"system",    "user",     "assistant", "tool",
                                                 "developer", "function", "model",     "ipython"};
    for (const std::string_view role : names)
        if (name == role) return true;
    return false;
}

void own_role(Meter &meter, const Value &message) {
    if (!message.is(Kind::dict)) return;
    const Value *const role = lookup(meter, *message.dict, std::string_view("role"));
    if (role && role->is(Kind::string) && is_role(role->text->view()))
        put(meter, message.dict, "role", Value::of(borrow_text(meter, role->text->view(), false)));
}

class SourceReader {
public:
    SourceReader(Meter &meter, const Request &request) : meter_(meter), request_(request) {}

    Value messages() {
        if (!request_.messages_json.empty()) {
            const Value all = read_json(meter_, request_.messages_json, "messages");
            if (!all.is(Kind::list)) refuse_kind("messages", "an array", all, {0});
            for (size_t i = 0; i < all.list->size; i++) own_role(meter_, all.list->items[i]);
            return all;
        }
        List *const list = make_list(meter_, request_.n_messages);
        list->user = true;
        for (size_t i = 0; i < request_.n_messages; i++)
            append(meter_, list, message(request_.messages[i], i));
        for (size_t i = 0; i < list->size; i++) own_role(meter_, list->items[i]);
        return Value::of(list);
    }

private:
    Value part(std::string_view json, size_t index, const char *what) {
        try {
            const Value list = read_json(meter_, json, what);
            if (!list.is(Kind::list)) refuse_kind(what, "an array", list, {0, index});
            return list;
        } catch (Error &e) {
            e.failure.index = index;
            throw;
        }
    }

    Value message(const Message &m, size_t index) {
        Dict *const dict = make_dict(meter_);
        dict->user = true;
        put(meter_, dict, "role", Value::of(checked_text(meter_, m.role, index, "role")));
        if (!m.parts.empty())
            put(meter_, dict, "content", part(m.parts, index, "parts of a message"));
        else if (m.has_content)
            put(meter_, dict, "content",
                Value::of(checked_text(meter_, m.content, index, "content")));
        else
            put(meter_, dict, "content", Value::none(true));
        if (!m.tool_calls.empty())
            put(meter_, dict, "tool_calls", part(m.tool_calls, index, "tool calls"));
        if (m.more.empty()) return Value::of(dict);
        const Value more = read_json(meter_, m.more, "members of a message");
        if (!more.is(Kind::dict))
            refuse_kind("members of a message", "an object", more, {0, index});
        for (size_t i = 0; i < more.dict->size; i++)
            assign(meter_, dict, more.dict->entries[i]->key, more.dict->entries[i]->value);
        return Value::of(dict);
    }

    Meter &meter_;
    const Request &request_;
};

void set_variables(TemplateMachine &machine, Meter &meter, std::string_view json) {
    const Value all = read_json(meter, json, "variables");
    if (!all.is(Kind::dict)) refuse_kind("variables", "an object", all, {0});
    for (size_t i = 0; i < all.dict->size; i++) {
        const Entry &entry = *all.dict->entries[i];
        const std::string_view name = entry.key.text->view();
        const bool special = is_special(name) && entry.value.is(Kind::string);
        machine.set(name, special ? Value::of(borrow_text(meter, entry.value.text->view(), false))
                                  : entry.value);
    }
}

} // namespace

Template::Template(const Ref<Host> &host, std::string_view source, std::string_view bos,
                   std::string_view eos)
    : program_(host, compile_limits(source.size() + bos.size() + eos.size())) {
    const CanonicalFp fp;
    compile(program_, source);
    const auto keep = [&](std::string_view text) -> const Text * {
        if (text.empty() || first_invalid(text) < text.size()) return nullptr;
        const Text *const kept = make_text(program_.meter, text, false);
        (void)count_chars(program_.meter, *kept);
        return kept;
    };
    bos_ = keep(bos);
    eos_ = keep(eos);
}

void Template::literals(Vector<std::string_view> &out) const {
    for (const Instruction &in : program_.code) {
        if (in.op != Op::text && in.op != Op::constant) continue;
        const Value &value = program_.constants[in.index];
        if (value.is(Kind::string)) out.push_back(value.text->view());
    }
    for (const Text *const text : {bos_, eos_})
        if (text) out.push_back(text->view());
}

bool Template::reads(std::string_view variable) const {
    for (const Text *const name : program_.variables)
        if (name->view() == variable) return true;
    return false;
}

Forms Template::forms(const Progress &progress) const {
    Forms out = {forms_.load(std::memory_order_relaxed)};
    if (out.has(Forms::known)) return out;
    out = find_forms(program_, bos_, eos_, progress);
    forms_.store(out.bits, std::memory_order_relaxed);
    return out;
}

// A message to be continued gets an end mark, which templates do not change. The text from the mark
// on is removed.
constexpr std::string_view kEndMark = "\uE000ggufx-end\uE000";

// An empty message of the assistant in place of the last one.
static void empty_last(Meter &meter, List *messages) {
    if (messages->size == 0) return;
    Dict *const message = make_dict(meter);
    put(meter, message, "role", text_value(meter, "assistant"));
    put(meter, message, "content", text_value(meter, ""));
    messages->items[messages->size - 1] = Value::of(message);
}

static void mark_end(Meter &meter, List *messages) {
    const Value *const last = messages->size > 0 ? &messages->items[messages->size - 1] : nullptr;
    if (!last || !last->is(Kind::dict))
        fail(Status::argument, {}, "there is no message to be continued");
    const Text *const mark = borrow_text(meter, kEndMark, true);
    const auto text = [&](std::string_view name) -> const Text * {
        const Value *const value = lookup(meter, *last->dict, name);
        return value && value->is(Kind::string) ? value->text : nullptr;
    };
    const Value *const content = lookup(meter, *last->dict, std::string_view("content"));
    if (content && content->is(Kind::list)) {
        List *const parts = content->list;
        Value *const part = parts->size > 0 ? &parts->items[parts->size - 1] : nullptr;
        const Value *const of = part && part->is(Kind::dict)
                                    ? lookup(meter, *part->dict, std::string_view("text"))
                                    : nullptr;
        if (!of || !of->is(Kind::string))
            fail(Status::argument, {kNone, messages->size - 1},
                 "the message to be continued does not end with text");
        return put(meter, part->dict, "text", Value::of(join(meter, *of->text, *mark)));
    }
    const Text *const own = text("content"), *const reasoning = text("reasoning_content");
    if ((!own || own->size == 0) && reasoning && reasoning->size > 0)
        return put(meter, last->dict, "reasoning_content",
                   Value::of(join(meter, *reasoning, *mark)));
    put(meter, last->dict, "content", Value::of(own ? join(meter, *own, *mark) : mark));
}

static void cut_at_mark(Output &out) {
    const std::string_view text(out.text.data(), out.text.size());
    const size_t at = text.rfind(kEndMark);
    if (at == text.npos)
        fail(Status::unsupported, {},
             "the template does not write the text of the last message, which must be continued");
    out.text.resize(at);
    while (!out.runs.empty()) {
        const size_t begin = out.runs.size() > 1 ? out.runs[out.runs.size() - 2].end : 0;
        if (begin < at) break;
        out.runs.pop_back();
    }
    if (!out.runs.empty()) out.runs.back().end = at;
}

// Errors that another attempt may avoid.
static bool may_be_form(const Error &e) {
    const auto status = static_cast<Status>(e.failure.status);
    return status == Status::value || status == Status::mismatch || status == Status::limit;
}

void Template::render(Output &out, const Request &request) const {
    const CanonicalFp fp;
    Error first;
    for (const Attempt attempt : {Attempt::given, Attempt::complete, Attempt::single}) {
        out.text.clear();
        out.runs.clear();
        try {
            if (render_once(out, request, attempt)) return;
        } catch (const Error &e) {
            const auto status = static_cast<Status>(e.failure.status);
            const bool is_fault = attempt == Attempt::given && !may_be_form(e);
            if (is_fault || status == Status::memory || status == Status::cancelled) throw;
            if (attempt == Attempt::given) first = e;
            if (status == Status::unsupported) throw;
        }
    }
    throw first; // the first error refers to the caller's own form
}

bool Template::render_once(Output &out, const Request &request, Attempt attempt) const {
    const bool completes = attempt != Attempt::given;
    Meter meter(program_.host.get(), limits_of(request, program_.source.size()), request.progress);
    TemplateMachine machine(program_, meter, out);
    const Value messages = SourceReader(meter, request).messages();
    if (request.empties) empty_last(meter, messages.list);
    if (request.continues) mark_end(meter, messages.list);
    bool has_changed = false;
    if (messages.list->size > 0) {
        fit_messages(meter, messages.list, forms(request.progress), request.calls, attempt);
        if (completes) has_changed = complete_messages(meter, messages.list, attempt);
    }
    machine.set("messages", messages);
    if (request.has_clock) machine.set_clock(request.clock);
    Value tools;
    if (!request.tools.empty()) {
        tools = read_json(meter, request.tools, "tools");
        if (completes) complete_tools(meter, tools);
        machine.set("tools", tools);
        has_changed = has_changed || attempt == Attempt::complete;
    }
    if (completes && machine.complete(tools) && attempt == Attempt::complete) has_changed = true;
    if (completes && !has_changed) return false;
    if (!request.documents.empty())
        machine.set("documents", read_json(meter, request.documents, "documents"));
    machine.set("add_generation_prompt", Value::of(request.add_generation_prompt));
    if (request.enable_thinking >= 0)
        machine.set("enable_thinking", Value::of(request.enable_thinking != 0));
    if (!request.reasoning_effort.empty())
        machine.set("reasoning_effort", Value::of(checked_text(meter, request.reasoning_effort, 0,
                                                               "reasoning_effort")));
    if (bos_) machine.set("bos_token", Value::of(bos_));
    if (eos_) machine.set("eos_token", Value::of(eos_));
    if (!request.variables.empty()) set_variables(machine, meter, request.variables);
    machine.run();
    if (request.continues) cut_at_mark(out);
    return true;
}

} // namespace ggufx::chat
