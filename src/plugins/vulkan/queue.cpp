// SPDX-License-Identifier: MIT
#include "plugins/vulkan/queue.hpp"

#include "plugins/vulkan/shaders.hpp"

#include <algorithm>

namespace ggufx::vulkan {

using plugin::Job;
using plugin::Launch;
using plugin::Op;

namespace {

constexpr uint32_t kSetsEach = 64;                       // descriptor sets per pool
constexpr uint32_t kRows = 8, kColumns = 16, kFlat = 64; // sizes of a workgroup (shaders/)
// Longest row whose chain stays within lavapipe's limit of loop iterations (rows.glsl).
constexpr uint64_t kMostOfProcessor = 1 << 17;
constexpr VkPipelineStageFlags kWork =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWritten = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kUsed = kWritten | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

uint32_t groups_of(uint64_t n, uint32_t each) {
    return static_cast<uint32_t>((n + each - 1) / each);
}
uint32_t words(uint64_t bytes) {
    return static_cast<uint32_t>(bytes / 4);
}
bool is_dots(Op op) {
    return op == Op::dots8 || op == Op::dots15 || op == Op::dots_f32;
}
uint32_t planes_of(Op op) {
    return op == Op::pack15 || op == Op::dots15 || op == Op::chains15 ? 2 : 1;
}

} // namespace

Queue::Queue(Device &device) : device_(device), vk_(device.vk()) {
    VkSemaphoreTypeCreateInfo type = {};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    check(vk_.CreateSemaphore(device.handle(), &info, nullptr, &done_), "a queue");
}

Queue::~Queue() {
    try {
        if (!submitted_.empty()) wait(ticket_, UINT64_MAX);
    } catch (const Fault &) { // lost: no work is running
    }
    for (auto &recording : submitted_) destroy(*recording);
    for (auto &recording : idle_) destroy(*recording);
    if (recording_) destroy(*recording_);
    vk_.DestroySemaphore(device_.handle(), done_, nullptr);
}

void Queue::destroy(Recording &recording) {
    for (VkDescriptorPool pool : recording.sets)
        vk_.DestroyDescriptorPool(device_.handle(), pool, nullptr);
    vk_.DestroyCommandPool(device_.handle(), recording.pool, nullptr);
}

std::unique_ptr<Queue::Recording> Queue::make() {
    auto made = std::make_unique<Recording>();
    VkCommandPoolCreateInfo pool = {};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = device_.physical().queue_family;
    check(vk_.CreateCommandPool(device_.handle(), &pool, nullptr, &made->pool), "a queue");
    VkCommandBufferAllocateInfo commands = {};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    commands.commandPool = made->pool;
    commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    commands.commandBufferCount = 1;
    const VkResult result =
        vk_.AllocateCommandBuffers(device_.handle(), &commands, &made->commands);
    if (result != VK_SUCCESS) destroy(*made);
    check(result, "a queue");
    return made;
}

Queue::Recording &Queue::begin() {
    if (recording_) return *recording_;
    uint64_t done = 0;
    check(vk_.GetSemaphoreCounterValue(device_.handle(), done_, &done), "a queue");
    for (size_t i = 0; i < submitted_.size();) {
        if (submitted_[i]->ticket > done) {
            i++;
            continue;
        }
        idle_.push_back(std::move(submitted_[i]));
        submitted_.erase(submitted_.begin() + static_cast<ptrdiff_t>(i));
    }
    if (idle_.empty()) idle_.push_back(make());
    submitted_.reserve(submitted_.size() + 1); // so that submit() cannot fail after it started
    Recording &next = *idle_.back();
    for (VkDescriptorPool pool : next.sets)
        check(vk_.ResetDescriptorPool(device_.handle(), pool, 0), "bindings");
    next.n_sets = 0;
    VkCommandBufferBeginInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(vk_.BeginCommandBuffer(next.commands, &info), "commands");
    recording_ = std::move(idle_.back());
    idle_.pop_back();
    return *recording_;
}

void Queue::order(VkPipelineStageFlags to, VkAccessFlags access) {
    VkMemoryBarrier barrier = {};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = kWritten;
    barrier.dstAccessMask = access;
    vk_.CmdPipelineBarrier(begin().commands, kWork, to, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void Queue::barrier() {
    order(kWork, kUsed);
}

void Queue::copy(plugin::Span to, plugin::Span from, uint64_t bytes) {
    const Memory target = device_.find(to.buffer), source = device_.find(from.buffer);
    const VkBufferCopy region = {from.at, to.at, bytes};
    vk_.CmdCopyBuffer(begin().commands, source.buffer, target.buffer, 1, &region);
}

uint64_t Queue::submit() {
    Recording &recording = begin();
    order(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    check(vk_.EndCommandBuffer(recording.commands), "commands");
    const uint64_t ticket = ticket_ + 1;
    VkTimelineSemaphoreSubmitInfo timeline = {};
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &ticket;
    VkSubmitInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &recording.commands;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &done_;
    device_.submit(info);
    ticket_ = recording.ticket = ticket;
    submitted_.push_back(std::move(recording_));
    return ticket;
}

bool Queue::wait(uint64_t ticket, uint64_t timeout_ns) {
    VkSemaphoreWaitInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &done_;
    info.pValues = &ticket;
    const VkResult result = vk_.WaitSemaphores(device_.handle(), &info, timeout_ns);
    if (result == VK_TIMEOUT) return false;
    check(result, "waiting");
    return true;
}

// ---- launches -----------------------------------------------------------------------------------

VkDescriptorSet Queue::take_set() {
    Recording &recording = begin();
    if (recording.n_sets == recording.sets.size() * kSetsEach) {
        const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           kSetsEach * kBindings};
        VkDescriptorPoolCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
        info.maxSets = kSetsEach;
        info.poolSizeCount = 1;
        info.pPoolSizes = &size;
        recording.sets.reserve(recording.sets.size() + 1);
        VkDescriptorPool pool = VK_NULL_HANDLE;
        check(vk_.CreateDescriptorPool(device_.handle(), &info, nullptr, &pool), "bindings");
        recording.sets.push_back(pool);
    }
    const VkDescriptorSetLayout layout = device_.bindings();
    VkDescriptorSetAllocateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = recording.sets[recording.n_sets / kSetsEach];
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    check(vk_.AllocateDescriptorSets(device_.handle(), &info, &set), "bindings");
    recording.n_sets++;
    return set;
}

void Queue::bind(const Bound (&bound)[kBindings]) {
    const VkDescriptorSet set = take_set();
    VkDescriptorBufferInfo buffers[kBindings];
    VkWriteDescriptorSet writes[kBindings] = {};
    for (uint32_t i = 0; i < kBindings; i++) {
        if (bound[i].bytes > device_.physical().properties.limits.maxStorageBufferRange)
            fail(GGUFX_E_LIMIT, VK_SUCCESS, "%llu bytes exceed the limit of a storage buffer, %u",
                 static_cast<unsigned long long>(bound[i].bytes),
                 device_.physical().properties.limits.maxStorageBufferRange);
        buffers[i] = {bound[i].memory.buffer, bound[i].at, bound[i].bytes};
        writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        writes[i].dstSet = set;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
        writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[i].pBufferInfo = &buffers[i];
    }
    vk_.UpdateDescriptorSets(device_.handle(), kBindings, writes, 0, nullptr);
    vk_.CmdBindDescriptorSets(begin().commands, VK_PIPELINE_BIND_POINT_COMPUTE, device_.layout(), 0,
                              1, &set, 0, nullptr);
}

Queue::Bound Queue::whole(plugin::Span span) {
    const Memory memory = device_.find(span.buffer);
    return {memory, 0, memory.bytes};
}

// Binds the spans of a launch. Spans that an operation does not use are bound to x, which every
// launch has.
void Queue::bind(const Launch &launch, const Bound &weights) {
    const Bound x = whole(launch.x);
    const auto or_x = [&](plugin::Span span) { return span.buffer ? whole(span) : x; };
    bind({weights, x, or_x(launch.packed), or_x(launch.sums), or_x(launch.y), or_x(launch.book)});
}

void Queue::use(const Launch &launch) {
    const Physical &physical = device_.physical();
    const Program program = {
        find_shader(launch.op, launch.type, launch.fma, physical.f64, physical.int_dot), launch.op,
        is_dots(launch.op) ? launch.n : 1};
    if (program.module == kNoShader)
        fail(GGUFX_E_UNSUPPORTED, VK_SUCCESS, "there is no shader for operation %u of type %u",
             static_cast<unsigned>(launch.op), launch.type);
    vk_.CmdBindPipeline(begin().commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                        device_.pipeline(program));
}

void Queue::dispatch(const Push &push, Groups groups) {
    VkCommandBuffer commands = begin().commands;
    vk_.CmdPushConstants(commands, device_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push,
                         &push);
    vk_.CmdDispatch(commands, groups.x, groups.y, 1);
}

void Queue::launch(const Launch &launch) {
    const bool processor = device_.physical().properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    if (processor && launch.n_jobs > 0 && launch.op != Op::read && launch.k > kMostOfProcessor)
        fail(GGUFX_E_LIMIT, VK_SUCCESS,
             "rows of %llu values exceed the limit of a software device, %llu",
             static_cast<unsigned long long>(launch.k),
             static_cast<unsigned long long>(kMostOfProcessor));
    use(launch);
    Push push = {};
    push.k = static_cast<uint32_t>(launch.k);
    push.n = launch.n;
    push.x = words(launch.x.at);
    push.packed = words(launch.packed.at);
    push.sums = words(launch.sums.at);
    push.y = words(launch.y.at);
    push.book = words(launch.book.at);
    push.group = launch.group;
    push.plane = static_cast<uint32_t>(launch.k / 32 * plugin::kActWords);
    switch (launch.op) {
    case Op::probe:
        return probe(launch, push);
    case Op::pack8:
    case Op::pack15:
    case Op::sums:
        return columns(launch, push);
    case Op::read:
        return read(launch, push);
    default:
        for (uint32_t i = 0; i < launch.n_jobs; i++) product(launch, launch.jobs[i], push);
    }
}

void Queue::probe(const Launch &launch, Push push) {
    push.n_rows = launch.n;
    bind(launch, whole(launch.x));
    dispatch(push, {groups_of(launch.n, kFlat), 1});
}

void Queue::read(const Launch &launch, Push push) {
    bind(launch, weights(launch.jobs[0], &push.first));
    dispatch(push, {plugin::kReadSums / kFlat, 1});
}

// Packs or adds up columns of x; splits them by the device's limit of workgroups.
void Queue::columns(const Launch &launch, Push push) {
    const uint32_t each = launch.op == Op::sums ? launch.group : 32;
    const uint32_t most = device_.physical().properties.limits.maxComputeWorkGroupCount[1];
    bind(launch, whole(launch.x));
    for (uint32_t done = 0, n; done < launch.n; done += n) {
        n = std::min(most, launch.n - done);
        push.n = n;
        dispatch(push, {groups_of(launch.k / each, kFlat), n});
        push.x += n * push.k;
        push.packed += n * push.plane * planes_of(launch.op);
        push.sums += launch.group ? n * (push.k / launch.group) : 0;
    }
}

// Range of the buffer that starts at an aligned offset at or before the job's rows. *first is the
// byte offset of the rows in it.
Queue::Bound Queue::weights(const Job &job, uint32_t *first) {
    const VkPhysicalDeviceLimits &limits = device_.physical().properties.limits;
    const Memory memory = device_.find(job.w.buffer);
    const uint64_t border = std::max<uint64_t>(limits.minStorageBufferOffsetAlignment, 4);
    const uint64_t at = job.w.at / border * border;
    *first = static_cast<uint32_t>(job.w.at - at);
    const uint64_t bytes = std::min<uint64_t>(memory.bytes - at, limits.maxStorageBufferRange);
    if (job.stride > facts_of(device_.physical()).range_bytes)
        fail(GGUFX_E_LIMIT, VK_SUCCESS, "a row stride of %llu bytes exceeds the limit of a shader",
             static_cast<unsigned long long>(job.stride));
    return {memory, at, bytes / 4 * 4};
}

void Queue::product(const Launch &launch, const Job &job, Push push) {
    const uint32_t(&most)[3] = device_.physical().properties.limits.maxComputeWorkGroupCount;
    const uint32_t n_columns = is_dots(launch.op) ? 1 : launch.n;
    push.stride = static_cast<uint32_t>(job.stride);
    push.ldy = static_cast<uint32_t>(job.ldy);
    uint32_t first = 0;
    bind(launch, weights(job, &first));
    const uint64_t rows_each = uint64_t{most[0]} * kRows,
                   columns_each = uint64_t{most[1]} * kColumns;
    for (uint64_t row = 0; row < job.n_rows; row += rows_each)
        for (uint64_t column = 0; column < n_columns; column += columns_each) {
            Push part = push;
            part.n_rows = static_cast<uint32_t>(std::min(rows_each, job.n_rows - row));
            part.first = static_cast<uint32_t>(first + row * job.stride);
            part.column = static_cast<uint32_t>(job.column + column);
            part.n = static_cast<uint32_t>(std::min(columns_each, n_columns - column));
            part.y = static_cast<uint32_t>(push.y + job.y + column * job.ldy + row);
            dispatch(part, {groups_of(part.n_rows, kRows), groups_of(part.n, kColumns)});
        }
}

} // namespace ggufx::vulkan
