// Limit of requests per API key, queued and running.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace ggufx::cli {

class Tickets {
public:
    explicit Tickets(size_t most) : all_(std::make_shared<All>()), most_(most) {}

    // Returns a ticket held for the life of a request; NULL: the key has reached its limit.
    std::shared_ptr<void> take(uint64_t owner) const {
        auto ticket =
            std::make_shared<Ticket>(all_, owner); // no allocation may fail after the count
        const std::lock_guard lock(all_->mutex);
        size_t &n = all_->n[owner];
        if (most_ > 0 && n >= most_) return nullptr;
        n++;
        ticket->is_counted = true;
        return ticket;
    }

    // Whether the requests of a key, at least one, are more than its share: all keys with requests
    // have equal shares of `n_places`.
    bool exceeds_share(uint64_t owner, size_t n_places) const {
        const std::lock_guard lock(all_->mutex);
        const auto at = all_->n.find(owner);
        return at != all_->n.end() && at->second > std::max<size_t>(1, n_places / all_->n.size());
    }

private:
    struct All {
        std::mutex mutex;
        std::map<uint64_t, size_t> n;
    };
    struct Ticket {
        Ticket(std::shared_ptr<All> all_, uint64_t owner_) : all(std::move(all_)), owner(owner_) {}
        ~Ticket() {
            if (!is_counted) return;
            const std::lock_guard lock(all->mutex);
            const auto at = all->n.find(owner);
            if (--at->second == 0) all->n.erase(at);
        }
        std::shared_ptr<All> all;
        uint64_t owner;
        bool is_counted = false;
    };
    std::shared_ptr<All> all_;
    size_t most_; // 0: no limit
};

} // namespace ggufx::cli
