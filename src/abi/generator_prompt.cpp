// Prompts of generators: include/ggufx/generator.h.
// SPDX-License-Identifier: MIT
#include "abi/generator_handle.hpp"
#include "abi/guard.hpp"
#include "abi/options.hpp"

#include <inttypes.h>
#include <math.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

constexpr uint32_t kPromptFlags = GGUFX_PROMPT_APPEND | GGUFX_PROMPT_PARSE_SPECIAL |
                                  GGUFX_PROMPT_CHECKPOINT | GGUFX_PROMPT_REUSE_ANSWERS |
                                  GGUFX_PROMPT_KEEP_RANDOM;

// Adds tokens of texts, ids and rows to a prompt.
class PromptReader {
public:
    PromptReader(generate::Prompt &out, const ggufx_generator &generator, uint32_t flags)
        : out_(out), generator_(generator), flags_(flags),
          mode_(generator.generator.prompt_mode()) {}

    void add_text(std::string_view text, bool adds_special) {
        if (!generator_.tokenizer)
            fail(Status::unsupported, {},
                 "GGUFX_GENERATOR_IDS_ONLY: the prompt must be token ids or rows");
        const model::Tokenizer &tokenizer = generator_.tokenizer->tokenizer;
        model::TokenizeOptions options;
        options.add_special = adds_special && (flags_ & GGUFX_PROMPT_APPEND) == 0;
        options.parse_special = (flags_ & GGUFX_PROMPT_PARSE_SPECIAL) != 0;
        model::Ids ids(tokenizer.vocab().host().get());
        tokenizer.tokenize(ids, text, options);
        Vector<int32_t> list(ids.size(), 0, out_.tokens.ids.get_allocator());
        ids.copy(list.data(), 0, list.size());
        out_.tokens.add(list.data(), list.size(), mode_);
    }
    void add_tokens(const int32_t *tokens, size_t n) { out_.tokens.add(tokens, n, mode_); }
    void add_rows(const float *rows, size_t n) {
        const uint32_t width = generator_.session->model->model.shape().n_embd;
        if (n == 0 || n % width != 0)
            fail(Status::argument, {}, "rows must hold [][%" PRIu32 "] floats, n_rows is %" PRIu64,
                 width, static_cast<uint64_t>(n));
        for (size_t i = 0; i < n; i++)
            if (!isfinite(rows[i]))
                fail(Status::value, {kNone, i}, "value %" PRIu64 " of the rows is not finite",
                     static_cast<uint64_t>(i));
        out_.tokens.add_rows(rows, n, width, mode_);
    }
    void add_part(const ggufx_prompt_part &part, size_t index) {
        const std::string_view text = import_text(part.text, "ggufx_prompt_part.text");
        const int n =
            (part.text.data != nullptr) + (part.tokens != nullptr) + (part.rows != nullptr);
        if (n != 1 || (!part.tokens && part.n_tokens) || (!part.rows && part.n_rows))
            fail(Status::argument, {kNone, index},
                 "part %" PRIu64 " of the prompt must have one of text, tokens and rows",
                 static_cast<uint64_t>(index));
        if (part.tokens) return add_tokens(part.tokens, part.n_tokens);
        if (part.rows) return add_rows(part.rows, part.n_rows);
        add_text(text, index == 0);
    }

private:
    generate::Prompt &out_;
    const ggufx_generator &generator_;
    const uint32_t flags_;
    const uint8_t mode_;
};

void read_prompt(generate::Prompt &out, const ggufx_generator &generator, const ggufx_prompt &in) {
    const std::string_view text = import_text(in.text, "ggufx_prompt.text");
    require(in.tokens || in.n_tokens == 0, "ggufx_prompt.tokens must be set");
    require(in.parts || in.n_parts == 0, "ggufx_prompt.parts must be set");
    const int n = (in.text.data != nullptr) + (in.tokens != nullptr) + (in.messages != nullptr) +
                  (in.parts != nullptr) + (in.chat != nullptr);
    out.appends = (in.flags & GGUFX_PROMPT_APPEND) != 0;
    out.marks = (in.flags & GGUFX_PROMPT_CHECKPOINT) != 0;
    out.any_mode = (in.flags & GGUFX_PROMPT_REUSE_ANSWERS) != 0;
    out.keeps_random = (in.flags & GGUFX_PROMPT_KEEP_RANDOM) != 0;
    if (in.messages) import_messages(out, generator, *in.messages);
    if (in.chat) import_chat_prompt(out, generator, in.chat);
    const StructList<ggufx_prompt_part> parts(in.parts, in.n_parts, 0, "ggufx_prompt_part");
    require(n == 1 || (n == 0 && out.appends),
            "ggufx_prompt must have one of text, tokens, messages, parts and chat");
    PromptReader reader(out, generator, in.flags);
    if (in.text.data) reader.add_text(text, true);
    if (in.tokens) reader.add_tokens(in.tokens, in.n_tokens);
    for (size_t i = 0; i < parts.size(); i++) reader.add_part(parts.at(i), i);
}

} // namespace

extern "C" ggufx_status ggufx_generator_set_prompt(ggufx_generator *generator,
                                                   const ggufx_prompt *prompt, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(generator, Tag::generator) && prompt, "generator and prompt must be set");
        const auto in = import_options(prompt, kPromptFlags, "ggufx_prompt");
        generate::Prompt out(generator->session->model->model.host().get());
        read_prompt(out, *generator, in);
        generator->generator.set_prompt(std::move(out));
    });
}
