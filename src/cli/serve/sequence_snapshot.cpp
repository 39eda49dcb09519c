// SPDX-License-Identifier: MIT
#include "serve/sequence_snapshot.hpp"

#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

std::string save_sequence(const ggufx_session *session, uint32_t sequence) {
    std::string out;
    const auto write = [](void *user, const void *data, size_t n) -> ggufx_status {
        try {
            static_cast<std::string *>(user)->append(static_cast<const char *>(data), n);
            return GGUFX_OK;
        } catch (const std::bad_alloc &) { return GGUFX_E_MEMORY; }
    };
    call([&](ggufx_error *error) {
        return ggufx_session_save(session, sequence, write, &out, error);
    });
    return out;
}

ggufx_status load_sequence(ggufx_session *session, uint32_t sequence, std::string_view snapshot,
                           ggufx_error &error) {
    const auto read = [](void *user, void *data, size_t n) -> ggufx_status {
        auto &from = *static_cast<std::string_view *>(user);
        if (n > from.size()) return GGUFX_E_TRUNCATED;
        std::memcpy(data, from.data(), n);
        from.remove_prefix(n);
        return GGUFX_OK;
    };
    const ggufx_status status = ggufx_session_load(session, sequence, read, &snapshot, &error);
    if (status != GGUFX_OK || snapshot.empty()) return status;
    *fmt::format_to_n(error.message, sizeof error.message - 1,
                      "the snapshot has {} bytes after its end", snapshot.size())
         .out = 0;
    return GGUFX_E_MALFORMED;
}

} // namespace ggufx::cli
