/*
 * Links, FIFOs and folders under names that the library makes up: PATH.patch, PATH.patch.part,
 * parts of a set, temporary files. None is followed, and none blocks a call.
 * SPDX-License-Identifier: MIT
 */
#include "edit_fixture.h"
#include "ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum plant { LINK_TO_FILE, LINK_TO_NOTHING, LINK_TO_FIFO, FIFO, FOLDER, N_PLANTS } plant;

static char victim[TEMPORARY_PATH], nothing[TEMPORARY_PATH], fifo[TEMPORARY_PATH];
static const char precious[] = "precious";

static void name_in_folder(char *out, const char *name) {
    snprintf(out, TEMPORARY_PATH, "%s/%s", folder, name);
}

/* Puts something under a name. The targets of links are elsewhere in the folder. */
static void put_plant(plant what, const char *name) {
    name_in_folder(victim, "victim");
    name_in_folder(nothing, "nothing");
    name_in_folder(fifo, "fifo");
    put_file(victim, precious);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *const to = what == LINK_TO_FILE ? victim : what == LINK_TO_NOTHING ? nothing : fifo;
    if (what == FIFO)
        assert_int_equal(mkfifo(name, 0600), 0);
    else if (what == FOLDER)
        assert_int_equal(mkdir(name, 0700), 0);
    else
        assert_int_equal(symlink(to, name), 0);
}

/* The plant is still there, and what it leads to is unchanged. Removes all of them. */
static void assert_untouched(plant what, const char *name) {
    struct stat there;
    char more[TEMPORARY_PATH + 8];
    if (lstat(name, &there) != 0) fail_msg("%s, plant %d: it is gone", name, what);
    assert_true(what == FIFO     ? S_ISFIFO(there.st_mode)
                : what == FOLDER ? S_ISDIR(there.st_mode)
                                 : S_ISLNK(there.st_mode));
    assert_file(victim, precious, sizeof precious - 1);
    for (int i = 0; i < 3; i++) {
        const char *const to = i == 0 ? victim : i == 1 ? nothing : fifo;
        snprintf(more, sizeof more, "%s.part", to);
        assert_int_not_equal(lstat(more, &there), 0);
    }
    assert_int_not_equal(lstat(nothing, &there), 0);
    assert_int_equal(what == FOLDER ? rmdir(name) : unlink(name), 0);
    unlink(victim);
    unlink(fifo);
}

/* Edits more than a sector, so that a journal is needed. */
static ggufx_status edit_text(ggufx_error *error) {
    static char text[3000];
    ggufx_edit_options how = {.struct_size = sizeof how};
    ggufx_file *f = open_model();
    ggufx_writer *w = copy_of(f);
    memset(text, 'b', sizeof text);
    how.flags = GGUFX_EDIT_IN_PLACE;
    OK(ggufx_writer_set_string(w, S("general.name"), text, sizeof text, ok_error()));
    const ggufx_status status = ggufx_writer_edit(NULL, w, f, path, &how, error);
    ggufx_writer_destroy(w);
    ggufx_file_destroy(f);
    return status;
}

static void test_journals_are_not_followed(void **state) {
    static const char *const suffixes[] = {".patch", ".patch.part"};
    char name[TEMPORARY_PATH + 16];
    (void)state;
    for (int i = 0; i < 2; i++) {
        for (int what = 0; what < N_PLANTS; what++) {
            ggufx_error error;
            int32_t done = 7;
            size_t n = 0, m = 0;
            make_model(8192);
            unsigned char *const before = bytes_of(path, &n);
            snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
            put_plant((plant)what, name);
            assert_int_equal(edit_text(&error), GGUFX_E_IO);
            const ggufx_status status = ggufx_file_recover_edit(&done, rt, path, &error);
            assert_int_equal(status, i ? GGUFX_OK : GGUFX_E_IO); /* no journal, only a leftover */
            unsigned char *const after = bytes_of(path, &m);
            assert_int_equal(m, n);
            assert_memory_equal(before, after, n);
            free(before);
            free(after);
            assert_untouched((plant)what, name);
            OK(edit_text(&error));
            clean();
        }
    }
}

/* A journal beside the target of a link, not beside the link. */
static void test_a_link_that_the_caller_named_is_followed(void **state) {
    char other[TEMPORARY_PATH];
    struct stat there;
    ggufx_error error;
    (void)state;
    make_model(8192);
    name_in_folder(other, "real.gguf");
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink("real.gguf", path), 0);
    OK(edit_text(&error));
    assert_int_equal(lstat(path, &there), 0);
    assert_true(S_ISLNK(there.st_mode));
    clean();
}

static void test_parts_of_a_set_are_not_followed(void **state) {
    char name[TEMPORARY_PATH + 64];
    static const char *const suffixes[] = {"", ".part", ".part.old"};
    (void)state;
    for (int i = 0; i < 6; i++) {
        for (int what = 0; what < N_PLANTS; what++) {
            ggufx_error error;
            ggufx_writer *w = everything();
            ggufx_write_options options = one_by_one(NULL);
            ggufx_writer_facts facts = {.struct_size = sizeof facts};
            OK(ggufx_writer_info(&facts, w, &options, ok_error()));
            snprintf(name, sizeof name, "%.*s-%05d-of-%05u.gguf%s", (int)strlen(path) - 5, path,
                     i % 2 + 1, (unsigned)facts.n_parts, suffixes[i / 2]);
            put_plant((plant)what, name);
            const ggufx_status status = ggufx_writer_write(w, path, &options, &error);
            if (status == GGUFX_OK) fail_msg("%s, plant %d: it was written", name, what);
            assert_untouched((plant)what, name);
            assert_int_equal(n_files(), 0);
            OK(ggufx_writer_write(w, path, &options, &error));
            ggufx_writer_destroy(w);
            clean();
        }
    }
}

static ggufx_status load_cache(const char *name, ggufx_error *error) {
    ggufx_kv_options options = {.struct_size = sizeof options};
    ggufx_kv *kv = NULL;
    options.n_layers = options.n_kv_heads = options.n_q_heads = 1;
    options.head_dim_k = 32;
    OK(ggufx_kv_create(&kv, rt, &options, ok_error()));
    const ggufx_status status = ggufx_kv_load_file(kv, 0, name, error);
    ggufx_kv_destroy(kv);
    return status;
}

/* Files that the caller names are read only if they are regular ones. */
static void test_no_call_waits_for_a_fifo(void **state) {
    ggufx_error error;
    ggufx_file *f = NULL;
    ggufx_imatrix *m = NULL;
    char name[TEMPORARY_PATH];
    int32_t done = 0;
    (void)state;
    for (int what = LINK_TO_FIFO; what < N_PLANTS; what++) {
        name_in_folder(name, "named");
        put_plant((plant)what, name);
        assert_int_equal(load_cache(name, &error), GGUFX_E_IO);
        assert_int_equal(ggufx_file_recover_edit(&done, rt, name, &error), GGUFX_E_IO);
        assert_int_equal(ggufx_open(&f, rt, name, NULL, &error), GGUFX_E_IO);
        assert_int_equal(ggufx_imatrix_open(&m, rt, name, NULL, &error), GGUFX_E_IO);
        assert_untouched((plant)what, name);
    }
}

int main(void) {
    alarm(120); /* a call that waits for a FIFO waits for ever */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_journals_are_not_followed),
        cmocka_unit_test(test_a_link_that_the_caller_named_is_followed),
        cmocka_unit_test(test_parts_of_a_set_are_not_followed),
        cmocka_unit_test(test_no_call_waits_for_a_fifo),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
