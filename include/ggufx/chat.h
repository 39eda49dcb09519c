/*
 * ggufx/chat.h: chat templates, and a parser for reasoning and tool calls in a model's output.
 *
 * The key `tokenizer.chat_template` of a file is a Jinja program. It is run with Python's
 * semantics, with trim_blocks and lstrip_blocks, within limits of steps, memory, output and depth.
 * Files without one use a built-in format by name.
 *
 * Each byte of a rendered prompt belongs to the template or to the user. The user's bytes are those
 * of messages, tools and variables, whatever the template does with them. Exceptions, which belong
 * to the template:
 *
 * - the usual names of roles
 * - variables that name special tokens: bos_token, eos_token, unk_token, pad_token, sep_token,
 *   cls_token, mask_token
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_CHAT_H
#define GGUFX_CHAT_H

#include "event.h"
#include "file.h"
#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled template. Immutable. */
typedef struct ggufx_chat_template ggufx_chat_template;

/* Options of a template. Texts are UTF-8. */
typedef struct ggufx_chat_template_options {
    uint32_t struct_size;
    uint32_t flags;    /* 0 */
    ggufx_text text;   /* a template; absent: that of the file, or `format` */
    ggufx_text name;   /* a named template of the file, tokenizer.chat_template.NAME: "tool_use" */
    ggufx_text format; /* a built-in format in place of a template: "chatml" */
    ggufx_text bos_token; /* the variable bos_token; absent: that of the file, if it has one */
    ggufx_text eos_token; /* the variable eos_token; absent: that of the file, if it has one */
} ggufx_chat_template_options;

/*
 * Compiles a chat template: options->text, a built-in format, or else the template of a file.
 *
 * file  {null} read by the call and not kept; NULL if it is not needed.
 *
 * options may be NULL. Time and memory are linear in the size of the template, which is at most 16
 * MiB.
 *
 * Errors:
 * - ARGUMENT: neither a template nor a file; two of text, name and format.
 * - LIMIT: the size, or the nesting of blocks or expressions.
 * - MALFORMED, UNSUPPORTED (include, import, extends and similar). The message has line and column;
 *   offset is the byte of the template.
 * - VALUE_TYPE, MEMORY.
 * - NOT_FOUND: no such format, no template in the file.
 *
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_template_create(ggufx_chat_template **out,
                                                  const ggufx_runtime *rt, const ggufx_file *file,
                                                  const ggufx_chat_template_options *options,
                                                  ggufx_error *error);
/* Releases the caller's reference.   Threads: exclusive on chat.   Since: 0.1. */
GGUFX_API void ggufx_chat_template_destroy(ggufx_chat_template *chat);

/*
 * Returns the name of built-in format `index`, or NULL after the last one.
 *
 * The name is valid for the life of the process.
 *
 * Threads: any.   Since: 0.1.
 */
GGUFX_API const char *ggufx_chat_template_builtin_name(size_t index);

/* A message of a conversation. Texts are UTF-8. `extra` has further members that templates read:
 * name, tool_call_id, reasoning_content. */
typedef struct ggufx_chat_message {
    uint32_t struct_size;  /* that of the first message is the distance of all */
    uint32_t flags;        /* 0 */
    ggufx_text role;       /* "system", "user", "assistant" or "tool" */
    ggufx_text content;    /* absent: null, unless there are parts */
    ggufx_text parts;      /* JSON array in place of content: [{"type": "text", "text": "..."}] */
    ggufx_text tool_calls; /* JSON array: [{"type": "function", "function": {...}}] */
    ggufx_text extra;      /* JSON object */
} ggufx_chat_message;

/* Flags of a rendering. */
typedef uint32_t ggufx_chat_flags;
#define GGUFX_CHAT_GENERATE 1u /* add_generation_prompt: opens the turn of the assistant */
#define GGUFX_CHAT_THINK 2u    /* enable_thinking is true */
#define GGUFX_CHAT_NO_THINK 4u /* enable_thinking is false; undefined without both flags */
#define GGUFX_CHAT_CLOCK 8u    /* `unix_time` is set; defines strftime_now */
/* the model continues the last message; the prompt ends with its content */
#define GGUFX_CHAT_CONTINUE 16u

/* Input of a chat template. Texts are UTF-8; absent: the variable is undefined. A step takes about
 * 20 ns, and a function of the template takes steps by the bytes that it reads and writes. */
typedef struct ggufx_chat_request {
    uint32_t struct_size;
    ggufx_chat_flags flags;
    const ggufx_chat_message *messages; /* [n_messages] */
    size_t n_messages;
    ggufx_text messages_json;    /* JSON array of all messages, in place of `messages` */
    ggufx_text tools;            /* JSON array of functions */
    ggufx_text documents;        /* JSON array */
    ggufx_text variables;        /* JSON object of further variables; may also name those above */
    ggufx_text reasoning_effort; /* "none", "minimal", "low", "medium", "high", "xhigh" */
    int64_t unix_time;           /* local time as seconds since 1970-01-01 00:00 */
    uint64_t max_steps;  /* steps of the template; 0 = 1,000,000, plus 128 per byte of input */
    uint64_t max_memory; /* bytes of its values; 0 = 32 MiB, plus 64 per byte of input */
    uint64_t max_output; /* bytes of output; 0 = 32 MiB, plus 16 per byte of input */
    /* steps done, of an unknown total; NULL: cannot be cancelled */
    const ggufx_progress *progress;
} ggufx_chat_request;

/* A span of prompt bytes with one origin, from the end of the previous span up to `end`. */
typedef struct ggufx_chat_span {
    uint64_t end;  /* offset after its last byte */
    uint64_t user; /* 1: from messages, tools or variables; 0: from the template */
} ggufx_chat_span;

/*
 * Renders a conversation as a prompt.
 *
 * Writes at most `capacity` bytes (no NUL) and always sets *out_needed; CAPACITY if that is larger.
 * ggufx_chat_template_spans tells which bytes came from users.
 *
 * JSON is parsed strictly (RFC 8259, 96 levels). The last of equal names counts. An integer beyond
 * 64 bits becomes a float.
 *
 * Messages are converted to the form that the template supports, if their own form fails or loses
 * content:
 *
 * - Arguments of calls are an object or JSON text. "", null and absent arguments are {}. Arguments
 *   that are no JSON object are MALFORMED if the template wants one; the message quotes them, index
 *   is the message.
 * - An absent content of a message with calls is "" or null.
 * - Lists of text parts stay lists, or are joined.
 * - Calls that a template leaves out become a part of the content, in the form that its models
 *   write (ggufx_chat_template_info). Results that a template leaves out stay left out.
 *
 * If a template fails, it is run a second time, with the same limits. That run fills in missing
 * descriptions, parameters, call ids (nine letters and digits) and names of results. It merges
 * system messages into one at the start. A third run has one call per message.
 *
 * With GGUFX_CHAT_CONTINUE, and without GGUFX_CHAT_GENERATE, the prompt ends after the content of
 * the last message, so that the model continues it. If it only has reasoning_content, the prompt
 * ends after that.
 *
 * Errors:
 * - ARGUMENT, CANCELLED, CAPACITY, MEMORY.
 * - LIMIT: steps, memory, output or depth.
 * - MALFORMED: JSON or UTF-8. offset is the byte of that string, index the message.
 * - MISMATCH: the template called raise_exception(); the error has its message.
 * - UNSUPPORTED: also a template that does not write the content of a message to continue.
 * - VALUE: the template fails for these values, by an undefined variable or a wrong type. The
 *   message has line and column; offset is the byte of the template.
 *
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_template_render(char *out, size_t capacity, size_t *out_needed,
                                                  const ggufx_chat_template *chat,
                                                  const ggufx_chat_request *request,
                                                  ggufx_error *error);

/*
 * Renders a conversation and returns the spans of the prompt; neighbouring spans differ in origin.
 *
 * Writes at most `capacity` spans and always sets *out_needed; CAPACITY if that is larger.
 *
 * Errors: as ggufx_chat_template_render.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_template_spans(ggufx_chat_span *out, size_t capacity,
                                                 size_t *out_needed,
                                                 const ggufx_chat_template *chat,
                                                 const ggufx_chat_request *request,
                                                 ggufx_error *error);

/*
 * Renders a conversation and tokenizes it, so that text of the user never becomes a control token.
 *
 * A control token is recognized only if the template wrote all of its bytes; elsewhere it is plain
 * text. This holds for:
 *
 * - GGUFX_TOKEN_CONTROL and GGUFX_TOKEN_UNKNOWN, and GGUFX_TOKEN_USER_DEFINED tokens that separate
 *   channels or messages
 * - other user-defined tokens whose text is in the template, in its strings, or is a marker of the
 *   output ("<think>"). White space and single characters are excluded.
 *
 * All other user-defined tokens are recognized everywhere. Without such tokens in the messages the
 * ids are those of ggufx_tokenize with GGUFX_TOKENIZE_PARSE_SPECIAL.
 *
 * request->progress is also polled between tokens that are recognized as a whole.
 *
 * With GGUFX_TOKENIZE_ADD_SPECIAL in `flags`, BOS is added once at the start if the file asks for
 * it; nothing is added at the end. Writes at most `capacity` ids and always sets *out_needed;
 * CAPACITY if that is larger.
 *
 * Errors: as ggufx_chat_template_render and ggufx_tokenize. VOCAB also if only a control token has
 * the text of a byte.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_template_tokenize(int32_t *out_ids, size_t capacity,
                                                    size_t *out_needed,
                                                    const ggufx_chat_template *chat,
                                                    const ggufx_tokenizer *tokenizer,
                                                    const ggufx_chat_request *request,
                                                    ggufx_tokenize_flags flags, ggufx_error *error);

/* ---- output of a model ---------------------------------------------------------------------- */

/* Features of a template. */
typedef uint32_t ggufx_chat_features;
#define GGUFX_CHAT_TAKES_TOOLS 1u /* the template reads the tools of a request */
#define GGUFX_CHAT_CALLS 2u       /* tool calls of its models are recognized */
#define GGUFX_CHAT_REASONS 4u     /* reasoning of its models is recognized */
#define GGUFX_CHAT_CHANNELS 8u    /* end-of-generation tokens separate the channels of an answer */

/* Forms of tool calls. */
typedef uint32_t ggufx_chat_call_form;
enum {
    GGUFX_CHAT_CALL_NONE = 0,   /* not known, or messages of GGUFX_CHAT_CHANNELS */
    GGUFX_CHAT_CALL_OBJECT = 1, /* {"name": NAME, "arguments": {...}} */
    GGUFX_CHAT_CALL_KEYED = 2,  /* {NAME: {...}} */
    GGUFX_CHAT_CALL_NAMED = 3,  /* NAME, a separator, the arguments */
    GGUFX_CHAT_CALL_TAGGED = 4  /* NAME, then each parameter between markers */
};

/* Notations of the arguments of GGUFX_CHAT_CALL_NAMED. */
typedef uint32_t ggufx_chat_notation;
enum {
    GGUFX_CHAT_NOTATION_JSON = 0,
    GGUFX_CHAT_NOTATION_PYTHON = 1, /* (key=value, ...) */
    GGUFX_CHAT_NOTATION_QUOTED = 2  /* {key:value, ...}, strings between `call_quote` */
};

/*
 * Format of the reasoning and tool calls that models of a template write.
 *
 * Strings end with NUL, are never NULL and live as long as the template. A call consists of
 * call_prefix, the name, call_middle, the arguments and call_end. "ggufxid01" in a prefix or middle
 * stands for the id of the call.
 *
 * Arguments are a JSON object. For GGUFX_CHAT_CALL_TAGGED each parameter consists of
 * call_before_key, its name, call_after_key, the value and call_after_value.
 */
typedef struct ggufx_chat_template_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_chat_features flags;
    ggufx_chat_call_form call_form;
    ggufx_chat_notation call_notation;
    const char *reasoning_open;  /* opening marker of reasoning, or "" */
    const char *reasoning_close; /* closing marker of reasoning */
    const char *call_prefix;     /* before the name; contains the marker of a call */
    const char *call_middle;     /* between the name and the arguments */
    const char *call_end;        /* after the arguments; also ends a list of calls */
    const char *call_before_key; /* before the name of a parameter */
    const char *call_after_key;  /* between the name of a parameter and its value */
    /* the same before a value that is not a string, unless empty */
    const char *call_after_key_other;
    const char *call_after_value; /* after the value of a parameter */
    const char *call_quote;       /* around strings, for GGUFX_CHAT_NOTATION_QUOTED */
} ggufx_chat_template_facts;

/*
 * Describes a template. out->struct_size must be set.
 *
 * The format of tool calls and reasoning is detected by rendering a conversation with known calls.
 * If the template does not write them, it may contain known markers.
 *
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_template_info(ggufx_chat_template_facts *out,
                                                const ggufx_chat_template *chat,
                                                ggufx_error *error);

/* Splits the output of a model into answer, reasoning and tool calls, while it is generated.
 * Exclusive. */
typedef struct ggufx_chat_parser ggufx_chat_parser;

/* Flags of a parser. */
typedef uint32_t ggufx_chat_parser_flags;
#define GGUFX_CHAT_PARSER_NO_CALLS 1u       /* tool calls are text of the answer */
#define GGUFX_CHAT_PARSER_KEEP_REASONING 2u /* reasoning is text of the answer, with its markers */

typedef struct ggufx_chat_parser_options {
    uint32_t struct_size;
    ggufx_chat_parser_flags flags;
    /* template that decides the format; NULL: all output is answer */
    const ggufx_chat_template *chat;
    ggufx_text prompt; /* the rendered prompt, or its end, which may open reasoning or a call */
    ggufx_text tools;  /* JSON array of the request's tools, for parameter types */
} ggufx_chat_parser_options;

/* Creates a parser. The template may be destroyed before the parser.
 * Errors: ARGUMENT, LIMIT and MALFORMED (tools), MEMORY, UNSUPPORTED (tools are given, but the
 * format of calls is not known; GGUFX_CHAT_PARSER_NO_CALLS leaves them in the answer).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_chat_parser_create(ggufx_chat_parser **out, const ggufx_runtime *rt,
                                                const ggufx_chat_parser_options *options,
                                                ggufx_error *error);
/* Releases the caller's reference.   Threads: exclusive on parser.   Since: 0.1. */
GGUFX_API void ggufx_chat_parser_destroy(ggufx_chat_parser *parser);

/*
 * Parses the next bytes of the output, which must include special tokens
 * (GGUFX_DETOKENIZE_KEEP_SPECIAL).
 *
 * The events wait for ggufx_chat_parser_poll. The pieces into which the output is split do not
 * change the text of a kind or call. Bytes that may become a marker are held back, and a call until
 * it is complete (at most 16 MiB). Invalid UTF-8 becomes U+FFFD. Line breaks beside markers are
 * dropped. An incomplete call is text of the answer.
 *
 * Arguments become a JSON object:
 *
 * - Missing arguments, null and an empty text become {}.
 * - Values between markers get their types from the schema of the tool. A parameter that may be a
 *   string is one, unless it is null and the schema allows null. Others are read as JSON or as a
 *   Python literal; numbers keep all digits.
 * - Without a schema, a value that is valid JSON is read as such.
 * - The last of repeated parameters in an object counts. Parameters outside of the schema are
 *   passed on; missing ones stay missing.
 * - A value that quotes markers ends at the first legal end: markers of calls within it nest. A
 *   parameter that is repeated or not in the schema starts only after the white space of the
 *   template.
 *
 * An unclosed call within reasoning ends the reasoning, unless text follows it.
 *
 * Errors: ARGUMENT, MEMORY, STATE (after finish, or after a failed call).
 * Threads: exclusive on parser.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_parser_feed(ggufx_chat_parser *parser, const char *text,
                                              size_t length, ggufx_error *error);
/* Ends the output; bytes that were held back become events. Errors: as ggufx_chat_parser_feed.
 * Threads: exclusive on parser.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_chat_parser_finish(ggufx_chat_parser *parser, ggufx_error *error);
/* Takes the next event; GGUFX_EVENT_NONE when there is none. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: exclusive on parser.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_chat_parser_poll(ggufx_event *out, ggufx_chat_parser *parser,
                                              ggufx_error *error);

/* State of a parser. */
typedef uint32_t ggufx_chat_parser_state_flags;
#define GGUFX_CHAT_PARSER_REASONING 1u /* the output is within reasoning */

typedef struct ggufx_chat_parser_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_chat_parser_state_flags flags;
    uint64_t n_calls; /* tool calls so far */
    /* marker that ends the current reasoning; lives as long as the parser */
    const char *reasoning_close;
} ggufx_chat_parser_facts;

/* Describes the position of a parser in the output. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_chat_parser_info(ggufx_chat_parser_facts *out,
                                              const ggufx_chat_parser *parser, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
