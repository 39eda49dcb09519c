/*
 * Estimates of the model of a fixture.
 * SPDX-License-Identifier: MIT
 */
#ifndef ESTIMATE_CALLS_H
#define ESTIMATE_CALLS_H

#include "model_fixture.h"

static inline ggufx_estimate_options default_options(void) {
    ggufx_estimate_options options = {.struct_size = sizeof options};
    return options;
}

static inline ggufx_estimate_facts estimate(fixture *f, const ggufx_estimate_options *options) {
    ggufx_estimate_facts facts = {.struct_size = sizeof facts};
    MUST(f, ggufx_estimate(&facts, f->rt, f->file, options, &f->error));
    assert_int_equal(facts.total_bytes, facts.file_bytes + facts.runtime_bytes + facts.model_bytes +
                                            facts.kv_bytes + facts.session_bytes);
    return facts;
}

#endif
