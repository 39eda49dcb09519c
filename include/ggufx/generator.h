/*
 * ggufx/generator.h: generate text: prompt, sampling, grammar, stop strings, reasoning, tool calls.
 *
 * A generator owns the generation loop of one sequence of a session. A program gives it a prompt
 * and reads events. ggufx_session_step computes many generators of a session together (continuous
 * batching).
 *
 * Same bits: the events of a generator depend only on the model, the cache types and products of
 * the session, the prompt, the options and the seed. They depend neither on other generators of a
 * step, nor on time budgets, prompt chunks, drafts, suspension, snapshots or threads. Prompts are
 * computed with GGUFX_MATMUL_TILED, tokens with GGUFX_MATMUL_BATCH_INVARIANT.
 *
 * All or nothing: a call that fails leaves every generator as it was. No token was drawn.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GENERATOR_H
#define GGUFX_GENERATOR_H

#include "chat.h"
#include "grammar.h"
#include "sampler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The generation loop of one sequence. Exclusive, together with its session. Keeps the session, the
 * tokenizer, the grammar and the chat template alive. */
typedef struct ggufx_generator ggufx_generator;

/* Flags of ggufx_generator_options. */
typedef uint32_t ggufx_generator_flags;
enum {
    /* Computes tokens with GGUFX_MATMUL_TILED too: faster from about 10 sequences on. */
    GGUFX_GENERATOR_TILED_DECODE = 1,
    GGUFX_GENERATOR_SPECIAL_TOKENS = 2, /* text contains the text of control tokens */
    GGUFX_GENERATOR_IGNORE_EOG = 4,     /* end-of-generation tokens do not end it */
    GGUFX_GENERATOR_IDS_ONLY = 8,       /* no tokenizer: TEXT events have a token and no text */
    GGUFX_GENERATOR_SCORE_PROMPT = 16,  /* PROMPT events have the tokens of the prompt */
    GGUFX_GENERATOR_LOGPROBS = 32,      /* tokens of events have log-probabilities */
    /* Reasoning is TEXT, with its markers. */
    GGUFX_GENERATOR_KEEP_REASONING = 64,
    GGUFX_GENERATOR_HAS_MAX_REASONING = 128, /* max_reasoning counts */
    /* The sampler sees the tokens of the output alone: penalties leave those of the prompt out. */
    GGUFX_GENERATOR_SAMPLE_OUTPUT = 256
};

/* Speculative decoding: draft tokens are computed together with the token before them, and count as
 * far as the sampler draws the same. They change no event. All zero means prompt lookup: tokens
 * that followed the last tokens earlier. */
typedef struct ggufx_draft_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* session of a draft model, which is smaller and has the same vocabulary; NULL: prompt lookup */
    ggufx_session *session;
    uint32_t sequence; /* sequence of that session; the generator replaces its tokens */
    uint32_t n_draft;  /* draft tokens of a step at most; 0 = 7, at most 31 */
    uint32_t n_match;  /* prompt lookup: last tokens that must have occurred; 0 = 3, at most 32 */
    uint32_t reserved;
} ggufx_draft_options;

/* All zero means default. */
typedef struct ggufx_generator_options {
    uint32_t struct_size;
    ggufx_generator_flags flags;
    uint32_t sequence;   /* sequence of the session, not in use by another generator */
    uint32_t max_tokens; /* tokens of an output; 0 = until the context is full */
    /* NULL: that of the model's file, created once and kept by the model */
    const ggufx_tokenizer *tokenizer;
    const ggufx_sampler *sampler;    /* copied with its state; NULL: greedy */
    const ggufx_grammar *grammar;    /* NULL: any text */
    const ggufx_chat_template *chat; /* for messages; NULL: that of the model's file */
    const ggufx_text *stops;         /* stop strings, copied; none is empty */
    size_t n_stops;
    const ggufx_draft_options *draft; /* NULL: no speculative decoding */
    uint32_t n_logprobs;              /* likeliest tokens in each ggufx_event_token; at most 64 */
    /* Tokens of reasoning after which its end is forced. It needs messages or a chat prompt, and
     * has no effect with a grammar. */
    uint32_t max_reasoning;
} ggufx_generator_options;

/*
 * Creates a generator on a sequence of a session.
 *
 * Tokens that the sequence holds stay: a prompt reuses the prefix that it shares with them. The
 * sampler, 28 bytes per token of the vocabulary, is the largest part of its memory.
 *
 * Errors:
 * - ARGUMENT: no such sequence; a stop string is empty (index).
 * - LIMIT: n_logprobs, n_draft, n_match; more than 1 MiB of stop strings.
 * - MEMORY.
 * - MISMATCH: sampler, grammar, tokenizer or draft model of another vocabulary (index: the first
 *   token that differs, if it is known).
 * - STATE: another generator has the sequence.
 * - Without a tokenizer: as ggufx_tokenizer_create. GGUFX_GENERATOR_IDS_ONLY needs none.
 *
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_generator_create(ggufx_generator **out, ggufx_session *session,
                                              const ggufx_generator_options *options,
                                              ggufx_error *error);

/* Frees a generator. Its sequence keeps its tokens for the next one.
 * Threads: exclusive on generator and its sessions.   Since: 0.1. */
GGUFX_API void ggufx_generator_destroy(ggufx_generator *generator);

/* ---- prompt --------------------------------------------------------------------------------- */

/* Flags of ggufx_prompt. */
typedef uint32_t ggufx_prompt_flags;
enum {
    GGUFX_PROMPT_APPEND = 1,        /* after the tokens of the sequence, which all stay */
    GGUFX_PROMPT_PARSE_SPECIAL = 2, /* "<s>" in a text is the control token */
    GGUFX_PROMPT_CHECKPOINT = 4,    /* keeps a checkpoint at its end: see GGUFX_DECODE_CHECKPOINT */
    /* Also reuses tokens of the sequence that were generated, not only those of prompts. That is
     * faster, but the logits may have other bits than those of a new sequence. */
    GGUFX_PROMPT_REUSE_ANSWERS = 8,
    GGUFX_PROMPT_KEEP_RANDOM = 16 /* random numbers go on after those of earlier outputs */
};

/* A conversation made ready: its tokens, the form of its output, and what the output must be.
 * Immutable. */
typedef struct ggufx_chat_prompt ggufx_chat_prompt;

/* Flags of ggufx_chat_prompt_options. */
typedef uint32_t ggufx_chat_prompt_flags;
enum {
    GGUFX_CHAT_PROMPT_KEEP_REASONING = 1, /* reasoning is TEXT, with its markers */
    GGUFX_CHAT_PROMPT_ONE_CALL = 2 /* the output ends after one tool call (GGUFX_END_TOOL_CALL) */
};

/* Tool calls of the output. */
typedef uint32_t ggufx_tool_choice;
enum {
    GGUFX_TOOL_CHOICE_AUTO = 0,    /* the model decides */
    GGUFX_TOOL_CHOICE_NONE = 1,    /* calls are TEXT */
    GGUFX_TOOL_CHOICE_REQUIRED = 2 /* the output is one tool call, after reasoning */
};

/* Grammars of the host, for instance of a cache. */
typedef struct ggufx_grammar_source {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    void *user;
    /* Gives the grammar of a JSON Schema, which the prompt then keeps alive. `function` is the name
     * of the function whose arguments it describes, and empty for the answer. */
    ggufx_status (*find)(void *user, const ggufx_grammar **out, const char *schema,
                         size_t schema_length, const char *function, size_t function_length);
} ggufx_grammar_source;

/*
 * All zero means default; chat, tokenizer and request must be set.
 *
 * With `schema` or GGUFX_TOOL_CHOICE_REQUIRED the model may reason first, unless the request has
 * GGUFX_CHAT_NO_THINK. The markers that follow are forced; names, keys and values are those of the
 * schemas. Formats that write strings without quotes keep enum, const and maxLength of a string, not
 * its other keywords. Events give arguments as JSON while they are written. The output ends with
 * GGUFX_END_TOOL_CALL when the call is complete.
 */
typedef struct ggufx_chat_prompt_options {
    uint32_t struct_size;
    ggufx_chat_prompt_flags flags;
    const ggufx_chat_template *chat;   /* the template */
    const ggufx_tokenizer *tokenizer;  /* that of the generators */
    const ggufx_chat_request *request; /* the conversation */
    ggufx_tool_choice tool_choice;
    ggufx_grammar_flags grammar_flags; /* for grammars that the call compiles */
    /* with GGUFX_TOOL_CHOICE_REQUIRED: the only function that may be called; empty: any. Without a
     * name, a function whose schema is not supported takes any arguments. */
    ggufx_text tool_name;
    /* with GGUFX_TOOL_CHOICE_REQUIRED: JSON array of the tools that may be called; absent: those
     * of the request */
    ggufx_text tools;
    ggufx_text call_id; /* id of that call; absent: it has none */
    /* JSON Schema of the answer. If the request has tools, the model may call them instead. */
    ggufx_text schema;
    const ggufx_grammar_source *grammars; /* NULL: the call compiles them */
} ggufx_chat_prompt_options;

/*
 * Renders a conversation, tokenizes it, and compiles the grammars of its output.
 *
 * request->progress is polled by all parts. The prompt keeps chat and tokenizer alive.
 *
 * Errors:
 * - ARGUMENT.
 * - MALFORMED: `tools` is no list of functions (index).
 * - NOT_FOUND: no tool has the name tool_name.
 * - UNSUPPORTED: the template does not show how its models write tool calls; its calls begin with
 *   no marker (schema with tools); a build without chat.
 * - Those of ggufx_chat_template_tokenize and ggufx_grammar_create; the status of a grammar source.
 *
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_prompt_create(ggufx_chat_prompt **out,
                                                const ggufx_chat_prompt_options *options,
                                                ggufx_error *error);

/* Releases the caller's reference. Generators keep theirs.
 * Threads: exclusive on prompt.   Since: 0.1. */
GGUFX_API void ggufx_chat_prompt_destroy(ggufx_chat_prompt *prompt);

/*
 * Copies the token ids of a prompt.
 *
 * Writes at most `capacity` ids and always sets *out_needed to their full number; CAPACITY if that
 * is larger.
 *
 * Errors: ARGUMENT, CAPACITY.   Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_chat_prompt_tokens(int32_t *out_ids, size_t capacity,
                                                size_t *out_needed, const ggufx_chat_prompt *prompt,
                                                ggufx_error *error);

/* A part of a prompt: one of text, tokens and rows. */
typedef struct ggufx_prompt_part {
    uint32_t struct_size; /* that of the first part is the distance of all */
    uint32_t flags;       /* 0 */
    ggufx_text text;
    const int32_t *tokens; /* {null} */
    size_t n_tokens;
    /* {null} f32 [][n_embedding], finite: inputs of the first layer, such as a soft prompt */
    const float *rows;
    size_t n_rows; /* its floats */
} ggufx_prompt_part;

/* A prompt: one of text, tokens, messages, parts and chat. */
typedef struct ggufx_prompt {
    uint32_t struct_size;
    ggufx_prompt_flags flags;
    ggufx_text text;
    const int32_t *tokens; /* {null} */
    size_t n_tokens;
    /* {null} rendered by the chat template. The output is then split into answer, reasoning and,
     * where it has tools, tool calls. */
    const ggufx_chat_request *messages;
    const ggufx_prompt_part *parts; /* {null} */
    size_t n_parts;
    const ggufx_chat_prompt *chat; /* {null} as messages, made ready before; without APPEND */
} ggufx_prompt;

/*
 * Sets the prompt and starts again.
 *
 * Sampler, grammar and stop strings are reset, queued events are dropped. The sequence is truncated
 * to the tokens that it shares with the prompt, except the last one of the prompt, whose logits are
 * needed. Nothing is computed: the next step does that. With GGUFX_PROMPT_APPEND the prompt may be
 * empty; the last token of the sequence is then computed again.
 *
 * A text or messages get the special tokens that the file asks for, except with
 * GGUFX_PROMPT_APPEND.
 *
 * Errors:
 * - ARGUMENT: not one kind of prompt; an empty one; an id outside of the vocabulary (index).
 * - CAPACITY: the prompt is longer than the context.
 * - MEMORY.
 * - MISMATCH: `chat` was made with another tokenizer.
 * - STATE: a step is in flight.
 * - UNSUPPORTED: text or messages with GGUFX_GENERATOR_IDS_ONLY; messages in a build without chat.
 * - VALUE: rows that are not finite.
 * - Those of ggufx_tokenize; with messages, those of ggufx_chat_template_create,
 *   ggufx_chat_template_tokenize and ggufx_chat_parser_create.
 *
 * Threads: exclusive on generator and its session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_generator_set_prompt(ggufx_generator *generator,
                                                  const ggufx_prompt *prompt, ggufx_error *error);

/* ---- events --------------------------------------------------------------------------------- */

/* Takes the next queued event; GGUFX_EVENT_NONE when there is none. Computes nothing.
 * out->struct_size must be set. Errors: ARGUMENT.
 * Threads: exclusive on generator.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_generator_poll(ggufx_event *out, ggufx_generator *generator,
                                            ggufx_error *error);

/* ---- steps ---------------------------------------------------------------------------------- */

/* A generator's part in a step. */
typedef struct ggufx_step_item {
    uint32_t struct_size;       /* that of the first item is the distance of all */
    uint32_t flags;             /* 0 */
    ggufx_generator *generator; /* on a sequence of the session */
    /* most tokens of its prompt in this step; 0 = its share of what fits. If more are asked for
     * than n_batch, all items share it. */
    uint32_t n_tokens;
    uint32_t reserved;
} ggufx_step_item;

/* All zero means default. */
typedef struct ggufx_step_options {
    uint32_t struct_size;
    uint32_t flags;                 /* 0 */
    uint64_t budget_us;             /* the call returns after this time; 0: when it is complete */
    const ggufx_progress *progress; /* counts tokens; NULL: only ggufx_generator_cancel ends it */
} ggufx_step_options;

/*
 * Computes a step of generators of a session: one pass over the weights.
 *
 * It computes a chunk of the prompt of generators that have one left, or one token of others. If
 * items are of both kinds, steps of the kinds take turns. With GGUFX_GENERATOR_TILED_DECODE a step
 * has both. ggufx_generator_poll gives the events. Generators that have ended are left out.
 *
 * With a budget the call returns OK when that is used up, at most one group of operations later.
 * The step is then in flight: the next call goes on with it, whatever its items are, and begins no
 * other one. Calls that change the session are STATE meanwhile. If all of its generators are
 * cancelled or destroyed, it is abandoned.
 *
 * out_complete  {null} 1 if no step is in flight afterwards, else 0.
 *
 * A fault of one generator, such as NaN in its logits or a limit of its grammar, ends that one with
 * GGUFX_END_ERROR. After a failure no generator has changed, except that cancelled ones may have
 * ended.
 *
 * Errors:
 * - ARGUMENT: an item (index) without a generator of this session, without a prompt, or with that
 *   of another item.
 * - CAPACITY: n_context_total is full (index: the item).
 * - CANCELLED, MEMORY, those of ggufx_session_decode.
 * - UNSUPPORTED: a budget in a group of ranks.
 *
 * Threads: exclusive on session, all its generators and sessions of drafts; uses the runtime's
 * executor.
 * Allocates: for more items or events than before, grammars, tool calls and n_context_total.
 * Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_step(int32_t *out_complete, ggufx_session *session,
                                          const ggufx_step_item *items, size_t n_items,
                                          const ggufx_step_options *options, ggufx_error *error);

/*
 * Takes the next event: a queued one, else that of the next steps of this generator alone.
 *
 * GGUFX_EVENT_NONE means that a budget is used up. After END it is END again. PROMPT events are
 * left out without GGUFX_GENERATOR_SCORE_PROMPT. A suspended generator that is cancelled gives its
 * END, without a step.
 * out->struct_size must be set.
 *
 * Errors: as ggufx_session_step; STATE (it has no prompt).
 * Threads: exclusive on generator and its session; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_generator_next(ggufx_event *out, ggufx_generator *generator,
                                            const ggufx_step_options *options, ggufx_error *error);

/* Asks a generator to end: after the queued events its next step gives END. A step that computes
 * only cancelled generators ends within 5 ms. Never waits.
 * Threads: any, also beside other calls with this generator.   Since: 0.1. */
GGUFX_API void ggufx_generator_cancel(const ggufx_generator *generator);

/* ---- edits ---------------------------------------------------------------------------------- */

/* Gives the sequence back, for another generator (preemption). Tokens, sampler and events stay.
 * Errors: ARGUMENT; STATE (no prompt, suspended already, a step is in flight); UNSUPPORTED (the
 * prompt follows removed or shifted tokens, which cannot be computed again).
 * Threads: exclusive on generator and its session.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_generator_suspend(ggufx_generator *generator, ggufx_error *error);

/*
 * Continues a suspended generator with a sequence that no generator has.
 *
 * Tokens that the sequence holds already are reused. The next steps compute the others again, each
 * in its mode and so with the same bits.
 *
 * out_n_reused  {null} tokens that the sequence holds already.
 *
 * Errors: ARGUMENT; STATE (not suspended, another generator has the sequence, a step is in flight).
 * Threads: exclusive on generator and its session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_generator_resume(uint64_t *out_n_reused, ggufx_generator *generator,
                                              uint32_t sequence, ggufx_error *error);

/*
 * Keeps the first n_tokens tokens of prompt and output, at least one, and goes on from there.
 *
 * The next steps compute the last of them again and generate another output: random numbers go on.
 * Penalties, grammar and parser are replayed. Queued events are dropped, and an end is revoked.
 *
 * Errors: ARGUMENT, LIMIT, MEMORY, STATE (a step is in flight).
 * Threads: exclusive on generator and its session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_generator_truncate(ggufx_generator *generator, uint64_t n_tokens,
                                                ggufx_error *error);

/* Flags of ggufx_fork_options. */
typedef uint32_t ggufx_fork_flags;
enum {
    GGUFX_FORK_RESEED = 1 /* `seed` counts */
};

/* All zero means default: the copy draws the same tokens. */
typedef struct ggufx_fork_options {
    uint32_t struct_size;
    ggufx_fork_flags flags;
    uint32_t sequence; /* empty, and of no other generator */
    uint32_t reserved;
    uint64_t seed; /* with GGUFX_FORK_RESEED: seed of its sampler */
} ggufx_fork_options;

/*
 * Creates a copy of a generator, with its state and its queued events, on an empty sequence that
 * shares the caches.
 *
 * Several outputs for one prompt: step until one token of the prompt is left, fork with other
 * seeds, and step all of them.
 *
 * Errors:
 * - ARGUMENT, LIMIT, MEMORY.
 * - MISMATCH: the sequences have different adapters.
 * - STATE: the sequence has tokens or a generator, or a step is in flight.
 *
 * Threads: exclusive on generator and its session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_generator_fork(ggufx_generator **out, ggufx_generator *generator,
                                            const ggufx_fork_options *options, ggufx_error *error);

/*
 * Writes a snapshot: token ids, the state of the sampler and queued events, about 5 bytes per
 * token. ggufx_session_save saves the caches.
 *
 * write  called with consecutive pieces of the snapshot. A status other than GGUFX_OK ends the
 *        call, which returns it.
 *
 * Errors: ARGUMENT; STATE (a step is in flight); UNSUPPORTED (as ggufx_generator_suspend; a
 * ggufx_chat_prompt with a constraint or GGUFX_CHAT_PROMPT_ONE_CALL); the status of `write`.
 * Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_generator_save(const ggufx_generator *generator,
                                            ggufx_status (*write)(void *user, const void *data,
                                                                  size_t n),
                                            void *user, ggufx_error *error);

/*
 * Creates a generator from a snapshot, with the options of the saved one.
 *
 * Grammar, sampler, chat template and drafts are those of the options; the others are compared.
 * Tokens that the sequence holds already are reused, the others are computed again.
 *
 * read   fills all n bytes and returns GGUFX_OK, or returns another status, which ends the call. At
 *        the end of the data it returns GGUFX_E_TRUNCATED.
 *
 * Errors: as ggufx_generator_create, MAGIC, VERSION, TRUNCATED, MALFORMED, CHECKSUM, MISMATCH
 * (another model, other options), the status of `read`.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_generator_load(ggufx_generator **out, ggufx_session *session,
                                            const ggufx_generator_options *options,
                                            ggufx_status (*read)(void *user, void *data, size_t n),
                                            void *user, ggufx_error *error);

/* ---- facts ---------------------------------------------------------------------------------- */

/*
 * Copies the token ids of prompt and output.
 *
 * Writes at most `capacity` ids and always sets *out_needed to their full number; CAPACITY if that
 * is larger. The last one is not computed yet.
 *
 * Errors: ARGUMENT, CAPACITY.   Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_generator_tokens(int32_t *out_ids, size_t capacity, size_t *out_needed,
                                              const ggufx_generator *generator, ggufx_error *error);

/* State of a generator. */
typedef uint32_t ggufx_generator_state;
enum {
    GGUFX_GENERATOR_STATE_EMPTY = 0,     /* it has no prompt */
    GGUFX_GENERATOR_STATE_PREFILL = 1,   /* tokens are to be computed before the next one */
    GGUFX_GENERATOR_STATE_DECODE = 2,    /* the next step gives a token */
    GGUFX_GENERATOR_STATE_SUSPENDED = 3, /* it has no sequence */
    GGUFX_GENERATOR_STATE_ENDED = 4
};

typedef struct ggufx_generator_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    ggufx_generator_state state;
    ggufx_end end;
    uint32_t sequence;        /* its sequence, if it has one */
    uint32_t n_events;        /* queued events */
    uint64_t n_prompt;        /* tokens of the prompt */
    uint64_t n_prompt_reused; /* tokens of the prompt that the sequence held */
    uint64_t n_prompt_left;   /* tokens of the prompt that are not computed yet */
    uint64_t n_tokens;        /* tokens generated */
    uint64_t n_reasoning;     /* generated tokens that are reasoning */
    uint64_t n_drafted;       /* draft tokens computed */
    uint64_t n_accepted;      /* draft tokens that the sampler drew */
    uint64_t memory_bytes;    /* bytes of its tokens, texts, events and drafts */
    /* log-probabilities of the tokens generated since the prompt was set or cut, also those of a
     * stop string; 0 without GGUFX_GENERATOR_LOGPROBS and n_logprobs */
    double sum_logprobs;
} ggufx_generator_facts;

/* Describes a generator. out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_generator_info(ggufx_generator_facts *out,
                                            const ggufx_generator *generator, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
