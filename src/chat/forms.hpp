// Forms in which a template accepts messages, probed by rendering small conversations.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/program.hpp"

#include <atomic>

namespace ggufx::chat {

enum class Role : uint8_t { system, user, assistant, tool, none };
Role role_from(std::string_view name);

// Names of a message's reasoning in templates, in addition to reasoning_content.
constexpr std::string_view kReasoningNames[] = {"thinking", "reasoning", "thought"};

// Bits of one word, so that threads that probe at the same time need no lock.
struct Forms {
    static constexpr uint32_t known = 1;
    static constexpr uint32_t object_arguments = 2; // calls with arguments as a mapping work
    static constexpr uint32_t text_arguments = 4;   // only those with JSON text work
    static constexpr uint32_t null_content = 8;     // for empty content of a message with calls
    static constexpr uint32_t empty_content = 16;   // "" in its place
    static constexpr uint32_t parts = 32; // << role: a list of text parts is printed correctly
    static constexpr uint32_t text = 512; // << role: a string is printed correctly
    static constexpr uint32_t no_empty_calls = 8192;    // an empty list of calls hides the content
    static constexpr uint32_t reasoning = 16384;        // << index in kReasoningNames
    static constexpr uint32_t no_calls = 1 << 17;       // the content is printed, calls are not
    static constexpr uint32_t calls_or_text = 1 << 18;  // calls are not printed beside content
    static constexpr uint32_t null_for_calls = 1 << 19; // nor beside "", but beside null

    uint32_t bits = 0;
    bool has(uint32_t bit) const { return (bits & bit) != 0; }
    bool has(uint32_t bit, Role role) const { return has(bit << static_cast<unsigned>(role)); }
};

// Throws memory, cancelled, std::bad_alloc. A template that fails with a conversation does not get
// its forms.
Forms find_forms(const TemplateProgram &program, const Text *bos, const Text *eos,
                 const Progress &progress);

} // namespace ggufx::chat
