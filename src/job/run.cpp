// Runs of a quantization: converts and writes its parts.
// SPDX-License-Identifier: MIT
#include "base/file_set.hpp"
#include "base/fpenv.hpp"
#include "job/quantize.hpp"

#include <inttypes.h>
#include <time.h>

#include <exception>
#include <utility>

namespace ggufx::job {

namespace {

timespec now() {
    timespec t = {};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t;
}

double seconds_since(const timespec &begin) {
    const CanonicalFp canonical;
    const timespec end = now();
    return pinned(static_cast<double>(end.tv_sec - begin.tv_sec) +
                  static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9);
}

} // namespace

class Run {
public:
    Run(Quantization &job, const matmul::Engine &engine, const RunOptions &options)
        : job_(job), options_(options), converter_(engine, job.host(), job.plan().options().best),
          parts_(job.make_parts()), drafts_(HostAllocator<io::ResumableFile *>(job.host().get())),
          set_(job.host()) {
        drafts_.reserve(parts_.size());
        for (const PlannedTensor &t : job.plan().tensors()) work_ += t.source.n_bytes;
    }
    ~Run() {
        for (io::ResumableFile *draft : drafts_) unmake(*job_.host(), draft);
    }

    void write(const char *path);
    void finish(const char *path);

private:
    io::ResumableFile &open_draft(const char *path, size_t part, io::ResumableFile::Mode mode);
    void write_part(size_t part, io::ResumableFile &draft, Journal &journal);
    void verify(size_t part, io::ResumableFile &draft, Journal &journal, bool all);
    void seal(size_t part, io::ResumableFile &draft);
    void publish();
    void settle(const Failure &failure);
    void write_all(const char *path);
    bool mine(const PlannedTensor &tensor);
    uint64_t write_tensor(PlannedTensor &tensor, uint64_t at, io::ResumableFile &draft);
    uint64_t copy_tensor(const gguf::Tensor &tensor, uint64_t at, io::ResumableFile &draft);
    class Writing;
    class Store;
    void count_written(const OutputPart &part, const Journal &journal);
    void make_blocks(io::ResumableFile &draft, Journal &journal);
    uint64_t convert_tensor(PlannedTensor &tensor, uint64_t at, io::ResumableFile &draft);
    void release_input(const gguf::Tensor &t, uint64_t first, uint64_t n) const;
    void tensor_done(size_t index) const;
    void poll() const;

    Quantization &job_;
    const RunOptions &options_;
    Converter converter_;
    Vector<OutputPart> parts_;
    Vector<io::ResumableFile *> drafts_;
    io::FileSet set_;              // used if the output has several files
    uint64_t work_ = 0, done_ = 0; // input bytes
    uint64_t before_ = 0;          // input bytes of the tensors passed to mine()
};

void Run::poll() const {
    if (options_.progress.cancelled(done_, work_))
        fail(Status::cancelled, {},
             "the quantization was cancelled after %" PRIu64 " of %" PRIu64 " bytes of input",
             done_, work_);
}

// Drops used pages of a memory-mapped input, which otherwise count as resident memory.
void Run::release_input(const gguf::Tensor &t, uint64_t first, uint64_t n) const {
    const io::Mapping &mapping = job_.plan().file().part(t.part).mapping;
    const auto data = reinterpret_cast<uintptr_t>(t.data),
               begin = reinterpret_cast<uintptr_t>(mapping.data());
    // Data that were read or swapped are in a buffer and would be lost.
    const bool mapped = data >= begin && data - begin <= mapping.size() &&
                        t.n_bytes <= mapping.size() - (data - begin);
    if (mapping.paged() && mapped) io::release_pages(t.data + first, static_cast<size_t>(n));
}

uint64_t Run::copy_tensor(const gguf::Tensor &t, uint64_t at, io::ResumableFile &draft) {
    if (t.n_bytes > 0 && !t.data)
        fail(Status::unsupported, {},
             "tensor \"%s\": its data are not in memory (opened for "
             "metadata only?)",
             Quoted(t.name).c_str());
    Checksum sum;
    for (uint64_t from = 0; from < t.n_bytes; from += io::kChunk) {
        const uint64_t left = t.n_bytes - from;
        const auto n = static_cast<size_t>(left < io::kChunk ? left : io::kChunk);
        draft.write_at(at + from, t.data + from, n);
        sum.add(t.data + from, n);
        done_ += n;
        poll();
        release_input(t, from, n);
    }
    return sum.value();
}

// Writes blocks to the temporary file while the next ones are computed: computing threads do not
// wait for the disk or for the writing thread.
class Run::Writing {
public:
    Writing(const Run &run, uint64_t at, io::ResumableFile &draft)
        : run_(run), at_(at), draft_(draft) {}

    const Aside *aside() const { return &aside_; }
    // Sets the blocks to write next; the previous ones have been written.
    void take(const Converted &blocks) { blocks_ = blocks; }
    // Writes the blocks unless that is done. Throws the error of this or an earlier write.
    void finish() {
        work(this);
        rethrow();
    }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }
    uint64_t sum() const { return sum_.value(); }

private:
    static bool work(void *self) {
        auto *writing = static_cast<Writing *>(self);
        try {
            writing->write(std::exchange(writing->blocks_, {}));
        } catch (...) { writing->failure_ = std::current_exception(); }
        return !writing->failure_;
    }
    void write(const Converted &blocks) {
        for (size_t i = 0; i < blocks.n_bytes; i += io::kChunk) {
            const size_t rest = blocks.n_bytes - i;
            draft_.write_at(at_ + blocks.offset + i, blocks.bytes + i,
                            rest < io::kChunk ? rest : io::kChunk);
            run_.poll();
        }
        sum_.add(blocks.bytes, blocks.n_bytes);
    }

    const Run &run_;
    const uint64_t at_;
    io::ResumableFile &draft_;
    const Aside aside_{this, work};
    Converted blocks_ = {};
    Checksum sum_;
    std::exception_ptr failure_;
};

uint64_t Run::convert_tensor(PlannedTensor &tensor, uint64_t at, io::ResumableFile &draft) {
    const gguf::Tensor &t = tensor.source;
    converter_.begin(t, tensor.choice.type, tensor.weights, options_.measure);
    Writing writing(*this, at, draft);
    for (uint64_t row = 0; row < t.n_rows;) {
        Converted out = {};
        const uint64_t n = converter_.at_once(row, t.n_rows - row);
        Piece piece = {options_.progress, done_, n * t.row_bytes, work_};
        try {
            converter_.convert(&out, row, n, piece.progress(), writing.aside());
        } catch (...) {
            writing.rethrow(); // a write error ended the loop, or came first
            throw;
        }
        done_ += n * t.row_bytes;
        writing.finish();
        writing.take(out);
        release_input(t, row * t.row_bytes, n * t.row_bytes);
        row += n;
    }
    writing.finish();
    if (options_.measure) tensor.rmse = converter_.rmse();
    return writing.sum();
}

// The file of a run as a maker of blocks sees it.
class Run::Store final : public BlockStore {
public:
    Store(Run &run, io::ResumableFile &draft, Journal &journal)
        : run_(run), draft_(draft), journal_(journal) {}

    bool has(size_t index) const override { return journal_.has(index); }
    void poll() const override { run_.poll(); }
    void read(size_t index, uint8_t *blocks) override {
        const PlannedTensor &t = tensor(index);
        for (uint64_t at = 0; at < t.n_bytes; at += io::kChunk)
            draft_.read_at(offset(index) + at, blocks + at, chunk(t, at));
    }
    void write(size_t index, const uint8_t *blocks, const OutputErrors &errors) override {
        PlannedTensor &t = tensor(index);
        Checksum sum;
        for (uint64_t at = 0; at < t.n_bytes; at += io::kChunk)
            draft_.write_at(offset(index) + at, blocks + at, chunk(t, at));
        sum.add(blocks, static_cast<size_t>(t.n_bytes));
        t.errors = errors;
        t.seconds = seconds_since(begin_);
        journal_.note(index, sum.value());
        run_.done_ += t.source.n_bytes;
        run_.tensor_done(index);
        begin_ = now();
    }

private:
    PlannedTensor &tensor(size_t index) const { return run_.job_.plan_.tensors()[index]; }
    uint64_t offset(size_t index) const { return run_.parts_[0].offsets[index]; }
    static size_t chunk(const PlannedTensor &t, uint64_t at) {
        return static_cast<size_t>(t.n_bytes - at < io::kChunk ? t.n_bytes - at : io::kChunk);
    }

    Run &run_;
    io::ResumableFile &draft_;
    Journal &journal_;
    timespec begin_ = now();
};

// Reports a complete tensor to the host, which may end the run.
void Run::tensor_done(size_t index) const {
    const int32_t result = options_.tensor_done ? options_.tensor_done(options_.user, index) : 0;
    if (result != 0)
        fail(ended_by_host(result), {.index = index}, "the tensor_done callback ended the run");
    poll();
}

void Run::make_blocks(io::ResumableFile &draft, Journal &journal) {
    Store store(*this, draft, journal);
    options_.maker->make_blocks(store);
}

uint64_t Run::write_tensor(PlannedTensor &tensor, uint64_t at, io::ResumableFile &draft) {
    const timespec begin = now();
    tensor.rmse = -1;
    const uint64_t sum =
        tensor.copies() ? copy_tensor(tensor.source, at, draft) : convert_tensor(tensor, at, draft);
    if (options_.measure && tensor.copies()) tensor.rmse = 0;
    tensor.seconds = seconds_since(begin);
    return sum;
}

// Returns whether a tensor belongs to this shard. Shards are consecutive tensors, partitioned by
// input bytes. Must be called for the tensors in order.
bool Run::mine(const PlannedTensor &tensor) {
    if (options_.n_shards == 0) return true;
    const CanonicalFp canonical; // all shards must agree
    const double middle = static_cast<double>(pinned(before_)) +
                          static_cast<double>(pinned(tensor.source.n_bytes)) / 2;
    before_ += tensor.source.n_bytes;
    const double all = static_cast<double>(pinned(work_)), share = all > 0 ? middle / all : 0;
    const auto shard = pinned(static_cast<uint32_t>(share * options_.n_shards));
    return shard + 1 == options_.shard;
}

// Counts the tensors that earlier runs have written.
void Run::count_written(const OutputPart &part, const Journal &journal) {
    for (size_t i = 0; i < part.n_tensors; i++) {
        if (!journal.has(i)) continue;
        done_ += job_.plan().tensors()[part.first + i].source.n_bytes;
        poll();
    }
}

void Run::write_part(size_t number, io::ResumableFile &draft, Journal &journal) {
    const OutputPart &part = parts_[number];
    for (size_t i = 0; i < part.n_tensors; i++) {
        const size_t index = part.first + i;
        PlannedTensor &tensor = job_.plan_.tensors()[index];
        const bool is_mine = mine(tensor);
        if (journal.has(i)) continue; // is counted
        if (!is_mine) {
            done_ += tensor.source.n_bytes;
            poll();
            continue;
        }
        journal.note(i, write_tensor(tensor, part.offsets[i], draft));
        tensor_done(index);
    }
}

// Opens the temporary file of a part. The first part's lock serves the whole set.
io::ResumableFile &Run::open_draft(const char *path, size_t part, io::ResumableFile::Mode mode) {
    using Mode = io::ResumableFile::Mode;
    const auto name_of = [&](size_t i) { return job_.part_path(path, i); };
    for (size_t i = 0; i < parts_.size() && part == 0 && parts_.size() > 1; i++) {
        const Vector<char> name = name_of(i);
        set_.add({name.data(), name.size()});
    }
    io::PartOptions options;
    options.keep_old = job_.plan().options().keep_old && (part > 0 || set_.size() == 0);
    uint64_t n_more = 0;
    for (size_t i = 1; i < parts_.size() && part == 0 && mode == Mode::fresh; i++)
        n_more += parts_[i].n_bytes;
    const Vector<char> name = name_of(part);
    options.own_name = std::string_view(name.data(), name.size()) != path;
    drafts_.push_back(make<io::ResumableFile>(*job_.host(), job_.host(),
                                              std::string_view(name.data(), name.size()), options));
    drafts_.back()->open(mode, parts_[part].n_bytes, n_more);
    if (part == 0 && set_.size() > 0) {
        if (mode != Mode::join) set_.recover();
        if (job_.plan().options().keep_old) set_.require_free();
    }
    return *drafts_.back();
}

void Run::seal(size_t part, io::ResumableFile &draft) {
    draft.write_at(0, parts_[part].head.data(), parts_[part].head.size());
    draft.sync();
}

// Renames the first part last: a reader that finds it finds the others.
void Run::publish() {
    if (set_.size() > 0) set_.set_aside();
    try {
        for (size_t i = drafts_.size(); i > 0; i--) drafts_[i - 1]->publish();
    } catch (...) {
        if (set_.size() > 0) set_.put_back();
        throw;
    }
    drafts_[0]->sync_folder();
    if (set_.size() > 0) set_.forget();
}

// Keeps or deletes all temporary files after a failed run.
void Run::settle(const Failure &failure) {
    const auto status = static_cast<Status>(failure.status);
    const bool foreign = status == Status::mismatch || status == Status::state;
    const bool resumable = status == Status::cancelled || status == Status::io;
    bool begun = done_ > 0; // else there is nothing to resume
    for (const io::ResumableFile *draft : drafts_) begun = begun || draft->n_begun() > 0;
    if (options_.n_shards > 0 || foreign || (options_.keep && resumable && begun)) return;
    for (io::ResumableFile *draft : drafts_) draft->discard_on_close();
}

void Run::write_all(const char *path) {
    using Mode = io::ResumableFile::Mode;
    const bool shard = options_.n_shards > 0;
    for (size_t i = 0; i < parts_.size(); i++) {
        io::ResumableFile &draft = open_draft(path, i,
                                              shard             ? Mode::join
                                              : options_.resume ? Mode::resume
                                                                : Mode::fresh);
        Journal journal(job_.host(), draft, parts_[i].n_tensors);
        journal.open(job_.fingerprint(parts_[i]), !shard);
        verify(i, draft, journal, false);
        count_written(parts_[i], journal);
        if (options_.maker) make_blocks(draft, journal);
        write_part(i, draft, journal);
        if (!shard) seal(i, draft);
    }
    if (!shard) publish();
}

void Run::write(const char *path) {
    poll();
    try {
        write_all(path);
    } catch (const Error &error) {
        settle(error.failure);
        throw;
    } catch (...) {
        settle({});
        throw;
    }
}

void Run::finish(const char *path) {
    for (size_t i = 0; i < parts_.size(); i++) {
        io::ResumableFile &draft = open_draft(path, i, io::ResumableFile::Mode::finish);
        Journal journal(job_.host(), draft, parts_[i].n_tensors);
        journal.open(job_.fingerprint(parts_[i]), true);
        verify(i, draft, journal, true);
        seal(i, draft);
    }
    publish();
}

// Compares written tensors with their checksums. Tensors that differ are written again, or with
// `all` throw state.
void Run::verify(size_t number, io::ResumableFile &draft, Journal &journal, bool all) {
    const OutputPart &part = parts_[number];
    Buffer bytes;
    for (size_t i = 0; i < part.n_tensors; i++) {
        const PlannedTensor &t = job_.plan().tensors()[part.first + i];
        if (!journal.has(i)) {
            if (all)
                fail(Status::state, {.index = part.first + i},
                     "tensor \"%s\" is not written yet: a shard has not finished",
                     Quoted(t.source.name).c_str());
            continue;
        }
        if (bytes.size() == 0) bytes = Buffer(job_.host(), io::kChunk);
        Checksum sum;
        for (uint64_t at = 0; at < t.n_bytes; at += io::kChunk) {
            const uint64_t left = t.n_bytes - at;
            const auto n = static_cast<size_t>(left < io::kChunk ? left : io::kChunk);
            draft.read_at(part.offsets[i] + at, bytes.data(), n);
            sum.add(bytes.data(), n);
            poll();
        }
        if (sum.value() == journal.checksum(i)) continue;
        if (all)
            fail(Status::state, {.index = part.first + i},
                 "tensor \"%s\" was damaged in the file: run its shard again",
                 Quoted(t.source.name).c_str());
        journal.forget(i);
    }
}

void Quantization::run(const matmul::Engine &engine, const char *path, const RunOptions &options) {
    if (plan_.file().metadata_only())
        fail(Status::unsupported, {}, "the file was opened for metadata only");
    if (options.maker && (n_parts() > 1 || options.n_shards > 0))
        fail(Status::unsupported, {},
             "feedback writes one file by one process: without KEEP_SPLIT and shards");
    plan_.require_weights();
    Run(*this, engine, options).write(path);
}

void Quantization::finish(const matmul::Engine &engine, const char *path,
                          const Progress &progress) {
    RunOptions options;
    options.progress = progress;
    Run(*this, engine, options).finish(path);
}

} // namespace ggufx::job
