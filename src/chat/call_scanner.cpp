// Incremental search for the end of a tool call: see call_scanner.hpp.
// SPDX-License-Identifier: MIT
#include "chat/call_scanner.hpp"

#include <string.h>

namespace ggufx::chat {

namespace {

// Characters that cannot be part of a function name: those of markers, JSON and calls.
bool ends_name(char c) {
    return static_cast<uint8_t>(c) <= ' ' || strchr("<>{}()[]\"'`,;", c) != nullptr;
}

// Characters outside of strings in JSON, Python literals, keyword arguments and objects with bare
// keys.
bool is_value_sign(char c, Notation notation) {
    if (is_json_space(c) || strchr("{}[](),:+-._", c)) return true;
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    return notation != Notation::json && (strchr("=$", c) || static_cast<uint8_t>(c) >= 0x80);
}

} // namespace

Match match_at(std::string_view s, size_t i, std::string_view marker, bool last) {
    if (marker.empty() || i > s.size()) return Match::no;
    const size_t n = s.size() - i < marker.size() ? s.size() - i : marker.size();
    if (s.substr(i, n) != marker.substr(0, n)) return Match::no;
    if (n == marker.size()) return Match::yes;
    return last ? Match::no : Match::partial;
}

void MarkerTokens::add(std::string_view marker) {
    size_t begin = 0;
    const auto flush = [&](size_t end) {
        if (end > begin && n < sizeof items / sizeof *items)
            items[n++] = marker.substr(begin, end - begin);
        begin = end;
    };
    for (size_t i = 0; i + 1 < marker.size(); i++) {
        if (is_json_space(marker[i])) {
            flush(i);
            begin = i + 1;
        } else if (marker[i] == '<' || marker[i] == '[') {
            flush(i);
        } else if ((marker[i] == '>' || marker[i] == ']') && marker[i] != marker[i + 1]) {
            flush(i + 1);
        }
    }
    while (!marker.empty() && is_json_space(marker.back())) marker.remove_suffix(1);
    flush(marker.size());
}

void CallScanner::begin(Entry entry, size_t length) {
    entry_ = entry;
    length_ = length;
    was_listed_ = entry == Entry::next;
    lenient_ = false;
    restart();
}

void CallScanner::restart() {
    phase_ = Phase::lead;
    at_ = body_ = length_;
    depth_ = nested_ = 0;
    string_ = 0;
    escaped_ = false;
    has_open_ = entry_ == Entry::open;
    has_before_name_ = entry_ == Entry::name;
    listed_ = was_listed_;
    fenced_ = has_schema_ = in_cdata_ = false;
    parameters_.clear();
    call_.id.clear();
}

CallScanner::Step CallScanner::scan(std::string_view s, bool last) {
    for (;;) {
        bool again = true;
        while (again) {
            again = false;
            if (at_ >= kLongestCall) return Step::none;
            const Step out = step(s, last, again);
            if (again) continue;
            if (out == Step::call && is_answer()) return Step::answer;
            if (out == Step::call || out == Step::empty || out == Step::answer) return out;
            if (out == Step::more && !last) return out;
            // At the end of the output, a value without an unambiguous end stops at the first valid
            // one.
            if (!last || lenient_ || format_.shape != CallShape::tagged || parameters_.empty()) {
                if (out == Step::more) at_ = s.size();
                return Step::none;
            }
        }
        lenient_ = true;
        restart();
    }
}

CallScanner::Step CallScanner::step(std::string_view s, bool last, bool &again) {
    switch (phase_) {
    case Phase::lead:
        return lead(s, last, again);
    case Phase::name:
        return name(s, last, again);
    case Phase::after_name:
        return after_name(s, last, again);
    case Phase::arguments:
        return arguments(s, last, again);
    case Phase::between:
        return between(s, last, again);
    case Phase::key:
        return key(s, last, again);
    case Phase::value:
        return value(s, last, again);
    case Phase::walk:
        break;
    }
    const Walk end = walk(s, last);
    if (end == Walk::more) return Step::more;
    if (end == Walk::none) return Step::none;
    const std::string_view text = s.substr(body_, at_ - body_);
    const bool is_object = name_end_ == 0;
    return (is_object ? finish_object(text) : finish_named(text)) ? Step::call : Step::none;
}

// Scans the markers after the first one, in the order in which templates write them; each may be
// missing.
CallScanner::Step CallScanner::lead(std::string_view s, bool last, bool &again) {
    skip_space(s);
    name_end_ = 0;
    const auto take = [&](std::string_view marker, bool &flag) {
        if (flag) return false;
        const Match found = match_at(s, at_, trimmed(marker), last);
        if (found == Match::no) return false;
        if (found == Match::partial) return true;
        at_ += trimmed(marker).size();
        flag = again = true;
        return true;
    };
    if (take(format_.open, has_open_)) return Step::more;
    if (take(format_.other_open, has_open_)) return Step::more;
    if (!format_.id_first && take(format_.before_name, has_before_name_)) return Step::more;
    if (format_.notation == Notation::json)
        for (const std::string_view fence : {"```json", "```"})
            if (take(fence, fenced_)) return Step::more;
    if (at_ == s.size()) return Step::more;
    const char c = s[at_];
    if (c == '[' && !listed_ && !has_before_name_) {
        listed_ = again = true;
        at_++;
        return Step::more;
    }
    if (c == ']' && listed_ && !was_listed_) return at_++, Step::empty;
    body_ = at_;
    if (c == '{') {
        phase_ = Phase::walk;
    } else if (format_.shape == CallShape::named || format_.shape == CallShape::tagged) {
        phase_ = Phase::name;
    } else {
        return Step::none;
    }
    again = true;
    return Step::more;
}

CallScanner::Step CallScanner::name(std::string_view s, bool last, bool &again) {
    while (at_ < s.size() && at_ - body_ <= kLongestName && !ends_name(s[at_])) at_++;
    if (at_ == s.size() && !last) return Step::more;
    if (at_ == body_ || at_ - body_ > kLongestName) return Step::none;
    name_ = body_;
    name_end_ = at_;
    phase_ = Phase::after_name;
    again = true;
    return Step::more;
}

// Scans an id before or after the name, and the separator before the arguments.
CallScanner::Step CallScanner::after_name(std::string_view s, bool last, bool &again) {
    skip_space(s);
    const auto keep_id = [&](size_t begin, size_t end) {
        call_.id.assign(s.begin() + static_cast<ptrdiff_t>(begin),
                        s.begin() + static_cast<ptrdiff_t>(end));
    };
    if (format_.id_first && !has_before_name_) { // the scanned name is the id
        const Match found = match_at(s, at_, trimmed(format_.before_name), last);
        if (found == Match::partial) return Step::more;
        if (found == Match::yes) {
            keep_id(name_, name_end_);
            at_ += trimmed(format_.before_name).size();
            has_before_name_ = again = true;
            body_ = at_;
            phase_ = Phase::name;
            return Step::more;
        }
    }
    size_t i = at_;
    if (!format_.before_id.empty() && call_.id.empty()) {
        const std::string_view marker = trimmed(format_.before_id);
        const Match found = match_at(s, i, marker, last);
        if (found == Match::partial) return Step::more;
        if (found == Match::yes) {
            const size_t begin = i + marker.size();
            i = begin;
            while (i < s.size() && i - begin <= kLongestName && !ends_name(s[i])) i++;
            if (i == s.size() && !last) return Step::more;
            keep_id(begin, i);
            at_ = i;
        }
    }
    const std::string_view marker = trimmed(format_.after_name);
    if (!marker.empty()) {
        const Match found = match_at(s, i, marker, last);
        if (found == Match::partial || (found == Match::no && at_ == s.size() && !last))
            return Step::more;
        if (found == Match::no) return Step::none;
        at_ = i + marker.size();
    }
    set_name(s.substr(name_, name_end_ - name_));
    if (is_answer()) return Step::answer;
    phase_ = format_.shape == CallShape::tagged ? Phase::between : Phase::arguments;
    again = true;
    return Step::more;
}

CallScanner::Step CallScanner::arguments(std::string_view s, bool last, bool &again) {
    skip_space(s);
    const bool ended = at_ == s.size();
    if (ended && !last) return Step::more;
    const char c = ended ? '\0' : s[at_];
    const bool python = format_.notation == Notation::python;
    if (c == (python ? '(' : '{')) {
        body_ = at_;
        phase_ = Phase::walk;
        again = true;
        return Step::more;
    }
    // A call without arguments: only the separator shows that the name is one.
    if (python || trimmed(format_.after_name).empty()) return Step::none;
    for (const std::string_view word : {"null", "\"\""}) {
        const Match found = match_at(s, at_, word, last);
        if (found == Match::partial) return Step::more;
        if (found == Match::yes) at_ += word.size();
    }
    const Match close = close_.n ? match_at(s, at_, close_.items[0], last) : Match::no;
    if (close == Match::partial) return Step::more;
    if (close == Match::no && !ended) return Step::none;
    return finish_named("") ? Step::call : Step::none;
}

// ---- end of a value in brackets ----

Match string_ends(std::string_view s, size_t i, bool last) {
    constexpr size_t kLongestSpace = 256;
    const size_t limit = i + kLongestSpace;
    while (i < s.size() && i < limit && is_json_space(s[i])) i++;
    if (i == s.size()) return last ? Match::yes : Match::partial;
    return strchr(",)]}:", s[i]) ? Match::yes : Match::no;
}

CallScanner::Walk CallScanner::walk(std::string_view s, bool last) {
    const Notation notation = name_end_ == 0 ? Notation::json : format_.notation;
    const std::string_view quote = notation == Notation::quoted ? format_.quote : "";
    while (at_ < s.size()) {
        if (at_ >= kLongestCall) return Walk::none;
        const char c = s[at_];
        if (string_ == 'q') { // between two markers
            const size_t end = s.find(quote, at_);
            if (end == s.npos) {
                const size_t kept = quote.size() - 1; // may be the start of the marker
                if (!last && s.size() - at_ > kept) at_ = s.size() - kept;
                return last ? Walk::none : Walk::more;
            }
            at_ = end + quote.size();
            string_ = 0;
            continue;
        }
        if (string_) {
            if (!escaped_ && c == string_) {
                if (notation == Notation::python) {
                    const Match end = string_ends(s, at_ + 1, last);
                    if (end == Match::partial) return Walk::more;
                    if (end == Match::yes) string_ = 0;
                } else {
                    string_ = 0;
                }
            }
            escaped_ = !escaped_ && c == '\\';
            at_++;
            continue;
        }
        const Match quoted = match_at(s, at_, quote, last);
        if (quoted == Match::partial) return Walk::more;
        if (quoted == Match::yes) {
            string_ = 'q';
            at_ += quote.size();
            continue;
        }
        const bool opens = c == '{' || c == '[' || c == '(';
        const bool closes = c == '}' || c == ']' || c == ')';
        if (c == '"' || c == '\'') {
            string_ = c;
        } else if (!is_value_sign(c, notation)) {
            return Walk::none;
        }
        at_++;
        depth_ += opens;
        if (closes && --depth_ == 0) return Walk::whole;
    }
    return Walk::more;
}

// ---- parameters between markers ----

CallScanner::Step CallScanner::between(std::string_view s, bool last, bool &again) {
    if (!has_schema_) {
        schema_ = tools_.parameters({call_.name.data(), call_.name.size()});
        has_schema_ = true;
    }
    skip_space(s);
    if (at_ == s.size()) return Step::more;
    const std::string_view open = trimmed(format_.before_key);
    const Match parameter = match_at(s, at_, open, last);
    const Match close = close_.n ? match_at(s, at_, close_.items[0], last) : Match::no;
    if (close == Match::yes) {
        at_ += close_.items[0].size();
        return finish_tagged(s) ? Step::call : Step::none;
    }
    if (parameter == Match::partial || close == Match::partial) return Step::more;
    if (parameter == Match::no) return Step::none;
    phase_ = Phase::key;
    again = true;
    return Step::more;
}

// Key of a parameter whose first marker is at byte i, up to the start of its value.
Match CallScanner::key_at(std::string_view s, size_t i, bool last, size_t &key_end, size_t &value,
                          bool &other) const {
    i += trimmed(format_.before_key).size();
    const std::string_view head = s.substr(i, kLongestKey);
    bool partial = false;
    key_end = s.npos;
    const auto look = [&](const MarkerTokens &tokens, bool is_other) {
        if (tokens.n == 0) return;
        const size_t found = head.find(tokens.items[0]);
        if (found == head.npos) {
            partial = partial || (!last && head.size() < kLongestKey);
            return;
        }
        size_t k = i + found;
        for (size_t token = 0; token < tokens.n; token++) {
            while (token > 0 && k < s.size() && is_json_space(s[k])) k++;
            const Match match = match_at(s, k, tokens.items[token], last);
            partial = partial || match == Match::partial || (k == s.size() && !last);
            if (match != Match::yes) return;
            k += tokens.items[token].size();
        }
        if (i + found >= key_end) return;
        key_end = i + found;
        value = k;
        other = is_other;
    };
    look(after_key_, false);
    look(after_key_other_, true);
    if (key_end != s.npos) return Match::yes;
    return partial ? Match::partial : Match::no;
}

CallScanner::Step CallScanner::key(std::string_view s, bool last, bool &again) {
    size_t end = 0, begin = 0;
    bool other = false;
    const Match found = key_at(s, at_, last, end, begin, other);
    if (found == Match::partial) return Step::more;
    if (found == Match::no) return Step::none;
    if (parameters_.size() == kMostParameters) return Step::none;
    const bool is_marked = after_key_other_.n > 0;
    parameters_.push_back({at_ + trimmed(format_.before_key).size(), end, begin, begin,
                           is_marked && !other, is_marked && other});
    at_ = begin;
    nested_ = 0;
    phase_ = Phase::value;
    again = true;
    return Step::more;
}

// Returns true if a parameter of this name may follow a value whose end marker is at byte at_. A
// name that is unknown or repeated may follow only after the template's own white space. Otherwise
// the value quotes markers.
bool CallScanner::can_follow(std::string_view key, std::string_view s) const {
    key = trimmed(key);
    if (key.empty() || parameters_.size() == kMostParameters) return false;
    for (const char c : key)
        if (static_cast<uint8_t>(c) < ' ' || strchr("<>\"", c)) return false;
    bool is_new = !schema_.properties || schema_.takes_others || tools_.property(schema_, key);
    for (const Parameter &before : parameters_)
        is_new = is_new && trimmed(s.substr(before.key, before.key_end - before.key)) != key;
    if (is_new) return true;
    const std::string_view value = format_.after_value, next = format_.before_key;
    size_t lead = 0;
    while (lead < value.size() && is_json_space(value[lead])) lead++;
    return at_ >= lead && s.substr(at_ - lead, value.size()) == value &&
           s.substr(at_ - lead + value.size(), next.size()) == next;
}

// Checks whether a value may end with a marker that ends at byte i.
Match CallScanner::value_ends(std::string_view s, size_t i, bool last) {
    const size_t limit = i + kLongestGap;
    const auto skip = [&] {
        while (i < s.size() && i < limit && is_json_space(s[i])) i++;
    };
    skip();
    if (i == s.size()) return last ? Match::no : Match::partial;
    const Match parameter = match_at(s, i, trimmed(format_.before_key), last);
    if (parameter == Match::partial) return parameter;
    if (parameter == Match::yes) {
        size_t end = 0, begin = 0;
        bool other = false;
        const Match found = key_at(s, i, last, end, begin, other);
        if (found != Match::yes) return found;
        const size_t key = i + trimmed(format_.before_key).size();
        return can_follow(s.substr(key, end - key), s) ? Match::yes : Match::no;
    }
    const size_t n = lenient_ || !has_open_ ? 1 : close_.n; // number of markers that must follow
    for (size_t token = 0; token < n; token++) {
        skip();
        if (token > 0 && i == s.size() && last) return Match::yes;
        const Match found = match_at(s, i, close_.items[token], last);
        if (found == Match::no && i == s.size() && !last) return Match::partial;
        if (found != Match::yes) return found;
        i += close_.items[token].size();
    }
    return Match::yes;
}

CallScanner::Step CallScanner::value(std::string_view s, bool last, bool &again) {
    const std::string_view end = trimmed(format_.after_value), close = close_.items[0];
    const std::string_view name = trimmed(format_.before_name);
    const std::string_view inner = name.empty() ? trimmed(format_.open) : name;
    const auto done = [&](size_t value_end, size_t next) {
        parameters_.back().value_end = value_end;
        at_ = next;
        phase_ = Phase::between;
        again = true;
        return Step::more;
    };
    if (format_.has_cdata && at_ == parameters_.back().value) {
        const Match found = match_at(s, at_, kCdataOpen, last);
        if (found == Match::partial) return Step::more;
        if (found == Match::yes) at_ += kCdataOpen.size(), in_cdata_ = true;
    }
    if (in_cdata_) {
        const size_t cdata_end = s.find(kCdataClose, at_);
        if (cdata_end == s.npos) {
            if (s.size() - at_ >= kCdataClose.size()) at_ = s.size() - kCdataClose.size() + 1;
            return Step::more;
        }
        at_ = cdata_end + kCdataClose.size();
        in_cdata_ = false;
    }
    for (; at_ < s.size(); at_++) {
        const char c = s[at_];
        if (at_ >= kLongestCall) return Step::none;
        if (c != end[0] && c != close[0] && (inner.empty() || c != inner[0])) continue;
        const Match value_end = match_at(s, at_, end, last);
        const Match nested = match_at(s, at_, inner, last), closed = match_at(s, at_, close, last);
        if (value_end == Match::partial || nested == Match::partial || closed == Match::partial)
            return Step::more;
        if (nested == Match::yes && !lenient_) {
            nested_++;
        } else if (closed == Match::yes && nested_ > 0) {
            nested_--;
        } else if (closed == Match::yes && lenient_) { // the end marker of the value is missing
            return done(at_, at_);
        } else if (value_end == Match::yes && nested_ == 0) {
            const Match legal = value_ends(s, at_ + end.size(), last);
            if (legal == Match::partial) return Step::more;
            if (legal == Match::yes) return done(at_, at_ + end.size());
        }
    }
    return Step::more;
}

} // namespace ggufx::chat
