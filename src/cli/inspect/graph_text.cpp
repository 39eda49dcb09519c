// SPDX-License-Identifier: MIT
#include "inspect/graph_text.hpp"

#include "common/api.hpp"

namespace ggufx::cli {

std::string graph_text(const ggufx_file *file) {
    std::string text(1 << 14, '\0');
    size_t needed = 0;
    const auto print = [&](ggufx_error *error) {
        return ggufx_model_describe_graph(text.data(), text.size(), &needed, file, error);
    };
    ggufx_error error;
    if (print(&error) == GGUFX_E_CAPACITY) text.resize(needed);
    call(print);
    text.resize(needed);
    return text;
}

} // namespace ggufx::cli
