// SPDX-License-Identifier: MIT
#include "inspect/graph_text.hpp"

#include "common/api.hpp"

namespace ggufx::cli {

std::string graph_text(const ggufx_file *file) {
    std::string text(1 << 14, '\0');
    fill_room(text, [&](size_t *needed, ggufx_error *error) {
        return ggufx_model_describe_graph(text.data(), text.size(), needed, file, error);
    });
    return text;
}

} // namespace ggufx::cli
