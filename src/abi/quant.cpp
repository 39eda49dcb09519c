// Dequantize and quantize: include/ggufx/quant.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"
#include "formats/format.hpp"
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

extern "C" ggufx_status ggufx_dequantize_blocks(float *out, size_t n, const ggufx_runtime *rt,
                                                uint32_t type, const void *bytes, size_t n_bytes,
                                                ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!alive(rt, Tag::runtime)) {
            return set_failure(failure, Status::argument, {}, "rt is not a live runtime");
        }
        const fmt::TypeInfo *info = fmt::type_info(type);
        if (!info) { // let the engine report the error
            return rt->engine->dequantize(out, {type, nullptr, 0, 0, 0}, 0, 0, failure);
        }
        const uint64_t n_blocks = n_bytes / info->block_bytes;
        uint64_t n_values;
        if (n_bytes % info->block_bytes != 0 ||
            !checked::mul(&n_values, n_blocks, info->block_values) || n_values > n ||
            (n_values && (!out || !bytes))) {
            return set_failure(failure, Status::argument, {},
                               "%zu bytes are not whole %s blocks of %" PRIu32
                               " bytes, or their values do not fit the %zu floats of out",
                               n_bytes, info->name, info->block_bytes, n);
        }
        const matmul::Weights weights = {type, static_cast<const uint8_t *>(bytes), n_bytes, 1,
                                         n_values};
        return rt->engine->dequantize(out, weights, 0, 1, failure);
    });
}

extern "C" ggufx_status ggufx_quantize_blocks(void *out, size_t n_bytes, const ggufx_runtime *rt,
                                              uint32_t type, const float *rows, size_t n_rows,
                                              size_t n_cols, const ggufx_quantize_options *options,
                                              ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!alive(rt, Tag::runtime)) {
            return set_failure(failure, Status::argument, {}, "rt is not a live runtime");
        }
        const auto in = import_options(options, 0, "ggufx_quantize_options");
        if (in.mode != GGUFX_QUANTIZE_REFERENCE && in.mode != GGUFX_QUANTIZE_BEST) {
            return set_failure(failure, Status::unsupported, {},
                               "quantize mode %" PRId32 " is unknown; this library knows 0 and 1",
                               in.mode);
        }
        const Progress progress = import_progress(in.progress);
        return quant::quantize(
            static_cast<uint8_t *>(out), n_bytes, *rt->host, rt->engine->kernels(), type,
            {rows, n_rows, n_cols, in.imatrix, in.mode == GGUFX_QUANTIZE_BEST}, progress, failure);
    });
}
