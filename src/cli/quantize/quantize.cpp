// ggufx quantize: converts a model to smaller types.
// SPDX-License-Identifier: MIT
#include "quantize/target.hpp"

#include "common/input_file.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"
#include "common/size.hpp"
#include "models/rewrite.hpp"

#include <charconv>
#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace ggufx::cli {

// Parses a name or a number of general.file_type.
static uint32_t file_type_of(const std::string &name) {
    uint32_t type = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), type);
    if (bad == std::errc() && end == name.data() + name.size()) return type;
    ggufx_error error;
    const ggufx_status status = ggufx_file_type_find(&type, name.c_str(), &error);
    if (status != GGUFX_OK) throw Failure(kUsage, std::string("--type: ") + error.message);
    return type;
}

static bool contains_any(std::string_view name, const std::vector<std::string> &parts) {
    for (const std::string &part : parts) {
        if (name.find(part) != std::string_view::npos) return true;
    }
    return false;
}

static Imatrix read_weights(const Globals &globals, const ggufx_runtime *rt,
                            const ModelQuantizeOptions &options) {
    if (options.imatrix.empty()) return nullptr;
    Imatrix imatrix = open_imatrix(globals, rt, options.imatrix);
    std::vector<uint8_t> keep;
    for (uint64_t i = 0; i < imatrix_facts(imatrix.get()).n_entries; i++) {
        const ggufx_imatrix_entry entry = imatrix_entry(imatrix.get(), i);
        const std::string_view name = view(entry.name);
        keep.push_back(!contains_any(name, options.exclude) &&
                       (options.include.empty() || contains_any(name, options.include)));
    }
    call([&](ggufx_error *error) {
        return ggufx_imatrix_keep_entries(imatrix.get(), keep.data(), keep.size(), error);
    });
    return imatrix;
}

static Job make_job(const ggufx_runtime *rt, const ggufx_file *file, uint32_t file_type,
                    const ggufx_imatrix *imatrix, const ModelQuantizeOptions &options, bool force) {
    auto job = sized<ggufx_quantizer_options>();
    std::optional<CalibrationText> text;
    if (options.calibration.is_given())
        job.feedback = &text.emplace(file, options.calibration).options();
    const auto flag = [&](bool given, uint32_t bit) { job.flags |= given ? bit : 0; };
    flag(options.pure, GGUFX_QUANTIZER_PURE);
    flag(options.leave_output, GGUFX_QUANTIZER_LEAVE_OUTPUT);
    flag(options.only_copy, GGUFX_QUANTIZER_COPY_ONLY);
    flag(options.allow_requantize, GGUFX_QUANTIZER_ALLOW_REQUANTIZE);
    flag(options.no_fallback, GGUFX_QUANTIZER_NO_FALLBACK);
    flag(options.best, GGUFX_QUANTIZER_REFINED);
    flag(options.keep_split, GGUFX_QUANTIZER_KEEP_SPLIT);
    flag(!force, GGUFX_QUANTIZER_NO_REPLACE);
    flag(!options.output_type.empty(), GGUFX_QUANTIZER_OUTPUT_TYPE);
    flag(!options.embd_type.empty(), GGUFX_QUANTIZER_EMBEDDING_TYPE);
    if (!options.output_type.empty())
        job.output_type = type_from_name(options.output_type, "--output-type");
    if (!options.embd_type.empty())
        job.embedding_type = type_from_name(options.embd_type, "--embd-type");
    job.imatrix = imatrix;
    job.imatrix_name = options.imatrix.c_str();
    if (!options.reserve.empty()) job.reserve_bytes = parse_size(options.reserve, "--reserve");
    ggufx_quantizer *made = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_quantizer_create(&made, rt, file, file_type, &job, error);
    });
    return Job(made);
}

// Returns whether the run shows a row for each finished tensor.
static bool shows_rows(const Globals &globals) {
    return isatty(STDERR_FILENO) == 1 && !globals.quiet && globals.progress != "never" &&
           globals.progress != "json";
}

namespace {

// Display of a run: a row per tensor, and the progress below them.
class QuantizeDisplay {
public:
    QuantizeDisplay(const Globals &globals, bool measure)
        : progress_(globals, "quantize"), measure_(measure), rows_(shows_rows(globals)) {}

    void fill(ggufx_quantizer_run_options &run, ggufx_progress &hook) {
        hook = {};
        hook.user = this;
        hook.report = [](void *user, uint64_t done, uint64_t total) -> int32_t {
            static_cast<QuantizeDisplay *>(user)->update(done, total);
            return pending_signal() != 0;
        };
        run.progress = &hook;
        run.user = this;
        run.tensor_done = [](void *user, size_t, const ggufx_quantizer_tensor_facts *t) {
            static_cast<QuantizeDisplay *>(user)->row(*t);
            return ggufx_status{GGUFX_OK};
        };
    }

private:
    void update(uint64_t done, uint64_t total) {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
        const double seconds = elapsed.count();
        if (seconds <= 0 || done == 0) return progress_.update(done, total);
        const double rate = static_cast<double>(done) / seconds;
        const double left = static_cast<double>(total - done) / rate;
        progress_.update(done, total, fmt::format("{:.0f} MB/s, {:.0f} s left", rate / 1e6, left));
    }
    void row(const ggufx_quantizer_tensor_facts &t) {
        if (!rows_) return;
        std::string line =
            fmt::format("\r\033[K{}  {} -> {}  {}  {}", escape(view(t.name)), type_name(t.from),
                        type_name(t.to), bytes_text(t.bytes_out), time_text(t.seconds));
        if (measure_ && t.rmse >= 0) line += fmt::format("  rmse {:.4g}", t.rmse);
        if (t.error_before > 0)
            line += fmt::format("  output error {:.3g} -> {:.3g}", t.error_before, t.error_after);
        fmt::print(stderr, "{}\n", line);
    }

    Progress progress_;
    bool measure_, rows_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace

static void run_job(const Globals &globals, ggufx_quantizer *job,
                    const ModelQuantizeOptions &options) {
    QuantizeDisplay display(globals, options.measure);
    auto run = sized<ggufx_quantizer_run_options>();
    ggufx_progress hook;
    display.fill(run, hook);
    if (options.finish) {
        call_to_write([&](ggufx_error *error) {
            return ggufx_quantizer_finish(job, options.out.c_str(), &hook, error);
        });
        return;
    }
    run.flags = GGUFX_QUANTIZER_KEEP | (options.resume ? GGUFX_QUANTIZER_RESUME : 0) |
                (options.measure ? GGUFX_QUANTIZER_MEASURE : 0);
    run.shard = options.share.number;
    run.n_shards = options.share.n;
    ggufx_error error;
    const ggufx_status status = ggufx_quantizer_run(job, options.out.c_str(), &run, &error);
    if (status == GGUFX_OK) return;
    const Failure failure(exit_code(status), error);
    const bool stopped = status == GGUFX_E_CANCELLED || status == GGUFX_E_IO;
    const bool kept = stopped && (options.keep_split || exists(options.out + ".part"));
    if (!kept || globals.json) throw failure;
    const bool cancelled = status == GGUFX_E_CANCELLED;
    Failure said(failure.exit_code, (cancelled ? std::string("interrupted") : failure.what()) +
                                        "; use --resume to continue");
    said.detail = failure.detail;
    throw said;
}

static void print_result(Output &out, const Globals &globals, const ggufx_quantizer *job,
                         const ModelQuantizeOptions &options, const Overrides &overrides,
                         const std::string &type) {
    if (globals.json) {
        Json value = json_object();
        value.update(total_json(job, options, overrides, type));
        if (options.measure) {
            Json tensors = Json::array();
            for (uint64_t i = 0; i < job_facts(job).n_tensors; i++) {
                tensors.push_back(tensor_json(job_tensor(job, i)));
            }
            value["plan"] = tensors;
        }
        print_json(out, value);
        return out.finish();
    }
    // If both go to the same terminal, the rows of the run have shown the errors.
    if (options.measure && !(shows_rows(globals) && out.is_terminal()))
        print_errors(out, globals, job, options.calibration.is_given());
    if (!globals.quiet) { out.write(escape(options.out) + ": " + type + ", " + total_text(job)); }
    out.finish();
}

// Applies overrides, then chooses types for a target size.
static void choose_types(const Globals &globals, ggufx_quantizer *job,
                         const ModelQuantizeOptions &options, Overrides &overrides) {
    std::vector<uint32_t> types;
    if (!overrides.empty()) {
        types = overrides.choose(job);
        call([&](ggufx_error *error) {
            return ggufx_quantizer_override_types(job, types.data(), types.size(), error);
        });
    }
    if (!globals.quiet) overrides.warn(job);
    if (options.has_target()) meet_target(globals, job, options, types);
}

static int quantize(const Globals &globals, ModelQuantizeOptions &options) {
    complete_options(options);
    const uint32_t file_type = file_type_of(options.type);
    const ggufx_file_type_facts recipe = file_type_facts(file_type);
    if (!options.dry_run && !options.keep_split) require_target(globals, options.out);
    const Runtime rt = make_runtime(globals);
    Overrides overrides(options);
    const Imatrix imatrix = read_weights(globals, rt.get(), options);
    const bool reads_data = !options.dry_run || options.has_target();
    const uint32_t only_meta = reads_data ? 0 : GGUFX_OPEN_METADATA_ONLY;
    const File file = open_file(rt.get(), options.in, GGUFX_OPEN_LEGACY_V1 | only_meta);
    const Job job =
        make_job(rt.get(), file.get(), file_type, imatrix.get(), options, globals.force);
    choose_types(globals, job.get(), options, overrides);
    if (options.dry_run) {
        print_plan(globals, job.get(), options, overrides, recipe.name);
        return kOk;
    }
    print_remarks(globals, job.get());
    Output out(globals);
    run_job(globals, job.get(), options);
    print_result(out, globals, job.get(), options, overrides, recipe.name);
    return kOk;
}

void add_quantize(Tool &tool) {
    auto options = std::make_shared<ModelQuantizeOptions>();
    Command sub = tool.app.add_command("quantize", "write a model with smaller types");
    declare_quantize(sub, *options);
    sub.examples("  ggufx quantize model-f16.gguf model.gguf --type Q4_K_M\n"
                 "  ggufx quantize in.gguf out.gguf --type IQ3_XXS --imatrix imatrix.gguf\n"
                 "  ggufx quantize in.gguf out.gguf Q4_K_M --tensor-type 'attn_v=Q8_0' --dry-run\n"
                 "  ggufx quantize in.gguf out.gguf --type Q4_K_M --feedback text.txt\n"
                 "  ggufx quantize in.gguf out.gguf --target-bpw 4.5\n"
                 "  ggufx quantize in.gguf out.gguf --type Q4_K_M --resume");
    tool.verbs.emplace_back(sub, [&tool, options] { return quantize(tool.globals, *options); });
}

} // namespace ggufx::cli
