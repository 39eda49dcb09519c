// Incremental scanner for one tool call in a model's output: finds its end, name and arguments.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/output_format.hpp"
#include "chat/tool_schemas.hpp"

namespace ggufx::chat {

struct CallText {
    explicit CallText(const Host *host)
        : id(HostAllocator<char>(host)), name(HostAllocator<char>(host)),
          arguments(HostAllocator<char>(host)) {}
    Vector<char> id, name, arguments; // arguments: a JSON object
};

// Result of comparing text with a marker.
enum class Match : uint8_t { no, partial, yes };
// Compares `marker` with s at byte i. partial: s ends within the marker, and more may follow unless
// `last`.
Match match_at(std::string_view s, size_t i, std::string_view marker, bool last);

// Whether a quote before byte i ends a Python string. Some templates write strings without escapes,
// so a quote within one ends it only before a character that can follow a value.
Match string_ends(std::string_view s, size_t i, bool last);

// Tokens of a marker, which white space may separate: each starts at "<", "[" or after white space.
struct MarkerTokens {
    std::string_view items[8];
    size_t n = 0;
    void add(std::string_view marker);
};

class CallScanner {
public:
    CallScanner(const Ref<Host> &host, const CallFormat &format, const ToolSchemas &tools)
        : host_(host.get()), format_(format), tools_(tools), call_(host.get()),
          parameters_(HostAllocator<Parameter>(host.get())) {
        close_.add(format.close);
        after_key_.add(format.after_key);
        after_key_other_.add(format.after_key_other);
    }

    enum class Entry : uint8_t {
        section, // after the marker around all calls
        open,    // after the marker of one call
        name,    // after the text before a name, without the marker of a call
        bare,    // at an object without a marker
        next,    // at the next element of a list
    };
    enum class Step : uint8_t {
        more,   // the text ends within the call
        none,   // no call within the seen() bytes
        call,   // a complete call, which ends at seen()
        empty,  // a list without a call
        answer, // no call: the name means that the answer follows
    };

    // Starts a call whose first marker has `length` bytes.
    void begin(Entry entry, size_t length);
    // Scans s, which starts at that marker; `last`: no more text follows. Reads each byte a bounded
    // number of times. Throws std::bad_alloc.
    Step scan(std::string_view s, bool last);

    size_t seen() const { return at_; }
    bool is_listed() const { return listed_; } // the call is an element of a list in brackets
    const CallText &call() const { return call_; }

private:
    enum class Phase : uint8_t { lead, name, after_name, arguments, walk, between, key, value };
    enum class Walk : uint8_t { more, none, whole };
    struct Parameter {
        size_t key, key_end, value, value_end;
        bool is_string; // the marker of the value means a string
        bool is_other;  // the marker means another type
    };
    static constexpr size_t kLongestCall = 16 << 20; // bytes
    static constexpr size_t kLongestName = 1024, kLongestKey = 256;
    static constexpr size_t kLongestGap = 256; // white space between a value and its end marker
    static constexpr size_t kMostParameters = 512;

    void restart();
    Step step(std::string_view s, bool last, bool &again);
    Step lead(std::string_view s, bool last, bool &again);
    Step name(std::string_view s, bool last, bool &again);
    Step after_name(std::string_view s, bool last, bool &again);
    Step arguments(std::string_view s, bool last, bool &again);
    Step between(std::string_view s, bool last, bool &again);
    Step key(std::string_view s, bool last, bool &again);
    Step value(std::string_view s, bool last, bool &again);
    Match value_ends(std::string_view s, size_t i, bool last);
    Match key_at(std::string_view s, size_t i, bool last, size_t &key_end, size_t &value,
                 bool &other) const;
    bool can_follow(std::string_view key, std::string_view s) const;

    Walk walk(std::string_view s, bool last);
    void skip_space(std::string_view s) {
        while (at_ < s.size() && is_json_space(s[at_])) at_++;
    }
    bool finish_object(std::string_view json);
    bool finish_named(std::string_view arguments);
    bool finish_tagged(std::string_view s);
    void set_name(std::string_view name);
    bool is_answer() const; // the name means the answer
    Value typed(Meter &meter, const ToolSchemas::Parameters &of, std::string_view key,
                std::string_view raw, const Parameter &parameter) const;

    const Host *host_;
    CallFormat format_;
    const ToolSchemas &tools_;
    MarkerTokens close_, after_key_, after_key_other_;
    CallText call_;
    Vector<Parameter> parameters_;
    Entry entry_ = Entry::open;
    Phase phase_ = Phase::lead;
    size_t length_ = 0; // bytes of the first marker
    size_t at_ = 0;     // bytes scanned so far
    size_t body_ = 0;   // start of the name, the object or the value
    size_t name_ = 0, name_end_ = 0;
    size_t depth_ = 0;  // depth of brackets
    size_t nested_ = 0; // calls quoted in a value
    char string_ = 0;   // quote character of the current string
    bool escaped_ = false;
    bool in_cdata_ = false;
    bool has_open_ = false, has_before_name_ = false;
    bool listed_ = false, was_listed_ = false, fenced_ = false;
    bool lenient_ = false; // second scan at the end of the output: the first valid end counts
    ToolSchemas::Parameters schema_; // parameters of the called tool
    bool has_schema_ = false;
};

// Returns true if the text is exactly one JSON object.
bool is_json_object(const Host *host, std::string_view json);

} // namespace ggufx::chat
