// Version, features and the runtime: include/ggufx/base.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "base/cpu.hpp"
#include "formats/format.hpp"
#include "kernels/dispatch.hpp"
#include "kv/cache.hpp"
#include "run/model.hpp"
#include "tokenizer/vocab.hpp"

#include <ggufx/base.h>
#include <ggufx/types.h>
#include <string.h>

using namespace ggufx;
using namespace ggufx::abi;

#define GGUFX_TEXT_(x) #x
#define GGUFX_TEXT(x) GGUFX_TEXT_(x)

extern "C" const char *ggufx_status_name(ggufx_status status) {
    return status_name(status);
}

extern "C" const char *ggufx_version(void) {
    return GGUFX_TEXT(GGUFX_VERSION_MAJOR) "." GGUFX_TEXT(GGUFX_VERSION_MINOR) "." GGUFX_TEXT(
        GGUFX_VERSION_PATCH);
}

extern "C" uint32_t ggufx_abi_version(void) {
    return GGUFX_ABI_VERSION;
}

namespace {

// The rest of `feature` after `prefix`, or null.
const char *after(const char *feature, const char *prefix) {
    const size_t n = strlen(prefix);
    return strncmp(feature, prefix, n) == 0 ? feature + n : nullptr;
}

bool has_feature(const char *feature) {
    if (const char *name = after(feature, "type:"))
        return fmt::type_by_name(name, strlen(name)) != nullptr;
    if (const char *name = after(feature, "kv:"))
        return kv::type_by_name(name, strlen(name)) != nullptr;
    if (const char *name = after(feature, "isa:")) return kernels::built_in(name);
    if (const char *name = after(feature, "arch:")) return model::has_architecture(name);
    if (const char *name = after(feature, "tokenizer:")) return model::is_vocab_kind(name);
    if (const char *name = after(feature, "vocab:")) return model::is_vocab_kind(name);
    if (const char *name = after(feature, "pre:"))
        return model::kEveryVocabulary && model::pre::find(name) != nullptr;
#if defined(GGUFX_WITH_CHAT)
    if (strcmp(feature, "chat") == 0) return true;
#endif
#if defined(GGUFX_WITH_MIMALLOC)
    if (strcmp(feature, "mimalloc") == 0) return true;
#endif
#if defined(GGUFX_WITH_CPUINFO)
    if (strcmp(feature, "cpuinfo") == 0) return true;
#endif
    return false;
}

} // namespace

extern "C" int32_t ggufx_has(const char *feature) {
    return feature && has_feature(feature);
}

namespace {

// Checked public hooks in their internal form. Their destroy functions run with this object until
// release(): destroy runs exactly once, even if the runtime cannot be created.
class Hooks {
public:
    // Copies the caller's struct first, so that destroy also runs when the import refuses it. An
    // impossible struct_size is ignored.
    explicit Hooks(const ggufx_runtime_options *options) {
        if (!options || options->struct_size > kMostStructBytes) return;
        const size_t size = options->struct_size;
        memcpy(&given_, options, size < sizeof given_ ? size : sizeof given_);
    }
    ~Hooks() {
        if (released_) return;
        const auto destroy = [](const auto *hooks) {
            if (hooks && holds_all(*hooks) && hooks->destroy) hooks->destroy(hooks->user);
        };
        destroy(given_.executor);
        destroy(given_.log);
        destroy(given_.allocator);
    }

    void import(const ggufx_runtime_options &options) {
        if (options.allocator) {
            const auto in = import_options(options.allocator, 0, "ggufx_allocator");
            require(in.alloc && in.free, "ggufx_allocator.alloc and .free must be set");
            allocator_ = {in.user, in.alloc, in.free, in.destroy, "host"};
        }
        if (options.log) {
            const auto in = import_options(options.log, 0, "ggufx_log");
            require(in.write, "ggufx_log.write must be set");
            log_ = {in.user, in.write, in.destroy};
        }
        if (options.executor) import_executor(*options.executor);
    }

    HostOptions release(uint32_t threads) {
        released_ = true;
        return {given_.allocator ? &allocator_ : nullptr, given_.log ? &log_ : nullptr,
                given_.executor ? &executor_ : nullptr, threads};
    }

private:
    void import_executor(const ggufx_executor &public_executor) {
        const auto in = import_options(&public_executor, 0, "ggufx_executor");
        require(in.parallel_for, "ggufx_executor.parallel_for must be set");
        require(in.max_workers >= 1 && in.max_workers <= 4096,
                "ggufx_executor.max_workers must be 1..4096");
        executor_ = {in.max_workers, in.user, in.parallel_for, in.destroy};
    }

    ggufx_runtime_options given_{};
    bool released_ = false;
    AllocatorHooks allocator_{};
    LogHooks log_{};
    ExecutorHooks executor_{};
};

const kernels::Kernels *choose_kernels(int32_t isa) {
    const kernels::Kernels *chosen = kernels::select(isa, cpu::features());
    if (!chosen)
        fail(Status::unsupported, {},
             "ggufx_runtime_options.isa is %d: this processor or build has no such kernels", isa);
    return chosen;
}

ggufx_runtime *create_runtime(const ggufx_runtime_options *public_options) {
    Hooks hooks(public_options);
    const auto options = import_options(public_options, 0, "ggufx_runtime_options");
    hooks.import(options);
    const kernels::Kernels *chosen = choose_kernels(options.isa);
    const Ref<Host> host = Host::create(hooks.release(options.threads));
    auto rt = Ref<ggufx_runtime>::adopt(make<ggufx_runtime>(*host));
    rt->host = host;
    rt->engine = matmul::Engine::create(host, chosen, options.workspace_bytes);
    rt->isa = static_cast<int32_t>(kernels::isa_of(*chosen));
    return rt.detach();
}

} // namespace

void ggufx_runtime::release() {
    if (!refs.release()) return;
    if (engine) matmul::Engine::destroy(engine);
    const Ref<Host> keep = host;
    tag = Tag::dead;
    unmake(*keep, this);
}

extern "C" ggufx_status ggufx_runtime_create(ggufx_runtime **out,
                                             const ggufx_runtime_options *options,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        ggufx_runtime *created = create_runtime(options);
        if (!out) {
            created->release();
            fail(Status::argument, {}, "out must be set");
        }
        *out = created;
    });
}

extern "C" void ggufx_runtime_destroy(ggufx_runtime *rt) {
    const NoCancel whole;
    if (alive(rt, Tag::runtime)) rt->release();
}

extern "C" ggufx_status ggufx_runtime_info(ggufx_runtime_facts *out, const ggufx_runtime *rt,
                                           ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        ggufx_runtime_facts facts = {};
        facts.isa = rt->isa;
        facts.threads = rt->host->max_workers();
        facts.features = cpu::features();
        facts.isa_name = kernels::name_of(rt->engine->kernels());
        facts.allocator_name = rt->host->allocator_name();
        facts.workspace_bytes = rt->engine->workspace_bytes();
        export_struct(out, facts, "ggufx_runtime_facts");
    });
}

extern "C" const char *ggufx_runtime_kernel_name(const ggufx_runtime *rt, uint32_t type) {
    if (!alive(rt, Tag::runtime)) return nullptr;
    return kernels::type_isa_name(rt->engine->kernels(), type);
}
