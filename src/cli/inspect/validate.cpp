// ggufx validate: whether a file is well-formed. Prints one object of {status, code, offset, index,
// message} and a list of findings; exits with 0 or 3.
// SPDX-License-Identifier: MIT
#include "common/api.hpp"
#include "common/json.hpp"
#include "common/progress.hpp"
#include "common/table.hpp"

#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct ValidateOptions {
    std::string file;
    bool deep = false;
    bool strict = false;
    bool model = false;
    bool legacy = false;
};

struct Finding {
    int32_t severity;
    int32_t status;
    uint64_t offset;
    uint64_t index;
    std::string text;
    std::string name;
};

} // namespace

static int32_t collect(void *user, const ggufx_finding_facts *finding) {
    std::string name = std::string(view(finding->name));
    static_cast<std::vector<Finding> *>(user)->push_back({finding->severity, finding->status,
                                                          finding->offset, finding->index,
                                                          finding->text, std::move(name)});
    return 0;
}

static const char *severity_name(int32_t severity) {
    return severity == GGUFX_LOG_ERROR     ? "error"
           : severity == GGUFX_LOG_WARNING ? "warning"
                                           : "info";
}

// Creates the tokenizer and the model. An invalid vocabulary is reported before missing tensors, an
// unsupported or absent one after them.
static void bind_model(const ggufx_runtime *rt, const ggufx_file *file) {
    ggufx_tokenizer *tokenizer = nullptr;
    ggufx_error vocabulary = {};
    const ggufx_status status = ggufx_tokenizer_create(&tokenizer, file, &vocabulary);
    ggufx_tokenizer_destroy(tokenizer);
    const Failure failure(exit_code(status), vocabulary);
    const bool absent = status == GGUFX_E_UNSUPPORTED || status == GGUFX_E_MISSING;
    if (status != GGUFX_OK && !absent) throw failure;
    ggufx_model *model = nullptr;
    call([&](ggufx_error *error) { return ggufx_model_create(&model, rt, file, nullptr, error); });
    ggufx_model_destroy(model);
    if (absent) throw failure;
}

static void look_at(const Globals &globals, const ValidateOptions &options,
                    std::vector<Finding> &findings) {
    const Runtime rt = make_runtime(globals);
    Progress progress(globals, "validate");
    const ggufx_progress hook = progress.hook();
    const uint32_t open_flags =
        (options.strict ? GGUFX_OPEN_STRICT : 0u) | (options.legacy ? GGUFX_OPEN_LEGACY_V1 : 0u);
    const File file = open_file(rt.get(), options.file, open_flags, &hook);
    const uint32_t flags =
        (options.deep ? GGUFX_VALIDATE_DEEP : 0u) | (options.strict ? GGUFX_VALIDATE_STRICT : 0u);
    call([&](ggufx_error *error) {
        return ggufx_file_validate(file.get(), flags, collect, &findings, &hook, error);
    });
    if (options.model) bind_model(rt.get(), file.get());
}

static ggufx_error no_error() {
    ggufx_error error = {};
    error.offset = GGUFX_NONE;
    error.index = GGUFX_NONE;
    return error;
}

// Returns the first finding that is an error, or OK.
static ggufx_error verdict(const std::vector<Finding> &findings) {
    ggufx_error error = no_error();
    for (const Finding &finding : findings) {
        if (finding.severity != GGUFX_LOG_ERROR) continue;
        error.status = finding.status ? finding.status : GGUFX_E_VALUE;
        error.offset = finding.offset;
        error.index = finding.index;
        std::strncpy(error.message, finding.text.c_str(), sizeof error.message - 1);
        break;
    }
    return error;
}

static void print_result(const Globals &globals, const ValidateOptions &options,
                         const ggufx_error &result, const std::vector<Finding> &findings) {
    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line.update(Json{{"status", ggufx_status_name(result.status)},
                         {"code", result.status},
                         {"offset", json_place(result.offset)},
                         {"index", json_place(result.index)},
                         {"message", result.message}});
        line["findings"] = Json::array();
        for (const Finding &f : findings) {
            line["findings"].push_back({{"severity", severity_name(f.severity)},
                                        {"status", ggufx_status_name(f.status)},
                                        {"code", f.status},
                                        {"offset", json_place(f.offset)},
                                        {"index", json_place(f.index)},
                                        {"name", json_bytes(f.name)},
                                        {"message", f.text}});
        }
        print_json(out, line);
    } else if (result.status != GGUFX_OK && findings.empty()) {
        const std::string at =
            result.offset == GGUFX_NONE ? "" : fmt::format(" at byte {}", result.offset);
        out.write(fmt::format("{}: {}{}: {}\n", escape(options.file),
                              ggufx_status_name(result.status), at, escape(result.message)));
    } else {
        out.write(fmt::format("{}: {}\n", escape(options.file), ggufx_status_name(result.status)));
        Table table({"severity", "status", ">offset", "finding"});
        table.essential({"severity", "finding"});
        for (const Finding &f : findings) {
            table.row({severity_name(f.severity), ggufx_status_name(f.status),
                       f.offset == GGUFX_NONE ? "" : fmt::format("{}", f.offset), escape(f.text)});
        }
        if (!table.empty()) table.print(out, make_style(globals, out));
    }
    out.finish();
}

// Returns whether an error is a verdict on the file, not a failure to read it.
static bool is_about_file(ggufx_status status) {
    const int code = exit_code(status);
    return code == kInvalidFile || code == kUnsupported;
}

static int validate(const Globals &globals, const ValidateOptions &options) {
    std::vector<Finding> findings;
    ggufx_error result = no_error();
    try {
        look_at(globals, options, findings);
        result = verdict(findings);
    } catch (const Failure &failure) {
        if (!failure.detail || !is_about_file(failure.detail->status)) throw;
        result = *failure.detail;
    }
    print_result(globals, options, result, findings);
    return result.status == GGUFX_OK ? kOk : kInvalidFile;
}

void add_validate(Tool &tool) {
    auto options = std::make_shared<ValidateOptions>();
    Command sub = tool.app.add_command("validate", "check that a file is well-formed");
    sub.option("FILE", options->file, "GGUF file").required();
    sub.flag("--deep", options->deep, "check all tensor data: NaN, infinities, scales");
    sub.flag("--strict", options->strict, "also refuse files that the reader of ggml refuses");
    sub.flag("--model", options->model, "also require a model that can run");
    sub.flag("--legacy", options->legacy, "accept GGUF version 1");
    sub.examples("  ggufx validate model.gguf\n  ggufx validate model.gguf --deep --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return validate(tool.globals, *options); });
}

} // namespace ggufx::cli
