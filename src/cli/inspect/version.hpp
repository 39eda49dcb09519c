// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace ggufx::cli {

const std::vector<std::string> &architecture_names(); // values of general.architecture

} // namespace ggufx::cli
