#!/usr/bin/env python3
"""Tokens per second of a server with the OpenAI API and several concurrent streams.

    tests/bench/streams.py http://127.0.0.1:8080 [--streams 1,8,64] [--tokens 128] [--prompt-words 8] [--extra JSON]

Each stream requests a completion of its own from /v1/completions, greedy. Prints a line per number of streams. It
has the tokens per second of all streams, from the first event of any to the last. It also has the median and 99th
percentile of the gaps between a stream's events. --extra adds fields to the body ('{"ignore_eos": true}' for
llama-server).

SPDX-License-Identifier: MIT
"""
import argparse
import http.client
import json
import statistics
import sys
import threading
import time
import urllib.parse


def events(host, body, times, failures):
    """Appends the time of each event of one response that has text."""
    try:
        connection = http.client.HTTPConnection(host, timeout=600)
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise OSError(f"{answer.status}: {answer.read(300)!r}")
        for line in answer:
            if line.startswith(b"data: {") and json.loads(line[6:]).get("choices"):
                times.append(time.monotonic())
    except (OSError, ValueError, http.client.HTTPException) as error:
        failures.append(str(error))


def measure(host, args, n_streams):
    times, failures = [[] for _ in range(n_streams)], []
    threads = []
    for i, of in enumerate(times):
        words = " ".join(f"word{(i * 7 + k * 3) % 97}" for k in range(args.prompt_words))
        body = {"prompt": words, "max_tokens": args.tokens, "temperature": 0, "stream": True, **args.extra}
        threads.append(threading.Thread(target=events, args=(host, body, of, failures)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit(f"{len(failures)} of {n_streams} streams failed: {failures[0]}")
    short = [len(of) for of in times if len(of) < args.tokens]
    gaps = sorted(b - a for of in times for a, b in zip(of, of[1:]))
    seconds = max(of[-1] for of in times) - min(of[0] for of in times)
    print(f"{n_streams:4} streams {(sum(map(len, times)) - n_streams) / seconds:8.1f} tokens/s"
          f"   gap {1000 * statistics.median(gaps):7.1f} ms, p99 {1000 * gaps[len(gaps) * 99 // 100]:7.1f}"
          + (f"   {len(short)} ended early" if short else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--streams", default="1,8,64", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--tokens", default=128, type=int)
    parser.add_argument("--prompt-words", default=8, type=int)
    parser.add_argument("--extra", default={}, type=json.loads)
    args = parser.parse_args()
    host = urllib.parse.urlsplit(args.url).netloc
    if not host or args.tokens < 2 or any(n < 1 for n in args.streams):
        parser.error("a URL with a host, two tokens and one stream at least")
    for n_streams in args.streams:
        measure(host, args, n_streams)


if __name__ == "__main__":
    main()
