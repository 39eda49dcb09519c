// SPDX-License-Identifier: MIT
#include "eval/activation_stream.hpp"

#include <string.h>

namespace ggufx::model {

namespace {

EmbedOptions options_for(uint32_t n_context) {
    EmbedOptions options;
    options.n_context = options.n_batch = n_context;
    options.own_pooling = true; // none: the hidden states
    return options;
}

// Keys, values and states are needed within a layer only, so one layer of caches serves all.
EmbedPlan plan_for(const Graph &graph, uint32_t n_context) {
    if (graph.shares_keys)
        fail(Status::unsupported, {},
             "feedback does not support %s models, whose layers read the keys of other layers "
             "(quantize with an importance matrix instead)",
             graph.architecture);
    EmbedPlan plan(graph, options_for(n_context));
    plan.alone = false;
    return plan;
}

} // namespace

ActivationStream::ActivationStream(const Graph &graph, const Ref<Host> &host,
                                   const matmul::Engine &engine, const int32_t *tokens,
                                   size_t n_chunks, uint32_t n_context)
    : plan_(plan_for(graph, n_context)), caches_(graph, host, engine.kernels(), plan_),
      states_(make_states(graph, host)), scratch_(host, scratch_bytes(graph, n_context)),
      positions_(n_context, 0, HostAllocator<uint32_t>(host.get())),
      frequencies_(HostAllocator<const double *>(host.get())),
      tokens_(tokens), rows_{0, n_context}, context_{.graph = graph,
                                                     .engine = engine,
                                                     .rows = *kernels::rows_of(engine.kernels()),
                                                     .frequencies = nullptr,
                                                     .caches = caches_.caches(),
                                                     .states = states_.get(),
                                                     .options = plan_.options.matmul,
                                                     .scratch =
                                                         reinterpret_cast<float *>(scratch_.data()),
                                                     .n_batch = n_context,
                                                     .positions = positions_.data(),
                                                     .n = n_context,
                                                     .parts = &part_,
                                                     .n_parts = 1,
                                                     .memory = &memory_,
                                                     .inputs = &rows_,
                                                     .n_texts = 1,
                                                     .one_layer = true},
      kept_(HostAllocator<Kept>(host.get())) {
    part_ = {0, 0, n_context, 0, nullptr};
    for (uint32_t i = 0; i < n_context; i++) positions_[i] = i;
    for (const RopeTable &table : graph.rope_tables)
        frequencies_.push_back(graph.frequencies.data() + table.start(n_context));
    context_.frequencies = frequencies_.data();
    kept_.reserve(n_chunks);
    for (size_t i = 0; i < n_chunks; i++)
        kept_.push_back({0, Vector<float>(HostAllocator<float>(host.get()))});
}

ActivationStream::OwnedStates ActivationStream::make_states(const Graph &graph,
                                                            const Ref<Host> &host) {
    if (graph.states.empty()) return nullptr;
    Vector<state::LayerShape> layers(HostAllocator<state::LayerShape>(host.get()));
    for (const StateInfo &info : graph.states)
        layers.push_back({info.tail_rows, info.tail_values, info.state_values});
    state::Config config;
    config.layers = layers.data();
    config.n_layers = static_cast<uint32_t>(layers.size());
    return OwnedStates(state::StateCache::create(host, config));
}

// Starts from empty states. Operations between a convolution and the recurrence after it may have
// ended the previous run: the recurrence uses the state of the last convolution before `group`.
void ActivationStream::begin_states(uint32_t group) {
    if (!states_) return;
    (void)states_->clear(0, nullptr);
    (void)states_->begin(0, nullptr); // cannot fail after clear()
    const Graph &graph = context_.graph;
    for (uint32_t i = group < graph.groups.size() ? graph.groups[group].first : 0; i-- > 0;) {
        const auto *conv = std::get_if<op::Conv>(&graph.ops[i]);
        if (!conv) continue;
        memory_ = states_->step(conv->state, 0);
        return;
    }
}

bool ActivationStream::is_live(const BufferInfo &buffer, uint32_t group) const {
    return !buffer.outside && buffer.first < group && buffer.last >= group;
}

size_t ActivationStream::live_floats(uint32_t group) const {
    size_t n = 0;
    for (const BufferInfo &buffer : context_.graph.buffers)
        if (is_live(buffer, group)) n += size_t{buffer.width} * context_.n_batch;
    return n;
}

void ActivationStream::restore(size_t chunk) {
    const Kept &kept = kept_[chunk];
    size_t at = 0;
    for (uint32_t i = 0; i < context_.graph.buffers.size(); i++) {
        const BufferInfo &buffer = context_.graph.buffers[i];
        if (!is_live(buffer, kept.group)) continue;
        const size_t n = size_t{buffer.width} * context_.n_batch;
        memcpy(context_.at({i, 0, buffer.width}, 0), kept.floats.data() + at, n * sizeof(float));
        at += n;
    }
}

void ActivationStream::keep(size_t chunk, uint32_t group) {
    Kept &kept = kept_[chunk];
    kept.floats.resize(live_floats(group));
    kept.group = group;
    size_t at = 0;
    for (uint32_t i = 0; i < context_.graph.buffers.size(); i++) {
        const BufferInfo &buffer = context_.graph.buffers[i];
        if (!is_live(buffer, group)) continue;
        const size_t n = size_t{buffer.width} * context_.n_batch;
        memcpy(kept.floats.data() + at, context_.at({i, 0, buffer.width}, 0), n * sizeof(float));
        at += n;
    }
}

void ActivationStream::run(uint32_t group, const Progress &progress) {
    Failure failure = {};
    context_.options.progress = progress;
    const Status status = run_group(context_, context_.graph.groups[group], &failure);
    context_.options.progress = {};
    if (status != Status::ok) throw Error{failure};
}

void ActivationStream::advance(size_t chunk, uint32_t end, const Progress &progress) {
    context_.tokens = tokens_ + chunk * context_.n_batch;
    restore(chunk);
    begin_states(kept_[chunk].group);
    for (uint32_t group = kept_[chunk].group; group < end; group++) run(group, progress);
    keep(chunk, end);
}

void ActivationStream::show(uint32_t group, ProductWatcher &watcher, const Progress &progress) {
    context_.products = &watcher;
    try {
        run(group, progress);
    } catch (...) {
        context_.products = nullptr;
        throw;
    }
    context_.products = nullptr;
}

} // namespace ggufx::model
