// Parts of `ggufx quantize`. quantize.cpp: the command; options.cpp: its options; overrides.cpp:
// types by name; target.cpp: types for a size; plan.cpp: the plan as table and JSON.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"
#include "models/shards.hpp"
#include "quantize/calibration.hpp"
#include "quantize/imatrix.hpp"
#include "quantize/overrides.hpp"

namespace ggufx::cli {

using Job = std::unique_ptr<ggufx_quantizer, Destroyer<ggufx_quantizer_destroy>>;

struct ModelQuantizeOptions {
    std::string in, out;
    std::string recipe; // third argument, like `type`
    std::string type, output_type, embd_type;
    std::string imatrix;
    std::vector<std::string> include, exclude; // entries of the imatrix
    std::vector<std::string> rules;
    std::string rules_file;
    bool pure = false, leave_output = false, only_copy = false, keep_split = false;
    bool allow_requantize = false, no_fallback = false, best = false;
    bool dry_run = false, resume = false, finish = false, measure = false;
    std::string shard, reserve;
    std::string target_size;
    float target_bpw = 0;
    std::vector<std::string> candidates;
    Share share;
    CalibrationOptions calibration;

    bool has_target() const { return !target_size.empty() || target_bpw > 0; }
};

void declare_quantize(Command &sub, ModelQuantizeOptions &options);
void complete_options(ModelQuantizeOptions &options); // throws Failure (usage)

ggufx_quantizer_facts job_facts(const ggufx_quantizer *job);
ggufx_quantizer_tensor_facts job_tensor(const ggufx_quantizer *job, size_t index);
ggufx_file_type_facts file_type_facts(uint32_t file_type);

// print_plan() prints the whole plan; tensor_json() and total_json() return its parts.
void print_plan(const Globals &globals, const ggufx_quantizer *job,
                const ModelQuantizeOptions &options, const Overrides &overrides,
                const std::string &type);
Json tensor_json(const ggufx_quantizer_tensor_facts &t);
Json total_json(const ggufx_quantizer *job, const ModelQuantizeOptions &options,
                const Overrides &overrides, const std::string &type);
std::string total_text(const ggufx_quantizer *job);
// Prints the errors of --measure, a row per tensor; of_outputs: also those of feedback.
void print_errors(Output &out, const Globals &globals, const ggufx_quantizer *job, bool of_outputs);
// Prints the numbers of fallbacks and of tensors without an imatrix entry on stderr.
void print_remarks(const Globals &globals, const ggufx_quantizer *job);

} // namespace ggufx::cli
