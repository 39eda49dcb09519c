// Tool calls of a history as text, in the form that the models of a template write. They replace
// calls that a template leaves out of a history.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/output_format.hpp"
#include "chat/value.hpp"

namespace ggufx::chat {

struct WrittenCall {
    const Text *name = nullptr;
    const Text *id = nullptr;        // null: none
    const Text *arguments = nullptr; // the object below as JSON that the client wrote, or null
    Value object;                    // a dict
};

// Appends calls to the text that precedes them. Markers belong to the template, names and arguments
// to the user.
class CallWriter {
public:
    // `index` of the first call in its conversation. `line_begins`: the text before is empty or
    // ends with a line break.
    CallWriter(Meter &meter, const CallFormat &format, TextBuilder &out, size_t index,
               bool line_begins)
        : meter_(meter), format_(format), out_(out), index_(index), line_begins_(line_begins) {}
    void add(const WrittenCall &call);
    void finish();

private:
    void marker(std::string_view text, const WrittenCall &call);
    void body(const WrittenCall &call);
    void python_arguments(const Dict &arguments);
    void parameters(const Dict &arguments);
    void value(const Value &v);
    void own(std::string_view text) { out_.add(text, false); }

    Meter &meter_;
    const CallFormat &format_;
    TextBuilder &out_;
    size_t index_;
    bool line_begins_;
    size_t n_ = 0;
};

} // namespace ggufx::chat
