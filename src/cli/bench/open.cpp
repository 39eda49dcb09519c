// ggufx bench open: time and heap of a metadata-only open of a file with a large vocabulary.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "bench/counting.hpp"
#include "common/json.hpp"
#include "common/signals.hpp"
#include "common/timing.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

struct OpenOptions {
    uint64_t tokens = 262144;
    unsigned repeats = 20;
    std::string file; // instead of a generated one
};

} // namespace

namespace {

// Writes little-endian fields of a GGUF file.
class Bytes {
public:
    void number(uint64_t value, int n_bytes) {
        for (int i = 0; i < n_bytes; i++) text_ += static_cast<char>(value >> 8 * i & 0xff);
    }
    void string(std::string_view text) {
        number(text.size(), 8);
        text_ += text;
    }
    void array(std::string_view key, uint32_t element_type, uint64_t n) {
        string(key);
        number(GGUFX_VALUE_ARRAY, 4);
        number(element_type, 4);
        number(n, 8);
    }
    const std::string &text() const { return text_; }

private:
    std::string text_ = "GGUF";
};

} // namespace

// Returns a vocabulary-only file: tokens, scores and types, as converters write them.
static std::string vocabulary_file(uint64_t n_tokens) {
    Bytes file;
    file.number(3, 4);
    file.number(0, 8); // tensors
    file.number(4, 8); // keys
    file.string("general.architecture");
    file.number(GGUFX_VALUE_STRING, 4);
    file.string("llama");
    file.array("tokenizer.ggml.tokens", GGUFX_VALUE_STRING, n_tokens);
    for (uint64_t i = 0; i < n_tokens; i++) file.string(fmt::format("token{}", i));
    file.array("tokenizer.ggml.scores", GGUFX_VALUE_F32, n_tokens);
    for (uint64_t i = 0; i < n_tokens; i++) file.number(0xc0000000u, 4);
    file.array("tokenizer.ggml.token_type", GGUFX_VALUE_I32, n_tokens);
    for (uint64_t i = 0; i < n_tokens; i++) file.number(1, 4);
    return file.text();
}

namespace {

// A generated file in the temporary folder, removed at the end.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string &content) {
        const char *folder = std::getenv("TMPDIR");
        path_ = std::string(folder && *folder ? folder : "/tmp") + "/ggufx-bench-XXXXXX";
        const int fd = mkstemp(path_.data());
        if (fd < 0) throw Failure(kRuntimeError, "cannot create \"" + path_ + "\"");
        size_t done = 0;
        while (done < content.size()) {
            const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
            if (n <= 0) break;
            done += static_cast<size_t>(n);
        }
        close(fd);
        if (done == content.size()) return;
        unlink(path_.c_str());
        throw Failure(kRuntimeError, "cannot write \"" + path_ + "\": " + std::strerror(errno));
    }
    ~TemporaryFile() { unlink(path_.c_str()); }
    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;
    const std::string &path() const { return path_; }

private:
    std::string path_;
};

} // namespace

static int bench_open(const Globals &globals, const OpenOptions &options) {
    std::optional<TemporaryFile> generated;
    if (options.file.empty()) generated.emplace(vocabulary_file(options.tokens));
    const std::string path = generated ? generated->path() : options.file;

    Counter counter;
    const Runtime rt = counting_runtime(counter);
    const uint64_t before = counter.now;
    std::vector<double> times;
    uint64_t peak = 0;
    uint64_t allocations = 0;
    uint64_t kept = 0;
    uint64_t file_bytes = 0;
    for (unsigned r = 0; r < options.repeats; r++) {
        check_interrupt();
        counter.peak = counter.now;
        counter.calls = 0;
        File file;
        times.push_back(
            seconds_of([&] { file = open_file(rt.get(), path, GGUFX_OPEN_METADATA_ONLY); }));
        peak = std::max(peak, counter.peak - before);
        kept = counter.now - before;
        allocations = counter.calls;
        file_bytes = facts<ggufx_file_facts>([&](ggufx_file_facts *out, ggufx_error *error) {
                         return ggufx_file_info(out, file.get(), error);
                     }).file_size;
    }
    Output out(globals);
    const double ms = median(times) * 1e3;
    if (globals.json) {
        Json line = json_object();
        line.update(Json{{"bench", "open"},
                         {"tokens", generated ? Json(options.tokens) : Json()},
                         {"file_bytes", file_bytes},
                         {"ms", ms},
                         {"heap_bytes", kept},
                         {"heap_peak_bytes", peak},
                         {"allocations", allocations}});
        print_json(out, line);
    } else {
        out.write(fmt::format("metadata-only open of {}: {:.3f} ms, {} of heap (peak {}), {} "
                              "allocations\n",
                              bytes_text(file_bytes), ms, bytes_text(kept), bytes_text(peak),
                              allocations));
    }
    out.finish();
    return kOk;
}

void add_bench_open(Tool &tool, Command &bench) {
    auto options = std::make_shared<OpenOptions>();
    Command sub = bench.add_command("open", "metadata-only open of a file with a large vocabulary");
    sub.option("FILE", options->file, "file to open (default a generated one)");
    sub.option("--tokens", options->tokens, "tokens of the generated file (default 262144)")
        .between(1u, 1u << 24);
    sub.option("-r,--rounds", options->repeats, "number of opens, for the median (default 20)")
        .between(1u, 1000u);
    sub.examples("  ggufx bench open --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return bench_open(tool.globals, *options); });
}

} // namespace ggufx::cli
