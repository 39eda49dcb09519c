# Devices by the tool: what is listed, products beside the scalar ones, and what is said where there
# is none. The device is one of memory (tests/device/fake.h).
# SPDX-License-Identifier: MIT
import os
import unittest

import tool

FAKE = os.environ.get("GGUFX_FAKE_DEVICE", "")


@unittest.skipUnless(FAKE, "this build loads no plug-ins")
class Fake(tool.Case):
    def test_a_list_has_what_the_plug_in_knows(self):
        (device,) = self.json("devices", "--plugins", FAKE)["devices"]
        self.assertEqual((device["id"], device["name"], device["driver"]), ("fake:0", "Fake", "memory 1.0"))
        self.assertTrue(device["usable"] and device["unified"])
        self.assertEqual(device["memory_bytes"], 1 << 30)
        self.assertEqual(device["reason"], "")
        text = self.ok("devices", "--plugins", FAKE).decode()
        self.assertEqual(text, "id\tname\tmemory\tkind\tdriver\nfake:0\tFake\t1.00 GiB\tshared memory\tmemory 1.0\n")

    def test_products_of_every_type_have_the_scalar_bits(self):
        result = self.json("selftest", "--device", "fake:0", "--plugins", FAKE)
        self.assertTrue(result["ok"])
        self.assertEqual({r["isa"] for r in result["results"]}, {"fake:0"})
        self.assertEqual({r["kernel"] for r in result["results"]}, {"fma: device"})
        types = [t["name"] for t in self.json("types")["types"] if t["matvec"]]
        self.assertEqual([r["type"] for r in result["results"]], types)
        self.assertTrue(all(r["checks"] > 40 for r in result["results"]))

    def test_auto_is_the_first_that_can_be_used(self):
        result = self.json("selftest", "--device", "auto", "--plugins", FAKE, "--type", "q4_0")
        self.assertEqual(result["results"][0]["isa"], "fake:0")

    def test_none_is_the_processor(self):
        result = self.json("selftest", "--device", "none", "--type", "q4_0", "--isa", "scalar")
        self.assertEqual(result["results"][0]["isa"], "scalar")


class Nothing(tool.Case):
    def refused(self, *args, **options):
        return self.fails(4, "selftest", "--type", "q4_0", "--device", *args, **options)

    @unittest.skipUnless(FAKE, "this build loads no plug-ins")
    def test_what_is_no_device_is_said(self):
        self.assertIn('no device "fake:7"', self.refused("fake:7", "--plugins", FAKE))
        self.assertIn("/nowhere/libggufx-cuda", self.refused("auto", "--plugins", "/nowhere/libggufx-cuda.so.0"))
        text = self.path("text.so", b"no library")
        self.assertIn("text.so", self.refused("auto", "--plugins", text))
        self.assertIn("vulkan", self.refused("auto", "--plugins", self.folder))

    def test_a_list_of_none_says_why(self):
        devices = self.json("devices", "--plugins", self.folder)["devices"]
        self.assertTrue(all(not d["usable"] and d["reason"] for d in devices))
        text = self.ok("devices", "--plugins", self.folder).decode().splitlines()
        self.assertEqual(text, [f"{d['id']} cannot be used: {d['reason']}" for d in devices])

    def test_drivers_that_are_not_there_are_said(self):
        env = tool.environment(VK_ICD_FILENAMES="/nowhere/icd.json", VK_DRIVER_FILES="/nowhere/icd.json")
        devices = self.json("devices", env=env)["devices"]
        self.assertTrue(all(not d["usable"] for d in devices))
        self.assertTrue(self.refused("auto", env=env))
        self.path("libvulkan.so.1", b"no library")
        env = tool.environment(LD_LIBRARY_PATH=self.folder)
        for device in self.json("devices", env=env)["devices"]:
            self.assertFalse(device["usable"])


if __name__ == "__main__":
    tool.main()
