// SPDX-License-Identifier: MIT
#include "models/generation.hpp"

#include "common/signals.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

Generator make_generator(ggufx_session *session, ggufx_generator_options options,
                         const std::vector<std::string> &stops) {
    std::vector<ggufx_text> texts;
    for (const std::string &stop : stops) texts.push_back({stop.data(), stop.size()});
    options.stops = texts.data();
    options.n_stops = texts.size();
    ggufx_generator *generator = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_generator_create(&generator, session, &options, &error);
    if (status == GGUFX_E_MISMATCH && options.draft && options.draft->session)
        throw Failure(kUsage, std::string("--draft: ") + error.message);
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    return Generator(generator);
}

void set_prompt(ggufx_generator *generator, const ggufx_prompt &prompt) {
    call([&](ggufx_error *error) { return ggufx_generator_set_prompt(generator, &prompt, error); });
}

ggufx_generator_facts generator_facts(const ggufx_generator *generator) {
    return facts<ggufx_generator_facts>([&](ggufx_generator_facts *out, ggufx_error *error) {
        return ggufx_generator_info(out, generator, error);
    });
}

std::vector<int32_t> generator_tokens(const ggufx_generator *generator) {
    std::vector<int32_t> out;
    fill_room(out, [&](size_t *needed, ggufx_error *error) {
        return ggufx_generator_tokens(out.data(), out.size(), needed, generator, error);
    });
    return out;
}

ggufx_event next_event(ggufx_generator *generator) {
    const ggufx_progress cancel = cancel_hook();
    auto options = sized<ggufx_step_options>();
    options.progress = &cancel;
    auto event = sized<ggufx_event>();
    ggufx_error error;
    ggufx_status status = ggufx_generator_next(&event, generator, &options, &error);
    if (status == GGUFX_E_CANCELLED) {
        ggufx_generator_cancel(generator);
        status = ggufx_generator_next(&event, generator, nullptr, &error);
    }
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    if (event.kind == GGUFX_EVENT_END && event.end == GGUFX_END_ERROR)
        throw Failure(exit_code(event.status), std::string(view(event.text)));
    return event;
}

const char *finish_reason(ggufx_end end) {
    return end == GGUFX_END_LENGTH || end == GGUFX_END_CONTEXT ? "length" : "stop";
}

std::string context_full_text(size_t n_context, const std::string &option) {
    return fmt::format("generation stopped: the context of {} tokens is full{}", n_context,
                       option.empty() ? "" : " (use " + option + " N)");
}

} // namespace ggufx::cli
