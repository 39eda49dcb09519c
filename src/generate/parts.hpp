// Parts of a generator that a build may leave out: constraints of grammars, and the parser of a
// model's output.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/refcount.hpp"
#include "sampling/candidates.hpp"

#include <memory>
#include <string_view>

namespace ggufx::generate {

struct Release {
    template <class T> void operator()(T *part) const { part->release(); }
};
template <class T> using Owned = std::unique_ptr<T, Release>;

// Constrains the tokens of one output. All but roll_back and release throw Error / std::bad_alloc
// and have changed nothing then.
class Matcher {
public:
    // Returns the tokens that may come next. Errors: mismatch (none), state (it has ended), limit.
    virtual sampling::Allowed allowed() = 0;
    virtual void accept(int32_t id) = 0;
    virtual void roll_back(uint64_t n_tokens) = 0;
    virtual bool is_whole() const = 0; // the output may end here
    virtual void release() = 0;

protected:
    ~Matcher() = default;
};

// Immutable and shared: see Ref.
class Grammar {
public:
    virtual Owned<Matcher> matcher() const = 0; // throws
    virtual void retain() = 0;
    virtual void release() = 0;

protected:
    ~Grammar() = default;
};

// Receiver of parsed text: values of EventKind. Exceptions pass through the parser.
struct OutputSink {
    void *user = nullptr;
    void (*event)(void *user, uint32_t kind, uint64_t call, std::string_view text) = nullptr;
};

// Splits one output into answer, reasoning and tool calls.
class Parser {
public:
    // Throw Error / std::bad_alloc; the parser is then of no use.
    virtual void feed(std::string_view bytes) = 0;
    virtual void finish() = 0;
    virtual bool is_reasoning() const = 0;
    virtual std::string_view reasoning_close() const = 0; // marker; empty outside of reasoning
    virtual uint64_t n_calls() const = 0;                 // tool calls that are complete
    virtual void release() = 0;

protected:
    ~Parser() = default;
};

class Text;
class EventQueue;

// Constrains an output of several parts: reasoning, forced markers, JSON or a tool call. It follows
// the tokens of one output; after a failure another one follows them again.
class Constraint {
public:
    struct Next {
        int32_t forced = -1; // the only token that may come, chosen without the sampler
        sampling::Allowed allowed;
    };
    // These throw Error / std::bad_alloc; the constraint is then of no use.
    virtual void begin(Text &text) = 0; // first
    virtual Next next() = 0;
    // Takes a token whose bytes are the latest of `text`, and shows them. queue: null: no events.
    virtual void take(int32_t id, Text &text, EventQueue *queue) = 0;
    virtual bool reasons() const = 0;  // within reasoning, after which the answer must follow
    virtual bool may_end() const = 0;  // an end-of-generation token may end the output
    virtual bool is_whole() const = 0; // the tool call is complete: nothing may follow
    virtual void release() = 0;

protected:
    ~Constraint() = default;
};

// Use of a token: text that is shown or parsed, a marker for the parser, hidden, or the end of the
// output.
enum class TokenUse : uint8_t { text, marker, hidden, end };

// Texts of a conversation that a snapshot keeps: see Format.
struct FormatTexts {
    std::string_view prompt_end, begun, tools;
};

// Form of the output that follows a rendered conversation. Immutable and shared: see Ref.
class Format {
public:
    virtual Owned<Parser> parser(const OutputSink &sink) const = 0; // throws
    virtual Owned<Constraint> constraint() const = 0;               // null: none. Throws
    virtual bool has_one_call() const = 0;  // the output ends after one tool call
    virtual bool is_restorable() const = 0; // a snapshot can make it again
    virtual TokenUse use(int32_t id) const = 0;
    // End-of-generation tokens are markers of the parser too.
    virtual bool reads_ends() const = 0;
    // Reasoning is text of the answer, with its markers.
    virtual bool keeps_reasoning() const = 0;
    // Text that a snapshot keeps of the conversation: the end of the prompt, markers that were
    // written before the output, and the tools.
    virtual std::string_view prompt_end() const = 0;
    virtual std::string_view begun() const = 0;
    virtual std::string_view tools() const = 0;
    virtual void retain() = 0;
    virtual void release() = 0;

protected:
    ~Format() = default;
};

} // namespace ggufx::generate
