// Medians of repeated calls, at most 50 ms per call type.
// SPDX-License-Identifier: MIT
#include "run/demo_calls.hpp"

#include "common/signals.hpp"
#include "common/temporary_file.hpp"
#include "common/text.hpp"
#include "common/timing.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Returns a file of the embedded model for ggufx_open; NULL if it cannot be written.
std::unique_ptr<TemporaryFile> temporary_model() {
    try {
        return std::make_unique<TemporaryFile>("demo", demo_model());
    } catch (const Failure &) { return nullptr; }
}

} // namespace

File demo_open(const ggufx_runtime *rt, std::vector<DemoCall> &calls) {
    const std::unique_ptr<TemporaryFile> temporary = temporary_model();
    const std::string_view model = demo_model();
    const auto open = [&] {
        ggufx_file *file = nullptr;
        call([&](ggufx_error *error) {
            return temporary ? ggufx_open(&file, rt, temporary->path().c_str(), nullptr, error)
                             : ggufx_open_memory(&file, rt, model.data(), model.size(), nullptr,
                                                 nullptr, nullptr, error);
        });
        return File(file);
    };
    const double seconds = median_seconds(0.05, [&] { open(); });
    File file = open();
    const std::string what = fmt::format(
        "checked {} keys and {} tensors of a {} file", ggufx_file_meta_count(file.get()),
        ggufx_file_tensor_count(file.get()), bytes_text(model.size()));
    calls.push_back({temporary ? "ggufx_open" : "ggufx_open_memory", what, seconds, model.size(),
                     fmt::format("{:.0f} files/s", 1 / seconds)});
    return file;
}

void demo_matvec(const ggufx_runtime *rt, const ggufx_file *file, std::vector<DemoCall> &calls) {
    static constexpr std::string_view kTensor = "token_embd.weight"; // the largest tensor
    size_t index = 0;
    call([&](ggufx_error *error) {
        return ggufx_file_tensor_find(&index, file, kTensor.data(), kTensor.size(), error);
    });
    const ggufx_tensor *tensor = ggufx_file_tensor(file, index);
    const ggufx_tensor_facts info = tensor_facts(tensor);
    const std::vector<float> x(static_cast<size_t>(info.ne[0]), 0.5f);
    std::vector<float> y(static_cast<size_t>(info.n_rows));
    const double seconds = median_seconds(0.05, [&] {
        call([&](ggufx_error *error) {
            return ggufx_matvec(y.data(), y.size(), rt, tensor, x.data(), x.size(), nullptr, error);
        });
    });
    const std::string what = fmt::format("{} ({}, {} x {}) times a vector", kTensor,
                                         type_name(info.type), info.n_rows, info.ne[0]);
    calls.push_back(
        {"ggufx_matvec", what, seconds, info.n_bytes,
         fmt::format("{:.1f} GB/s", static_cast<double>(info.n_bytes) / seconds / 1e9)});
}

void demo_kv_append(const ggufx_runtime *rt, const ggufx_model_facts &model,
                    std::vector<DemoCall> &calls) {
    auto options = sized<ggufx_kv_options>();
    options.n_layers = model.n_layers;
    options.n_kv_heads = model.n_kv_heads;
    options.n_q_heads = model.n_heads;
    options.head_dim_k = model.head_dim;
    options.type_k = GGUFX_TYPE_Q8_0;
    options.type_v = GGUFX_TYPE_Q8_0;
    options.max_tokens = model.n_context;
    ggufx_kv *handle = nullptr;
    call([&](ggufx_error *error) { return ggufx_kv_create(&handle, rt, &options, error); });
    const Kv kv(handle);
    call([&](ggufx_error *error) { return ggufx_kv_reserve(handle, 0, model.n_context, error); });
    const std::vector<float> values(size_t{model.n_kv_heads} * model.head_dim, 0.25f);
    auto token = sized<ggufx_kv_tokens>();
    token.n_tokens = 1;
    token.k = token.v = values.data();
    token.n_k = token.n_v = values.size();
    const auto append_token = [&] {
        for (token.layer = 0; token.layer < model.n_layers; token.layer++)
            call([&](ggufx_error *error) { return ggufx_kv_append(handle, &token, error); });
    };
    const uint32_t n_tokens = model.n_context;
    const double seconds = seconds_of([&] {
        for (uint32_t i = 0; i < n_tokens; i++) append_token();
    });
    const auto stats = facts<ggufx_kv_facts>([&](ggufx_kv_facts *out, ggufx_error *error) {
        return ggufx_kv_info(out, handle, GGUFX_KV_ALL_LAYERS, error);
    });
    const uint64_t bytes = stats.bytes_per_token * n_tokens;
    const uint64_t n_calls = uint64_t{n_tokens} * model.n_layers;
    const std::string what = fmt::format("encoded {} tokens in {} layers as q8_0 ({}), {} calls",
                                         n_tokens, model.n_layers, bytes_text(bytes), n_calls);
    calls.push_back({"ggufx_kv_append", what, seconds / static_cast<double>(n_calls), bytes,
                     fmt::format("{:.2f} M tokens/s", n_tokens / seconds / 1e6)});
}

} // namespace ggufx::cli
