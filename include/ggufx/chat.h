/*
 * ggufx/chat.h: conversations as the template of a model writes them.
 *
 * A file's `tokenizer.chat_template` is a program in Jinja, run here with Python's meaning,
 * trim_blocks and lstrip_blocks on, and bounds: steps, memory, text and depth. Files without one
 * have formats by name. Each byte of a rendered text is the template's or a user's: what stands in
 * messages, tools and variables is a user's, whatever the template does with it; but for the usual
 * names of roles, and for variables that name special tokens (bos_token, eos_token, unk_token,
 * pad_token, sep_token, cls_token, mask_token).
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_CHAT_H
#define GGUFX_CHAT_H

#include "file.h"
#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled template, immutable. */
typedef struct ggufx_chat ggufx_chat;

/* Texts are UTF-8 with their lengths in bytes; NULL where there is none. */
typedef struct ggufx_chat_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    const char *text; /* a template; NULL: that of the file, or `format` */
    size_t text_length;
    const char *name; /* of the file's: tokenizer.chat_template.NAME, such as "tool_use" */
    size_t name_length;
    const char *format; /* a built-in format, such as "chatml", in place of a template */
    size_t format_length;
    const char *bos_token; /* texts that the template finds as bos_token and eos_token; NULL: */
    size_t bos_token_length;
    const char *eos_token; /* those of the file, if there is one */
    size_t eos_token_length;
    uint64_t reserved[4];
} ggufx_chat_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_chat_options_init(ggufx_chat_options *options);

/*
 * Compile the template of options->text, of a built-in format, or else of a file, which the call
 * reads and does not keep. file may be NULL where it is not needed, options may be NULL. Time and
 * memory are linear in the template's size, of 16 MiB at most.
 * Errors: ARGUMENT (neither a template nor a file, or two of text, name and format), LIMIT (size,
 * blocks or expressions within each other), MALFORMED, UNSUPPORTED (include, import, extends and
 * their like): the text has line and column, offset is the byte of the template; KVTYPE,
 * NOT_FOUND (no such format, no template in the file), MEMORY.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_create(ggufx_chat **out, const ggufx_runtime *rt,
                                         const ggufx_file *file, const ggufx_chat_options *options,
                                         ggufx_error *error);
/* Drop the caller's reference.   Threads: exclusive on chat.   Since: 0.1. */
GGUFX_API void ggufx_chat_destroy(ggufx_chat *chat);

/* Name of built-in format `index`, NULL behind the last; valid for ever.   Threads: any.
 * Since: 0.1. */
GGUFX_API const char *ggufx_chat_format_name(size_t index);

/* A turn. Members that templates know beside these stand in `more`: name, tool_call_id,
 * reasoning_content. */
typedef struct ggufx_chat_message {
    const char *role; /* "system", "user", "assistant", "tool" */
    size_t role_length;
    const char *content; /* NULL: null, unless there are parts */
    size_t content_length;
    const char *parts; /* JSON array in place of content: [{"type": "text", "text": "..."}] */
    size_t parts_length;
    const char *tool_calls; /* JSON array: [{"type": "function", "function": {...}}] */
    size_t tool_calls_length;
    const char *more; /* JSON object */
    size_t more_length;
} ggufx_chat_message;

#define GGUFX_CHAT_GENERATE 1u  /* add_generation_prompt: open the assistant's turn */
#define GGUFX_CHAT_THINK 2u     /* enable_thinking is true */
#define GGUFX_CHAT_NO_THINK 4u  /* it is false; with neither it is not defined */
#define GGUFX_CHAT_CLOCK 8u     /* `clock` is set: strftime_now is there */
#define GGUFX_CHAT_CONTINUE 16u /* the last message goes on: its text ends the rendered text */

/* Texts are UTF-8 with their lengths in bytes; NULL: the variable is not defined. */
typedef struct ggufx_chat_request {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_CHAT_* */
    const void *next;
    const ggufx_chat_message *messages; /* [n_messages] */
    size_t n_messages;
    size_t message_size;       /* bytes from one to the next; 0 = sizeof(ggufx_chat_message) */
    const char *messages_json; /* in place of messages: a JSON array of all */
    size_t messages_json_length;
    const char *tools; /* JSON array of functions */
    size_t tools_length;
    const char *documents; /* JSON array */
    size_t documents_length;
    const char *variables; /* JSON object: any others, and those above by their names */
    size_t variables_length;
    const char *reasoning_effort; /* "none", "minimal", "low", "medium", "high", "xhigh" */
    size_t reasoning_effort_length;
    int64_t clock;       /* seconds since 1970-01-01 00:00 in the time of day to be shown */
    uint64_t max_steps;  /* of the template; 0 = 1,000,000 and 128 per byte of all the input */
    uint64_t max_memory; /* bytes of its values; 0 = 32 MiB and 64 per byte */
    uint64_t max_output; /* bytes of text; 0 = 32 MiB and 16 per byte */
    uint64_t reserved[4];
} ggufx_chat_request;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_chat_request_init(ggufx_chat_request *request);

/* Bytes of a rendered text that one side wrote: from the end of the run before up to `end`. */
typedef struct ggufx_chat_run {
    uint64_t end;  /* byte behind the last one */
    uint64_t user; /* 1: from messages, tools or variables; 0: the template's */
} ggufx_chat_run;

/*
 * Render a conversation. Writes at most `capacity` bytes of text (no NUL) and `run_capacity` runs,
 * neighbours of different kinds, and always sets *out_needed and *out_runs_needed; CAPACITY when
 * one of them is larger. out_runs and out_runs_needed may be NULL. A template that calls
 * raise_exception() fails with MISMATCH and its text; VALUE is a fault of the template with
 * these values: an undefined variable, a wrong type; the text has line and column, offset is the
 * byte of the template. JSON is read strictly (RFC 8259, 96 levels); of equal names the last one
 * counts, an integer beyond 64 bits becomes a float.
 * Messages are put into the form that the template takes, where its own form fails or loses text:
 * arguments of calls ("", null and absent ones are {}) are an object or JSON text; the absent
 * content of a message with calls is "" or null; lists of text parts stay, or are joined. Where a
 * template fails, it is run again with descriptions, parameters, ids of nine letters and digits,
 * and names of results filled in, and one system message at the begin; then with one call a
 * message. Arguments that are no JSON object are MALFORMED where the template wants one; the
 * message names them, index is the message.
 * With GGUFX_CHAT_CONTINUE, and without GGUFX_CHAT_GENERATE, the text ends after the content of the
 * last message, or after its reasoning_content where that is all it has: the model goes on with it.
 * Errors: ARGUMENT, CAPACITY, LIMIT (steps, memory, text or depth), MALFORMED (JSON, UTF-8: offset
 * is the byte of that text, index the message), MEMORY, MISMATCH, UNSUPPORTED (also a template that
 * does not write the text of a message to be continued), VALUE.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_render(char *out, size_t capacity, size_t *out_needed,
                                         ggufx_chat_run *out_runs, size_t run_capacity,
                                         size_t *out_runs_needed, const ggufx_chat *chat,
                                         const ggufx_chat_request *request, ggufx_error *error);

/*
 * Render a conversation and give its token ids: text of users never becomes a control token. Such
 * tokens (GGUFX_TOKEN_CONTROL and GGUFX_TOKEN_UNKNOWN; also those of channels and messages that a
 * model shows, which are GGUFX_TOKEN_USER) are found where the template wrote all of their bytes;
 * what looks like one elsewhere is text. So are user-defined tokens whose texts stand in the
 * template's own text or strings, or are marks of its outputs ("<think>"), unless they are white
 * space or one character; all others count in any text. Where there is no such text, the ids are
 * those of ggufx_tokenize of all the text with PARSE_SPECIAL. With GGUFX_TOKENIZE_ADD_SPECIAL in
 * `flags` BOS stands in front where the file asks for it, once; nothing is put behind. Writes at
 * most `capacity` ids and always sets *out_needed; CAPACITY when that is larger.
 * Errors: as ggufx_chat_render, and as ggufx_tokenize (VOCAB also where only a control token has
 * the text of a byte).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_tokenize(int32_t *out_ids, size_t capacity, size_t *out_needed,
                                           const ggufx_chat *chat, const ggufx_tokenizer *tokenizer,
                                           const ggufx_chat_request *request, uint32_t flags,
                                           ggufx_error *error);

/* ---- output of a model ---------------------------------------------------------------------- */

#define GGUFX_CHAT_TAKES_TOOLS 1u /* the template reads the tools of a request */
#define GGUFX_CHAT_CALLS 2u       /* tool calls that its models write are recognized */
#define GGUFX_CHAT_REASONS 4u     /* so is reasoning */
#define GGUFX_CHAT_CHANNELS 8u    /* end-of-generation tokens separate the channels of an answer */

/* Forms of tool calls. */
enum {
    GGUFX_CHAT_CALL_NONE = 0,   /* not known, or messages of GGUFX_CHAT_CHANNELS */
    GGUFX_CHAT_CALL_OBJECT = 1, /* {"name": NAME, "arguments": {...}} */
    GGUFX_CHAT_CALL_KEYED = 2,  /* {NAME: {...}} */
    GGUFX_CHAT_CALL_NAMED = 3,  /* NAME, a separator, the arguments */
    GGUFX_CHAT_CALL_TAGGED = 4  /* NAME, then each parameter between markers */
};
/* Notations of the arguments of GGUFX_CHAT_CALL_NAMED. */
enum {
    GGUFX_CHAT_NOTATION_JSON = 0,
    GGUFX_CHAT_NOTATION_PYTHON = 1, /* (key=value, ...) */
    GGUFX_CHAT_NOTATION_QUOTED = 2  /* {key:value, ...}, strings between `call_quote` */
};

/*
 * Format of reasoning and tool calls that the models of a template write. The texts end with NUL,
 * are never NULL and live as long as the template. A call is call_prefix, the name, call_middle,
 * the arguments and call_end. Arguments are a JSON object. For GGUFX_CHAT_CALL_TAGGED they are, for
 * each parameter: call_before_key, its name, call_after_key, the value and call_after_value.
 * "ggufxid01" in a prefix or middle stands for the id of the call.
 */
typedef struct ggufx_chat_facts {
    uint32_t struct_size;             /* set by the caller */
    uint32_t flags;                   /* GGUFX_CHAT_TAKES_TOOLS, _CALLS, _REASONS, _CHANNELS */
    uint32_t call_form;               /* GGUFX_CHAT_CALL_* */
    uint32_t call_notation;           /* GGUFX_CHAT_NOTATION_* */
    const char *reasoning_open;       /* the first pair of markers, or "" */
    const char *reasoning_close;      /* the other marker of that pair */
    const char *call_prefix;          /* before the name; the markers of a call */
    const char *call_middle;          /* between the name and the arguments */
    const char *call_end;             /* after the arguments; also ends a list of calls */
    const char *call_before_key;      /* before the name of a parameter */
    const char *call_after_key;       /* between that name and the value */
    const char *call_after_key_other; /* the same before a value that is no string, unless empty */
    const char *call_after_value;     /* after the value of a parameter */
    const char *call_quote;           /* around strings, for GGUFX_CHAT_NOTATION_QUOTED */
} ggufx_chat_facts;

/* Describe a template. Rendering a conversation with known calls shows their format; a template
 * that does not write them may name markers that are known.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_chat_info(ggufx_chat_facts *out, const ggufx_chat *chat,
                                       ggufx_error *error);

/* Splits a model's output as it comes into answer, reasoning and tool calls; exclusive. */
typedef struct ggufx_chat_parser ggufx_chat_parser;

enum {
    GGUFX_CHAT_ANSWER = 1,
    GGUFX_CHAT_REASONING = 2,
    GGUFX_CHAT_CALL_NAME = 3,      /* of a tool: a call begins; one piece */
    GGUFX_CHAT_CALL_ARGUMENTS = 4, /* a JSON object */
    GGUFX_CHAT_CALL_ID = 5         /* that the model wrote; one piece, before the arguments */
};

#define GGUFX_CHAT_PARSER_NO_CALLS 1u       /* tool calls are text of the answer */
#define GGUFX_CHAT_PARSER_KEEP_REASONING 2u /* so is reasoning, with its markers */

typedef struct ggufx_chat_parser_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_CHAT_PARSER_NO_CALLS, _KEEP_REASONING */
    const void *next;
    const ggufx_chat *chat; /* the template whose format counts; NULL: all output is answer */
    const char *prompt;     /* as rendered, or its end: it may have opened reasoning or a call */
    size_t prompt_length;
    const char *tools; /* JSON array of the request's tools: types of parameters; NULL: none */
    size_t tools_length;
    void *user;
    /* Gets a piece of text, never empty and never a part of a character; `call` counts the calls
     * from 0. It returns 0, else the call that runs ends with CANCELLED. */
    int32_t (*event)(void *user, uint32_t kind, uint64_t call, const char *text, size_t length);
    uint64_t reserved[4];
} ggufx_chat_parser_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_chat_parser_options_init(ggufx_chat_parser_options *options);

/* Create a parser; `event` must be set. The template may be destroyed before it.
 * Errors: ARGUMENT, LIMIT and MALFORMED (tools), MEMORY, UNSUPPORTED (tools are given, and how the
 * template's models write calls is not known: GGUFX_CHAT_PARSER_NO_CALLS leaves them text).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_chat_parser_create(ggufx_chat_parser **out, const ggufx_runtime *rt,
                                                const ggufx_chat_parser_options *options,
                                                ggufx_error *error);
/* Drop the caller's reference.   Threads: exclusive on parser.   Since: 0.1. */
GGUFX_API void ggufx_chat_parser_destroy(ggufx_chat_parser *parser);

/*
 * Parse the next bytes of the output, with special tokens written (GGUFX_DETOKENIZE_KEEP_SPECIAL);
 * events come from within the call. Wherever the output is cut into pieces, the text of each kind
 * and call is the same. Bytes that may become a marker are held back, a call until it is whole
 * (16 MiB at most). Bytes that are no UTF-8 become U+FFFD. Line breaks beside markers are dropped.
 * Text that is no whole call is answer.
 *
 * Arguments are a JSON object: no arguments, null and an empty text become {}. Values between
 * markers get their types from the tool's schema. A parameter that may be a string is one,
 * whatever it looks like (null where the schema allows null). Others are read as JSON or as a
 * Python literal; numbers keep all digits. Without a schema a value that is JSON counts as such.
 * Of parameters given twice in an object the last one counts. Parameters outside of the schema are
 * passed on, those missing stay missing. A value that quotes markers ends at the first legal end:
 * markers of calls within it nest. A parameter that the schema does not have, or that came before,
 * begins only where the white space is the template's own.
 *
 * A call within reasoning that nobody closed ends the reasoning, unless text follows it.
 * Errors: ARGUMENT, CANCELLED, MEMORY, STATE (after finish, or after a call that failed).
 * Threads: exclusive on parser.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_parser_feed(ggufx_chat_parser *parser, const char *text,
                                              size_t length, ggufx_error *error);
/* End the output: held bytes become events. Errors: as ggufx_chat_parser_feed.
 * Threads: exclusive on parser.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_chat_parser_finish(ggufx_chat_parser *parser, ggufx_error *error);

#define GGUFX_CHAT_PARSER_REASONING 1u /* the output is within reasoning */

typedef struct ggufx_chat_parser_facts {
    uint32_t struct_size;        /* set by the caller */
    uint32_t flags;              /* GGUFX_CHAT_PARSER_REASONING */
    uint64_t n_calls;            /* that came so far */
    const char *reasoning_close; /* marker that ends that reasoning; lives as long as the parser */
} ggufx_chat_parser_facts;

/* Describe a parser's position in the output.
 * Errors: ARGUMENT.   Threads: shared on parser.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_chat_parser_info(ggufx_chat_parser_facts *out,
                                              const ggufx_chat_parser *parser, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
