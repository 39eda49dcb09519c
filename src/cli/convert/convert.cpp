// ggufx convert: safetensors models to GGUF; GGUF to safetensors, and to the other byte order.
// SPDX-License-Identifier: MIT
#include "convert/convert.hpp"

#include <cstdio>
#include <fmt/format.h>

namespace ggufx::cli {

static std::string format_of(const std::string &path) {
    if (is_folder(path) || path.ends_with(".safetensors") || path.ends_with(".index.json")) {
        return "safetensors";
    }
    char magic[4] = {};
    const InputFile file(path);
    if (file.size() >= 4) file.read_at(0, magic, 4);
    if (std::string_view(magic, 4) == "GGUF" || path.ends_with(".gguf")) return "gguf";
    throw Failure(kUsage, "\"" + escape(path) +
                              "\": the format is not known; use --from safetensors or gguf");
}

static std::string target_of(const std::string &path, const std::string &from) {
    for (const char *name : {"safetensors", "gguf"}) {
        if (path.ends_with(std::string(".") + name)) return name;
    }
    return from == "gguf" ? "safetensors" : "gguf";
}

static void check_outtype(const ConvertOptions &options, const std::string &to) {
    const bool floats =
        options.outtype == "f32" || options.outtype == "f16" || options.outtype == "bf16";
    if (floats || options.outtype == "auto" || (options.outtype == "q8_0" && to == "gguf")) return;
    throw Failure(kUsage,
                  "--outtype " + escape(options.outtype) + ": " + to + " takes auto, f32, f16, " +
                      (to == "gguf" ? "bf16, q8_0; use ggufx quantize for others" : "bf16"));
}

// Throws for an option that this conversion does not use: it was meant for another one.
static void check_use(const ConvertOptions &options, const std::string &from,
                      const std::string &to) {
    const struct {
        const char *name;
        const std::string &value;
        bool is_used;
        const char *where;
    } list[] = {
        {"--pre", options.pre, from == "safetensors", "safetensors to GGUF"},
        {"--name", options.name, from != "gguf", "safetensors to GGUF"},
        {"--endian", options.endian, from == "gguf" && to == "gguf", "GGUF to GGUF"},
        {"--max-shard", options.max_shard, to == "safetensors", "GGUF to safetensors"},
    };
    for (const auto &option : list) {
        if (option.value.empty() || option.is_used) continue;
        throw Failure(kUsage, fmt::format("{} is for {}, not for {} to {}", option.name,
                                          option.where, from, to));
    }
}

static Conversion convert_to(const Globals &globals, const ConvertOptions &options,
                             const std::string &from, const std::string &to) {
    if (to == "gguf") {
        require_free(globals, globals.output);
        if (from == "safetensors") return import_safetensors(globals, options);
        return copy_gguf(globals, options);
    }
    if (from != "gguf") {
        throw Failure(kUsage, "from " + from + " to " + to + ": convert to gguf first");
    }
    return export_safetensors(globals, options);
}

static Json json_texts(const std::vector<std::string> &texts) {
    Json out = Json::array();
    for (const std::string &text : texts) out.push_back(json_bytes(text));
    return out;
}

static int convert(const Globals &globals, const ConvertOptions &options) {
    if (globals.to_stdout()) throw Failure(kUsage, "convert needs -o OUT");
    const std::string from = options.from.empty() ? format_of(options.input) : options.from;
    const std::string to = options.to.empty() ? target_of(globals.output, from) : options.to;
    check_outtype(options, to);
    check_use(options, from, to);
    const Conversion done = convert_to(globals, options, from, to);
    for (const std::string &warning : done.warnings)
        if (!globals.quiet) std::fprintf(stderr, "ggufx: warning: %s\n", escape(warning).c_str());
    Output out("-", false);
    if (globals.json) {
        Json line = json_object();
        line.update(Json{{"input", json_bytes(options.input)},
                         {"output", json_bytes(globals.output)},
                         {"from", from},
                         {"to", to},
                         {"architecture", done.architecture},
                         {"n_tensors", done.n_tensors},
                         {"bytes", done.n_bytes},
                         {"remarks", json_texts(done.remarks)},
                         {"warnings", json_texts(done.warnings)}});
        print_json(out, line);
    } else if (!globals.quiet) {
        for (const std::string &remark : done.remarks) out.write(escape(remark) + "\n");
        out.write(fmt::format("{}: {} tensors, {}\n", escape(globals.output), done.n_tensors,
                              bytes_text(done.n_bytes)));
    }
    out.finish();
    return kOk;
}

void add_convert(Tool &tool) {
    auto options = std::make_shared<ConvertOptions>();
    Command sub =
        tool.app.add_command("convert", "convert models of other formats to GGUF, and back");
    sub.option("INPUT", options->input,
               "folder of a safetensors model, its file or index, or a GGUF file")
        .required();
    sub.option("--from", options->from, "format of INPUT, if its name does not tell")
        .one_of({"safetensors", "gguf"});
    sub.option("--to", options->to, "format of OUT, if its name does not tell")
        .one_of({"gguf", "safetensors"});
    sub.option("--outtype", options->outtype,
               "type of matrices: auto (unchanged; quantized ones become f16), f32, f16, bf16, "
               "q8_0 (default auto)")
        .value("OUTTYPE");
    sub.option("--pre", options->pre,
               "name of the pre-tokenizer (tokenizer.ggml.pre), if its pattern is not known");
    sub.option("--name", options->name, "general.name of the new file");
    sub.option("--endian", options->endian, "byte order of the new file (GGUF to GGUF)")
        .one_of({"little", "big"});
    sub.option("--max-shard", options->max_shard,
               "maximum size of safetensors shards (4G), written with an index")
        .value("SIZE");
    sub.examples("  ggufx convert ./Qwen2.5-7B -o qwen.gguf --outtype bf16\n"
                 "  ggufx convert model.gguf --to safetensors -o ./model-folder");
    tool.verbs.emplace_back(sub, [&tool, options] { return convert(tool.globals, *options); });
}

} // namespace ggufx::cli
