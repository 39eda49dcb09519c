"""ggufx serve: the memory of one request is at most 16 bytes per byte of its body, plus 16 MiB.
SPDX-License-Identifier: MIT
"""
import re
import unittest

import serve_case
import tool
from serve_api import reranker
from tool import main

SIZE = 1 << 20
CHAT, COMPLETION, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"


def repeated(head, item, tail, separator=","):
    """Returns a body of about SIZE bytes: `head`, the item again and again, `tail`."""
    room = SIZE - len(head.encode()) - len(tail.encode())
    return head + separator.join([item] * (room // len((item + separator).encode()))) + tail


def numbered(head, item, tail):
    """The same, with the index of each item in its text."""
    out, size = [], len(head) + len(tail)
    while size < SIZE:
        out.append(item % len(out))
        size += len(out[-1]) + 1
    return head + ",".join(out) + tail


def bodies():
    """Yields names, paths and bodies that need much memory for their size, each for another reason."""
    user = '{"max_tokens":1,"messages":[{"role":"user","content":"'
    tools = '{"name":"f","parameters":{"type":"object","properties":{'
    for name, text in (("byte", "x"), ("words", "Once upon a time "), ("escape", "\\u0041"), ("emoji", "\U0001f600"),
                       ("mark", "\u0301"), ("control", "\\u0000"), ("surrogate", "\\ud800")):
        yield "tokenize " + name, "/tokenize", repeated('{"content":"', text, '"}', "")
        yield "pieces " + name, "/tokenize", repeated('{"with_pieces":true,"content":"', text, '"}', "")
        yield "template " + name, "/apply-template", repeated(user, text, '"}]}', "").replace('"max_tokens":1,', "")
    for name, text in (("words", "Once "), ("byte", "x")):
        yield "chat " + name, CHAT, repeated(user, text, '"}]}', "")
        yield "completion " + name, COMPLETION, repeated('{"max_tokens":1,"prompt":"', text, '"}', "")
        yield "suffix " + name, COMPLETION, repeated('{"max_tokens":1,"prompt":"a","suffix":"', text, '"}', "")
        yield "responses " + name, RESPONSES, repeated('{"max_output_tokens":1,"input":"', text, '"}', "")
        yield "embeddings " + name, "/v1/embeddings", repeated('{"input":"', text, '"}', "")
    for name, item in (("digits", "7"), ("ids", "400"), ("doubles", "7.0"), ("large", "5000000000"), ("lists", "[]"),
                       ("objects", "{}"), ("strings", '""'), ("nulls", "null"), ("deep", "[" * 60 + "]" * 60)):
        yield "detokenize " + name, "/detokenize", repeated('{"tokens":[', item, "]}")
        yield "prompt " + name, COMPLETION, repeated('{"max_tokens":1,"prompt":[', item, "]}")
        yield "input " + name, "/v1/embeddings", repeated('{"input":[', item, "]}")
        yield "unknown " + name, CHAT, repeated('{"unknown":[', item, "]}")
        yield "variable " + name, CHAT, repeated(user + 'a"}],"chat_template_kwargs":{"a":[', item, "]}}")
        yield "output " + name, RESPONSES, repeated(
            '{"max_output_tokens":1,"input":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},'
            '{"type":"function_call_output","call_id":"a","output":{"a":[', item, "]}}]}")
    yield "lists of ids", "/v1/embeddings", repeated('{"input":[', "[1]", "]}")
    yield "long list of ids", "/v1/embeddings", repeated('{"input":[[1],[', "1", "]]}")
    yield "messages", CHAT, repeated('{"messages":[', '{"role":"user","content":""}', "]}")
    yield "parts", CHAT, repeated(user[:-1] + "[", '{"type":"text","text":"a"}', "]}]}")
    yield "items", RESPONSES, repeated('{"max_output_tokens":1,"input":[', '{"role":"user","content":"a"}', "]}")
    yield "arguments", CHAT, repeated(
        user + 'a"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":'
        '"{\\"a\\":[', "[]", ']}"}}]}]}')
    yield "biases", COMPLETION, numbered('{"prompt":"a","logit_bias":{', '"%d":1', "}}")
    yield "members", CHAT, numbered("{", '"%x":0', "}")
    yield "variables", CHAT, numbered(user + 'a"}],"chat_template_kwargs":{', '"%x":0', "}}")
    yield "metadata", RESPONSES, numbered('{"max_output_tokens":1,"input":"a","metadata":{', '"%x":"a"', "}}")
    yield "properties", CHAT, numbered(user + 'a"}],"tools":[{"type":"function","function":' + tools, '"%x":{}', "}}}}]}")
    yield "flat properties", RESPONSES, numbered(
        '{"max_output_tokens":1,"input":"a","tools":[{"type":"function",' + tools[1:], '"%x":{}', "}}}]}")
    yield "enum", CHAT, numbered(
        user + 'a"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"enum":[', '"%x"', "]}}}}")
    yield "schema", CHAT, numbered(
        user + 'a"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object",'
        '"properties":{', '"%x":{"type":"string"}', "}}}}}")
    yield "stops", COMPLETION, repeated('{"prompt":"a","stop":[', '"a"', "]}")
    yield "cut", COMPLETION, repeated('{"prompt":[', "[]", "")
    yield "long name", COMPLETION, repeated('{"', "a", '":1}', "")


class Memory(serve_case.Served):
    def peak(self, server, path, body):
        """Returns the growth of the server's memory in bytes during a request, and the status."""
        folder = "/proc/%d/" % server.process.pid
        with open(folder + "clear_refs", "w") as file:
            file.write("5")  # the peak begins anew

        def kib(name):
            with open(folder + "status") as file:
                return int(re.search(name + r":\s+(\d+)", file.read())[1])

        before = kib("VmRSS")
        with server.open(path, body.encode("utf-8", "surrogatepass")) as response:
            while response.read(1 << 16):
                pass
        return (kib("VmHWM") - before) << 10, response.status

    def check(self, server, all_bodies):
        for name, path, body in tool.stepped(list(all_bodies)):
            with self.subTest(name):
                n, status = self.peak(server, path, body)
                self.assertIn(status, (200, 400))
                self.assertLessEqual(n, 16 * len(body.encode()) + (16 << 20), status)

    @unittest.skipIf(tool.SANITIZED, "sanitizers need memory, too")
    def test_bodies(self):
        self.check(self.serve("--embeddings", "--parallel", 2), bodies())

    def test_limit_of_the_server(self):
        server = self.share("--max-request-memory", 16)
        body = repeated('{"messages":[', '{"role":"user","content":""}', "]}").encode()
        answer = server.ask(CHAT, body)
        self.assertRegex(self.refused(400, "too_complex", answer),
                         r"^the body: its values take more than \d+ bytes of memory, in messages\[\d+\]")
        self.assertEqual(server.ask("/tokenize", {"content": "Once"})[0], 200)

    @unittest.skipIf(tool.SANITIZED, "sanitizers need memory, too")
    def test_repeated_query(self):
        """The query of a rerank request is not kept once for each document."""
        head = '{"top_n":1,"query":"%s","documents":[' % ("a" * 400)
        self.check(self.serve(model=reranker(self)), [("documents", "/v1/rerank", head + ",".join(['"b"'] * 2000) + "]}")])

    def test_lone_surrogates(self):
        body = b'{"content":"a\\ud800b"}'
        tokens = self.share().ask("/tokenize", body)[1]["tokens"]
        self.assertEqual(self.share().ask("/tokenize", {"content": "a\ufffdb"})[1]["tokens"], tokens)
        message = self.refused(400, "invalid_json", self.share("--surrogates", "refuse").ask("/tokenize", body))
        self.assertEqual(message, "the body: half of a surrogate pair at byte 13, in content")

    def test_answer_in_parts(self):
        server = self.share()
        text = "Once upon \u00e9\U0001f600\x01 a time" * 5000
        for with_pieces in (False, True):
            answer = server.ask("/tokenize", {"content": text, "with_pieces": with_pieces})[1]["tokens"]
            ids = [one["id"] for one in answer] if with_pieces else answer
            self.assertEqual(server.ask("/detokenize", {"tokens": ids})[1]["content"].strip(), text)

    def test_errors_at_the_ends_of_parts(self):
        """Bytes that are no character become as many U+FFFD as without parts."""
        server = self.share()
        answer = server.ask("/tokenize", {"content": "\u00e9", "with_pieces": True})[1]["tokens"]
        first, second = (one["id"] for one in answer if isinstance(one["piece"], dict))
        for n in (1, 255, 256, 257, 512, 1000):
            content = server.ask("/detokenize", {"tokens": [first] * n})[1]["content"]
            self.assertEqual(content.strip(), "\ufffd" * n)
            content = server.ask("/detokenize", {"tokens": [second] * n})[1]["content"]
            self.assertEqual(content.strip(), "\ufffd")  # one for all that continue no character


if __name__ == "__main__":
    main()
