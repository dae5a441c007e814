"""tcc.onnxruntime beside onnxruntime: programs with one import changed, and the differences."""

import concurrent.futures
import copy
import inspect
import pathlib
import pickle
import pkgutil
import re
import subprocess
import sys
import threading
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import tcc
import tcc.onnxruntime as ort
from tcc.onnxruntime.capi.onnxruntime_pybind11_state import (Fail, InvalidArgument, InvalidGraph,
                                                             InvalidProtobuf, NotImplemented)
from tcc_package import BUILT, ROOT, WEIGHTS, PackageTest, cast_model, model, product_model, value

SCRIPTS = pathlib.Path(__file__).parent / "onnxruntime_scripts"
# The networks of the zoo that scripts get as their argument.
NETWORK_OF = {"bert": "bert_base", "classification": "mobilenet_v2", "from_bytes": "resnet18",
              "lstm": "lstm_lm", "threads": "dqn"}
NETWORKS = ["dqn", "resnet18", "resnet50", "mobilenet_v2", "r3d_18", "dcgan", "vit_b_16",
            "bert_base", "llama_block", "lstm_lm"]
THEIRS, OURS = "import onnxruntime as ort\n", "import tcc.onnxruntime as ort\n"
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
RELATIVE, ABSOLUTE = 1e-3, 1e-4


def differences(ours, theirs):
    """Returns how two printed texts differ: in their words, or in numbers beyond rounding."""
    words = [re.sub(r"\s+", " ", NUMBER.sub("#", text)).replace("[ ", "[").replace(" ]", "]")
             for text in (ours, theirs)]
    if words[0] != words[1]:
        return f"{ours}\nbeside onnxruntime's\n{theirs}"
    numbers = [np.array([float(number) for number in NUMBER.findall(text)])
               for text in (ours, theirs)]
    wrong = ~np.isclose(*numbers, rtol=RELATIVE, atol=ABSOLUTE)
    return [tuple(pair) for pair in np.stack(numbers, 1)[wrong]]


def relu_model(shape, kind=TensorProto.FLOAT):
    return model([helper.make_node("Relu", ["x"], ["y"])], [value("x", shape, kind)],
                 [value("y", shape, kind)])


class Scripts(PackageTest):
    """Each script of the folder runs twice, with onnxruntime and with tcc in its place."""

    def run_script(self, name, text, *arguments):
        folder = self.folder / f"{name}_{'tcc' if OURS in text else 'onnxruntime'}"
        folder.mkdir()
        script = folder / f"{name}.py"
        script.write_text(text, encoding="utf-8")
        result = subprocess.run([sys.executable, "-W", "error", script, *arguments], cwd=folder,
                                capture_output=True, text=True, timeout=300, check=False,
                                env=self.environment(PYTHONIOENCODING="utf-8"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_scripts_print_the_same_with_one_import_changed(self):
        scripts = sorted(SCRIPTS.glob("*.py"))
        self.assertGreaterEqual(len(scripts), 12)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for script, result in [(script, pool.submit(self.run_with_both, script))
                                   for script in scripts]:
                with self.subTest(script=script.stem):
                    self.assertFalse(differences(*result.result()))

    def run_with_both(self, script):
        """Returns what a script prints with tcc, and with onnxruntime."""
        text = script.read_text(encoding="utf-8")
        self.assertEqual(text.count("onnxruntime as ort"), 1)
        arguments = []
        if script.stem in NETWORK_OF:
            arguments = [self.folder / f"{script.stem}.onnx"]
            self.tcc("zoo", "export", NETWORK_OF[script.stem], "--small", "-o", *arguments)
        return [self.run_script(script.stem, each, *arguments)
                for each in (text.replace(THEIRS, OURS), text)]

    def test_a_wrong_number_and_a_wrong_word_would_be_seen(self):
        self.assertFalse(differences("a [ 1.00001 2.]", "a [1. 2.0]"))
        self.assertTrue(differences("a [1.01]", "a [1.]"))
        self.assertTrue(differences("b [1.]", "a [1.]"))
        self.assertTrue(differences("a [1.]", "a [1. 2.]"))


class Interface(PackageTest):
    def test_names_of_onnxruntime_are_there_or_on_the_page_of_differences(self):
        missing = not_there()
        for theirs, ours in [(onnxruntime, ort), *(
                (getattr(onnxruntime, name), getattr(ort, name)) for name in (
                    "InferenceSession", "SessionOptions", "RunOptions", "IOBinding", "OrtValue",
                    "OrtDevice"))]:
            for name in dir(theirs):
                if name.startswith("_") or inspect.ismodule(getattr(theirs, name)):
                    continue
                self.assertNotEqual(hasattr(ours, name), name in missing, name)

    def test_modules_of_onnxruntime_are_there_or_on_the_page_of_differences(self):
        page = (ROOT / "docs" / "onnxruntime.md").read_text(encoding="utf-8")
        missing = set(re.findall(r"`onnxruntime\.([\w.]+)`", page[page.index("These modules"):]))
        for prefix, theirs, ours in (("", onnxruntime, ort), ("capi.", onnxruntime.capi, ort.capi)):
            there = {row.name for row in pkgutil.iter_modules(ours.__path__)}
            for row in pkgutil.iter_modules(theirs.__path__):
                if not row.name.startswith(("_", "lib")):  # its own, and shared libraries
                    name = prefix + row.name
                    self.assertNotEqual(row.name in there, name in missing, name)
                    missing.discard(name)
        self.assertFalse(missing)

    def test_exceptions_and_enumerations_have_onnxruntimes_names(self):
        state = onnxruntime.capi.onnxruntime_pybind11_state
        for name, theirs in inspect.getmembers(state, inspect.isclass):
            if issubclass(theirs, Exception):
                self.assertTrue(issubclass(getattr(ort.capi.onnxruntime_pybind11_state, name),
                                           Exception), name)
        for name in ("GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder"):
            members = {key: item.value for key, item in
                       getattr(onnxruntime, name).__members__.items()}
            self.assertEqual({item.name: item.value for item in getattr(ort, name)}, members)

    def test_options_begin_as_onnxruntimes(self):
        for kind in ("SessionOptions", "RunOptions"):
            theirs, ours = getattr(onnxruntime, kind)(), getattr(ort, kind)()
            for name in dir(theirs):
                if not name.startswith("_") and not callable(getattr(theirs, name)):
                    self.assertEqual(str(getattr(ours, name, "none")), str(getattr(theirs, name)),
                                     name)


def not_there():
    """Returns the names that tcc.onnxruntime lacks by the table of the page."""
    page = (ROOT / "docs" / "onnxruntime.md").read_text(encoding="utf-8")
    rows = page[page.index("Not there, each an"):].splitlines()
    return {name for row in rows if row.startswith("| ")
            for name in re.findall(r"`(\w+)`", row.split("|")[2])}


class Sessions(PackageTest):
    def counted(self):
        """Makes the program note each start; returns a function that tells them."""
        log = self.folder / "log"
        self.program(f'echo "$@" >> {log}\nexec {BUILT["TCC_PROGRAM"]} "$@"\n')
        return lambda: log.read_text().splitlines() if log.exists() else []

    def test_networks_of_the_zoo_give_onnxruntimes_results(self):
        for name in NETWORKS:
            with self.subTest(network=name):
                path = str(self.folder / f"{name}.onnx")
                self.tcc("zoo", "export", name, "--small", "-o", path)
                ours, theirs = ort.InferenceSession(path), onnxruntime.InferenceSession(path)
                draw = np.random.default_rng(0)
                feed = {arg.name: draw.integers(0, 2, arg.shape) if "int64" in arg.type
                        else draw.standard_normal(arg.shape, np.float32)
                        for arg in theirs.get_inputs()}
                for side in ("get_inputs", "get_outputs"):
                    described = [[(arg.name, arg.type, arg.shape)
                                  for arg in getattr(session, side)()] for session in (ours, theirs)]
                    self.assertEqual(*described)
                for mine, yours in zip(ours.run(None, feed), theirs.run(None, feed)):
                    np.testing.assert_allclose(mine, yours, rtol=1e-3, atol=1e-4)

    def test_a_second_session_starts_no_program(self):
        starts = self.counted()
        content = product_model().SerializeToString()
        for _ in range(2):
            session = ort.InferenceSession(content)
            x = np.ones((3, 4), np.float32)
            np.testing.assert_allclose(session.run(None, {"x": x})[0], x @ WEIGHTS)
        self.assertEqual(len(starts()), 1)

    def test_eight_sets_of_shapes_are_kept_and_a_ninth_is_warned_of(self):
        starts = self.counted()
        session = ort.InferenceSession(relu_model(["n"]).SerializeToString())
        self.assertEqual(starts(), [])
        for size in range(1, 9):
            session.run(None, {"x": np.ones(size, np.float32)})
        with self.assertWarnsRegex(UserWarning, "more than 8 sets of input shapes"):
            session.run(None, {"x": np.ones(9, np.float32)})
        self.assertEqual(len(session._modules._modules), 8)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for size in (1, 9, 5):
                x = np.arange(size, dtype=np.float32) - 2
                np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.maximum(x, 0))
        # The one that was dropped is in the cache.
        self.assertEqual(len(starts()), 9)

    def test_threads_that_need_the_same_shape_compile_it_once(self):
        starts = self.counted()
        session = ort.InferenceSession(relu_model(["n", 3]).SerializeToString())
        results = []
        threads = [threading.Thread(target=lambda: results.append(
            session.run(None, {"x": np.ones((2, 3), np.float32)})[0])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([result.shape for result in results], [(2, 3)] * 4)
        self.assertEqual(len(starts()), 1)

    def test_an_artefact_needs_no_program_and_tells_the_models_metadata(self):
        described = product_model()
        described.producer_name, described.doc_string = "exporter", "two\nlines"
        described.model_version = 3
        helper.set_model_props(described, {"names": "{0: 'Käfer',\n 1: 'x'}", "stride": "32"})
        path = self.folder / "m.tcc"
        tcc.compile(described, output=path)
        self.set_variable("TCC_PROGRAM", str(self.folder / "nowhere"))
        x = np.ones((3, 4), np.float32)
        for source in (str(path), path, path.read_bytes()):
            session = ort.InferenceSession(source)
            np.testing.assert_allclose(session.run(["y"], {"x": x})[0], x @ WEIGHTS)
            meta = session.get_modelmeta()
            self.assertEqual(meta.custom_metadata_map,
                             {"names": "{0: 'Käfer',\n 1: 'x'}", "stride": "32"})
            self.assertEqual((meta.producer_name, meta.description, meta.version, meta.graph_name),
                             ("exporter", "two\nlines", 3, "g"))
            self.assertEqual([str(arg) for arg in session.get_inputs()],
                             ["NodeArg(name='x', type='tensor(float)', shape=[3, 4])"])

    def test_threads_of_the_options_run_the_kernels(self):
        for threads in (1, 2):
            options = ort.SessionOptions()
            options.intra_op_num_threads = threads
            session = ort.InferenceSession(relu_model([4]).SerializeToString(), options)
            self.assertEqual(session._module.threads, threads)

    def test_options_of_the_provider_are_those_of_compile(self):
        starts = self.counted()
        content = relu_model([4]).SerializeToString()
        session = ort.InferenceSession(
            content, providers=[("TccExecutionProvider",
                                 {"target": "x86-64-v3", "numeric": "bf16", "winograd": "false"})])
        for words in ("--target=x86-64-v3", "--numeric=bf16", "--no-winograd"):
            self.assertIn(words, starts()[0])
        self.assertEqual(session.get_provider_options(), {"TccExecutionProvider": {
            "target": "x86-64-v3", "numeric": "bf16", "winograd": "False"}})
        self.assertEqual(session.get_providers(), ["TccExecutionProvider"])
        with self.assertRaisesRegex(ValueError, "has no option 'speed'; it has target, database"):
            ort.InferenceSession(content, providers=["TccExecutionProvider"],
                                 provider_options=[{"speed": 3}])
        with self.assertRaisesRegex(InvalidArgument, "nothing"):
            ort.InferenceSession(content, providers=[("TccExecutionProvider",
                                                      {"target": "nothing"})])

    def test_providers_that_are_not_there_are_warned_of_where_the_session_is_made(self):
        content = relu_model([4]).SerializeToString()
        with self.assertWarnsRegex(UserWarning, "'CUDAExecutionProvider' is not available") as seen:
            ort.InferenceSession(content,
                                 providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
        self.assertEqual(seen.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ort.InferenceSession(content, providers=["CPUExecutionProvider"])

    def test_results_that_differ_are_on_the_page_of_differences(self):
        gather = model([helper.make_node("Gather", ["x", "i"], ["y"])],
                       [value("x", [3]), value("i", [2], TensorProto.INT64)], [value("y", [2])])
        feed = {"x": np.array([1, 2, 3], np.float32), "i": np.array([1, 7])}
        mean = model([helper.make_node("ReduceMean", ["x", "axes"], ["y"], keepdims=0)],
                     [value("x", [2, 0])], [value("y", [2])], [("axes", np.array([1]))])
        empty = {"x": np.zeros((2, 0), np.float32)}
        gathers, means = ([package.InferenceSession(proto.SerializeToString())
                           for package in (onnxruntime, ort)] for proto in (gather, mean))
        quiet = onnxruntime.RunOptions()
        quiet.log_severity_level = 4
        with self.assertRaises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
            gathers[0].run(None, feed, quiet)
        self.assertEqual(gathers[1].run(None, feed)[0].tolist(), [2, 3])
        self.assertEqual(means[0].run(None, empty)[0].tolist(), [0, 0])
        self.assertTrue(np.isnan(means[1].run(None, empty)[0]).all())

    def test_what_would_change_results_is_refused(self):
        options = ort.SessionOptions()
        for action in (lambda: options.add_initializer("w", None),
                       lambda: options.add_external_initializers(["w"], [None]),
                       lambda: options.register_custom_ops_library("ops.so"),
                       lambda: options.add_free_dimension_override_by_denotation("BATCH", 1),
                       lambda: ort.RunOptions().add_active_adapter(None)):
            self.assertRaises(NotImplemented, action)
        options.optimized_model_filepath = "optimized.onnx"
        with self.assertRaisesRegex(NotImplemented, "no optimized ONNX model is written"):
            ort.InferenceSession(relu_model([4]).SerializeToString(), options)
        with self.assertRaises(AttributeError):
            options.intra_op_num_thread = 1
        described = product_model()
        described.graph.input.append(value("w", [4, 5]))
        session = ort.InferenceSession(described.SerializeToString())
        self.assertEqual([arg.name for arg in session.get_overridable_initializers()], ["w"])
        with self.assertRaisesRegex(NotImplemented, "initializer 'w' cannot be replaced"):
            session.run(None, {"x": np.ones((3, 4), np.float32), "w": WEIGHTS})
        with self.assertRaisesRegex(AttributeError, "no 'SparseTensor'"):
            ort.SparseTensor

    def test_an_unsupported_model_is_what_any_program_catches(self):
        content = model([helper.make_node("Foo", ["x"], ["y"])], [value("x", [2])],
                        [value("y", [2])]).SerializeToString()
        for kind in (NotImplemented, Fail, InvalidGraph):
            with self.assertRaisesRegex(kind, "NOT_IMPLEMENTED : (?s:.*)Foo: 1 node"):
                ort.InferenceSession(content)
        free = model([helper.make_node("Foo", ["x"], ["y"])], [value("x", ["n"])],
                     [value("y", ["n"])]).SerializeToString()
        session = ort.InferenceSession(free)  # compiled when shapes are known
        with self.assertRaisesRegex(NotImplemented, "Foo: 1 node"):
            session.run(None, {"x": np.ones(2, np.float32)})

    def test_a_cut_off_model_is_an_error_at_every_byte(self):
        content = product_model(rows="n").SerializeToString()
        for length in range(len(content)):
            try:
                ort.InferenceSession(content[:length]).get_inputs()
            except (InvalidProtobuf, InvalidArgument, InvalidGraph):
                pass

    def test_arrays_of_all_kinds_are_inputs(self):
        session = ort.InferenceSession(relu_model([2, 3]).SerializeToString())
        x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
        frozen = x.copy()
        frozen.flags.writeable = False

        class Exporter:
            def __dlpack__(self, **options):
                return x.__dlpack__(**options)

            def __dlpack_device__(self):
                return x.__dlpack_device__()

        for given in (x, frozen, np.asfortranarray(x), x.astype(">f4"), x[::1], x.tolist(),
                      np.repeat(x, 2, axis=1)[:, ::2], Exporter(),
                      ort.OrtValue.ortvalue_from_numpy(x)):
            np.testing.assert_array_equal(session.run(None, {"x": given})[0], np.maximum(x, 0))
        with self.assertRaisesRegex(InvalidArgument, "NoneType came"):
            session.run(None, {"x": None})

    def test_bfloat16_is_that_of_ml_dtypes_or_its_bits(self):
        session = ort.InferenceSession(
            cast_model(TensorProto.BFLOAT16, TensorProto.FLOAT).SerializeToString())
        self.assertEqual(session.get_inputs()[0].type, "tensor(bfloat16)")
        x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
        for given in (x, x.view(np.uint16),
                      ort.OrtValue.ortvalue_from_numpy_with_onnx_type(x.view(np.uint16), 16)):
            np.testing.assert_array_equal(session.run(None, {"x": given})[0],
                                          x.astype(np.float32))

    def test_arguments_of_another_type_are_onnxruntimes_type_errors(self):
        content = relu_model([4]).SerializeToString()
        feed = {"x": np.ones(4, np.float32)}
        values = ("a", 1, 1.5, True, None, [1], np.int32(7), object())

        def outcome(action):
            try:
                return str(action())
            except TypeError:
                return "TypeError"

        def kept(options, name, value):
            setattr(options, name, value)
            return getattr(options, name)

        for kind in ("SessionOptions", "RunOptions"):
            for name in vars(getattr(onnxruntime, kind)):
                if name.startswith("_") or callable(getattr(getattr(ort, kind)(), name, print)):
                    continue
                for given in values:
                    theirs, ours = (outcome(lambda: kept(getattr(package, kind)(), name, given))
                                    for package in (onnxruntime, ort))
                    self.assertEqual(ours, theirs, (name, given))
        options = ort.SessionOptions()
        sessions = [package.InferenceSession(content) for package in (onnxruntime, ort)]
        binding = sessions[1].io_binding()
        for action in (lambda: options.add_free_dimension_override_by_name("n", "a"),
                       lambda: binding.bind_cpu_input(1, np.ones(4, np.float32)),
                       lambda: binding.bind_output(1),
                       lambda: options.add_session_config_entry("key", 1),
                       lambda: ort.InferenceSession(content, onnxruntime.SessionOptions())):
            self.assertRaises(TypeError, action)
        for names in ("y", b"y", [1], {"y": 1}, iter(["y"]), 1, ["y"], ("y",), {"y"}, [], None):
            theirs, ours = (outcome(lambda: session.run(names, feed)) for session in sessions)
            self.assertEqual(ours, theirs, names)

    def test_copies_and_pickles_of_a_session_are_refused_and_leave_it_whole(self):
        session = ort.InferenceSession(relu_model([4]).SerializeToString())
        for owner in (session, session.io_binding()):
            for action in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "^tcc.onnxruntime.I.* can be neither"):
                    action(owner)
        options = copy.deepcopy(session.get_session_options())
        self.assertEqual(options.intra_op_num_threads, 0)
        x = np.array([1, -2, 3, -4], np.float32)
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.maximum(x, 0))

    def test_memory_of_other_devices_is_refused(self):
        session = ort.InferenceSession(relu_model([4]).SerializeToString())
        binding = session.io_binding()
        for action in (lambda: binding.bind_output("y", "cuda"),
                       lambda: binding.bind_input("x", "cuda", 0, np.float32, [4], 0),
                       lambda: ort.OrtValue.ortvalue_from_numpy(np.zeros(4), "cuda"),
                       lambda: ort.OrtDevice.make("cuda", 0)):
            self.assertRaisesRegex(NotImplemented, "memory of 'cuda' is not supported", action)
        with self.assertRaisesRegex(ValueError, "element_type"):
            binding.bind_output("y", buffer_ptr=1)

    def test_external_weights_lie_where_the_session_says(self):
        (self.folder / "weights").mkdir()
        onnx.save(product_model(), str(self.folder / "weights" / "m.onnx"),
                  save_as_external_data=True, location="m.data", size_threshold=0)
        (self.folder / "weights" / "m.onnx").rename(self.folder / "m.onnx")
        options = ort.SessionOptions()
        options.add_session_config_entry("session.model_external_initializers_file_folder_path",
                                         str(self.folder / "weights"))
        session = ort.InferenceSession(str(self.folder / "m.onnx"), options)
        x = np.ones((3, 4), np.float32)
        np.testing.assert_allclose(session.run(None, {"x": x})[0], x @ WEIGHTS)
        with self.assertRaises(InvalidGraph):
            ort.InferenceSession(str(self.folder / "m.onnx"))
