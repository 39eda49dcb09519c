// Files of ranks in wrong places, with wrong numbers, and with failing allocations: refused with a
// message, on all ranks. Ranks are threads. argv[1]: a model.
// SPDX-License-Identifier: MIT
#include "rank_checks.hpp"
#include "rank_files.hpp"

extern "C" {
#include "fault.h"
#include "temporary.h"
#include "test_step.h"
}

#include <stdio.h>
#include <string.h>

#include <atomic>
#include <fstream>
#include <iterator>

namespace {

std::string g_model;
uint32_t g_flags; // flags of the files: 0 or GGUFX_GROUP_PIPELINE
constexpr int32_t kIds[] = {1, 403, 407, 261, 378, 12, 99, 500, 17};

void expect(ggufx_status got, ggufx_status want, const ggufx_error &error, const char *text) {
    CHECK(got == want && strstr(error.message, text), "%s: %s; expected %s with \"%s\"",
          ggufx_status_name(got), error.message, ggufx_status_name(want), text);
}

// Ranks open these files; all refuse.
void all_refuse(const std::vector<std::string> &paths, ggufx_status status, const char *text,
                const uint32_t *speeds = nullptr, uint32_t flags = 0) {
    ThreadGroup group(static_cast<uint32_t>(paths.size()));
    group.run([&](uint32_t rank) {
        RankOptions options = {&group, rank, speeds};
        options.flags = flags;
        const Rank part(paths[rank], options);
        expect(part.status(), status, part.error(), text);
    });
}

// Writes a file of rank 1 of 2 with a key removed, or with another type of value.
std::string changed_key(const std::string &from, const char *key, int32_t type) {
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    ggufx_writer *writer = nullptr;
    ggufx_error error = {};
    (void)ggufx_runtime_create(&rt, nullptr, &error);
    expect(ggufx_open(&file, rt, from.c_str(), nullptr, &error), GGUFX_OK, error, "");
    (void)ggufx_writer_create(&writer, rt, nullptr, &error);
    expect(ggufx_writer_copy_meta(writer, file, &error), GGUFX_OK, error, "");
    expect(ggufx_writer_copy_tensors(writer, file, &error), GGUFX_OK, error, "");
    const size_t n = strlen(key);
    const float floats[] = {1, 1};
    const char *const texts[] = {"1", "1"};
    const size_t lengths[] = {1, 1};
    ggufx_status status = GGUFX_OK;
    if (type < 0)
        status = ggufx_writer_unset(writer, key, n, &error);
    else if (type == GGUFX_VALUE_F32)
        status = ggufx_writer_set_array(writer, key, n, type, floats, 2, &error);
    else if (type == GGUFX_VALUE_ARRAY)
        status = ggufx_writer_set_array_string(writer, key, n, texts, lengths, 2, &error);
    else if (type == GGUFX_VALUE_I64)
        status = ggufx_writer_set_i64(writer, key, n, type, -1, &error);
    else
        status = ggufx_writer_set_string(writer, key, n, "1", 1, &error);
    expect(status, GGUFX_OK, error, "");
    char path[TEMPORARY_PATH];
    temporary_path(path, "key.gguf");
    expect(ggufx_writer_write(writer, path, nullptr, &error), GGUFX_OK, error, "");
    ggufx_writer_destroy(writer);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return path;
}

void where_they_do_not_belong() {
    static const uint32_t speeds[] = {3, 1, 2}, others[] = {3, 2, 2};
    const RankFiles three(g_model, "three", 3), two(g_model, "two", 2),
        uneven(g_model, "uneven", 3, speeds);
    const Rank alone(three[1]);
    expect(alone.status(), GGUFX_E_MISMATCH, alone.error(),
           "the file is for rank 1 of 3: its model needs a group of 3 ranks");
    all_refuse({three[0], three[2], three[1]}, GGUFX_E_MISMATCH,
               "the file is for rank 2 of 3, but this is rank 1 of 3");
    all_refuse({three[0], three[1]}, GGUFX_E_MISMATCH, "rank 0 of 3, but this is rank 0 of 2");
    all_refuse({two[0], two[1], g_model}, GGUFX_E_MISMATCH, "rank 0 of 2, but this is rank 0 of 3");
    all_refuse({uneven[0], uneven[1], uneven[2]}, GGUFX_E_MISMATCH,
               "the file was split for a weight of rank 1 of 1, not 2", others);
    all_refuse({uneven[0], three[1], uneven[2]}, GGUFX_E_MISMATCH, "rank 1: other options");
    all_refuse({uneven[0], g_model, uneven[2]}, GGUFX_E_MISMATCH, "rank 1: other options");
    const RankFiles layers(g_model, "layers", 3, nullptr, GGUFX_GROUP_PIPELINE);
    all_refuse(
        {layers[0], layers[1], layers[2]}, GGUFX_E_MISMATCH,
        "the file was split for ranks with whole layers, but this one has rows of each matrix");
    all_refuse(
        {three[0], layers[1], layers[2]}, GGUFX_E_MISMATCH,
        "the file was split for ranks with rows of each matrix, but this one has whole layers",
        nullptr, GGUFX_GROUP_PIPELINE);
    const std::string rows = changed_key(layers[1], "ggufx.rank.layers", -1);
    all_refuse({layers[0], rows, layers[2]}, GGUFX_E_MISMATCH, "rows of each matrix", nullptr,
               GGUFX_GROUP_PIPELINE);
    all_refuse({three[0], rows, three[2]}, GGUFX_E_SPLIT, "which its file does not have");
    remove(rows.c_str());
}

// Writes the model with one byte of a tensor's first row changed.
std::string changed_model(const char *tensor) {
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    ggufx_error error;
    size_t index = 0;
    ggufx_tensor_facts facts = {};
    facts.struct_size = sizeof facts;
    if (ggufx_runtime_create(&rt, nullptr, &error) ||
        ggufx_open(&file, rt, g_model.c_str(), nullptr, &error) ||
        ggufx_file_tensor_find(&index, file, tensor, strlen(tensor), &error) ||
        ggufx_tensor_info(&facts, ggufx_file_tensor(file, index), &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    std::ifstream in(g_model, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    bytes[static_cast<size_t>(facts.file_offset + 5)] ^= 1;
    char path[TEMPORARY_PATH];
    temporary_path(path, "changed.gguf");
    std::ofstream(path, std::ios::binary) << bytes;
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return path;
}

// The changed row of the matrix is not in rank 1's file.
void parts_of_two_models_are_told_apart() {
    const std::string other = changed_model("blk.1.ffn_up.weight");
    const RankFiles of_this(g_model, "this", 2), of_other(other, "other", 2);
    all_refuse({of_this[0], of_other[1]}, GGUFX_E_MISMATCH,
               "rank 1: the file differs in tensor blk.1.ffn_up.weight from that of rank 0");
    all_refuse({g_model, of_other[1]}, GGUFX_E_MISMATCH,
               "rank 1: the file differs in tensor blk.1.ffn_up.weight from that of rank 0");
    remove(other.c_str());
    const std::string norm = changed_model("blk.0.attn_norm.weight");
    const RankFiles of_norm(norm, "norm", 2);
    all_refuse({of_norm[0], of_this[1]}, GGUFX_E_MISMATCH, "rank 1: the file differs in ");
    remove(norm.c_str());
}

void what_cannot_be_cut() {
    const RankFiles two(g_model, "two", 2);
    ggufx_error error;
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr, *part = nullptr, *head = nullptr;
    ggufx_writer *writer = nullptr;
    ggufx_open_options metadata = {};
    metadata.struct_size = sizeof metadata;
    metadata.flags = GGUFX_OPEN_METADATA_ONLY;
    (void)ggufx_runtime_create(&rt, nullptr, &error);
    (void)ggufx_writer_create(&writer, rt, nullptr, &error);
    expect(ggufx_open(&file, rt, g_model.c_str(), nullptr, &error), GGUFX_OK, error, "");
    expect(ggufx_open(&part, rt, two[1].c_str(), nullptr, &error), GGUFX_OK, error, "");
    expect(ggufx_open(&head, rt, g_model.c_str(), &metadata, &error), GGUFX_OK, error, "");
    static const uint32_t slow[] = {1, 0}, fast[] = {(1u << 20) + 1, 1};
    const struct {
        const ggufx_file *file;
        uint32_t rank, n_ranks;
        const uint32_t *speeds;
        ggufx_status status;
        const char *text;
        uint32_t flags = 0;
    } cases[] = {
        {file, 0, 0, nullptr, GGUFX_E_ARGUMENT, "rank 0 of 0"},
        {file, 0, 1, nullptr, GGUFX_E_ARGUMENT, "n_ranks is 1"},
        {file, 2, 2, nullptr, GGUFX_E_ARGUMENT, "rank 2 of 2"},
        {file, 0, 257, nullptr, GGUFX_E_ARGUMENT, "rank 0 of 257"},
        {file, 0, UINT32_MAX, nullptr, GGUFX_E_ARGUMENT, "at most 256"},
        {file, 0, 2, slow, GGUFX_E_ARGUMENT, "weights[1] is 0"},
        {file, 0, 2, fast, GGUFX_E_ARGUMENT, "weights[0] is 1048577"},
        {nullptr, 0, 2, nullptr, GGUFX_E_ARGUMENT, "file must be set"},
        {file, 0, 2, nullptr, GGUFX_E_ARGUMENT, "unknown flags 0x2", 2 | GGUFX_GROUP_PIPELINE},
        {part, 0, 2, nullptr, GGUFX_E_UNSUPPORTED, "not a whole model", GGUFX_GROUP_PIPELINE},
        {part, 0, 2, nullptr, GGUFX_E_UNSUPPORTED, "rank 1 of 2, it is not a whole model"},
        {head, 0, 2, nullptr, GGUFX_E_UNSUPPORTED, "opened for metadata only"},
    };
    ggufx_writer_facts before = {}, after = {};
    before.struct_size = after.struct_size = sizeof before;
    (void)ggufx_writer_info(&before, writer, nullptr, &error);
    for (const auto &c : cases)
        expect(
            ggufx_writer_copy_shard(writer, c.file, c.rank, c.n_ranks, c.speeds, c.flags, &error),
            c.status, error, c.text);
    expect(ggufx_writer_copy_shard(nullptr, file, 0, 2, nullptr, 0, &error), GGUFX_E_ARGUMENT,
           error, "writer must be set");
    (void)ggufx_writer_info(&after, writer, nullptr, &error);
    CHECK(memcmp(&before, &after, sizeof after) == 0 && after.n_tensors == 0, "the writer changed");
    // A tensor that already exists: no other tensor is added.
    expect(ggufx_writer_add_tensor(writer, ggufx_file_tensor(file, 20), nullptr, 0, &error),
           GGUFX_OK, error, "");
    expect(ggufx_writer_copy_shard(writer, file, 0, 2, nullptr, 0, &error), GGUFX_E_DUPLICATE,
           error, "the same name");
    (void)ggufx_writer_info(&after, writer, nullptr, &error);
    CHECK(after.n_tensors == 1 && after.n_meta == 0, "the writer has %llu tensors, %llu keys",
          static_cast<unsigned long long>(after.n_tensors),
          static_cast<unsigned long long>(after.n_meta));
    ggufx_writer_destroy(writer);
    ggufx_file_destroy(file);
    ggufx_file_destroy(part);
    ggufx_file_destroy(head);
    ggufx_runtime_destroy(rt);
}

std::vector<float> decoded(const ggufx_model *model) {
    ggufx_error error = {};
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = 32;
    ggufx_session *session = nullptr;
    expect(ggufx_session_create(&session, model, &options, &error), GGUFX_OK, error, "");
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    (void)ggufx_model_info(&facts, model, &error);
    std::vector<float> out(facts.n_vocab);
    expect(decode_ids(session, kIds, std::size(kIds), out.data(), out.size(), &error), GGUFX_OK,
           error, "");
    ggufx_session_destroy(session);
    return out;
}

// Location of a key's numbers in a file.
struct Numbers {
    std::string key;
    uint64_t at, n, n_bytes;
};

std::vector<Numbers> numbers_of(const std::string &path) {
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    ggufx_error error;
    (void)ggufx_runtime_create(&rt, nullptr, &error);
    expect(ggufx_open(&file, rt, path.c_str(), nullptr, &error), GGUFX_OK, error, "");
    std::vector<Numbers> out;
    for (size_t i = 0; i < ggufx_file_meta_count(file); i++) {
        ggufx_meta_facts entry = {};
        entry.struct_size = sizeof entry;
        (void)ggufx_file_meta_at(&entry, file, i, &error);
        const std::string key(entry.key.data, entry.key.size);
        if (key.rfind("ggufx.rank.", 0) != 0) continue;
        const bool is_array = entry.type == GGUFX_VALUE_ARRAY;
        const int32_t type = is_array ? entry.element_type : entry.type;
        out.push_back({key, entry.offset + (is_array ? 12 : 0), entry.count,
                       type == GGUFX_VALUE_U64 ? 8u : 4u});
    }
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return out;
}

uint64_t number_at(const std::string &path, uint64_t at, uint64_t n_bytes) {
    std::ifstream in(path, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(at));
    uint64_t out = 0;
    for (uint64_t i = 0; i < n_bytes; i++) out |= static_cast<uint64_t>(in.get()) << (8 * i);
    return out;
}

std::string bytes_of(uint64_t value, uint64_t n_bytes) {
    std::string out;
    for (uint64_t i = 0; i < n_bytes; i++) out += static_cast<char>(value >> (8 * i));
    return out;
}

class Patched { // changes bytes of a file, and restores them at the end
public:
    Patched(const std::string &path, uint64_t at, const std::string &bytes)
        : file_(path, std::ios::in | std::ios::out | std::ios::binary), at_(at),
          old_(bytes.size(), 0) {
        file_.seekg(static_cast<std::streamoff>(at));
        file_.read(old_.data(), static_cast<std::streamsize>(old_.size()));
        put(bytes);
    }
    ~Patched() { put(old_); }

private:
    void put(const std::string &bytes) {
        file_.seekp(static_cast<std::streamoff>(at_));
        file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        file_.flush();
    }
    std::fstream file_;
    uint64_t at_;
    std::string old_;
};

// Reading such a file alone either works or reports the fault.
void look(const std::string &path) {
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    ggufx_error error = {};
    char text[64];
    size_t needed = 0;
    (void)ggufx_runtime_create(&rt, nullptr, &error);
    expect(ggufx_open(&file, rt, path.c_str(), nullptr, &error), GGUFX_OK, error, "");
    const ggufx_status shown = ggufx_model_describe_graph(text, sizeof text, &needed, file, &error);
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    const ggufx_status weighed = ggufx_estimate(&facts, rt, file, nullptr, &error);
    CHECK((shown == GGUFX_E_CAPACITY) == (weighed == GGUFX_OK), "shown: %s, weighed: %s",
          ggufx_status_name(shown), error.message);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
}

// Changes each number of the keys in turn: both ranks refuse it, or the logits are the same.
void numbers_are_not_believed() {
    const std::vector<float> want = decoded(Rank(g_model).model());
    const RankFiles files(g_model, "numbers", 2, nullptr, g_flags);
    int n_refused = 0, n_same = 0;
    size_t number = 0;
    const size_t step = test_step() > 4
                            ? 3 * test_step()
                            : test_step(); // for CI's sanitizers: a single thread reads them
    for (const Numbers &numbers : numbers_of(files[1])) {
        CHECK(numbers.n > 0, "%s is empty", numbers.key.c_str());
        for (uint64_t i = 0; i < numbers.n; i++) {
            const uint64_t at = numbers.at + i * numbers.n_bytes;
            const uint64_t old = number_at(files[1], at, numbers.n_bytes);
            const uint64_t values[] = {
                0,          old + 1, old - 1, old * 2, uint64_t{1} << (numbers.n_bytes * 8 - 1),
                UINT64_MAX, old + 32};
            for (const uint64_t value : values) {
                if (value == old || number++ % step != 0) continue;
                const Patched patched(files[1], at, bytes_of(value, numbers.n_bytes));
                look(files[1]);
                ThreadGroup group(2);
                std::atomic<int> refused{0}, same{0};
                group.run([&](uint32_t rank) {
                    const Rank part(files[rank], {&group, rank, nullptr, 20000, nullptr, g_flags});
                    if (part.model())
                        same += decoded(part.model()) == want;
                    else
                        refused += part.status() == GGUFX_E_SPLIT ||
                                   part.status() == GGUFX_E_MISMATCH ||
                                   part.status() == GGUFX_E_SHAPE ||
                                   part.status() == GGUFX_E_HYPERPARAMETER;
                });
                CHECK(refused == 2 || same == 2, "%s[%llu] = %llu: %d refused, %d the same",
                      numbers.key.c_str(), static_cast<unsigned long long>(i),
                      static_cast<unsigned long long>(value), refused.load(), same.load());
                n_refused += refused == 2;
                n_same += same == 2;
            }
        }
    }
    // Some numbers have no effect: equal speeds, and in pipeline parallelism the rows of a matrix
    // of another rank.
    const int most_same = g_flags ? n_refused / 5 + 1 : n_refused / 20 + 1;
    CHECK(n_refused * static_cast<int>(step) > 100 && n_same <= most_same,
          "%d were refused, %d not", n_refused, n_same);
}

void keys_of_another_kind() {
    constexpr int32_t kKinds[] = {-1, GGUFX_VALUE_F32, GGUFX_VALUE_ARRAY, GGUFX_VALUE_STRING,
                                  GGUFX_VALUE_I64};
    const RankFiles files(g_model, "kinds", 2);
    const RankFiles layers(g_model, "layers", 2, nullptr, GGUFX_GROUP_PIPELINE);
    constexpr char kLayers[] = "ggufx.rank.layers";
    for (const int32_t type : kKinds) {
        if (type < 0) continue; // tested by where_they_do_not_belong
        const std::string path = changed_key(layers[1], kLayers, type);
        all_refuse({layers[0], path}, GGUFX_E_SPLIT, kLayers, nullptr, GGUFX_GROUP_PIPELINE);
        look(path);
        remove(path.c_str());
    }
    for (const char *key : {"ggufx.rank.no", "ggufx.rank.count", "ggufx.rank.speeds",
                            "ggufx.rank.tensors", "ggufx.rank.rows"})
        for (const int32_t type : kKinds) {
            const std::string path = changed_key(files[1], key, type);
            all_refuse({files[0], path}, GGUFX_E_SPLIT, key);
            look(path);
            remove(path.c_str());
        }
}

ggufx_status copy_and_write(void *path, ggufx_runtime *rt, ggufx_error *error) {
    ggufx_file *file = nullptr;
    ggufx_writer *writer = nullptr;
    ggufx_status status = ggufx_open(&file, rt, g_model.c_str(), nullptr, error);
    if (status == GGUFX_OK) status = ggufx_writer_create(&writer, rt, nullptr, error);
    if (status == GGUFX_OK)
        status = ggufx_writer_copy_shard(writer, file, 1, 3, nullptr, g_flags, error);
    ggufx_file_destroy(file); // the writer keeps its references
    if (status == GGUFX_OK)
        status = ggufx_writer_write(writer, static_cast<const char *>(path), nullptr, error);
    ggufx_writer_destroy(writer);
    return status;
}

// A rank runs out of memory while it reads its own file.
ggufx_status open_alone(void *path, ggufx_runtime *rt, ggufx_error *error) {
    ggufx_file *file = nullptr;
    size_t needed = 0;
    static char text[1 << 15];
    ggufx_status status = ggufx_open(&file, rt, static_cast<const char *>(path), nullptr, error);
    if (status == GGUFX_OK)
        status = ggufx_model_describe_graph(text, sizeof text, &needed, file, error);
    ggufx_file_destroy(file);
    return status;
}

void memory_that_ends() {
    const RankFiles three(g_model, "three", 3, nullptr, g_flags);
    char path[TEMPORARY_PATH];
    temporary_path(path, "written.gguf");
    CHECK(fault_run(copy_and_write, path) > 50, "few allocations");
    std::ifstream a(path, std::ios::binary), b(three[1], std::ios::binary);
    const std::string written{std::istreambuf_iterator<char>(a), {}},
        want{std::istreambuf_iterator<char>(b), {}};
    CHECK(written == want && !want.empty(), "other bytes after failures");
    CHECK(fault_run(open_alone, path) > 20, "few allocations");
    remove(path);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    g_model = argv[1];
    where_they_do_not_belong();
    parts_of_two_models_are_told_apart();
    what_cannot_be_cut();
    keys_of_another_kind();
    for (const uint32_t flags : {0u, GGUFX_GROUP_PIPELINE}) {
        g_flags = flags;
        numbers_are_not_believed();
        memory_that_ends();
    }
    printf("%d checks, %d failed\n", g_checks.load(), g_failed.load());
    return g_failed != 0;
}
