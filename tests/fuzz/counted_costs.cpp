// Linear cost of every reader of untrusted bytes. The worst shapes at four times the size take at
// most 4.6 times the work, counted in comparisons. Sorted names add the factor log n. Both sizes
// have the same result. Long, as it is one table of cases and their generators.
// usage: counted-costs [CASE]
// SPDX-License-Identifier: MIT
#include "../unit/kv_calls.h"
#include "../unit/made_vocab.hpp"
#include "convert/safetensors.hpp"
#include "convert/vocabulary.hpp"
#include "counted_work.hpp"
#include "serve/request.hpp"

#include <ggufx/batch.h>
#include <ggufx/kv.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

extern "C" {
#include "../unit/gguf_builder.h"
#include "../unit/temporary.h"
#include "../unit/tiny_model.h"
}

using namespace ggufx::cli;
using ggufx::Json;

namespace {

ggufx_runtime *runtime() {
    static ggufx_runtime *one = [] {
        ggufx_runtime *rt = nullptr;
        ggufx_runtime_options options = {};
        options.struct_size = sizeof options;
        options.threads = 1;
        if (ggufx_runtime_create(&rt, &options, nullptr) != GGUFX_OK) abort();
        return rt;
    }();
    return one;
}

std::string number(uint64_t i) { // in no order
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
    return std::to_string(i ^ (i >> 31));
}

std::string repeated(const std::string &text, size_t n) {
    std::string out;
    out.reserve(n * text.size());
    for (size_t i = 0; i < n; i++) out += text;
    return out;
}

// Returns `piece` of every i, separated by `between`.
std::string list(size_t n, const std::string &between,
                 const std::function<std::string(size_t)> &piece) {
    std::string out;
    for (size_t i = 0; i < n; i++) out += (i ? between : "") + piece(i);
    return out;
}

// ---- files ---------------------------------------------------------------------------------------

template <class Fill> std::string gguf(Fill &&fill) {
    gb b;
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "general.architecture", "test");
    fill(&b);
    gb_data(&b);
    std::string out(reinterpret_cast<const char *>(b.data), b.n);
    gb_free(&b);
    return out;
}

std::string keys(size_t n) {
    return gguf([&](gb *b) {
        for (size_t i = 0; i < n; i++) gb_key_u32(b, ("k" + number(i)).c_str(), 7);
    });
}

std::string alike(size_t n) { // strings that differ only at the end
    return gguf([&](gb *b) {
        for (size_t i = 0; i < n; i++)
            gb_key_u32(b, (std::string(180, 'a') + number(i)).c_str(), 7);
    });
}

std::string strings(size_t n) {
    return gguf([&](gb *b) {
        gb_key_array(b, "a", GGUFX_VALUE_STRING, n);
        for (size_t i = 0; i < n; i++) gb_string(b, i % 3 ? "" : "text");
    });
}

std::string numbers(size_t n) {
    return gguf([&](gb *b) {
        gb_key_array(b, "a", GGUFX_VALUE_BOOL, n);
        for (size_t i = 0; i < n; i++) gb_u8(b, i % 2);
    });
}

std::string nested(size_t n) {
    return gguf([&](gb *b) {
        gb_key_array(b, "a", GGUFX_VALUE_ARRAY, n);
        for (size_t i = 0; i < n; i++) gb_array(b, GGUFX_VALUE_U8, 1), gb_u8(b, 1);
    });
}

std::string tensors(size_t n) {
    return gguf([&](gb *b) {
        const uint64_t ne[1] = {8};
        for (size_t i = 0; i < n; i++)
            gb_tensor(b, ("t" + number(i)).c_str(), GGUFX_TYPE_F32, 1, ne, 32);
        gb_data(b);
        const std::vector<uint8_t> zeros(32);
        for (size_t i = 0; i < n; i++) gb_tensor_data(b, zeros.data(), zeros.size());
    });
}

std::string tensors_backwards(size_t n) {
    return gguf([&](gb *b) {
        const uint64_t ne[1] = {8};
        for (size_t i = 0; i < n; i++)
            gb_tensor_at(b, ("t" + number(i)).c_str(), GGUFX_TYPE_F32, 1, ne, 32 * (n - 1 - i));
        gb_data(b);
        const std::vector<uint8_t> zeros(32 * n);
        gb_tensor_data(b, zeros.data(), zeros.size());
    });
}

int32_t go_on(void *, const ggufx_finding_facts *) {
    return 0;
}

ggufx_status open(ggufx_file **file, const std::string &bytes) {
    ggufx_open_options options = {};
    options.struct_size = sizeof options;
    return ggufx_open_memory(file, runtime(), bytes.data(), bytes.size(), nullptr, nullptr,
                             &options, nullptr);
}

int run_open(const std::string &bytes) {
    ggufx_file *file = nullptr;
    const ggufx_status status = open(&file, bytes);
    ggufx_file_destroy(file);
    return status;
}

int run_validate(const std::string &bytes) {
    ggufx_file *file = nullptr;
    if (open(&file, bytes) != GGUFX_OK) abort();
    const ggufx_status status = ggufx_file_validate(
        file, GGUFX_VALIDATE_DEEP | GGUFX_VALIDATE_STRICT, go_on, nullptr, nullptr, nullptr);
    ggufx_file_destroy(file);
    return status;
}

int run_copy(const std::string &bytes) {
    ggufx_file *file = nullptr;
    ggufx_writer *writer = nullptr;
    if (open(&file, bytes) != GGUFX_OK ||
        ggufx_writer_create(&writer, runtime(), nullptr, nullptr) != GGUFX_OK)
        abort();
    int status = ggufx_writer_copy_meta(writer, file, nullptr);
    if (status == GGUFX_OK) status = ggufx_writer_copy_tensors(writer, file, nullptr);
    ggufx_writer_facts facts = {};
    facts.struct_size = sizeof facts;
    if (status == GGUFX_OK) status = ggufx_writer_info(&facts, writer, nullptr, nullptr);
    ggufx_writer_destroy(writer);
    ggufx_file_destroy(file);
    return status;
}

// ---- several files -------------------------------------------------------------------------------

const char *folder() {
    static const bool made = temporary_make() == 0;
    if (!made) abort();
    static const int registered = atexit([] {
        temporary_clean();
        temporary_remove();
    });
    if (registered != 0) abort();
    return temporary_folder();
}

void write_file(const std::string &path, std::string_view bytes) {
    FILE *const f = fopen(path.c_str(), "wb");
    if (!f || fwrite(bytes.data(), 1, bytes.size(), f) != bytes.size() || fclose(f) != 0) abort();
}

std::string part_path(size_t part, size_t n) {
    char name[40];
    std::snprintf(name, sizeof name, "s-%05zu-of-%05zu.gguf", part + 1, n);
    return std::string(folder()) + "/" + name;
}

std::string set(size_t n) { // split files with a tensor each; returns the first path
    for (size_t part = 0; part < n; part++) {
        write_file(part_path(part, n), gguf([&](gb *b) {
                       const auto number_of = [&](const char *key, uint64_t value) {
                           gb_key(b, key, GGUFX_VALUE_U16);
                           gb_u16(b, static_cast<uint16_t>(value));
                       };
                       number_of("split.no", part);
                       number_of("split.count", n);
                       number_of("split.tensors.count", n);
                       const uint64_t ne[1] = {8};
                       gb_tensor(b, ("t" + number(part)).c_str(), GGUFX_TYPE_F32, 1, ne, 32);
                       gb_data(b);
                       const std::vector<uint8_t> zeros(32);
                       gb_tensor_data(b, zeros.data(), zeros.size());
                   }));
    }
    return part_path(0, n);
}

int run_set(const std::string &path) {
    ggufx_file *file = nullptr;
    const ggufx_status status = ggufx_open(&file, runtime(), path.c_str(), nullptr, nullptr);
    ggufx_file_destroy(file);
    return status;
}

uint64_t crc(std::string_view bytes) { // CRC-64 (ECMA-182, reflected)
    uint64_t sum = ~uint64_t{0};
    for (const char c : bytes) {
        sum ^= static_cast<uint8_t>(c);
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xc96c5795d7870f42u : 0);
    }
    return ~sum;
}

std::string journal(size_t n) { // edits every second byte (src/base/patch_journal.hpp)
    std::string out = "GGUFXP02";
    const auto put = [&](uint64_t v) { out.append(reinterpret_cast<const char *>(&v), 8); };
    put(4 * n);
    put(2 * n);
    put(crc(std::string(n, 'a')));
    put(n);
    for (size_t i = 0; i < n; i++) {
        put(2 * i);
        put(1);
        out += "ab";
    }
    put(crc(out));
    return out;
}

int run_journal(const std::string &bytes) {
    const std::string path = std::string(folder()) + "/edited";
    uint64_t n = 0;
    memcpy(&n, bytes.data() + 8, 8);
    write_file(path, std::string(static_cast<size_t>(n), 'a'));
    write_file(path + ".patch", bytes);
    int32_t done = 0;
    return ggufx_file_recover_edit(&done, runtime(), path.c_str(), nullptr);
}

// ---- importance matrices -------------------------------------------------------------------------

std::string imatrix(size_t n) {
    return gguf([&](gb *b) {
        gb_key_string(b, "general.type", "imatrix");
        gb_key_array(b, "imatrix.datasets", GGUFX_VALUE_STRING, 1);
        gb_string(b, "d");
        gb_key_u32(b, "imatrix.chunk_count", 1);
        gb_key_u32(b, "imatrix.chunk_size", 1);
        const uint64_t sums[2] = {4, 1}, counts[2] = {1, 1};
        for (size_t i = 0; i < n; i++) {
            const std::string name = "t" + number(i);
            gb_tensor(b, (name + ".in_sum2").c_str(), GGUFX_TYPE_F32, 2, sums, 16);
            gb_tensor(b, (name + ".counts").c_str(), GGUFX_TYPE_F32, 2, counts, 4);
        }
        gb_data(b);
        const float ones[4] = {1, 1, 1, 1};
        for (size_t i = 0; i < n; i++) gb_tensor_data(b, ones, 16), gb_tensor_data(b, ones, 4);
    });
}

std::string imatrix_dat(size_t n) {
    std::string out;
    const auto put = [&](int32_t v) { out.append(reinterpret_cast<const char *>(&v), 4); };
    put(static_cast<int32_t>(n));
    for (size_t i = 0; i < n; i++) {
        const std::string name = "t" + number(i);
        put(static_cast<int32_t>(name.size()));
        out += name;
        put(1), put(2), put(0x3f800000), put(0x3f800000);
    }
    return out;
}

int run_imatrix(const std::string &bytes) {
    ggufx_imatrix *imatrix = nullptr;
    const ggufx_status status =
        ggufx_imatrix_open_memory(&imatrix, runtime(), bytes.data(), bytes.size(), nullptr);
    ggufx_imatrix_destroy(imatrix);
    return status;
}

// ---- vocabularies --------------------------------------------------------------------------------

template <size_t kKind> std::string vocab(size_t n) {
    MadeVocab made = full_vocab(kMadeKinds[kKind]);
    for (size_t i = 0; i < n; i++) made.add("w" + number(i), 1, -3);
    return made.bytes();
}

std::string merges(size_t n) { // a, aa, aaa, ... each merged from the two before
    MadeVocab made = full_vocab("gpt2");
    for (size_t i = 0; i < n; i++) {
        const std::string word = "q" + number(i);
        made.add(word, 1);
        made.merges.push_back("q " + number(i));
    }
    return made.bytes();
}

std::string many_controls(size_t n) {
    MadeVocab made = full_vocab("llama");
    for (size_t i = 0; i < n; i++) made.add("<|" + repeated("a", i % 60) + number(i), 3);
    return made.bytes();
}

int run_vocab(const std::string &bytes) {
    ggufx_file *file = nullptr;
    ggufx_tokenizer *tokenizer = nullptr;
    if (open(&file, bytes) != GGUFX_OK) abort();
    const ggufx_status status = ggufx_tokenizer_create(&tokenizer, file, nullptr);
    ggufx_tokenizer_destroy(tokenizer);
    ggufx_file_destroy(file);
    return status;
}

// ---- texts of a vocabulary -----------------------------------------------------------------------

template <size_t kKind> int run_tokenize(const std::string &text) {
    static ggufx_tokenizer *const tokenizer = [] {
        ggufx_file *file = nullptr;
        ggufx_tokenizer *made = nullptr;
        static const std::string bytes = full_vocab(kMadeKinds[kKind]).bytes();
        if (open(&file, bytes) != GGUFX_OK ||
            ggufx_tokenizer_create(&made, file, nullptr) != GGUFX_OK)
            abort();
        ggufx_file_destroy(file);
        return made;
    }();
    Ids ids(2 * text.size() + 16);
    size_t n = 0;
    return ggufx_tokenize(ids.data(), ids.size(), &n, tokenizer, text.data(), text.size(), 3,
                          nullptr);
}

// ---- snapshots -----------------------------------------------------------------------------------

ggufx_status write_piece(void *out, const void *data, size_t n) {
    static_cast<std::string *>(out)->append(static_cast<const char *>(data), n);
    return GGUFX_OK;
}

ggufx_status read_piece(void *from, void *data, size_t n) {
    std::string_view &rest = *static_cast<std::string_view *>(from);
    if (rest.size() < n) return GGUFX_E_TRUNCATED;
    memcpy(data, rest.data(), n);
    rest.remove_prefix(n);
    return GGUFX_OK;
}

ggufx_kv *cache() {
    ggufx_kv *made = nullptr;
    ggufx_kv_options options = {};
    options.struct_size = sizeof options;
    options.n_layers = 1;
    options.n_q_heads = options.n_kv_heads = 1;
    options.head_dim_k = options.head_dim_v = 32;
    options.type_k = options.type_v = GGUFX_TYPE_Q8_0;
    options.n_sequences = 2;
    if (ggufx_kv_create(&made, runtime(), &options, nullptr) != GGUFX_OK) abort();
    return made;
}

// Pages shared in part by two sequences; `kCut` removes two of three tokens.
template <bool kCut> std::string snapshot(size_t n) {
    ggufx_kv *const kv = cache();
    const std::vector<float> rows(n * 32, 0.5f);
    std::string out;
    const auto must = [](ggufx_status status) {
        if (status != GGUFX_OK) abort();
    };
    must(kv_append_rows(kv, 0, 0, static_cast<uint32_t>(n), nullptr, rows.data(), rows.size(),
                        rows.data(), rows.size(), nullptr));
    for (size_t i = 0; kCut && 3 * i + 3 < n; i++) must(ggufx_kv_remove(kv, 0, i, 2, nullptr));
    must(ggufx_kv_copy(kv, 0, 1, 0, n / (kCut ? 6 : 2), nullptr));
    must(ggufx_kv_save(kv, GGUFX_ALL_SEQUENCES, write_piece, &out, nullptr));
    ggufx_kv_destroy(kv);
    return out;
}

int run_snapshot(const std::string &bytes) {
    ggufx_kv *const kv = cache();
    std::string_view rest = bytes;
    const ggufx_status status = ggufx_kv_load(kv, GGUFX_ALL_SEQUENCES, read_piece, &rest, nullptr);
    ggufx_kv_destroy(kv);
    return status;
}

ggufx_session *session() {
    static ggufx_model *const model = [] {
        ggufx_model *made = nullptr;
        ggufx_file *file = nullptr;
        size_t size = 0;
        unsigned char *const data = tiny_model(&size, nullptr);
        if (ggufx_open_memory(&file, runtime(), data, size, free, data, nullptr, nullptr) !=
                GGUFX_OK ||
            ggufx_model_create(&made, runtime(), file, nullptr, nullptr) != GGUFX_OK)
            abort();
        ggufx_file_destroy(file);
        return made;
    }();
    ggufx_session *made = nullptr;
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_sequences = 64;
    options.n_context_total = 64 * TINY_CONTEXT;
    if (ggufx_session_create(&made, model, &options, nullptr) != GGUFX_OK) abort();
    return made;
}

std::string saved_session(size_t n) { // n tokens in every sequence
    ggufx_session *const one = session();
    std::string out;
    std::vector<int32_t> tokens(n);
    for (size_t i = 0; i < n; i++) tokens[i] = static_cast<int32_t>(3 + i % 250);
    ggufx_decode_options options = {};
    options.struct_size = sizeof options;
    for (uint32_t sequence = 0; sequence < 64; sequence++) {
        ggufx_decode_item item = {};
        item.struct_size = sizeof item;
        item.sequence = sequence;
        item.tokens = tokens.data();
        item.n_tokens = n;
        if (ggufx_session_decode(one, &item, 1, &options, nullptr) != GGUFX_OK) abort();
    }
    if (ggufx_session_save(one, GGUFX_ALL_SEQUENCES, write_piece, &out, nullptr) != GGUFX_OK)
        abort();
    ggufx_session_destroy(one);
    return out;
}

int run_session(const std::string &bytes) {
    ggufx_session *const one = session();
    std::string_view rest = bytes;
    const ggufx_status status =
        ggufx_session_load(one, GGUFX_ALL_SEQUENCES, read_piece, &rest, nullptr);
    ggufx_session_destroy(one);
    return status;
}

// ---- templates and grammars ----------------------------------------------------------------------

int run_template(const std::string &text) {
    ggufx_chat_template *chat = nullptr;
    ggufx_chat_template_options options = {};
    options.struct_size = sizeof options;
    options.text = {text.data(), text.size()};
    const ggufx_status status =
        ggufx_chat_template_create(&chat, runtime(), nullptr, &options, nullptr);
    ggufx_chat_template_destroy(chat);
    return status;
}

template <uint32_t kKind> int run_grammar(const std::string &text) {
    static ggufx_tokenizer *const tokenizer = [] {
        ggufx_file *file = nullptr;
        ggufx_tokenizer *made = nullptr;
        static const std::string bytes = full_vocab("llama").bytes();
        if (open(&file, bytes) != GGUFX_OK ||
            ggufx_tokenizer_create(&made, file, nullptr) != GGUFX_OK)
            abort();
        ggufx_file_destroy(file);
        return made;
    }();
    ggufx_grammar *grammar = nullptr;
    ggufx_grammar_options options = {};
    options.struct_size = sizeof options;
    options.kind = kKind;
    options.text = {text.data(), text.size()};
    const ggufx_status status =
        ggufx_grammar_create(&grammar, runtime(), tokenizer, &options, nullptr);
    ggufx_grammar_destroy(grammar);
    return status;
}
constexpr auto run_gbnf = run_grammar<GGUFX_GRAMMAR_GBNF>;
constexpr auto run_schema = run_grammar<GGUFX_GRAMMAR_JSON_SCHEMA>;

// ---- readers of the tool -------------------------------------------------------------------------

template <class Read> int told(Read &&read) {
    try {
        read();
        return 0;
    } catch (const Failure &failure) { return failure.exit_code; } catch (const ApiError &error) {
        return error.status;
    }
}

Json body_of(const std::string &text) {
    return read_body(text, {text.size(), SIZE_MAX}, true);
}

int run_json(const std::string &text) {
    return told([&] { body_of(text); });
}
int run_chat(const std::string &text) {
    const SamplingDefaults defaults;
    return told([&] { read_chat(body_of(text), defaults, false); });
}
int run_completion(const std::string &text) {
    const SamplingDefaults defaults;
    return told([&] { read_completion(body_of(text), defaults, false); });
}
int run_responses(const std::string &text) {
    const SamplingDefaults defaults;
    return told([&] { read_responses(body_of(text), defaults, false); });
}
int run_rerank(const std::string &text) {
    return told([&] { read_rerank(body_of(text), false); });
}
int run_embeddings(const std::string &text) {
    return told([&] { read_embeddings(body_of(text), false); });
}
int run_safetensors(const std::string &text) {
    const uint64_t n_data = std::stoull(text.substr(text.rfind(',') + 1)); // end of the last tensor
    return told([&] { parse_st_header(text, n_data, "header"); });
}
int run_tokenizer_json(const std::string &text) {
    return told([&] { parse_tokenizer_json(text, "json"); });
}
int run_spm(const std::string &text) {
    return told([&] { parse_spm(text, "model"); });
}

std::string messages(size_t n) {
    return R"({"messages":[)" +
           list(n, ",",
                [](size_t i) { return R"({"role":"user","content":"m)" + number(i) + "\"}"; }) +
           "]}";
}

std::string tools(size_t n) { // tool_choice: required
    return R"({"messages":[{"role":"user","content":"x"}],"tool_choice":"required","tools":[)" +
           list(n, ",",
                [](size_t i) {
                    return R"({"type":"function","function":{"name":"f)" + number(i) +
                           R"(","parameters":{"type":"object"}}})";
                }) +
           "]}";
}

std::string calls(size_t n) {
    return R"({"messages":[{"role":"assistant","content":null,"tool_calls":[)" +
           list(
               n, ",",
               [](size_t i) {
                   return R"({"id":"c)" + number(i) +
                          R"(","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}})";
               }) +
           "]}]}";
}

std::string biases(size_t n) {
    return R"({"prompt":"x","logit_bias":{)" +
           list(n, ",", [](size_t i) { return "\"" + std::to_string(i) + "\":1"; }) + "}}";
}

std::string ids(size_t n) {
    return R"({"input":[)" +
           list(n, ",", [](size_t i) { return "[1,2," + std::to_string(i) + "]"; }) + "]}";
}

std::string items(size_t n) { // calls and their results
    return R"({"input":[)" +
           list(n, ",",
                [](size_t i) {
                    const std::string id = number(i);
                    return R"({"type":"function_call","call_id":"c)" + id +
                           R"(","name":"f","arguments":"{}"},{"type":"function_call_output",)" +
                           R"("call_id":"c)" + id + R"(","output":"o"})";
                }) +
           "]}";
}

std::string documents(size_t n) {
    return R"({"query":"q","documents":[)" +
           list(n, ",", [](size_t i) { return "\"d" + number(i) + "\""; }) + "]}";
}

std::string safetensors(size_t n) {
    return "{" +
           list(n, ",",
                [](size_t i) {
                    return "\"t" + number(i) + R"(":{"dtype":"F32","shape":[2],"data_offsets":[)" +
                           std::to_string(8 * i) + "," + std::to_string(8 * i + 8) + "]}";
                }) +
           "}";
}

std::string tokenizer_of(size_t n) {
    Vocabulary v;
    v.model = v.pre = "gpt2";
    for (size_t i = 0; i < n; i++) {
        v.tokens.push_back("w" + number(i));
        v.kinds.push_back(kNormal);
        v.merges.push_back("w " + number(i));
    }
    return tokenizer_json(v).dump();
}

std::string spm(size_t n) {
    Vocabulary v;
    v.model = "llama";
    for (size_t i = 0; i < n; i++) {
        v.tokens.push_back("w" + number(i));
        v.kinds.push_back(kNormal);
        v.scores.push_back(-1);
    }
    return spm_bytes(v);
}

// --------------------------------------------------------------------------------------------------

struct Case {
    const char *name;
    size_t size;
    std::string (*make)(size_t size);
    int (*run)(const std::string &bytes);
    bool sorts = false; // sorts names, by four bytes at a time: n log n (src/gguf/sort.hpp)
};

const Case kCases[] = {
    {"open: keys", 16000, keys, run_open, true},
    {"open: keys alike", 8000, alike, run_open, true},
    {"open: strings", 20000, strings, run_open},
    {"validate: numbers", 100000, numbers, run_validate},
    {"open: nested", 8000, nested, run_open},
    {"open: tensors", 12000, tensors, run_open, true},
    {"open: tensors backwards", 12000, tensors_backwards, run_open, true},
    {"validate: keys", 16000, keys, run_validate, true},
    {"validate: tensors backwards", 12000, tensors_backwards, run_validate, true},
    {"copy: keys", 16000, keys, run_copy, true},
    {"copy: tensors", 12000, tensors, run_copy, true},
    {"open: a set", 60, set, run_set},
    {"journal of an edit", 1000, journal, run_journal},
    {"imatrix", 2000, imatrix, run_imatrix},
    {"imatrix of the older format", 4000, imatrix_dat, run_imatrix},
    {"vocabulary: gpt2", 4000, vocab<0>, run_vocab},
    {"vocabulary: gemma4", 4000, vocab<1>, run_vocab},
    {"vocabulary: llama", 4000, vocab<2>, run_vocab},
    {"vocabulary: rwkv", 4000, vocab<3>, run_vocab},
    {"vocabulary: bert", 4000, vocab<4>, run_vocab},
    {"vocabulary: t5", 4000, vocab<5>, run_vocab},
    {"vocabulary: merges", 4000, merges, run_vocab},
    {"vocabulary: controls", 3000, many_controls, run_vocab},
#define TEXTS(KIND, NAME)                                                                          \
    {NAME ": one letter", 8000, [](size_t n) { return std::string(n, 'a'); }, run_tokenize<KIND>}, \
        {NAME ": no words", 8000, [](size_t n) { return std::string(n, ' '); },                    \
         run_tokenize<KIND>},                                                                      \
        {NAME ": cut characters", 8000, [](size_t n) { return repeated("\xe2\x96", n / 2); },      \
         run_tokenize<KIND>},                                                                      \
    {                                                                                              \
        NAME ": begun controls", 4000, [](size_t n) { return repeated("<|ct", n / 4); },           \
            run_tokenize<KIND>                                                                     \
    }
    TEXTS(0, "gpt2"),
    TEXTS(1, "gemma4"),
    TEXTS(2, "llama"),
    TEXTS(3, "rwkv"),
    TEXTS(4, "bert"),
    TEXTS(5, "t5"),
#undef TEXTS
    {"KV snapshot: pages", 4000, snapshot<false>, run_snapshot},
    {"KV snapshot: cut pages", 4000, snapshot<true>, run_snapshot},
    {"session snapshot", 22, saved_session, run_session},
    {"template: statements", 500,
     [](size_t n) { return repeated("{% if a %}{{ b }}{% endif %}{# c #}", n); }, run_template},
    {"template: names", 500,
     [](size_t n) {
         return list(n, "", [](size_t i) { return "{% set v" + number(i) + " = 1 %}"; });
     },
     run_template},
    {"template: blocks within blocks", 20000, [](size_t n) { return repeated("{% if a %}", n); },
     run_template},
    {"template: brackets", 20000, [](size_t n) { return "{{ " + std::string(n, '('); },
     run_template},
    {"template: filters", 1000, [](size_t n) { return "{{ a" + repeated("|trim", n) + " }}"; },
     run_template},
    {"template: a sum", 1000, [](size_t n) { return "{{ a" + repeated(" + a", n) + " }}"; },
     run_template},
    {"template: braces", 8000, [](size_t n) { return repeated("{ {", n); }, run_template},
    {"template: elif", 500,
     [](size_t n) { return "{% if a %}" + repeated("{% elif b %}x", n) + "{% endif %}"; },
     run_template},
    {"GBNF: rules", 500,
     [](size_t n) {
         return "root ::= r0\n" + list(n, "\n", [n](size_t i) {
                    return "r" + std::to_string(i) + " ::= [a-z] " +
                           (i + 1 < n ? "r" + std::to_string(i + 1) : "\"x\"");
                });
     },
     run_gbnf},
    {"GBNF: choices", 500,
     [](size_t n) {
         return "root ::= " + list(n, " | ", [](size_t i) { return "\"a" + number(i) + "\""; });
     },
     run_gbnf},
    {"GBNF: brackets", 20000, [](size_t n) { return "root ::= " + std::string(n, '('); }, run_gbnf},
    {"GBNF: characters", 4000, [](size_t n) { return "root ::= [" + std::string(n, 'a') + "]"; },
     run_gbnf},
    {"GBNF: a text", 4000, [](size_t n) { return "root ::= \"" + std::string(n, 'a') + "\""; },
     run_gbnf},
    {"GBNF: optional parts", 300, [](size_t n) { return "root ::= " + repeated("\"a\"? ", n); },
     run_gbnf},
    {"schema: members", 64,
     [](size_t n) {
         return R"({"type":"object","properties":{)" +
                list(n, ",",
                     [](size_t i) { return "\"m" + number(i) + R"(":{"type":"integer"})"; }) +
                "}}";
     },
     run_schema},
    {"schema: values", 500,
     [](size_t n) {
         return "{\"enum\":[" + list(n, ",", [](size_t i) { return "\"" + number(i) + "\""; }) +
                "]}";
     },
     run_schema},
    {"schema: within", 20000, [](size_t n) { return repeated("{\"items\":", n); }, run_schema},
    {"schema: one of them", 100,
     [](size_t n) {
         return "{\"anyOf\":[" +
                list(n, ",", [](size_t i) { return "{\"const\":\"" + number(i) + "\"}"; }) + "]}";
     },
     run_schema},
    {"schema: definitions", 100,
     [](size_t n) {
         return R"({"$ref":"#/$defs/d0","$defs":{)" +
                list(n, ",",
                     [n](size_t i) {
                         return "\"d" + std::to_string(i) +
                                (i + 1 < n
                                     ? "\":{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"}"
                                     : "\":{\"type\":\"null\"}");
                     }) +
                "}}";
     },
     run_schema},
    {"schema: a pattern", 200,
     [](size_t n) { return R"({"type":"string","pattern":"^)" + repeated("a?b*", n) + "$\"}"; },
     run_schema},
    {"JSON: members", 2000,
     [](size_t n) {
         return "{" + list(n, ",", [](size_t i) { return "\"" + number(i) + "\":1"; }) + "}";
     },
     run_json},
    {"JSON: arrays in arrays", 50000, [](size_t n) { return std::string(n, '['); }, run_json},
    {"JSON: a number", 50000, [](size_t n) { return "{\"a\":" + std::string(n, '9') + "}"; },
     run_json},
    {"JSON: a text", 20000, [](size_t n) { return "{\"a\":\"" + repeated("\\u00e9", n) + "\"}"; },
     run_json},
    {"JSON: spaces", 50000, [](size_t n) { return std::string(n, ' ') + "{}"; }, run_json},
    {"request: messages", 500, messages, run_chat},
    {"request: functions", 32, tools, run_chat},
    {"request: calls", 400, calls, run_chat},
    {"request: biases", 1000, biases, run_completion},
    {"request: lists of ids", 500, ids, run_embeddings},
    {"request: items", 400, items, run_responses},
    {"request: documents", 500, documents, run_rerank},
    {"safetensors", 500, safetensors, run_safetensors},
    {"tokenizer.json", 1000, tokenizer_of, run_tokenizer_json},
    {"SentencePiece", 2000, spm, run_spm},
};

bool holds(const Case &c) {
    uint64_t work[2];
    int codes[2];
    for (const size_t k : {size_t{0}, size_t{1}}) {
        const std::string bytes = c.make(k == 0 ? c.size : 4 * c.size);
        c.run(c.make(16)); // excludes one-time work
        const uint64_t before = counted_work();
        codes[k] = c.run(bytes);
        work[k] = counted_work() - before;
    }
    const double ratio = static_cast<double>(work[1]) / static_cast<double>(work[0]);
    // Can be less than four times: refusing at a limit costs the work before it.
    const double n = static_cast<double>(c.size);
    const double most = c.sorts ? 4.6 * std::log(4 * n) / std::log(n) : 4.6;
    const bool good = ratio <= most && codes[0] == codes[1] && work[0] > 500;
    std::printf("%-36s %12llu %12llu  %.2f  (%d)%s\n", c.name,
                static_cast<unsigned long long>(work[0]), static_cast<unsigned long long>(work[1]),
                ratio, codes[1], good ? "" : "  NOT SO");
    return good;
}

} // namespace

int main(int argc, char **argv) {
    int n_failed = 0, n_run = 0;
    for (const Case &c : kCases) {
        if (argc > 1 && !std::strstr(c.name, argv[1])) continue;
        n_run++;
        n_failed += !holds(c);
    }
    std::printf("%d cases, %d are not linear\n", n_run, n_failed);
    return n_failed != 0 || n_run == 0;
}
