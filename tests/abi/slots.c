/* SPDX-License-Identifier: MIT */
#include "slots.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#if UINTPTR_MAX > 0xffffffffu
#define REL_SYMBOL ELF64_R_SYM
#else
#define REL_SYMBOL ELF32_R_SYM
#endif

typedef struct visit {
    slots_visitor visit;
    void *user;
} visit;

typedef struct tables {
    ElfW(Addr) relocations[2], symbols, strings;
    size_t lengths[2], entry;
} tables;

static ElfW(Addr) absolute(ElfW(Addr) base, ElfW(Addr) address) {
    return address < base ? address + base : address; /* glibc has relocated most of them */
}

static tables find_tables(const struct dl_phdr_info *object) {
    tables t = {.entry = sizeof(ElfW(Rela))};
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        const ElfW(Addr) address = absolute(object->dlpi_addr, dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            t.symbols = address;
            break;
        case DT_STRTAB:
            t.strings = address;
            break;
        case DT_RELA:
        case DT_REL:
            t.relocations[0] = address;
            break;
        case DT_RELASZ:
        case DT_RELSZ:
            t.lengths[0] = dynamic->d_un.d_val;
            break;
        case DT_JMPREL:
            t.relocations[1] = address;
            break;
        case DT_PLTRELSZ:
            t.lengths[1] = dynamic->d_un.d_val;
            break;
        case DT_PLTREL:
            t.entry = dynamic->d_un.d_val == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
            break;
        default:
            break;
        }
    }
    return t;
}

static void visit_slot(const visit *v, const char *object, const char *symbol, ElfW(Addr) slot) {
    Dl_info info;
    void *target = *(void **)slot;
    if (!*symbol || !target || !dladdr(target, &info) || !info.dli_fname) return;
    v->visit(v->user, object, symbol, info.dli_fname);
}

static int visit_object(struct dl_phdr_info *object, size_t size, void *user) {
    const tables t = find_tables(object);
    (void)size;
    if (strstr(object->dlpi_name, "vdso") || !t.symbols || !t.strings) return 0;
    for (int i = 0; i < 2; i++)
        for (size_t at = 0; t.relocations[i] && at < t.lengths[i]; at += t.entry) {
            const ElfW(Rel) *relocation = (const void *)(t.relocations[i] + at);
            const size_t index = REL_SYMBOL(relocation->r_info);
            const ElfW(Sym) *symbol = (const ElfW(Sym) *)t.symbols + index;
            if (index == 0) continue; /* relative relocation: no symbol */
            visit_slot(user, object->dlpi_name, (const char *)t.strings + symbol->st_name,
                       object->dlpi_addr + relocation->r_offset);
        }
    return 0;
}

void slots_visit(slots_visitor visitor, void *user) {
    visit v = {visitor, user};
    dl_iterate_phdr(visit_object, &v);
}
