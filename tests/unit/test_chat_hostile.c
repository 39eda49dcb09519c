/*
 * Templates that try to hang or to exhaust memory: each ends with an error, soon, on a stack of 64
 * KiB.
 * SPDX-License-Identifier: MIT
 */
#include "../text_of.h"
#include "chat_fixture.h"
#include "slow.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct job {
    const char *text;
    rendered r;
} job;

static void *run_job(void *p) {
    job *j = p;
    j->r = render(j->text, "{\"u\":\"some text of a user\",\"n\":30000}");
    return NULL;
}

/* Returns the CPU time of the work in a thread with a small stack: 64 KiB for the call and 64 KiB
 * for the thread's own data and that of sanitizers or emulators. */
static double run_small(job *j) {
    pthread_attr_t attributes;
    pthread_t thread;
    const clock_t start = clock();
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SLOW ? 4 << 20 : 128 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_job, j), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void assert_ends(const char *text, ggufx_status want) {
    double least = 1e9, seconds = 0;
    for (int i = 0; i < 5 && least > 0.1; i++) {
        job j = {text, {0}};
        seconds = run_small(&j);
        if (seconds < least) least = seconds;
        if (j.r.status == GGUFX_OK || (want != GGUFX_OK && j.r.status != want))
            fail_msg("%.70s: %s %s", text, ggufx_status_name(j.r.status), j.r.error.message);
        assert_true(j.r.error.message[0]);
        rendered_free(&j.r);
    }
    if (!SLOW && least > 0.1) fail_msg("%.70s: %.0f ms", text, 1e3 * least);
}

static void test_loops_and_recursion_end(void **state) {
    static const char *const texts[] = {
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(x) %}{{ m(x) }}{{ m(x) }}{% endmacro %}{{ m(1) }}",
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{{ 'a' * 1000000000 }}",
        "{{ 'a' * 9223372036854775807 }}",
        "{{ [0] * 1000000000 }}",
        "{% set ns = namespace(s='abcdefgh') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s "
        "%}{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(100) %}{% set ns.l = ns.l + ns.l %}{% "
        "endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(1000) %}{% set ns.l = [ns.l] %}{% endfor "
        "%}{{ ns.l }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(1000) %}{% set ns.l = [ns.l] %}{% endfor "
        "%}{{ ns.l | tojson }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(1000) %}{% set ns.l = [ns.l, ns.l] %}{% "
        "endfor %}{{ ns.l == ns.l + [] }}{{ ns.l }}",
        "{% set l = [] %}{% set _ = l.append(l) %}{{ l }}",
        "{% set d = {} %}{% set _ = d.update(x=d) %}{{ d | tojson }}",
        "{% set s = 'a' * 100000 %}{% for i in range(99999) %}{% set x = s ~ i %}{% endfor %}",
        "{% set s = 'a' * 900000 %}{% for i in range(99999) %}{% if 'b' in s %}{% endif %}{% "
        "endfor %}",
        "{% set s = 'a' * 500000 %}{% for i in range(99999) %}{% if 'a' * 400000 ~ 'b' in s %}{% "
        "endif %}{% endfor %}",
        "{% set s = 'a' * 900000 %}{% for i in range(99999) %}{{ s | length }}{{ s[5:] == s }}{% "
        "endfor %}",
        "{% set s = 'é' * 200000 %}{% for i in range(99999) %}{% set x = s[i * 2] %}{% endfor %}",
        "{% set s = ('Σ' * 100000) | lower %}{% for i in range(999) %}{% set x = s | upper %}{% "
        "endfor %}",
        "{% for i in range(99999) %}{% set x = range(99999) | list %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = range(9999) | sort(reverse=true) %}{% endfor %}",
        "{{ range(99999) | map('string') | map('upper') | map('lower') | join | replace('1', u * "
        "99) | length }}{% for i in range(99999) %}{{ 1 / 1 }}{{ u | tojson }}{{ u | tojson }}{% "
        "endfor %}",
        "{{ '%999999s' % 1 }}{{ '%9999999s' % 1 }}",
        "{{ '{:9999999}'.format(1) }}",
        "{{ ('%.400f' | format(1e300)) * 100000 }}",
        "{{ 'x' | center(999999999) }}",
        "{{ 'x'.zfill(99999999999) }}",
        "{{ 'a\nb' | indent(9999999999) }}",
        "{{ 2 ** 9999999999 }}",
        "{{ (u * 90000).split('e') | join(u * 900) | length }}",
        "{{ ('a' * 90000).replace('', u * 900) | length }}",
        "{% set x %}{% for i in range(99999) %}{{ u }}{{ u }}{{ u }}{{ u }}{{ u }}{{ u }}{{ u }}{{ "
        "u }}{{ u }}{% endfor %}{% endset %}{% for i in range(99) %}{{ x }}{% endfor %}",
        "{{ [[1]] | map('map', 'map', 'map', 'map', 'map', 'map', 'map', 'map', 'map', 'map') | "
        "list }}",
        "{{ range(99999) | batch(1, 0) | map('batch', 99999, 'x') | list }}",
        "{{ [1] | slice(999999999) | list }}",
        "{{ 'abc'.ljust(99999999999) }}",
        "{{ 'a\tb'.expandtabs(999999999) }}",
        "{% set c = 'a' * 10000 %}{% for i in range(99999) %}{% set x = c.count('a') %}{% endfor "
        "%}",
        "{% set c = 'a' * 10000 %}{% for i in range(99999) %}{% set x = c | truncate(9900) %}"
        "{% endfor %}",
        "{% set z = '0' * 10000 %}{% for i in range(99999) %}{% set x = z | int %}{% endfor %}",
        "{% set c = 'a' * 100000 %}{% for i in range(99999) %}{% set x = c.removeprefix(c) %}"
        "{% endfor %}",
        "{% set f = '%' ~ '-' * 10000 ~ 'd' %}{% for i in range(99999) %}{% set x = f % 1 %}"
        "{% endfor %}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_ends(texts[i], GGUFX_OK);
}

/* Returns n times `open`, then `middle`, then n times `close`. */
static char *nested(size_t n, const char *open, const char *middle, const char *close) {
    const size_t a = strlen(open), b = strlen(close), m = strlen(middle);
    char *out = malloc(n * (a + b) + m + 32), *at = out;
    for (size_t i = 0; i < n; i++, at += a) memcpy(at, open, a);
    memcpy(at, middle, m);
    at += m;
    for (size_t i = 0; i < n; i++, at += b) memcpy(at, close, b);
    *at = 0;
    return out;
}

static void test_nesting_ends(void **state) {
    static const char *const texts[][3] = {
        {"(", "1", ")"},
        {"[", "1", "]"},
        {"{1:", "1", "}"},
        {"not ", "1", ""},
        {"-", "1", ""},
        {"x[", "1", "]"},
        {"f(", "1", ")"},
        {"f(a=", "1", ")"},
        {"1 if 1 else ", "1", ""},
        {"x|f(", "1", ")"},
        {"x is f(", "1", ")"},
        {"(1 or ", "1", ")"},
        {"(1 < ", "1", ")"},
        {"('a' ~ ", "1", ")"},
        {"(1 + ", "1", ")"},
        {"(1 * ", "1", ")"},
        {"1 ** (-", "1", ")"},
        {"x[(", "1", ")]"},
        {"1 if (", "1", ") else 2"},
        {"(1 + 1 * 1 ** ", "1", ")"},
    };
    static const char *const blocks[][2] = {
        {"{% if x %}", "{% endif %}"},
        {"{% for a in b %}", "{% endfor %}"},
        {"{% set x %}", "{% endset %}"},
        {"{% macro m() %}", "{% endmacro %}"},
        {"{% call m() %}", "{% endcall %}"},
        {"{% filter upper %}", "{% endfilter %}"},
        {"{% with %}", "{% endwith %}"},
        {"{% generation %}", "{% endgeneration %}"},
        {"{% for a in b recursive %}", "{% endfor %}"},
        {"{% if x %}{% else %}", "{% endif %}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *inner = nested(100000, texts[i][0], texts[i][1], texts[i][2]);
        char *text = nested(1, "{{ ", inner, " }}");
        assert_ends(text, GGUFX_E_LIMIT);
        free(text);
        text = nested(1, "{{ ", inner, ""); /* and an unterminated one */
        assert_ends(text, GGUFX_OK);
        free(text);
        free(inner);
    }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        char *text = nested(100000, blocks[i][0], "", blocks[i][1]);
        assert_ends(text, GGUFX_E_LIMIT);
        free(text);
    }
}

/* Nesting up to the limits works, on the same stack. */
static void test_allowed_depth_is_there(void **state) {
    char *inner, *text;
    job j = {0};
    (void)state;
    inner = nested(38, "(", "2", ")");
    text = nested(1, "{{ ", inner, " }}");
    j.text = text;
    (void)run_small(&j);
    assert_string_equal(j.r.text, "2");
    rendered_free(&j.r);
    free(inner);
    free(text);
    text = nested(100, "{% for a in [1] %}", "x", "{% endfor %}");
    j.text = text;
    (void)run_small(&j);
    assert_string_equal(j.r.text, "x");
    rendered_free(&j.r);
    free(text);
    j.text =
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}x{% endmacro %}{{ m(190) | length }}";
    (void)run_small(&j);
    assert_string_equal(j.r.text, "191");
    rendered_free(&j.r);
    j.text =
        "{% set ns = namespace(l=[]) %}{% for i in range(95) %}{% set ns.l = [{'a': ns.l}.a] %}"
        "{% endfor %}{{ (ns.l | tojson | length) + (ns.l | string | length) }}{{ ns.l == ns.l + [] "
        "}}";
    (void)run_small(&j);
    assert_string_equal(j.r.text, "384True");
    rendered_free(&j.r);
}

typedef struct poll {
    uint64_t n, last, cancel_at; /* polls so far; steps at the last one */
} poll;

static int32_t count_poll(void *user, uint64_t done, uint64_t total) {
    poll *p = user;
    assert_int_equal(total, 0);
    assert_true(done == 0 || done > p->last);
    p->last = done;
    return ++p->n == p->cancel_at;
}

static rendered render_polled(const char *text, poll *p, uint64_t max_steps) {
    ggufx_chat_request request = {.struct_size = sizeof request};
    ggufx_progress progress = {count_poll, p};
    /* With a message, the forms of the template are probed first. */
    request.messages_json = text_of("[{\"role\":\"user\",\"content\":\"hi\"}]");
    request.max_steps = max_steps;
    request.progress = &progress;
    return render_with(text, &request);
}

/* The hook is called every few thousand steps, and whenever it cancels, the call ends at once: no
 * other form of the conversation is tried. */
static void test_a_progress_hook_ends_a_rendering(void **state) {
    static const char *const texts[] = {
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        "{% for a in range(9999) %}{% set x = range(999) | map('string') | join %}{% endfor %}",
        "{% set c = 'a' * 10000 %}{% for a in range(9999) %}{% set x = c.count('a') %}{% endfor %}",
        "{{ ('a' * 400000).upper() }}{{ raise_exception('no') }}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        poll all = {0};
        rendered r = render_polled(texts[i], &all, 1000000);
        assert_int_not_equal(r.status, GGUFX_OK);
        assert_int_not_equal(r.status, GGUFX_E_CANCELLED);
        assert_true(all.n > 100);
        rendered_free(&r);
        for (uint64_t at = 1; at < all.n; at += 1 + all.n / 16) {
            poll some = {0};
            some.cancel_at = at;
            r = render_polled(texts[i], &some, 1000000);
            assert_int_equal(r.status, GGUFX_E_CANCELLED);
            assert_non_null(strstr(r.error.message, "cancelled"));
            assert_int_equal(some.n, at);
            rendered_free(&r);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_and_recursion_end),
        cmocka_unit_test(test_nesting_ends),
        cmocka_unit_test(test_allowed_depth_is_there),
        cmocka_unit_test(test_a_progress_hook_ends_a_rendering),
    };
    return cmocka_run_group_tests(tests, chat_setup, chat_teardown);
}
