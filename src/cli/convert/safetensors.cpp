// Parses the header and checks it against the file; finds shards through their index.
// SPDX-License-Identifier: MIT
#include "convert/safetensors.hpp"

#include "convert/model_folder.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

struct StType {
    const char *name;
    uint32_t type;
    uint64_t bytes;
};
constexpr StType kTypes[] = {{"F32", GGUFX_TYPE_F32, 4},   {"F16", GGUFX_TYPE_F16, 2},
                             {"BF16", GGUFX_TYPE_BF16, 2}, {"F64", GGUFX_TYPE_F64, 8},
                             {"I8", GGUFX_TYPE_I8, 1},     {"I16", GGUFX_TYPE_I16, 2},
                             {"I32", GGUFX_TYPE_I32, 4},   {"I64", GGUFX_TYPE_I64, 8}};
constexpr size_t kMaxShards = 65535, kMaxDims = 8;

struct Fault {
    const std::string &what;
    const std::string &tensor;
    [[noreturn]] void operator()(const std::string &why, int code = kInvalidFile) const {
        throw Failure(code, what + ": tensor \"" + shorten(tensor, 80) + "\": " + why);
    }
};

const StType &parse_type(const Json &entry, const Fault &fault) {
    const Json *dtype = entry.find("dtype");
    if (!dtype || !dtype->text()) fault("it has no dtype");
    for (const StType &type : kTypes) {
        if (*dtype->text() == type.name) return type;
    }
    fault("dtype \"" + shorten(*dtype->text(), 20) + "\" is not supported", kUnsupported);
}

std::vector<uint64_t> parse_naturals(const Json &entry, const char *name, size_t limit,
                                     const Fault &fault) {
    const Json *list = entry.find(name);
    if (!list || !list->is_array()) fault(std::string("it has no ") + name);
    if (list->size() > limit) {
        fault(std::string(name) + " has " + std::to_string(list->size()) +
              " numbers; the limit is " + std::to_string(limit));
    }
    std::vector<uint64_t> out;
    for (const Json &element : list->elements()) {
        const std::optional<uint64_t> n = element.whole();
        if (!n) fault(std::string(name) + " holds " + element.dump() + ", not a count");
        out.push_back(*n);
    }
    return out;
}

uint64_t bytes_of(const std::vector<uint64_t> &shape, uint64_t value_bytes, const Fault &fault) {
    uint64_t n = value_bytes;
    if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) return 0;
    for (const uint64_t dimension : shape) {
        if (dimension > INT64_MAX / n) fault("its shape has more than 2^63 bytes");
        n *= dimension;
    }
    return n;
}

StTensor parse_tensor(const Json &entry, uint64_t n_data, const Fault &fault) {
    if (!entry.is_object()) fault("its entry is not an object");
    const StType &type = parse_type(entry, fault);
    StTensor tensor = {type.type, parse_naturals(entry, "shape", kMaxDims, fault), 0, 0, nullptr};
    const std::vector<uint64_t> place = parse_naturals(entry, "data_offsets", 2, fault);
    if (place.size() != 2) fault("data_offsets is not a pair");
    if (place[0] > place[1] || place[1] > n_data) {
        fault("data_offsets " + std::to_string(place[0]) + " to " + std::to_string(place[1]) +
              " are not a range of the " + std::to_string(n_data) + " bytes of data");
    }
    tensor.offset = place[0];
    tensor.n_bytes = bytes_of(tensor.shape, type.bytes, fault);
    if (tensor.n_bytes != place[1] - place[0]) {
        fault("its shape needs " + std::to_string(tensor.n_bytes) + " bytes, data_offsets give " +
              std::to_string(place[1] - place[0]));
    }
    return tensor;
}

// Checks a rule of the format: tensors fill the data exactly, without overlaps or holes.
void check_places(const StHeader &header, uint64_t n_data, const std::string &what) {
    std::vector<const std::pair<const std::string, StTensor> *> order;
    for (const auto &entry : header.tensors) order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
        return a->second.offset != b->second.offset ? a->second.offset < b->second.offset
                                                    : a->second.n_bytes < b->second.n_bytes;
    });
    uint64_t end = 0;
    for (const auto *entry : order) {
        const Fault fault = {what, entry->first};
        if (entry->second.offset < end) {
            fault("its data begin at " + std::to_string(entry->second.offset) +
                  ", inside those of another tensor, which end at " + std::to_string(end));
        }
        if (entry->second.offset > end) {
            fault("no tensor has the bytes " + std::to_string(end) + " to " +
                  std::to_string(entry->second.offset) + " before its data");
        }
        end = entry->second.offset + entry->second.n_bytes;
    }
    if (end != n_data) {
        throw Failure(kInvalidFile, what + ": " + std::to_string(n_data - end) +
                                        " bytes after the last tensor belong to none");
    }
}

} // namespace

const char *st_type_name(uint32_t type) {
    for (const StType &known : kTypes) {
        if (known.type == type) return known.name;
    }
    return nullptr;
}

StHeader parse_st_header(std::string_view text, uint64_t n_data, const std::string &what) {
    const Json json = parse_json(text, what + ": header");
    if (!json.is_object()) throw Failure(kInvalidFile, what + ": the header is not a JSON object");
    StHeader header;
    for (size_t i = 0; i < json.keys().size(); i++) {
        const std::string &name = json.keys()[i];
        const Json &entry = json.elements()[i];
        if (name != "__metadata__") {
            header.tensors.emplace(name, parse_tensor(entry, n_data, Fault{what, name}));
            continue;
        }
        for (size_t k = 0; entry.is_object() && k < entry.keys().size(); k++) {
            const std::string *value = entry.elements()[k].text();
            if (value) header.metadata.emplace(entry.keys()[k], *value);
        }
    }
    check_places(header, n_data, what);
    return header;
}

StModel::StModel(const std::string &path) {
    const std::string index = joined(path, "model.safetensors.index.json");
    const std::string single = joined(path, "model.safetensors");
    if (path.ends_with(".index.json") || (is_folder(path) && exists(index))) {
        add_shards(is_folder(path) ? index : path);
    } else {
        add_file(is_folder(path) ? single : path);
    }
    const std::string first = is_folder(path) ? single : path;
    const size_t slash = first.rfind('/');
    folder_ = slash == std::string::npos ? "." : first.substr(0, slash + 1);
    for (const auto &file : files_)
        if (is_folder(path)) names_.insert(base_name(file->path()));
}

void StModel::add_file(const std::string &path) {
    auto file = std::make_unique<InputFile>(path);
    const std::string what = "\"" + path + "\"";
    uint8_t prefix[8] = {};
    if (file->size() < sizeof prefix) {
        throw Failure(kInvalidFile, what + ": " + std::to_string(file->size()) +
                                        " bytes are too few for the length of a header");
    }
    char head[64] = {};
    file->read_at(0, head, std::min<uint64_t>(file->size(), sizeof head));
    require_fetched({head, sizeof head}, what);
    file->read_at(0, prefix, sizeof prefix);
    uint64_t n_header = 0;
    for (size_t i = sizeof prefix; i-- > 0;) n_header = n_header << 8 | prefix[i];
    const uint64_t room = file->size() - sizeof prefix;
    if (n_header > room || n_header > kMaxStHeader) {
        throw Failure(kInvalidFile, what + ": a header of " + std::to_string(n_header) +
                                        " bytes at byte 0; the limit is " +
                                        std::to_string(std::min(room, kMaxStHeader)));
    }
    std::string text(static_cast<size_t>(n_header), '\0');
    file->read_at(sizeof prefix, text.data(), text.size());
    StHeader header = parse_st_header(text, room - n_header, what);
    for (auto &[name, tensor] : header.tensors) {
        tensor.offset += sizeof prefix + n_header;
        tensor.file = file.get();
        if (!all_.tensors.emplace(name, tensor).second) {
            throw Failure(kInvalidFile,
                          what + ": tensor \"" + shorten(name, 80) + "\" is in another shard too");
        }
    }
    all_.metadata.merge(header.metadata);
    files_.push_back(std::move(file));
}

void StModel::add_shards(const std::string &index_path) {
    constexpr uint64_t kMaxIndex = 256u << 20;
    const std::string what = "\"" + index_path + "\"";
    const Json json = parse_json(InputFile(index_path).read_all(kMaxIndex), what);
    const Json *map = json.find("weight_map");
    if (!map || !map->is_object()) throw Failure(kInvalidFile, what + ": it has no weight_map");
    std::set<std::string> shards;
    for (size_t i = 0; i < map->size(); i++) {
        const std::string *shard = map->elements()[i].text();
        // Accepts only names of files in this folder: an index must not lead elsewhere.
        if (!shard || shard->empty() || shard->find('/') != std::string::npos || *shard == ".." ||
            shard->find('\0') != std::string::npos) {
            throw Failure(kInvalidFile, what + ": tensor \"" + shorten(map->keys()[i], 80) +
                                            "\": its shard is not the name of a file beside it: " +
                                            shorten(map->elements()[i].dump(), 80));
        }
        shards.insert(*shard);
    }
    if (shards.size() > kMaxShards) throw Failure(kInvalidFile, what + ": more than 65535 shards");
    const size_t slash = index_path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : index_path.substr(0, slash + 1);
    for (const std::string &shard : shards) {
        if (!exists(folder + shard)) {
            throw Failure(kInvalidFile, what + ": shard \"" + shorten(shard, 80) + "\" is missing");
        }
        add_file(folder + shard);
    }
    for (size_t i = 0; i < map->size(); i++) {
        const auto found = all_.tensors.find(map->keys()[i]);
        const std::string &shard = *map->elements()[i].text();
        if (found == all_.tensors.end() || found->second.file->path() != folder + shard) {
            throw Failure(kInvalidFile, what + ": tensor \"" + shorten(map->keys()[i], 80) +
                                            "\" is not in shard \"" + shorten(shard, 80) + "\"");
        }
    }
}

} // namespace ggufx::cli
