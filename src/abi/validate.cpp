// Checks of an opened file: include/ggufx/file.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "gguf/check.hpp"

#include <ggufx/file.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

struct Report {
    int32_t (*call)(void *user, const ggufx_finding_facts *finding);
    void *user;
};

int32_t pass_on(void *user, const gguf::Finding &finding) {
    const auto &report = *static_cast<const Report *>(user);
    ggufx_finding_facts out = {};
    out.struct_size = sizeof out;
    out.severity = static_cast<int32_t>(finding.severity);
    out.status = static_cast<int32_t>(finding.status);
    out.offset = finding.offset;
    out.index = finding.index;
    out.text = finding.text;
    out.name = {finding.name.data(), finding.name.size()};
    return report.call(report.user, &out);
}

} // namespace

extern "C" ggufx_status
ggufx_file_validate(const ggufx_file *file, uint32_t flags,
                    int32_t (*report)(void *user, const ggufx_finding_facts *finding), void *user,
                    const ggufx_progress *progress, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(file, Tag::file) && report, "file and report must be set");
        require((flags & ~uint32_t{GGUFX_VALIDATE_DEEP | GGUFX_VALIDATE_STRICT}) == 0,
                "flags has unknown bits");
        Report target = {report, user};
        gguf::CheckOptions options;
        options.deep = (flags & GGUFX_VALIDATE_DEEP) != 0;
        options.strict = (flags & GGUFX_VALIDATE_STRICT) != 0;
        options.report = pass_on;
        options.user = &target;
        options.progress = import_progress(progress);
        gguf::check_file(*file->file, options);
    });
}
