// Messages and tools made what a template takes: arguments of calls, empty contents, text parts.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/forms.hpp"

namespace ggufx::chat {

// Puts messages into the forms of a template, each where the probes showed that it is needed.
// Throws MALFORMED for arguments that are no JSON object where the template wants one.
// `names`: reasoning gets the template's name, too.
void fit_messages(Meter &meter, List *messages, const Forms &forms, bool names);

// For a second try where a template failed, without names of reasoning: fills in the members that published templates read
// without a look whether they are there. False: that changes nothing.
bool complete_messages(Meter &meter, List *messages);
void complete_tools(Meter &meter, const Value &tools);
// The functions of tools as JSON text, which templates from before `tools` read as `functions`.
const Text *functions_text(Meter &meter, const Value &tools);

} // namespace ggufx::chat
