// ggufx imatrix collect: computes the importance matrix of a model over a text, saved periodically.
// SPDX-License-Identifier: MIT
#include "common/input_file.hpp"
#include "common/json.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"
#include "models/rewrite.hpp"
#include "models/shards.hpp"
#include "models/text_model.hpp"
#include "quantize/imatrix.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct CollectOptions {
    TextOptions text;
    std::string to, dataset;
    uint32_t n_context = 512;
    uint64_t chunks = 0; // 0 = all
    uint64_t save_every = 64;
    bool resume = false, with_output = false;
    ShardOptions shards;
};

// Collects over a text chunk by chunk; over a shard of it into a file next to its part.
class Collection {
public:
    Collection(const Globals &globals, const CollectOptions &options);
    int run();

private:
    void collect();
    bool merge();
    void print();
    void resume();
    void add(uint64_t n_chunks);
    void save(int32_t how);
    Json job() const;
    Json result() const { return {{"chunks", n_chunks_}, {"file", json_bytes(base_name(to_))}}; }
    [[noreturn]] void interrupted() const;
    static int32_t report(void *self, uint64_t done, uint64_t total);

    const Globals &globals_;
    const CollectOptions &options_;
    const TextModel model_;
    const uint64_t all_chunks_, first_chunk_, n_chunks_; // chunks of the text, those of the shard
    const Parts parts_;
    const std::string to_;
    Imatrix made_;
    uint64_t done_ = 0, saved_ = 0; // chunks
    bool is_ours_ = false;          // this run wrote the file
    Progress progress_;
};

} // namespace

static std::string dataset_name(const CollectOptions &options) {
    if (!options.dataset.empty()) return options.dataset;
    return std::filesystem::path(options.text.text).filename().string();
}

static int32_t format_of(const std::string &path) {
    return path.ends_with(".dat") ? GGUFX_IMATRIX_DAT : GGUFX_IMATRIX_GGUF;
}

// Returns the imatrix file of a shard, which its part names.
static std::string file_of(const CollectOptions &options, const Share &share) {
    return share.whole() ? options.to : Parts::path_of(options.shards.parts, share) + ".gguf";
}

static uint64_t share_size(const Share &share, uint64_t n) {
    return share.end(n) - share.first(n);
}

Collection::Collection(const Globals &globals, const CollectOptions &options)
    : globals_(globals), options_(options), model_(load_text_model(globals, options.text)),
      all_chunks_(count_chunks(model_, options.n_context, options.chunks)),
      first_chunk_(options.shards.share.first(all_chunks_)),
      n_chunks_(share_size(options.shards.share, all_chunks_)),
      parts_(globals, options.shards, "imatrix collect", job()),
      to_(file_of(options, options.shards.share)), progress_(globals, "imatrix") {}

Json Collection::job() const {
    Json job = text_job(model_);
    job.update(Json{{"ctx", options_.n_context},
                    {"chunks", all_chunks_},
                    {"dataset", json_bytes(dataset_name(options_))},
                    {"output_matrix", options_.with_output}});
    return job;
}

// Continues an existing file, which must have the same chunk size and dataset name as this run.
void Collection::resume() {
    if (format_of(to_) == GGUFX_IMATRIX_DAT)
        throw Failure(kUsage,
                      "--resume: a .dat file does not keep its sums; collect into a GGUF file");
    std::error_code ignored;
    if (!std::filesystem::exists(to_, ignored)) return;
    made_ = open_imatrix(globals_, model_.rt.get(), to_);
    const ggufx_imatrix_facts facts = imatrix_facts(made_.get());
    const std::string name = dataset_name(options_);
    const std::vector<std::string> names = imatrix_datasets(made_.get());
    if (facts.chunk_tokens != options_.n_context || names != std::vector<std::string>{name})
        throw Failure(kCheckFailed, fmt::format("--resume: {} is of chunks of {} tokens of \"{}\", "
                                                "not of {} of \"{}\"",
                                                escape(to_), facts.chunk_tokens,
                                                names.empty() ? "" : escape(names[0]),
                                                options_.n_context, escape(name)));
    if (facts.n_chunks > n_chunks_)
        throw Failure(kCheckFailed, fmt::format("--resume: {} has {} chunks, the text {}",
                                                escape(to_), facts.n_chunks, n_chunks_));
    done_ = saved_ = facts.n_chunks;
    is_ours_ = true;
}

int32_t Collection::report(void *self, uint64_t done, uint64_t) {
    auto *of = static_cast<Collection *>(self);
    const uint64_t chunk = of->done_ + done / of->options_.n_context;
    of->progress_.update(
        of->done_ * of->options_.n_context + done, of->n_chunks_ * of->options_.n_context,
        fmt::format("chunk {} of {}", std::min(chunk + 1, of->n_chunks_), of->n_chunks_));
    return pending_signal() != 0;
}

void Collection::interrupted() const {
    throw Failure(
        128 + pending_signal(),
        saved_ == 0
            ? "interrupted before anything was saved"
            : fmt::format("interrupted; {} chunks of {} are in {} (use --resume to continue)",
                          saved_, n_chunks_, escape(to_)));
}

void Collection::add(uint64_t n_chunks) {
    const Session session = make_session(model_.rt.get(), model_.file.get(), model_.model.get(),
                                         options_.n_context, GGUFX_TYPE_F32, GGUFX_TYPE_F32);
    const std::string dataset = dataset_name(options_);
    ggufx_progress hook = {report, this};
    auto how = sized<ggufx_imatrix_options>();
    how.flags = options_.with_output ? GGUFX_IMATRIX_OUTPUT : 0;
    how.dataset = dataset.c_str();
    how.progress = &hook;
    ggufx_imatrix *part = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_imatrix_create(
        &part, session.get(), model_.ids.data() + (first_chunk_ + done_) * options_.n_context,
        static_cast<size_t>(n_chunks * options_.n_context), options_.n_context, model_.first, &how,
        &error);
    if (status == GGUFX_E_CANCELLED) interrupted();
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    Imatrix added(part);
    done_ += n_chunks;
    if (!made_)
        made_ = std::move(added);
    else
        call([&](ggufx_error *e) { return ggufx_imatrix_merge(made_.get(), added.get(), e); });
}

// Writes the file; later calls replace the one that this run wrote first.
void Collection::save(int32_t how) {
    const int32_t keep = globals_.force || is_ours_ ? 0 : GGUFX_IMATRIX_NO_REPLACE;
    call_to_write([&](ggufx_error *error) {
        return ggufx_imatrix_write(made_.get(), to_.c_str(), how | keep, nullptr, error);
    });
    saved_ = done_;
    is_ours_ = true;
}

// Unfinished files keep exact sums, so that resuming or merging changes no bit.
void Collection::collect() {
    if (options_.resume)
        resume();
    else
        require_target(globals_, to_);
    while (done_ < n_chunks_) {
        add(std::min(options_.save_every, n_chunks_ - done_));
        const bool ends = done_ == n_chunks_ && options_.shards.share.whole();
        const int32_t format = format_of(to_);
        save(ends || format == GGUFX_IMATRIX_DAT ? format : format | GGUFX_IMATRIX_EXACT);
        if (done_ < n_chunks_ && pending_signal() != 0) interrupted();
    }
}

// Returns false if parts are missing.
bool Collection::merge() {
    require_target(globals_, to_);
    const std::optional<std::vector<Json>> results = parts_.read();
    if (!results) return false;
    const auto n = static_cast<uint32_t>(results->size());
    for (uint32_t i = 1; i <= n; i++) {
        const Share share = {i, n};
        if (share_size(share, all_chunks_) == 0) continue; // more shards than chunks
        const std::string path = file_of(options_, share);
        Imatrix part = open_imatrix(globals_, model_.rt.get(), path);
        if (imatrix_facts(part.get()).n_chunks != share_size(share, all_chunks_))
            throw Failure(kCheckFailed, fmt::format("{} has {} chunks, not {}", escape(path),
                                                    imatrix_facts(part.get()).n_chunks,
                                                    share_size(share, all_chunks_)));
        if (!made_)
            made_ = std::move(part);
        else
            call([&](ggufx_error *e) { return ggufx_imatrix_merge(made_.get(), part.get(), e); });
    }
    save(format_of(to_));
    return true;
}

int Collection::run() {
    const bool is_share = !options_.shards.share.whole();
    if (is_share && parts_.is_done()) return kOk;
    if (options_.shards.merge) {
        if (!merge()) return kCheckFailed;
    } else {
        collect();
    }
    if (is_share)
        parts_.write(result());
    else
        print();
    return kOk;
}

void Collection::print() {
    const ggufx_imatrix_facts facts = imatrix_facts(made_.get());
    Output out(globals_);
    if (globals_.json) {
        Json value = json_object();
        value.update(Json{{"output", json_bytes(to_)},
                          {"entries", facts.n_entries},
                          {"chunks", facts.n_chunks},
                          {"chunk_tokens", facts.chunk_tokens}});
        print_json(out, value);
    } else if (!globals_.quiet) {
        out.write(fmt::format("{}: {} entries, {} chunks of {} tokens\n", escape(to_),
                              facts.n_entries, facts.n_chunks, facts.chunk_tokens));
    }
    out.finish();
}

void add_imatrix_collect(Tool &tool, Command group) {
    auto options = std::make_shared<CollectOptions>();
    Command sub = group.add_command("collect", "compute an importance matrix of a model on a text");
    add_text_options(sub, options->text);
    sub.option("--to", options->to, "file to write; NAME.dat gets the older format").value("FILE");
    sub.option("--ctx", options->n_context, "tokens per chunk (default 512)").between(4u, 1u << 24);
    sub.option("--chunks", options->chunks, "maximum number of chunks (default all)");
    sub.option("--dataset", options->dataset,
               "name of the text in the file (default the name of the text file)")
        .value("NAME");
    sub.option("--save-every", options->save_every,
               "number of chunks between two writes (default 64)")
        .between(uint64_t{1}, uint64_t{1} << 32);
    sub.flag("--resume", options->resume, "continue after the chunks that the file has");
    sub.flag("--output-matrix", options->with_output, "include the output matrix");
    add_shard_options(sub, options->shards);
    sub.examples("  ggufx imatrix collect model.gguf -f text.txt --to model.imatrix.gguf\n"
                 "  ggufx imatrix collect model.gguf -f text.txt --parts im --shard 2/8\n"
                 "  ggufx imatrix collect model.gguf -f text.txt --parts im --merge --to im.gguf");
    tool.verbs.emplace_back(sub, [&tool, options] {
        complete_options(options->shards);
        if (options->to.empty() && options->shards.share.whole())
            throw Failure(kUsage, "--to is required");
        return Collection(tool.globals, *options).run();
    });
}

} // namespace ggufx::cli
