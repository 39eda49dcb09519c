// Edits of keys and names in an existing file: include/ggufx/write.h.
// SPDX-License-Identifier: MIT
#include "gguf/edit.hpp"
#include "abi/options.hpp"
#include "abi/writer_handle.hpp"
#include "base/patch.hpp"

using namespace ggufx;
using namespace ggufx::abi;

namespace {

constexpr uint32_t kEditFlags = GGUFX_EDIT_IN_PLACE | GGUFX_EDIT_REWRITE;

struct ImportedEdit {
    bool in_place, rewrite;
    Progress progress;
};

ImportedEdit import_edit(const ggufx_edit_options *given) {
    const auto in = import_options(given, kEditFlags, "ggufx_edit_options");
    require((in.flags & kEditFlags) != kEditFlags,
            "ggufx_edit_options.flags: IN_PLACE and REWRITE exclude each other");
    return {(in.flags & GGUFX_EDIT_IN_PLACE) != 0, (in.flags & GGUFX_EDIT_REWRITE) != 0,
            import_progress(in.progress)};
}

gguf::EditPlan plan_of(const gguf::Writer &writer, const gguf::File &file,
                       const ImportedEdit &options) {
    gguf::EditPlan plan;
    if (!options.rewrite) plan = gguf::plan_edit(writer, file);
    if (options.in_place && !plan.in_place)
        fail(Status::capacity, {}, "the edit cannot be made in place: %s", plan.why);
    return plan;
}

ggufx_edit_facts facts_of(const gguf::Writer &writer, const gguf::File &file,
                          const gguf::EditPlan &plan) {
    ggufx_edit_facts facts = {};
    facts.in_place = plan.in_place;
    facts.n_bytes = plan.in_place ? file.part(0).size : gguf::WritePlan(writer, {}).n_bytes();
    facts.reserve_bytes = plan.in_place ? plan.reserve : writer.options().reserve_bytes;
    return facts;
}

uint64_t write_in_place(const gguf::Writer &writer, const gguf::File &file,
                        const gguf::EditPlan &plan, const char *path, const Progress &progress) {
    const gguf::Part &part = file.part(0);
    Vector<uint8_t> head((HostAllocator<uint8_t>(writer.host().get())));
    gguf::make_head(head, writer, file, plan);
    if (progress.cancelled(0, head.size())) fail(Status::cancelled, {}, "the edit was cancelled");
    return io::patch_file(writer.host(), path,
                          {part.bytes, static_cast<size_t>(part.directory.meta_end), head.data(),
                           head.size(), part.size});
}

} // namespace

extern "C" ggufx_status ggufx_writer_edit_info(ggufx_edit_facts *out, const ggufx_writer *writer,
                                               const ggufx_file *file,
                                               const ggufx_edit_options *options,
                                               ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(writer, Tag::writer) && alive(file, Tag::file),
                "out, writer and file must be set");
        const gguf::EditPlan plan = plan_of(writer->writer, *file->file, import_edit(options));
        export_struct(out, facts_of(writer->writer, *file->file, plan), "ggufx_edit_facts");
    });
}

extern "C" ggufx_status ggufx_writer_edit(ggufx_edit_facts *out, ggufx_writer *writer,
                                          const ggufx_file *file, const char *path,
                                          const ggufx_edit_options *options, ggufx_error *error) {
    return guard(error, [&] {
        const gguf::Writer &w = writer_of(writer);
        require(alive(file, Tag::file) && path && path[0], "file and path must be set");
        const ImportedEdit in = import_edit(options);
        const gguf::EditPlan plan = plan_of(w, *file->file, in);
        ggufx_edit_facts facts = facts_of(w, *file->file, plan);
        if (out) export_struct(out, facts, "ggufx_edit_facts"); // also checks its size
        if (plan.in_place) {
            facts.n_written = write_in_place(w, *file->file, plan, path, in.progress);
        } else {
            gguf::write_path(w, gguf::WritePlan(w, {}), path, false, in.progress);
            facts.n_written = facts.n_bytes;
        }
        if (out) export_struct(out, facts, "ggufx_edit_facts");
    });
}

extern "C" ggufx_status ggufx_file_recover_edit(int32_t *out, const ggufx_runtime *rt,
                                                const char *path, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(rt, Tag::runtime) && path && path[0], "rt and path must be set");
        // Rolling back a set of files may leave no file under this name.
        const bool found = gguf::recover_set(rt->host, path) || io::recover_patch(rt->host, path);
        if (out) *out = found;
    });
}
