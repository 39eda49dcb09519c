// Head of a request: fields as libmicrohttpd parsed them, and the rules that the library leaves to
// its users. Allocates nothing but errors.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <microhttpd.h>
#include <string_view>
#include <type_traits>

namespace ggufx::cli {

class HttpHead {
public:
    // `method` and `version` as the library passes them: both point into the received head.
    HttpHead(MHD_Connection *connection, const char *method, const char *version);

    // Calls `use` with the name and value of each field; it must not throw.
    template <class Use> void each(const Use &use) const {
        const auto call = [](void *cls, MHD_ValueKind, const char *name, size_t n_name,
                             const char *value, size_t n_value) noexcept {
            (*static_cast<const Use *>(cls))(std::string_view(name, n_name),
                                             std::string_view(value, n_value));
            return MHD_YES;
        };
        MHD_get_connection_values_n(connection_, MHD_HEADER_KIND, call, const_cast<Use *>(&use));
    }
    // Returns the first value of a field; empty if there is none.
    std::string_view value(std::string_view name) const;

    // Throws ApiError for a head that another program could read differently, so that both disagree
    // about where the request ends or who is asked.
    void require_clear() const;
    // Throws ApiError unless the body is JSON without a content encoding, of at most `most` bytes.
    void require_json(uint64_t most) const;
    bool has_body() const;
    // Returns Content-Length: 0 without one, UINT64_MAX for larger numbers.
    uint64_t n_body_bytes() const;
    bool is_chunked() const { return n_transfer_ > 0; }

private:
    bool is_complete() const;

    MHD_Connection *connection_;
    const char *method_;
    std::string_view version_;
    uint64_t n_hosts_ = 0, n_lengths_ = 0, n_transfer_ = 0;
};

bool is_same_field(std::string_view a, std::string_view b); // names of fields: case is ignored
// Returns true for a list of field names: "content-type, x-request-id".
bool is_field_list(std::string_view text);

} // namespace ggufx::cli
