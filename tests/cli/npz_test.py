#!/usr/bin/env python3
"""Tensors by name, as NumPy writes them: archives of arrays, single outputs, bfloat16."""

import random
import subprocess
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from tcc_command import CommandTest, main

FLOAT, BFLOAT16 = TensorProto.FLOAT, TensorProto.BFLOAT16


class Npz(CommandTest):
    def compiled(self, kind=FLOAT):
        """difference = a - b, product = a * b, of shape 2x3."""
        def value(name):
            return helper.make_tensor_value_info(name, kind, [2, 3])
        nodes = [helper.make_node("Sub", ["a", "b"], ["difference"]),
                 helper.make_node("Mul", ["a", "b"], ["product"])]
        graph = helper.make_graph(nodes, "g", [value("a"), value("b")],
                                  [value("difference"), value("product")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, self.folder / "m.onnx")
        self.call("compile", self.folder / "m.onnx", "--target", "native", "-o",
                  self.folder / "m.tcc")
        return self.folder / "m.tcc"

    def setUp(self):
        super().setUp()
        draw = np.random.default_rng(1)
        self.a, self.b = (draw.standard_normal((2, 3)).astype(np.float32) for _ in range(2))
        self.archive, self.out = self.folder / "in.npz", self.folder / "out.npz"

    def run_archive(self, artefact, **keywords):
        return self.call("run", artefact, "--input", self.archive, "--output", self.out, **keywords)

    def check_outputs(self):
        with np.load(self.out) as found:
            self.assertEqual(sorted(found.files), ["difference", "product"])
            np.testing.assert_array_equal(found["difference"], self.a - self.b)
            np.testing.assert_array_equal(found["product"], self.a * self.b)

    def test_archives_of_numpy_are_read_and_written(self):
        artefact = self.compiled()
        for save in [np.savez, np.savez_compressed]:
            save(self.archive, b=self.b, a=np.asfortranarray(self.a))
            self.run_archive(artefact)
            self.check_outputs()
        self.call("check", self.folder / "m.onnx", artefact, "--input", self.archive)

    def test_arrays_without_a_name_are_inputs_by_their_place(self):
        np.savez(self.archive, self.a, self.b)
        self.run_archive(self.compiled())
        self.check_outputs()

    def test_an_archive_and_single_arrays_complete_each_other(self):
        np.savez(self.archive, a=self.a)
        np.save(self.folder / "b.npy", self.b)
        self.call("run", self.compiled(), "--input", self.archive, "--input",
                  f"b={self.folder}/b.npy", "--output", f"product={self.folder}/p.npy")
        np.testing.assert_array_equal(np.load(self.folder / "p.npy"), self.a * self.b)

    def test_names_that_are_none_are_told(self):
        artefact = self.compiled()
        np.savez(self.archive, a=self.a, c=self.b)
        self.run_archive(artefact, expect=4)
        self.assertIn("'c'", self.error)
        self.call("run", artefact, "--output", f"sum={self.folder}/s.npy", expect=2)
        self.assertIn("no output is named 'sum'; there are difference, product", self.error)
        self.assertFalse((self.folder / "s.npy").exists())

    def test_what_is_no_archive_is_told(self):
        artefact = self.compiled()
        for content, message in [(b"", "no end of a ZIP directory"), (b"PK" * 50, "not an .npz")]:
            self.archive.write_bytes(content)
            self.run_archive(artefact, expect=4)
            self.assertIn(message, self.error)
        with zipfile.ZipFile(self.archive, "w", zipfile.ZIP_BZIP2) as archive:
            archive.writestr("a.npy", b"no array")
        self.run_archive(artefact, expect=4)
        self.assertIn("member 'a.npy': npz: compression method 12; expected 0 (none) or 8 (deflate)",
                      self.error)
        with zipfile.ZipFile(self.archive, "w") as archive:
            archive.writestr("a.npy", b"no array")
        self.run_archive(artefact, expect=4)
        self.assertIn("in.npz: member 'a.npy': npy: not an .npy file", self.error)

    def test_a_member_that_claims_to_be_huge_is_refused_without_its_memory(self):
        artefact = self.compiled()
        np.savez_compressed(self.archive, a=self.a, b=self.b)
        content = bytearray(self.archive.read_bytes())
        directory = content.rindex(b"PK\x01\x02")
        content[directory + 24:directory + 28] = (0xfffffffe).to_bytes(4, "little")
        self.archive.write_bytes(content)
        self.run_archive(artefact, expect=4)
        self.assertIn("cannot become 4294967294", self.error)

    def test_damaged_archives_are_refused(self):
        artefact = self.compiled()
        draw = random.Random(3)
        for save in [np.savez, np.savez_compressed]:
            save(self.archive, a=self.a, b=self.b)
            whole = self.archive.read_bytes()
            for i in range(60):
                damaged = bytearray(whole)
                if i % 3 == 0:
                    del damaged[draw.randrange(len(damaged)):]
                for _ in range(i % 3):
                    damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
                self.archive.write_bytes(damaged)
                found = subprocess.run(
                    [self.tcc, "run", artefact, "--input", self.archive, "--output", self.out],
                    capture_output=True, text=True, check=False)
                # A flipped bit of a date is no damage.
                self.assertIn(found.returncode, [0, 4], found.stderr)
                if found.returncode == 0:
                    self.check_outputs()

    def test_bfloat16_is_as_ml_dtypes_has_it(self):
        """There NumPy writes two bytes without a meaning, of the descr <V2."""
        artefact = self.compiled(BFLOAT16)
        a, b = (np.round(x * 8).astype(np.float32) / 8 for x in (self.a, self.b))
        def bits(x):
            return (np.ascontiguousarray(x).view(np.uint32) >> 16).astype(np.uint16)
        for kind in ["<V2", "|V2"]:
            np.savez(self.archive, a=bits(a).view(kind), b=bits(b).view(kind))
            self.run_archive(artefact)
            with np.load(self.out) as found:
                self.assertEqual(found["difference"].dtype, np.dtype("V2"))
                # Eighths below 8 have their bits in a bfloat16, so have their differences.
                np.testing.assert_array_equal(found["difference"].view(np.uint16), bits(a - b))
        self.call("run", artefact, "--input", self.archive, "--output-dir", self.folder / "npy")
        self.assertEqual(np.load(self.folder / "npy" / "output_0.npy").dtype.str[1:], "V2")


if __name__ == "__main__":
    main()
