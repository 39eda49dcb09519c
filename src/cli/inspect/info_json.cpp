// The JSON dump of a file, in the format that describes the project's sample files.
// SPDX-License-Identifier: MIT
#include "common/signals.hpp"
#include "inspect/graph_text.hpp"
#include "inspect/info.hpp"
#include "models/meta_json.hpp"
#include "models/sampling_defaults.hpp"

#include <algorithm>
#include <fstream>

#if GGUFX_CLI_NETTLE
#include <nettle/sha2.h>
#endif

namespace ggufx::cli {

bool is_complete(const ggufx_file_facts &file, const ggufx_tensor_facts &tensor) {
    return tensor.file_offset <= file.file_size &&
           tensor.n_bytes <= file.file_size - tensor.file_offset;
}

// Hashes the bytes in file order, so that a file of the other byte order has the same hash on all
// hosts. Bytes past the end of a truncated file are omitted.
#if GGUFX_CLI_NETTLE
static std::string sha256_hex(const std::string &path, uint64_t offset, uint64_t n) {
    sha256_ctx context;
    sha256_init(&context);
    std::ifstream in(path, std::ios::binary);
    if (!in) throw Failure(kRuntimeError, "--sha256: cannot read " + cli::in_quotes(path));
    in.seekg(static_cast<std::streamoff>(offset));
    std::vector<char> chunk(1u << 20);
    while (n > 0 && in) {
        in.read(chunk.data(), static_cast<std::streamsize>(std::min<uint64_t>(n, chunk.size())));
        const auto got = static_cast<size_t>(in.gcount());
        sha256_update(&context, got, reinterpret_cast<const uint8_t *>(chunk.data()));
        n -= got;
        check_interrupt();
    }
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(&context, sizeof digest, digest);
    return hex({reinterpret_cast<const char *>(digest), sizeof digest});
}
#else
static std::string sha256_hex(const std::string &, uint64_t, uint64_t) {
    throw Failure(kUnsupported, "--sha256: this tool was built without nettle");
}
#endif

static Json kv_json(const ggufx_file *file, const InfoOptions &options, const NameFilter &filter) {
    Json out = Json::array();
    const uint64_t limit = options.limit ? options.limit : UINT64_MAX;
    for (size_t i = 0; i < ggufx_file_meta_count(file) && out.size() < limit; i++) {
        const ggufx_meta_facts entry = meta_entry(file, i);
        const std::string_view key = view(entry.key);
        if (!filter.matches(key)) continue;
        out.push_back({{"key", json_bytes(key)},
                       {"type", value_type_name(entry.type)},
                       {"value", meta_value_json(file, i, UINT64_MAX)}});
    }
    return out;
}

static Json tensor_json(const ggufx_file_facts &file, const std::string &path,
                        const ggufx_tensor *tensor, const InfoOptions &options) {
    const ggufx_tensor_facts info = tensor_facts(tensor);
    Json ne = Json::array();
    for (uint32_t d = 0; d < info.n_dims; d++) ne.push_back(info.ne[d]);
    Json out = {{"name", json_bytes(view(info.name))},
                {"type", type_name(info.type)},
                {"type_id", info.type},
                {"ne", ne},
                {"offset", info.offset},
                {"abs_offset", info.file_offset},
                {"nbytes", info.n_bytes}};
    if (file.n_parts > 1) out["part"] = info.part;
    if (options.sha256) out["sha256"] = sha256_hex(path, info.file_offset, info.n_bytes);
    out["complete"] = is_complete(file, info);
    return out;
}

static Json tensors_json(const ggufx_file *file, const ggufx_file_facts &info,
                         const std::string &path, const InfoOptions &options,
                         const NameFilter &filter) {
    Json out = Json::array();
    const uint64_t limit = options.limit ? options.limit : UINT64_MAX;
    for (size_t i = 0; i < ggufx_file_tensor_count(file) && out.size() < limit; i++) {
        const ggufx_tensor *tensor = ggufx_file_tensor(file, i);
        const ggufx_tensor_facts facts = tensor_facts(tensor);
        if (!filter.matches(view(facts.name))) continue;
        out.push_back(tensor_json(info, path, tensor, options));
    }
    return out;
}

Json info_json(const ggufx_file *file, const std::string &path, const InfoOptions &options) {
    const ggufx_file_facts info = file_facts(file);
    const NameFilter filter(options.filter);
    Json out = json_object();
    out["file"] = json_bytes(path);
    out["version"] = info.version;
    out["endian"] = info.big_endian ? "big" : "little";
    out["alignment"] = info.alignment;
    if (info.n_parts > 1) out["parts"] = info.n_parts;
    out["meta_end"] = info.meta_end;
    out["data_offset"] = info.data_offset;
    out["file_size"] = info.file_size;
    if (options.graph) {
        out["graph"] = graph_text(file);
        return out;
    }
    const ModelSampling sampling = model_sampling(file);
    if (options.show_kv() && !sampling.is_empty()) out["sampling"] = sampling_json(sampling);
    if (options.show_kv()) out["kv"] = kv_json(file, options, filter);
    if (options.show_tensors()) out["tensors"] = tensors_json(file, info, path, options, filter);
    return out;
}

} // namespace ggufx::cli
