// Messages and tools made what a template takes: arguments of calls, empty contents, text parts.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/forms.hpp"

namespace ggufx::chat {

// Tries of a rendering, each after the one before it failed.
enum class Try : uint8_t {
    given,    // the messages as they are, in the forms of the template
    complete, // with the members that published templates read without a look at them
    single,   // and each call in a message of its own
};

// Puts messages into the forms of a template, each where the probes showed that it is needed.
// Throws MALFORMED for arguments that are no JSON object where the template wants one.
// Reasoning gets the template's name in the first try, too.
void fit_messages(Meter &meter, List *messages, const Forms &forms, Try attempt);

// What another try than the first changes. False: nothing.
bool complete_messages(Meter &meter, List *messages, Try attempt);
void complete_tools(Meter &meter, const Value &tools);
// The functions of tools as JSON text, which templates from before `tools` read as `functions`.
const Text *functions_text(Meter &meter, const Value &tools);

} // namespace ggufx::chat
