// ggufx demo: generates a story with the embedded model, then reports the speed of three API calls.
// SPDX-License-Identifier: MIT
#include "common/json.hpp"
#include "common/table.hpp"
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
                      const std::vector<DemoCall> &calls, Finish finish) {
    Json line = json_object();
    line["seed"] = options.generate.sampling.seed;
    line["prompt_ids"] = prompt;
    line["ids"] = ids;
    line["text"] = json_bytes(text);
    line["finish_reason"] = finish_reason(finish);
    line["context_full"] = finish == Finish::context;
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
    Generator generator(rt.get(), file.get(), options.generate);
    const std::vector<int32_t> prompt = generator.tokenize("");

    Output out(globals);
    TextStream stream(globals.json ? nullptr : &out, {});
    std::vector<int32_t> ids;
    std::string text;
    const auto show = [&](const Token &token) {
        std::string piece = token.piece.value_or("");
        // Removes the space before the first word.
        if (ids.empty() && piece[0] == ' ') piece.erase(0, 1);
        ids.push_back(token.id);
        text += piece;
        stream.add(piece);
    };
    Finish finish = Finish::none;
    try {
        finish = generate(generator, prompt, options.generate.n_predict, nullptr, show);
    } catch (const Failure &) {
        if (!globals.json) out.end_line();
        throw;
    }
    stream.finish();
    demo_matvec(rt.get(), file.get(), calls);
    demo_kv_append(rt.get(), generator.info(), calls);
    if (globals.json) {
        print_json(out, demo_json(options, prompt, ids, text, calls, finish));
    } else {
        out.write("\n\n");
        print_calls(out, globals, calls);
    }
    out.finish();
    if (finish == Finish::context && !globals.json) say_context_full(globals, generator, "");
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
