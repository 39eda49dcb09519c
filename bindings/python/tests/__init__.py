"""The tests, examples and README are run by bindings/run.py.

SPDX-License-Identifier: MIT
"""
