// What a model says, told apart as it comes: answer, reasoning and calls of tools. Which marks
// count is known from the template's text; whatever is none of them is answer.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <string_view>

namespace ggufx::chat {

namespace style {
constexpr uint32_t think = 1;    // <think> ... </think>
constexpr uint32_t bracket = 2;  // [THINK] ... [/THINK]
constexpr uint32_t gemma = 4;    // <|channel>thought ... <channel|>
constexpr uint32_t harmony = 8;  // <|channel|>analysis<|message|> ... <|end|>, with calls
constexpr uint32_t hermes = 16;  // <tool_call>{"name": ..., "arguments": {...}}</tool_call>
constexpr uint32_t xml = 32;     // <function=name><parameter=key>value</parameter></function>
constexpr uint32_t mistral = 64; // [TOOL_CALLS]name[ARGS]{...}, [TOOL_CALLS][{...}]
constexpr uint32_t llama3 = 128; // <|python_tag|>{...}, or {"name": ..., "parameters": {...}}
constexpr uint32_t all = 255;
} // namespace style

uint32_t styles_of(std::string_view source); // of a template
// Appends the texts that open, close or part something in these styles.
void add_marks(Vector<std::string_view> &out, uint32_t styles);

enum class EventKind : uint32_t { answer = 1, reasoning = 2, name = 3, arguments = 4 };

// Gets pieces of whole characters; `call` counts the calls of tools from 0. Non-zero: stop.
struct Sink {
    void *user = nullptr;
    int32_t (*event)(void *user, uint32_t kind, uint64_t call, const char *text,
                     size_t length) = nullptr;
};

class OutputParser {
public:
    // `prompt` is what was rendered in front: it may have opened the reasoning. `tools` may be
    // empty: JSON of the tools, whose parameters say which values of xml are texts.
    // Throws what read_json throws for tools, std::bad_alloc.
    OutputParser(const Ref<Host> &host, uint32_t styles, std::string_view prompt,
                 std::string_view tools, const Sink &sink);
    // Any bytes, in any pieces. Throws Error (cancelled) / std::bad_alloc; then it is over.
    void feed(std::string_view bytes);
    void finish(); // what was held back is told
    const Ref<Host> &host() const { return host_; }

private:
    enum class State : uint8_t {
        answer,
        reasoning,
        object, // JSON of a call
        name,   // Mistral's, up to [ARGS]
        xml,    // up to </function>
        after,  // a call: its end mark may come
        header, // of a message of harmony, up to <|message|>
    };
    enum class Mark : uint8_t { // what opens or closes something
        none,
        think_open,
        think_close,
        tool_call,
        function,
        mistral,
        python,
        bare,
        harmony_start,
        harmony_channel,
        harmony_end,
    };
    struct Found {
        Mark mark;
        size_t length; // of the mark; 0: none here
        bool partial;  // it may still become one
    };

    static constexpr size_t kLongestCall = 16 << 20; // bytes that are held for a call
    static constexpr size_t kLongestHeader = 4 << 10;

    void take(const char *bytes, size_t n); // valid UTF-8
    void run(bool last);
    bool step(bool last);
    bool step_text(bool last);
    bool step_object(bool last);
    bool step_name(bool last);
    bool step_xml(bool last);
    bool step_after(bool last);
    bool step_header(bool last);
    Found find_mark(bool last) const;
    Found match(std::string_view text, Mark mark, bool last) const;
    void open(Mark mark, size_t length);
    void begin_call(State state, size_t length);
    enum class Object : uint8_t { begun, whole, none };
    Object walk_object();
    bool give_up(size_t n);
    bool finish_object(std::string_view text);
    void finish_call();
    void open_header();

    void plain(size_t n); // bytes of the answer or the reasoning
    void text(std::string_view text);
    void flush();
    void newlines();
    void tell(EventKind kind, std::string_view text);
    std::string_view rest() const { return {held_.data() + at_, held_.size() - at_}; }
    void drop(size_t n);

    Ref<Host> host_;
    uint32_t styles_;
    Sink sink_;
    Vector<char> tools_; // JSON
    Vector<char> held_;  // from at_ on: not told yet
    size_t at_ = 0;
    size_t seen_ = 0;      // of rest(): scanned for its end
    Vector<char> out_;     // to tell: of one kind
    char partial_[4] = {}; // of a character
    size_t n_partial_ = 0;
    State state_ = State::answer;
    bool at_start_ = true; // of a message: reasoning may be opened
    bool drop_newlines_ = false;
    bool ended_ = false;
    size_t pending_newlines_ = 0;
    size_t mark_length_ = 0; // of the mark that opened the call, in rest()
    uint8_t opened_ = 0;
    unsigned depth_ = 0; // of brackets
    bool in_string_ = false, escaped_ = false, begun_ = false;
    bool in_call_ = false; // a body of harmony that is arguments
    bool listed_ = false;  // objects within [TOOL_CALLS][ ... ]
    uint64_t n_calls_ = 0;
};

// Calls in the texts that models write. False: the text is no call.
struct CallText {
    explicit CallText(const Host *host)
        : name(HostAllocator<char>(host)), arguments(HostAllocator<char>(host)) {}
    Vector<char> name, arguments;
};
bool read_call(const Host *host, std::string_view json, CallText &out);
bool is_json_object(const Host *host, std::string_view json);
bool read_xml_call(const Host *host, std::string_view xml, std::string_view tools, CallText &out);

} // namespace ggufx::chat
