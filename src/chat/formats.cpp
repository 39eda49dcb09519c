// Table of built-in chat templates: see formats.hpp.
// SPDX-License-Identifier: MIT
#include "chat/formats.hpp"

#include <string.h>

namespace ggufx::chat {

namespace {

struct Format {
    const char *name;
    const char *text;
};

// Macro for the text of a message: its content, its text parts, or an empty text.
#define TEXT                                                                                       \
    "{% macro text(m) %}{% if m.content is string %}{{ m.content }}{% elif m.content %}"           \
    "{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endmacro %}"

const Format kFormats[] = {
#include "chat/formats.inc"
};
#undef TEXT

} // namespace

const char *find_format(std::string_view name) {
    for (const Format &format : kFormats)
        if (name == format.name) return format.text;
    return nullptr;
}

const char *format_name(size_t index) {
    return index < sizeof kFormats / sizeof *kFormats ? kFormats[index].name : nullptr;
}

} // namespace ggufx::chat
