/*
 * dump FLAGS FILE: prints all contents of a file as JSON for golden.py: strings and tensor data in
 * hexadecimal, numbers as integers or float bits. FLAGS: letters m(etadata) r(ead) 1 (legacy v1)
 * s(ingle). A refused file gives exit code 1 and a line STATUS OFFSET MESSAGE.
 * SPDX-License-Identifier: MIT
 */
#include "checked.h"

#include <inttypes.h>
#include <string.h>

static void hex(const void *data, size_t n) {
    const unsigned char *p = data;
    size_t i;
    putchar('"');
    for (i = 0; i < n; i++) printf("%02x", p[i]);
    putchar('"');
}

static void number(const ggufx_file *f, size_t index, uint64_t i, int32_t type) {
    if (type == GGUFX_VALUE_F32 || type == GGUFX_VALUE_F64) {
        double d = 0;
        float s;
        uint64_t u = 0;
        uint32_t v;
        check(ggufx_file_meta_array_f64(&d, f, index, i, 1, &error));
        s = (float)d;
        memcpy(&u, &d, sizeof u);
        memcpy(&v, &s, sizeof v);
        if (type == GGUFX_VALUE_F32) u = v;
        printf("%" PRIu64, u);
    } else if (type == GGUFX_VALUE_U64) {
        uint64_t u = 0;
        check(ggufx_file_meta_array_u64(&u, f, index, i, 1, &error));
        printf("%" PRIu64, u);
    } else {
        int64_t v = 0;
        check(ggufx_file_meta_array_i64(&v, f, index, i, 1, &error));
        printf("%" PRId64, v);
    }
}

static void value(const ggufx_file *f, size_t index, const ggufx_meta_facts *e) {
    ggufx_text text = {NULL, 0};
    size_t inner = 0;
    uint64_t i;
    if (e->type == GGUFX_VALUE_STRING) {
        check(ggufx_file_meta_string(&text, f, index, &error));
        hex(text.data, text.size);
    } else if (e->type != GGUFX_VALUE_ARRAY) {
        number(f, index, 0, e->type);
    } else {
        putchar('[');
        for (i = 0; i < e->count; i++) {
            if (i) putchar(',');
            if (e->element_type == GGUFX_VALUE_STRING) {
                check(ggufx_file_meta_array_string(&text, f, index, i, &error));
                hex(text.data, text.size);
            } else if (e->element_type == GGUFX_VALUE_ARRAY) {
                ggufx_meta_facts below = {.struct_size = sizeof below};
                check(ggufx_file_meta_array_nested(&inner, f, index, i, &error));
                check(ggufx_file_meta_at(&below, f, inner, &error));
                value(f, inner, &below);
            } else {
                number(f, index, i, e->element_type);
            }
        }
        putchar(']');
    }
}

static void keys(const ggufx_file *f) {
    size_t i;
    printf("\"kv\":[");
    for (i = 0; i < ggufx_file_meta_count(f); i++) {
        ggufx_meta_facts e = {.struct_size = sizeof e};
        check(ggufx_file_meta_at(&e, f, i, &error));
        printf("%s\n{\"key\":", i ? "," : "");
        hex(e.key.data, e.key.size);
        printf(",\"type\":%d,\"element\":%d,\"count\":%" PRIu64 ",\"value\":", e.type,
               e.element_type, e.count);
        value(f, i, &e);
        putchar('}');
    }
    printf("],\n");
}

static void tensors(const ggufx_file *f) {
    size_t i;
    uint32_t k;
    printf("\"tensors\":[");
    for (i = 0; i < ggufx_file_tensor_count(f); i++) {
        const ggufx_tensor *t = ggufx_file_tensor(f, i);
        ggufx_tensor_facts e = {.struct_size = sizeof e};
        ggufx_type_facts type = {.struct_size = sizeof type};
        check(ggufx_tensor_info(&e, t, &error));
        check(ggufx_type_info(&type, e.type, &error));
        printf("%s\n{\"name\":", i ? "," : "");
        hex(e.name.data, e.name.size);
        printf(",\"type\":\"%s\",\"type_id\":%u,\"offset\":%" PRIu64 ",\"abs_offset\":%" PRIu64
               ",\"nbytes\":%" PRIu64 ",\"ne\":[",
               type.name, e.type, e.offset, e.file_offset, e.n_bytes);
        for (k = 0; k < e.n_dims; k++) printf("%s%" PRIu64, k ? "," : "", e.ne[k]);
        printf("],\"data\":");
        hex(ggufx_tensor_data(t), ggufx_tensor_data(t) ? (size_t)e.n_bytes : 0);
        putchar('}');
    }
    printf("]}\n");
}

int main(int argc, char **argv) {
    ggufx_runtime *rt = NULL;
    ggufx_file *f = NULL;
    ggufx_open_options o = {.struct_size = sizeof o};
    ggufx_file_facts facts = {.struct_size = sizeof facts};
    if (argc != 3) return 2;
    if (strchr(argv[1], 'm')) o.flags |= GGUFX_OPEN_METADATA_ONLY;
    if (strchr(argv[1], '1')) o.flags |= GGUFX_OPEN_LEGACY_V1;
    if (strchr(argv[1], 's')) o.flags |= GGUFX_OPEN_SINGLE;
    if (strchr(argv[1], 'S')) o.flags |= GGUFX_OPEN_STRICT;
    if (strchr(argv[1], 'r')) o.io = GGUFX_IO_READ;
    check(ggufx_runtime_create(&rt, NULL, &error));
    check(ggufx_open(&f, rt, argv[2], &o, &error));
    check(ggufx_file_info(&facts, f, &error));
    printf("{\"version\":%u,\"big_endian\":%u,\"alignment\":%" PRIu64 ",\"meta_end\":%" PRIu64
           ",\"data_offset\":%" PRIu64 ",\"file_size\":%" PRIu64 ",\n",
           facts.version, facts.big_endian, facts.alignment, facts.meta_end, facts.data_offset,
           facts.file_size);
    keys(f);
    tensors(f);
    ggufx_file_destroy(f);
    ggufx_runtime_destroy(rt);
    return 0;
}
