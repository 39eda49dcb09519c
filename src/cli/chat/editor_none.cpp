// SPDX-License-Identifier: MIT
#include "chat/editor.hpp"

namespace ggufx::cli {

std::unique_ptr<Editor> Editor::make() {
    return nullptr;
}

} // namespace ggufx::cli
