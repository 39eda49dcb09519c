// Slots endpoint: lists, saves and restores slots. The engine thread copies snapshots to and from
// memory, so that decoding never waits for the disk. A key sees and saves only slots of its own
// requests.
// SPDX-License-Identifier: MIT
#include "serve/service.hpp"

#include "serve/slot_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

Json slot_json(uint32_t number, const SlotView &slot) {
    const char *const state = slot.state == SlotView::State::reads    ? "reading"
                              : slot.state == SlotView::State::writes ? "writing"
                                                                      : "free";
    return Json{{"id", number},
                {"state", state},
                {"n_tokens", slot.n_tokens},
                {"n_prompt_tokens", slot.n_prompt}};
}

ApiError not_a_slot() {
    return {404, "there is no such slot, or it holds no request of this key", "", "unknown_slot"};
}

ApiError unknown_path() {
    return {404, "there is nothing under this path", "", "unknown_path"};
}

// Returns NUMBER and the action of /slots/NUMBER/ACTION; no action of /slots/NUMBER.
std::pair<uint32_t, std::string> slot_of(const std::string &path) {
    const std::string rest = path.substr(std::string_view("/slots/").size());
    const size_t slash = std::min(rest.find('/'), rest.size());
    uint32_t slot = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), slot);
    if (error != std::errc() || end != rest.data() + slash || slash + 1 == rest.size())
        throw unknown_path();
    return {slot, slash == rest.size() ? "" : rest.substr(slash + 1)};
}

void require_idle(const SlotView &slot) {
    if (slot.state != SlotView::State::free)
        throw ApiError(503, "the slot has a running request", "", "slot_busy");
}

void restore(Scheduler &scheduler, uint32_t slot, uint64_t cache, const SlotContent &content) {
    try {
        scheduler.restore(slot, cache, content.codes, content.snapshot);
    } catch (const DecodeBackend::Refused &refused) {
        if (refused.fault == Fault::memory) throw ApiError(503, refused.what());
        throw ApiError(400, refused.what(), "filename", "invalid_snapshot");
    }
}

} // namespace

void Service::slots(Call &call, Json) {
    require_writing();
    if (!options_.shows_slots && options_.slot_folder.empty())
        throw ApiError(404, "slots are not shown (see --slots of the server)", "", "unknown_path");
    const uint64_t cache = cache_of(call.exchange->owner(), "");
    engine_->post(
        [exchange = call.exchange, cache, n = backend_->n_sequences()](Scheduler &scheduler) {
            respond_error(*exchange, [&] {
                Json list = Json::array();
                for (uint32_t i = 0; i < n; i++) {
                    const SlotView slot = scheduler.slot(i);
                    const bool shown = slot.n_tokens == 0 || slot.cache == cache;
                    if (shown) list.push_back(slot_json(i, slot));
                }
                respond_json(*exchange, list);
            });
        });
}

// /slots/NUMBER/save, /slots/NUMBER/restore
void Service::slot_action(Call &call, Json body) {
    const auto [slot, action] = slot_of(call.path);
    if (action != "save" && action != "restore") throw unknown_path();
    require_snapshots(slot);
    const std::string name = read_slot_name(std::exchange(body, {}), options_.lenient);
    if (action == "save")
        save_slot(call, slot, name);
    else
        restore_slot(call, slot, name);
}

// DELETE /slots/NUMBER. The number has no effect: a snapshot belongs to a key, not to a slot.
void Service::delete_snapshot(Call &call, Json body) {
    const auto [slot, action] = slot_of(call.path);
    if (!action.empty()) throw unknown_path();
    require_snapshots(slot);
    const std::string name = read_slot_name(std::exchange(body, {}), options_.lenient);
    vectors_.add(
        call.exchange->asker(), [exchange = call.exchange, name, path = snapshot_path(call, name)] {
            respond_error(*exchange, [&] {
                if (unlink(path.c_str()) == 0)
                    respond_json(*exchange, Json{{"filename", name}, {"deleted", true}});
                else if (errno == ENOENT)
                    throw ApiError(404, std::strerror(ENOENT), "filename", "unknown_snapshot");
                else
                    throw ApiError(500, fmt::format("cannot delete the snapshot \"{}\": {}", name,
                                                    std::strerror(errno)));
            });
            return false;
        });
}

void Service::require_snapshots(uint32_t slot) const {
    require_writing();
    if (options_.slot_folder.empty())
        throw ApiError(404, "snapshots are disabled (see --slot-dir of the server)", "",
                       "unknown_path");
    if (slot >= backend_->n_sequences()) throw not_a_slot();
}

// File names include the owner, so that one key cannot access the files of another.
std::string Service::snapshot_path(const Call &call, const std::string &name) const {
    return options_.slot_folder + "/" + slot_file_name(call.exchange->owner(), name);
}

void Service::save_slot(Call &call, uint32_t slot, const std::string &name) {
    const uint64_t owner = call.exchange->owner(), cache = cache_of(owner, "");
    const std::string file = slot_file_name(owner, name);
    engine_->post([this, exchange = call.exchange, slot, owner, file, cache](Scheduler &scheduler) {
        respond_error(*exchange, [&] {
            const SlotView view = scheduler.slot(slot);
            if (view.n_tokens == 0 || view.cache != cache) throw not_a_slot();
            require_idle(view);
            auto content = std::make_shared<SlotContent>();
            content->fingerprint = host_->fingerprint();
            const auto held = scheduler.held(slot);
            content->codes.assign(held.begin(), held.end());
            content->snapshot = backend_->save(slot);
            vectors_.add(exchange->asker(), [this, exchange, owner, file, content, slot] {
                respond_error(*exchange, [&] {
                    require_quota(options_.slot_folder, owner, file, slot_file_bytes(*content),
                                  options_.slot_quota);
                    write_slot_file(options_.slot_folder + "/" + file, *content);
                    respond_json(*exchange,
                                 Json{{"id", slot}, {"n_tokens", content->codes.size()}});
                });
                return false;
            });
        });
    });
}

void Service::restore_slot(Call &call, uint32_t slot, const std::string &name) {
    const uint64_t cache = cache_of(call.exchange->owner(), "");
    const std::string path = snapshot_path(call, name);
    vectors_.add(call.exchange->asker(), [this, exchange = call.exchange, slot, path, cache] {
        respond_error(*exchange, [&] {
            auto content = std::make_shared<SlotContent>();
            try {
                *content = read_slot_file(path);
            } catch (const Failure &failure) {
                const bool is_file = failure.exit_code == kInvalidFile;
                throw ApiError(is_file ? 400 : 404, failure.what(), "filename",
                               is_file ? "invalid_snapshot" : "unknown_snapshot");
            }
            if (content->fingerprint != host_->fingerprint())
                throw ApiError(400, "the snapshot is of another model, or of other options",
                               "filename", "invalid_snapshot");
            engine_->post([exchange, slot, cache, content](Scheduler &scheduler) {
                respond_error(*exchange, [&] {
                    const SlotView view = scheduler.slot(slot);
                    if (view.n_tokens > 0 && view.cache != cache) throw not_a_slot();
                    require_idle(view);
                    restore(scheduler, slot, cache, *content);
                    respond_json(*exchange,
                                 Json{{"id", slot}, {"n_tokens", content->codes.size()}});
                });
            });
        });
        return false;
    });
}

} // namespace ggufx::cli
