// Helpers around library calls: runtimes for a named instruction set, files that are recovered from
// an interrupted edit when they are opened, types by name.
// SPDX-License-Identifier: MIT
#include "common/api.hpp"

#include "common/input_file.hpp"
#include "common/output.hpp"
#include "common/part_file.hpp"
#include "common/signals.hpp"
#include "common/text.hpp"

#include <algorithm>
#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

namespace ggufx::cli {

const std::vector<IsaName> kIsaNames = {
    {"best", GGUFX_ISA_BEST},
#define GGUFX_INSTRUCTION_SET(name, constant, value) {#name, GGUFX_ISA_##constant},
#include "kernels/sets.def"
#undef GGUFX_INSTRUCTION_SET
};

std::vector<std::string> chat_formats() {
    std::vector<std::string> names;
    for (size_t i = 0; const char *const name = ggufx_chat_template_builtin_name(i); i++)
        names.emplace_back(name);
    return names;
}

bool is_chat_format(const std::string &name) {
    return std::ranges::count(chat_formats(), name) > 0;
}

int exit_code(ggufx_status status) {
    switch (status) {
    case GGUFX_OK:
        return kOk;
    case GGUFX_E_ARGUMENT:
        return kUsage;
    case GGUFX_E_MEMORY:
    case GGUFX_E_CAPACITY:
        return kNoMemory;
    case GGUFX_E_TYPE:
    case GGUFX_E_UNSUPPORTED:
        return kUnsupported;
    case GGUFX_E_CANCELLED:
        return pending_signal() ? 128 + pending_signal() : kInterrupted;
    case GGUFX_E_IO:
    case GGUFX_E_NOT_FOUND:
    case GGUFX_E_MISMATCH:
    case GGUFX_E_STATE:
    case GGUFX_E_INTERNAL:
    case GGUFX_E_DEVICE:
        return kRuntimeError;
    default:
        return kInvalidFile; // all other codes: the file or its model is invalid
    }
}

int32_t isa_from_name(const std::string &name) {
    std::vector<std::string> names;
    for (const IsaName &known : kIsaNames) {
        if (name == known.name) return known.isa;
        names.emplace_back(known.name);
    }
    throw Failure(kUsage,
                  "--isa: no instruction set \"" + escape(name) + "\"" + did_you_mean(name, names));
}

static void log_line(void *, int32_t level, const char *text, size_t length) {
    static const char *const names[] = {"", "error", "warning", "info", "debug"};
    const char *name = level >= 1 && level <= 4 ? names[level] : "";
    const std::string line = escape({text, length});
    std::fprintf(stderr, "ggufx: %s: %s\n", name, line.c_str());
}

Runtime make_runtime(const Globals &globals, int32_t isa) {
    ggufx_log log = {};
    log.struct_size = sizeof log;
    log.write = log_line;
    auto options = sized<ggufx_runtime_options>();
    options.threads = globals.threads;
    options.isa = isa >= 0 ? isa : isa_from_name(globals.isa);
    options.log = globals.verbose ? &log : nullptr;
    ggufx_runtime *rt = nullptr;
    call([&](ggufx_error *error) { return ggufx_runtime_create(&rt, &options, error); });
    return Runtime(rt);
}

Runtime try_runtime(int32_t isa, unsigned threads) {
    auto options = sized<ggufx_runtime_options>();
    options.threads = threads;
    options.isa = isa;
    ggufx_runtime *rt = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_runtime_create(&rt, &options, &error);
    if (status == GGUFX_E_UNSUPPORTED) return nullptr;
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    return Runtime(rt);
}

// Returns the path of the first shard, if `path` names a shard (NAME-00002-of-00003.gguf).
static std::string first_part(std::string path) {
    constexpr size_t kTail = sizeof "00001-of-00003.gguf" - 1;
    if (path.size() > kTail) path.replace(path.size() - kTail, 5, "00001");
    return path;
}

// A half-finished edit may not open, or be neither the old nor the new model. If recovery fails
// (the journal belongs to another file, or the folder is read-only), the file is opened as it is.
void try_to_recover(const ggufx_runtime *rt, const std::string &path) {
    const std::string file = link_target(path);
    if (!exists(file + ".patch") && !exists(first_part(file) + ".part.old")) return;
    int32_t recovered = 0;
    ggufx_error error;
    if (ggufx_file_recover_edit(&recovered, rt, path.c_str(), &error) != GGUFX_OK) {
        std::fprintf(stderr, "ggufx: %s\n", escape(error.message).c_str());
    } else if (recovered) {
        std::fprintf(stderr, "ggufx: the interrupted write of %s was completed\n",
                     in_quotes(path).c_str());
    }
}

// Opens a redirected regular file by its descriptor; reads a pipe into memory.
static ggufx_status open_stdin(ggufx_file **out, const ggufx_runtime *rt,
                               const ggufx_open_options &options, ggufx_error *error) {
    struct stat info = {};
    if (fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode)) {
        return ggufx_open_fd(out, rt, STDIN_FILENO, 0, 0, &options, error);
    }
    auto bytes = std::make_unique<std::string>(read_text("-"));
    const char *data = bytes->data();
    const size_t n_bytes = bytes->size();
    const auto drop = [](void *user) { delete static_cast<std::string *>(user); };
    return ggufx_open_memory(out, rt, data, n_bytes, drop, bytes.release(), &options, error);
}

File open_file(const ggufx_runtime *rt, const std::string &path, uint32_t flags,
               const ggufx_progress *progress, int32_t io) {
    const bool from_stdin = path == "-";
    if (!from_stdin) try_to_recover(rt, path);
    auto options = sized<ggufx_open_options>();
    options.flags = flags;
    options.io = io;
    options.progress = progress;
    ggufx_file *file = nullptr;
    try {
        call([&](ggufx_error *error) {
            return from_stdin ? open_stdin(&file, rt, options, error)
                              : ggufx_open(&file, rt, path.c_str(), &options, error);
        });
    } catch (const Failure &failure) {
        if (from_stdin) throw Failure(failure, "standard input");
        if (std::string_view(failure.what()).starts_with(path)) throw;
        throw Failure(failure, path);
    }
    return File(file);
}

ggufx_file_facts file_facts(const ggufx_file *file) {
    return facts<ggufx_file_facts>([&](ggufx_file_facts *out, ggufx_error *error) {
        return ggufx_file_info(out, file, error);
    });
}

ggufx_file_memory_facts file_memory(const ggufx_file *file) {
    return facts<ggufx_file_memory_facts>([&](ggufx_file_memory_facts *out, ggufx_error *error) {
        return ggufx_file_memory(out, file, error);
    });
}

ggufx_session_facts session_facts(const ggufx_session *session) {
    return facts<ggufx_session_facts>([&](ggufx_session_facts *out, ggufx_error *error) {
        return ggufx_session_info(out, session, error);
    });
}

ggufx_tokenizer_facts tokenizer_facts(const ggufx_tokenizer *tokenizer) {
    return facts<ggufx_tokenizer_facts>([&](ggufx_tokenizer_facts *out, ggufx_error *error) {
        return ggufx_tokenizer_info(out, tokenizer, error);
    });
}

ggufx_model_facts model_facts(const ggufx_model *model) {
    return facts<ggufx_model_facts>([&](ggufx_model_facts *out, ggufx_error *error) {
        return ggufx_model_info(out, model, error);
    });
}

ggufx_runtime_facts runtime_facts(const ggufx_runtime *rt) {
    return facts<ggufx_runtime_facts>([&](ggufx_runtime_facts *out, ggufx_error *error) {
        return ggufx_runtime_info(out, rt, error);
    });
}

void dequantize_blocks(std::span<float> out, const ggufx_runtime *rt, uint32_t type,
                       std::span<const uint8_t> blocks) {
    auto options = sized<ggufx_tensor_options>();
    options.type = type;
    options.n_dims = 1;
    options.ne[0] = out.size();
    options.data = blocks.data();
    options.n_bytes = blocks.size();
    ggufx_tensor *made = nullptr;
    call([&](ggufx_error *error) { return ggufx_tensor_create(&made, rt, &options, error); });
    const Tensor tensor(made);
    call([&](ggufx_error *error) {
        return ggufx_dequantize(out.data(), out.size(), rt, made, 0, 1, error);
    });
}

ggufx_product product_of(const ggufx_tensor *w, std::span<const float> x, size_t n,
                         std::span<float> y) {
    auto product = sized<ggufx_product>();
    product.w = w;
    product.x = x.data();
    product.n_x = x.size();
    product.n = n;
    product.y = y.data();
    product.n_y = y.size();
    return product;
}

std::vector<ggufx_token_list> token_lists(std::span<const int32_t> ids,
                                          std::span<const size_t> lengths) {
    std::vector<ggufx_token_list> out;
    const int32_t *tokens = ids.data();
    for (const size_t n : lengths) {
        out.push_back({tokens, n});
        tokens += n;
    }
    return out;
}

ggufx_type_facts type_facts(uint32_t type) {
    return facts<ggufx_type_facts>([&](ggufx_type_facts *out, ggufx_error *error) {
        return ggufx_type_info(out, type, error);
    });
}

std::string type_name(uint32_t type) {
    ggufx_type_facts out = {};
    out.struct_size = sizeof out;
    return ggufx_type_info(&out, type, nullptr) == GGUFX_OK ? out.name : "unknown";
}

// Appends `where` (how to list the names) if the library's message has no suggestion.
static Failure unknown_name(const ggufx_error &error, const char *option,
                            const std::string &where) {
    Failure out(kUsage, std::string(option) + ": " + error.message);
    if (std::string_view(error.message).find("did you mean") == std::string_view::npos)
        out = Failure(kUsage, std::string(out.what()) + "; " + where);
    out.detail = error;
    return out;
}

namespace {

std::vector<ggufx_type_facts> types_from(uint32_t first, uint32_t flag) {
    constexpr uint32_t kMaxIds = 256; // above the ids in use; unknown ids are refused quickly
    std::vector<ggufx_type_facts> types;
    for (uint32_t id = first; id < first + kMaxIds; id++) {
        ggufx_type_facts out = {};
        out.struct_size = sizeof out;
        if (ggufx_type_info(&out, id, nullptr) == GGUFX_OK && (out.flags & flag))
            types.push_back(out);
    }
    return types;
}

// Returns the end of a message about a name: the types that have a flag, or how to list them.
std::string known_types(uint32_t flag) {
    if (flag == GGUFX_TYPE_IN_FILES) return "\"ggufx types\" lists them";
    std::string known = "known:";
    for (const std::string &name : kv_type_names()) known += " " + name;
    return known;
}

uint32_t find_type(const std::string &name, const char *option, uint32_t flag) {
    uint32_t type = 0;
    ggufx_error error;
    if (ggufx_type_find(&type, name.c_str(), &error) != GGUFX_OK)
        throw unknown_name(error, option, known_types(flag));
    if (type_facts(type).flags & flag) return type;
    throw Failure(kUsage, std::string(option) + ": " + name + " is a type of " +
                              (flag == GGUFX_TYPE_IN_FILES ? "KV caches, not of tensors; "
                                                           : "tensors, not of KV caches; ") +
                              known_types(flag));
}

} // namespace

uint32_t type_from_name(const std::string &name, const char *option) {
    return find_type(name, option, GGUFX_TYPE_IN_FILES);
}

std::vector<ggufx_type_facts> all_types() {
    return types_from(0, GGUFX_TYPE_IN_FILES);
}

uint32_t kv_type_from_name(const std::string &name, const char *option) {
    return find_type(name, option, GGUFX_TYPE_IN_CACHES);
}

std::vector<std::string> kv_type_names() {
    std::vector<std::string> names;
    for (const uint32_t first : {0u, uint32_t{GGUFX_TYPE_ROT_Q5_0}})
        for (const ggufx_type_facts &type : types_from(first, GGUFX_TYPE_IN_CACHES))
            names.emplace_back(type.name);
    return names;
}

ggufx_meta_facts meta_entry(const ggufx_file *file, size_t index) {
    return facts<ggufx_meta_facts>([&](ggufx_meta_facts *out, ggufx_error *error) {
        return ggufx_file_meta_at(out, file, index, error);
    });
}

ggufx_tensor_facts tensor_facts(const ggufx_tensor *tensor) {
    return facts<ggufx_tensor_facts>([&](ggufx_tensor_facts *out, ggufx_error *error) {
        return ggufx_tensor_info(out, tensor, error);
    });
}

std::optional<std::string> meta_text(const ggufx_file *file, std::string_view key) {
    size_t index = 0;
    ggufx_text text = {};
    if (ggufx_file_meta_find(&index, file, key.data(), key.size(), nullptr) != GGUFX_OK ||
        ggufx_file_meta_string(&text, file, index, nullptr) != GGUFX_OK) {
        return std::nullopt; // absent, or not a string
    }
    return std::string(view(text));
}

} // namespace ggufx::cli
