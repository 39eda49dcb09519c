/*
 * ggufx/grammar.h: texts that fit a grammar, and the tokens with which a model can write one.
 *
 * A grammar describes texts byte by byte; a matcher follows one text through it, token by token,
 * and tells which tokens may come next so that the text fits, or still can. It never asks for a text
 * that cannot be completed.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GRAMMAR_H
#define GGUFX_GRAMMAR_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled grammar over a vocabulary, immutable. */
typedef struct ggufx_grammar ggufx_grammar;

/*
 * GBNF: rules `name ::= alternatives`, one of them `root`, each on a line of its own but within
 * parentheses and around `|`. A part is a "literal", a [class] or [^class] of characters and ranges,
 * `.` for any character, a rule's name or a (group); behind it ?, *, +, {n}, {n,} or {n,m} repeat
 * it. In literals and classes a backslash stands in front of n, r, t (line feed, carriage return,
 * tab), of itself, of a quote, [, ], ^ and -, and of a character's number: xHH, uHHHH, UHHHHHHHH.
 * `#` begins a comment. Names have letters, digits, - and _.
 */
#define GGUFX_GRAMMAR_GBNF 0u
/*
 * A JSON schema (draft 2020-12); the texts are the JSON values that it accepts, and no others.
 *
 * How a value is written: members of an object come in the order in which the schema names them (its
 * own `properties`, then those of schemas that hold with it, then names that are only `required`),
 * then others in any order; with GGUFX_GRAMMAR_ANY_ORDER all do. A member that the schema names comes
 * once. Between values and signs there may be a space, or a line break and up to 20 spaces or tabs: not
 * before a colon, before the value or after it. With GGUFX_GRAMMAR_ANY_SPACE there may be any white space
 * between them, without an end. A string without a pattern or names of its own has its
 * characters written in any way; names, values of `enum` and `const`, and strings with a pattern have
 * each written as itself or, where programs escape it, escaped (controls, a quote, a slash, a
 * backslash, all beyond ASCII; hexadecimal digits in either case). A number has any form of JSON where
 * nothing but "number" is asked for; else digits, of which a fraction may end in zeros, or one digit
 * in front of the point and an exponent of up to 307. Where no fraction fits, and for a whole number
 * of `enum` or `const`, it is digits alone, which any host reads into an integer; with
 * GGUFX_GRAMMAR_ANY_NUMBER 1.0, 1e0 and 1.5E+3 are integers, too (not 10e-1). Numbers count with all
 * their digits, as text, where a host may read them as floats.
 *
 * All keywords of the draft are known. UNSUPPORTED, with the keyword and the JSON pointer of its
 * schema in the message, are: references out of the text; `uniqueItems` but of values that are named,
 * as by `enum`; `minProperties` above one more than the named members that must be there, where
 * others may be; `not` of `uniqueItems` and `unevaluated*`; `multipleOf` above 10,000 that is no power
 * of ten (other numbers have no exponent with it); in `pattern` look-behind, back references, word
 * borders and assertions in repetitions without an end; keywords of earlier drafts that this one gives
 * another name. Others that are not known are passed over, as the draft has it. LIMIT is what takes
 * too much: over 4,096 ways to satisfy schemas at once, over 16,384 states of a string or a number,
 * and the like. `$schema` is passed over where it is one of json-schema.org's.
 *
 * `format` is an assertion where it is known, unless GGUFX_GRAMMAR_NO_FORMATS is set: date, time,
 * date-time (without leap seconds), duration, uuid, email, idn-email, hostname, ipv4, ipv6, uri, iri,
 * uri-reference, iri-reference, uri-template, json-pointer, relative-json-pointer. idn-hostname and
 * regex are UNSUPPORTED, other names say nothing. In patterns the classes d and w are those
 * of ASCII, s takes what both ECMA-262 and Python call a space, p knows general categories.
 */
#define GGUFX_GRAMMAR_JSON_SCHEMA 1u

/* Flags, of schemas. */
#define GGUFX_GRAMMAR_COMPACT 1u    /* JSON without white space */
#define GGUFX_GRAMMAR_ANY_ORDER 2u  /* members of objects come in any order */
#define GGUFX_GRAMMAR_NO_FORMATS 4u /* `format` says nothing: it is an annotation */
#define GGUFX_GRAMMAR_ANY_NUMBER 8u /* integers have any form of a number: 1.0, 1e0 */
#define GGUFX_GRAMMAR_ANY_SPACE 16u /* any white space between values and signs; not with COMPACT */

typedef struct ggufx_grammar_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_GRAMMAR_COMPACT, _ANY_ORDER, _NO_FORMATS, _ANY_NUMBER, _ANY_SPACE */
    const void *next;
    uint32_t kind;    /* GGUFX_GRAMMAR_GBNF or _JSON_SCHEMA */
    const char *text; /* UTF-8 */
    size_t text_length;
    uint64_t reserved[4];
} ggufx_grammar_options;

/* Fill with defaults: GBNF, no text.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_grammar_options_init(ggufx_grammar_options *options);

/*
 * Compile a grammar for the tokens of a tokenizer, of which it keeps what it needs; the first
 * grammar of a tokenizer takes longer. Time and memory are linear in the text, of 16 MiB at most,
 * but for repetitions of what may be empty and combinations of schemas, which are bounded. Tokens
 * of more than 512 bytes never fit.
 * Errors: ARGUMENT, LIMIT (size, nesting), MALFORMED, MEMORY, UNSUPPORTED (a rule that can begin
 * with itself, tokens by name, a keyword, a tokenizer without texts), VALUE (no text fits): what
 * stands at one place of a grammar has its line and column in the message, offset is the byte.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_grammar_create(ggufx_grammar **out, const ggufx_runtime *rt,
                                            const ggufx_tokenizer *tokenizer,
                                            const ggufx_grammar_options *options,
                                            ggufx_error *error);
/* Drop the caller's reference; matchers keep theirs.   Threads: exclusive on grammar.   Since: 0.1. */
GGUFX_API void ggufx_grammar_destroy(ggufx_grammar *grammar);

/* A text on its way through a grammar; keeps the grammar alive. Exclusive. */
typedef struct ggufx_matcher ggufx_matcher;

/* A matcher at the begin of a text. Errors: ARGUMENT, LIMIT, MEMORY.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_matcher_create(ggufx_matcher **out, const ggufx_grammar *grammar,
                                            ggufx_error *error);
/* Another matcher at the same place, which can go back as far. Linear in the tokens accepted.
 * Errors: ARGUMENT, MEMORY.   Threads: shared on matcher.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_matcher_clone(ggufx_matcher **out, const ggufx_matcher *matcher,
                                           ggufx_error *error);
/* Free a matcher.   Threads: exclusive on matcher.   Since: 0.1. */
GGUFX_API void ggufx_matcher_destroy(ggufx_matcher *matcher);

/*
 * Go on by n tokens, all of them or none. A token that ends a generation fits where the text is
 * whole; nothing follows it.
 * Errors: ARGUMENT (index: an id outside of the vocabulary), LIMIT (the grammar is too ambiguous
 * here: over 131,072 stacks, 2^21 steps for a call, or 2^22 and 2^15 for each call in all), MEMORY,
 * VALUE (index: the first token that does not fit).
 * Threads: exclusive on matcher.   Allocates: yes.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matcher_accept(ggufx_matcher *matcher, const int32_t *ids, size_t n,
                                            ggufx_error *error);
/* Take back the last n_tokens tokens. Errors: ARGUMENT (there are fewer).
 * Threads: exclusive on matcher.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_matcher_rollback(ggufx_matcher *matcher, uint64_t n_tokens,
                                              ggufx_error *error);

/*
 * Which tokens fit now: bit id % 32 of word id / 32, the lowest first. Words beyond those of the
 * vocabulary become 0. Tokens that end a generation fit where the text is whole. What was found at
 * a place is kept for all matchers of the grammar (64 MiB at most).
 * Errors: ARGUMENT, CAPACITY (n_words is less than ggufx_matcher_facts.n_words), LIMIT as
 * ggufx_matcher_accept, MEMORY, MISMATCH (no token of the vocabulary fits), STATE (the text has
 * ended).
 * Threads: exclusive on matcher.   Allocates: yes.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matcher_mask(uint32_t *out_bits, size_t n_words,
                                          ggufx_matcher *matcher, ggufx_error *error);

#define GGUFX_MATCHER_WHOLE 1u /* the text fits as it is: it may end here */
#define GGUFX_MATCHER_ENDED 2u /* a token that ends a generation was accepted */

typedef struct ggufx_matcher_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* GGUFX_MATCHER_* */
    uint64_t n_tokens;    /* accepted and not taken back */
    uint32_t n_vocab;     /* tokens of the vocabulary */
    uint32_t n_words;     /* of a mask */
} ggufx_matcher_facts;

/* Where a matcher stands. Errors: ARGUMENT.   Threads: shared on matcher.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_matcher_info(ggufx_matcher_facts *out, const ggufx_matcher *matcher,
                                          ggufx_error *error);

/*
 * As ggufx_sampler_sample, of the tokens alone that fit (those with ids from n on do not): the
 * sampler's filters work on these. The id is accepted by the matcher. out_logprob is of the
 * probability among all n tokens. A call that fails changes neither sampler nor matcher.
 * Errors: as ggufx_sampler_sample and ggufx_matcher_mask.
 * Threads: exclusive on sampler and matcher.   Allocates: yes.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_sample_matching(int32_t *out_id, float *out_logprob,
                                                     ggufx_sampler *sampler, ggufx_matcher *matcher,
                                                     const float *logits, size_t n,
                                                     ggufx_error *error);

#ifdef __cplusplus
}
#endif
#endif
