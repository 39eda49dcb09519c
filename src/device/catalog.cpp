// SPDX-License-Identifier: MIT
#include "device/catalog.hpp"

#include "device/library.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::device {

namespace {

constexpr uint32_t kMostDevices = 64; // maximum per plugin

Entry unusable(const char *id, const char *reason) {
    Entry entry = {};
    print_text(entry.id, sizeof entry.id, "%s", id);
    print_text(entry.facts.reason, sizeof entry.facts.reason, "%s", reason);
    entry.facts.flags = plugin::kUnusable;
    return entry;
}

// Terminates the strings of a plugin.
void check_facts(plugin::Facts &facts) {
    facts.name[sizeof facts.name - 1] = facts.driver[sizeof facts.driver - 1] = 0;
    facts.reason[sizeof facts.reason - 1] = 0;
}

void add_devices(Vector<Entry> &to, const plugin::Table &table) {
    const auto all = HostAllocator<plugin::Facts>(to.get_allocator());
    Vector<plugin::Facts> facts(kMostDevices, plugin::Facts{}, all);
    plugin::Error error = {};
    uint32_t n = 0;
    const int32_t code = table.list(facts.data(), kMostDevices, &n, &error);
    error.text[sizeof error.text - 1] = 0;
    if (code != 0) {
        to.push_back(unusable(table.name, error.text));
        return;
    }
    if (n == 0) to.push_back(unusable(table.name, "its driver knows no device"));
    for (uint32_t i = 0; i < n && i < kMostDevices; i++) {
        Entry entry = {};
        entry.table = &table;
        entry.index = i;
        print_text(entry.id, sizeof entry.id, "%s:%" PRIu32, table.name, i);
        entry.facts = facts[i];
        check_facts(entry.facts);
        to.push_back(entry);
    }
}

void add_plugin(Vector<Entry> &to, const char *path, const char *name) {
    Failure why = {};
    const plugin::Table *table = load(path, &why);
    if (table) {
        add_devices(to, *table);
    } else {
        to.push_back(unusable(name, why.message));
    }
}

// Takes NAME from a path "DIR/libggufx-NAME.so.0", or "plug-in" when the path has another form.
void name_of(char (&out)[32], const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    constexpr char kPrefix[] = "libggufx-";
    print_text(out, sizeof out, "plug-in");
    if (strncmp(name, kPrefix, sizeof kPrefix - 1) != 0) return;
    name += sizeof kPrefix - 1;
    const size_t n = strcspn(name, ".");
    if (n > 0 && n < sizeof out) print_text(out, sizeof out, "%.*s", static_cast<int>(n), name);
}

} // namespace

Vector<Entry> list(const Host &host, const char *plugin_path) {
    Vector<Entry> entries{HostAllocator<Entry>(&host)};
    if (plugin_path && !is_folder(plugin_path)) {
        char name[32];
        name_of(name, plugin_path);
        add_plugin(entries, plugin_path, name);
        return entries;
    }
    for (const char *backend : kBackends) {
        Path path;
        Failure why = {};
        if (path_of(path, plugin_path, backend, &why)) {
            add_plugin(entries, path, backend);
        } else if (why.status == static_cast<int32_t>(Status::limit)) {
            throw Error{why};
        } else {
            entries.push_back(unusable(backend, why.message));
        }
    }
    return entries;
}

const plugin::Table &plugin_of(const char *backend, const char *plugin_path) {
    Path path;
    Failure why = {};
    const char *file = plugin_path;
    if (!plugin_path || is_folder(plugin_path)) {
        if (!path_of(path, plugin_path, backend, &why)) throw Error{why};
        file = path;
    }
    const plugin::Table *table = load(file, &why);
    if (!table) throw Error{why};
    return *table;
}

namespace {

[[noreturn]] void fail_auto(const Vector<Entry> &entries) {
    char text[400] = "";
    size_t n = 0;
    for (const Entry &entry : entries) {
        const bool processor = entry.usable();
        n += print_text(text + n, sizeof text - n, "%s%s: %s", n ? "; " : "", entry.id,
                        processor ? "a processor that plays a device" : entry.facts.reason);
        if (n + 1 >= sizeof text) break;
    }
    fail(Status::unsupported, {}, "no usable device: %s", text);
}

} // namespace

const Entry &find(const Vector<Entry> &entries, const char *id) {
    const bool any = strcmp(id, "auto") == 0;
    for (const Entry &entry : entries) {
        if (any && entry.usable() && (entry.facts.flags & plugin::kProcessor) == 0) return entry;
        if (any || strcmp(entry.id, id) != 0) continue;
        if (entry.usable()) return entry;
        fail(Status::unsupported, {}, "%s cannot be used: %s", id, entry.facts.reason);
    }
    if (any) fail_auto(entries);
    // The id may name a device of a plugin that could not be loaded: report the plugin's reason.
    const size_t n = strcspn(id, ":");
    for (const Entry &entry : entries)
        if (!entry.table && strlen(entry.id) == n && strncmp(entry.id, id, n) == 0)
            fail(Status::unsupported, {}, "%s cannot be used: %s", entry.id, entry.facts.reason);
    fail(Status::unsupported, {}, "there is no device \"%s\"", Quoted(id, strlen(id)).c_str());
}

} // namespace ggufx::device
