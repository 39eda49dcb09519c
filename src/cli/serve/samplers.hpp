// Samplers of requests: the model's chain with the parameters of a request.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/model_host.hpp"

namespace ggufx::cli {

Sampler make_request_sampler(const ModelHost &host, const SamplingOptions &options);
// Returns the sampling of a request; throws ApiError if no sampler can be made from it.
std::shared_ptr<const SamplingOptions> checked_sampling(const ModelHost &host,
                                                        const Wanted &wanted);

} // namespace ggufx::cli
