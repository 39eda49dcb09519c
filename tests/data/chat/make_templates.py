"""Small templates with every construct, and their rendering by Python's jinja2.

usage: make_templates.py > templates.json
Needs jinja2 3.1 and Python 3.11; the tests read the JSON and need neither. A template that raises has "error":
true. The environment is that of transformers (trim_blocks, lstrip_blocks, loopcontrols, its tojson), but lists
and dicts may be changed.
SPDX-License-Identifier: MIT
"""
import datetime
import json
import sys

from jinja2.ext import loopcontrols
from jinja2.sandbox import SandboxedEnvironment

VARIABLES = {
    "name": "World",
    "empty": "",
    "text": "  some <b>Text</b>, with\ttabs\nand lines\n\n end  ",
    "uni": "Straße ΣΊΣΥΦΟΣ ǆ İi ﬁn 日本語 😀 é",
    "quote": "it's \"quoted\" \\ back\x7f\u00ad\u200b\u00e9",
    "n": 7, "m": -3, "zero": 0, "big": 9007199254740993, "f": 2.5, "g": -0.1, "h": 1e16, "tiny": 1e-5,
    "yes": True, "no": False, "nothing": None,
    "numbers": [3, 1, 2, 10, -5],
    "words": ["pear", "Apple", "fig", "apple", "Fig"],
    "mixed": [1, "a", None, True, 2.5, [1, 2], {"k": "v"}],
    "d": {"b": 2, "a": 1, "C": 3, "items": "shadow", "nested": {"x": [10, 20, {"y": "deep"}]}},
    "people": [
        {"name": "Ann", "age": 30, "city": {"name": "Rome"}, "tags": ["x", "y"]},
        {"name": "bob", "age": 25, "city": {"name": "Oslo"}, "tags": []},
        {"name": "Cid", "age": 30, "city": {"name": "rome"}},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "Näme \"x\" </b>"}}, "required": ["city"]}}}],
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "<think>hm</think>\n\nHi", "tool_calls": []},
        {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image"}]},
    ],
}

TEXT = r"""
plain text
{{ name }}
{{name}}{{ name }}
a {{- name -}} b
a  {{-   name   -}}  b
{{ 'a' 'b' "c" }}
{{ "tab\there\nnew \x41 \u00e9 \U0001F600 \101 \q \\ \' " }}
{# comment #}x{#- other -#}  y {#+ z +#} w
{% raw %}{{ not }} {% this %}{% endraw %}!
{%- raw -%}  {{ x }}  {%- endraw -%}  tail
{% if yes %}A{% else %}B{% endif %}
{% if no %}A{% elif n == 7 %}B{% elif true %}C{% else %}D{% endif %}
{% if not no and (yes or nothing) %}x{% endif %}
{{ 'a' if yes else 'b' }}{{ 'a' if no else 'b' }}{{ 'a' if no }}|
{{ 'x' if no else 'y' if nothing else 'z' }}
{{ ('a' if yes else 'b') ~ ('c' if no else 'd') }}
{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }}
{{ 2 ** -1 }} {{ 2 ** 0.5 }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }}
{{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 1 / 3 }} {{ 10 / 2 }}
{{ 1e3 }} {{ 1.5e-7 }} {{ 1_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1e100 }} {{ 123456789.0 * 1e8 }}
{{ 0.1 + 0.2 }} {{ 1e15 }} {{ 1e16 }} {{ 1e-4 }} {{ 1e-5 }} {{ 5.0 }} {{ -0.0 }} {{ h }} {{ tiny }} {{ big }}
{{ n + f }} {{ n * f }} {{ yes + 1 }} {{ yes * 3 }} {{ -yes }} {{ +n }} {{ - - n }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ 1 == true }} {{ 'a' == "a" }} {{ nothing == none }} {{ [] == () }}
{{ 'a' < 'b' }} {{ 'B' < 'a' }} {{ [1, 2] < [1, 3] }} {{ (1, 2) >= (1, 1) }} {{ 1 != 2 }} {{ 3 <= 3 }} {{ 2 > 3 }}
{{ 'ell' in 'hello' }} {{ 3 in numbers }} {{ 'a' in d }} {{ 'z' not in d }} {{ 9 not in [1, 2] }} {{ 2 in (1, 2) }}
{{ not 1 == 2 }} {{ not (1 in [1]) }} {{ 1 and 2 }} {{ 0 or 'x' }} {{ '' or none or 0 }} {{ 1 and 0 and 2 }}
{{ 'a' ~ 1 ~ none ~ true ~ 2.0 ~ [1] ~ undefined_thing ~ 'z' }}
{{ 'a' + 'b' * 3 }} {{ [1] + [2, 3] }} {{ (1,) + (2,) }} {{ 'ab' * 0 }} {{ [0] * 3 }} {{ 2 * 'xy' }}
{{ none }} {{ true }} {{ False }} {{ None }} {{ [] }} {{ {} }} {{ () }} {{ (1,) }} {{ (1, 2) }} {{ 1, 2 }}
{{ [1, 'two', 3.0, none, true, [4], {'five': 6, 7: 'eight'}, (9,)] }}
{{ mixed }} {{ d }}
{{ quote }} {{ [quote] }}
{{ uni }} {{ [uni] }}
{{ ["it's", 'say "hi"', 'both \' and "', 'back\\slash', 'new\nline', 'tab\t'] }}
{{ undefined_thing }}|{{ d.missing }}|{{ d['missing'] }}|{{ numbers[99] }}|{{ 'abc'[5] }}
{{ undefined_thing.attr }}
{{ undefined_thing + 1 }}
{{ undefined_thing == other_undefined }} {{ undefined_thing is defined }} {{ undefined_thing is undefined }} {{ not undefined_thing }}
{{ undefined_thing | length }} {{ undefined_thing | list }} {{ undefined_thing | join(',') }}
{{ undefined_thing < 1 }}
{{ undefined_thing() }}
{{ undefined_thing[0] }}
{{ d.a }} {{ d['b'] }} {{ d.nested.x[2].y }} {{ d.nested['x'][0] }} {{ d.get('a') }} {{ d.get('q') }} {{ d.get('q', 5) }}
{{ d['items'] }} {{ d.items() | list }} {{ d.keys() | list }} {{ d.values() | list }}
{{ d.items() }} {{ {'a': 1}.keys() }} {{ {'a': 1}.values() }}
{{ numbers[0] }} {{ numbers[-1] }} {{ numbers.0 }} {{ numbers[1:3] }} {{ numbers[:-1] }} {{ numbers[::-1] }} {{ numbers[::2] }} {{ numbers[10:] }}
{{ name[0] }} {{ name[-1] }} {{ name[1:] }} {{ name[:-2] }} {{ name[::-1] }} {{ name[3:1] }} {{ name[-100:100] }} {{ uni[1:8] }} {{ uni[::-1] }}
{{ (1, 2, 3)[1:] }} {{ 'abc'[1:][0] }} {{ numbers[1:4:2] }} {{ numbers[-1:0:-2] }} {{ name[::0] }}
{{ numbers[none:2] }} {{ numbers[nothing:] }}
{{ numbers['x'] }}|{{ name['upper']() }}
{{ numbers[] }}|{{ d[] }}|{{ name[] }}|{{ nothing[] }}|{{ n[] }}|{{ (1, 2)[] }}|{{ [][] }}|{{ {}[] }}|{{ ''[] }}|{{ range(3)[] }}|{{ yes[] }}|{{ f[ ] }}
{{ numbers[] is defined }} {{ d[] is undefined }} {{ d[] | default('z') }} {{ name[] ~ 'b' }} {{ [d[]] | length }} {{ 'q' if numbers[] else 'r' }}
{% set x = numbers[] %}[{{ x }}]{{ x is defined }}{% for q in d[] %}x{% else %}e{% endfor %}
{% set ns = namespace(x=1) %}{{ ns[] }}|{{ namespace[] }}|{{ d.items[] }}
{{ {(): 7}[] }} {{ {(1, 2): 8}[1, 2] }} {{ {(1, 2): 8}[2, 1] }}|{{ {('a', (1,)): 9}['a', (1,)] }} {{ numbers[1, 2] }}|{{ d['a', 'b'] }}|{{ name[0, 1] }}
{{ {(): {(): 5}}[][] }} {{ numbers[()] }}|{{ numbers[[]] }}|{{ {(): 3}[()] }}
{{ numbers[][0] }}
{{ numbers[][] }}
{{ numbers[].x }}
{{ numbers[]() }}
{{ d[][1:2] }}
{{ undefined_thing[] }}
{{ numbers[] + 1 }}
{{ numbers[,] }}
{{ numbers[1,] }}
{{ numbers[,1] }}
{{ numbers[1:2, 3] }}
{{ numbers[3, 1:2] }}
{{ numbers[]] }}
{{ numbers[ }}
{% set numbers[] = 1 %}
{% set x = 5 %}{{ x }}{% set y = x + 1 %}{{ y }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, d2) = (3, 4) %}{{ c }}{{ d2 }}
{% set t = 1, 2 %}{{ t }}
{% set block %}inner {{ name }}{% endset %}[{{ block }}]
{% set block | upper | replace('W', 'M') %}inner {{ name }}{% endset %}[{{ block }}]
{% set ns = namespace(a=1, b='x') %}{% set ns.a = ns.a + 1 %}{{ ns.a }}{{ ns.b }}{{ ns.zzz }}
{% set ns = namespace({'q': 1}) %}{{ ns.q }}{{ ns }}
{% set ns = namespace() %}{% set ns.text %}block{% endset %}{{ ns.text }}
{% set plain = {} %}{% set plain.x = 1 %}
{% for i in numbers %}{{ i }},{% endfor %}
{% for i in numbers %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}
{% for i in numbers %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}
{% for i in numbers %}{{ loop.cycle('odd', 'even') }}{{ loop.changed(i > 2) }} {% endfor %}
{% for i in [] %}x{% else %}empty{% endfor %}{% for i in [1] %}x{% else %}empty{% endfor %}
{% for i in numbers if i > 1 %}{{ loop.index }}/{{ loop.length }}={{ i }} {% endfor %}
{% for i in numbers if i > 100 %}x{% else %}none{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}
{% for k, v in d | dictsort %}{{ k }}={{ v }};{% endfor %}
{% for k in d %}{{ k }} {% endfor %}
{% for c in 'añb' %}[{{ c }}]{% endfor %}
{% for a, (b, c) in [(1, (2, 3)), (4, (5, 6))] %}{{ a }}{{ b }}{{ c }} {% endfor %}
{% for a, b in [(1, 2, 3)] %}x{% endfor %}
{% for i in 5 %}x{% endfor %}
{% for i in none %}x{% endfor %}
{% for i in undefined_thing %}x{% else %}nothing{% endfor %}
{% for i in range(3) %}{{ i }}{% endfor %} {{ range(2, 10, 3) | list }} {{ range(5, 0, -2) | list }} {{ range(3) }} {{ range(1, 2, 3) }} {{ range(10)[3] }} {{ range(10)[2:4] | list }}
{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in range(2) %}{% for j in range(3) %}{% if j == 1 %}{% continue %}{% endif %}{{ i }}{{ j }}{{ loop.index }} {% endfor %}{{ loop.index }};{% endfor %}
{% for i in range(3) %}{% set x %}a{% if i == 1 %}{% break %}{% endif %}b{% endset %}{{ x }}{% endfor %}
{% for i in range(3) %}{% for j in [] %}x{% else %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endfor %}{% endfor %}
{% set x = 0 %}{% for i in [1, 2] %}{{ x }}{% set x = i %}{{ x }}{% endfor %}{{ x }}
{% for i in [1, 2] %}{% if i == 1 %}{% set z = 'set' %}{% endif %}{{ z }}|{% endfor %}
{% if yes %}{% set w = 'kept' %}{% endif %}{{ w }}
{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}
{% set a = 5 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}
{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}
{% filter upper %}some {{ name }}{% endfilter %}
{% filter replace('o', '0') | title %}foo bOo{% endfilter %}
{% macro m(a, b='d', c=a) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 2) }} {{ m(1, c=3) }} {{ m(b=1, a=2) }} {{ m() }}
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}
{% macro m(a) %}[{{ a }}|{{ caller('in') }}]{% endmacro %}{% call(x) m('arg') %}body {{ x }} {{ name }}{% endcall %}
{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}body{% endcall %}
{% macro m(a) %}{% if caller is defined %}yes{% else %}no{% endif %}{{ a }}{% endmacro %}{{ m(1) }}
{% macro fact(k) %}{% if k <= 1 %}1{% else %}{{ k * fact(k - 1) | int }}{% endif %}{% endmacro %}{{ fact(5) }}
{% macro late() %}{{ later }}{% endmacro %}{% set later = 'x' %}{{ late() }}
{% macro outer() %}{% macro inner(q) %}<{{ q }}>{% endmacro %}{{ inner(1) }}{{ inner(2) }}{% endmacro %}{{ outer() }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m('x') | upper }}{{ m is callable }}{{ m }}
{% macro m() %}  {{- name -}}  {% endmacro %}[{{ m() }}]
{% for i in range(2) %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}
{% for x in [[1, [2, 3]], [4]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}
{% for x in [1] %}{{ loop([1]) }}{% endfor %}
{{ range(1000000) }}
{{ raise_exception('stop ' ~ name) }}
{{ strftime_now('%Y-%m-%d %H:%M:%S %A %a %B %b %d %j %U %w %y %I %p %% %-d %e') }}
{{ strftime_now is defined }} {{ raise_exception is callable }} {{ range is callable }} {{ name is callable }}
{{ name | upper }} {{ name | lower }} {{ 'foo bar-baz (qux)' | title }} {{ 'hELLO wORLD' | capitalize }} {{ uni | upper }} {{ uni | lower }} {{ uni | title }} {{ uni | capitalize }}
{{ text | trim }}| {{ 'xxaxx' | trim('x') }} {{ 5 | trim }} {{ none | trim }}
{{ name | length }} {{ uni | length }} {{ d | length }} {{ numbers | count }} {{ 'x' | length * 2 }}
{{ 5 | length }}
{{ 'a,b' | replace(',', ';') }} {{ 'aaa' | replace('a', 'b', 2) }} {{ 'abc' | replace('', '-') }} {{ 123 | replace('2', 'x') }} {{ 'aXbX' | replace(old='X', new='_') }}
{{ undefined_thing | default('x') }} {{ '' | default('x') }} {{ '' | default('x', true) }} {{ none | d('y') }} {{ none | d('y', boolean=true) }} {{ undefined_thing | d }}|
{{ [1, 2, 3] | join }} {{ [1, 2, 3] | join(', ') }} {{ people | join('/', attribute='name') }} {{ 'abc' | join('.') }} {{ [none, true, 1.5] | join('|') }}
{{ numbers | sort }} {{ numbers | sort(reverse=true) }} {{ words | sort }} {{ words | sort(case_sensitive=true) }} {{ people | sort(attribute='age') | map(attribute='name') | list }} {{ people | sort(attribute='age,name') | map(attribute='name') | list }}
{{ [1, 'a'] | sort }}
{{ words | unique | list }} {{ words | unique(case_sensitive=true) | list }} {{ [1, 1.0, true, 2] | unique | list }}
{{ numbers | min }} {{ numbers | max }} {{ words | min }} {{ words | max }} {{ [] | min }}| {{ people | max(attribute='age') }}
{{ numbers | sum }} {{ people | sum(attribute='age') }} {{ [1.5, 2] | sum(start=10) }} {{ [] | sum }}
{{ numbers | first }} {{ numbers | last }} {{ 'abc' | first }} {{ 'abc' | last }} {{ [] | first }}| {{ '' | last }}|
{{ numbers | reverse | list }} {{ 'abc' | reverse }} {{ (1, 2) | reverse | list }}
{{ 'abc' | list }} {{ d | list }} {{ (1, 2) | list }} {{ numbers | list == numbers }}
{{ people | map(attribute='name') | list }} {{ people | map(attribute='city.name') | join(',') }} {{ people | map(attribute='zip', default='-') | list }} {{ words | map('upper') | list }} {{ [1, 2] | map('string') | list }} {{ [[3, 1], [2]] | map('sort', reverse=true) | list }} {{ people | map(attribute='tags.0') | list }}
{{ numbers | select('odd') | list }} {{ numbers | reject('odd') | list }} {{ numbers | select('gt', 2) | list }} {{ [0, 1, '', 'x'] | select | list }} {{ [0, 1] | reject | list }} {{ words | select('in', ['fig', 'pear']) | list }}
{{ people | selectattr('age', 'equalto', 30) | map(attribute='name') | list }} {{ people | rejectattr('age', 'eq', 30) | map(attribute='name') | list }} {{ people | selectattr('tags') | list | length }} {{ people | selectattr('tags', 'defined') | list | length }} {{ people | selectattr('city.name', '==', 'Rome') | list | length }}
{{ people | map('nosuch') | list }}
{{ people | groupby('age') | length }}{% for age, group in people | groupby('age') %}{{ age }}:{{ group | map(attribute='name') | join(',') }};{% endfor %}
{% for g, l in people | groupby('city.name') %}{{ g }}={{ l | length }};{% endfor %}
{{ numbers | batch(2) | list }} {{ numbers | batch(3, 'x') | list }} {{ numbers | slice(2) | list }} {{ numbers | slice(3, 'f') | list }}
{{ d | dictsort }} {{ {'b': 1, 'A': 3, 'c': 2} | dictsort(true) }} {{ {'b': 1, 'A': 3} | dictsort(by='value') }} {{ {'b': 1, 'A': 3} | dictsort(reverse=true) }}
{{ {'a': 1, 'b': [1]} | items | list }} {{ undefined_thing | items | list }}
{{ 5 | items | list }}
{{ -5 | abs }} {{ g | abs }} {{ 'x' | abs }}
{{ '42' | int }} {{ '42.7' | int }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ 3.9 | int }} {{ -3.9 | int }} {{ true | int }} {{ '0x1f' | int(base=16) }} {{ ' 7 ' | int }} {{ '1_000' | int }} {{ none | int }} {{ '1e3' | int }} {{ 'ff' | int(base=16) }} {{ '-12' | int }} {{ '0b11' | int(0, 2) }}
{{ '4.5' | float }} {{ 'x' | float }} {{ 'x' | float(1.5) }} {{ 3 | float }} {{ '1e5' | float }} {{ ' 2 ' | float }} {{ 'inf' | float }} {{ '-nan' | float }} {{ '+3' | float }} {{ '.5' | float }} {{ '1_0.5' | float }} {{ none | float }}
{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 42.55 | round(1, 'floor') }} {{ 42.51 | round(1, 'ceil') }} {{ 42 | round }} {{ 1234 | round(-2) }} {{ -2.5 | round }} {{ 1e20 | round(2) }} {{ 0.5 | round }} {{ 1250 | round(-2) }} {{ 1350 | round(-2) }}
{{ 'a\nb\n\nc' | indent }} {{ 'a\nb' | indent(2, true) }} {{ 'a\n\nb' | indent(2, blank=true) }} {{ 'a\nb' | indent('>> ') }} {{ 'a\nb' | indent(width=1, first=true) }}|
{{ 'foo bar baz qux' | truncate(9) }} {{ 'foo bar baz qux' | truncate(9, true) }} {{ 'foo bar baz qux' | truncate(11) }} {{ 'foo bar baz qux' | truncate(11, false, '...', 0) }} {{ 'foo bar baz qux' | truncate(8, end='!', leeway=1) }}
{{ '<a href="x">\'&' | e }} {{ '<b>' | escape }} {{ '<b>' | forceescape }} {{ '<b>' | safe }} {{ ('<b>' | e) | e }}
{{ '<b>' | safe + '<i>' }} {{ '<i>' + '<b>' | safe }} {{ ('<b>' | safe) ~ '<i>' }} {{ ['<b>' | safe] }} {{ ('<b>%s' | safe) % '<i>' }} {{ ('<b>' | safe).replace('b', '<') }} {{ ('<b>' | safe) | upper }} {{ ('<' | safe).join(['>', '<']) }} {{ '<b>' | safe is escaped }} {{ ('<{}>' | safe).format('<') }}
{{ 'a b/c?d=é&f' | urlencode }}
{{ 'one two, three_four 5' | wordcount }}
{{ 'abc' | center(9) }}| {{ '%s is %d and %.2f %5s|%-5s| %05d %x %X %o %e %g %%' | format('a', 5, 1.5, 'r', 'l', 42, 255, 255, 8, 12345.678, 0.0001) }}
{{ '%(a)s-%(b)03d' | format(a='x', b=7) }} {{ '%s' % 'x' }} {{ '%s %s' % ('a', 1) }} {{ '%r' % 'it' }} {{ '%+d % d' % (5, 5) }} {{ '%c%c' % (65, 'b') }} {{ '%#x %#o' % (255, 8) }} {{ '%.3s|' % 'abcdef' }} {{ '%5.1f|%-8.3f|' % (3.14159, 2.5) }} {{ '%i' % 3.7 }}
{{ '%s %s' % ('a',) }}
{{ '%d' % 'x' }}
{{ 'no' % 1 }}
{{ '{} {} {0}'.format(1, 2) }}
{{ '{} {}'.format(1, 'b') }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{x}-{y}'.format(x=1, y=none) }} {{ '{{}}'.format() }} {{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }} {{ '{:05d} {:.2f} {:,} {:x} {:+} {:e} {:%}'.format(42, 3.14159, 1234567, 255, 3, 12345.678, 0.25) }} {{ '{:5}|{:<5}|{:,.1f}'.format(3, 4, 12345.67) }}
{{ mixed | tojson }} {{ d | tojson }}
{{ d | tojson(indent=2) }}
{{ [] | tojson(indent=2) }} {{ {} | tojson(indent=4) }} {{ [1, [2, {}]] | tojson(indent=1) }} {{ [1, {'a': 2}] | tojson(4) }}
{{ tools | tojson }} {{ tools | tojson(ensure_ascii=true) }} {{ {'b': 1, 'a': {'d': 1, 'c': 2}} | tojson(sort_keys=true) }} {{ [1, {'a': 2}] | tojson(separators=(',', ':')) }} {{ [1, {'a': 2}] | tojson(separators=[' ; ', ' = '], indent='--') }}
{{ quote | tojson }} {{ uni | tojson }} {{ "\b\f\n\r\t\x01\x1f/<>&'" | tojson }} {{ '😀é' | tojson(ensure_ascii=true) }}
{{ 1.0 | tojson }} {{ 1e20 | tojson }} {{ none | tojson }} {{ true | tojson }} {{ (1, 2) | tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }} {{ 'x' | tojson | length }}
{{ undefined_thing | tojson }}
{{ range(3) | tojson }}
{{ d.items() | tojson }}
{{ numbers | map('string') | tojson }}
{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a b c d'.split(none, 2) }} {{ 'abc'.split('x') }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a--b--c'.split('--')[-1] }} {{ 'a b  c '.split(maxsplit=1) }}
{{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ 'a b c'.rsplit() }} {{ 'a\nb\r\nc\n'.splitlines() }} {{ 'a\nb\n'.splitlines(true) }}
{{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('x') }} {{ 'abc'.rpartition('x') }}
{{ ''.split('') }}
{{ '  x '.strip() }}|{{ '  x '.lstrip() }}|{{ '  x '.rstrip() }}|{{ 'xxyxx'.strip('x') }}|{{ 'abcba'.lstrip('ab') }}|{{ '\u00a0\u3000x\u2003'.strip() }}|{{ 'x\n'.rstrip('\n') }}
{{ 'abc'.startswith('a') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'abc'.startswith('b', 1) }} {{ 'abc'.find('c') }} {{ 'abc'.find('z') }} {{ 'añbñ'.rfind('ñ') }} {{ 'abcabc'.find('c', 3) }} {{ 'aaa'.count('a') }} {{ 'abab'.count('ab') }} {{ 'abc'.index('b') }} {{ 'aaa'.count('') }} {{ 'abc'.endswith('b', 0, 2) }} {{ ''.find('') }} {{ 'abc'.find('', 5) }} {{ 'abc'.count('b', -2) }}
{{ 'abc'.index('z') }}
{{ 'abc'.replace('b', 'xx') }} {{ 'aaa'.replace('a', 'b', 1) }} {{ 'aaa'.replace('', '-') }} {{ '-'.join(['a', 'b']) }} {{ ''.join('abc') }} {{ ', '.join(d) }}
{{ '-'.join([1]) }}
{{ 'aBc'.upper() }} {{ 'aBc'.lower() }} {{ "they're bill's 3rd o'x".title() }} {{ 'aBC dEF'.capitalize() }} {{ 'aBc'.swapcase() }} {{ uni.title() }} {{ uni.swapcase() }} {{ uni.upper() }} {{ 'ΑΣ ΑΣΑ Σ'.lower() }}
{{ 'ab'.ljust(5, '.') }} {{ 'ab'.rjust(5) }}| {{ 'ab'.center(5, '*') }} {{ 'abc'.center(6) }}| {{ '42'.zfill(5) }} {{ '-42'.zfill(5) }} {{ '+1'.zfill(1) }} {{ 'a\tb'.expandtabs() }} {{ 'a\tb\n\tc'.expandtabs(4) }}
{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }} {{ 'abc'.removeprefix('z') }}
{{ '12'.isdigit() }} {{ '1a'.isdigit() }} {{ ''.isdigit() }} {{ 'ab'.isalpha() }} {{ 'é1'.isalnum() }} {{ ' \t'.isspace() }} {{ 'AB'.isupper() }} {{ 'ab1'.islower() }} {{ 'Ab'.islower() }} {{ '²'.isdigit() }} {{ '²'.isdecimal() }} {{ '½'.isnumeric() }} {{ 'ǅ'.isupper() }} {{ 'é'.isascii() }} {{ ''.isascii() }} {{ '1'.islower() }}
{{ name.nosuch }}|{{ name.nosuch is defined }}
{{ name.nosuch() }}
{% set l = [1, 2] %}{{ l.append(3) }}{{ l }}{{ l.pop() }}{{ l }}{{ l.pop(0) }}{{ l }}{% set _ = l.extend([7, 8]) %}{{ l }}{% set _ = l.insert(1, 'x') %}{{ l }}{{ l.index('x') }}{{ l.count(7) }}{% set _ = l.reverse() %}{{ l }}{% set _ = l.remove(7) %}{{ l }}{{ l.copy() }}{% set _ = l.clear() %}{{ l }}
{{ [].pop() }}
{{ [1].index(2) }}
{% set q = {'a': 1} %}{% set _ = q.update({'b': 2}) %}{{ q }}{{ q.pop('a') }}{{ q }}{{ q.setdefault('c', 3) }}{{ q.setdefault('c', 4) }}{{ q }}{{ q.pop('zz', 'none') }}{% set _ = q.update(x=1) %}{{ q }}{{ q.copy() }}{% set _ = q.clear() %}{{ q }}
{{ {}.pop('x') }}
{{ (1, 2, 1).count(1) }} {{ (1, 2).index(2) }}
{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }} {{ dict([('a', 1)]) }} {{ {'a': 1, 'a': 2} }} {{ {1: 'a', true: 'b'} }} {{ {'x': 1}['x'] }} {{ {(1, 2): 3}[(1, 2)] }}
{{ {[1]: 2} }}
{{ {'a': 1}[[1]] }}|
{{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ [1, [2]] == [1, [2]] }} {{ 'a' == 1 }} {{ none == false }} {{ 1.0 in [1] }} {{ '1' in [1] }}
{{ none in 'abc' }}
{{ 1 in 5 }}
{{ 1 < 'a' }}
{{ none < 1 }}
{{ 'a' + 1 }}
{{ 1 + 'a' }}
{{ [1] + (2,) }}
{{ none + 1 }}
{{ 1 / 0 }}
{{ 1 % 0 }}
{{ -'a' }}
{{ n is number }} {{ f is float }} {{ n is integer }} {{ yes is integer }} {{ yes is boolean }} {{ yes is number }} {{ name is string }} {{ numbers is string }} {{ d is mapping }} {{ numbers is sequence }} {{ name is sequence }} {{ d is sequence }} {{ n is iterable }} {{ name is iterable }} {{ none is none }} {{ n is none }} {{ yes is true }} {{ 1 is true }} {{ no is false }} {{ 0 is false }} {{ (1,) is sequence }}
{{ 3 is odd }} {{ 3 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ 'a' is lower }} {{ 'A' is upper }} {{ 'Aa' is upper }} {{ 1 is eq 1 }} {{ 1 is equalto 2 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is ge 2 }} {{ 2 is gt(1) }} {{ 1 is le 1 }} {{ 'x' is in 'xyz' }} {{ 1 is in [1] }} {{ 1 is not in [2] }} {{ 1 is sameas 1 }} {{ none is sameas none }} {{ 1 is sameas true }} {{ 'upper' is filter }} {{ 'zip' is filter }} {{ 'odd' is test }}
{{ n is not none }} {{ n is not defined }} {{ not n is defined }} {{ n is defined and n > 5 }} {{ (n is defined) == true }}
{{ n is nosuchtest }}
{{ n | nosuchfilter }}
{% if no %}{{ n | nosuchfilter }}{% endif %}ok
{{ name | attr('upper') is callable }} {{ d | attr('a') }}|
{{ n is defined ~ 'x' }}
{{ numbers | length > 3 }} {{ numbers | length + 1 }} {{ -numbers | length }} {{ (numbers | first) * 2 }} {{ numbers | first * 2 }} {{ not numbers | length }}
{{ 'a' in 'abc' and 'b' in 'abc' }} {{ 'a' not in 'b' or false }} {{ 1 + 1 == 2 and 'x' ~ 1 == 'x1' }}
{{ 2 * 3 ~ 4 + 5 }}
{{ 1 ~ 2 + 3 ~ 4 }}
{{ [1, 2, 3,] }} {{ {'a': 1,} }} {{ (1, 2,) }} {{ [[]] }} {{ [{'a': [{}]}] }}
{{ m | abs + 1 }} {{ m | string ~ 'x' }} {{ -m }} {{ (-m) ** 2 }}
  {% if yes %}
  indented
  {% endif %}
tail
{%- if yes -%}  squeezed  {%- endif -%}  end
a
  {%+ if yes %}kept{% endif +%}
b
{% if yes +%}
kept newline
{% endif %}
x {% if yes %} y {% endif %} z
{% for i in [1, 2] -%}
  {{ i }}
{%- endfor %}

{{ name }}

{{ name }}
	{# tab comment #}
after
text {# inline #} more
{% set x = 1 %}

blank line above
{% if yes %}{{ name }}{% endif %}   
trailing spaces
{{ messages[0]['content'] }}{{ messages[-1].content[0].text }}{{ messages[1:] | length }}
{% for m in messages %}{% if m.role == 'user' and m.content is string %}U:{{ m.content }}{% elif m.content is not string %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% else %}<{{ p['type'] }}>{% endif %}{% endfor %}{% else %}{{ m['role'] | upper }}:{{ m.content.split('</think>')[-1].lstrip('\n') }}{% endif %}|{% endfor %}
{%- set ns = namespace(found=false, last=-1) %}{%- for m in messages[::-1] %}{%- set index = messages | length - 1 - loop.index0 %}{%- if not ns.found and m.role == 'user' %}{%- set ns.found = true %}{%- set ns.last = index %}{%- endif %}{%- endfor %}{{ ns.last }}{{ ns.found }}
{%- for tool in tools %}{{ tool.function.name }}: {{ tool.function | tojson }}{{ tool.function.parameters.properties.items() | list | length }}{% for k, v in tool.function.parameters.properties | items %}{{ k }}{{ v.type }}{% endfor %}{% endfor %}
{%- macro render(t, depth=0) -%}{%- if t is mapping -%}{ {%- for k, v in t.items() -%}{{ k }}: {{ render(v, depth + 1) }}{{ ', ' if not loop.last }}{%- endfor -%} }{%- elif t is iterable and t is not string -%}[{%- for v in t -%}{{ render(v, depth + 1) }}{{ ',' if not loop.last else '' }}{%- endfor -%}]{%- else -%}{{ t | tojson }}{%- endif -%}{%- endmacro -%}{{ render(d) }} {{ render(tools) }}
{{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ messages | map(attribute='role') | join(',') }} {{ (messages | first).content }} {{ messages | rejectattr('role', 'in', ['user', 'system']) | map(attribute='content') | first }}
{% set msgs = messages[1:] if messages[0].role == 'system' else messages %}{{ msgs | length }}{% set system = messages[0].content | trim if messages[0].role == 'system' else '' %}{{ system }}
{{ messages[0].get('tool_calls', []) | length }}{{ messages[2].tool_calls is defined and messages[2].tool_calls }}{{ 'content' in messages[0] }}{{ messages[0].content is not none }}
{% if messages[9] is defined %}x{% else %}y{% endif %}{% if messages[9].role %}x{% endif %}
{% set x = {'a': [1, 2]} %}{% for k, v in x.items() %}{% for i in v %}{{ k ~ i }}{{ ', ' if not loop.last else '; ' }}{% endfor %}{% endfor %}
{{ "a" if name == "World" and not no else "b" }}{{ 1 if [] else 2 }}{{ 1 if {} or '' else 2 }}
{{ [1, 2, 3] | map('int') | sum }}{{ ['1', 'b'] | map('int', default=9) | list }}
{{ loop }}|{{ loop is defined }}
{% for i in [1, 2] %}{% for j in [1] %}{{ loop.length }}{% endfor %}{{ loop.length }}{{ loop }}{% endfor %}
{% set x = namespace(l=[]) %}{% for i in range(3) %}{% set x.l = x.l + [i] %}{% endfor %}{{ x.l }}
{% set s = namespace(t='') %}{% for i in range(20) %}{% set s.t = s.t ~ i ~ ',' %}{% endfor %}{{ s.t }}{{ s.t | length }}
{{ 1 }}{{ '' }}{{ 2 }}{{- 3 -}}  {{ 4 }}
{{ {'a': {'b': {'c': 1}}}.a.b.c }} {{ [[1, 2], [3]][0][1] }} {{ ('a', 'b')[0] }} {{ "x".upper().lower().strip() }}
{{ numbers | select('greaterthan', 1) | map('string') | join('+') }} {{ numbers | select('divisibleby', 5) | list }}
{{ caller }}|{{ varargs }}|{{ kwargs }}
{% macro m(*a) %}{% endmacro %}
{% macro a(x) %}{{ x }}{% endmacro %}{% set args = [5] %}{{ a(*args) }}
{{ numbers | sort | first }} {{ (numbers | sort)[1] }} {{ numbers | sort(false, true) }}
{{ "%s" | format(none) }} {{ "%s" | format([1, 'a']) }} {{ "%5d|%-5d|" | format(3, 4) }} {{ '%s' % [1] }} {{ '%s' % d.a }}
{{ "é" | urlencode }} {{ '日本' | length }} {{ '日本'[1] }} {{ '日本' | reverse }} {{ '日本' | list }}
{{ "a" * 3 ~ "b" }} {{ ["a"] * 2 }} {{ 3 * "-" }} {{ "-" * m }}|
{{ h * 10 }} {{ 1e22 }} {{ 1.5e300 * 1e10 }} {{ 123456.789 }} {{ 1e23 }} {{ 5e-324 }} {{ 1.7976931348623157e308 }} {{ 0.1 }} {{ 100.0 }} {{ 12345678901234567.0 }}
{{ 9223372036854775807 }} {{ -9223372036854775807 - 1 }} {{ 3000000000 * 3 }}
{% if 'x' is string and 5 is number %}both{% endif %}{% if yes is sameas true %}same{% endif %}
{% set v = [] %}{% if v %}t{% else %}f{% endif %}{% if v is defined %}d{% endif %}{% if 0.0 %}t{% endif %}{% if '0' %}t{% endif %}{% if [0] %}t{% endif %}
{% for k, v in {'x': 1, 'y': [2]}.items() if v is number %}{{ k }}{% endfor %}
{% for a in [1, 2, 3] if a != 2 recursive %}{{ a }}{{ loop.last }}{% endfor %}
{% for p in people | sort(attribute='name') %}{{ loop.index }}.{{ p.name }}{% if not loop.last %}, {% endif %}{% endfor %}
{% filter indent(2) %}a
b{% endfilter %}
{% call name() %}{% endcall %}
{% macro x() %}{{ caller(1, k=2) }}{% endmacro %}{% call(a, k=5, z=6) x() %}{{ a }}{{ k }}{{ z }}{% endcall %}
{{ 'a\
b' }}
{{ '' 'x' }}{{ "\"" }}{{ '\'' }}{{ "{{ x }}" }}{{ '%}' }}
{{ {'a':1}['a'] }}{{ {'a':{'b':2}} ['a']['b'] }}{{ [1,2][0] }}
{{ (yes, no) | select | list }} {{ 'x' ~ (1 if no else 2) }} {{ [1 if yes else 2, 3] }} {{ {'k': 1 if no else 2} }}
{% set x = yes and 'on' or 'off' %}{{ x }} {{ nothing or 'default' }} {{ nothing and 'x' }}
{{ name.__class__ }}|
{{ d.__len__ is defined }}
{{ numbers is mapping }}{{ undefined_thing is iterable }}{{ undefined_thing is sequence }}{{ none is iterable }}{{ undefined_thing is string }}{{ undefined_thing is none }}
{% unknown %}
{% if %}
{% if yes %}
{% endif %}
{% for x in %}{% endfor %}
{{ }}
{{ 1 + }}
{{ 'open }}
{{ (1 }}
{{ 1 2 }}
{% set 5 = 1 %}
{% set true = 1 %}
{{ x | }}
{# open
{% raw %} open
{{ a.b. }}
{{ [1, 2 }}
{{ {1} }}
{% else %}
{% elif x %}
{% endfor %}
{% break %}
{% for i in [1] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}
{% include 'x' %}
{% extends 'x' %}
{% import 'x' as y %}
{{ ! }}
{{ $ }}
{{ 1 = 2 }}
{% set x = 1 y = 2 %}
{{ a b }}
{{ m(a=1, 2) }}
{{ is }}|
{{ 1 if }}
{{ n[:2] }}
{{ d[1:] }}
{{ words | sort(attribute='age') | list }} {{ none | map('string') | list }} {{ [1, 2] | truncate(5) }}
""".strip("\n")


def stop(message):
    raise ValueError(message)


def tojson(x, indent=None, separators=None, sort_keys=False, ensure_ascii=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    env.filters["tojson"] = tojson
    env.globals.update(raise_exception=stop,
                       strftime_now=lambda f: datetime.datetime(2024, 11, 22, 15, 4, 5).strftime(f))
    return env


def templates():
    """Returns the templates, one per line; those with line breaks are in MORE."""
    return TEXT.split("\n") + MORE


MORE = [
    "  {% if yes %}\n  indented\n  {% endif %}\ntail",
    "a\n  {%+ if yes %}kept{% endif +%}\nb",
    "{% if yes +%}\nkept newline\n{% endif %}\n",
    "{% for i in [1, 2] -%}\n  {{ i }}\n{%- endfor %}\n\n{{ name }}\n\n{{ name }}\n",
    "\t{# tab comment #}\nafter\ntext {# inline #} more\n",
    "{% set x = 1 %}\n\nblank line above\n{% if yes %}{{ name }}{% endif %}   \ntrailing spaces\n\n",
    "crlf\r\n{% if yes %}\r\nx\r\n{% endif %}\r\nold mac\rend\r\n",
    "{{ 'a\\\nb' }}{{ 'line\nbreak' }}{{ 'cr\r\nlf' | length }}",
    "{% filter indent(2) %}a\nb{% endfilter %}",
    "  {{ name }}  \n  {#- c -#}  \n  x",
    "{% raw %}\n  kept {{ x }}\n  {% endraw %}\n  after",
    "  {% raw %}x{% endraw %}  \n",
    "{%- raw %} a {% endraw -%} \n b",
    "{% if yes %}\n\n{% endif %}\n\n{# c #}\n\nx",
    "x\n    {%- if yes %}\n    y\n    {%- endif %}\n    z",
    "{% for m in messages %}\n    {% if m.role == 'user' %}\nuser\n    {% else %}\nother\n    {% endif %}\n{% endfor %}\ndone\n",
    "\u00a0\u3000 {%- if yes -%} \u2003 x \u00a0{%- endif %}",
    "\u00a0 {% if yes %}x{% endif %}",
    "a {% if yes %}\n  b\n  {% endif %} c {# d #}\n e",
    "{{ name }}\n",
    "{{ name }}\n\n",
    "\n",
    "",
    "{% set a %}\n x\n{% endset %}\n[{{ a }}]",
    "{%if yes%}x{%endif%}{{name}}{#c#}",
    "{% macro m(a,\n  b=2) %}\n  {{ a }}{{ b }}\n{% endmacro %}\n{{ m(1) }}",
    "{{ [1,\n 2,\n 3] }}{{ {\n'a': 1\n} }}",
    "{ {% if yes %}}{% endif %} } {{ '{' }} { { %} #}",
    "{{ '\\ud83d\\ude00' | length is number }}",
    "{% for i in range(3) %}\n{{ i }}\n{% else %}\nnone\n{% endfor %}",
    "{% if yes -%} a {%- else -%} b {%- endif %}\n c",
]


def main():
    env = environment()
    out = []
    for text in templates():
        row = {"template": text}
        try:
            row["text"] = env.from_string(text).render(**json.loads(json.dumps(VARIABLES)))
            row["text"].encode()
        except Exception as error:  # any exception counts as an error
            row.pop("text", None)
            row["error"] = True
            row["why"] = f"{type(error).__name__}: {error}"
        out.append(row)
    json.dump({"variables": VARIABLES, "clock": 1732287845, "templates": out}, sys.stdout, ensure_ascii=False,
              indent=0)
    print()


if __name__ == "__main__":
    main()
