/*
 * ggufx/event.h: output of a model in pieces: text, reasoning, tool calls, end.
 *
 * Generators (generator.h) and parsers (chat.h) give events.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_EVENT_H
#define GGUFX_EVENT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kind of an event. */
typedef uint32_t ggufx_event_kind;
enum {
    GGUFX_EVENT_NONE = 0,           /* nothing yet */
    GGUFX_EVENT_TEXT = 1,           /* a piece of the answer */
    GGUFX_EVENT_REASONING = 2,      /* a piece of the reasoning */
    GGUFX_EVENT_TOOL_CALL = 3,      /* a tool call begins: text is the name of the function */
    GGUFX_EVENT_TOOL_ARGUMENTS = 4, /* a piece of its arguments, a JSON object */
    GGUFX_EVENT_PROMPT = 5,         /* the prompt was computed */
    GGUFX_EVENT_END = 6,            /* the last event */
    GGUFX_EVENT_TOOL_ID = 7         /* the id of a tool call, if the model wrote one */
};

/* Reason for which a generation has ended. */
typedef uint32_t ggufx_end;
enum {
    GGUFX_END_NONE = 0,      /* it has not */
    GGUFX_END_EOG = 1,       /* an end-of-generation token */
    GGUFX_END_STOP = 2,      /* a stop string */
    GGUFX_END_LENGTH = 3,    /* max_tokens */
    GGUFX_END_CONTEXT = 4,   /* the context is full */
    GGUFX_END_GRAMMAR = 5,   /* the grammar allows no further token */
    GGUFX_END_CANCELLED = 6, /* ggufx_generator_cancel */
    GGUFX_END_ERROR = 7,     /* a fault of this generator alone */
    GGUFX_END_TOOL_CALL = 8  /* the one tool call is complete: see ggufx_chat_prompt_options */
};

/* A token with its log-probability. It never grows. */
typedef struct ggufx_logprob {
    int32_t id;    /* token of the vocabulary */
    float logprob; /* natural logarithm, before samplers and grammar */
} ggufx_logprob;

/* A token of an event. It never grows. */
typedef struct ggufx_event_token {
    int32_t id; /* token of the vocabulary */
    /* as in ggufx_logprob, with GGUFX_GENERATOR_LOGPROBS or n_logprobs; else 0, as is that of the
     * first token of a prompt */
    float logprob;
    uint64_t offset;          /* position of its first byte among all bytes of the output */
    const ggufx_logprob *top; /* the likeliest, by rank */
    size_t n_top;
} ggufx_event_token;

/*
 * An event. Texts have whole characters: invalid UTF-8 becomes U+FFFD. They contain no part of a
 * stop string and no end-of-generation token. A parser gives TEXT, REASONING, TOOL_CALL, TOOL_ID
 * and TOOL_ARGUMENTS, without tokens.
 */
typedef struct ggufx_event {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    ggufx_event_kind kind;
    ggufx_end end;       /* why it has ended, for END */
    ggufx_status status; /* with GGUFX_END_ERROR; text is its message */
    uint32_t index;      /* number of the tool call, or of the stop string */
    ggufx_text text;     /* valid until the next call with the same object */
    /* as long: tokens whose last byte was shown by this event. END has those that were not shown,
     * such as an end-of-generation token, without those of the stop string */
    const ggufx_event_token *tokens;
    size_t n_tokens;
} ggufx_event;

#ifdef __cplusplus
}
#endif

#endif
