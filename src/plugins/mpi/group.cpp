// Group of the ranks of an MPI job. Messages are pairs of MPI_Isend and MPI_Irecv between all ranks
// instead of MPI collectives: this tells which rank is late, and a short message costs one latency.
// Messages use buffers of this library. After a timeout MPI keeps them for good, because a message
// cannot be recalled.
// SPDX-License-Identifier: MIT
#include <ggufx/mpi.h>

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mpi.h>
#include <new>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTags = 30000;          // tags of successive calls
constexpr int kAbortTag = 32000;      // MPI guarantees tags up to 32,767 at least
constexpr int kMostMessage = 1 << 30; // maximum bytes of one MPI message
// Polls before yielding the processor, maybe to the rank that this one waits for.
constexpr int kSpins = 200;
constexpr auto kLook = std::chrono::milliseconds(2);     // interval of checks for an abort
constexpr auto kAsLate = std::chrono::milliseconds(200); // between ranks that wait for a lost one
// A wait longer than any message takes means that the other rank computes, maybe on this processor.
// Then sleep: yielding again and again would take time from that rank. Long waits, as in idle
// server ranks, poll less often: a sleep is 1/256 of the time waited.
constexpr auto kPatience = std::chrono::milliseconds(2);
// Also sleep when another thread took the processor for so long after a yield: it may compute
// products while this message is pending.
constexpr auto kTaken = std::chrono::microseconds(50);
constexpr std::chrono::nanoseconds kShortNap = std::chrono::microseconds(50);
constexpr std::chrono::nanoseconds kLongNap = std::chrono::milliseconds(5);

void nap(std::chrono::nanoseconds waited) {
    const timespec time = {0, std::clamp(waited / 256, kShortNap, kLongNap).count()};
    nanosleep(&time, nullptr);
}

ggufx_status fail(ggufx_error *error, ggufx_status status, uint64_t index, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
ggufx_status fail(ggufx_error *error, ggufx_status status, uint64_t index, const char *format,
                  ...) {
    if (!error) return status;
    memset(error, 0, sizeof *error);
    error->status = status;
    error->offset = GGUFX_NONE;
    error->index = index;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

// Error text of an MPI code, without an allocation.
struct MpiText {
    explicit MpiText(int code) {
        int n = 0;
        MPI_Error_string(code, text, &n);
    }
    char text[MPI_MAX_ERROR_STRING + 1] = "";
};

class Group {
public:
    Group(const ggufx_mpi_options &options, bool finalizes)
        : options_(options), finalizes_(finalizes) {}
    ~Group();

    // Throws std::bad_alloc; returns an MPI code.
    int open();
    uint32_t rank() const { return static_cast<uint32_t>(rank_); }
    uint32_t size() const { return static_cast<uint32_t>(size_); }
    bool is_one_machine() const;

    ggufx_status exchange(uint8_t *out, const uint8_t *in, const size_t *n_bytes,
                          const size_t *offsets, uint32_t timeout_ms, ggufx_error *error);
    ggufx_status broadcast(uint8_t *data, size_t n, uint32_t root, uint32_t timeout_ms,
                           ggufx_error *error);
    void abort(const ggufx_error &why);

private:
    // Pending messages of one call. Allocates only before the first message starts: its memory must
    // not move afterwards.
    struct Flight {
        std::vector<MPI_Request> requests;
        std::vector<MPI_Status> statuses;
        std::vector<int> peers; // peers of the requests; sends have -1 - rank
        std::vector<uint8_t> sent, received;

        void begin(size_t n_requests) {
            requests.clear();
            peers.clear();
            requests.reserve(n_requests);
            peers.reserve(n_requests);
            if (statuses.size() < n_requests) statuses.resize(n_requests);
        }
    };
    static size_t n_pieces(size_t n) { return n ? (n - 1) / kMostMessage + 1 : 1; }
    int send(Flight &flight, const uint8_t *data, size_t n, int peer);
    int receive(Flight &flight, uint8_t *data, size_t n, int peer);
    ggufx_status finish(int code, uint32_t timeout_ms, ggufx_error *error);
    ggufx_status wait(Flight &flight, uint32_t timeout_ms, ggufx_error *error);
    bool is_aborted(int by, ggufx_error *error);
    ggufx_status late(Flight &flight, uint32_t timeout_ms, ggufx_error *error);
    ggufx_status lost(Flight &flight, int code, ggufx_error *error) const;
    int missing(Flight &flight) const;
    const char *host(int rank) const { return hosts_.data() + rank * MPI_MAX_PROCESSOR_NAME; }

    const ggufx_mpi_options options_;
    const bool finalizes_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1, tag_ = 0;
    bool is_dead_ = false;
    std::vector<char> hosts_;
    std::unique_ptr<Flight> flight_; // buffers of the current call, reused by the next one
};

Group::~Group() {
    if (is_dead_) return; // messages may still be pending
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    if (finalizes_) MPI_Finalize();
}

int Group::open() {
    int code = MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(comm_, &rank_);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(comm_, &size_);
    if (code != MPI_SUCCESS) return code;
    char own[MPI_MAX_PROCESSOR_NAME] = "";
    int n = 0;
    code = MPI_Get_processor_name(own, &n);
    hosts_.resize(static_cast<size_t>(size_) * sizeof own);
    flight_ = std::make_unique<Flight>();
    if (code != MPI_SUCCESS) return code;
    return MPI_Allgather(own, sizeof own, MPI_CHAR, hosts_.data(), sizeof own, MPI_CHAR, comm_);
}

// Compares the host names of all ranks.
bool Group::is_one_machine() const {
    for (int i = 1; i < size_; i++)
        if (strcmp(host(i), host(0)) != 0) return false;
    return true;
}

// Splits longer messages into pieces, which stay in order.
int Group::send(Flight &flight, const uint8_t *data, size_t n, int peer) {
    int code = MPI_SUCCESS;
    for (size_t at = 0; code == MPI_SUCCESS && (at < n || at == 0); at += kMostMessage) {
        const int piece = static_cast<int>(std::min<size_t>(n - at, kMostMessage));
        flight.requests.emplace_back();
        flight.peers.push_back(-1 - peer);
        code = MPI_Isend(data + at, piece, MPI_BYTE, peer, tag_, comm_, &flight.requests.back());
    }
    return code;
}

int Group::receive(Flight &flight, uint8_t *data, size_t n, int peer) {
    int code = MPI_SUCCESS;
    for (size_t at = 0; code == MPI_SUCCESS && (at < n || at == 0); at += kMostMessage) {
        const int piece = static_cast<int>(std::min<size_t>(n - at, kMostMessage));
        flight.requests.emplace_back();
        flight.peers.push_back(peer);
        code = MPI_Irecv(data + at, piece, MPI_BYTE, peer, tag_, comm_, &flight.requests.back());
    }
    return code;
}

// Returns the first rank whose message has not arrived, else the first that has not received, else
// -1. Tests requests one by one: MPI_Testall does not tell which one is pending.
int Group::missing(Flight &flight) const {
    int found = -1;
    for (size_t i = 0; i < flight.requests.size(); i++) {
        int is_done = 0;
        if (MPI_Test(&flight.requests[i], &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done)
            continue;
        const int peer = flight.peers[i];
        if (peer >= 0) return peer;
        if (found < 0) found = -1 - peer;
    }
    return found;
}

// A rank that got all messages sent before a rank was lost waits one message later than others. It
// then waits for a rank that waits itself, times out at the same time, and aborts with the right
// reason: prefer that one.
ggufx_status Group::late(Flight &flight, uint32_t timeout_ms, ggufx_error *error) {
    const int rank = missing(flight);
    if (rank < 0) return GGUFX_OK; // it arrived in the meantime
    ggufx_error why = {};
    fail(&why, GGUFX_E_IO, static_cast<uint64_t>(rank), "rank %d (%s) did not answer within %.1f s",
         rank, host(rank), timeout_ms / 1000.0);
    abort(why);
    for (const auto end = Clock::now() + kAsLate; Clock::now() < end; sched_yield())
        if (is_aborted(rank, error)) return GGUFX_E_IO;
    return fail(error, GGUFX_E_IO, why.index, "%s", why.message);
}

ggufx_status Group::lost(Flight &flight, int code, ggufx_error *error) const {
    const int rank = missing(flight);
    if (rank < 0) return fail(error, GGUFX_E_IO, GGUFX_NONE, "%s", MpiText(code).text);
    return fail(error, GGUFX_E_IO, static_cast<uint64_t>(rank), "rank %d (%s) is lost: %s", rank,
                host(rank), MpiText(code).text);
}

// Receives the reason if another rank has aborted.
bool Group::is_aborted(int by, ggufx_error *error) {
    int there = 0;
    MPI_Status status;
    ggufx_error why = {};
    if (MPI_Iprobe(by, kAbortTag, comm_, &there, &status) != MPI_SUCCESS || !there) return false;
    if (MPI_Recv(&why, sizeof why, MPI_BYTE, status.MPI_SOURCE, kAbortTag, comm_, &status) !=
        MPI_SUCCESS)
        return false;
    why.message[sizeof why.message - 1] = 0;
    fail(error, GGUFX_E_IO, why.index, "%s", why.message);
    return true;
}

ggufx_status Group::wait(Flight &flight, uint32_t timeout_ms, ggufx_error *error) {
    const auto start = Clock::now(), end = start + std::chrono::milliseconds(timeout_ms);
    auto look = start + kLook, tell = start + std::chrono::seconds(1);
    const int n = static_cast<int>(flight.requests.size());
    bool is_patient = false;
    auto now = start;
    for (uint64_t spins = 1;; spins++) {
        int all = 0;
        const int code = MPI_Testall(n, flight.requests.data(), &all, flight.statuses.data());
        if (code != MPI_SUCCESS) return lost(flight, code, error);
        if (all) return GGUFX_OK;
        if (!is_patient && spins % kSpins) continue;
        const auto yields = Clock::now();
        if (is_patient)
            nap(yields - start);
        else
            sched_yield();
        now = Clock::now();
        is_patient = is_patient || now - yields >= kTaken || now - start >= kPatience;
        if (now >= look) {
            ggufx_error why = {};
            if (is_aborted(MPI_ANY_SOURCE, &why)) {
                // The aborting rank waits for this one, which is about to report the rank it waits
                // for.
                const bool is_blamed = why.index == static_cast<uint64_t>(rank_);
                if (is_blamed && end - now < kAsLate) return late(flight, timeout_ms, error);
                return fail(error, GGUFX_E_IO, why.index, "%s", why.message);
            }
            look = now + kLook;
        }
        if (now >= end) return late(flight, timeout_ms, error);
        if (now < tell) continue;
        tell = now + std::chrono::seconds(1);
        const int rank = missing(flight);
        if (rank < 0) return GGUFX_OK;
        const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - start);
        if (options_.waiting)
            options_.waiting(options_.user, static_cast<uint32_t>(rank), host(rank),
                             static_cast<uint32_t>(waited.count()));
    }
}

// Waits for the call's messages. code: result of the calls that started them. MPI keeps the buffers
// of a failed call.
ggufx_status Group::finish(int code, uint32_t timeout_ms, ggufx_error *error) {
    tag_ = (tag_ + 1) % kTags;
    const ggufx_status status = code == MPI_SUCCESS
                                    ? wait(*flight_, timeout_ms, error)
                                    : fail(error, GGUFX_E_IO, GGUFX_NONE, "%s", MpiText(code).text);
    if (status == GGUFX_OK) return status;
    is_dead_ = true;
    (void)flight_.release();
    return status;
}

ggufx_status Group::exchange(uint8_t *out, const uint8_t *in, const size_t *n_bytes,
                             const size_t *offsets, uint32_t timeout_ms, ggufx_error *error) {
    if (is_dead_)
        return fail(error, GGUFX_E_STATE, GGUFX_NONE, "the group lost a rank in an earlier call");
    Flight &flight = *flight_;
    size_t all = 0, n_requests = static_cast<size_t>(size_ - 1) * n_pieces(n_bytes[rank_]);
    for (int i = 0; i < size_; i++) {
        if (i == rank_) continue;
        all += n_bytes[i];
        n_requests += n_pieces(n_bytes[i]);
    }
    flight.begin(n_requests);
    if (flight.received.size() < all) flight.received.resize(all);
    flight.sent.assign(in, in + n_bytes[rank_]);
    int code = MPI_SUCCESS;
    size_t at = 0;
    for (int i = 0; i < size_ && code == MPI_SUCCESS; i++) {
        if (i == rank_) continue;
        code = receive(flight, flight.received.data() + at, n_bytes[i], i);
        at += n_bytes[i];
    }
    for (int i = 1; i < size_ && code == MPI_SUCCESS; i++) // ranks start with different peers
        code = send(flight, flight.sent.data(), n_bytes[rank_], (rank_ + i) % size_);
    const ggufx_status status = finish(code, timeout_ms, error);
    if (status != GGUFX_OK) return status;
    memcpy(out + offsets[rank_], in, n_bytes[rank_]);
    at = 0;
    for (int i = 0; i < size_; i++) {
        if (i == rank_) continue;
        memcpy(out + offsets[i], flight.received.data() + at, n_bytes[i]);
        at += n_bytes[i];
    }
    return status;
}

ggufx_status Group::broadcast(uint8_t *data, size_t n, uint32_t root, uint32_t timeout_ms,
                              ggufx_error *error) {
    if (is_dead_)
        return fail(error, GGUFX_E_STATE, GGUFX_NONE, "the group lost a rank in an earlier call");
    Flight &flight = *flight_;
    flight.begin(static_cast<size_t>(size_) * n_pieces(n));
    flight.sent.assign(data, data + n);
    int code = MPI_SUCCESS;
    if (root == rank()) {
        for (int i = 1; i < size_ && code == MPI_SUCCESS; i++)
            code = send(flight, flight.sent.data(), n, (rank_ + i) % size_);
    } else {
        code = receive(flight, flight.sent.data(), n, static_cast<int>(root));
    }
    const ggufx_status status = finish(code, timeout_ms, error);
    if (status != GGUFX_OK) return status;
    memcpy(data, flight.sent.data(), n);
    return status;
}

// Sends the reason to all other ranks. A rank that does not receive it within 200 ms is considered
// lost.
void Group::abort(const ggufx_error &why) {
    is_dead_ = true; // MPI keeps the copy
    auto *const copy = new (std::nothrow) ggufx_error(why);
    std::vector<MPI_Request> requests;
    requests.reserve(static_cast<size_t>(size_));
    for (int i = 0; copy && i < size_; i++) {
        if (i == rank_) continue;
        requests.push_back(MPI_REQUEST_NULL);
        if (MPI_Isend(copy, sizeof *copy, MPI_BYTE, i, kAbortTag, comm_, &requests.back()) !=
            MPI_SUCCESS)
            requests.pop_back();
    }
    const auto end = Clock::now() + std::chrono::milliseconds(200);
    int all = 0;
    while (!all && Clock::now() < end) {
        if (MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all,
                        MPI_STATUSES_IGNORE) != MPI_SUCCESS)
            break;
        sched_yield();
    }
}

Group &group_of(void *user) {
    return *static_cast<Group *>(user);
}

// Converts std::bad_alloc into GGUFX_E_MEMORY.
template <class Fn> ggufx_status guarded(ggufx_error *error, const Fn &fn) {
    try {
        return fn();
    } catch (const std::bad_alloc &) {
        return fail(error, GGUFX_E_MEMORY, GGUFX_NONE, "there is no memory for a message");
    }
}

ggufx_status allgatherv(void *user, void *out, const void *in, const size_t *n_bytes,
                        const size_t *offsets, uint32_t timeout_ms, ggufx_error *error) {
    return guarded(error, [&] {
        return group_of(user).exchange(static_cast<uint8_t *>(out),
                                       static_cast<const uint8_t *>(in), n_bytes, offsets,
                                       timeout_ms, error);
    });
}

ggufx_status allgather(void *user, void *out, const void *in, size_t n, uint32_t timeout_ms,
                       ggufx_error *error) {
    return guarded(error, [&] {
        const size_t size = group_of(user).size();
        std::vector<size_t> n_bytes(size, n), offsets(size);
        for (size_t i = 0; i < size; i++) offsets[i] = i * n;
        return group_of(user).exchange(static_cast<uint8_t *>(out),
                                       static_cast<const uint8_t *>(in), n_bytes.data(),
                                       offsets.data(), timeout_ms, error);
    });
}

ggufx_status broadcast(void *user, void *data, size_t n, uint32_t root, uint32_t timeout_ms,
                       ggufx_error *error) {
    return guarded(error, [&] {
        return group_of(user).broadcast(static_cast<uint8_t *>(data), n, root, timeout_ms, error);
    });
}

ggufx_status barrier(void *user, uint32_t timeout_ms, ggufx_error *error) {
    uint8_t nothing = 0;
    return allgather(user, &nothing, &nothing, 0, timeout_ms, error);
}

void give_up(void *user, const ggufx_error *why) {
    try {
        group_of(user).abort(*why);
    } catch (const std::bad_alloc &) {
        // no memory to notify the ranks: their timeouts expire
    }
}

void destroy(void *user) {
    delete static_cast<Group *>(user);
}

} // namespace

extern "C" void ggufx_mpi_options_init(ggufx_mpi_options *options) {
    if (!options) return;
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

extern "C" ggufx_status ggufx_mpi_group(ggufx_group *out, const ggufx_mpi_options *options,
                                        ggufx_error *error) {
    ggufx_mpi_options how = {};
    if (!out) return fail(error, GGUFX_E_ARGUMENT, GGUFX_NONE, "out must be set");
    if (options) {
        if (options->struct_size != sizeof how || options->flags || options->next ||
            options->reserved[0] || options->reserved[1])
            return fail(
                error, GGUFX_E_ARGUMENT, GGUFX_NONE,
                "ggufx_mpi_options: struct_size is wrong, or flags, next or reserved are not 0");
        how = *options;
    }
    int is_initialized = 0, code = MPI_Initialized(&is_initialized), provided = 0;
    if (code == MPI_SUCCESS && is_initialized)
        code = MPI_Query_thread(&provided);
    else if (code == MPI_SUCCESS)
        code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    if (code != MPI_SUCCESS) return fail(error, GGUFX_E_IO, GGUFX_NONE, "%s", MpiText(code).text);
    if (provided < MPI_THREAD_SERIALIZED)
        return fail(error, GGUFX_E_UNSUPPORTED, GGUFX_NONE,
                    "this MPI takes calls of one thread only (level %d)", provided);
    return guarded(error, [&] {
        auto group = std::make_unique<Group>(how, !is_initialized);
        const int opened = group->open();
        if (opened != MPI_SUCCESS)
            return fail(error, GGUFX_E_IO, GGUFX_NONE, "%s", MpiText(opened).text);
        memset(out, 0, sizeof *out);
        out->struct_size = sizeof *out;
        out->flags = group->is_one_machine() ? GGUFX_GROUP_SHARED_MEMORY : 0;
        out->rank = group->rank();
        out->size = group->size();
        out->allgather = allgather;
        out->allgatherv = allgatherv;
        out->broadcast = broadcast;
        out->barrier = barrier;
        out->abort = give_up;
        out->destroy = destroy;
        out->user = group.release();
        return ggufx_status{GGUFX_OK};
    });
}
