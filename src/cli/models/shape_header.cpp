// The header of a model with a known shape: a file without data.
// SPDX-License-Identifier: MIT
#include "models/shapes.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace ggufx::cli {

namespace {

constexpr uint64_t kAlignment = 32;

// Collects the output of a writer up to the first tensor data.
struct Header {
    std::string bytes;
    size_t wanted;

    static ggufx_status take(void *user, uint32_t, const void *data, size_t n) {
        auto *header = static_cast<Header *>(user);
        try {
            header->bytes.append(static_cast<const char *>(data),
                                 std::min(n, header->wanted - header->bytes.size()));
        } catch (const std::bad_alloc &) { return GGUFX_E_MEMORY; }
        return header->bytes.size() == header->wanted ? GGUFX_E_CANCELLED : GGUFX_OK;
    }
};

ggufx_status no_data(void *, uint64_t, void *dst, size_t n) {
    std::memset(dst, 0, n); // the last piece of the header may contain some data
    return GGUFX_OK;
}

// Adds a tensor; returns the bytes of its data, including the padding after it.
uint64_t add_tensor(ggufx_writer *writer, const ShapeTensor &t) {
    const uint32_t type = t.fill == Fill::matrix ? GGUFX_TYPE_F16 : GGUFX_TYPE_F32;
    uint64_t bytes = type == GGUFX_TYPE_F16 ? 2 : 4;
    for (const uint64_t n : t.ne) bytes *= n;
    ggufx_tensor_stream stream = {};
    stream.struct_size = sizeof stream;
    stream.read = no_data;
    call([&](ggufx_error *error) {
        return ggufx_writer_add_stream(writer, t.name.data(), t.name.size(), type,
                                       static_cast<uint32_t>(t.ne.size()), t.ne.data(), &stream,
                                       error);
    });
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

} // namespace

static std::string shape_header(const ggufx_runtime *rt, const Shape &shape) {
    const FileWriter writer = empty_writer(rt);
    KeyWriter keys(writer.get());
    write_shape_keys(keys, shape);
    uint64_t data_bytes = 0;
    for (const ShapeTensor &t : shape_tensors(shape)) data_bytes += add_tensor(writer.get(), t);
    Header header = {"", static_cast<size_t>(plan(writer.get(), {}).n_bytes - data_bytes)};
    ggufx_error error;
    const ggufx_status status =
        ggufx_writer_write_stream(writer.get(), Header::take, &header, nullptr, &error);
    if (header.bytes.size() < header.wanted) throw Failure(exit_code(status), error);
    return header.bytes;
}

File open_shape(const ggufx_runtime *rt, const Shape &shape) {
    const std::string header = shape_header(rt, shape);
    auto options = sized<ggufx_open_options>();
    options.flags = GGUFX_OPEN_METADATA_ONLY | GGUFX_OPEN_COPY;
    ggufx_file *file = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_open_memory(&file, rt, header.data(), header.size(), nullptr, nullptr,
                                 &options, error);
    });
    return File(file);
}

} // namespace ggufx::cli
