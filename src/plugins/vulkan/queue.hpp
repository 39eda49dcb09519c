// A queue of a device: commands are recorded into buffers of their own for each submission, which are
// used again when their work is done.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/vulkan/device.hpp"

#include <memory>

namespace ggufx::vulkan {

class Queue {
public:
    explicit Queue(Device &device);
    ~Queue(); // waits for what runs
    Queue(const Queue &) = delete;
    Queue &operator=(const Queue &) = delete;

    void copy(plugin::Span to, plugin::Span from, uint64_t bytes);
    void launch(const plugin::Launch &launch);
    void barrier();
    uint64_t submit();
    bool wait(uint64_t ticket, uint64_t timeout_ns); // false: not done yet

private:
    // Commands of one submission, and the bindings they use.
    struct Recording {
        VkCommandPool pool = VK_NULL_HANDLE;
        VkCommandBuffer commands = VK_NULL_HANDLE;
        std::vector<VkDescriptorPool> sets; // filled one after the other
        uint32_t n_sets = 0;                // taken in all
        uint64_t ticket = 0;                // of its submission
    };
    // What a dispatch is bound to; ranges of 0 bytes are not used.
    struct Bound {
        Memory memory;
        uint64_t at, bytes;
    };
    struct Groups {
        uint32_t x, y;
    };

    void destroy(Recording &recording);
    Recording &begin(); // the one that is being recorded
    std::unique_ptr<Recording> make();
    VkDescriptorSet take_set();
    void bind(const Bound (&bound)[kBindings]);
    void bind(const plugin::Launch &launch, const Bound &weights);
    Bound whole(plugin::Span span);
    void dispatch(const Push &push, Groups groups);
    void use(const plugin::Launch &launch);
    void probe(const plugin::Launch &launch, Push push);
    void read(const plugin::Launch &launch, Push push);
    void columns(const plugin::Launch &launch, Push push);
    void product(const plugin::Launch &launch, const plugin::Job &job, Push push);
    Bound weights(const plugin::Job &job, uint32_t *first);
    void order(VkPipelineStageFlags to, VkAccessFlags access);

    Device &device_;
    const DeviceFunctions &vk_;
    VkSemaphore done_ = VK_NULL_HANDLE; // counts tickets
    uint64_t ticket_ = 0;
    std::unique_ptr<Recording> recording_; // null: nothing is recorded
    std::vector<std::unique_ptr<Recording>> submitted_, idle_;
};

} // namespace ggufx::vulkan
