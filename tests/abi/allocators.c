/*
 * mimalloc never takes over the host's memory: after the library has loaded it for itself, malloc,
 * free and operator new of every loaded object resolve to something else. Reads the resolved
 * addresses from the objects' own relocations, libggufx's among them.
 * usage: allocators now|deepbind LIBRARY | allocators linked
 * SPDX-License-Identifier: MIT
 */
#include "api_table.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if UINTPTR_MAX > 0xffffffffu
#define REL_SYMBOL ELF64_R_SYM
#else
#define REL_SYMBOL ELF32_R_SYM
#endif

static const char *const kWatched[] = {"malloc", "free", "calloc", "realloc", "posix_memalign",
                                       "_Znwm", "_Znam", "_ZdlPv", "_ZdlPvm", "_Znwj"};
static int n_faults, n_slots, n_of_library;

static void check_slot(const char *object, const char *symbol, ElfW(Addr) slot) {
    Dl_info info;
    void *target = *(void **)slot;
    if (!target || !dladdr(target, &info) || !info.dli_fname) return;
    n_slots++;
    n_of_library += strstr(object, "libggufx") != NULL;
    if (!strstr(info.dli_fname, "mimalloc")) return;
    fprintf(stderr, "%s of %s is %s's\n", symbol, *object ? object : "the program", info.dli_fname);
    n_faults++;
}

static ElfW(Addr) absolute(ElfW(Addr) base, ElfW(Addr) address) {
    return address < base ? address + base : address; /* glibc has relocated most of them */
}

static int check_object(struct dl_phdr_info *object, size_t size, void *user) {
    const ElfW(Dyn) *dynamic = NULL;
    ElfW(Addr) tables[2] = {0, 0}, symbols = 0, strings = 0;
    size_t lengths[2] = {0, 0}, entry = sizeof(ElfW(Rela));
    (void)size, (void)user;
    if (strstr(object->dlpi_name, "mimalloc") || strstr(object->dlpi_name, "vdso")) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        const ElfW(Addr) address = absolute(object->dlpi_addr, dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
        case DT_SYMTAB: symbols = address; break;
        case DT_STRTAB: strings = address; break;
        case DT_RELA: case DT_REL: tables[0] = address; break;
        case DT_RELASZ: case DT_RELSZ: lengths[0] = dynamic->d_un.d_val; break;
        case DT_JMPREL: tables[1] = address; break;
        case DT_PLTRELSZ: lengths[1] = dynamic->d_un.d_val; break;
        case DT_PLTREL: entry = dynamic->d_un.d_val == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel)); break;
        default: break;
        }
    }
    for (int t = 0; t < 2 && symbols && strings; t++)
        for (size_t at = 0; tables[t] && at < lengths[t]; at += entry) {
            const ElfW(Rel) *relocation = (const void *)(tables[t] + at);
            const ElfW(Sym) *symbol = (const ElfW(Sym) *)symbols + REL_SYMBOL(relocation->r_info);
            const char *name = (const char *)strings + symbol->st_name;
            for (size_t i = 0; i < sizeof kWatched / sizeof *kWatched; i++)
                if (strcmp(name, kWatched[i]) == 0)
                    check_slot(object->dlpi_name, name, object->dlpi_addr + relocation->r_offset);
        }
    return 0;
}

static int fault(const char *text) {
    fprintf(stderr, "%s\n", text);
    return 1;
}

/* A runtime with the default allocator, which is mimalloc where the system has it. */
static int use_default_allocator(const struct api *api) {
    ggufx_runtime *rt = NULL;
    ggufx_runtime_facts facts = {.struct_size = sizeof facts};
    if (api->runtime_create(&rt, NULL, NULL) != GGUFX_OK) return fault("no runtime");
    if (api->runtime_info(&facts, rt, NULL) != GGUFX_OK) return fault("no facts");
    const int present = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != NULL;
    const char *expected = api->has("mimalloc") && present ? "mimalloc" : "system";
    printf("the library's allocator: %s\n", facts.allocator_name);
    if (strcmp(facts.allocator_name, expected) != 0) return fault("not the expected allocator");
    dl_iterate_phdr(check_object, NULL);
    api->runtime_destroy(rt);
    dl_iterate_phdr(check_object, NULL);
    return 0;
}

int main(int argc, char **argv) {
    struct api api;
    int dynamic = 0;
    if (argc < 2) return 2;
#if defined(LINKED)
    (void)argv;
    const struct api direct = API_DIRECT;
    api = direct;
    dynamic = LINKED == 1; /* 1: shared library, 2: archive, whose slots are the program's */
#else
    if (argc < 3) return 2;
    void *library = dlopen(argv[2], RTLD_NOW | (strcmp(argv[1], "deepbind") == 0 ? RTLD_DEEPBIND : RTLD_LOCAL));
    if (!library) return fault(dlerror());
    void **slots = (void **)&api;
    for (size_t i = 0; i < sizeof api_names / sizeof *api_names; i++)
        slots[i] = dlsym(library, api_names[i]);
    dynamic = 1;
#endif
    if (use_default_allocator(&api) != 0) return 1;
    printf("%d resolved slots, %d of them the library's\n", n_slots, n_of_library);
    if (n_slots < 4 || (dynamic && n_of_library < 2)) return fault("too few slots were seen");
    return n_faults != 0;
}
