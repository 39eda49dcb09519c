// Output format of a template's models: markers and forms of reasoning and tool calls, as data. It
// is probed by rendering a conversation with a known call (output_probe.cpp). If that fails, it is
// looked up by the markers in the template (output_table.cpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/arena.hpp"
#include "base/refcount.hpp"

#include <initializer_list>
#include <string_view>

namespace ggufx::chat {

enum class CallShape : uint8_t {
    none,
    object, // {"name": NAME, "arguments": {...}}
    keyed,  // {NAME: {...}}
    named,  // NAME, a separator, arguments
    tagged, // NAME, then each parameter between markers
};

enum class Notation : uint8_t {
    json,
    python, // NAME(key=value, ...)
    quoted, // {key:value}, strings between `quote`
};

// Format of tool calls. Markers are stored as the template writes them, with the white space around
// them; the parser compares them without it.
struct CallFormat {
    const char *name = ""; // rule that found the format, for messages
    CallShape shape = CallShape::none;
    Notation notation = Notation::json;
    bool listed = false;    // calls are elements of a list in brackets
    bool numbered = false;  // ":0" follows the name and is part of the call's id
    bool id_first = false;  // the id precedes the name
    bool bare = false;      // no marker: an object at the start of the answer
    bool has_id = false;    // the template writes the id of calls in the history
    bool has_cdata = false; // tagged: a value may be a CDATA section
    std::string_view section_open, section_close; // around all calls of an answer
    std::string_view open, close;                 // around one call
    std::string_view other_open;                  // another marker that some of these models write
    std::string_view before_name, after_name;
    std::string_view before_id;
    std::string_view name_key, arguments_key, id_key;    // object
    std::string_view before_key, after_key, after_value; // tagged
    std::string_view
        after_key_other;          // tagged: before a value that is not a string; default after_key
    std::string_view quote;       // Notation::quoted
    std::string_view answer_name; // a name that means the answer itself ("all")
    // Texts of a call as the template writes it: from the end of the assistant's header to the
    // name, from there to the arguments, and after the last argument. kProbeId stands for the id.
    // Without a prefix, all three are built from the markers above.
    std::string_view prefix, middle, end;
};

constexpr std::string_view kProbeId = "ggufxid01";
constexpr std::string_view kCdataOpen = "<![CDATA[", kCdataClose = "]]>";

struct ReasoningFormat {
    std::string_view open, close;
};

constexpr size_t kMostReasonings = 4, kMostDropped = 8;

class OutputFormat {
public:
    explicit OutputFormat(Ref<Host> host) : host_(std::move(host)), arena_(host_.get()) {}
    void retain() { refs_.retain(); }
    void release() {
        if (!refs_.release()) return;
        const Ref<Host> keep = host_;
        unmake(*keep, this);
    }
    std::string_view keep(std::string_view text); // a NUL-terminated copy
    void add_reasoning(std::string_view open, std::string_view close);
    void add_dropped(std::string_view marker);
    void keep_call(const CallFormat &format); // copies its markers

    CallFormat call;
    ReasoningFormat reasoning[kMostReasonings];
    size_t n_reasoning = 0;
    std::string_view dropped[kMostDropped]; // markers that are never part of an answer
    size_t n_dropped = 0;
    bool harmony = false;
    bool names_tools = false; // the template uses a variable of tools
    bool has_calls() const { return harmony || call.shape != CallShape::none; }

private:
    std::string_view join(std::initializer_list<std::string_view> pieces);
    RefCount refs_;
    Ref<Host> host_;
    Arena arena_;
};

// Appends all markers of the format.
void add_markers(Vector<std::string_view> &out, const OutputFormat &format);

class Template;
// Throws std::bad_alloc.
Ref<OutputFormat> find_output_format(const Template &of);

// Known formats whose markers the template contains, in order of preference; null after the last.
const CallFormat *known_call_format(std::string_view source, size_t &at);
void find_known_markers(OutputFormat &out, std::string_view source);

} // namespace ggufx::chat
