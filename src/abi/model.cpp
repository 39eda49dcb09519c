// Models and sessions: include/ggufx/model.h. Tokenizer and sampler have their own files.
// SPDX-License-Identifier: MIT
#include "abi/device_handle.hpp"
#include "abi/guard.hpp"
#include "abi/matmul_flags.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"
#include "abi/types.hpp"
#include "base/checked.hpp"
#include "base/crc64.hpp"
#include "distributed/start.hpp"
#include "graph/print.hpp"
#include "run/mode.hpp"

#include <algorithm>
#include <ggufx/matmul.h>
#include <ggufx/model.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

// Imported model options; the model marks the overrides that it has read.
struct ModelOptions {
    ModelOptions(const Host &host, const ggufx_model_options *given)
        : overrides(HostAllocator<model::Override>(&host)) {
        const auto in = import_options(given, 0, "ggufx_model_options");
        require(in.overrides || in.n_overrides == 0, "ggufx_model_options.overrides must be set");
        for (size_t i = 0; i < in.n_overrides; i++) {
            const ggufx_model_override &o = in.overrides[i];
            require(o.key && o.value, "ggufx_model_override.key and .value must be set");
            overrides.push_back({o.key, o.value});
        }
        options.with_data = true;
        options.overrides = overrides.data();
        options.n_overrides = overrides.size();
        if (in.device) {
            require(alive(in.device, Tag::device), "ggufx_model_options.device must be a device");
            if (in.group) fail(Status::unsupported, {}, "ranks of a group do not use a device");
            device = in.device->device;
        }
        n_placed_layers = in.n_device_layers ? in.n_device_layers : UINT32_MAX;
        options.progress = import_progress(in.progress);
    }

    Vector<model::Override> overrides;
    model::BuildOptions options;
    model::RankOptions ranks;
    Ref<device::Device> device; // null: no device
    uint32_t n_placed_layers = 0;
};

model::SessionOptions import_session_options(const ggufx_session_options *in) {
    const auto options = import_options(in, GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V,
                                        "ggufx_session_options");
    if (options.matmul_flags & ~kMatmulFlags) {
        fail(Status::argument, {}, "ggufx_session_options.matmul_flags: unknown flags 0x%x",
             options.matmul_flags & ~kMatmulFlags);
    }
    model::SessionOptions out;
    out.n_context = options.n_context;
    out.n_batch = options.n_batch;
    out.type_k = import_kv_type(options.type_k, options.flags & GGUFX_SESSION_HAS_TYPE_K,
                                "ggufx_session_options.type_k");
    out.type_v = import_kv_type(options.type_v, options.flags & GGUFX_SESSION_HAS_TYPE_V,
                                "ggufx_session_options.type_v");
    out.n_checkpoints = options.n_checkpoints;
    out.n_sequences = options.n_sequences;
    out.n_context_total = options.n_context_total;
    out.matmul = matmul_options(options.matmul_flags, "ggufx_session_options.matmul_flags");
    return out;
}

} // namespace

void ggufx_model::release() {
    if (!refs.release()) return;
    const RuntimeRef keep = runtime; // its engine must outlive the model
    HostGroup *const ranks = group;
    destroy_object(keep->host, this);
    unmake(*keep->host, ranks);
}

namespace {

const ggufx_group_options *group_of(const ggufx_model_options *options) {
    return options && holds_all(*options) ? options->group : nullptr;
}

uint64_t checksum_of(const ModelOptions &options) {
    uint64_t crc = 0;
    for (const model::Override &o : options.overrides) {
        crc = crc64(crc, o.key, strlen(o.key) + 1);
        crc = crc64(crc, o.value, strlen(o.value) + 1);
    }
    return crc;
}

// Creates the model on all ranks, or on none.
ggufx_model *make_together(const RuntimeRef &runtime, const Ref<gguf::File> &file, HostGroup *ranks,
                           ModelOptions &options) {
    ggufx_model *made = nullptr;
    Failure failure = {};
    Status status = Status::ok;
    try {
        made = make<ggufx_model>(*runtime->host, runtime, file, ranks, options.ranks,
                                 options.options, options.device, options.n_placed_layers);
    } catch (const Error &e) {
        failure = e.failure;
        status = static_cast<Status>(failure.status);
    } catch (const std::bad_alloc &) {
        status = set_failure(&failure, Status::memory, {}, "the allocator has no memory left");
    }
    const model::StartFacts facts = {ggufx_version(),
                                     ggufx_abi_version(),
                                     made ? made->model.identity() : 0,
                                     checksum_of(options) ^ ranks->ranks().is_one_machine(),
                                     options.ranks.speeds,
                                     options.ranks.by_layers};
    try {
        status = ends_group(&ranks->ranks(), [&] {
            return model::compare_starts(ranks->ranks(), *file, facts, status, &failure);
        });
    } catch (...) {
        unmake(*runtime->host, made);
        throw;
    }
    if (status == Status::ok) return made;
    unmake(*runtime->host, made);
    throw Error{failure};
}

ggufx_model *make_model(const RuntimeRef &runtime, const Ref<gguf::File> &file, GroupImport &group,
                        const ggufx_model_options *given) {
    ModelOptions options(*runtime->host, given);
    HostGroup *const ranks = group.make(*runtime->host);
    options.ranks = group.rank_options();
    if (!ranks)
        return make<ggufx_model>(*runtime->host, runtime, file, nullptr, options.ranks,
                                 options.options, options.device, options.n_placed_layers);
    try {
        return make_together(runtime, file, ranks, options);
    } catch (...) {
        unmake(*runtime->host, ranks);
        throw;
    }
}

} // namespace

extern "C" ggufx_status ggufx_model_create(ggufx_model **out, const ggufx_runtime *rt,
                                           const ggufx_file *file,
                                           const ggufx_model_options *options, ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        GroupImport group(group_of(options));
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(alive(file, Tag::file), "file must be set");
        *out = make_model(RuntimeRef::share(const_cast<ggufx_runtime *>(rt)), // only counts
                          file->file, group, options);
    });
}

extern "C" void ggufx_model_destroy(ggufx_model *model) {
    const NoCancel whole;
    if (alive(model, Tag::model)) model->release();
}

extern "C" ggufx_status ggufx_model_info(ggufx_model_facts *out, const ggufx_model *model,
                                         ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(model, Tag::model), "out and model must be set");
        const model::Graph &graph = model->model.graph();
        const model::Shape &hp = graph.shape;
        ggufx_model_facts facts = {};
        facts.flags = (graph.predicts() ? 0 : GGUFX_MODEL_EMBEDDING_ONLY) |
                      (graph.pools ? GGUFX_MODEL_EMBEDS : 0);
        facts.architecture = graph.architecture;
        facts.n_parameters = graph.n_parameters;
        facts.weight_bytes = graph.weight_bytes;
        facts.n_vocab = static_cast<uint32_t>(hp.n_vocab);
        facts.n_context = hp.n_context;
        facts.n_embedding = hp.n_embd;
        facts.n_layers = hp.n_layers;
        facts.n_heads = hp.n_heads;
        facts.n_kv_heads = hp.n_kv_heads;
        facts.head_dim = hp.head_dim_k;
        facts.identity = model->model.identity();
        facts.device_bytes = model->there.n_bytes();
        if (facts.device_bytes) facts.n_device_layers = model->n_device_layers;
        export_struct(out, facts, "ggufx_model_facts");
    });
}

namespace {

ggufx_layer_facts facts_of(const model::Graph &graph, uint32_t layer) {
    ggufx_layer_facts facts = {};
    facts.kv_layer = layer;
    for (const model::StateInfo &state : graph.states) { // in a group: the states of this rank
        if (state.model_layer != layer) continue;
        facts.kind = GGUFX_LAYER_RECURRENT;
        facts.state_bytes =
            (state.tail_rows * state.tail_values + state.state_values) * sizeof(float);
    }
    for (const model::Op &op : graph.ops) {
        const auto *attend = std::get_if<model::op::Attend>(&op);
        if (!attend || attend->model_layer != layer) continue;
        const model::CacheInfo &cache = graph.caches[attend->cache];
        facts.kind = GGUFX_LAYER_ATTENTION;
        const model::CacheShape &shape = cache.shape;
        facts.n_heads = shape.all_heads ? shape.all_heads : shape.n_heads;
        facts.n_kv_heads = shape.all_kv_heads ? shape.all_kv_heads : shape.n_kv_heads;
        facts.head_dim_k = cache.shape.head_dim_k;
        facts.head_dim_v = cache.shape.head_dim_v;
        facts.window = cache.layers[attend->layer].window.n;
        facts.kv_layer = cache.layers[attend->layer].model_layer;
        facts.scale = attend->scale;
        facts.softcap = attend->cap;
        facts.sink_logits = graph.vector(attend->sinks);
        if (cache.shape.v_in_k) facts.flags |= GGUFX_LAYER_V_IN_K;
    }
    return facts;
}

} // namespace

extern "C" ggufx_status ggufx_model_layer_info(ggufx_layer_facts *out, const ggufx_model *model,
                                               uint32_t layer, ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(model, Tag::model), "out and model must be set");
        const model::Graph &graph = model->model.graph();
        if (layer >= graph.shape.n_layers)
            fail(Status::argument, {}, "layer is %" PRIu32 ", the model has %" PRIu32, layer,
                 graph.shape.n_layers);
        export_struct(out, facts_of(graph, layer), "ggufx_layer_facts");
    });
}

extern "C" ggufx_status ggufx_model_describe_graph(char *out, size_t capacity, size_t *out_needed,
                                                   const ggufx_file *file, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(file, Tag::file), "file must be set");
        require(out_needed && (out || capacity == 0), "out and out_needed must be set");
        const model::Text text =
            model::print(model::build_file_graph(*file->file, {}), *file->file);
        *out_needed = text.size();
        if (out) memcpy(out, text.data(), std::min(capacity, text.size()));
        check_capacity(text.size(), capacity, "the text", "bytes");
    });
}

namespace {

// Creates the session on all ranks, or on none.
ggufx_session *make_together(const Ref<ggufx_model> &model, const ggufx_session_options *given) {
    const Host &host = *model->model.host();
    ggufx_session *made = nullptr;
    model::SessionOptions options;
    Failure failure = {};
    Status status = Status::ok;
    try {
        options = import_session_options(given);
        made = make<ggufx_session>(host, model, options);
    } catch (const Error &e) {
        failure = e.failure;
        status = static_cast<Status>(failure.status);
    } catch (const std::bad_alloc &) {
        status = set_failure(&failure, Status::memory, {}, "the allocator has no memory left");
    }
    const model::CacheOptions caches = made ? made->plan.caches : model::CacheOptions{};
    const model::Option list[] = {{"n_context", caches.n_context},
                                  {"n_batch", caches.n_batch},
                                  {"type_k", made ? export_kv_type(caches.type_k) : 0},
                                  {"type_v", made ? export_kv_type(caches.type_v) : 0},
                                  {"n_sequences", caches.n_sequences},
                                  {"n_context_total", caches.n_total},
                                  {"n_checkpoints", caches.n_checkpoints},
                                  {"the mode of products", model::mode_of(options.matmul)}};
    status = model->group->ranks().compare(list, std::size(list), status, &failure);
    if (status == Status::ok) return made;
    unmake(host, made);
    throw Error{failure};
}

} // namespace

extern "C" ggufx_status ggufx_session_create(ggufx_session **out, const ggufx_model *model,
                                             const ggufx_session_options *options,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(model, Tag::model), "out and model must be set");
        const auto shared = Ref<ggufx_model>::share(const_cast<ggufx_model *>(model));
        *out = model->group ? make_together(shared, options)
                            : make<ggufx_session>(*model->model.host(), shared,
                                                  import_session_options(options));
    });
}

extern "C" void ggufx_session_destroy(ggufx_session *session) {
    const NoCancel whole;
    if (alive(session, Tag::session)) session->release();
}

void ggufx_session::release() {
    if (!refs.release()) return;
    const Ref<ggufx_model> keep = model;
    destroy_object(keep->model.host(), this);
}

extern "C" ggufx_status ggufx_session_info(ggufx_session_facts *out, const ggufx_session *session,
                                           ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(session, Tag::session), "out and session must be set");
        const model::SessionPlan &plan = session->plan;
        ggufx_session_facts facts = {};
        facts.n_context = plan.caches.n_context;
        facts.n_batch = plan.n_batch;
        facts.type_k = export_kv_type(plan.caches.type_k);
        facts.type_v = export_kv_type(plan.caches.type_v);
        facts.n_sequences = plan.caches.n_sequences;
        facts.n_context_total = plan.caches.n_total;
        const model::Session &s = session->session;
        const model::Caches::Memory memory = s.caches().memory();
        facts.cache_bytes = memory.bytes;
        facts.n_pages = memory.n_pages;
        facts.n_shared_pages = memory.n_shared_pages;
        for (uint32_t i = 0; i < s.n_sequences(); i++) facts.n_tokens += s.length(i);
        if (plan.caches.n_total) facts.n_tokens_left = s.caches().room();
        facts.embedded_bytes = s.embedded_bytes();
        export_struct(out, facts, "ggufx_session_facts");
    });
}
