// The bytes are in run/model.S.
// SPDX-License-Identifier: MIT
#include "models/demo_model.hpp"

extern "C" const unsigned char ggufx_demo_model[];
extern "C" const unsigned char ggufx_demo_model_end[];

namespace ggufx::cli {

std::string_view demo_model() {
    return {reinterpret_cast<const char *>(ggufx_demo_model),
            static_cast<size_t>(ggufx_demo_model_end - ggufx_demo_model)};
}

File open_demo_model(const ggufx_runtime *rt) {
    const std::string_view bytes = demo_model();
    ggufx_file *file = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_open_memory(&file, rt, bytes.data(), bytes.size(), nullptr, nullptr, nullptr,
                                 error);
    });
    return File(file);
}

} // namespace ggufx::cli
