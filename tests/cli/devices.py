# Devices in the tool: the list, products compared with scalar ones, and messages without a device. The device is the
# fake one in host memory (tests/device/fake.h).
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


    def run_model(self, *args, **options):
        return self.ok("run", tool.MODEL, "-p", "Once upon", "-n", "12", "--temp", "0", *args, **options)

    def test_a_model_writes_the_same_there(self):
        here = self.run_model()
        self.assertEqual(self.run_model("--device", "fake:0", "--plugins", FAKE), here)
        self.assertEqual(self.run_model("--device", "auto", "--device-layers", "2", "--plugins", FAKE), here)
        self.assertEqual(self.run_model("--device", "none"), here)

    def test_drafts_continue_the_same_text(self):
        """The draft model is in host memory; products are row-wise, as without drafts under that flag."""
        for guess in (("--lookup",), ("--draft", tool.MODEL)):
            here = self.run_model(*guess)
            self.assertEqual(self.run_model(*guess, "--device", "fake:0", "--plugins", FAKE), here)

    def test_other_verbs_take_a_device_too(self):
        text = self.path("text", b"Once upon a time there was a little girl. " * 8)
        args = ("perplexity", tool.MODEL, "-f", text, "--ctx", "32")
        here, there = self.json(*args), self.json(*args, "--device", "fake:0", "--plugins", FAKE)
        self.assertEqual(here["ppl"], there["ppl"])

    def test_products_are_measured_beside_reading(self):
        result = tool.run("bench", "matvec", "--type", "q4_0,f16", "--n", "1,5", "-m", "64", "-k", "256", "-r", "2",
                          "--device", "fake:0", "--plugins", FAKE, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [tool.json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(r["type"], r["n"]) for r in lines], [("q4_0", 1), ("q4_0", 5), ("f16", 1), ("f16", 5)])
        for r in lines:
            self.assertTrue(r["bits_equal"])
            self.assertEqual((r["device"], r["fma"], r["processor"]), ("fake:0", "device", False))
            for key in ("gbps", "read_gbps", "upload_gbps", "memcpy_gbps", "open_ms", "first_open_ms"):
                self.assertGreater(r[key], 0)
        text = self.ok("bench", "matmul", "--type", "q8_0", "-m", "64", "-k", "256", "-r", "1", "--n", "4",
                       "--device", "fake:0", "--plugins", FAKE).decode().splitlines()
        self.assertEqual(text[0].split("\t")[:6], ["type", "device", "n", "GB/s", "read", "of read"])
        self.assertEqual(text[1].split("\t")[:3], ["q8_0", "fake:0", "4"])

    def test_what_fits_is_what_a_model_then_takes(self):
        whole = self.json("fit", tool.MODEL, "--vram", "1G")["candidates"][0]
        self.assertEqual(whole["device_bytes"], whole["device_bytes_all"])
        layers = whole["device_layers"]
        less = self.json("fit", tool.MODEL, "--vram", str(whole["device_bytes"] - 1))
        self.assertEqual(less["candidates"][0]["device_layers"], layers - 1)
        self.assertEqual((less["layers"], less["device_memory_bytes"]), (layers, whole["device_bytes"] - 1))
        text = self.ok("fit", tool.MODEL, "--vram", "1G").decode()
        self.assertIn(f"\t{layers}/{layers}\t", text)
        self.assertIn("\tlayers there\tvram\t", text)
        self.assertNotIn("vram", self.ok("fit", tool.MODEL).decode())
        self.fails(2, "fit", tool.MODEL, "--vram", "much")


class Nothing(tool.Case):
    def test_a_model_that_needs_no_device_goes_on_and_says_so(self):
        args = ("run", tool.MODEL, "-p", "Once upon", "-n", "8", "--temp", "0")
        here = tool.run(*args)
        there = tool.run(*args, "--device", "auto", "--plugins", self.folder)
        self.assertEqual((there.returncode, there.stdout), (0, here.stdout))
        said = there.stderr.decode()
        self.assertTrue(said.startswith("ggufx: --device auto: the processor multiplies: no usable device: "), said)
        self.assertIn("libggufx-vulkan", said)
        self.assertEqual(len(said.splitlines()), 1)

    def test_a_device_by_name_is_needed(self):
        args = ("run", tool.MODEL, "-p", "Once upon", "-n", "8", "--plugins", self.folder)
        self.assertIn("vulkan cannot be used", self.fails(4, *args, "--device", "vulkan:0"))
        self.assertIn('no device "tpu:0"', self.fails(4, *args, "--device", "tpu:0"))
        self.assertIn("--device-layers needs --device", self.fails(2, *args, "--device-layers", "3"))


    def refused(self, *args, **options):
        return self.fails(4, "selftest", "--type", "q4_0", "--device", *args, **options)

    @unittest.skipUnless(FAKE, "this build loads no plug-ins")
    def test_what_is_no_device_is_said(self):
        self.assertIn('no device "fake:7"', self.refused("fake:7", "--plugins", FAKE))
        self.assertIn("/nowhere/libggufx-cuda", self.refused("auto", "--plugins", "/nowhere/libggufx-cuda.so.0"))
        text = self.path("text.so", b"no library")
        self.assertIn("text.so", self.refused("auto", "--plugins", text))
        self.assertIn("vulkan", self.refused("auto", "--plugins", self.folder))

    @unittest.skipUnless(FAKE, "this build loads no plug-ins")
    def test_plug_ins_and_devices_that_cannot_be_used_are_said(self):
        """A device requested by name fails with exit code 4; auto continues without one and reports it."""
        here = self.ok("run", tool.MODEL, "-p", "Once upon", "-n", "4", "--temp", "0")
        for variable, sentence in (("GGUFX_FAKE_VERSION", "version 99"), ("GGUFX_FAKE_UNUSABLE", "told to be so")):
            env = tool.environment(**{variable: "99"})
            self.assertIn(sentence, self.refused("fake:0", "--plugins", FAKE, env=env))
            self.assertIn(sentence, self.json("devices", "--plugins", FAKE, env=env)["devices"][0]["reason"])
            there = tool.run("run", tool.MODEL, "-p", "Once upon", "-n", "4", "--temp", "0", "--device", "auto",
                             "--plugins", FAKE, env=env)
            self.assertEqual((there.returncode, there.stdout), (0, here))
            self.assertIn("the processor multiplies: no usable device: ", there.stderr.decode())
            self.assertIn(sentence, there.stderr.decode())

    def test_a_list_of_none_says_why(self):
        devices = self.json("devices", "--plugins", self.folder)["devices"]
        self.assertTrue(all(not d["usable"] and d["reason"] for d in devices))
        text = self.ok("devices", "--plugins", self.folder).decode().splitlines()
        self.assertEqual(text, [f"{d['id']}: not installed: there is no file {self.folder}/libggufx-{d['id']}.so.0" for d in devices])

    @unittest.skipUnless(FAKE, "this build loads no plug-ins")
    def test_a_plug_in_that_is_broken_is_not_one_that_is_absent(self):
        vulkan = self.path("libggufx-vulkan.so.0", b"no library")
        text = self.ok("devices", "--plugins", self.folder).decode().splitlines()
        self.assertEqual(text[0], f"cuda: not installed: there is no file {self.folder}/libggufx-cuda.so.0")
        self.assertRegex(text[1], f"^vulkan cannot be used: {vulkan}: ")
        os.remove(vulkan)
        os.symlink("/nowhere", vulkan)
        self.assertIn("vulkan cannot be used: ", self.ok("devices", "--plugins", self.folder).decode())
        reasons = {d["id"]: d["reason"] for d in self.json("devices")["devices"]}
        for line in self.ok("devices").decode().splitlines():
            name, _, said = line.partition(": ")
            self.assertEqual(said == "not installed", reasons.get(name, "").startswith("not installed"), line)
            self.assertNotIn("No such file", line)

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
