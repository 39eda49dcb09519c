/*
 * Decodes token ids on sequence 0 of a session, for tests in C and C++.
 * SPDX-License-Identifier: MIT
 */
#ifndef DECODE_IDS_H
#define DECODE_IDS_H

#include <ggufx/batch.h>

#include <string.h>

/* Decodes n ids with flags of an item. more: NULL, or other options; sizes are set here. */
static inline ggufx_status decode_with(ggufx_session *session, const int32_t *ids, size_t n,
                                       ggufx_decode_flags flags, const ggufx_decode_options *more,
                                       ggufx_error *error) {
    ggufx_decode_item item;
    ggufx_decode_options options;
    memset(&item, 0, sizeof item);
    memset(&options, 0, sizeof options);
    if (more) options = *more;
    options.struct_size = sizeof options;
    item.struct_size = sizeof item;
    item.flags = flags;
    item.tokens = ids;
    item.n_tokens = n;
    return ggufx_session_decode(session, &item, 1, &options, error);
}

/* Decodes n ids. logits: NULL, or those after the last id: n_logits is the vocabulary. */
static inline ggufx_status decode_ids(ggufx_session *session, const int32_t *ids, size_t n,
                                      float *logits, size_t n_logits, ggufx_error *error) {
    ggufx_decode_options options;
    memset(&options, 0, sizeof options);
    options.logits = logits;
    options.n_logits = n_logits;
    return decode_with(session, ids, n, logits ? GGUFX_DECODE_LOGITS : 0, &options, error);
}

/* The same with the logits after each id: n_logits is n times the vocabulary. */
static inline ggufx_status decode_all(ggufx_session *session, const int32_t *ids, size_t n,
                                      float *logits, size_t n_logits, ggufx_error *error) {
    ggufx_decode_options options;
    memset(&options, 0, sizeof options);
    options.logits = logits;
    options.n_logits = n_logits;
    return decode_with(session, ids, n, GGUFX_DECODE_ALL_LOGITS, &options, error);
}

#endif
