// SPDX-License-Identifier: MIT
#include "run/generate.hpp"

#include "common/signals.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

void set_prompt(const GeneratingModel &generation, std::span<const int32_t> ids) {
    const uint64_t n_resumed = generation.n_held(), n_context = generation.n_context();
    if (n_resumed > n_context || ids.size() > n_context - n_resumed) {
        const std::string before =
            n_resumed ? fmt::format(" after {} tokens of --resume", n_resumed) : std::string();
        throw Failure(kNoMemory,
                      fmt::format("prompt has {} tokens{}, but the context holds {} (use --ctx)",
                                  ids.size(), before, n_context));
    }
    if (ids.empty() && generation.options().n_predict == 0) return; // the snapshot is complete
    auto prompt = sized<ggufx_prompt>();
    if (n_resumed) prompt.flags = GGUFX_PROMPT_APPEND;
    prompt.tokens = ids.data();
    prompt.n_tokens = ids.size();
    set_prompt(generation.generator(), prompt);
}

ggufx_end generate(const GeneratingModel &generation, const ShowEvent &show) {
    if (generation.options().n_predict == 0) return GGUFX_END_LENGTH;
    const ggufx_end end = generate(generation.generator(), show);
    if (end != GGUFX_END_CANCELLED) return end;
    check_interrupt();
    throw Failure(exit_code(GGUFX_E_CANCELLED), "interrupted");
}

void say_context_full(const Globals &globals, size_t n_context, const std::string &option) {
    if (globals.quiet) return;
    fmt::print(stderr, "ggufx: {}\n", context_full_text(n_context, option));
}

} // namespace ggufx::cli
