// Products on a device beside the plain read of the same memory there.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/products.hpp"

namespace ggufx::cli {

int bench_device_products(const Globals &globals, const ProductOptions &options);

} // namespace ggufx::cli
