// Handles of include/ggufx/chat.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/handles.hpp"
#include "chat/chat.hpp"
#include "chat/output.hpp"

struct ggufx_chat {
    ggufx::abi::Tag tag = ggufx::abi::Tag::chat;
    ggufx::chat::Template program;
    ggufx::Ref<ggufx::chat::OutputFormat> format; // output format of the template's models
    ggufx_chat(const ggufx::Ref<ggufx::Host> &host, std::string_view source, std::string_view bos,
               std::string_view eos)
        : program(host, source, bos, eos), format(ggufx::chat::find_output_format(program)) {}
};

struct ggufx_chat_parser {
    ggufx::abi::Tag tag = ggufx::abi::Tag::chat_parser;
    ggufx::chat::OutputParser parser;
    ggufx_chat_parser(const ggufx::Ref<ggufx::Host> &host,
                      ggufx::Ref<ggufx::chat::OutputFormat> format,
                      const ggufx::chat::ParserOptions &options, const ggufx::chat::Sink &sink)
        : parser(host, std::move(format), options, sink) {}
};
