// Snapshot of a sequence in memory, in the library's format.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

namespace ggufx::cli {

std::string save_sequence(const ggufx_session *session, uint32_t sequence); // throws Failure
ggufx_status load_sequence(ggufx_session *session, uint32_t sequence, std::string_view snapshot,
                           ggufx_error &error);

} // namespace ggufx::cli
