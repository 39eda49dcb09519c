/*
 * rewrite FLAGS IN OUT: writes a copy of a file, of the same version (1 becomes 3) and byte order.
 * FLAGS: letters 1 (accept version 1) s(ingle), as for dump.
 * SPDX-License-Identifier: MIT
 */
#include "checked.h"

#include <string.h>

int main(int argc, char **argv) {
    ggufx_runtime *rt = NULL;
    ggufx_file *f = NULL;
    ggufx_writer *w = NULL;
    ggufx_open_options o = {.struct_size = sizeof o};
    ggufx_writer_options options = {.struct_size = sizeof options};
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    if (argc != 4) return 2;
    if (strchr(argv[1], '1')) o.flags |= GGUFX_OPEN_LEGACY_V1;
    if (strchr(argv[1], 's')) o.flags |= GGUFX_OPEN_SINGLE;
    check(ggufx_runtime_create(&rt, NULL, &error));
    check(ggufx_open(&f, rt, argv[2], &o, &error));
    check(ggufx_file_info(&facts, f, &error));
    options.version = facts.version == 1 ? 3 : facts.version;
    options.flags = facts.big_endian ? GGUFX_WRITE_BIG_ENDIAN : 0;
    check(ggufx_writer_create(&w, rt, &options, &error));
    check(ggufx_writer_copy_meta(w, f, &error));
    check(ggufx_writer_copy_tensors(w, f, &error));
    check(ggufx_writer_write(w, argv[3], NULL, &error));
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    ggufx_runtime_destroy(rt);
    return 0;
}
