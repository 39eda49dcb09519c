// Reference resolution by section 5.2 of RFC 3986, see uri.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/uri.hpp"

namespace ggufx::grammar {

namespace {

struct Uri {
    std::string_view scheme, authority, path, query, fragment; // with their delimiters, if present
};

Uri parse(std::string_view s) {
    Uri out;
    const size_t hash = s.find('#');
    if (hash != s.npos) out.fragment = s.substr(hash);
    s = s.substr(0, hash);
    const size_t mark = s.find('?');
    if (mark != s.npos) out.query = s.substr(mark);
    s = s.substr(0, mark);
    const size_t colon = s.find_first_of(":/");
    if (colon != s.npos && colon > 0 && s[colon] == ':') {
        out.scheme = s.substr(0, colon + 1);
        s.remove_prefix(colon + 1);
    }
    if (s.substr(0, 2) == "//") {
        out.authority = s.substr(0, s.find('/', 2));
        s.remove_prefix(out.authority.size());
    }
    out.path = s;
    return out;
}

using Text = Vector<char>;

void put(Text &out, std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
}

// Appends a path without "." and ".." segments.
void put_path(Text &out, std::string_view path) {
    const size_t begin = out.size();
    const bool rooted = !path.empty() && path[0] == '/';
    for (size_t i = 0; i < path.size();) {
        const size_t end = path.find('/', i);
        const std::string_view part = path.substr(i, end == path.npos ? end : end - i);
        const bool last = end == path.npos;
        if (part == "..") { // drop the last segment
            if (out.size() > begin) out.pop_back();
            while (out.size() > begin && out.back() != '/') out.pop_back();
            if (out.size() == begin && rooted) out.push_back('/');
        } else if (part != ".") {
            put(out, part);
            if (!last) out.push_back('/');
        }
        if (last) break;
        i = end + 1;
    }
}

} // namespace

Vector<char> resolve_uri(const Host *host, std::string_view base, std::string_view reference) {
    const Uri of = parse(base), to = parse(reference);
    Text out{HostAllocator<char>(host)};
    const bool absolute = !to.scheme.empty();
    put(out, absolute ? to.scheme : of.scheme);
    if (absolute || !to.authority.empty()) {
        put(out, to.authority);
        put_path(out, to.path);
        put(out, to.query);
    } else {
        put(out, of.authority);
        if (to.path.empty()) {
            put(out, of.path);
            put(out, to.query.empty() ? of.query : to.query);
        } else {
            Text path{HostAllocator<char>(host)};
            if (to.path[0] != '/') {
                const size_t slash = of.path.rfind('/');
                if (slash != of.path.npos)
                    put(path, of.path.substr(0, slash + 1));
                else if (!of.authority.empty())
                    path.push_back('/');
            }
            put(path, to.path);
            put_path(out, {path.data(), path.size()});
            put(out, to.query);
        }
    }
    put(out, to.fragment);
    return out;
}

} // namespace ggufx::grammar
