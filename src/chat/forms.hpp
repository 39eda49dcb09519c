// The forms in which a template takes messages, found by rendering small conversations with it.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/program.hpp"

#include <atomic>

namespace ggufx::chat {

enum class Role : uint8_t { system, user, assistant, tool, none };
Role role_from(std::string_view name);

// Names that templates have for the reasoning of a message beside reasoning_content.
constexpr std::string_view kReasoningNames[] = {"thinking", "reasoning", "thought"};

// Bits of a word, so that threads that find them at once need no lock.
struct Forms {
    static constexpr uint32_t known = 1;
    static constexpr uint32_t object_arguments = 2; // of calls: printed right as a mapping
    static constexpr uint32_t text_arguments = 4;   // printed right as JSON text alone
    static constexpr uint32_t null_content = 8;     // of a message with calls, where it is empty
    static constexpr uint32_t empty_content = 16;   // "" in its place
    static constexpr uint32_t parts = 32; // << role: a list of text parts is printed right
    static constexpr uint32_t text = 512; // << role: so is one text
    static constexpr uint32_t no_empty_calls = 8192; // a list without calls hides the content
    static constexpr uint32_t reasoning = 16384;     // << index in kReasoningNames

    uint32_t bits = 0;
    bool has(uint32_t bit) const { return (bits & bit) != 0; }
    bool has(uint32_t bit, Role role) const { return has(bit << static_cast<unsigned>(role)); }
};

// Throws MEMORY, std::bad_alloc; a template that fails with a conversation lacks its forms.
Forms find_forms(const Program &program, const Text *bos, const Text *eos);

} // namespace ggufx::chat
