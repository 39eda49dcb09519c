// Stub for systems without plugins and for builds with -Ddevices=false.
// SPDX-License-Identifier: MIT
#include "device/library.hpp"

namespace ggufx::device {

const plugin::Table *load(const char *, Failure *why) {
    set_failure(why, Status::unsupported, {}, "this build of libggufx loads no plugins");
    return nullptr;
}

bool path_of(Path &, const char *, const char *, Failure *why) {
    set_failure(why, Status::unsupported, {}, "this build of libggufx loads no plugins");
    return false;
}

bool is_folder(const char *) {
    return false;
}

} // namespace ggufx::device
