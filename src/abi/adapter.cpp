// LoRA adapters and control vectors: include/ggufx/adapter.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"

#include <ggufx/adapter.h>
#include <inttypes.h>
#include <math.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

static_assert(GGUFX_ADAPTER_MAX_USES == model::kMostAdapters);
static_assert(GGUFX_ALL_SEQUENCES == model::kAllSequences);
static_assert(static_cast<uint32_t>(model::AdapterKind::lora) == GGUFX_ADAPTER_LORA &&
              static_cast<uint32_t>(model::AdapterKind::control) == GGUFX_ADAPTER_CONTROL);

// Checked adapters and scales of a call.
struct Uses {
    Uses(const ggufx_adapter_use *given, size_t n_given) : n(n_given) {
        require(given || n == 0, "uses must be set");
        if (n > model::kMostAdapters)
            fail(Status::argument, {}, "n_uses is %" PRIu64 ", the limit is %u",
                 static_cast<uint64_t>(n), GGUFX_ADAPTER_MAX_USES);
        for (size_t i = 0; i < n; i++) {
            if (!alive(given[i].adapter, Tag::adapter) || given[i].reserved)
                fail(Status::argument, {kNone, i},
                     "ggufx_adapter_use %" PRIu64 ": adapter must be set, reserved 0",
                     static_cast<uint64_t>(i));
            list[i] = {given[i].adapter->adapter, given[i].scale};
        }
    }

    model::AdapterSet::Use list[model::kMostAdapters];
    size_t n;
};

// Checks that a range of a model tensor has whole rows and as many floats as the caller states.
model::Adapter::TensorRows rows_of(const gguf::File &file, size_t tensor, uint64_t first,
                                   uint64_t n_rows, size_t n_floats) {
    if (tensor >= file.n_tensors())
        fail(Status::argument, {kNone, tensor}, "tensor is %" PRIu64 ", the model has %" PRIu64,
             static_cast<uint64_t>(tensor), static_cast<uint64_t>(file.n_tensors()));
    const gguf::Tensor t = file.tensor(tensor);
    if (first > t.n_rows || n_rows > t.n_rows - first)
        fail(Status::argument, {kNone, tensor},
             "%" PRIu64 " rows from %" PRIu64 " on of a tensor of %" PRIu64, n_rows, first,
             t.n_rows);
    uint64_t needed = 0;
    if (!checked::mul(&needed, n_rows, t.ne[0]) || needed != n_floats)
        fail(Status::argument, {kNone, tensor},
             "n is %" PRIu64 ": %" PRIu64 " rows have %" PRIu64 " floats each",
             static_cast<uint64_t>(n_floats), n_rows, t.ne[0]);
    return {tensor, first, n_rows};
}

} // namespace

extern "C" ggufx_status ggufx_adapter_create(ggufx_adapter **out, const ggufx_model *model,
                                             const ggufx_file *file,
                                             const ggufx_adapter_options *options,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(model, Tag::model), "out and model must be set");
        require(alive(file, Tag::file), "file must be set");
        if (model->group)
            fail(Status::unsupported, {}, "models of a group do not support adapters");
        const auto in = import_options(options, 0, "ggufx_adapter_options");
        const auto shared = Ref<ggufx_model>::share(const_cast<ggufx_model *>(model));
        const model::Model &m = shared->model;
        const Host &host = *m.host();
        const model::AdapterOptions imported = {in.first_layer, in.last_layer};
        const auto adapter = Ref<model::Adapter>::adopt(
            make<model::Adapter>(host, m.host(), file->file, m.file(), m.graph(), imported));
        require(adapter->has_data(),
                "the adapter's data are not in memory: its file was opened for metadata only");
        *out = make<ggufx_adapter>(host, shared, adapter);
    });
}

extern "C" void ggufx_adapter_destroy(ggufx_adapter *adapter) {
    const NoCancel whole;
    if (!alive(adapter, Tag::adapter)) return;
    const Ref<ggufx_model> keep = adapter->model;
    destroy_object(keep->model.host(), adapter);
}

extern "C" ggufx_status ggufx_adapter_info(ggufx_adapter_facts *out, const ggufx_adapter *adapter,
                                           ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(adapter, Tag::adapter), "out and adapter must be set");
        const model::Adapter &a = *adapter->adapter;
        ggufx_adapter_facts facts = {};
        facts.kind = static_cast<uint32_t>(a.kind());
        facts.n_targets = a.n_targets();
        facts.rank = a.rank();
        facts.alpha = a.alpha();
        facts.fingerprint = a.identity();
        facts.memory_bytes = sizeof(ggufx_adapter) + sizeof a + a.memory_bytes();
        export_struct(out, facts, "ggufx_adapter_facts");
    });
}

extern "C" ggufx_status ggufx_session_set_adapters(ggufx_session *session, uint32_t sequence,
                                                   const ggufx_adapter_use *uses, size_t n_uses,
                                                   ggufx_error *error) {
    return guard(error, [&] {
        require(alive(session, Tag::session), "session must be set");
        const uint32_t n = session->session.n_sequences();
        if (sequence >= n && sequence != GGUFX_ALL_SEQUENCES)
            fail(Status::argument, {.index = sequence},
                 "sequence %" PRIu32 ": the session has %" PRIu32 " sequences", sequence, n);
        const Uses imported(uses, n_uses);
        session->session.set_adapters(sequence, imported.list, imported.n);
    });
}

extern "C" ggufx_status ggufx_embedder_set_adapters(ggufx_embedder *embedder,
                                                    const ggufx_adapter_use *uses, size_t n_uses,
                                                    ggufx_error *error) {
    return guard(error, [&] {
        require(alive(embedder, Tag::embedder), "embedder must be set");
        const Uses imported(uses, n_uses);
        embedder->embedder.set_adapters(imported.list, imported.n);
    });
}

extern "C" int32_t ggufx_adapter_has_tensor(const ggufx_adapter *adapter, size_t tensor) {
    return alive(adapter, Tag::adapter) && adapter->adapter->has(tensor);
}

extern "C" ggufx_status ggufx_adapter_add_rows(float *rows, size_t n, const ggufx_adapter *adapter,
                                               size_t tensor, uint64_t first_row, uint64_t n_rows,
                                               float scale, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(adapter, Tag::adapter), "adapter must be set");
        require(rows || n == 0, "rows must be set");
        require(isfinite(scale), "scale must be finite");
        const model::Adapter &a = *adapter->adapter;
        require(a.kind() == model::AdapterKind::lora, "a control vector cannot be merged");
        const model::Model &m = adapter->model->model;
        const auto which = rows_of(m.file(), tensor, first_row, n_rows, n);
        a.add_rows(rows, which, scale, *kernels::rows_of(m.engine().kernels()));
    });
}
