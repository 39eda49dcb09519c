/*
 * Reading the events of a parser: for (ggufx_event event; next_event(&event, parser);) ...
 * SPDX-License-Identifier: MIT
 */
#ifndef PARSER_EVENTS_H
#define PARSER_EVENTS_H

#include <ggufx/chat.h>

#include <stdlib.h>
#include <string.h>

static inline int next_event(ggufx_event *out, ggufx_chat_parser *parser) {
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    if (ggufx_chat_parser_poll(out, parser, NULL) != GGUFX_OK) abort();
    return out->kind != GGUFX_EVENT_NONE;
}

#endif
