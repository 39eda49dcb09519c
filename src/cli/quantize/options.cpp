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
        throw Failure(kUsage, "--include and --exclude choose entries of an --imatrix");
    if (!options.candidates.empty() && !options.has_target())
        throw Failure(kUsage, "--candidates is for --target-size and --target-bpw");
    if (options.out.empty() && !options.dry_run) throw Failure(kUsage, "OUT is required");
    if (options.out == "-")
        throw Failure(kUsage, "OUT must be a file, not a pipe: it is written in any order");
}

void declare_quantize(Command &sub, ModelQuantizeOptions &o) {
    sub.option("IN", o.in, "GGUF file, or any part of a set").required();
    sub.option("OUT", o.out, "the file to write (with --keep-split: PREFIX of its parts)");
    sub.option("RECIPE", o.recipe, "as --type").value("RECIPE");
    sub.option("--type", o.type, "recipe: Q4_K_M, IQ4_XS, Q8_0, ... or its number").value("RECIPE");
    sub.option("--imatrix", o.imatrix, "importance matrix, GGUF or .dat").value("FILE");
    Option include = sub.option("--include", o.include, "only imatrix entries with TEXT in them");
    include.repeatable();
    sub.option("--exclude", o.exclude, "no imatrix entries with TEXT in them")
        .repeatable()
        .excludes(include);
    sub.option("--rule", o.rules,
               "PATTERN=TYPE: override of the type of tensors whose name matches; the first that "
               "matches decides (patterns as in info --filter)")
        .repeatable();
    sub.option("--rules", o.rules_file, "file of overrides, one per line, after those of --rule")
        .value("FILE");
    const char *size_help = "types with the least error in a file of SIZE (4.5G) at most";
    Option size = sub.option("--target-size", o.target_size, size_help).value("SIZE");
    sub.option("--target-bpw", o.target_bpw, "the same for so many bits per weight")
        .within(0.5, 32)
        .excludes(size);
    sub.option("--candidates", o.candidates, "types a target may choose from").value("TYPE").list();
    sub.option("--output-type", o.output_type, "type of output.weight").value("TYPE");
    sub.option("--embd-type", o.embd_type, "type of token_embd.weight").value("TYPE");
    sub.flag("--pure", o.pure, "the recipe's main type for every tensor");
    sub.flag("--leave-output", o.leave_output, "output.weight stays as it is");
    sub.flag("--only-copy", o.only_copy, "all tensors stay as they are");
    sub.flag("--keep-split", o.keep_split, "a set stays a set, part by part");
    sub.flag("--best", o.best, "less error than the reference's blocks, at the same size");
    sub.flag("--allow-requantize", o.allow_requantize, "take input that is quantized already");
    sub.flag("--no-fallback", o.no_fallback, "rows that do not fit a type are an error");
    sub.option("--reserve", o.reserve, "room for later edits of the keys: 64K").value("SIZE");
    sub.flag("--measure", o.measure, "tell the error of each tensor");
    sub.flag("--dry-run", o.dry_run, "show the plan and the size only");
    sub.flag("--resume", o.resume, "go on where the last run was ended");
    sub.option("--shard", o.shard, "i/n: write this share of the tensors into OUT.part")
        .value("SHARE");
    sub.flag("--finish", o.finish, "check what all shards wrote and give it its name");
}

} // namespace ggufx::cli
