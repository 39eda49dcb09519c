// The stream of a model's output: see output.hpp. Each byte is looked at a bounded number of times,
// and what may become a mark is held until it is known. Long, as the states of one machine are in it.
// SPDX-License-Identifier: MIT
#include "chat/output.hpp"

#include "base/fpenv.hpp"
#include "chat/json.hpp"

#include <string.h>

namespace ggufx::chat {

namespace {

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

// Bytes of the character that begins so: as many as there are when it is whole, more when it is
// not, 0 when no character does.
size_t wanted_bytes(std::string_view begun) {
    if (first_invalid(begun) == begun.size()) return begun.size();
    char whole[4];
    memcpy(whole, begun.data(), begun.size());
    for (size_t n = begun.size() + 1; n <= 4; n++) { // the least or the largest that may follow
        for (const unsigned tail : {0x80u, 0x9fu, 0xa0u, 0xbfu}) {
            memset(whole + begun.size(), 0x80, n - begun.size());
            whole[begun.size()] = static_cast<char>(tail);
            if (first_invalid({whole, n}) == n) return n;
        }
    }
    return 0;
}

struct Thinking {
    uint32_t style;
    std::string_view open, close;
};
constexpr Thinking kThinking[] = {
    {style::think, "<think>", "</think>"},
    {style::bracket, "[THINK]", "[/THINK]"},
    {style::gemma, "<|channel>thought", "<channel|>"},
};

// Whether the last mark of a pair in the text opens it.
bool left_open(std::string_view text, const Thinking &marks) {
    const size_t open = text.rfind(marks.open), close = text.rfind(marks.close);
    if (open == text.npos || (close != text.npos && close > open)) return false;
    const std::string_view behind = text.substr(open + marks.open.size());
    for (const char c : behind)
        if (!is_json_space(c)) return false;
    return true;
}

} // namespace

uint32_t styles_of(std::string_view source) {
    uint32_t out = 0;
    const auto add = [&](bool found, uint32_t which) { out |= found ? which : 0; };
    const bool harmony = has(source, "<|channel|>") && has(source, "<|message|>");
    add(has(source, "<think>") || has(source, "</think>"), style::think);
    add(has(source, "[THINK]"), style::bracket);
    add(has(source, "<|channel>"), style::gemma);
    add(harmony, style::harmony);
    const bool calls = has(source, "<tool_call>"), functions = has(source, "<function=");
    add(calls && !functions && !has(source, "<arg_key>"), style::hermes);
    add(functions, style::xml);
    add(has(source, "[TOOL_CALLS]"), style::mistral);
    const bool llama = has(source, "<|start_header_id|>") && has(source, "ipython");
    add(has(source, "<|python_tag|>") || llama, style::llama3);
    return out;
}

void add_marks(Vector<std::string_view> &out, uint32_t styles) {
    static constexpr struct {
        uint32_t styles;
        std::string_view mark;
    } kMarks[] = {
        {style::think, "<think>"},
        {style::think, "</think>"},
        {style::bracket, "[THINK]"},
        {style::bracket, "[/THINK]"},
        {style::gemma, "<|channel>"},
        {style::gemma, "<channel|>"},
        {style::harmony, "<|start|>"},
        {style::harmony, "<|channel|>"},
        {style::harmony, "<|message|>"},
        {style::harmony, "<|constrain|>"},
        {style::harmony, "<|end|>"},
        {style::harmony, "<|call|>"},
        {style::harmony, "<|return|>"},
        {style::hermes | style::xml, "<tool_call>"},
        {style::hermes | style::xml, "</tool_call>"},
        {style::xml, "<function="},
        {style::xml, "</function>"},
        {style::xml, "<parameter="},
        {style::xml, "</parameter>"},
        {style::mistral, "[TOOL_CALLS]"},
        {style::mistral, "[CALL_ID]"},
        {style::mistral, "[ARGS]"},
        {style::llama3, "<|python_tag|>"},
    };
    for (const auto &row : kMarks)
        if (row.styles & styles) out.push_back(row.mark);
}

OutputParser::OutputParser(const Ref<Host> &host, uint32_t styles, std::string_view prompt,
                           std::string_view tools, const Sink &sink)
    : host_(host), styles_(styles), sink_(sink), tools_(HostAllocator<char>(host.get())),
      held_(HostAllocator<char>(host.get())), out_(HostAllocator<char>(host.get())) {
    if (!tools.empty()) {
        Meter meter(host.get(), {10000 + 64 * uint64_t{tools.size()},
                                 (1 << 16) + 128 * uint64_t{tools.size()}, 0});
        (void)read_json(meter, tools, "tools");
        tools_.assign(tools.begin(), tools.end());
    }
    for (size_t i = 0; i < sizeof kThinking / sizeof *kThinking; i++) {
        if (!(styles & kThinking[i].style) || !left_open(prompt, kThinking[i])) continue;
        state_ = State::reasoning;
        opened_ = static_cast<uint8_t>(i);
        drop_newlines_ = true;
    }
    // gpt-oss goes on behind "<|start|>assistant"; a body may have been opened, too.
    if (styles & style::harmony) state_ = State::header;
}

// ---- telling ----

void OutputParser::tell(EventKind kind, std::string_view text) {
    if (text.empty()) return;
    const uint64_t call = kind == EventKind::name || kind == EventKind::arguments ? n_calls_ : 0;
    if (sink_.event(sink_.user, static_cast<uint32_t>(kind), call, text.data(), text.size()) != 0)
        fail(Status::cancelled, {}, "the host stopped the output");
}

void OutputParser::flush() {
    const EventKind kind = in_call_                     ? EventKind::arguments
                           : state_ == State::reasoning ? EventKind::reasoning
                                                        : EventKind::answer;
    tell(kind, {out_.data(), out_.size()});
    out_.clear();
}

void OutputParser::newlines() {
    out_.insert(out_.end(), pending_newlines_, '\n');
    pending_newlines_ = 0;
}

// Line breaks beside marks are none of the text: they wait for what comes.
void OutputParser::text(std::string_view s) {
    for (const char c : s) {
        if (c == '\n' && !in_call_) {
            pending_newlines_ += !drop_newlines_;
            continue;
        }
        drop_newlines_ = false;
        newlines();
        out_.push_back(c);
        at_start_ = at_start_ && is_json_space(c);
    }
}

void OutputParser::drop(size_t n) {
    at_ += n;
    seen_ = 0;
    if (at_ < 4096 || at_ < held_.size() / 2) return;
    held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(at_));
    at_ = 0;
}

void OutputParser::plain(size_t n) {
    text(rest().substr(0, n));
    drop(n);
}

// ---- what comes in ----

void OutputParser::feed(std::string_view bytes) {
    if (ended_) fail(Status::state, {}, "the output has ended");
    const CanonicalFp fp; // numbers in arguments
    ended_ = true;        // unless this call gets to its end
    size_t i = 0;
    static const char replacement[] = "\xef\xbf\xbd";
    while (i < bytes.size()) {
        if (n_partial_ == 0) { // whole characters at once
            const std::string_view more = bytes.substr(i);
            const size_t n = first_invalid(more);
            take(more.data(), n);
            i += n;
            if (i == bytes.size()) break;
        }
        partial_[n_partial_++] = bytes[i++];
        const std::string_view begun(partial_, n_partial_);
        const size_t wanted = wanted_bytes(begun);
        if (wanted == n_partial_) {
            take(partial_, n_partial_);
            n_partial_ = 0;
        } else if (wanted == 0) { // no character begins so: its first bytes are one fault
            const bool again = n_partial_ > 1;
            take(replacement, 3);
            n_partial_ = 0;
            i -= again;
        }
    }
    run(false);
    flush();
    ended_ = false;
}

void OutputParser::finish() {
    if (ended_) fail(Status::state, {}, "the output has ended");
    const CanonicalFp fp; // numbers in arguments
    ended_ = true;
    if (n_partial_ > 0) take("\xef\xbf\xbd", 3);
    n_partial_ = 0;
    run(true);
    newlines();
    flush();
}

void OutputParser::take(const char *bytes, size_t n) {
    held_.insert(held_.end(), bytes, bytes + n);
}

void OutputParser::run(bool last) {
    while (at_ < held_.size() && step(last)) {}
}

// One piece of what is held; false: more is needed.
bool OutputParser::step(bool last) {
    switch (state_) {
    case State::answer:
    case State::reasoning:
        return step_text(last);
    case State::object:
        return step_object(last);
    case State::name:
        return step_name(last);
    case State::xml:
        return step_xml(last);
    case State::after:
        return step_after(last);
    case State::header:
        return step_header(last);
    }
    return false;
}

// ---- marks ----

OutputParser::Found OutputParser::match(std::string_view mark, Mark which, bool last) const {
    const std::string_view s = rest();
    if (s.substr(0, mark.size()) == mark) return {which, mark.size(), false};
    const bool begins = !last && s.size() < mark.size() && mark.substr(0, s.size()) == s;
    return {Mark::none, 0, begins};
}

// At the first byte of rest().
OutputParser::Found OutputParser::find_mark(bool last) const {
    bool partial = false;
    Found found = {Mark::none, 0, false};
    const auto look = [&](std::string_view mark, Mark which) {
        const Found here = match(mark, which, last);
        partial = partial || here.partial;
        if (here.length > 0) found = here;
    };
    if (styles_ & style::harmony) {
        look("<|start|>", Mark::harmony_start);
        look("<|channel|>", Mark::harmony_channel);
        look("<|end|>", Mark::harmony_end);
        look("<|call|>", Mark::harmony_end);
        look("<|return|>", Mark::harmony_end);
    } else if (state_ == State::reasoning) {
        look(kThinking[opened_].close, Mark::think_close);
    } else {
        for (const Thinking &marks : kThinking)
            if ((styles_ & marks.style) && at_start_) look(marks.open, Mark::think_open);
        if (styles_ & (style::hermes | style::xml)) look("<tool_call>", Mark::tool_call);
        if (styles_ & style::xml) look("<function=", Mark::function);
        if (styles_ & style::mistral) look("[TOOL_CALLS]", Mark::mistral);
        if (styles_ & style::llama3) look("<|python_tag|>", Mark::python);
        if ((styles_ & style::llama3) && at_start_ && n_calls_ == 0) look("{", Mark::bare);
    }
    if (found.length == 0) found.partial = partial;
    return found;
}

bool OutputParser::step_text(bool last) {
    const std::string_view s = rest();
    size_t n = 0;
    while (n < s.size() && s[n] != '<' && s[n] != '[' && s[n] != '{') n++;
    if (n > 0) return plain(n), true;
    const Found found = find_mark(last);
    if (found.partial) return false;
    if (found.length == 0) return plain(1), true;
    open(found.mark, found.length);
    return true;
}

void OutputParser::open(Mark mark, size_t length) {
    switch (mark) {
    case Mark::think_open:
        newlines();
        flush();
        for (size_t i = 0; i < sizeof kThinking / sizeof *kThinking; i++)
            if (rest().substr(0, kThinking[i].open.size()) == kThinking[i].open &&
                (styles_ & kThinking[i].style))
                opened_ = static_cast<uint8_t>(i);
        state_ = State::reasoning;
        drop_newlines_ = true;
        return drop(length);
    case Mark::think_close:
        pending_newlines_ = 0;
        flush();
        state_ = State::answer;
        at_start_ = true;
        drop_newlines_ = true;
        return drop(length);
    case Mark::tool_call:
        return begin_call(State::object, length);
    case Mark::function:
        return begin_call(State::xml, length);
    case Mark::mistral:
        return begin_call(State::name, length);
    case Mark::python:
        return begin_call(State::object, length);
    case Mark::bare:
        return begin_call(State::object, 0);
    default:
        pending_newlines_ = 0;
        flush();
        if (in_call_) finish_call();
        in_call_ = false;
        drop(mark == Mark::harmony_channel ? 0 : length);
        open_header();
    }
}

// ---- calls ----

// The text from the mark on is held, and told as answer where it turns out to be no call.
void OutputParser::begin_call(State state, size_t length) {
    flush();
    state_ = state;
    mark_length_ = length;
    seen_ = length;
    depth_ = 0;
    in_string_ = escaped_ = begun_ = listed_ = false;
}

// What was held is answer: all that was looked at, so that nothing is looked at twice.
bool OutputParser::give_up(size_t n) {
    state_ = State::answer;
    newlines();
    drop_newlines_ = false;
    at_start_ = false;
    plain(n < rest().size() ? n : rest().size());
    return true;
}

// Goes on to the last bracket of the object that begins at seen_ or behind; each byte is looked at
// once. Gives whether it ended, or cannot be one.
OutputParser::Object OutputParser::walk_object() {
    const std::string_view s = rest();
    for (; seen_ < s.size(); seen_++) {
        const char c = s[seen_];
        if (seen_ >= kLongestCall) return Object::none;
        if (!begun_) {
            if (is_json_space(c)) continue;
            if (c != '{') return Object::none;
            begun_ = true;
        }
        if (in_string_) {
            in_string_ = escaped_ || c != '"';
            escaped_ = !escaped_ && c == '\\';
            continue;
        }
        in_string_ = c == '"';
        depth_ += c == '{' || c == '[';
        if ((c != '}' && c != ']') || --depth_ > 0) continue;
        seen_++;
        return Object::whole;
    }
    return Object::begun;
}

void OutputParser::finish_call() {
    n_calls_++;
    at_start_ = true;
    drop_newlines_ = true;
}

bool OutputParser::finish_object(std::string_view json) {
    CallText call(host_.get());
    if (!read_call(host_.get(), json, call)) return false;
    pending_newlines_ = 0;
    tell(EventKind::name, {call.name.data(), call.name.size()});
    tell(EventKind::arguments, {call.arguments.data(), call.arguments.size()});
    finish_call();
    return true;
}

bool OutputParser::step_object(bool last) {
    const std::string_view s = rest();
    const Object object = walk_object();
    const size_t seen = seen_;
    if (object == Object::whole) {
        if (!finish_object(s.substr(mark_length_, seen - mark_length_))) return give_up(seen);
        drop(seen);
        state_ = State::after;
        return true;
    }
    if (object == Object::begun) return last && give_up(s.size());
    if (begun_) return give_up(seen); // too long
    if ((styles_ & style::xml) && s[seen] == '<' && !listed_) return state_ = State::xml, true;
    return give_up(seen); // what is no object is looked at
}

// Behind [TOOL_CALLS]: an array of objects, or a name and [ARGS].
bool OutputParser::step_name(bool last) {
    const std::string_view s = rest();
    constexpr std::string_view args = "[ARGS]";
    constexpr size_t kLongestName = 1024;
    size_t i = mark_length_;
    while (i < s.size() && i < kLongestName && is_json_space(s[i])) i++;
    if (i < s.size() && s[i] == '[') { // the bracket counts as a part of the mark
        mark_length_ = seen_ = i + 1;
        listed_ = true;
        state_ = State::object;
        return true;
    }
    const size_t at = s.substr(0, kLongestName).find(args, i);
    if (at == s.npos) {
        if (!last && s.size() < kLongestName) return false;
        return give_up(mark_length_);
    }
    if (seen_ < at + args.size()) seen_ = at + args.size();
    const Object object = walk_object();
    if (object == Object::begun) return last && give_up(s.size());
    if (object == Object::none) return give_up(seen_);
    const std::string_view json = trimmed(s.substr(at + args.size(), seen_ - at - args.size()));
    const std::string_view head = s.substr(i, at - i);
    const std::string_view name = trimmed(head.substr(0, head.find("[CALL_ID]")));
    if (name.empty() || !is_json_object(host_.get(), json)) return give_up(seen_);
    pending_newlines_ = 0;
    tell(EventKind::name, name);
    tell(EventKind::arguments, json);
    finish_call();
    drop(seen_);
    state_ = State::answer;
    return true;
}

bool OutputParser::step_xml(bool last) {
    const std::string_view s = rest();
    constexpr std::string_view opening = "<function=", closing = "</function>";
    size_t i = mark_length_ == opening.size() ? 0 : mark_length_; // the mark may be it
    while (i < s.size() && is_json_space(s[i])) i++;
    const std::string_view begun = s.substr(i, opening.size());
    if (begun != opening.substr(0, begun.size())) return give_up(i);
    const size_t from = seen_ > closing.size() ? seen_ - closing.size() : 0;
    const size_t at = s.substr(0, kLongestCall).find(closing, from);
    if (at == s.npos) {
        seen_ = s.size();
        if (s.size() >= kLongestCall) return give_up(kLongestCall);
        return last && give_up(s.size());
    }
    CallText call(host_.get());
    const size_t end = at + closing.size();
    const std::string_view tools(tools_.data(), tools_.size());
    if (!read_xml_call(host_.get(), s.substr(i, end - i), tools, call)) return give_up(end);
    pending_newlines_ = 0;
    tell(EventKind::name, {call.name.data(), call.name.size()});
    tell(EventKind::arguments, {call.arguments.data(), call.arguments.size()});
    finish_call();
    drop(end);
    state_ = State::after;
    return true;
}

// Behind a call: its end mark, a comma or bracket of a list, ";" between Llama's.
bool OutputParser::step_after(bool last) {
    const std::string_view s = rest();
    size_t i = 0;
    while (i < s.size() && is_json_space(s[i])) i++;
    if (i == s.size()) {
        if (last) drop(i);
        return false;
    }
    drop(i);
    const bool next = (listed_ && s[i] == ',') || ((styles_ & style::llama3) && s[i] == ';');
    if (next) {
        const bool listed = listed_;
        begin_call(State::object, 1);
        listed_ = listed;
        return true;
    }
    if (listed_ && s[i] == ']') return drop(1), state_ = State::answer, true;
    const Found close = match("</tool_call>", Mark::tool_call, last);
    if (close.partial) return false;
    state_ = State::answer;
    drop(close.length);
    return true;
}

// ---- harmony ----

void OutputParser::open_header() {
    state_ = State::header;
    seen_ = 0;
}

// Whether a header may begin so.
static bool begins_header(std::string_view s) {
    constexpr std::string_view starts[] = {"<|start|>", "<|channel|>", "<|message|>", "assistant",
                                           "to="};
    for (const std::string_view start : starts) {
        const size_t n = s.size() < start.size() ? s.size() : start.size();
        if (s.substr(0, n) == start.substr(0, n)) return true;
    }
    return false;
}

// "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>".
bool OutputParser::step_header(bool last) {
    const std::string_view s = rest();
    constexpr std::string_view message = "<|message|>";
    size_t i = 0;
    while (i < s.size() && is_json_space(s[i])) i++;
    const bool fits = begins_header(s.substr(i));
    const size_t from = seen_ > message.size() ? seen_ - message.size() : 0;
    const size_t at = fits ? s.substr(0, kLongestHeader).find(message, from) : s.npos;
    if (at == s.npos) {
        seen_ = s.size();
        if (fits && !last && s.size() < kLongestHeader) return false;
        state_ = State::answer;
        const bool marked = s.substr(i, 2) == "<|" && s.size() < kLongestHeader;
        if (fits && marked) return drop(s.size()), true; // a header alone says nothing
        plain(i < s.size() ? i + 1 : i);
        return true;
    }
    const std::string_view header = s.substr(0, at);
    const bool analysis = has(header, "<|channel|>analysis");
    const size_t to = header.find("to=");
    std::string_view name;
    if (to != header.npos) {
        name = header.substr(to + 3);
        name = name.substr(0, name.find_first_of(" <\n\t\r"));
        if (name.substr(0, 10) == "functions.") name.remove_prefix(10);
    }
    state_ = analysis && name.empty() ? State::reasoning : State::answer;
    drop_newlines_ = false;
    if (!name.empty()) {
        tell(EventKind::name, name);
        in_call_ = true;
    }
    drop(at + message.size());
    return true;
}

} // namespace ggufx::chat
