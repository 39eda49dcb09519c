#!/usr/bin/env python3
# The example configurations of load balancers with three servers, one of which is killed and another one ended.
# Conversations stay at the server that has their prefix. Only open streams at the killed server fail, and no answer
# changes.
# usage: balancers.py TOOL MODEL haproxy|nginx
# SPDX-License-Identifier: MIT
import concurrent.futures
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(FOLDER, "..", "..", "..", "src", "cli", "serve", "examples")
N_CONVERSATIONS, N_TURNS = 24, 5


def serve(tool, model):
    process = subprocess.Popen([tool, "serve", model, "--port", "0", "--parallel", "24", "--trusted-proxy", "127.0.0.1"],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return process, int(re.search(r":(\d+) ", process.stderr.readline().decode())[1])


def ask(port, body, session=None, path="/v1/chat/completions"):
    """Returns status, headers and object of an answer; the status is 0 if there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        headers = {"Content-Type": "application/json", **({"X-Session-Id": session} if session else {})}
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        return response.status, response.headers, json.loads(response.read() or b"null")
    except (OSError, http.client.HTTPException) as error:
        return 0, {}, str(error)
    finally:
        connection.close()


def metric(port, name):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    return float(re.search(r"^ggufx_%s (\S+)$" % name, connection.getresponse().read().decode(), re.M)[1])


def free_port():
    with socket.socket() as at:
        at.bind(("127.0.0.1", 0))
        return at.getsockname()[1]


class Balancer:
    def __init__(self, kind, ports, folder):
        with open(os.path.join(EXAMPLES, kind + (".cfg" if kind == "haproxy" else ".conf")), encoding="utf-8") as file:
            text = file.read()
        for given, port in zip((8081, 8082, 8083), ports):
            text = text.replace("127.0.0.1:%d" % given, "127.0.0.1:%d" % port)
        self.port = free_port()
        text = text.replace("127.0.0.1:8000", "127.0.0.1:%d" % self.port).replace("/run/haproxy", folder)
        path = os.path.join(folder, kind)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        args = ["haproxy", "-db", "-f", path] if kind == "haproxy" else \
            ["nginx", "-c", path, "-p", folder, "-g", "daemon off; pid nginx.pid; error_log stderr;"]
        self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL)
        for _ in range(200):
            if ask(self.port, None, path="/health")[0] == 200:
                return
            time.sleep(0.05)
        raise SystemExit(kind + " does not answer")


def conversation(port, number, n_turns, failed):
    """Returns the answers of a conversation, identified by a name, or from the second turn by its prefix."""
    rng = random.Random(number)
    words = ["sun", "dog", "girl", "tree", "boat", "rain", "king", "bird"]
    messages, session, out = [], "conversation %d" % number if number % 4 else None, []
    for turn in range(n_turns):
        # Long enough for the prefix cache: a story of about a hundred tokens.
        length = 40 if turn == 0 else 4
        messages.append({"role": "user", "content": " ".join(rng.choice(words) for _ in range(length))})
        status, headers, answer = ask(port, {"messages": messages, "max_tokens": 6, "seed": number}, session)
        if status != 200:
            failed.append((number, turn, status, answer))
            return out
        session = session or headers["X-Ggufx-Prefix"]
        out.append(answer["choices"][0]["message"]["content"])
        messages.append({"role": "assistant", "content": out[-1]})
    return out


def all_conversations(port, failed):
    with concurrent.futures.ThreadPoolExecutor(N_CONVERSATIONS) as pool:
        return list(pool.map(lambda i: conversation(port, i, N_TURNS, failed), range(N_CONVERSATIONS)))


def share(ports):
    """Returns the share of prompt tokens that were cached."""
    cached, computed = (sum(metric(port, name) for port in ports) for name in ("cached_tokens_total", "prompt_tokens_total"))
    return cached / (cached + computed)


def under_load(port, want, action):
    """Runs all conversations while `action` happens to a server."""
    failed = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(all_conversations, port, failed)
        time.sleep(0.3)
        action()
        got = asked.result()
    # No request that was sent completely without streaming fails: the balancer retries at another server.
    assert not failed, failed[:3]
    assert got == want


def main(tool, model, kind):
    started = []
    with tempfile.TemporaryDirectory(prefix="ggufx-") as folder:
        try:
            alone, port = serve(tool, model)
            started.append(alone)
            failed = []
            want, want_share = all_conversations(port, failed), share([port])
            servers = [serve(tool, model) for _ in range(3)]
            started += [process for process, _ in servers]
            ports = [port for _, port in servers]
            balancer = Balancer(kind, ports, folder)
            started.append(balancer.process)
            got = all_conversations(balancer.port, failed)
            assert not failed and got == want, (failed[:3], "answers differ" if got != want else "")
            busy = [metric(p, "prompt_tokens_total") for p in ports]
            assert min(busy) > 0, "a server had nothing to do: %s" % busy
            got_share = share(ports)
            print("%s: cached tokens %.2f of the prompts', one server %.2f" % (kind, got_share, want_share))
            assert got_share >= 0.8 * want_share

            def lose_two():
                servers[1][0].send_signal(signal.SIGTERM)
                servers[0][0].kill()
            under_load(balancer.port, want, lose_two)
            assert servers[1][0].wait(60) == 0
            print("%s: %d requests with one of three killed while one ends: 0 failed, 0 answers differ" % (kind, N_CONVERSATIONS * N_TURNS))
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait(30)


main(*sys.argv[1:])
