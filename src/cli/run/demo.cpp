// ggufx demo: generates a story with the embedded model, then reports the speed of three API calls.
// SPDX-License-Identifier: MIT
#include "common/json.hpp"
#include "common/table.hpp"
#include "models/sampling_defaults.hpp"
#include "models/text_model.hpp"
#include "run/demo_calls.hpp"
#include "run/generate.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct DemoOptions {
    std::string export_path;
    GenerateOptions generate;
};

} // namespace

static int export_model(const Globals &globals, const std::string &path) {
    const std::string_view model = demo_model();
    Output file(path, globals.force);
    file.require_space(model.size());
    file.write(model);
    file.finish();
    if (path == "-") return kOk;
    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line["file"] = json_bytes(path);
        line["bytes"] = model.size();
        print_json(out, line);
    } else if (!globals.quiet) {
        out.write(fmt::format("{}: {}\n", escape(path), bytes_text(model.size())));
    }
    out.finish();
    return kOk;
}

static void print_calls(Output &out, const Globals &globals, const std::vector<DemoCall> &calls) {
    Table table({"call", "result", ">time", ">speed"});
    for (const DemoCall &call : calls) {
        table.row({call.name, call.what, time_text(call.seconds), call.speed});
    }
    table.print(out, make_style(globals, out));
}

static Json demo_json(const DemoOptions &options, const std::vector<int32_t> &prompt,
                      const std::vector<int32_t> &ids, const std::string &text,
                      const std::vector<DemoCall> &calls, ggufx_end end) {
    Json line = json_object();
    line["seed"] = options.generate.sampling.seed;
    line["prompt_ids"] = prompt;
    line["ids"] = ids;
    line["text"] = json_bytes(text);
    line["finish_reason"] = finish_reason(end);
    line["context_full"] = end == GGUFX_END_CONTEXT;
    line["calls"] = Json::array();
    for (const DemoCall &call : calls) {
        line["calls"].push_back({{"call", call.name},
                                 {"what", call.what},
                                 {"seconds", call.seconds},
                                 {"bytes", call.bytes},
                                 {"speed", call.speed}});
    }
    return line;
}

static int demo(const Globals &globals, DemoOptions &options) {
    if (!options.export_path.empty()) return export_model(globals, options.export_path);
    const Runtime rt = make_runtime(globals);
    std::vector<DemoCall> calls;
    const File file = demo_open(rt.get(), calls);
    use_model_sampling(globals, options.generate.sampling, model_sampling(file.get()));
    const GeneratingModel generation(rt.get(), file.get(), options.generate);
    const std::vector<int32_t> prompt =
        tokenize(generation.tokenizer(), "", GGUFX_TOKENIZE_ADD_SPECIAL);
    set_prompt(generation, prompt);

    Output out(globals);
    std::string text;
    const auto show = [&](const ggufx_event &event) {
        std::string piece(view(event.text));
        // Removes the space before the first word.
        if (text.empty() && piece[0] == ' ') piece.erase(0, 1);
        text += piece;
        if (globals.json) return;
        out.write(out.is_terminal() ? escape_controls(piece) : piece);
        out.flush();
    };
    ggufx_end end = GGUFX_END_NONE;
    try {
        end = generate(generation, show);
    } catch (const Failure &) {
        if (!globals.json) out.end_line();
        throw;
    }
    demo_matvec(rt.get(), file.get(), calls);
    demo_kv_append(rt.get(), model_facts(generation.model()), calls);
    if (globals.json) {
        std::vector<int32_t> ids = generator_tokens(generation.generator());
        ids.erase(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(prompt.size()));
        print_json(out, demo_json(options, prompt, ids, text, calls, end));
    } else {
        out.write("\n\n");
        print_calls(out, globals, calls);
    }
    out.finish();
    if (end == GGUFX_END_CONTEXT && !globals.json)
        say_context_full(globals, generation.n_context(), "");
    return kOk;
}

void add_demo(Tool &tool) {
    auto options = std::make_shared<DemoOptions>();
    Command sub = tool.app.add_command("demo", "let the built-in model tell a story");
    sub.option("--seed", options->generate.sampling.seed, "random seed (default 1)");
    sub.option("-n,--predict", options->generate.n_predict,
               "maximum number of tokens to generate (default 400)");
    sub.option("--export", options->export_path, "only write the built-in model to FILE")
        .value("FILE");
    sub.examples("  ggufx demo --seed 7\n  ggufx demo --export story.gguf && ggufx run story.gguf");
    tool.verbs.emplace_back(sub, [&tool, options] { return demo(tool.globals, *options); });
}

} // namespace ggufx::cli
