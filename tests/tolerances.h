/*
 * Tolerances of the tests, each with its reason. Never widened in the commit that needs it.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_TOLERANCES_H
#define GGUFX_TESTS_TOLERANCES_H

/* Relative to sum|w a|, a = packed 8-bit activations, against f64: integer sums are exact, so only
 * the chain of f32 FMAs rounds; n >= 4 adds up to K / 32 terms in one chain of 24-bit sums. */
#define TOLERANCE_CANONICAL 2e-6

/* Relative to sum|w x|, against f64, f32 activations: 16 lanes or one chain of K FMAs. */
#define TOLERANCE_F32 1e-6

/* Relative rms of results with 8-bit activations (a f32 scale per 32) against exact activations:
 * half a step of amax / 127 per value; 1.07e-2 with outlier channels x60 is the worst known. */
#define TOLERANCE_INT8_RMS 1.1e-2

/* Attention over a cache against f64 over the values of ggufx_kv_read: error of a row relative to
 * the length of a value, scores of a few units.
 * - Floats: as kv_fixture.h derives.
 * - 15-bit weights lose half of 1/16256 of the largest weight per token.
 * - 15-bit query codes lose half a step of amax / 16256 per coordinate, +-127 codes half of amax /
 *   127: rms 0.0065 of the query's length. A score of a few units then errs by about 0.01, and a
 *   weight by as much relatively. */
#define TOL_KV_FLOAT 1e-5
#define TOL_KV_WEIGHT_15 1e-3
#define TOL_KV_QUERY_15 2e-3
#define TOL_KV_QUERY_7 5e-2

/* The same relative to a result that is itself as long as a value, with 45 or more tokens and
 * scores below 4. Errors of weights (0.003 and 1/32512 rms) multiply only the differences of
 * values, 0.4 of their length. Errors of tokens are independent: 0.003 * 0.4 / sqrt(45), five times
 * that for the worst of 100,000. A log-sum gets all of the 0.003, three times that for the worst:
 * the test allows twice these. */
#define TOL_KV_LONG_15 2e-4
#define TOL_KV_LONG_QUERY_7 5e-3

/* Relative rms of results with 15-bit activations: the 8-bit step divided by 128. */
#define TOLERANCE_INT15_RMS 8.6e-5

/* Row functions against f64, relative to the sum of the terms' magnitudes: a handful of roundings
 * of 2^-24, exp_f32's 1.2e-7, sums in lanes of at most 64 terms. */
#define TOLERANCE_ROWS 1e-6

#endif
