// Derives the format of tool calls and reasoning from a template: renders a conversation with known
// calls and compares the text around names, keys and values. A format is accepted if the parser
// finds exactly these calls in the rendered text.
// SPDX-License-Identifier: MIT
#include "chat/chat.hpp"
#include "chat/loose_values.hpp"
#include "chat/output.hpp"

namespace ggufx::chat {

namespace {

constexpr std::string_view kUser = "ggufxuser", kContent = "ggufxtext", kReasoning = "ggufxwhy";
constexpr std::string_view kNames[] = {"ggufxone", "ggufxtwo"};
constexpr std::string_view kKeys[] = {"ggufxka", "ggufxkb"};
constexpr std::string_view kTexts[] = {"ggufxva", "ggufxvb"}; // value of the first key, per call
constexpr std::string_view kNumbers[] = {"735261", "735262"}; // value of the second key, per call

constexpr Limits kLimits = {50000, 2 << 20, 64 << 10};

constexpr std::string_view kTools =
    R"([{"type":"function","function":{"name":"ggufxone","description":"d","parameters":{"type":)"
    R"("object","properties":{"ggufxka":{"type":"string","description":"d"},"ggufxkb":{"type":)"
    R"("integer","description":"d"}},"required":["ggufxka"]}}},{"type":"function","function":)"
    R"({"name":"ggufxtwo","description":"d","parameters":{"type":"object","properties":{"ggufxka":)"
    R"({"type":"string","description":"d"},"ggufxkb":{"type":"integer","description":"d"}},)"
    R"("required":["ggufxka"]}}}])";

constexpr std::string_view kHead =
    R"([{"role":"user","content":"ggufxuser"},{"role":"assistant","content":)";

struct Variant {
    bool text;           // arguments are JSON text
    unsigned n_calls;    // 1 or 2
    const char *content; // JSON
};

void append_text(Vector<char> &out, std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
}

void append_call(Vector<char> &out, bool text, unsigned k) {
    append_text(out, k ? R"(,{"id":"ggufxid02","type":"function","function":{"name":")"
                       : R"({"id":"ggufxid01","type":"function","function":{"name":")");
    append_text(out, kNames[k]);
    append_text(out, text ? R"(","arguments":"{\"ggufxka\": \")" : R"(","arguments":{"ggufxka":")");
    append_text(out, kTexts[k]);
    append_text(out, text ? R"(\", \"ggufxkb\": )" : R"(","ggufxkb":)");
    append_text(out, kNumbers[k]);
    append_text(out, text ? R"(}"}})" : "}}}");
}

// Rendered text after the user's message; empty if the template refuses the conversation.
class Rendering {
public:
    Rendering(const Template &of, std::string_view messages) : output_(of.host().get()) {
        Request request;
        request.messages_json = messages;
        request.tools = kTools;
        request.has_clock = true;
        request.limits = kLimits;
        try {
            of.render(output_, request);
        } catch (const Error &e) { // memory errors propagate
            is_too_much_ = static_cast<Status>(e.failure.status) == Status::limit;
            return;
        }
        const std::string_view all(output_.text.data(), output_.text.size());
        const size_t at = all.rfind(kUser);
        if (at != all.npos) text_ = all.substr(at + kUser.size());
    }
    std::string_view text() const { return text_; }
    bool is_too_much() const { return is_too_much_; } // the template exceeds the limits of a probe

private:
    Output output_;
    std::string_view text_;
    bool is_too_much_ = false;
};

// Whether a template prints whole messages as JSON or as Python. Such a template does not show how
// models write calls.
bool has_member_name(std::string_view text) {
    return text.find("tool_calls\"") != text.npos || text.find("tool_calls'") != text.npos;
}

// Markers may start and end here; not between two letters.
bool is_boundary(std::string_view s, size_t i) {
    if (i == 0 || i == s.size()) return true;
    const char before = s[i - 1], after = s[i];
    return after == '<' || after == '[' || before == '>' || before == ']' ||
           is_json_space(before) || is_json_space(after);
}

std::string_view common_prefix(std::string_view a, std::string_view b) {
    size_t n = 0;
    while (n < a.size() && n < b.size() && a[n] == b[n]) n++;
    while (n > 0 && !is_boundary(a, n)) n--;
    return a.substr(0, n);
}

std::string_view common_suffix(std::string_view a, std::string_view b) {
    size_t n = 0;
    while (n < a.size() && n < b.size() && a[a.size() - n - 1] == b[b.size() - n - 1]) n++;
    while (n > 0 && !(is_boundary(a, a.size() - n) && is_boundary(b, b.size() - n))) n--;
    return a.substr(a.size() - n);
}

// Position after the bracket that closes the one at i, or npos.
size_t bracket_end(std::string_view s, size_t i) {
    size_t depth = 0;
    char string = 0;
    for (; i < s.size(); i++) {
        const char c = s[i];
        if (string) {
            if (c == '\\')
                i++;
            else if (c == string)
                string = 0;
            continue;
        }
        if (c == '"') string = c;
        depth += c == '{' || c == '[' || c == '(';
        if ((c == '}' || c == ']' || c == ')') && --depth == 0) return i + 1;
        if (depth == 0) return s.npos;
    }
    return s.npos;
}

// Plain answer: rendered text before and after its content.
struct Plain {
    std::string_view head, tail;
};

// Positions of the parts of a call in a rendered text.
struct Piece {
    size_t begin, name, name_end, arguments, end;
};

class Deriver {
public:
    Deriver(const Host *host, std::string_view text, const Plain &plain, unsigned n_calls,
            const OutputFormat &known, CallFormat &out)
        : host_(host), s_(text), plain_(plain), n_(n_calls), known_(known), out_(out) {}

    // Returns true if a format was found; the caller verifies it.
    bool run() {
        const size_t name = s_.find(kNames[0]);
        if (name == s_.npos || (n_ == 2 && s_.find(kNames[1]) == s_.npos)) return false;
        const size_t content = s_.find(kContent);
        begin_ = content < name ? content + kContent.size() : common_prefix(s_, plain_.head).size();
        end_ = content != s_.npos && content > name
                   ? content
                   : s_.size() - common_suffix(s_.substr(name), plain_.tail).size();
        if (begin_ > name) return false;
        // The end of an answer and a header precede calls in a message of their own.
        const std::string_view tail = common_prefix(s_.substr(begin_, name - begin_), plain_.tail);
        if (content < name) begin_ += tail.size();
        if (content < name) tail_ = trimmed(tail);
        skip_header(name, content > name || !trimmed(tail).empty());
        out_ = CallFormat();
        out_.name = "probed";
        return (object() || named() || tagged()) && has_markers_alone();
    }
    std::string_view text() const { return s_.substr(begin_, end_ - begin_); }
    std::string_view tail() const { return tail_; } // end of an answer before a call

private:
    // Advances begin_ over reasoning markers. In a message with only calls, also over markers that
    // the header of a plain answer has.
    void skip_header(size_t name, bool is_message) {
        for (bool again = true; again;) {
            again = false;
            size_t i = begin_;
            while (i < name && is_json_space(s_[i])) i++;
            MarkerTokens tokens;
            tokens.add(s_.substr(i, name - i < 256 ? name - i : 256));
            if (tokens.n == 0) return;
            std::string_view token = tokens.items[0];
            if (tokens.n > 1 && tokens.items[1][0] != '<') // "<SPECIAL_11>Assistant"
                token = {token.data(), token.size() + tokens.items[1].size()};
            const bool in_header = is_message && tokens.n > 1 && token[0] == '<' &&
                                   plain_.head.find(token) != plain_.head.npos;
            for (size_t k = 0; k < known_.n_reasoning && !again; k++)
                for (const std::string_view marker :
                     {known_.reasoning[k].open, known_.reasoning[k].close})
                    again = again || tokens.items[0] == marker;
            if (again) token = tokens.items[0];
            again = again || in_header;
            if (again) begin_ = i + token.size();
            while (again && begin_ < name && is_json_space(s_[begin_])) begin_++;
        }
    }

    std::string_view between(size_t a, size_t b) const {
        return a <= b && b <= s_.size() ? s_.substr(a, b - a) : std::string_view();
    }

    bool read(Meter &meter, std::string_view text, Value &out) const {
        try {
            return read_loose(meter, text, "", out) && out.is(Kind::dict);
        } catch (const Error &) { return false; }
    }

    // Finds the outermost object with the name of call k and takes its keys into the format.
    bool find_object(unsigned k, size_t from, Piece &out) {
        const size_t name = s_.find(kNames[k], from);
        for (size_t b = s_.find('{', from); b < name; b = s_.find('{', b + 1)) {
            const size_t e = bracket_end(s_, b);
            if (e == s_.npos || e < name) continue;
            Meter meter(host_, kLimits);
            Value value;
            if (!read(meter, s_.substr(b, e - b), value) || !take_keys(meter, value, k)) continue;
            out = {b, name, name + kNames[k].size(), 0, e};
            out.arguments = s_.find('{', out.name_end);
            return true;
        }
        return false;
    }

    bool is_arguments(Meter &meter, const Value &value) const {
        if (value.is(Kind::dict)) return lookup(meter, *value.dict, kKeys[0]) != nullptr;
        return value.is(Kind::string) &&
               value.text->view().find(kKeys[0]) != std::string_view::npos;
    }

    bool take_keys(Meter &meter, const Value &object, unsigned k) {
        std::string_view name, arguments, id;
        for (size_t i = 0; i < object.dict->size; i++) {
            const Entry &entry = *object.dict->entries[i];
            const std::string_view key = entry.key.text->view();
            const bool is_text = entry.value.is(Kind::string);
            if (key == kNames[k] && is_arguments(meter, entry.value)) {
                out_.shape = CallShape::keyed;
                return true;
            }
            if (key == "function" && entry.value.is(Kind::dict))
                return take_keys(meter, entry.value, k);
            if (is_text && entry.value.text->view() == kNames[k]) name = key;
            if (is_text && k == 0 && entry.value.text->view() == kProbeId) id = key;
            if (is_arguments(meter, entry.value)) arguments = key;
        }
        if (name.empty() || arguments.empty()) return false;
        if (k > 0) return true;
        out_.shape = CallShape::object;
        out_.name_key = find_text(name);
        out_.arguments_key = find_text(arguments);
        out_.id_key = find_text(id);
        out_.has_id = !id.empty();
        return true;
    }

    // The same text in the rendering, which outlives the values read from it.
    std::string_view find_text(std::string_view text) const {
        const size_t at = text.empty() ? s_.npos : s_.find(text);
        return at == s_.npos ? std::string_view() : s_.substr(at, text.size());
    }

    // Splits the text before the first call, between two calls and after the last one into markers.
    bool split(std::string_view before, std::string_view middle, std::string_view after) {
        if (n_ < 2) {
            out_.open = before;
            out_.close = after;
            return true;
        }
        out_.open = common_suffix(before, middle);
        out_.close = common_prefix(middle, after);
        if (out_.open.size() + out_.close.size() > middle.size())
            out_.close = out_.close.substr(0, middle.size() - out_.open.size());
        out_.section_open = before.substr(0, before.size() - out_.open.size());
        out_.section_close = after.substr(out_.close.size());
        return true;
    }

    // "[" before the first call: the calls are elements of one list.
    bool split_list(size_t begin, size_t end) {
        size_t open = begin;
        while (open > begin_ && is_json_space(s_[open - 1])) open--;
        if (open == begin_ || s_[open - 1] != '[') return false;
        size_t close = end;
        while (close < end_ && is_json_space(s_[close])) close++;
        if (close >= end_ || s_[close] != ']') return false;
        out_.listed = true;
        out_.section_open = between(begin_, open - 1);
        out_.section_close = between(close + 1, end_);
        return true;
    }

    // A template that prints whole messages has words of the conversation in place of markers.
    bool has_markers_alone() const {
        for (const std::string_view marker :
             {out_.section_open, out_.section_close, out_.open, out_.close, out_.before_name,
              out_.after_name, out_.before_key, out_.after_key, out_.after_value})
            if (marker.find("ggufx") != marker.npos || has_member_name(marker)) return false;
        return true;
    }

    bool object() {
        Piece one, two;
        if (!find_object(0, begin_, one)) return false;
        if (n_ == 2 && !find_object(1, one.end, two)) return false;
        const size_t end = n_ == 2 ? two.end : one.end;
        if (end > end_) return false;
        out_.prefix = between(begin_, one.name);
        out_.middle = between(one.name_end, one.arguments);
        out_.end = s_.substr(end - 1, end_ - end + 1);
        if (split_list(one.begin, end)) return true;
        if (n_ == 2)
            split(between(begin_, one.begin), between(one.end, two.begin), between(end, end_));
        else
            split(between(begin_, one.begin), "", between(end, end_));
        out_.bare = trimmed(out_.open).empty() && trimmed(out_.section_open).empty();
        return true;
    }

    // Text before a name that is not a marker of its own: "call:", "functions.", "<function=".
    void split_before_name() {
        MarkerTokens tokens;
        tokens.add(out_.open);
        if (tokens.n == 0) return;
        const std::string_view last = tokens.items[tokens.n - 1];
        if (last.back() == '>' || last.back() == ']') return;
        const auto at = static_cast<size_t>(last.data() - out_.open.data());
        out_.before_name = out_.open.substr(at);
        out_.open = out_.open.substr(0, at);
    }

    // Name, then arguments in brackets.
    bool find_named(unsigned k, size_t from, Piece &out) {
        const size_t name = s_.find(kNames[k], from), key = s_.find(kKeys[0], name);
        if (name == s_.npos || key == s_.npos) return false;
        out = {name, name, name + kNames[k].size(), 0, 0};
        const char bracket = s_.substr(out.name_end, 1) == "(" ? '(' : '{';
        out.arguments = bracket == '(' ? out.name_end : s_.rfind('{', key);
        if (out.arguments == s_.npos || out.arguments < out.name_end) return false;
        out.end = bracket_end(s_, out.arguments);
        return out.end != s_.npos && out.end > key;
    }

    bool find_notation(const Piece &piece) {
        if (s_[piece.arguments] == '(') {
            out_.notation = Notation::python;
            return true;
        }
        Meter meter(host_, kLimits);
        Value value;
        if (read(meter, between(piece.arguments, piece.end), value)) return true;
        const size_t key = s_.find(kKeys[0], piece.arguments), text = s_.find(kTexts[0], key);
        const size_t quote = key + kKeys[0].size() + 1;
        if (text == s_.npos || s_[quote - 1] != ':' || text <= quote) return false;
        out_.notation = Notation::quoted;
        out_.quote = between(quote, text);
        return true;
    }

    bool named() {
        Piece one, two;
        if (!find_named(0, begin_, one) || !find_notation(one)) return false;
        if (n_ == 2 && !find_named(1, one.end, two)) return false;
        const size_t end = n_ == 2 ? two.end : one.end;
        if (end > end_) return false;
        out_.shape = CallShape::named;
        out_.prefix = between(begin_, one.name);
        out_.middle = between(one.name_end, one.arguments);
        out_.end = between(end, end_);
        const size_t id = s_.find(kProbeId, begin_), id_end = id + kProbeId.size();
        out_.has_id = id < one.arguments;
        out_.id_first = id < one.name;
        if (out_.id_first) {
            one.begin = id;
            two.begin = s_.find("ggufxid02", one.end);
            out_.before_name = between(id_end, one.name);
            if (n_ == 2 && two.begin > two.name) return false;
        }
        const bool has_id_after = out_.has_id && !out_.id_first;
        if (has_id_after) out_.before_id = between(one.name_end, id);
        out_.after_name = between(has_id_after ? id_end : one.name_end, one.arguments);
        if (n_ == 2 && !has_id_after && out_.after_name != between(two.name_end, two.arguments)) {
            // ":0" counts the calls.
            if (out_.after_name.substr(0, 2) != ":0") return false;
            out_.numbered = true;
            out_.after_name.remove_prefix(2);
        }
        if (split_list(one.begin, end)) return true;
        split(between(begin_, one.begin), n_ == 2 ? between(one.end, two.begin) : "",
              between(end, end_));
        if (!out_.id_first) split_before_name();
        find_answer_name();
        return !trimmed(out_.open).empty() || !trimmed(out_.before_name).empty() ||
               !trimmed(out_.section_open).empty();
    }

    // Templates with a recipient for each part also have one for the answer.
    void find_answer_name() {
        const std::string_view head = plain_.head, after = out_.after_name;
        if (after.empty() || head.size() < after.size() ||
            head.substr(head.size() - after.size()) != after)
            return;
        const std::string_view rest = head.substr(0, head.size() - after.size());
        const std::string_view open = trimmed(out_.open);
        const size_t at = open.empty() ? rest.npos : rest.rfind(open);
        if (at == rest.npos) return;
        const std::string_view name = rest.substr(at + open.size());
        if (!name.empty() && name.size() <= 32 && name.find_first_of("<>[]{} \n") == name.npos)
            out_.answer_name = name;
    }

    // Name, then keys and values between markers.
    bool tagged() {
        size_t at[6];
        const std::string_view pieces[] = {kNames[0], kKeys[0],    kTexts[0],
                                           kKeys[1],  kNumbers[0], ""};
        size_t from = begin_;
        for (unsigned i = 0; i < 5; i++) {
            at[i] = s_.find(pieces[i], from);
            if (at[i] == s_.npos) return false;
            from = at[i] + pieces[i].size();
        }
        const auto after = [&](unsigned i) { return at[i] + pieces[i].size(); };
        const std::string_view first = between(after(0), at[1]), next = between(after(2), at[3]);
        out_.shape = CallShape::tagged;
        out_.before_key = common_suffix(first, next);
        out_.after_name = first.substr(0, first.size() - out_.before_key.size());
        out_.after_value = next.substr(0, next.size() - out_.before_key.size());
        out_.after_key = between(after(1), at[2]);
        const std::string_view other = between(after(3), at[4]);
        if (other != out_.after_key) out_.after_key_other = other;
        std::string_view middle, last;
        if (n_ == 2) {
            const size_t two = s_.find(kNames[1], from), number = s_.find(kNumbers[1], from);
            if (two == s_.npos || number == s_.npos) return false;
            middle = between(from, two);
            from = number + kNumbers[1].size();
        }
        last = between(from, end_);
        // The end of a value is not part of the markers after the call.
        out_.after_value = common_prefix(out_.after_value, last);
        const size_t n_value = out_.after_value.size();
        if (trimmed(out_.after_value).empty() || trimmed(out_.before_key).empty()) return false;
        if (n_ == 2 && middle.substr(0, n_value) != out_.after_value) return false;
        out_.prefix = between(begin_, at[0]);
        out_.middle = out_.after_name;
        out_.end = last.substr(n_value);
        split(between(begin_, at[0]), n_ == 2 ? middle.substr(n_value) : "", last.substr(n_value));
        split_before_name();
        return !trimmed(out_.close).empty();
    }

    const Host *host_;
    std::string_view s_;
    const Plain &plain_;
    unsigned n_;
    const OutputFormat &known_;
    CallFormat &out_;
    size_t begin_ = 0, end_ = 0;
    std::string_view tail_;
};

// ---- verification ----

struct Seen {
    explicit Seen(const Host *of)
        : name(HostAllocator<char>(of)), arguments(HostAllocator<char>(of)),
          answer(HostAllocator<char>(of)), host(of) {}
    Vector<char> name, arguments, answer; // data of the last call
    const Host *host;
    unsigned n = 0;
    bool right = true;

    void finish_call() {
        if (n == 0) return;
        const unsigned k = n - 1;
        if (k > 1 || std::string_view(name.data(), name.size()) != kNames[k]) right = false;
        Meter meter(host, kLimits);
        Value value;
        if (!right || !read_loose(meter, {arguments.data(), arguments.size()}, "", value) ||
            !value.is(Kind::dict) || value.dict->size != 2) {
            right = false;
            return;
        }
        const Value *const text = lookup(meter, *value.dict, kKeys[0]);
        const Value *const number = lookup(meter, *value.dict, kKeys[1]);
        right = text && text->is(Kind::string) && text->text->view() == kTexts[k] && number &&
                number->is(Kind::written) && number->text->view() == kNumbers[k];
    }
};

void note_event(void *user, uint32_t kind, uint64_t, std::string_view text) {
    Seen &seen = *static_cast<Seen *>(user);
    if (kind == static_cast<uint32_t>(EventKind::answer)) append_text(seen.answer, text);
    if (kind == static_cast<uint32_t>(EventKind::arguments)) append_text(seen.arguments, text);
    if (kind != static_cast<uint32_t>(EventKind::name)) return;
    seen.finish_call();
    seen.n++;
    seen.arguments.clear();
    seen.name.assign(text.begin(), text.end());
}

// Returns true if the parser finds exactly the known calls in a rendered text.
bool finds_calls(const Ref<Host> &host, Ref<OutputFormat> format, std::string_view text,
                 unsigned n_calls) {
    Seen seen(host.get());
    try {
        ParserOptions options;
        options.tools = kTools;
        OutputParser parser(host, std::move(format), options, {&seen, note_event});
        parser.feed(text);
        parser.finish();
        seen.finish_call();
    } catch (const Error &) { seen.right = false; }
    const std::string_view answer = trimmed({seen.answer.data(), seen.answer.size()});
    return seen.right && seen.n == n_calls && (answer.empty() || answer == kContent);
}

Ref<OutputFormat> new_format(const Template &of) {
    const Ref<Host> &host = of.host();
    auto out = Ref<OutputFormat>::adopt(make<OutputFormat>(*host, host));
    find_known_markers(*out, of.source());
    for (const char *const name : {"tools", "functions", "available_tools"})
        out->names_tools = out->names_tools || of.reads(name);
    return out;
}

// Takes the text around the reasoning of an answer as its markers.
void find_reasoning(OutputFormat &out, const Template &of, const Plain &plain) {
    const Rendering rendering(of, R"([{"role":"user","content":"ggufxuser"},{"role":"assistant",)"
                                  R"("content":"ggufxtext","reasoning_content":"ggufxwhy",)"
                                  R"("reasoning":"ggufxwhy","thinking":"ggufxwhy"}])");
    const std::string_view s = rendering.text();
    const size_t why = s.find(kReasoning), content = s.find(kContent);
    if (why == s.npos || content == s.npos || content < why) return;
    const std::string_view before = s.substr(0, why);
    std::string_view open = trimmed(before.substr(common_prefix(before, plain.head).size()));
    std::string_view close =
        trimmed(s.substr(why + kReasoning.size(), content - why - kReasoning.size()));
    // The first marker ends the reasoning; further text belongs to the answer's header.
    MarkerTokens opens, closes;
    closes.add(close);
    // An answer without reasoning has both markers, too.
    const std::string_view head = trimmed(plain.head);
    if (open.empty() && closes.n > 0 && head.ends_with(closes.items[0])) {
        const size_t end = head.size() - closes.items[0].size();
        open = trimmed(head.substr(0, end));
        open = trimmed(before).ends_with(open) ? open.substr(open.find_last_of("<[") + 1) : "";
        if (!open.empty()) open = {open.data() - 1, open.size() + 1};
    }
    opens.add(open);
    if (opens.n != 1 || closes.n == 0 || opens.items[0].size() < 3) return;
    if (out.harmony || closes.items[0].size() < 3) return;
    out.add_reasoning(opens.items[0], closes.items[0]);
}

} // namespace

Ref<OutputFormat> find_output_format(const Template &of) {
    const Ref<Host> &host = of.host();
    Ref<OutputFormat> out = new_format(of);
    const Rendering plain(of, R"([{"role":"user","content":"ggufxuser"},)"
                              R"({"role":"assistant","content":"ggufxtext"}])");
    if (plain.is_too_much()) return out;
    Plain around;
    if (const size_t at = plain.text().find(kContent); at != plain.text().npos)
        around = {plain.text().substr(0, at), plain.text().substr(at + kContent.size())};
    find_reasoning(*out, of, around);
    if (out->harmony) return out;
    static constexpr Variant variants[] = {
        {false, 2, R"("ggufxtext")"}, {true, 2, R"("ggufxtext")"}, {false, 2, R"("")"},
        {true, 2, R"("")"},           {false, 2, "null"},          {false, 1, R"("ggufxtext")"},
        {true, 1, R"("ggufxtext")"},  {false, 1, R"("")"},         {true, 1, R"("")"},
    };
    bool shows_calls = false;
    const bool has_cdata = of.source().find(kCdataOpen) != of.source().npos;
    for (const Variant &variant : variants) {
        Vector<char> messages{HostAllocator<char>(host.get())};
        append_text(messages, kHead);
        append_text(messages, variant.content);
        append_text(messages, R"(,"tool_calls":[)");
        for (unsigned k = 0; k < variant.n_calls; k++) append_call(messages, variant.text, k);
        append_text(messages, "]}]");
        const Rendering calls(of, {messages.data(), messages.size()});
        const std::string_view text = calls.text();
        if (text.find(kTexts[variant.n_calls - 1]) == text.npos) continue;
        shows_calls = shows_calls || !has_member_name(text);
        CallFormat format;
        Deriver deriver(host.get(), text, around, variant.n_calls, *out, format);
        const bool has_found = deriver.run();
        format.has_cdata = has_cdata;
        Ref<OutputFormat> candidate = new_format(of);
        for (size_t i = 0; i < out->n_reasoning; i++)
            candidate->add_reasoning(out->reasoning[i].open, out->reasoning[i].close);
        size_t row = 0;
        for (const CallFormat *known; has_found && (known = known_call_format(of.source(), row));) {
            if (format.bare && known->bare) format.other_open = known->other_open;
            // The known format separates the text before a name from the name.
            if (format.numbered && known->numbered) format = *known;
        }
        if (!deriver.tail().empty()) candidate->add_dropped(deriver.tail());
        candidate->keep_call(format);
        if (has_found && finds_calls(host, candidate, deriver.text(), variant.n_calls))
            return candidate;
        row = 0;
        for (const CallFormat *known; (known = known_call_format(of.source(), row));) {
            candidate->keep_call(*known);
            if (finds_calls(host, candidate, deriver.text(), variant.n_calls)) return candidate;
        }
    }
    // Templates that print no calls of the history name their markers to the model. A template that
    // prints calls in another form than its markers has no format.
    size_t row = 0;
    const CallFormat *const known = known_call_format(of.source(), row);
    if (known && !shows_calls) out->keep_call(*known);
    return out;
}

} // namespace ggufx::chat
