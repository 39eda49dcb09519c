// Products on a device, compared with plain reads of the same device memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/products.hpp"

namespace ggufx::cli {

int bench_device_products(const Globals &globals, const ProductOptions &options);

} // namespace ggufx::cli
