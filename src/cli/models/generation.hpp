// Generation of one sequence: a generator and its events.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

namespace ggufx::cli {

using Generator = std::unique_ptr<ggufx_generator, Destroyer<ggufx_generator_destroy>>;

// A draft model that cannot be used is a usage error.
Generator make_generator(ggufx_session *session, ggufx_generator_options options,
                         const std::vector<std::string> &stops = {});
void set_prompt(ggufx_generator *generator, const ggufx_prompt &prompt);
ggufx_generator_facts generator_facts(const ggufx_generator *generator);
std::vector<int32_t> generator_tokens(const ggufx_generator *generator); // prompt and output
// Returns the next event. A signal cancels the generation: text that was held back follows, then
// the end. Throws Failure if the generation ends with an error.
ggufx_event next_event(ggufx_generator *generator);

// Gives all events to `show`. Returns the reason of the end.
template <class Show> ggufx_end generate(ggufx_generator *generator, const Show &show) {
    for (;;) {
        const ggufx_event event = next_event(generator);
        show(event);
        if (event.kind == GGUFX_EVENT_END) return event.end;
    }
}

// Returns "stop" or "length", the words of the OpenAI API. As in `serve`, a full context is
// "length".
const char *finish_reason(ggufx_end end);
// `option` raises the limit, such as "--ctx"; empty: there is none.
std::string context_full_text(size_t n_context, const std::string &option);

} // namespace ggufx::cli
