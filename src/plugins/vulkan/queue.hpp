// Vulkan queue: each submission records into its own command buffer, which is reused when the work
// is done.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/vulkan/device.hpp"

#include <memory>

namespace ggufx::vulkan {

class Queue {
public:
    explicit Queue(Device &device);
    ~Queue(); // waits for pending work
    Queue(const Queue &) = delete;
    Queue &operator=(const Queue &) = delete;

    void copy(plugin::Span to, plugin::Span from, uint64_t bytes);
    void launch(const plugin::Launch &launch);
    void barrier();
    uint64_t submit();
    bool wait(uint64_t ticket, uint64_t timeout_ns); // false: not done within the timeout

private:
    // Commands of one submission and their descriptor sets.
    struct Recording {
        VkCommandPool pool = VK_NULL_HANDLE;
        VkCommandBuffer commands = VK_NULL_HANDLE;
        std::vector<VkDescriptorPool> sets; // filled one after the other
        uint32_t n_sets = 0;                // sets in use
        uint64_t ticket = 0;                // ticket of the submission
    };
    // Buffer range that a dispatch is bound to.
    struct Bound {
        Memory memory;
        uint64_t at, bytes;
    };
    struct Groups {
        uint32_t x, y;
    };

    void destroy(Recording &recording);
    Recording &begin(); // the current recording, started if necessary
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
    VkSemaphore done_ = VK_NULL_HANDLE; // timeline semaphore with the last finished ticket
    uint64_t ticket_ = 0;
    std::unique_ptr<Recording> recording_; // null: no recording
    std::vector<std::unique_ptr<Recording>> submitted_, idle_;
};

} // namespace ggufx::vulkan
