"""A part of test_vulkan under Khronos' validation layers, which report nothing.

usage: vulkan_layers.py TEST_VULKAN PLUGIN
SPDX-License-Identifier: MIT
"""
import os
import re
import subprocess
import sys

LAYER = "VK_LAYER_KHRONOS_validation"
SYNCHRONIZATION = "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"  # barriers, too


def main():
    # The loader lists the layers that it loads: a missing one is skipped without an error.
    env = {**os.environ, "VK_INSTANCE_LAYERS": LAYER, "VK_LOADER_DEBUG": "layer",
           "VK_LAYER_ENABLES": SYNCHRONIZATION}
    result = subprocess.run([*sys.argv[1:], "layers"], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace")
    said = [line for line in result.stdout.splitlines()
            if re.search(r"VUID|UNASSIGNED|SYNC-|Validation (Error|Warning)|PERFORMANCE", line)]
    if result.returncode != 0:
        print(result.stdout)
        sys.exit(result.returncode)
    if f'Inserted device layer "{LAYER}"' not in result.stdout:
        print(f"{LAYER} is not there (vulkan-validationlayers)")
        sys.exit(77)
    print("\n".join(said[:20]))
    sys.exit(f"{len(said)} messages of the layer" if said else 0)


main()
