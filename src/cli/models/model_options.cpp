// SPDX-License-Identifier: MIT
#include "models/model_options.hpp"

#include "floor/signals.hpp"
#include "floor/text.hpp"

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
               "run as if the file's key had this value: llama.rope.freq_base=50000")
        .value("KEY=VALUE")
        .repeatable();
}

Model make_model(const ggufx_runtime *rt, const ggufx_file *file, const ModelMaking &making) {
    std::vector<KeyValue> parsed;
    for (const std::string &text : making.overrides) parsed.push_back(parse_override(text));
    std::vector<ggufx_model_override> overrides;
    for (const KeyValue &o : parsed) overrides.push_back({o.key.c_str(), o.value.c_str()});
    const ggufx_progress cancel = cancel_hook();
    ggufx_model_options options;
    ggufx_model_options_init(&options);
    options.overrides = overrides.data();
    options.n_overrides = overrides.size();
    options.progress = &cancel;
    ggufx_group_options group;
    ggufx_group_options_init(&group);
    group.group = &making.group.group;
    group.timeout_ms = kAnswerWithin;
    if (!making.group.speeds.empty()) group.speeds = making.group.speeds.data();
    if (making.group.is_set()) options.group = &group;
    ggufx_model *model = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_model_create(&model, rt, file, &options, &error);
    if (status == GGUFX_OK) return Model(model);
    throw Failure(status == GGUFX_E_ARGUMENT ? kUsage : exit_code(status), error);
}

} // namespace ggufx::cli
