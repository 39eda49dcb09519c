// SPDX-License-Identifier: MIT
#include "models/model_options.hpp"

#include "common/signals.hpp"
#include "common/text.hpp"

#include <cstdio>

namespace ggufx::cli {

namespace {

struct KeyValue {
    std::string key, value;
};

KeyValue parse_override(const std::string &text) {
    const size_t sign = text.find('=');
    if (sign == 0 || sign == std::string::npos)
        throw Failure(kUsage, "--override: \"" + escape(text) + "\" is not KEY=VALUE");
    return {text.substr(0, sign), text.substr(sign + 1)};
}

} // namespace

void add_model_options(Command &sub, ModelMaking &making) {
    sub.option("--override", making.overrides,
               "override a metadata key of the file: llama.rope.freq_base=50000")
        .value("KEY=VALUE")
        .repeatable();
    sub.option("--weights", making.group.weights,
               std::string("memory of the weights: map = memory-map the file; huge = copy it into "
                           "huge pages; copy = read it, so that it may change afterwards; reread = "
                           "map, after small pages left the page cache; auto = huge if a map has "
                           "small pages and memory is free (default ") +
                   (making.group.loading == Loading::automatic ? "auto" : "map") +
                   "). With --group: share of rows or layers per rank, 3,1, or auto = by measured "
                   "memory bandwidth (default equal)")
        .value("LIST");
    add_device(sub, making.device);
    sub.option("--device-layers", making.device_layers,
               "number of last layers on the device, with the output matrix (default all)")
        .value("N")
        .between(1u, 1u << 20);
}

namespace {

void tell_fallback(const char *why) {
    std::fprintf(stderr, "ggufx: --device auto: the processor multiplies: %s\n",
                 escape(why).c_str());
}

// Opens the requested device. Returns none without --device, or if --device auto finds none.
Device choose_device(const ggufx_runtime *rt, const ModelMaking &making) {
    if (!making.device.any()) {
        if (making.device_layers > 0) throw Failure(kUsage, "--device-layers needs --device");
        return nullptr;
    }
    try {
        return open_device(rt, making.device);
    } catch (const Failure &failure) {
        if (!making.device.is_auto()) throw;
        tell_fallback(failure.what());
        return nullptr;
    }
}

// Returns whether an error may be due to the device, so that the model may work without it.
bool is_devices_fault(ggufx_status status) {
    return status == GGUFX_E_MEMORY || status == GGUFX_E_DEVICE || status == GGUFX_E_LIMIT ||
           status == GGUFX_E_UNSUPPORTED;
}

} // namespace

File open_model(const ggufx_runtime *rt, const std::string &path, const ModelMaking &making,
                uint32_t flags) {
    GroupChoice choice = making.group;
    choice.take_loading();
    // Ranks would copy the parts of others too, and a device has a copy of its own.
    const bool has_copy = choice.is_set() || making.device.any();
    if (choice.loading == Loading::automatic && !has_copy) flags |= GGUFX_OPEN_HUGE_AUTO;
    if (choice.loading == Loading::huge || choice.loading == Loading::copy)
        flags |= GGUFX_OPEN_HUGE_PAGES;
    if (choice.loading == Loading::reread) flags |= GGUFX_OPEN_REREAD;
    const ggufx_progress cancel = cancel_hook();
    File file = open_file(rt, path, flags, &cancel, choice.io());
    if (choice.loading == Loading::huge && file_memory(file.get()).copied_bytes == 0)
        std::fputs("ggufx: --weights huge: no copy in huge pages here; the file is mapped\n",
                   stderr);
    return file;
}

Model make_model(const ggufx_runtime *rt, const ggufx_file *file, const ModelMaking &making) {
    std::vector<KeyValue> parsed;
    for (const std::string &text : making.overrides) parsed.push_back(parse_override(text));
    std::vector<ggufx_model_override> overrides;
    for (const KeyValue &o : parsed) overrides.push_back({o.key.c_str(), o.value.c_str()});
    const ggufx_progress cancel = cancel_hook();
    auto options = sized<ggufx_model_options>();
    options.overrides = overrides.data();
    options.n_overrides = overrides.size();
    options.progress = &cancel;
    auto group = sized<ggufx_group_options>();
    group.group = &making.group.group;
    group.timeout_ms = kAnswerWithin;
    if (making.group.by_layers) group.flags = GGUFX_GROUP_PIPELINE;
    if (!making.group.speeds.empty()) group.weights = making.group.speeds.data();
    if (making.group.is_set()) options.group = &group;
    const Device device = choose_device(rt, making);
    options.device = device.get();
    options.n_device_layers = device ? making.device_layers : 0;
    ggufx_model *model = nullptr;
    ggufx_error error;
    ggufx_status status = ggufx_model_create(&model, rt, file, &options, &error);
    if (status != GGUFX_OK && device && making.device.is_auto() && is_devices_fault(status)) {
        tell_fallback(error.message);
        options.device = nullptr;
        options.n_device_layers = 0;
        status = ggufx_model_create(&model, rt, file, &options, &error);
    }
    if (status == GGUFX_OK) return Model(model);
    throw Failure(status == GGUFX_E_ARGUMENT ? kUsage : exit_code(status), error);
}

} // namespace ggufx::cli
