"""Modules: loaded, run, bound and saved."""

import array
import copy
import ctypes
import gc
import os
import pathlib
import pickle

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

import tcc
from tcc_package import (WEIGHTS, PackageTest, cast_model, model, pair_model, product_model,
                         value)

X = np.arange(12, dtype=np.float32).reshape(3, 4)
A = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
B = np.array([[10, 20, 30], [40, 50, 60]], np.float32)


class Exporter:
    """A tensor of another library: it has DLPack's two functions and nothing else."""

    def __init__(self, data, device=(1, 0)):
        self.data = data
        self.device = device

    def __dlpack__(self, **options):
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class Running(PackageTest):
    def setUp(self):
        super().setUp()
        self.product = tcc.compile(product_model(), cache=False)
        self.pair = tcc.compile(pair_model(), cache=False)

    def test_a_module_is_called_by_position_or_by_name(self):
        np.testing.assert_array_equal(self.product(X), X @ WEIGHTS)
        for result in (self.pair(A, B), self.pair(A, b=B), self.pair(b=B, a=A)):
            self.assertIsInstance(result, tuple)
            np.testing.assert_array_equal(result[0], A + B)
            np.testing.assert_array_equal(result[1], A - B)

    def test_run_takes_and_gives_tensors_by_name(self):
        out = self.pair.run({"b": B, "a": A})
        self.assertEqual(list(out), ["sum", "difference"])
        np.testing.assert_array_equal(out["difference"], A - B)

    def test_an_output_that_is_given_is_written_and_returned(self):
        kept = np.zeros((2, 3), np.float32)
        out = self.pair.run({"a": A, "b": B}, out={"difference": kept})
        self.assertIs(out["difference"], kept)
        np.testing.assert_array_equal(kept, A - B)
        np.testing.assert_array_equal(out["sum"], A + B)
        first = out["sum"]
        self.pair.run({"a": B, "b": B}, out={"difference": kept})
        np.testing.assert_array_equal(kept, np.zeros((2, 3)))
        np.testing.assert_array_equal(first, A + B)

    def test_bound_arrays_are_read_and_written_again_with_each_call(self):
        x, y = X.copy(), np.zeros((3, 5), np.float32)
        bound = self.product.bind({"x": x}, {"y": y})
        self.assertIs(bound.outputs["y"], y)
        for step in range(3):
            x += step
            self.assertIsNone(bound())
            np.testing.assert_array_equal(y, x @ WEIGHTS)

    def test_a_bound_module_makes_outputs_and_keeps_all_that_it_needs(self):
        bound = tcc.compile(product_model(), cache=False).bind({"x": X.copy()})
        gc.collect()
        bound()
        np.testing.assert_array_equal(bound.outputs["y"], X @ WEIGHTS)

    def test_arrays_at_any_address_of_their_element_serve_without_a_copy(self):
        memory = np.zeros(200, np.uint8)
        for offset in (4, 16, 60):
            x = memory[offset:offset + X.nbytes].view(np.float32).reshape(X.shape)
            x[...] = X
            np.testing.assert_array_equal(self.product(x), X @ WEIGHTS)

    def test_read_only_inputs_buffers_and_objects_with_dlpack_are_inputs(self):
        x = X.copy()
        x.flags.writeable = False
        np.testing.assert_array_equal(self.product(x), X @ WEIGHTS)
        np.testing.assert_array_equal(self.product(Exporter(X)), X @ WEIGHTS)
        np.testing.assert_array_equal(self.product(memoryview(X)), X @ WEIGHTS)
        buffer = (ctypes.c_float * 4 * 3).from_buffer_copy(X)
        np.testing.assert_array_equal(self.product(buffer), X @ WEIGHTS)
        flat = tcc.compile(cast_model(TensorProto.FLOAT, TensorProto.INT32, (3,)), cache=False)
        self.assertEqual(flat(array.array("f", [1, 2, 3])).tolist(), [1, 2, 3])

    def test_a_read_only_tensor_comes_by_a_versioned_capsule(self):
        x = X.copy()
        x.flags.writeable = False
        try:
            x.__dlpack__(max_version=(1, 0))
        except TypeError:  # a NumPy without versioned capsules
            with self.assertRaisesRegex(tcc.BadInputError, "input 'x': Exporter .*readonly"):
                self.product(Exporter(x))
            return
        np.testing.assert_array_equal(self.product(Exporter(x)), X @ WEIGHTS)
        y = np.zeros((3, 5), np.float32)
        y.flags.writeable = False
        with self.assertRaisesRegex(tcc.BadInputError, "output 'y'.*read-only"):
            self.product.run({"x": X}, out={"y": Exporter(y)})

    def test_dlpack_works_both_ways(self):
        y = np.zeros((3, 5), np.float32)
        out = self.product.run({"x": Exporter(X)}, out={"y": Exporter(y)})
        self.assertIsInstance(out["y"], Exporter)
        np.testing.assert_array_equal(y, X @ WEIGHTS)
        np.testing.assert_array_equal(np.from_dlpack(self.product(X)), X @ WEIGHTS)

    def test_scalars_and_empty_tensors_are_tensors(self):
        scalar = tcc.compile(cast_model(TensorProto.FLOAT, TensorProto.INT64, ()), cache=False)
        result = scalar(np.float32(7))
        self.assertEqual((result.shape, int(result)), ((), 7))
        self.assertEqual(int(scalar(np.array(8, np.float32))), 8)
        empty = tcc.compile(cast_model(TensorProto.FLOAT, TensorProto.INT64, (3, 0)), cache=False)
        self.assertEqual(empty(np.zeros((3, 0), np.float32)).shape, (3, 0))


class Refusing(PackageTest):
    def setUp(self):
        super().setUp()
        self.pair = tcc.compile(pair_model(), cache=False)

    def refused(self, message, *arrays, kind=tcc.BadInputError, **named):
        with self.assertRaisesRegex(kind, message) as caught:
            self.pair(*arrays, **named)
        self.assertIsInstance(caught.exception, ValueError)
        return caught.exception

    def test_what_does_not_fit_is_named(self):
        self.refused(r"input 'b': expected shape \(2, 3\), \(3, 2\) came", A, B.T.copy())
        self.refused(r"input 'b': expected elements of f32 \(numpy's float32\), float64 came; .*"
                     r"astype", A, B.astype(np.float64))
        self.refused(r"float32.*>f4 came", A, B.astype(">f4"))
        self.refused(r"input 'a': .*row-major.*ascontiguousarray", np.asfortranarray(A), B)
        self.refused(r"row-major", np.zeros((2, 6), np.float32)[:, ::2], B)
        self.refused(r"input 'a': expected a numpy array.*list came.*asarray", [[1, 2, 3]], B)
        self.refused(r"input 'a': .*NoneType came", None, B)

    def test_dlpack_tensors_that_do_not_fit_are_named(self):
        self.refused(r"input 'b': expected shape \(2, 3\), \(3, 2\) came", A,
                     Exporter(B.T.copy()))
        self.refused(r"input 'b': expected elements of f32 .*, f64 came", A,
                     Exporter(B.astype(np.float64)))
        self.refused(r"input 'b': ", A, Exporter(np.asfortranarray(B)))
        self.refused(r"input 'b': expected memory of the host.*\(2, 0\).*enqueue", A,
                     Exporter(B, device=(2, 0)))
        self.refused(r"input 'b': Exporter gives no DLPack tensor", A, Exporter(object()))

    def test_inputs_that_are_missing_unknown_or_there_twice_are_named(self):
        self.refused("input 'b' is missing; the model has 'a', 'b'", A)
        self.refused("input 'c' is not one of the model's: 'a', 'b'", A, B, c=B)
        self.refused("input 'a' came twice", A, a=B)
        self.refused("expected 2 inputs: 'a', 'b'; 3 came", A, B, B)
        with self.assertRaisesRegex(tcc.BadInputError, "output 'z' is not one of the model's"):
            self.pair.run({"a": A, "b": B}, out={"z": A})

    def test_arrays_without_names_are_refused_where_names_are_needed(self):
        named = {"a": A, "b": B}
        for action in (lambda: self.pair.run([A, B]), lambda: self.pair.run(A),
                       lambda: self.pair.bind((A, B)), lambda: self.pair.enqueue(A, named)):
            with self.assertRaisesRegex(tcc.BadInputError, "^inputs: expected a dictionary of "
                                        "names and arrays, .* came; the model has 'a', 'b'"):
                action()
        for action in (lambda: self.pair.run(named, out=A), lambda: self.pair.bind(named, A)):
            with self.assertRaisesRegex(tcc.BadInputError, "^outputs: .* ndarray came; the model "
                                        "has 'sum', 'difference'"):
                action()
        with self.assertRaisesRegex(tcc.UsageError, "^stream: expected a whole number"):
            self.pair.enqueue(named, {"sum": A, "difference": B}, stream="s")

    def test_outputs_that_cannot_be_written_are_refused(self):
        read_only = np.zeros((2, 3), np.float32)
        read_only.flags.writeable = False
        with self.assertRaisesRegex(tcc.BadInputError, "output 'sum': .*read-only"):
            self.pair.run({"a": A, "b": B}, out={"sum": read_only})
        with self.assertRaisesRegex(tcc.UsageError, "output 'sum': .*overlaps"):
            self.pair.run({"a": A, "b": B}, out={"sum": A})
        y = np.zeros((2, 3), np.float32)
        with self.assertRaisesRegex(tcc.UsageError, "output 'difference': .*overlaps"):
            self.pair.run({"a": A, "b": B}, out={"sum": y, "difference": y})

    def test_a_module_goes_on_after_an_error(self):
        for _ in range(3):
            self.refused("float64", A.astype(np.float64), B)
            np.testing.assert_array_equal(self.pair(A, B)[0], A + B)


class Types(PackageTest):
    """Each element type comes in and goes out by a cast, which numpy and ml_dtypes judge."""

    PLAIN = {
        "f16": (TensorProto.FLOAT16, np.float16),
        "f64": (TensorProto.DOUBLE, np.float64),
        "bool": (TensorProto.BOOL, np.bool_),
        "i8": (TensorProto.INT8, np.int8),
        "i64": (TensorProto.INT64, np.int64),
        "u8": (TensorProto.UINT8, np.uint8),
        "u32": (TensorProto.UINT32, np.uint32),
        "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
        "f8e4m3": (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
        "f8e5m2": (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
    }
    VALUES = np.array([[0, 1, 2], [3, 4, 6]], np.float32)

    def compiled(self, source, target, shape=(2, 3)):
        return tcc.compile(cast_model(source, target, shape), cache=False)

    def test_elements_of_every_type_go_in_and_come_out(self):
        for name, (code, dtype) in self.PLAIN.items():
            with self.subTest(dtype=name):
                values = self.VALUES.astype(dtype)
                into = self.compiled(code, TensorProto.FLOAT)
                self.assertEqual(into.inputs[0].dtype, name)
                np.testing.assert_array_equal(into(values), values.astype(np.float32))
                result = self.compiled(TensorProto.FLOAT, code)(self.VALUES)
                self.assertEqual(result.dtype, dtype)
                np.testing.assert_array_equal(result, values)

    def test_types_that_numpy_lacks_are_taken_by_their_bits_too(self):
        for name, bits in (("bf16", np.uint16), ("f8e4m3", np.uint8)):
            code, dtype = self.PLAIN[name]
            values = self.VALUES.astype(dtype)
            into = self.compiled(code, TensorProto.FLOAT)
            np.testing.assert_array_equal(into(values.view(bits)), self.VALUES)
            out = np.zeros((2, 3), bits)
            self.compiled(TensorProto.FLOAT, code).run({"x": self.VALUES}, out={"y": out})
            np.testing.assert_array_equal(out.view(dtype), values)
            with self.assertRaisesRegex(tcc.BadInputError, f"{name} .*or uint.*float32 came"):
                into(self.VALUES)

    def test_without_ml_dtypes_outputs_are_bits(self):
        path = self.folder / "m.tcc"
        self.compiled(TensorProto.FLOAT, TensorProto.BFLOAT16).save(path)
        said = self.run_python("import sys; sys.modules['ml_dtypes'] = None\n"
                               "import numpy, tcc\n"
                               "y = tcc.load(sys.argv[1])(numpy.ones((2, 3), numpy.float32))\n"
                               "print(y.dtype, y[0, 0])", path)
        self.assertEqual(said, "uint16 16256\n")

    def test_two_elements_of_four_bits_share_a_byte(self):
        for code, name, numbers in ((TensorProto.INT4, "i4", [-8, -1, 0, 7, 3]),
                                    (TensorProto.UINT4, "u4", [15, 1, 0, 7, 3])):
            pairs = [*numbers, 0]
            packed = np.array([pairs[i] & 15 | (pairs[i + 1] & 15) << 4 for i in (0, 2, 4)],
                              np.uint8)
            into = self.compiled(code, TensorProto.FLOAT, (5,))
            self.assertEqual((into.inputs[0].dtype, into.inputs[0].shape), (name, (5,)))
            self.assertEqual(into(packed).tolist(), numbers)
            out = self.compiled(TensorProto.FLOAT, code, (5,))(np.array(numbers, np.float32))
            self.assertEqual(out.tolist(), packed.tolist())
            with self.assertRaisesRegex(tcc.BadInputError, r"expected shape \(3,\), \(5,\) came"):
                into(np.zeros(5, np.uint8))
            with self.assertRaisesRegex(tcc.BadInputError, "uint8, two in each byte"):
                into(np.zeros(5, np.int8))


class Facts(PackageTest):
    def test_a_module_describes_itself(self):
        module = tcc.compile(product_model(), cache=False, threads=1)
        self.assertIn("not loaded", repr(module))
        self.assertEqual(module.inputs, (tcc.TensorInfo("x", "f32", (3, 4), ("", "")),))
        self.assertEqual(module.outputs, (tcc.TensorInfo("y", "f32", (3, 5), ("", "")),))
        (kernel,) = module.kernels
        self.assertEqual(kernel.flops, 2 * 3 * 4 * 5)
        self.assertEqual(module.properties["compiler"], tcc.__version__)
        self.assertEqual(module.properties["numeric"], "strict")
        self.assertEqual((module.threads, module.device), (1, None))
        self.assertGreaterEqual(module.weights_bytes, WEIGHTS.nbytes)
        self.assertGreaterEqual(module.activation_bytes, 0)
        self.assertIn("(x: f32[3, 4]) -> (y: f32[3, 5])", repr(module))

    def test_kernels_name_the_nodes_that_they_compute(self):
        nodes = [helper.make_node("Add", ["x", "x"], ["t"], name="twice"),
                 helper.make_node("Relu", ["t"], ["y"], name="positive")]
        module = tcc.compile(model(nodes, [value("x", [4])], [value("y", [4])]), cache=False)
        self.assertEqual({node for kernel in module.kernels for node in kernel.nodes},
                         {"twice", "positive"})


class Files(PackageTest):
    def test_what_is_saved_is_loaded_from_a_file_or_its_bytes(self):
        path = self.folder / "m.tcc"
        tcc.compile(product_model(), cache=False).save(path)
        for source in (path, str(path), path.read_bytes()):
            module = tcc.load(source, threads=1, map_weights=True)
            np.testing.assert_array_equal(module(X), X @ WEIGHTS)
            module.save(self.folder / "again.tcc")
            self.assertEqual((self.folder / "again.tcc").read_bytes(), path.read_bytes())
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()),
                         ["again.tcc", "m.tcc"])

    def test_a_module_outlives_its_file_and_saves_it_over_itself(self):
        path = self.folder / "m.tcc"
        tcc.compile(product_model(), cache=False).save(path)
        module = tcc.load(path)
        content = path.read_bytes()
        module.save(path)
        self.assertEqual(path.read_bytes(), content)
        path.unlink()
        np.testing.assert_array_equal(module(X), X @ WEIGHTS)

    def test_a_copy_of_a_module_does_not_close_the_file_that_the_module_saves(self):
        path, again = self.folder / "m.tcc", self.folder / "again.tcc"
        tcc.compile(product_model(), cache=False).save(path)
        module = tcc.load(path)
        for copied in (copy.copy(module), copy.deepcopy(module), copy.deepcopy([module])[0]):
            self.assertIs(copied, module)
        for owner in (module._artefact, module._network()):
            self.assertRaises(TypeError, copy.copy, owner)
        del copied
        gc.collect()
        # A descriptor that had been closed would be that of the next file.
        other = os.open(__file__, os.O_RDONLY)
        self.addCleanup(os.close, other)
        module.save(again)
        self.assertEqual(again.read_bytes(), path.read_bytes())

    def test_pickling_a_module_and_copying_bound_arrays_are_refused_with_a_remedy(self):
        module = tcc.compile(product_model(), cache=False)
        bound = module.bind({"x": X})
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with self.assertRaisesRegex(TypeError, "^tcc.Module can be .*save.*tcc.load"):
                pickle.dumps(module, protocol)
        for action in (pickle.dumps, copy.copy, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "^tcc.Bound can be .*; Module.bind"):
                action(bound)
        bound()
        np.testing.assert_array_equal(bound.outputs["y"], X @ WEIGHTS)

    def test_files_that_are_missing_or_damaged_are_named(self):
        with self.assertRaisesRegex(tcc.BadInputError, "none.tcc': No such file"):
            tcc.load(self.folder / "none.tcc")
        path = self.folder / "m.tcc"
        tcc.compile(product_model(), cache=False).save(path)
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with self.assertRaisesRegex(tcc.BadInputError, str(path)):
            tcc.load(path)
        with self.assertRaises(tcc.BadInputError):
            tcc.load(bytes(content))
        with self.assertRaisesRegex(tcc.BadInputError, "cannot write '.*/none/m.tcc': No such"):
            tcc.compile(product_model(), cache=False).save(self.folder / "none" / "m.tcc")

    def test_an_option_that_does_not_fit_is_a_usage_error(self):
        path = self.folder / "m.tcc"
        tcc.compile(product_model(), cache=False).save(path)
        for keywords, message in (
                ({"threads": -1}, "threads: expected a whole number of at least 0, -1 came"),
                ({"map_weights": "no"}, "map_weights: expected True or False, 'no' came"),
                ({"device": "cuda:0"}, "device: expected a whole number .* 'cuda:0' came")):
            with self.assertRaisesRegex(tcc.UsageError, f"^{message}"):
                tcc.load(path, **keywords)

    def test_what_is_no_file_and_no_bytes_is_told(self):
        for source, message in ((None, "source: expected a path, or .*; NoneType came"),
                                ("a\0b", "cannot open 'a\0b': embedded null byte"),
                                ("", "source: expected a path, '' came")):
            with self.assertRaisesRegex(tcc.TccError, f"^{message}"):
                tcc.load(source)
        module = tcc.compile(product_model(), cache=False)
        for path, message in ((None, "path: expected a path, NoneType came"),
                              ("a\0b", "cannot write 'a\0b': embedded null byte")):
            with self.assertRaisesRegex(tcc.TccError, f"^{message}"):
                module.save(path)

    def test_another_interface_or_version_of_the_library_is_refused_with_a_remedy(self):
        said = self.run_python(
            "import sys, tcc\n"
            "from tcc import _declarations\n"
            "_declarations.ABI = 99\n"
            "try: tcc.load(sys.argv[1])\n"
            "except tcc.MissingError as error: print(error)\n", __file__)
        self.assertRegex(said, "has interface 1, expected 99 or later; .*pip install.*TCC_LIBRARY")
        said = self.run_python(
            "import sys, tcc\n"
            "from tcc import _library\n"
            "_library.__version__ = '9.9.9'\n"
            "try: tcc.load(sys.argv[1])\n"
            "except tcc.MissingError as error: print(error)\n", __file__)
        self.assertRegex(said, rf"is version {tcc.__version__}, expected 9.9.9; .*pip install")

    def test_a_library_that_is_missing_or_another_one_is_refused_with_a_remedy(self):
        load = ("import sys, tcc\n"
                "try: tcc.load(sys.argv[1])\n"
                "except tcc.MissingError as error: print(error)\n")
        said = self.run_python(load, __file__, TCC_LIBRARY=str(self.folder / "none.so"))
        self.assertRegex(said, "none.so' was not found; .*pip install")
        broken = self.folder / "broken.so"
        broken.write_bytes(b"no library")
        said = self.run_python(load, __file__, TCC_LIBRARY=str(broken))
        self.assertRegex(said, "broken.so' cannot be opened: .*")
        other = next(pathlib.Path(np.__file__).parent.glob("linalg/_umath_linalg*.so"))
        said = self.run_python(load, __file__, TCC_LIBRARY=str(other))
        self.assertRegex(said, "is no libtcc_runtime.*pip install")

