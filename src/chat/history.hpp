// Messages and tools made what a template takes: arguments of calls, empty contents, text parts.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/forms.hpp"

namespace ggufx::chat {

// Puts messages into the forms of a template, each where the probes showed that it is needed.
// Throws MALFORMED for arguments that are no JSON object where the template wants one.
void fit_messages(Meter &meter, List *messages, const Forms &forms);

// For a second try where a template failed: fills in the members that published templates read
// without a look whether they are there. False: nothing was missing.
bool complete_messages(Meter &meter, List *messages);
void complete_tools(Meter &meter, const Value &tools);
// The functions of tools as JSON text, which templates from before `tools` read as `functions`.
const Text *functions_text(Meter &meter, const Value &tools);

} // namespace ggufx::chat
