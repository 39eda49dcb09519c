// Special tokens in the output of a model with a chat template: markers that its parser reads,
// tokens that end the answer, and tokens that are not part of it.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/chat.hpp"
#include "chat/output_format.hpp"
#include "generate/parts.hpp"
#include "tokenizer/tokenizer.hpp"

namespace ggufx::generate {

class OutputTokens {
public:
    // Probes the parser and the turns of the template. Throws std::bad_alloc.
    OutputTokens(const Ref<Host> &host, const chat::Template &chat,
                 const Ref<chat::OutputFormat> &format, const model::Tokenizer &tokenizer);

    // has_calls: tool calls are parsed, so their markers are read.
    TokenUse use(int32_t id, bool has_calls) const;

private:
    enum class Kind : uint8_t { other, marker, call_marker, turn };
    struct Entry {
        int32_t id;
        Kind kind;
    };
    class Markers;
    const Entry *find(int32_t id) const;
    void add_tokens(Markers &markers, const model::Vocab &vocab);
    void add_turns(const chat::Template &chat, const model::Tokenizer &tokenizer,
                   const chat::CallFormat &calls);

    Ref<Host> host_;
    Vector<Entry> entries_; // tokens that are not text, by id
};

} // namespace ggufx::generate
