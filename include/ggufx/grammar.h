/*
 * ggufx/grammar.h: constrained decoding by GBNF grammars and JSON Schema (structured output).
 *
 * A grammar describes strings byte by byte. A matcher follows the output of a model token by token.
 * It computes which tokens may come next so that the output matches, or still can. It never
 * requires output that cannot be completed.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GRAMMAR_H
#define GGUFX_GRAMMAR_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A grammar compiled for a vocabulary. Immutable. */
typedef struct ggufx_grammar ggufx_grammar;

/* Languages in which a grammar is written. */
typedef uint32_t ggufx_grammar_kind;
/*
 * GBNF, the notation of llama.cpp.
 *
 * Rules have the form `name ::= alternatives`; one of them is `root`. Each is on a line of its own,
 * except that lines may break within parentheses and around `|`. `#` starts a comment. Names
 * consist of letters, digits, - and _. A part of a rule is one of:
 *
 * - a "literal"
 * - a [class] or [^class] of characters and ranges
 * - `.`, which is any character
 * - the name of a rule, or a (group)
 *
 * `?`, `*`, `+`, `{n}`, `{n,}` or `{n,m}` after a part repeat it. Escapes in literals and classes
 * are:
 *
 * - `\n`, `\r`, `\t`
 * - a backslash before itself, a quote, [, ], ^ or -
 * - `\xHH`, `\uHHHH`, `\UHHHHHHHH`: a character by its number
 */
#define GGUFX_GRAMMAR_GBNF 0u
/*
 * JSON Schema (draft 2020-12). The language consists of the JSON values that the schema accepts,
 * and no others.
 *
 * Spelling of values:
 *
 * - Members of an object come in the order of the schema. Its own `properties` come first, then
 *   those of schemas that also apply, then names that are only `required`, then others in any
 *   order. With GGUFX_GRAMMAR_ANY_ORDER all may come in any order. A member that the schema names
 *   comes once.
 * - White space between values and punctuation is optional: one space, or a line break and up to 20
 *   spaces or tabs. There is none before a colon, before the whole value and after it.
 *   GGUFX_GRAMMAR_ANY_SPACE allows any amount of white space.
 * - Strings without a pattern, and member names that the schema leaves open, may escape characters
 *   in any way.
 * - Given names, values of `enum` and `const`, and strings with a pattern have fewer spellings.
 *   Each character is written as itself, or escaped if programs usually escape it. These are
 *   controls, quote, slash, backslash and all beyond ASCII; hexadecimal digits have either case.
 * - If only "number" is required, numbers have any form of JSON. Otherwise they consist of digits,
 *   with a fraction that may end in zeros, or of one digit, a fraction and an exponent up to 307.
 * - Integers, and whole numbers of `enum` or `const`, consist of digits alone, which any host
 *   parses as an integer. With GGUFX_GRAMMAR_ANY_NUMBER 1.0, 1e0 and 1.5E+3 are integers too, but
 *   10e-1 is not.
 * - Numbers count with all their digits, as text, even if a host parses them as floats.
 * - Numbers have at most 20 digits before the point, 20 after it and 3 in the exponent, so that an
 *   output ends. If a number of the schema has more, one digit more than that. With
 *   GGUFX_GRAMMAR_ANY_NUMBER, or a `multipleOf` above 100 without its decimal point that is no
 *   power of ten, there is no limit.
 *
 * All keywords of the draft are known. UNSUPPORTED are the following; the message has the keyword
 * and the JSON pointer of its schema:
 *
 * - references to other documents
 * - `uniqueItems`, except of values that are listed, for example by `enum`
 * - `minProperties` above the number of required members plus one, if other members are allowed
 * - `not` of `uniqueItems` and `unevaluated*`
 * - `multipleOf` above 10,000, except powers of ten (with other divisors numbers have no exponent)
 * - lookbehind, back references and word borders in `pattern`, and assertions in unbounded
 *   repetitions
 * - keywords of earlier drafts that have another name in this one
 *
 * Unknown keywords are ignored, as the draft requires. `$schema` is ignored if it is one of
 * json-schema.org. LIMIT means excessive complexity: over 4,096 alternatives of schemas, over
 * 16,384 states of a string or number, and similar.
 *
 * `format` is an assertion unless GGUFX_GRAMMAR_NO_FORMATS is set. Known formats are:
 *
 * - date, time, date-time (without leap seconds), duration
 * - uuid, email, idn-email, hostname, ipv4, ipv6
 * - uri, iri, uri-reference, iri-reference, uri-template, json-pointer, relative-json-pointer
 *
 * idn-hostname and regex are UNSUPPORTED; other names are ignored. In patterns `\d` and `\w` are
 * the classes of ASCII. `\s` matches characters that both ECMA-262 and Python call white space, and
 * `\p` knows general categories.
 */
#define GGUFX_GRAMMAR_JSON_SCHEMA 1u

/* Flags of grammars of JSON. */
typedef uint32_t ggufx_grammar_flags;
#define GGUFX_GRAMMAR_COMPACT 1u    /* schemas: JSON without white space */
#define GGUFX_GRAMMAR_ANY_ORDER 2u  /* schemas: members of objects in any order */
#define GGUFX_GRAMMAR_NO_FORMATS 4u /* schemas: `format` is an annotation */
/* schemas: integers in any form of a number, as 1.0 or 1e0; numbers of any length */
#define GGUFX_GRAMMAR_ANY_NUMBER 8u
#define GGUFX_GRAMMAR_ANY_SPACE 16u /* schemas: any amount of white space; not with COMPACT */

typedef struct ggufx_grammar_options {
    uint32_t struct_size;
    ggufx_grammar_flags flags;
    ggufx_grammar_kind kind;
    uint32_t reserved;
    ggufx_text text; /* UTF-8 */
    /* steps done, of an unknown total; NULL: cannot be cancelled */
    const ggufx_progress *progress;
    uint64_t max_steps;  /* steps of the compilation; 0 = 4,000,000, plus 2,000 per byte of text */
    uint64_t max_memory; /* bytes that it uses; 0 = 32 MiB, plus 2 KiB per byte of text */
} ggufx_grammar_options;

/*
 * Compiles a grammar for the vocabulary of a tokenizer.
 *
 * The grammar does not need the tokenizer afterwards. The first grammar of a tokenizer takes
 * longer. Time and memory are linear in the text, which is at most 16 MiB. Combinations of schemas,
 * and repetitions of parts that may be empty, take more. They end at max_steps, of some 10 ns each,
 * or at max_memory. Tokens of more than 512 bytes never match.
 *
 * Errors:
 * - ARGUMENT, CANCELLED, MEMORY.
 * - LIMIT: size, nesting, steps, memory. The message has the keyword that takes most of them.
 * - MALFORMED.
 * - UNSUPPORTED: left recursion, tokens by name, a keyword, a tokenizer without token texts.
 * - VALUE: no string matches.
 *
 * Errors at a position of the grammar have its line and column in the message, and its byte in
 * offset.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_grammar_create(ggufx_grammar **out, const ggufx_runtime *rt,
                                            const ggufx_tokenizer *tokenizer,
                                            const ggufx_grammar_options *options,
                                            ggufx_error *error);
/* Releases the caller's reference. Matchers keep theirs.
 * Threads: exclusive on grammar.   Since: 0.1. */
GGUFX_API void ggufx_grammar_destroy(ggufx_grammar *grammar);

/* The state of one output in a grammar. Keeps the grammar alive. Exclusive. */
typedef struct ggufx_matcher ggufx_matcher;

/* Creates a matcher at the start of an output. Errors: ARGUMENT, LIMIT, MEMORY.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_matcher_create(ggufx_matcher **out, const ggufx_grammar *grammar,
                                            ggufx_error *error);
/* Creates a copy of a matcher, including its history for rollback. Time is linear in the accepted
 * tokens.
 * Errors: ARGUMENT, MEMORY.   Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_matcher_clone(ggufx_matcher **out, const ggufx_matcher *matcher,
                                           ggufx_error *error);
/* Frees a matcher.   Threads: exclusive on matcher.   Since: 0.1. */
GGUFX_API void ggufx_matcher_destroy(ggufx_matcher *matcher);

/*
 * Appends n tokens to the output, all of them or none.
 *
 * An end-of-generation token matches if the output is complete; nothing can follow it.
 *
 * Errors:
 * - ARGUMENT: an id outside of the vocabulary (index: the token).
 * - LIMIT: the grammar is too ambiguous here. Limits are 131,072 stacks, 2^21 steps in one call,
 *   and 2^22 steps plus 2^15 per call in total.
 * - MEMORY.
 * - VALUE: a token does not match (index: the first one).
 *
 * Threads: exclusive on matcher.   Allocates: yes.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matcher_accept(ggufx_matcher *matcher, const int32_t *ids, size_t n,
                                            ggufx_error *error);
/* Removes the last n_tokens tokens from the output. Errors: ARGUMENT (there are fewer).
 * Threads: exclusive on matcher.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_matcher_rollback(ggufx_matcher *matcher, uint64_t n_tokens,
                                              ggufx_error *error);

/*
 * Computes the token mask: a bit per token of the vocabulary, set if it may come next.
 *
 * Token `id` is bit id % 32, counted from the lowest, of word id / 32. Words after the vocabulary
 * become 0. End-of-generation tokens are set if the output is complete. Masks are cached for all
 * matchers of the grammar, in at most 64 MiB.
 *
 * Errors:
 * - ARGUMENT, MEMORY.
 * - CAPACITY: n_words is less than ggufx_matcher_facts.n_words.
 * - LIMIT: as ggufx_matcher_accept.
 * - MISMATCH: no token of the vocabulary matches.
 * - STATE: the output has ended.
 *
 * Threads: exclusive on matcher.   Allocates: yes.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matcher_mask(uint32_t *out_bits, size_t n_words,
                                          ggufx_matcher *matcher, ggufx_error *error);

/* State of a matcher. */
typedef uint32_t ggufx_matcher_flags;
#define GGUFX_MATCHER_COMPLETE 1u /* the output is complete: it may end here */
#define GGUFX_MATCHER_ENDED 2u    /* an end-of-generation token was accepted */

typedef struct ggufx_matcher_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_matcher_flags flags;
    uint64_t n_tokens; /* tokens accepted and not rolled back */
    uint32_t n_vocab;  /* tokens of the vocabulary */
    uint32_t n_words;  /* words of a mask */
} ggufx_matcher_facts;

/* Describes the state of a matcher. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_matcher_info(ggufx_matcher_facts *out, const ggufx_matcher *matcher,
                                          ggufx_error *error);

#ifdef __cplusplus
}
#endif
#endif
