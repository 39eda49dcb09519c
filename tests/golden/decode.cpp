// Dequantization against golden rows: those in this folder, and all of GGUFX_TEST_DATA if it
// exists.
// SPDX-License-Identifier: MIT
#include "golden.hpp"

#include <stdio.h>
#include <string.h>

namespace golden {

using namespace ggufx;

namespace {

size_t count_quantized_types() {
    size_t n = 0;
    for (uint32_t id = 0; id < fmt::kTypeIds; id++) {
        const fmt::TypeInfo *type = fmt::type_info(id);
        if (type && type->kind == fmt::Kind::kQuantized) n++;
    }
    return n;
}

struct Item {
    char type[16], set[16], weighting[8];
    unsigned n_rows, n_values;
};

// Reads one "deq/..." object of manifest.json at `text`, which starts at its "name".
bool parse_item(Item *item, const char *text) {
    return sscanf(text,
                  "\"name\": \"deq/%15[^/]/%15[^/]/%7[^\"]\", \"dtype\": \"f32\","
                  " \"shape\": [ %u , %u",
                  item->type, item->set, item->weighting, &item->n_rows, &item->n_values) == 5;
}

size_t count(const std::string &text, const char *what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) n++;
    return n;
}

// Returns whether both files exist with the right sizes.
bool check_item(Report &r, const std::string &folder, const Item &item) {
    const std::string tail =
        std::string(item.type) + "_" + item.set + "_" + item.weighting + ".bin";
    const fmt::TypeInfo *type = fmt::type_by_name(item.type, strlen(item.type));
    if (!r.check(type != nullptr, "no type is called %s", item.type)) return false;
    uint64_t row = 0;
    if (!r.check(fmt::row_bytes(&row, *type, item.n_values), "%s: odd row", tail.c_str()))
        return false;
    Bytes q, deq;
    if (!r.check(read_file(&q, folder + "/q_" + tail) && read_file(&deq, folder + "/deq_" + tail),
                 "%s is missing", tail.c_str()))
        return false;
    if (!r.check(q.size() == row * item.n_rows &&
                     deq.size() == size_t{4} * item.n_rows * item.n_values,
                 "%s: wrong size", tail.c_str()))
        return false;
    compare_decoded(r, tail.c_str(), *type, q.data(), deq.data(), item.n_rows, item.n_values);
    return true;
}

void check_stored_rows(Report &r) {
    const std::string folder = shared_folder("golden");
    Bytes manifest;
    if (folder.empty() || !read_file(&manifest, folder + "/manifest.json"))
        return r.note("stored vectors: skipped, no GGUFX_TEST_DATA/formats/golden");
    const std::string text(manifest.begin(), manifest.end());
    const char *const start = "\"name\": \"deq/";
    size_t n_items = 0;
    bool seen[fmt::kTypeIds] = {};
    for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
        Item item;
        if (!r.check(parse_item(&item, text.c_str() + at), "manifest item %zu is odd", n_items))
            continue;
        if (!check_item(r, folder, item)) continue;
        seen[fmt::type_by_name(item.type, strlen(item.type))->id] = true;
        n_items++;
    }
    const size_t n_expected = count(text, "\"file\": \"deq_");
    size_t n_types = 0;
    for (const bool s : seen) n_types += s;
    r.check(n_expected > 0 && n_items == n_expected, "%zu items compared, manifest has %zu",
            n_items, n_expected);
    r.check(n_types == count_quantized_types(), "%zu types compared, the table has %zu", n_types,
            count_quantized_types());
    r.note("%zu items of %zu types", n_items, n_types);
}

} // namespace

int test_decode_matches_carried_rows(Report &r, const std::string &folder) {
    Bytes manifest, data;
    if (!r.check(read_file(&manifest, folder + "/MANIFEST") &&
                     read_file(&data, folder + "/deq_rows.bin"),
                 "no MANIFEST or deq_rows.bin in %s", folder.c_str()))
        return 1;
    const std::string text(manifest.begin(), manifest.end());
    size_t n_types = 0;
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
        char name[16];
        unsigned long offset;
        unsigned n_rows, n_values;
        if (text[at] == '#') continue;
        if (!r.check(
                sscanf(text.c_str() + at, "%15s %lu %u %u", name, &offset, &n_rows, &n_values) == 4,
                "odd MANIFEST line"))
            break;
        const fmt::TypeInfo *type = fmt::type_by_name(name, strlen(name));
        uint64_t row = 0;
        if (!r.check(type && fmt::row_bytes(&row, *type, n_values), "odd type %s", name)) continue;
        const uint64_t n_bytes = n_rows * (row + uint64_t{4} * n_values);
        if (!r.check(n_rows > 0 && offset + n_bytes <= data.size(), "%s: too long", name)) continue;
        const uint8_t *q = data.data() + offset;
        compare_decoded(r, name, *type, q, q + n_rows * row, n_rows, n_values);
        n_types++;
    }
    r.check(n_types == count_quantized_types(), "%zu types compared, the table has %zu", n_types,
            count_quantized_types());
    r.note("%zu types", n_types);
    check_stored_rows(r);
    return r.exit_code();
}

} // namespace golden
