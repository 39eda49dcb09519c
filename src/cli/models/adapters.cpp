// SPDX-License-Identifier: MIT
#include "models/adapters.hpp"

#include "common/signals.hpp"
#include "common/text.hpp"

#include <charconv>
#include <cmath>
#include <sys/stat.h>

namespace ggufx::cli {

namespace {

struct FileAndScale {
    std::string file;
    float scale = 1;
};

// Splits "FILE:SCALE". An existing file with the whole name takes precedence.
FileAndScale parse_given(const std::string &text) {
    struct stat info = {};
    const size_t colon = text.rfind(':');
    if (colon == std::string::npos || stat(text.c_str(), &info) == 0) return {text};
    FileAndScale out = {text.substr(0, colon)};
    const char *const end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data() + colon + 1, end, out.scale);
    if (error != std::errc() || next != end || !std::isfinite(out.scale))
        throw Failure(kUsage, in_quotes(text) + ": \"" + escape(text.substr(colon + 1)) +
                                  "\" is not a scale (FILE:0.5), and there is no such file");
    return out;
}

uint32_t parse_layer(std::string_view text, const std::string &all) {
    uint32_t layer = 0;
    const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), layer);
    if (error == std::errc() && next == text.data() + text.size()) return layer;
    throw Failure(kUsage, "--control-layers: \"" + escape(all) + "\" is not FIRST-LAST");
}

ggufx_adapter_options control_options(const AdapterOptions &options) {
    auto out = sized<ggufx_adapter_options>();
    if (options.layers.empty()) return out;
    const std::string_view text = options.layers;
    const size_t dash = text.find('-');
    out.first_layer = parse_layer(text.substr(0, dash), options.layers);
    out.last_layer = dash == std::string_view::npos
                         ? out.first_layer
                         : parse_layer(text.substr(dash + 1), options.layers);
    if (out.last_layer < out.first_layer || out.last_layer == 0)
        throw Failure(kUsage, "--control-layers: \"" + escape(options.layers) +
                                  "\" is not a range of layers, which begin at 1");
    return out;
}

} // namespace

std::vector<std::string> adapter_files(const AdapterOptions &options) {
    std::vector<std::string> out;
    for (const auto *const list : {&options.loras, &options.controls})
        for (const std::string &given : *list) out.push_back(parse_given(given).file);
    return out;
}

void add_lora_option(Command &sub, AdapterOptions &options) {
    sub.option("--lora", options.loras, "LoRA adapter, FILE or FILE:SCALE")
        .value("FILE")
        .repeatable();
}

void add_adapter_options(Command &sub, AdapterOptions &options) {
    add_lora_option(sub, options);
    sub.option("--control-vector", options.controls, "control vector, FILE or FILE:SCALE")
        .value("FILE")
        .repeatable();
    sub.option("--control-layers", options.layers,
               "layers that control vectors act on, counted from 0 (default all)")
        .value("FIRST-LAST");
}

Adapters::Adapters(const ggufx_runtime *rt, const ggufx_model *model,
                   const AdapterOptions &options) {
    if (!options.layers.empty() && options.controls.empty())
        throw Failure(kUsage, "--control-layers needs --control-vector");
    auto plain = sized<ggufx_adapter_options>();
    for (const std::string &given : options.loras) add(rt, model, given, plain, options.io);
    const ggufx_adapter_options of_layers = control_options(options);
    for (const std::string &given : options.controls) add(rt, model, given, of_layers, options.io);
}

void Adapters::add(const ggufx_runtime *rt, const ggufx_model *model, const std::string &given,
                   const ggufx_adapter_options &options, int32_t io) {
    const FileAndScale parsed = parse_given(given);
    const ggufx_progress cancel = cancel_hook();
    const File file = open_file(rt, parsed.file, 0, &cancel, io);
    ggufx_adapter *adapter = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_adapter_create(&adapter, model, file.get(), &options, &error);
    if (status != GGUFX_OK)
        throw Failure(Failure(exit_code(status), error), "adapter " + in_quotes(parsed.file));
    adapters_.emplace_back(adapter);
    uses_.push_back({adapter, parsed.scale, 0});
}

Json Adapters::job() const {
    Json list = Json::array();
    for (const ggufx_adapter_use &use : uses_) {
        const auto info =
            facts<ggufx_adapter_facts>([&](ggufx_adapter_facts *out, ggufx_error *error) {
                return ggufx_adapter_info(out, use.adapter, error);
            });
        list.push_back({{"adapter", info.fingerprint}, {"scale", use.scale}});
    }
    return list;
}

void Adapters::give_to(ggufx_session *session) const {
    call([&](ggufx_error *error) {
        return ggufx_session_set_adapters(session, GGUFX_ALL_SEQUENCES, uses_.data(), uses_.size(),
                                          error);
    });
}

void Adapters::give_to(ggufx_embedder *embedder) const {
    call([&](ggufx_error *error) {
        return ggufx_embedder_set_adapters(embedder, uses_.data(), uses_.size(), error);
    });
}

} // namespace ggufx::cli
