// Dequantize and quantize: include/ggufx/quant.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"
#include "quant/quantize.hpp"

#include <ggufx/quant.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

extern "C" ggufx_status ggufx_dequantize(float *out, size_t n_out, const ggufx_runtime *rt,
                                         const ggufx_tensor *tensor, uint64_t first_row,
                                         uint64_t n_rows, ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!alive(rt, Tag::runtime) || !alive(tensor, Tag::tensor)) {
            return set_failure(failure, Status::argument, {}, "rt and tensor must be live handles");
        }
        const gguf::Tensor t = tensor->view();
        uint64_t n_values;
        if (!checked::mul(&n_values, n_rows, t.ne[0]) || n_values > n_out || (n_values && !out)) {
            return set_failure(failure, Status::argument, {},
                               "out is not set or holds %zu floats; %" PRIu64 " rows of %" PRIu64
                               " values need more",
                               n_out, n_rows, t.ne[0]);
        }
        return rt->engine->dequantize(out, weights_of(*tensor), first_row, n_rows, failure);
    });
}

extern "C" ggufx_status ggufx_quantize(void *out, size_t n_bytes, const ggufx_runtime *rt,
                                       const ggufx_quantize_args *args, ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!alive(rt, Tag::runtime)) {
            return set_failure(failure, Status::argument, {}, "rt is not a live runtime");
        }
        if (!args) return refuse(error, "args must be set");
        const auto in = import_options(args, 0, "ggufx_quantize_args");
        if (in.mode != GGUFX_QUANTIZE_REFERENCE && in.mode != GGUFX_QUANTIZE_REFINED) {
            return set_failure(failure, Status::unsupported, {},
                               "quantize mode %" PRId32 " is unknown; this library knows 0 and 1",
                               in.mode);
        }
        const Progress progress = import_progress(in.progress);
        return quant::quantize(
            {static_cast<uint8_t *>(out), n_bytes, in.type}, *rt->host, rt->engine->kernels(),
            {in.rows, in.n_rows, in.n_cols, in.imatrix, in.mode == GGUFX_QUANTIZE_REFINED},
            progress, failure);
    });
}
