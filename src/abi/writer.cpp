// Writer: tensors of the new file, and writing it: include/ggufx/write.h.
// SPDX-License-Identifier: MIT
#include "abi/options.hpp"
#include "abi/writer_handle.hpp"
#include "gguf/shape.hpp"

using namespace ggufx;
using namespace ggufx::abi;

namespace {

template <class T> void release(void *kept) {
    static_cast<T *>(kept)->release();
}

template <class T> io::OnEnd keep(T *source) {
    source->retain();
    return {release<T>, source};
}

std::string_view name_of(const char *name, size_t length) {
    require(name || length == 0, "name must be set");
    return {name ? name : "", length};
}

// Adds a tensor of a file, wrapped memory or a slice of either.
void add_view(gguf::Writer &writer, std::string_view name, const ggufx_tensor &tensor) {
    const gguf::Tensor view = tensor.view();
    if (view.n_bytes > 0 && !view.data)
        fail(Status::unsupported, {.index = writer.tensors().size()},
             "tensor \"%s\": its data are not in memory (opened for metadata only?)",
             Quoted(name).c_str());
    writer.add_tensor(name, view, {},
                      tensor.home ? keep(tensor.home) : keep(as_owned(&tensor)->wrapped.get()));
}

struct ImportedWrite {
    gguf::SplitLimits limits;
    bool keep_old;
    Progress progress;
};

ImportedWrite import_write(const ggufx_write_options *given) {
    const auto in = import_options(given, GGUFX_WRITE_NO_REPLACE, "ggufx_write_options");
    return {{in.max_part_bytes, in.max_part_tensors},
            (in.flags & GGUFX_WRITE_NO_REPLACE) != 0,
            import_progress(in.progress)};
}

} // namespace

extern "C" ggufx_status ggufx_writer_create(ggufx_writer **out, const ggufx_runtime *rt,
                                            const ggufx_writer_options *options,
                                            ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        const auto in = import_options(options, GGUFX_WRITE_BIG_ENDIAN, "ggufx_writer_options");
        if (in.version != 0 && in.version != 2 && in.version != 3)
            fail(Status::version, {}, "ggufx_writer_options.version is %u; 2 and 3 are written",
                 in.version);
        gguf::WriterOptions made;
        made.big_endian = (in.flags & GGUFX_WRITE_BIG_ENDIAN) != 0;
        made.version = in.version ? in.version : 3;
        made.reserve_bytes = in.reserve_bytes;
        *out = make<ggufx_writer>(*rt->host, rt->host, made);
    });
}

extern "C" void ggufx_writer_destroy(ggufx_writer *writer) {
    const NoCancel whole;
    if (!alive(writer, Tag::writer)) return;
    destroy_object(writer->writer.host(), writer);
}

extern "C" ggufx_status ggufx_writer_add_tensor(ggufx_writer *writer, const ggufx_tensor *tensor,
                                                const char *name, size_t name_length,
                                                ggufx_error *error) {
    return guard(error, [&] {
        gguf::Writer &w = writer_of(writer);
        require(alive(tensor, Tag::tensor), "tensor must be set");
        add_view(w, name ? name_of(name, name_length) : tensor->view().name, *tensor);
    });
}

extern "C" ggufx_status ggufx_writer_copy_tensors(ggufx_writer *writer, const ggufx_file *file,
                                                  ggufx_error *error) {
    return guard(error, [&] {
        gguf::Writer &w = writer_of(writer);
        require(alive(file, Tag::file), "file must be set");
        const size_t before = w.tensors().size();
        w.reserve_tensors(file->tensors.size());
        try {
            for (const ggufx_tensor &t : file->tensors) add_view(w, t.view().name, t);
        } catch (...) {
            w.drop_tensors(before);
            throw;
        }
    });
}

extern "C" ggufx_status ggufx_writer_add_stream(ggufx_writer *writer, const char *name,
                                                size_t name_length, uint32_t type, uint32_t n_dims,
                                                const uint64_t *ne,
                                                const ggufx_tensor_stream *stream,
                                                ggufx_error *error) {
    return guard(error, [&] {
        require(stream, "stream must be set");
        // Take ownership before anything can fail: destroy runs exactly once.
        const bool has_destroy = holds_all(*stream);
        io::OnEnd end(has_destroy ? stream->destroy : nullptr,
                      has_destroy ? stream->user : nullptr);
        gguf::Writer &w = writer_of(writer);
        const auto in = import_options(stream, 0, "ggufx_tensor_stream");
        require(in.read, "ggufx_tensor_stream.read must be set");
        require(n_dims <= GGUFX_MAX_DIMS, "n_dims must be 0..4");
        require(ne || n_dims == 0, "ne must be set");
        w.add_tensor(name_of(name, name_length), gguf::shaped_tensor(type, n_dims, ne),
                     {in.user, in.read}, std::move(end));
    });
}

extern "C" ggufx_status ggufx_writer_info(ggufx_writer_facts *out, const ggufx_writer *writer,
                                          const ggufx_write_options *options, ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(writer, Tag::writer), "out and writer must be set");
        const gguf::Writer &w = writer->writer;
        const gguf::WritePlan plan(w, import_write(options).limits);
        ggufx_writer_facts facts = {};
        facts.n_meta = w.keys().size();
        facts.n_tensors = w.tensors().size();
        facts.n_parts = plan.parts().size();
        facts.n_bytes = plan.n_bytes();
        export_struct(out, facts, "ggufx_writer_facts");
    });
}

extern "C" ggufx_status ggufx_writer_write(ggufx_writer *writer, const char *path,
                                           const ggufx_write_options *options, ggufx_error *error) {
    return guard(error, [&] {
        const gguf::Writer &w = writer_of(writer);
        require(path && path[0], "path must be set");
        const ImportedWrite in = import_write(options);
        gguf::write_path(w, gguf::WritePlan(w, in.limits), path, in.keep_old, in.progress);
    });
}

extern "C" ggufx_status ggufx_writer_write_stream(ggufx_writer *writer,
                                                  ggufx_status (*write)(void *user, uint32_t part,
                                                                        const void *data, size_t n),
                                                  void *user, const ggufx_write_options *options,
                                                  ggufx_error *error) {
    return guard(error, [&] {
        const gguf::Writer &w = writer_of(writer);
        require(write, "write must be set");
        const ImportedWrite in = import_write(options);
        gguf::write_hook(w, gguf::WritePlan(w, in.limits), {write, user}, in.progress);
    });
}
