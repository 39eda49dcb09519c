// Opening files: include/ggufx/file.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "gguf/open.hpp"

#include <ggufx/file.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

constexpr uint32_t kOpenFlags =
    GGUFX_OPEN_METADATA_ONLY | GGUFX_OPEN_POPULATE | GGUFX_OPEN_HUGE_PAGES | GGUFX_OPEN_LOCK |
    GGUFX_OPEN_STRICT | GGUFX_OPEN_LEGACY_V1 | GGUFX_OPEN_UNKNOWN_TYPES | GGUFX_OPEN_SINGLE |
    GGUFX_OPEN_COPY | GGUFX_OPEN_HUGE_AUTO | GGUFX_OPEN_REREAD;

struct ImportedOpen {
    gguf::OpenOptions options;
    bool copy;
};

ImportedOpen import_open(const ggufx_open_options *given) {
    const auto in = import_options(given, kOpenFlags, "ggufx_open_options");
    if (in.dialect != 0)
        fail(Status::unsupported, {}, "ggufx_open_options.dialect is %d; only 0 (ggml) is known",
             in.dialect);
    require(in.io >= GGUFX_IO_AUTO && in.io <= GGUFX_IO_READ,
            "ggufx_open_options.io must be GGUFX_IO_AUTO, _MAP or _READ");
    const auto has = [&](uint32_t flag) { return (in.flags & flag) != 0; };
    gguf::OpenOptions out;
    out.metadata_only = has(GGUFX_OPEN_METADATA_ONLY);
    out.populate = has(GGUFX_OPEN_POPULATE);
    out.huge_pages = has(GGUFX_OPEN_HUGE_PAGES);
    out.huge_auto = has(GGUFX_OPEN_HUGE_AUTO);
    out.reread = has(GGUFX_OPEN_REREAD);
    out.lock = has(GGUFX_OPEN_LOCK);
    out.strict = has(GGUFX_OPEN_STRICT);
    out.legacy_v1 = has(GGUFX_OPEN_LEGACY_V1);
    out.unknown_types = has(GGUFX_OPEN_UNKNOWN_TYPES);
    out.single = has(GGUFX_OPEN_SINGLE);
    out.io = static_cast<gguf::IoMode>(in.io);
    if (in.max_metadata_bytes) out.max_metadata_bytes = in.max_metadata_bytes;
    if (in.max_keys) out.max_keys = in.max_keys;
    if (in.max_tensors) out.max_tensors = in.max_tensors;
    if (in.max_string_bytes) out.max_string_bytes = in.max_string_bytes;
    out.progress = import_progress(in.progress);
    return {out, has(GGUFX_OPEN_COPY)};
}

// Creates the public handle of an opened file, with one borrowed handle per tensor.
ggufx_file *wrap(const Ref<gguf::File> &file) {
    const Host &host = *file->host();
    ggufx_file *handle = make<ggufx_file>(host, file);
    try {
        handle->tensors.resize(file->n_tensors());
    } catch (...) {
        unmake(host, handle);
        throw;
    }
    for (size_t i = 0; i < file->n_tensors(); i++) {
        ggufx_tensor &t = handle->tensors[i];
        t.index = static_cast<uint32_t>(i);
        t.home = file.get();
    }
    return handle;
}

void require_runtime(ggufx_file *const *out, const ggufx_runtime *rt) {
    require(out && alive(rt, Tag::runtime), "out and rt must be set");
}

} // namespace

extern "C" ggufx_status ggufx_open(ggufx_file **out, const ggufx_runtime *rt, const char *path,
                                   const ggufx_open_options *options, ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require_runtime(out, rt);
        require(path, "path must be set");
        *out = wrap(gguf::open_path(rt->host, path, import_open(options).options));
    });
}

extern "C" ggufx_status ggufx_open_fd(ggufx_file **out, const ggufx_runtime *rt, int32_t fd,
                                      uint64_t offset, uint64_t length,
                                      const ggufx_open_options *options, ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require_runtime(out, rt);
        const ImportedOpen in = import_open(options);
        *out = wrap(gguf::open_source(rt->host, io::open_descriptor(rt->host, fd, offset, length),
                                      in.options));
    });
}

extern "C" ggufx_status ggufx_open_memory(ggufx_file **out, const ggufx_runtime *rt,
                                          const void *data, size_t size,
                                          void (*destroy)(void *user), void *user,
                                          const ggufx_open_options *options, ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        io::OnEnd end(destroy, user);
        require_runtime(out, rt);
        require(data || size == 0, "data must be set");
        const ImportedOpen in = import_open(options);
        Ref<io::Source> source = in.copy
                                     ? io::copy_memory(rt->host, data, size, in.options.progress)
                                     : io::open_memory(rt->host, data, size, std::move(end));
        *out = wrap(gguf::open_source(rt->host, source, in.options));
    });
}

extern "C" ggufx_status ggufx_open_io(ggufx_file **out, const ggufx_runtime *rt, const ggufx_io *io,
                                      const ggufx_open_options *options, ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(io, "io must be set");
        // Take ownership before anything can fail: close runs exactly once.
        const bool has_close = holds_all(*io);
        io::OnEnd end(has_close ? io->close : nullptr, has_close ? io->user : nullptr);
        require_runtime(out, rt);
        const auto hooks = import_options(io, 0, "ggufx_io");
        require(hooks.size && hooks.read_at, "ggufx_io.size and .read_at must be set");
        const ImportedOpen in = import_open(options);
        const io::Callbacks callbacks = {hooks.user, hooks.size, hooks.read_at, hooks.map,
                                         hooks.unmap};
        *out = wrap(gguf::open_source(
            rt->host, io::open_callbacks(rt->host, callbacks, std::move(end)), in.options));
    });
}

extern "C" void ggufx_file_destroy(ggufx_file *file) {
    const NoCancel whole;
    if (!alive(file, Tag::file)) return;
    for (ggufx_tensor &t : file->tensors) t.tag = Tag::dead;
    destroy_object(file->file->host(), file);
}

extern "C" ggufx_status ggufx_file_info(ggufx_file_facts *out, const ggufx_file *file,
                                        ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(file, Tag::file), "out and file must be set");
        const gguf::File &f = *file->file;
        const gguf::Directory &first = f.part(0).directory;
        ggufx_file_facts facts = {};
        facts.version = first.version;
        facts.big_endian = first.wire.big_endian;
        facts.alignment = first.alignment;
        facts.n_parts = f.n_parts();
        facts.meta_end = first.meta_end;
        facts.data_offset = first.data_offset;
        facts.n_meta = f.n_meta();
        facts.n_tensors = f.n_tensors();
        for (size_t i = 0; i < f.n_parts(); i++) {
            facts.file_size += f.part(i).size;
            facts.n_missing += f.part(i).n_missing;
        }
        for (size_t i = 0; i < f.n_tensors(); i++) {
            const gguf::Tensor t = f.tensor(i);
            facts.n_values += t.ne[0] * t.n_rows; // each below 2^63; the sum of a real file fits
            facts.n_bytes += t.n_bytes;
        }
        export_struct(out, facts, "ggufx_file_facts");
    });
}

extern "C" ggufx_status ggufx_file_memory(ggufx_file_memory_facts *out, const ggufx_file *file,
                                          ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(file, Tag::file), "out and file must be set");
        check_output(out, "ggufx_file_memory_facts");
        const gguf::File::Memory memory = file->file->memory();
        ggufx_file_memory_facts facts = {};
        facts.mapped_bytes = memory.mapped;
        facts.copied_bytes = memory.copied;
        facts.resident_bytes = memory.resident.known ? memory.resident.bytes : GGUFX_NONE;
        facts.huge_bytes = memory.resident.known ? memory.resident.huge : GGUFX_NONE;
        export_struct(out, facts, "ggufx_file_memory_facts");
    });
}
