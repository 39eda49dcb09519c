// llama2.c checkpoints (version 0: seven i32, then f32 values) -> GGUF. RoPE rotates neighbours in
// both formats, so the rows keep their order.
// SPDX-License-Identifier: MIT
#include "convert/convert.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr uint64_t kHeader = 28, kMaxVocabulary = 256u << 20;
constexpr uint32_t kNewMagic = 0x616b3432; // "ak42": versions 1 and 2

struct Llama2cShape {
    uint64_t dim, ffn, n_layers, n_heads, n_kv_heads, n_tokens, n_context;
    bool tied;
    uint64_t head_dim() const { return dim / n_heads; }
    uint64_t kv_dim() const { return head_dim() * n_kv_heads; }
};

Llama2cShape read_shape(const InputFile &file) {
    const auto refuse = [&](const std::string &why) {
        throw Failure(kInvalidFile, "\"" + escape(file.path()) + "\": " + why);
    };
    if (file.size() < kHeader)
        refuse(fmt::format("{} bytes; the header has {}", file.size(), kHeader));
    uint8_t bytes[kHeader];
    file.read_at(0, bytes, sizeof bytes);
    int64_t n[7];
    for (size_t i = 0; i < 7; i++) {
        const uint32_t word = bytes[4 * i] | static_cast<uint32_t>(bytes[4 * i + 1]) << 8 |
                              static_cast<uint32_t>(bytes[4 * i + 2]) << 16 |
                              static_cast<uint32_t>(bytes[4 * i + 3]) << 24;
        if (i == 0 && word == kNewMagic) {
            throw Failure(kUnsupported,
                          "\"" + escape(file.path()) +
                              "\": a checkpoint of version 1 or 2; export it as version 0");
        }
        n[i] = static_cast<int32_t>(word);
    }
    static constexpr const char *kNames[] = {"dim",        "hidden_dim", "n_layers", "n_heads",
                                             "n_kv_heads", "vocab_size", "seq_len"};
    const bool tied = n[5] > 0; // a negative count: the output matrix has its own weights
    if (n[5] < 0) n[5] = -n[5];
    for (size_t i = 0; i < 7; i++) {
        if (n[i] < 1 || n[i] > 1 << 24) {
            refuse(fmt::format("byte {}: {} is {}; the limits are 1 to {}", 4 * i, kNames[i], n[i],
                               1 << 24));
        }
    }
    if (n[0] % n[3] != 0 || n[3] % n[4] != 0 || n[0] / n[3] % 2 != 0) {
        refuse(fmt::format("dim {}, n_heads {}, n_kv_heads {} do not divide into even heads", n[0],
                           n[3], n[4]));
    }
    const auto u = [&](size_t i) { return static_cast<uint64_t>(n[i]); };
    return {u(0), u(1), u(2), u(3), u(4), u(5), u(6), tied};
}

// A group of the checkpoint: one matrix per layer, or a single one.
struct Group {
    const char *name; // "{l}" = layer
    uint64_t n_columns, n_rows;
    bool layered;
    uint64_t offset = 0;
};

// Returns the groups in the order of the checkpoint; each begins at the end of the one before.
std::vector<Group> groups_of(const Llama2cShape &s) {
    std::vector<Group> groups = {
        {"token_embd.weight", s.dim, s.n_tokens, false},
        {"blk.{l}.attn_norm.weight", s.dim, 1, true},
        {"blk.{l}.attn_q.weight", s.dim, s.dim, true},
        {"blk.{l}.attn_k.weight", s.dim, s.kv_dim(), true},
        {"blk.{l}.attn_v.weight", s.dim, s.kv_dim(), true},
        {"blk.{l}.attn_output.weight", s.dim, s.dim, true},
        {"blk.{l}.ffn_norm.weight", s.dim, 1, true},
        {"blk.{l}.ffn_gate.weight", s.dim, s.ffn, true},
        {"blk.{l}.ffn_down.weight", s.ffn, s.dim, true},
        {"blk.{l}.ffn_up.weight", s.dim, s.ffn, true},
        {"output_norm.weight", s.dim, 1, false},
        {nullptr, s.head_dim(), s.n_context, false}, // tables of cosines and sines, unused
    };
    if (!s.tied) groups.push_back({"output.weight", s.dim, s.n_tokens, false});
    uint64_t at = kHeader; // below 2^64: every count is at most 2^24, and there are few groups
    for (Group &group : groups) {
        group.offset = at;
        const uint64_t n_values = group.n_columns * group.n_rows;
        if (n_values > (uint64_t{1} << 60) / (4 * s.n_layers)) {
            throw Failure(kInvalidFile, "the shape of the checkpoint has more than 2^60 bytes");
        }
        at += 4 * n_values * (group.layered ? s.n_layers : 1);
    }
    groups.push_back({nullptr, 0, 0, false, at});
    return groups;
}

void set_keys(KeyWriter &keys, const Llama2cShape &s, const std::string &name) {
    keys.text("general.architecture", "llama");
    keys.text("general.type", "model");
    keys.text("general.name", name);
    keys.u32("llama.vocab_size", s.n_tokens);
    keys.u32("llama.context_length", s.n_context);
    keys.u32("llama.embedding_length", s.dim);
    keys.u32("llama.block_count", s.n_layers);
    keys.u32("llama.feed_forward_length", s.ffn);
    keys.u32("llama.attention.head_count", s.n_heads);
    keys.u32("llama.attention.head_count_kv", s.n_kv_heads);
    keys.f32("llama.attention.layer_norm_rms_epsilon", 1e-5); // fixed in llama2.c, as is the base
    keys.u32("llama.rope.dimension_count", s.head_dim());
    keys.f32("llama.rope.freq_base", 10000);
}

void add_group(ModelBuilder &builder, const InputFile &file, const Group &group, uint64_t layer,
               const std::optional<uint32_t> &wanted) {
    RowRecipe recipe;
    recipe.name = make_name(group.name, {layer, 0});
    recipe.ne = {group.n_columns};
    if (group.n_rows > 1) recipe.ne.push_back(group.n_rows);
    recipe.type = gguf_type(recipe.name, recipe.ne, GGUFX_TYPE_F32, wanted);
    const uint64_t bytes = 4 * group.n_columns * group.n_rows;
    recipe.sources.push_back(rows_of_file(file, group.offset + layer * bytes, GGUFX_TYPE_F32,
                                          group.n_columns, group.n_rows));
    builder.add(std::move(recipe));
}

} // namespace

Conversion import_llama2c(const Globals &globals, const ConvertOptions &options) {
    const InputFile file(options.input);
    const Llama2cShape shape = read_shape(file);
    const std::vector<Group> groups = groups_of(shape);
    if (file.size() != groups.back().offset) {
        throw Failure(kInvalidFile,
                      fmt::format("\"{}\": {} bytes; a checkpoint of this shape has {}",
                                  escape(file.path()), file.size(), groups.back().offset));
    }
    std::string name = options.name.empty() ? base_name(options.input) : options.name;
    if (options.name.empty() && name.ends_with(".bin")) name.resize(name.size() - 4);
    ModelBuilder builder(globals);
    set_keys(builder.keys(), shape, name);
    if (!options.tokenizer.empty()) {
        const std::string text = InputFile(options.tokenizer).read_all(kMaxVocabulary);
        set_vocabulary(builder.keys(),
                       parse_llama2c_tokens(text, shape.n_tokens, in_quotes(options.tokenizer)));
    }
    // Order of other writers: tensors outside of layers, then each layer as it is computed.
    const std::optional<uint32_t> wanted = wanted_type(options);
    for (const size_t i : {0u, 10u}) add_group(builder, file, groups[i], 0, wanted);
    if (!shape.tied) add_group(builder, file, groups[12], 0, wanted);
    for (uint64_t layer = 0; layer < shape.n_layers; layer++) {
        for (const size_t i : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 9u, 8u})
            add_group(builder, file, groups[i], layer, wanted);
    }
    builder.set_file_type();
    builder.write(globals, globals.output);
    Conversion done = {"llama", builder.n_tensors(), InputFile(globals.output).size(), {}};
    if (options.tokenizer.empty())
        done.remarks.push_back("no --tokenizer: the file has no vocabulary");
    return done;
}

} // namespace ggufx::cli
