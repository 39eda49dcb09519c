// Import of quantization options, for jobs and their estimates.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/imatrix_handle.hpp"
#include "abi/options.hpp"
#include "job/plan.hpp"

#include <ggufx/quantizer.h>
#include <inttypes.h>

namespace ggufx::abi {

constexpr uint32_t kJobFlags = GGUFX_QUANTIZER_PURE | GGUFX_QUANTIZER_LEAVE_OUTPUT |
                               GGUFX_QUANTIZER_COPY_ONLY | GGUFX_QUANTIZER_ALLOW_REQUANTIZE |
                               GGUFX_QUANTIZER_NO_FALLBACK | GGUFX_QUANTIZER_KEEP_SPLIT |
                               GGUFX_QUANTIZER_OUTPUT_TYPE | GGUFX_QUANTIZER_EMBEDDING_TYPE |
                               GGUFX_QUANTIZER_REFINED | GGUFX_QUANTIZER_NO_REPLACE;

// Throws argument.
inline const quant::FileTypeInfo *recipe_of(uint32_t file_type) {
    const quant::FileTypeInfo *found = quant::file_type_info(file_type);
    if (!found)
        fail(Status::argument, {}, "file type %" PRIu32 " is unknown or has no recipe", file_type);
    return found;
}

inline job::PlanOptions import_plan(const ggufx_quantizer_options &in,
                                    const quant::FileTypeInfo *file_type) {
    const auto has = [&](uint32_t flag) { return (in.flags & flag) != 0; };
    job::PlanOptions out;
    out.file_type = file_type;
    if (has(GGUFX_QUANTIZER_OUTPUT_TYPE)) out.recipe.output_type = in.output_type;
    if (has(GGUFX_QUANTIZER_EMBEDDING_TYPE)) out.recipe.embedding_type = in.embedding_type;
    out.recipe.pure = has(GGUFX_QUANTIZER_PURE);
    out.recipe.leave_output = has(GGUFX_QUANTIZER_LEAVE_OUTPUT);
    out.recipe.only_copy = has(GGUFX_QUANTIZER_COPY_ONLY);
    out.recipe.no_fallback = has(GGUFX_QUANTIZER_NO_FALLBACK);
    out.allow_requantize = has(GGUFX_QUANTIZER_ALLOW_REQUANTIZE);
    out.best = has(GGUFX_QUANTIZER_REFINED);
    out.keep_split = has(GGUFX_QUANTIZER_KEEP_SPLIT);
    out.keep_old = has(GGUFX_QUANTIZER_NO_REPLACE);
    if (in.feedback) { // estimates count it as an imatrix
        (void)import_options(in.feedback, 0, "ggufx_quantizer_feedback");
        out.calibrated = true;
    }
    if (in.imatrix) {
        imatrix_of(in.imatrix);
        out.imatrix = in.imatrix->imatrix;
    }
    return out;
}

} // namespace ggufx::abi
