// Converts messages and tools to the forms that a template accepts: arguments of calls, empty
// contents, text parts.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/forms.hpp"
#include "chat/output_format.hpp"

namespace ggufx::chat {

// Attempts of a rendering; each follows an error of the previous one.
enum class Attempt : uint8_t {
    given,    // the messages as given, in the forms of the template
    complete, // with members that published templates read without checking for them
    single,   // as complete, with each call in a separate message
};

// Converts messages to the forms of a template, where the probes showed a need. In the first
// attempt, reasoning also gets the names that the template reads. Calls that the template leaves
// out become a part of the content, in the form `calls`, unless it is null or unknown. Throws
// malformed for arguments that are not a JSON object if the template needs one.
void fit_messages(Meter &meter, List *messages, const Forms &forms, const CallFormat *calls,
                  Attempt attempt);

// Makes the changes of a later attempt. Returns false if nothing changes.
bool complete_messages(Meter &meter, List *messages, Attempt attempt);
void complete_tools(Meter &meter, const Value &tools);
// The functions of tools as JSON text. Templates older than `tools` read it as `functions`.
const Text *functions_text(Meter &meter, const Value &tools);

} // namespace ggufx::chat
