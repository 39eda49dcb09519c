# The folders with sample or hostile files: those that the build made, and the stored ones of GGUFX_TEST_DATA.
# SPDX-License-Identifier: MIT
import os


def data_folders(made_index, *parts):
    """`parts` below the folder of the made files' index, and below GGUFX_TEST_DATA where that exists."""
    made, stored = (os.path.join(root, *parts) for root in (os.path.dirname(made_index), os.environ.get("GGUFX_TEST_DATA", "")))
    if os.path.isabs(stored) and os.path.isdir(stored):
        return [made, stored]
    print("stored files: skipped, no", stored, "(GGUFX_TEST_DATA)")  # tests/remaining.py reads it
    return [made]
