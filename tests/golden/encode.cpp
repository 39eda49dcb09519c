// Quantization against golden bytes: the rows in this folder, and all of GGUFX_TEST_DATA if it
// exists.
// SPDX-License-Identifier: MIT
#include "kernels/encode.hpp"
#include "base/cpu.hpp"
#include "base/host.hpp"
#include "golden.hpp"
#include "kernels/dispatch.hpp"
#include "quant/quantize.hpp"

#include <stdio.h>
#include <string.h>

namespace golden {

using namespace ggufx;

namespace {

constexpr HostOptions kTwoThreads = {nullptr, nullptr, nullptr, 2};

std::vector<float> floats_of(const uint8_t *bytes, size_t n) {
    std::vector<float> out(n);
    for (size_t i = 0; i < n; i++) out[i] = load_f32le(bytes + 4 * i);
    return out;
}

size_t count_encoders_of_blocks() {
    size_t n = 0;
    for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
        const fmt::TypeInfo *type = fmt::type_info(id);
        n += type && type->kind == fmt::Kind::kQuantized && quant::encoder(id);
    }
    return n;
}

// Quantizes rows with one instruction set and compares every byte.
void compare_set(Report &r, const char *item, const Host &host, const kernels::Kernels &set,
                 const fmt::TypeInfo &type, const uint8_t *expected, const quant::Rows &rows) {
    const size_t row_bytes = rows.n_cols / type.block_values * type.block_bytes;
    Bytes out(rows.n_rows * row_bytes, 0xaa);
    Failure failure = {};
    const Status status =
        quant::quantize({out.data(), out.size(), type.id}, host, set, rows, Progress(), &failure);
    if (!r.check(status == Status::ok, "%s: %s", item, failure.message)) return;
    size_t n_wrong = 0, first = 0;
    for (size_t i = out.size(); i-- > 0;) {
        if (out[i] == expected[i]) continue;
        n_wrong++;
        first = i;
    }
    r.check(n_wrong == 0, "%s, %s: %zu of %zu bytes differ, first row %zu byte %zu: %02x, not %02x",
            item, kernels::name_of(set), n_wrong, out.size(), first / row_bytes, first % row_bytes,
            out[first], expected[first]);
}

// The same with every instruction set of this machine. imatrix may be null.
void compare_encoded(Report &r, const char *item, const Host &host, const fmt::TypeInfo &type,
                     const uint8_t *expected, const float *x, size_t n_rows, size_t n_values,
                     const float *imatrix) {
    const kernels::Kernels *sets[8];
    const size_t n = kernels::list(sets, 8, cpu::features());
    const kernels::Encode *last = nullptr;
    for (size_t i = 0; i < n; i++) {
        const kernels::Encode *kernel = kernels::find(*sets[i], &kernels::Layer::encode, type.id);
        if (i > 0 && kernel == last) continue; // the same function
        last = kernel;
        compare_set(r, item, host, *sets[i], type, expected, {x, n_rows, n_values, imatrix});
    }
}

struct Item {
    char type[16], set[16], weighting[8];
    unsigned n_rows, n_bytes;
};

// Reads one "q/..." object of manifest.json at `text`, which starts at its "name".
bool parse_item(Item *item, const char *text) {
    return sscanf(text,
                  "\"name\": \"q/%15[^/]/%15[^/]/%7[^\"]\", \"dtype\": \"u8\","
                  " \"shape\": [ %u , %u",
                  item->type, item->set, item->weighting, &item->n_rows, &item->n_bytes) == 5;
}

// Returns whether the item's type has a quantizer and all files exist.
bool check_item(Report &r, const std::string &folder, const Host &host, const Item &item) {
    const std::string name = std::string(item.type) + "_" + item.set + "_" + item.weighting;
    const fmt::TypeInfo *type = fmt::type_by_name(item.type, strlen(item.type));
    if (!r.check(type != nullptr, "no type is called %s", item.type)) return false;
    if (!quant::encoder(type->id)) return false;
    Bytes q, input, weights;
    if (!r.check(read_file(&q, folder + "/q_" + name + ".bin") &&
                     read_file(&input, folder + "/input_" + item.set + ".bin") &&
                     read_file(&weights, folder + "/imatrix_" + item.set + ".bin"),
                 "files of %s are missing", name.c_str()))
        return false;
    const size_t n_values = item.n_bytes / type->block_bytes * type->block_values;
    if (!r.check(q.size() == size_t{item.n_rows} * item.n_bytes &&
                     input.size() == 4 * item.n_rows * n_values && weights.size() == 4 * n_values,
                 "%s: wrong size", name.c_str()))
        return false;
    const std::vector<float> x = floats_of(input.data(), item.n_rows * n_values);
    const std::vector<float> imatrix = floats_of(weights.data(), n_values);
    compare_encoded(r, name.c_str(), host, *type, q.data(), x.data(), item.n_rows, n_values,
                    strcmp(item.weighting, "im") == 0 ? imatrix.data() : nullptr);
    return true;
}

void check_stored_rows(Report &r) {
    const std::string folder = shared_folder("golden");
    Bytes manifest;
    if (folder.empty() || !read_file(&manifest, folder + "/manifest.json"))
        return r.note("stored vectors: skipped, no GGUFX_TEST_DATA/formats/golden");
    const Ref<Host> host = Host::create(kTwoThreads);
    const std::string text(manifest.begin(), manifest.end());
    const char *const start = "\"name\": \"q/";
    size_t n_listed = 0, n_items = 0, n_types = 0;
    bool seen[fmt::kTypeIds] = {};
    for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
        Item item;
        n_listed++;
        if (!r.check(parse_item(&item, text.c_str() + at), "manifest item %zu is odd", n_items))
            continue;
        if (!check_item(r, folder, *host, item)) continue;
        seen[fmt::type_by_name(item.type, strlen(item.type))->id] = true;
        n_items++;
    }
    for (const bool s : seen) n_types += s;
    r.check(n_types == count_encoders_of_blocks(), "%zu types compared, %zu have an encoder",
            n_types, count_encoders_of_blocks());
    r.check(n_items == n_listed, "%zu items compared of %zu", n_items, n_listed);
    r.note("%zu items of %zu types", n_items, n_types);
}

// One row of this folder: its importance matrix, then its values.
struct CarriedRow {
    std::vector<float> imatrix, x;
};

constexpr size_t kRows = 4, kValues = 512;

// `name offset plain` in QUANT_MANIFEST: the offset has the bytes of the rows in that type, without
// the importance matrix (if `plain`), then with it.
size_t check_carried_type(Report &r, const Host &host, const char *line, const Bytes &data,
                          const std::vector<CarriedRow> &rows) {
    char name[16];
    unsigned long offset;
    int plain;
    if (!r.check(sscanf(line, "%15s %lu %d", name, &offset, &plain) == 3, "odd line in manifest"))
        return 0;
    const fmt::TypeInfo *type = fmt::type_by_name(name, strlen(name));
    uint64_t row_bytes = 0;
    if (!r.check(type && fmt::row_bytes(&row_bytes, *type, kValues), "odd type %s", name)) return 0;
    if (!quant::encoder(type->id)) return 0;
    const size_t n_bytes = kRows * static_cast<size_t>(row_bytes) * (plain ? 2 : 1);
    if (!r.check(offset + n_bytes <= data.size(), "%s: too long", name)) return 0;
    const uint8_t *q = data.data() + offset;
    for (int weighted = plain ? 0 : 1; weighted < 2; weighted++) {
        for (const CarriedRow &row : rows) {
            compare_encoded(r, name, host, *type, q, row.x.data(), 1, kValues,
                            weighted ? row.imatrix.data() : nullptr);
            q += row_bytes;
        }
    }
    return 1;
}

} // namespace

int test_encode_matches_carried_rows(Report &r, const std::string &folder) {
    Bytes manifest, data;
    if (!r.check(read_file(&manifest, folder + "/QUANT_MANIFEST") &&
                     read_file(&data, folder + "/quant_rows.bin"),
                 "no QUANT_MANIFEST or quant_rows.bin in %s", folder.c_str()))
        return 1;
    if (!r.check(data.size() > 8 * kValues * kRows, "quant_rows.bin is too short")) return 1;
    std::vector<CarriedRow> rows;
    for (size_t i = 0; i < kRows; i++) {
        const uint8_t *at = data.data() + 8 * kValues * i;
        rows.push_back({floats_of(at, kValues), floats_of(at + 4 * kValues, kValues)});
    }
    const Ref<Host> host = Host::create(kTwoThreads);
    const std::string text(manifest.begin(), manifest.end());
    size_t n_types = 0;
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        if (text[at] != '#') n_types += check_carried_type(r, *host, text.c_str() + at, data, rows);
    }
    r.check(n_types == count_encoders_of_blocks(), "%zu types compared, %zu have an encoder",
            n_types, count_encoders_of_blocks());
    r.note("%zu types", n_types);
    check_stored_rows(r);
    return r.exit_code();
}

} // namespace golden
