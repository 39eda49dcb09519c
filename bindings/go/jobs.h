/*
 * Quantizations and edits: options with callbacks, which C fills in.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GO_JOBS_H
#define GGUFX_GO_JOBS_H

#include "bridge.h"

/* Go function, in job.go. */
extern void ggufxGoTensor(uintptr_t user, size_t index, ggufx_job_tensor *tensor);

static inline void ggufx_go_on_tensor(void *user, size_t index, const ggufx_job_tensor *tensor) {
    ggufxGoTensor((uintptr_t)user, index, (ggufx_job_tensor *)tensor);
}

static inline ggufx_status ggufx_go_job(ggufx_job **out, const ggufx_runtime *rt,
                                        const ggufx_file *file, uint32_t file_type,
                                        const ggufx_job_options *options,
                                        const ggufx_imatrix *imatrix, const char *imatrix_name,
                                        ggufx_error *e) {
    ggufx_job_options o = *options;
    o.imatrix = imatrix;
    o.imatrix_name = imatrix_name;
    return ggufx_job_quantize(out, rt, file, file_type, &o, e);
}
static inline ggufx_status ggufx_go_job_measure(double *out, const ggufx_job *job, size_t index,
                                                uint32_t type, uint64_t max_values, uintptr_t user,
                                                ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    return ggufx_job_measure(out, job, index, type, max_values, progress, e);
}
static inline ggufx_status ggufx_go_job_run(ggufx_job *job, const char *path, uint32_t flags,
                                            uint32_t shard, uint32_t n_shards, uintptr_t user,
                                            int follow, int tensors, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    ggufx_job_run_options o = {.struct_size = sizeof o};
    o.flags = flags;
    o.shard = shard;
    o.n_shards = n_shards;
    o.progress = follow ? progress : NULL;
    o.user = (void *)user;
    o.tensor_done = tensors ? ggufx_go_on_tensor : NULL;
    return ggufx_job_run(job, path, &o, e);
}
static inline ggufx_status ggufx_go_job_finish(ggufx_job *job, const char *path, uintptr_t user,
                                               ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    return ggufx_job_finish(job, path, progress, e);
}

/* best: the recommended estimate instead of the requested one. */
static inline ggufx_status
ggufx_go_estimate(ggufx_estimate_facts *out, const ggufx_runtime *rt, const ggufx_file *file,
                  const ggufx_estimate_options *options, const ggufx_job_options *job,
                  const ggufx_imatrix *imatrix, int best, ggufx_error *e) {
    ggufx_estimate_options o = *options;
    ggufx_job_options how = *job;
    how.imatrix = imatrix;
    o.job = &how;
    return best ? ggufx_recommend(out, rt, file, &o, e) : ggufx_estimate(out, rt, file, &o, e);
}

/* path NULL: only describes the edit. */
static inline ggufx_status ggufx_go_edit(ggufx_edit_facts *out, ggufx_writer *writer,
                                         const ggufx_file *file, const char *path, uint32_t flags,
                                         uintptr_t user, ggufx_error *e) {
    GGUFX_GO_WATCH(user);
    ggufx_edit_options o = {.struct_size = sizeof o};
    o.flags = flags;
    o.progress = progress;
    if (!path) return ggufx_edit_info(out, writer, file, &o, e);
    return ggufx_edit_write(out, writer, file, path, &o, e);
}

#endif
