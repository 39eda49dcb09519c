// Streaming parser of a model's output: see output.hpp. Reads each byte a bounded number of times,
// and holds bytes that may be the start of a marker.
// SPDX-License-Identifier: MIT
#include "chat/output.hpp"

#include "base/fpenv.hpp"

namespace ggufx::chat {

namespace {

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

} // namespace

OutputParser::OutputParser(const Ref<Host> &host, Ref<OutputFormat> format,
                           const ParserOptions &options, const Sink &sink)
    : host_(host), format_(std::move(format)), sink_(sink), tools_(host.get(), options.tools),
      scanner_(host, format_->call, tools_), held_(HostAllocator<char>(host.get())),
      out_(HostAllocator<char>(host.get())),
      calls_(options.calls && format_->call.shape != CallShape::none), reasons_(options.reasoning) {
    closers_.add(format_->call.close);
    closers_.add(format_->call.section_close);
    add_markers();
    open_with_prompt(options.prompt);
}

void OutputParser::add_marker(std::string_view text, Kind kind, size_t index) {
    text = trimmed(text);
    if (text.empty() || n_markers_ == kMostMarkers) return;
    for (size_t i = 0; i < n_markers_; i++)
        if (markers_[i].text == text && markers_[i].kind == kind) return;
    markers_[n_markers_++] = {text, kind, index};
    begins_marker_[static_cast<uint8_t>(text[0])] = true;
}

void OutputParser::add_markers() {
    if (format_->harmony) {
        add_marker("<|start|>", Kind::harmony_start);
        add_marker("<|channel|>", Kind::harmony_channel);
        for (const std::string_view end : {"<|end|>", "<|call|>", "<|return|>"})
            add_marker(end, Kind::harmony_end);
        return;
    }
    for (size_t i = 0; reasons_ && i < format_->n_reasoning; i++) {
        add_marker(format_->reasoning[i].open, Kind::reasoning_open, i);
        add_marker(format_->reasoning[i].close, Kind::reasoning_close, i);
    }
    const CallFormat &call = format_->call;
    if (calls_) {
        add_marker(call.section_open, Kind::section);
        add_marker(call.open, Kind::open);
        add_marker(call.other_open, Kind::open);
        // Models omit the marker of a call; a marker before the name is sufficient.
        const std::string_view name = trimmed(call.before_name);
        if (!call.id_first && name.size() > 2 && (name[0] == '<' || name[0] == '['))
            add_marker(name, Kind::name);
        if (call.bare) begins_marker_[static_cast<uint8_t>('{')] = true;
    }
    for (size_t i = 0; i < format_->n_dropped; i++) add_marker(format_->dropped[i], Kind::dropped);
}

// Opens reasoning or a call if the prompt ends with its marker.
void OutputParser::open_with_prompt(std::string_view prompt) {
    // gpt-oss continues after "<|start|>assistant"; the prompt may also have opened a body.
    if (format_->harmony) {
        state_ = State::header;
        return;
    }
    while (!prompt.empty() && is_json_space(prompt.back())) prompt.remove_suffix(1);
    for (size_t i = 0; reasons_ && i < format_->n_reasoning; i++) {
        if (!ends_with(prompt, format_->reasoning[i].open)) continue;
        state_ = State::reasoning;
        opened_ = i;
        drop_newlines_ = true;
        return;
    }
    for (size_t i = 0; i < n_markers_; i++) {
        const Marker &marker = markers_[i];
        const bool calls = marker.kind == Kind::section || marker.kind == Kind::open;
        if (!calls || !ends_with(prompt, marker.text)) continue;
        hold(marker.text);
        preset_ = marker.text.size();
        return;
    }
}

std::string_view OutputParser::reasoning_close() const {
    const bool held = state_ == State::call || state_ == State::confirm;
    if ((held ? origin_ : state_) != State::reasoning) return {};
    return format_->harmony ? "<|end|>" : format_->reasoning[opened_].close;
}

// ---- events ----

void OutputParser::tell(EventKind kind, std::string_view text) {
    if (text.empty()) return;
    const bool of_call = kind != EventKind::answer && kind != EventKind::reasoning;
    sink_.event(sink_.user, static_cast<uint32_t>(kind), of_call ? n_calls_ : 0, text);
}

void OutputParser::flush() {
    const bool reasons =
        state_ == State::reasoning ||
        ((state_ == State::call || state_ == State::confirm) && origin_ == State::reasoning);
    has_body_ = has_body_ || !out_.empty();
    tell(in_call_  ? EventKind::arguments
         : reasons ? EventKind::reasoning
                   : EventKind::answer,
         {out_.data(), out_.size()});
    out_.clear();
}

void OutputParser::newlines() {
    out_.insert(out_.end(), pending_newlines_, '\n');
    pending_newlines_ = 0;
}

// Newlines next to markers are not part of the text: they are held until more text follows.
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

// ---- input ----

void OutputParser::feed(std::string_view bytes) {
    if (ended_) fail(Status::state, {}, "the output has ended");
    const CanonicalFp fp; // for numbers in arguments
    ended_ = true;        // until this call completes without an exception
    repair_.feed(bytes, [this](std::string_view part) { hold(part); });
    run(false);
    flush();
    ended_ = false;
}

void OutputParser::finish() {
    if (ended_) fail(Status::state, {}, "the output has ended");
    const CanonicalFp fp; // for numbers in arguments
    ended_ = true;
    repair_.finish([this](std::string_view part) { hold(part); });
    run(true);
    newlines();
    flush();
    if (in_call_ && !has_body_) tell(EventKind::arguments, "{}");
}

void OutputParser::hold(std::string_view text) {
    held_.insert(held_.end(), text.begin(), text.end());
}

void OutputParser::run(bool last) {
    while ((at_ < held_.size() || (last && state_ == State::confirm)) && step(last)) {}
}

// Processes one piece of the held bytes; false: more input is needed.
bool OutputParser::step(bool last) {
    switch (state_) {
    case State::answer:
    case State::reasoning:
        return step_text(last);
    case State::call:
        return step_call(last);
    case State::confirm:
        return step_confirm(last);
    case State::after:
        return step_after(last);
    case State::header:
        return step_header(last);
    }
    return false;
}

// ---- markers ----

bool OutputParser::is_active(const Marker &marker) const {
    const bool reasons = state_ == State::reasoning || origin_ == State::reasoning;
    switch (marker.kind) {
    case Kind::reasoning_open:
        return !reasons && at_start_;
    case Kind::reasoning_close:
        return marker.index == opened_ && (reasons || (has_stray_close_ && at_start_));
    case Kind::dropped:
        return !reasons;
    default:
        return true;
    }
}

// Marker at the first byte of rest(), or null.
const OutputParser::Marker *OutputParser::find_marker(bool last, bool &partial) const {
    partial = false;
    for (size_t i = 0; i < n_markers_; i++) {
        if (!is_active(markers_[i])) continue;
        const Match match = match_at(rest(), 0, markers_[i].text, last);
        if (match == Match::yes) return &markers_[i];
        partial = partial || match == Match::partial;
    }
    return nullptr;
}

bool OutputParser::at_bare_call() const {
    return calls_ && format_->call.bare && state_ == State::answer && at_start_ && rest()[0] == '{';
}

bool OutputParser::step_text(bool last) {
    const std::string_view s = rest();
    size_t n = 0;
    while (n < s.size() && !begins_marker_[static_cast<uint8_t>(s[n])]) n++;
    if (n > 0) return plain(n), true;
    origin_ = state_;
    bool partial = false;
    const Marker *const marker = find_marker(last, partial);
    if (marker) return open(*marker), true;
    if (partial) return false;
    if (at_bare_call()) return begin_call(CallScanner::Entry::bare, 0), true;
    return plain(1), true;
}

void OutputParser::open(const Marker &marker) {
    const size_t length = marker.text.size();
    switch (marker.kind) {
    case Kind::reasoning_open:
        newlines();
        flush();
        opened_ = marker.index;
        state_ = State::reasoning;
        drop_newlines_ = true;
        return drop(length);
    case Kind::reasoning_close:
        pending_newlines_ = 0;
        flush();
        state_ = State::answer;
        has_stray_close_ = false;
        at_start_ = true;
        drop_newlines_ = true;
        return drop(length);
    case Kind::dropped:
        flush();
        return drop(length);
    case Kind::section:
        return begin_call(CallScanner::Entry::section, length);
    case Kind::open:
        return begin_call(CallScanner::Entry::open, length);
    case Kind::name:
        return begin_call(CallScanner::Entry::name, length);
    default:
        if (is_raw_) text(marker.text);
        is_raw_ = false;
        pending_newlines_ = 0;
        flush();
        if (in_call_ && !has_body_) tell(EventKind::arguments, "{}");
        if (in_call_) finish_call();
        in_call_ = false;
        state_ = State::answer;
        drop(marker.kind == Kind::harmony_channel ? 0 : length);
        open_header();
    }
}

// ---- calls ----

// Holds the text from the marker on. It becomes text again if it turns out not to be a call.
void OutputParser::begin_call(CallScanner::Entry entry, size_t length) {
    flush();
    state_ = State::call;
    scanner_.begin(entry, length);
}

// Emits all scanned bytes as text, so that no byte is scanned twice.
bool OutputParser::give_up(size_t n) {
    state_ = origin_;
    listed_ = false;
    newlines();
    drop_newlines_ = false;
    at_start_ = false;
    if (n > rest().size()) n = rest().size();
    const size_t given = preset_ < n ? preset_ : n;
    preset_ = 0;
    drop(given);
    plain(n - given);
    return true;
}

void OutputParser::finish_call() {
    n_calls_++;
    at_start_ = true;
    drop_newlines_ = true;
}

bool OutputParser::step_call(bool last) {
    const std::string_view s = rest();
    switch (scanner_.scan(s, last)) {
    case CallScanner::Step::more:
        return false;
    case CallScanner::Step::none:
        return give_up(scanner_.seen() > 0 ? scanner_.seen() : 1);
    case CallScanner::Step::empty:
        pending_newlines_ = 0;
        preset_ = 0;
        drop(scanner_.seen());
        state_ = State::after;
        return true;
    case CallScanner::Step::answer:
        preset_ = 0;
        listed_ = scanner_.is_listed();
        state_ = listed_ ? State::after : origin_;
        drop_newlines_ = true;
        return drop(scanner_.seen()), true;
    case CallScanner::Step::call:
        break;
    }
    if (origin_ == State::reasoning) return state_ = State::confirm, true;
    return accept_call();
}

bool OutputParser::accept_call() {
    const CallText &call = scanner_.call();
    pending_newlines_ = 0;
    flush();
    tell(EventKind::name, {call.name.data(), call.name.size()});
    tell(EventKind::id, {call.id.data(), call.id.size()});
    tell(EventKind::arguments, {call.arguments.data(), call.arguments.size()});
    finish_call();
    listed_ = scanner_.is_listed();
    preset_ = 0;
    has_stray_close_ = has_stray_close_ || origin_ == State::reasoning;
    origin_ = State::answer;
    state_ = State::after;
    drop(scanner_.seen());
    return true;
}

// Advances i over the markers that end one call or all calls. partial: more text is needed to
// decide.
Match OutputParser::skip_closers(std::string_view s, size_t &i, bool last) const {
    const size_t limit = i + kLongestGap;
    for (bool again = true; again;) {
        again = false;
        while (i < s.size() && i < limit && is_json_space(s[i])) i++;
        if (i == s.size()) return last ? Match::yes : Match::partial;
        if (listed_ && s[i] == ']') {
            i++;
            again = true;
            continue;
        }
        for (size_t k = 0; k < closers_.n && !again; k++) {
            const Match match = match_at(s, i, closers_.items[k], last);
            if (match == Match::partial) return match;
            if (match == Match::no) continue;
            i += closers_.items[k].size();
            again = i < limit;
        }
    }
    return Match::yes;
}

// Whether another object of the same section is at byte i, after the markers before it. Some
// templates write no marker between the objects of a section.
bool OutputParser::is_next_object(std::string_view s, size_t i) const {
    const CallFormat &call = format_->call;
    const std::string_view end = trimmed(call.section_close);
    return call.shape == CallShape::object && !listed_ && !end.empty() &&
           trimmed(call.open).empty() && i < s.size() && s[i] == '{' &&
           s.substr(0, i).find(end) == s.npos;
}

// A call within unclosed reasoning ends the reasoning. A call that the reasoning only mentions does
// not: more text follows it.
bool OutputParser::step_confirm(bool last) {
    const std::string_view s = rest();
    const size_t seen = scanner_.seen();
    size_t i = seen;
    listed_ = scanner_.is_listed();
    if (skip_closers(s, i, last) == Match::partial) return false;
    const bool next = listed_ && i < s.size() && s[i] == ',';
    if (i == s.size() || next || is_next_object(s.substr(seen), i - seen)) return accept_call();
    bool partial = false;
    for (size_t k = 0; k < n_markers_; k++) {
        if (!is_active(markers_[k])) continue;
        const Match match = match_at(s, i, markers_[k].text, last);
        if (match == Match::yes) return accept_call();
        partial = partial || match == Match::partial;
    }
    if (partial) return false;
    return give_up(scanner_.seen());
}

// After a call: its closing markers, a comma or bracket of a list, ";" between Llama's calls.
bool OutputParser::step_after(bool last) {
    const std::string_view s = rest();
    size_t i = 0;
    if (skip_closers(s, i, last) == Match::partial) return false;
    const bool next =
        i < s.size() && ((listed_ && s[i] == ',') || (format_->call.bare && s[i] == ';'));
    const bool next_object = is_next_object(s, i);
    drop(i);
    if (next_object) {
        origin_ = State::answer;
        begin_call(CallScanner::Entry::open, 0);
        return true;
    }
    if (next) {
        origin_ = State::answer;
        begin_call(listed_ ? CallScanner::Entry::next : CallScanner::Entry::open, 1);
        return true;
    }
    listed_ = false;
    state_ = State::answer;
    return true;
}

// ---- harmony ----

void OutputParser::open_header() {
    state_ = State::header;
    seen_ = 0;
}

// Returns true if a header may start with s.
static bool begins_header(std::string_view s) {
    constexpr std::string_view starts[] = {"<|start|>", "<|channel|>", "<|message|>", "assistant",
                                           "to="};
    for (const std::string_view start : starts) {
        const size_t n = s.size() < start.size() ? s.size() : start.size();
        if (s.substr(0, n) == start.substr(0, n)) return true;
    }
    return false;
}

// "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>". A header
// ends at <|message|>. If another marker ends it first, it has no message.
bool OutputParser::step_header(bool last) {
    const std::string_view s = rest();
    constexpr std::string_view message = "<|message|>";
    size_t begin = 0;
    while (begin < s.size() && is_json_space(s[begin])) begin++;
    if (!begins_header(s.substr(begin))) {
        state_ = State::answer;
        plain(begin < s.size() && !begins_marker_[static_cast<uint8_t>(s[begin])] ? begin + 1
                                                                                  : begin);
        return true;
    }
    for (size_t i = seen_ > begin ? seen_ : begin; i < s.size() && i < kLongestHeader; i++) {
        seen_ = i;
        if (s[i] != '<') continue;
        bool partial = false;
        for (const std::string_view marker :
             {message, std::string_view("<|start|>"), std::string_view("<|end|>"),
              std::string_view("<|call|>"), std::string_view("<|return|>")}) {
            const Match match = match_at(s, i, marker, last);
            partial = partial || match == Match::partial;
            if (match != Match::yes) continue;
            if (marker == message) {
                begin_message(s.substr(0, i));
                return drop(i + marker.size()), true;
            }
            if (marker == "<|start|>" && i == begin) break;
            const bool starts = marker == "<|start|>";
            return drop(starts ? i : i + marker.size()), open_header(), true;
        }
        if (partial) return false;
    }
    if (!last && s.size() < kLongestHeader) return seen_ = s.size(), false;
    state_ = State::answer;
    const bool marked = s.substr(begin, 2) == "<|" && s.size() < kLongestHeader;
    if (marked) return drop(s.size()), true; // a header without a message
    plain(begin < s.size() ? begin + 1 : begin);
    return true;
}

// Starts a message. To a function of the request it is a call, to another recipient reasoning.
void OutputParser::begin_message(std::string_view header) {
    const bool analysis = header.find("<|channel|>analysis") != header.npos;
    const size_t to = header.find("to=");
    std::string_view name;
    bool calls = false;
    if (to != header.npos) {
        name = header.substr(to + 3);
        name = name.substr(0, name.find_first_of(" <\n\t\r"));
        constexpr std::string_view functions = "functions.";
        const bool named = name.substr(0, functions.size()) == functions;
        if (named) name.remove_prefix(functions.size());
        calls = !name.empty() && (tools_.empty() ? named : tools_.has(name));
        if (name == "assistant" || name == "user" || name == "all") name = {};
    }
    state_ = (analysis && !calls) || (!name.empty() && !calls) ? State::reasoning : State::answer;
    drop_newlines_ = has_body_ = false;
    if (state_ == State::reasoning && !reasons_) {
        state_ = State::answer;
        is_raw_ = true;
        const size_t channel = header.find("<|channel|>");
        text(channel == header.npos ? header : header.substr(channel));
        text("<|message|>");
    }
    if (!calls) return;
    tell(EventKind::name, name);
    in_call_ = true;
}

} // namespace ggufx::chat
