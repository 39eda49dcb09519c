// Importance matrices: include/ggufx/imatrix.h.
// SPDX-License-Identifier: MIT
#include "abi/imatrix_handle.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"
#include "eval/collect.hpp"

using namespace ggufx;
using namespace ggufx::abi;

namespace {

ggufx_imatrix *read_from(const ggufx_runtime &rt, Ref<io::Source> source,
                         const Progress &progress) {
    Ref<job::Imatrix> made = Ref<job::Imatrix>::adopt(make<job::Imatrix>(*rt.host, rt.host));
    job::read_imatrix(*made, std::move(source), progress);
    return make<ggufx_imatrix>(*rt.host, std::move(made));
}

} // namespace

extern "C" ggufx_status ggufx_imatrix_open(ggufx_imatrix **out, const ggufx_runtime *rt,
                                           const char *path, const ggufx_progress *progress,
                                           ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(path && path[0], "path must be set");
        *out = read_from(*rt, io::open_path(rt->host, path), import_progress(progress));
    });
}

extern "C" ggufx_status ggufx_imatrix_open_memory(ggufx_imatrix **out, const ggufx_runtime *rt,
                                                  const void *data, size_t size,
                                                  ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(data || size == 0, "data must be set");
        *out = read_from(*rt, io::open_memory(rt->host, data, size, {}), {});
    });
}

extern "C" void ggufx_imatrix_destroy(ggufx_imatrix *imatrix) {
    const NoCancel whole;
    if (!alive(imatrix, Tag::imatrix)) return;
    destroy_object(imatrix->imatrix->host(), imatrix);
}

extern "C" ggufx_status ggufx_imatrix_info(ggufx_imatrix_facts *out, const ggufx_imatrix *imatrix,
                                           ggufx_error *error) {
    return guard(error, [&] {
        const job::Imatrix &from = imatrix_of(imatrix);
        require(out, "out must be set");
        ggufx_imatrix_facts facts = {};
        facts.n_entries = from.entries().size();
        facts.n_datasets = from.n_datasets();
        facts.n_chunks = from.n_chunks;
        facts.chunk_tokens = from.chunk_tokens;
        facts.format = from.legacy ? GGUFX_IMATRIX_DAT : GGUFX_IMATRIX_GGUF;
        export_struct(out, facts, "ggufx_imatrix_facts");
    });
}

extern "C" ggufx_status ggufx_imatrix_entry_at(ggufx_imatrix_entry *out,
                                               const ggufx_imatrix *imatrix, size_t index,
                                               ggufx_error *error) {
    return guard(error, [&] {
        const job::Imatrix &from = imatrix_of(imatrix);
        require(out, "out must be set");
        if (index >= from.entries().size())
            fail(Status::argument, {.index = index}, "entry %zu does not exist, there are %zu",
                 index, from.entries().size());
        const job::ImatrixEntry &entry = from.entries()[index];
        ggufx_imatrix_entry facts = {};
        facts.name = {entry.name().data(), entry.name().size()};
        facts.n_columns = entry.n_columns();
        facts.n_matrices = entry.counts.size();
        facts.sums = entry.sums.data();
        facts.counts = entry.counts.data();
        facts.values = entry.values.data();
        export_struct(out, facts, "ggufx_imatrix_entry");
    });
}

extern "C" ggufx_status ggufx_imatrix_find(size_t *out_index, const ggufx_imatrix *imatrix,
                                           const char *name, size_t length, ggufx_error *error) {
    return guard(error, [&] {
        const job::Imatrix &from = imatrix_of(imatrix);
        require(out_index && (name || length == 0), "out_index and name must be set");
        const size_t at = from.find({name ? name : "", length});
        if (at == gguf::kNotFound)
            fail(Status::not_found, {}, "the imatrix has no entry for \"%s\"",
                 Quoted(name ? name : "", length).c_str());
        *out_index = at;
    });
}

extern "C" ggufx_status ggufx_imatrix_dataset_at(ggufx_text *out, const ggufx_imatrix *imatrix,
                                                 size_t index, ggufx_error *error) {
    return guard(error, [&] {
        const job::Imatrix &from = imatrix_of(imatrix);
        require(out, "out must be set");
        if (index >= from.n_datasets())
            fail(Status::argument, {.index = index}, "data set %zu does not exist, there are %zu",
                 index, from.n_datasets());
        *out = {from.dataset(index).data(), from.dataset(index).size()};
    });
}

extern "C" ggufx_status ggufx_imatrix_keep_entries(ggufx_imatrix *imatrix, const uint8_t *keep,
                                                   size_t n, ggufx_error *error) {
    return guard(error, [&] {
        const job::Imatrix &from = imatrix_of(imatrix);
        require(keep || n == 0, "keep must be set");
        if (n != from.entries().size())
            fail(Status::argument, {}, "keep has %zu flags for %zu entries", n,
                 from.entries().size());
        imatrix->imatrix = job::Imatrix::selected(from, keep);
    });
}

extern "C" ggufx_status ggufx_imatrix_merge(ggufx_imatrix *imatrix, const ggufx_imatrix *other,
                                            ggufx_error *error) {
    return guard(error, [&] {
        imatrix->imatrix = job::Imatrix::merged(imatrix_of(imatrix), imatrix_of(other));
    });
}

extern "C" ggufx_status ggufx_imatrix_create(ggufx_imatrix **out, ggufx_session *session,
                                             const int32_t *tokens, size_t n_tokens,
                                             uint32_t n_context, int32_t bos,
                                             const ggufx_imatrix_options *options,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(session, Tag::session), "out and session must be set");
        require(tokens && n_tokens > 0, "tokens must hold at least one id");
        const auto in = import_options(options, GGUFX_IMATRIX_OUTPUT, "ggufx_imatrix_options");
        if (session->model->group)
            fail(Status::unsupported, {}, "ranks of a group do not collect importance matrices");
        const Ref<Host> &host = session->model->model.host();
        Ref<job::Imatrix> made = Ref<job::Imatrix>::adopt(make<job::Imatrix>(*host, host));
        if (in.dataset) made->add_dataset(in.dataset);
        const model::CollectTask task = {{tokens, n_tokens, n_context, bos},
                                         (in.flags & GGUFX_IMATRIX_OUTPUT) != 0,
                                         import_progress(in.progress)};
        const Status status = model::collect(made.get(), session->session, task, failure_of(error));
        if (status == Status::ok) *out = make<ggufx_imatrix>(*host, std::move(made));
        return status;
    });
}

extern "C" ggufx_status ggufx_imatrix_write(const ggufx_imatrix *imatrix, const char *path,
                                            int32_t format, const ggufx_progress *progress,
                                            ggufx_error *error) {
    return guard(error, [&] {
        const job::Imatrix &from = imatrix_of(imatrix);
        require(path && path[0], "path must be set");
        const job::ImatrixWrite how = {(format & GGUFX_IMATRIX_NO_REPLACE) != 0,
                                       (format & GGUFX_IMATRIX_EXACT) != 0};
        const int32_t kind = format & ~int32_t{GGUFX_IMATRIX_NO_REPLACE | GGUFX_IMATRIX_EXACT};
        require(kind == GGUFX_IMATRIX_GGUF || (kind == GGUFX_IMATRIX_DAT && !how.exact),
                "format must be GGUFX_IMATRIX_GGUF, or GGUFX_IMATRIX_DAT without exact sums");
        const auto write =
            kind == GGUFX_IMATRIX_GGUF ? job::write_imatrix_gguf : job::write_imatrix_dat;
        write(from, path, how, import_progress(progress));
    });
}
