// The options of ggufx quantize, and checks of their combinations.
// SPDX-License-Identifier: MIT
#include "quantize/quantize.hpp"

namespace ggufx::cli {

void complete_options(ModelQuantizeOptions &options) {
    if (!options.shard.empty()) options.share = parse_share(options.shard, "--shard");
    if (!options.recipe.empty() && !options.type.empty())
        throw Failure(kUsage, "the recipe is given twice: " + in_quotes(options.recipe) +
                                  " and --type " + escape(options.type));
    if (options.type.empty()) options.type = options.recipe;
    if (options.type.empty() && options.only_copy) options.type = "F16";
    if (options.type.empty() && options.has_target()) options.type = "Q4_K_M";
    if (options.type.empty()) throw Failure(kUsage, "--type is required (Q4_K_M, Q8_0, ...)");
    if (options.imatrix.empty() && !(options.include.empty() && options.exclude.empty()))
        throw Failure(kUsage, "--include and --exclude need --imatrix");
    if (!options.candidates.empty() && !options.has_target())
        throw Failure(kUsage, "--candidates needs --target-size or --target-bpw");
    const CalibrationOptions fresh, &given = options.calibration;
    const bool has_details = given.n_tokens != fresh.n_tokens ||
                             given.n_context != fresh.n_context ||
                             given.n_passes != fresh.n_passes || given.damping != fresh.damping;
    if (has_details && !given.is_given())
        throw Failure(kUsage, "--feedback-tokens, --ctx, --passes and --damping need --feedback");
    if (given.is_given() && (options.keep_split || !options.share.whole() || options.finish))
        throw Failure(kUsage, "--feedback excludes --keep-split, --shard and --finish");
    if (options.out.empty() && !options.dry_run) throw Failure(kUsage, "OUT is required");
    if (options.out == "-")
        throw Failure(kUsage, "OUT must be a file, not a pipe: it is written in any order");
}

void declare_quantize(Command &sub, ModelQuantizeOptions &o) {
    sub.option("IN", o.in, "GGUF file, or any file of a split set").required();
    sub.option("OUT", o.out, "file to write (with --keep-split: PREFIX of its parts)");
    sub.option("RECIPE", o.recipe, "quantization mix, as --type").value("RECIPE");
    sub.option("--type", o.type, "quantization mix: Q4_K_M, IQ4_XS, Q8_0, ... or its number")
        .value("RECIPE");
    sub.option("--imatrix", o.imatrix, "importance matrix, GGUF or .dat").value("FILE");
    Option include =
        sub.option("--include", o.include, "use only imatrix entries whose name contains TEXT");
    include.repeatable();
    sub.option("--exclude", o.exclude, "ignore imatrix entries whose name contains TEXT")
        .repeatable()
        .excludes(include);
    sub.option("--tensor-type,--rule", o.rules,
               "PATTERN=TYPE: override the type of tensors whose name matches; the first match "
               "decides (patterns as in info --filter)")
        .repeatable();
    sub.option("--tensor-type-file,--rules", o.rules_file,
               "file of overrides, one per line, after those of --tensor-type")
        .value("FILE");
    const char *size_help = "choose types with the least error for a file of SIZE (4.5G) or less";
    Option size = sub.option("--target-size", o.target_size, size_help).value("SIZE");
    sub.option("--target-bpw", o.target_bpw,
               "choose types with the least error at N bits per weight or less")
        .within(0.5, 32)
        .excludes(size);
    sub.option("--candidates", o.candidates, "types that a target may choose from")
        .value("TYPE")
        .list();
    sub.option("--output-type", o.output_type, "type of output.weight").value("TYPE");
    sub.option("--embd-type", o.embd_type, "type of token_embd.weight").value("TYPE");
    sub.flag("--pure", o.pure, "use the main type of the mix for every tensor");
    sub.flag("--leave-output", o.leave_output, "keep the type of output.weight");
    sub.flag("--only-copy", o.only_copy, "keep the types of all tensors");
    sub.flag("--keep-split", o.keep_split, "keep a split set split, file by file");
    sub.flag("--best", o.best,
             "search for blocks with less error than the reference, at the same size");
    declare_calibration(sub, o.calibration);
    sub.flag("--allow-requantize", o.allow_requantize, "allow input that is quantized already");
    sub.flag("--no-fallback", o.no_fallback, "fail if rows of a tensor do not fit the type");
    sub.option("--reserve", o.reserve, "reserve room for later metadata edits: 64K").value("SIZE");
    sub.flag("--measure", o.measure, "print the error of each tensor");
    sub.flag("--dry-run", o.dry_run, "print the plan and the size only");
    sub.flag("--resume", o.resume, "continue an interrupted run");
    sub.option("--shard", o.shard, "i/n: write share i of n of the tensors to OUT.part")
        .value("SHARE");
    sub.flag("--finish", o.finish, "check the file that all shares wrote and rename it to OUT");
}

} // namespace ggufx::cli
