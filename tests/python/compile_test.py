"""Compiling by the program, and the cache of what it made."""

import os
import pathlib
import re
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper

import tcc
from tcc import _cache, _digests, _program, _protobuf
from tcc._model import Request
from tcc_package import (BUILT, ROOT, WEIGHTS, PackageTest, cast_model, model, product_model,
                         value)

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def open_model():
    """y = x w with as many rows as `rows` says."""
    return product_model(rows="rows")


def reshaping_model():
    """y = x in a shape that an input says."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 6]) for name in "xy")
    target = helper.make_tensor_value_info("target", TensorProto.INT64, [2])
    node = helper.make_node("Reshape", ["x", "target"], ["y"])
    return helper.make_model(helper.make_graph([node], "g", [x, target], [y]),
                             opset_imports=[helper.make_opsetid("", 17)])


class Compiling(PackageTest):
    def test_a_model_is_a_path_bytes_or_a_proto(self):
        proto = product_model()
        path = self.folder / "-m.onnx"
        onnx.save(proto, path)
        os.chdir(self.folder)
        self.addCleanup(os.chdir, ROOT)
        for source in (path, str(path), "-m.onnx", proto.SerializeToString(), proto):
            for cache in (True, False):
                np.testing.assert_array_equal(tcc.compile(source, cache=cache)(X), X @ WEIGHTS)
        with self.assertRaisesRegex(tcc.BadInputError, "model: expected a path.*; 7 came"):
            tcc.compile(7)

    def test_free_dimensions_get_their_size_by_name_or_by_shape(self):
        by_name = tcc.compile(open_model(), dims={"rows": 3})
        by_range = tcc.compile(open_model(), dims={"rows": "3..3"}, shapes={"x": (None, 4)})
        by_shape = tcc.compile(open_model(), shapes={"x": (3, 4)})
        for module in (by_name, by_range, by_shape):
            np.testing.assert_array_equal(module(X), X @ WEIGHTS)

    def test_several_sizes_are_listed_and_a_run_takes_one_of_them(self):
        module = tcc.compile(open_model(), at=[{"rows": 3}, {"rows": 1}])
        np.testing.assert_array_equal(module(X), X @ WEIGHTS)
        np.testing.assert_array_equal(module(X[:1]), X[:1] @ WEIGHTS)
        with self.assertRaisesRegex(tcc.BadInputError, "rows is 2; expected 1 or 3"):
            module(X[:2])
        with self.assertRaisesRegex(tcc.UsageError, "no dimension is named 'K'; there are rows"):
            tcc.compile(open_model(), at=[{"K": 3}])

    def test_an_input_is_bound_to_an_array_or_a_file(self):
        two = model([helper.make_node("MatMul", ["x", "w"], ["y"])],
                    [value("x", [3, 4]), value("w", [4, 5])], [value("y", [3, 5])])
        np.save(self.folder / "w.npy", WEIGHTS + 1)
        for bound, weights in ((WEIGHTS, WEIGHTS), (self.folder / "w.npy", WEIGHTS + 1)):
            module = tcc.compile(two, bind={"w": bound})
            np.testing.assert_array_equal(module(X), X @ weights)
        # The cache tells apart what differs in a bound array alone.
        np.testing.assert_array_equal(tcc.compile(two, bind={"w": WEIGHTS})(X), X @ WEIGHTS)

    def test_an_output_is_a_file_that_stays(self):
        path = self.folder / "m.tcc"
        module = tcc.compile(product_model(), output=path)
        np.testing.assert_array_equal(module(X), X @ WEIGHTS)
        np.testing.assert_array_equal(tcc.load(path)(X), X @ WEIGHTS)
        self.assertFalse((self.folder / "cache").exists())

    def test_options_reach_the_compiler(self):
        module = tcc.compile(product_model(), target="x86-64-v3", numeric="bf16", winograd=False)
        self.assertEqual((module.target, module.properties["numeric"]), ("x86-64-v3", "bf16"))

    def test_a_network_for_another_machine_is_compiled_and_saved(self):
        module = tcc.compile(product_model(), target="reference")
        module.save(self.folder / "m.tcc")
        with self.assertRaises(tcc.MissingError):
            module(X)
        again = tcc.compile(product_model(), target="reference")  # of the cache
        again.save(self.folder / "again.tcc")
        self.assertEqual((self.folder / "m.tcc").read_bytes(),
                         (self.folder / "again.tcc").read_bytes())

    def test_progress_goes_to_a_callable(self):
        seen = []
        tcc.compile(product_model(), progress=seen.append)
        stages = [progress.stage for progress in seen]
        self.assertEqual((stages[0], stages[-1]), ("graph", "wrote"))
        self.assertTrue(all(isinstance(progress, tcc.Progress) for progress in seen))

    def test_warnings_of_the_model_are_pythons(self):
        self.program('echo \'{"warning": "--numeric bf16: the model is odd"}\' >&2\n'
                     f'exec {BUILT["TCC_PROGRAM"]} "$@"\n')
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tcc.compile(product_model())
        self.assertEqual([str(warning.message) for warning in caught], ["numeric bf16: the model is odd"])
        self.assertEqual(caught[0].filename, __file__)

    def test_what_raises_while_listening_ends_the_compiler(self):
        process = self.folder / "process"
        self.program(f'echo $$ >{process}\n'
                     'echo \'{"stage": "code", "done": 0, "total": 1, "seconds": 0}\' >&2\n'
                     'exec sleep 600\n')

        def fail(progress):
            raise LookupError(progress.stage)

        with self.assertRaisesRegex(LookupError, "code"):
            tcc.compile(product_model(), progress=fail)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(process.read_text()), 0)


class Failing(PackageTest):
    def test_each_kind_of_failure_has_its_class(self):
        bad = self.folder / "bad.onnx"
        bad.write_bytes(b"no model")
        unknown = model([helper.make_node("Frobnicate", ["x"], ["y"], domain="com.example")],
                        [value("x", [4])], [value("y", [4])])
        unknown.opset_import.append(helper.make_opsetid("com.example", 1))
        for kind, code, python, call in (
                (tcc.UsageError, 2, ValueError, lambda: tcc.compile(product_model(), target="vax")),
                (tcc.UnsupportedError, 3, NotImplementedError, lambda: tcc.compile(unknown)),
                (tcc.BadInputError, 4, ValueError, lambda: tcc.compile(bad)),
                (tcc.BadInputError, 4, ValueError,
                 lambda: tcc.compile(self.folder / "none.onnx"))):
            with self.subTest(kind=kind.__name__), self.assertRaises(kind) as caught:
                call()
            self.assertIsInstance(caught.exception, python)
            self.assertIsInstance(caught.exception, tcc.TccError)
            self.assertEqual((caught.exception.code, caught.exception.kind), (code, kind.kind))

    def test_options_that_would_help_are_keywords(self):
        with self.assertRaises(tcc.UnsupportedError) as caught:
            tcc.compile(reshaping_model())
        self.assertEqual(caught.exception.options, ("bind={'target': FILE.npy}",))
        self.assertIn("bind={'target': FILE.npy}", str(caught.exception))
        self.assertNotIn("--", str(caught.exception))
        for option, keyword in (("--shape x=SIZExSIZE...", "shapes={'x': (SIZE, SIZE, ...)}"),
                                ("--bind k=FILE.npy", "bind={'k': FILE.npy}"),
                                ("--dim", "dims={...}"),
                                ("--target x86-64-v3", "target='x86-64-v3'"),
                                ("--allow-symlinks", "allow_symlinks=True")):
            self.assertEqual(_program.keyword_text(option), keyword)
        self.assertEqual(_program.with_keywords("--time-budget 7x: not --a b--c"),
                         "seconds 7x: not a b--c")
        self.assertEqual(_program.with_keywords("-o m.tcc: not a-o b"), "output m.tcc: not a-o b")

    def test_values_that_do_not_fit_are_told_by_their_keywords(self):
        whole = "expected a whole number of at least"
        for keywords, message in (
                ({"threads": -1}, f"threads: {whole} 0, -1 came"),
                ({"threads": "two"}, f"threads: {whole} 0, 'two' came"),
                ({"threads": True}, f"threads: {whole} 0, True came"),
                ({"trials": 0}, f"trials: {whole} 1, 0 came"),
                ({"seed": 1.5}, f"seed: {whole} 0, 1.5 came"),
                ({"seconds": 0}, "seconds: expected a number of seconds above 0, at most 31536000, "
                                 "0 came"),
                ({"seconds": "90s"}, "seconds: expected .* '90s' came"),
                ({"seconds": float("nan")}, "seconds: expected .* nan came"),
                ({"dims": ["rows"]}, "dims: expected a dictionary whose keys are names, list came"),
                ({"dims": {"rows": "3"}}, f"dims['rows']: {whole} 0, or a range as '1..32' or "
                                          "'1..32:8', '3' came"),
                ({"dims": {"rows": "1..:"}}, "dims['rows']: expected .* '1..:' came"),
                ({"dims": {"rows": -1}}, "dims['rows']: expected .* -1 came"),
                ({"shapes": {"x": (3, -1)}}, "shapes['x']: expected whole numbers of at least 0, "
                                             "or None, one for each axis, tuple came"),
                ({"shapes": {"x": "3x4"}}, "shapes['x']: expected whole numbers .* '3x4' came"),
                ({"bind": [WEIGHTS]}, "bind: expected a dictionary .*, list came"),
                ({"bind": {"w": [[1], [1, 2]]}}, "bind['w']: expected an array or a path, list"),
                ({"winograd": "no"}, "winograd: expected True or False, 'no' came"),
                ({"allow_symlinks": 1}, "allow_symlinks: expected True or False, 1 came"),
                ({"target": 86}, "target: expected a text, 86 came"),
                ({"database": ""}, "database: expected a path, '' came"),
                ({"output": b"m.tcc"}, "output: expected a path, bytes came"),
                ({"progress": "x"}, "progress: expected True, False or a function, 'x' came"),
                ({"cache": "x" * 99}, "cache: expected True or False, str came"),
                ({"target": "a\0b"}, "an argument cannot be handed to tcc: .*null")):
            with self.subTest(**keywords), self.assertRaisesRegex(
                    tcc.TccError, message.replace("[", r"\[").replace("]", r"\]")):
                tcc.compile(product_model(), **keywords)
        with self.assertRaisesRegex(tcc.UsageError, "^progress: .* 'x' came"):
            tcc.tune(product_model(), database=self.folder / "m.db", trials=1, progress="x")
        with self.assertRaises(TypeError):  # as for any function of Python's
            tcc.compile(product_model(), fp16=True)

    def test_numbers_of_numpy_are_numbers_and_its_truths_are_truths(self):
        module = tcc.compile(open_model(), dims={"rows": np.int64(3)}, threads=np.int32(1),
                             winograd=np.True_, allow_symlinks=np.False_)
        self.assertEqual(module.inputs[0].shape, (3, 4))
        module = tcc.compile(open_model(), shapes={"x": np.array([3, 4])}, threads=None)
        np.testing.assert_array_equal(module(X), X @ WEIGHTS)

    def test_an_output_that_is_the_model_is_told_by_its_keyword(self):
        path = self.folder / "m.onnx"
        onnx.save(product_model(), path)
        with self.assertRaisesRegex(tcc.UsageError, f"^output {path}: that is {path}, which is"):
            tcc.compile(path, output=path)

    def test_a_model_that_cannot_write_itself_is_told(self):
        class Broken:
            def SerializeToString(self):
                raise RuntimeError("too large")

        with self.assertRaisesRegex(tcc.BadInputError, "model: Broken gives no ONNX file: too"):
            tcc.compile(Broken())

    def test_a_model_without_a_file_has_a_name_without_a_folder(self):
        with self.assertRaisesRegex(tcc.BadInputError, "^model.onnx"):
            tcc.compile(b"no model")

    def test_every_option_of_the_command_line_is_a_keyword(self):
        spoken = {"help", "progress", "errors", "quiet", "verbose"}
        # A call tunes one size: it returns one summary.
        left_out = {"compile": spoken, "tune": spoken | {"at", "emit", "mix", "text"}}
        for command, others in left_out.items():
            text = self.tcc(command, "--help")
            options = set(re.findall(r"^  (?:-\w,)?--([a-z-]+)", text, re.MULTILINE))
            keywords = set(getattr(tcc, command).__kwdefaults__) | {"database"}
            self.assertEqual({_program.keyword_of(option) for option in options - others},
                             keywords - {"cache", "progress"}, command)

    def test_a_compiler_that_dies_is_an_exception_with_its_last_words(self):
        self.program("echo 'about to die' >&2\nkill -SEGV $$\n")
        with self.assertRaisesRegex(tcc.TccError, "ended by SIGSEGV\nabout to die") as caught:
            tcc.compile(product_model())
        self.assertEqual((caught.exception.code, caught.exception.kind), (-11, "signal"))
        self.program("kill -KILL $$\n")
        with self.assertRaisesRegex(tcc.TccError, "SIGKILL, perhaps because memory was short"):
            tcc.compile(product_model())
        self.program("exit 70\n")
        with self.assertRaisesRegex(tcc.TccError, "ended with exit code 70 and gave no reason"):
            tcc.compile(product_model())

    def test_memory_that_is_short_has_its_class(self):
        self.program("echo '{\"error\":{\"code\":4,\"kind\":\"no_memory\",\"message\":\"out of "
                     "memory\",\"options\":[]}}' >&2\nexit 4\n")
        with self.assertRaisesRegex(tcc.NoMemoryError, "out of memory") as caught:
            tcc.compile(product_model())
        self.assertIsInstance(caught.exception, MemoryError)

    def test_a_program_that_is_missing_or_may_not_be_executed_is_told_with_a_remedy(self):
        self.set_variable("TCC_PROGRAM", str(self.folder / "none"))
        with self.assertRaisesRegex(tcc.MissingError, "none' was not found; .*pip install"):
            tcc.compile(product_model())
        # A file system without executable bits.
        folder = self.folder / "bin"
        folder.mkdir()
        for name in ("tcc", "tcc-worker"):
            (folder / name).write_text("#!/bin/sh\n")
        self.set_variable("TCC_PROGRAM", str(folder / "tcc"))
        for name in ("tcc", "tcc-worker"):
            with self.assertRaisesRegex(tcc.MissingError, f"/{name}' cannot be executed.*chmod"):
                tcc.compile(product_model())
            (folder / name).chmod(0o755)
        (folder / "tcc").write_bytes(b"\x7fELF of another machine")
        with self.assertRaisesRegex(tcc.MissingError, "tcc' cannot be started: Exec format"):
            tcc.compile(product_model())


class Caching(PackageTest):
    def entries(self):
        return sorted((self.folder / "cache" / "python").glob("*.tcc"))

    def test_the_second_compilation_only_loads(self):
        np.testing.assert_array_equal(tcc.compile(product_model())(X), X @ WEIGHTS)
        self.assertEqual(len(self.entries()), 1)
        self.set_variable("TCC_PROGRAM", self.quiet_program())
        np.testing.assert_array_equal(tcc.compile(product_model())(X), X @ WEIGHTS)
        for changed in (lambda: tcc.compile(product_model(), numeric="bf16"),
                        lambda: tcc.compile(cast_model(TensorProto.FLOAT, TensorProto.INT32)),
                        lambda: tcc.compile(product_model(), cache=False),
                        lambda: tcc.compile(product_model(), output=self.folder / "m.tcc")):
            with self.assertRaisesRegex(tcc.TccError, "exit code 9"):
                changed()

    def quiet_program(self):
        """A program that looks like the build's to the cache, and fails."""
        path = self.program("exit 9\n")
        built = os.stat(BUILT["TCC_PROGRAM"])
        size, when = built.st_size, (built.st_atime_ns, built.st_mtime_ns)
        os.truncate(path, size)
        os.utime(path, ns=when)
        state = _cache._state

        def as_built(file):
            return state(BUILT["TCC_PROGRAM"] if file == str(path) else file)

        _cache._state = as_built
        self.addCleanup(setattr, _cache, "_state", state)
        return str(path)

    def test_a_damaged_entry_is_compiled_again(self):
        tcc.compile(product_model())
        (entry,) = self.entries()
        whole = entry.read_bytes()
        for content in (b"", whole[:100], whole[:-1] + bytes([whole[-1] ^ 1])):
            entry.unlink()
            entry.write_bytes(content)
            np.testing.assert_array_equal(tcc.compile(product_model())(X), X @ WEIGHTS)
            self.assertEqual(self.entries()[0].read_bytes(), whole)

    def test_the_least_recently_used_entries_go(self):
        models = [product_model(rows) for rows in (1, 2, 3)]
        entries = []
        for when, proto in enumerate(models):
            tcc.compile(proto)
            (entry,) = set(self.entries()) - set(entries)
            os.utime(entry, (when + 1, when + 1))
            entries.append(entry)
        tcc.compile(models[0])  # used just now
        size = max(entry.stat().st_size for entry in entries)
        self.set_variable("TCC_CACHE_BYTES", str(size * 7 // 2))
        tcc.compile(product_model(4))
        self.assertEqual([entry.exists() for entry in entries], [True, False, True])
        self.set_variable("TCC_CACHE_BYTES", "0")
        module = tcc.compile(product_model(5))
        self.assertEqual(len(self.entries()), 1)
        self.assertEqual(module.inputs[0].shape, (5, 4))

    def test_a_module_runs_although_its_entry_is_gone(self):
        module = tcc.compile(product_model())
        self.entries()[0].unlink()
        np.testing.assert_array_equal(module(X), X @ WEIGHTS)

    def test_weights_in_another_file_are_part_of_the_key(self):
        path = self.folder / "m.onnx"
        for factor in (1, 2):
            onnx.save(model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [3, 4])],
                            [value("y", [3, 5])], [("w", WEIGHTS * factor)]), path,
                      save_as_external_data=True, location="w.bin", size_threshold=0)
            os.utime(path, (1, 1))
            os.utime(self.folder / "w.bin", (factor, factor))
            np.testing.assert_array_equal(tcc.compile(path)(X), X @ WEIGHTS * factor)
        self.assertEqual(len(self.entries()), 2)

    def test_files_of_weights_are_found_wherever_a_model_may_have_tensors(self):
        def outside(location):
            tensor = TensorProto(name=location, data_type=TensorProto.FLOAT, dims=[1],
                                 data_location=TensorProto.EXTERNAL)
            for key, text in (("offset", "0"), ("location", location)):
                tensor.external_data.add(key=key, value=text)
            return tensor

        def sparse(name):
            return onnx.SparseTensorProto(values=outside(f"{name}_values"),
                                          indices=outside(f"{name}_indices"))

        inner = helper.make_graph([], "inner", [], [], [outside("branch")])
        node = helper.make_node("If", ["x"], ["y"], then_branch=inner, value=outside("constant"),
                                all=[outside("listed")], graphs=[inner], sparse=sparse("attribute"))
        odd = model([node], [], [])
        odd.doc_string = str(outside("text").SerializeToString())
        odd.graph.initializer.append(outside("x" * 200))
        odd.graph.sparse_initializer.append(sparse("initializer"))
        odd.functions.add().node.append(helper.make_node("Constant", [], ["c"],
                                                         value=outside("function")))
        content = odd.SerializeToString()
        self.assertEqual(_protobuf.external_files(content), {
            "branch", "constant", "listed", "attribute_values", "attribute_indices", "x" * 200,
            "initializer_values", "initializer_indices", "function"})
        for length in range(len(content)):
            try:
                _protobuf.external_files(content[:length])
            except _protobuf.Malformed:
                pass

    def test_a_model_that_is_none_is_compiled_and_refused_without_a_key(self):
        path = self.folder / "m.onnx"
        path.write_bytes(b"\xff" * 20)
        with self.assertRaises(tcc.BadInputError):
            tcc.compile(path)
        self.assertEqual(self.entries(), [])

    def test_a_model_that_has_not_changed_is_not_read_again(self):
        path = self.folder / "m.onnx"
        odd = product_model()
        odd.doc_string = "x" * _digests.SMALLEST_NOTED
        onnx.save(odd, path)

        def entry():
            with Request(str(path), {}) as request:
                return _cache.entry_of(request)

        def notes():
            return sorted((self.folder / "cache" / "python").glob("*.sha256"))

        first = entry()
        self.assertEqual(notes(), [])  # it was written just now
        self.addCleanup(setattr, _digests, "SETTLED_NS", _digests.SETTLED_NS)
        _digests.SETTLED_NS = -10**18
        self.assertEqual((entry(), entry()), (first, first))
        (note,) = notes()
        note.write_bytes(bytes(32))
        self.assertNotEqual(entry(), first)  # by the note
        note.write_bytes(b"cut off")
        self.assertEqual(entry(), first)
        self.assertEqual(len(note.read_bytes()), 32)
        os.utime(path, (1, 1))
        self.assertEqual(entry(), first)
        self.assertEqual(len(notes()), 2)
        # Another file of the same name, size and time.
        odd.doc_string = "y" * _digests.SMALLEST_NOTED
        onnx.save(odd, self.folder / "other.onnx")
        os.utime(self.folder / "other.onnx", (1, 1))
        os.replace(self.folder / "other.onnx", path)
        self.assertNotEqual(entry(), first)
        self.set_variable("TCC_CACHE_BYTES", "0")
        tcc.compile(product_model())
        self.assertEqual((notes(), len(self.entries())), ([], 1))

    def test_measurements_are_part_of_the_key(self):
        database = self.folder / "m.db"
        tcc.tune(product_model(), database=database, trials=2)
        tcc.compile(product_model(), database=database)
        tcc.compile(product_model(), database=database)
        self.assertEqual(len(self.entries()), 1)
        os.utime(database, (1, 1))
        tcc.compile(product_model(), database=database)
        self.assertEqual(len(self.entries()), 2)

    def test_without_a_folder_for_it_there_is_no_cache(self):
        (self.folder / "file").write_text("")
        self.set_variable("TCC_CACHE_DIR", str(self.folder / "file"))
        np.testing.assert_array_equal(tcc.compile(product_model())(X), X @ WEIGHTS)
        for name in ("TCC_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
            self.set_variable(name, None)
        self.assertIsNone(_cache.cache_folder())
        np.testing.assert_array_equal(tcc.compile(product_model())(X), X @ WEIGHTS)
        self.set_variable("HOME", str(self.folder))
        tcc.compile(product_model())
        self.assertEqual(len(list(pathlib.Path(self.folder).glob(".cache/tcc/python/*.tcc"))), 1)
