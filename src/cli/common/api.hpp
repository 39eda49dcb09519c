// The C API with RAII handles and exceptions: a failed call throws Failure.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace ggufx::cli {

template <auto Destroy> struct Destroyer {
    template <class T> void operator()(T *object) const { Destroy(object); }
};

using Runtime = std::unique_ptr<ggufx_runtime, Destroyer<ggufx_runtime_destroy>>;
using File = std::unique_ptr<ggufx_file, Destroyer<ggufx_file_destroy>>;
using Tensor = std::unique_ptr<ggufx_tensor, Destroyer<ggufx_tensor_destroy>>;
using Kv = std::unique_ptr<ggufx_kv, Destroyer<ggufx_kv_destroy>>;
using Tokenizer = std::unique_ptr<ggufx_tokenizer, Destroyer<ggufx_tokenizer_destroy>>;
using Model = std::unique_ptr<ggufx_model, Destroyer<ggufx_model_destroy>>;
using Session = std::unique_ptr<ggufx_session, Destroyer<ggufx_session_destroy>>;
using Sampler = std::unique_ptr<ggufx_sampler, Destroyer<ggufx_sampler_destroy>>;
using Embedder = std::unique_ptr<ggufx_embedder, Destroyer<ggufx_embedder_destroy>>;

inline std::string_view view(ggufx_text text) {
    return {text.data ? text.data : "", text.size};
}
// Returns a text that borrows a string; an empty one is absent.
inline ggufx_text as_text(std::string_view text) {
    return {text.empty() ? nullptr : text.data(), text.size()};
}

std::vector<std::string> chat_formats(); // names of the built-in formats
bool is_chat_format(const std::string &name);

// Returns the exit code of the tool for a library status.
int exit_code(ggufx_status status);

// Calls fn(&error), a call of the library. Throws Failure unless it returns GGUFX_OK.
template <class Fn> void call(Fn &&fn) {
    ggufx_error error;
    if (const ggufx_status status = fn(&error); status != GGUFX_OK) {
        throw Failure(exit_code(status), error);
    }
}

// Returns a struct of the API with all defaults.
template <class Struct> Struct sized() {
    Struct out = {};
    out.struct_size = sizeof out;
    return out;
}

// Returns a struct ("facts" of the API), filled by fn(&facts, &error).
template <class Facts, class Fn> Facts facts(Fn &&fn) {
    auto out = sized<Facts>();
    call([&](ggufx_error *error) { return fn(&out, error); });
    return out;
}

// Fills a vector or string whose size the library returns: fill(&needed, &error) writes to `room`,
// which has the size that is expected.
template <class Room, class Fill>
ggufx_status fill_room(Room &room, ggufx_error &error, const Fill &fill) {
    size_t needed = 0;
    if (room.empty()) room.resize(4096);
    ggufx_status status = fill(&needed, &error);
    if (status == GGUFX_E_CAPACITY) {
        room.resize(needed);
        status = fill(&needed, &error);
    }
    room.resize(status == GGUFX_OK ? needed : 0);
    return status;
}
// As above; throws Failure.
template <class Room, class Fill> void fill_room(Room &room, const Fill &fill) {
    call([&](ggufx_error *error) { return fill_room(room, *error, fill); });
}

struct IsaName {
    const char *name;
    int32_t isa;
};
extern const std::vector<IsaName> kIsaNames; // "best" first
int32_t isa_from_name(const std::string &name);

// Creates a runtime with the common options; `isa` overrides --isa if it is not negative.
Runtime make_runtime(const Globals &globals, int32_t isa = -1);
// Like make_runtime(), but returns null for an ISA that this machine lacks. threads: 0 = all.
Runtime try_runtime(int32_t isa, unsigned threads);

// Finishes or rolls back an edit or write of `path` that a crash interrupted, and reports it.
void try_to_recover(const ggufx_runtime *rt, const std::string &path);
// Opens a file after try_to_recover(). "-" is standard input. io: GGUFX_IO_*.
File open_file(const ggufx_runtime *rt, const std::string &path, uint32_t flags,
               const ggufx_progress *progress = nullptr, int32_t io = GGUFX_IO_AUTO);
ggufx_file_facts file_facts(const ggufx_file *file);
ggufx_file_memory_facts file_memory(const ggufx_file *file);

ggufx_model_facts model_facts(const ggufx_model *model);
ggufx_session_facts session_facts(const ggufx_session *session);
ggufx_tokenizer_facts tokenizer_facts(const ggufx_tokenizer *tokenizer);
ggufx_runtime_facts runtime_facts(const ggufx_runtime *rt);

ggufx_type_facts type_facts(uint32_t type);
// Dequantizes whole blocks.
void dequantize_blocks(std::span<float> out, const ggufx_runtime *rt, uint32_t type,
                       std::span<const uint8_t> blocks);
// Returns the product of a matrix and n dense columns.
ggufx_product product_of(const ggufx_tensor *w, std::span<const float> x, size_t n,
                         std::span<float> y);
// Returns the parts of `ids`, one after another.
std::vector<ggufx_token_list> token_lists(std::span<const int32_t> ids,
                                          std::span<const size_t> lengths);
std::string type_name(uint32_t type); // "unknown" for ids that are not in the table
// Parses the type that an option names; `option` ("--type") begins the error message.
uint32_t type_from_name(const std::string &name, const char *option);
std::vector<ggufx_type_facts> all_types();
uint32_t kv_type_from_name(const std::string &name, const char *option);
std::vector<std::string> kv_type_names();

// A batch item for calls with several sequences; the other fields are 0.
inline ggufx_decode_item batch_item(uint32_t sequence, uint32_t flags,
                                    std::span<const int32_t> tokens) {
    auto item = sized<ggufx_decode_item>();
    item.sequence = sequence;
    item.flags = flags;
    item.tokens = tokens.data();
    item.n_tokens = tokens.size();
    return item;
}

// Options of a batch of such items; logits: rows that they ask for.
inline ggufx_decode_options batch_options(uint32_t products, std::span<float> logits) {
    auto options = sized<ggufx_decode_options>();
    options.flags = GGUFX_DECODE_HAS_MATMUL_FLAGS;
    options.matmul_flags = products;
    options.logits = logits.empty() ? nullptr : logits.data();
    options.n_logits = logits.size();
    return options;
}

ggufx_meta_facts meta_entry(const ggufx_file *file, size_t index);
ggufx_tensor_facts tensor_facts(const ggufx_tensor *tensor);
// Returns a string value of the metadata, or nothing.
std::optional<std::string> meta_text(const ggufx_file *file, std::string_view key);

} // namespace ggufx::cli
