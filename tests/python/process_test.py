"""Threads, forks, signals and the environment of the program."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np

import tcc
from tcc import _program
from tcc_package import BUILT, WEIGHTS, PackageTest, product_model

X = np.arange(12, dtype=np.float32).reshape(3, 4)


class Threads(PackageTest):
    def test_threads_share_a_module(self):
        module = tcc.compile(product_model(), cache=False)  # loaded by whoever comes first
        wrong, begin = [], threading.Barrier(8)

        def work(number):
            x = X + number
            begin.wait()
            for _ in range(200):
                if not np.array_equal(module(x), x @ WEIGHTS):
                    wrong.append(number)

        self.run_all(work, 8)
        self.assertEqual(wrong, [])

    def test_threads_that_call_one_bound_module_wait_for_each_other(self):
        y = np.zeros((3, 5), np.float32)
        bound = tcc.compile(product_model(), cache=False).bind({"x": X.copy()}, {"y": y})
        self.run_all(lambda _: [bound() for _ in range(200)], 4)
        np.testing.assert_array_equal(y, X @ WEIGHTS)

    def test_threads_compile_at_once(self):
        results = [None] * 4

        def work(number):
            results[number] = tcc.compile(product_model())(X)

        self.run_all(work, 4)
        for result in results:
            np.testing.assert_array_equal(result, X @ WEIGHTS)

    def run_all(self, work, count):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Forks(PackageTest):
    def test_a_module_runs_in_forked_processes_too(self):
        module = tcc.compile(product_model(), cache=False, threads=2)
        bound = module.bind({"x": X.copy()})
        lazy = tcc.compile(product_model())
        module(X)
        children = []
        for _ in range(2):
            child = os.fork()
            if child == 0:
                right = False
                try:
                    bound()
                    right = all(np.array_equal(result, X @ WEIGHTS)
                                for result in (module(X), bound.outputs["y"], lazy(X)))
                finally:
                    os._exit(0 if right else 1)
            children.append(child)
        for child in children:
            self.assertEqual(os.waitpid(child, 0)[1], 0)
        np.testing.assert_array_equal(module(X), X @ WEIGHTS)


# Says when the work in question has begun, and how it ended.
INTERRUPTED = """
import sys, tcc
def told(progress):
    if progress.stage == sys.argv[2] and progress.done > 0:
        print("begun", flush=True)
try:
    print({call})
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""


class Interrupts(PackageTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.onnx"
        self.tcc("zoo", "export", "mobilenet_v2", "--small", "-o", self.model)
        self.database = self.folder / "m.db"

    def interrupted(self, call, stage, times=1):
        """Sends SIGINT to Python alone, as a notebook does, when the stage has begun."""
        child = subprocess.Popen([sys.executable, "-c", INTERRUPTED.format(call=call), self.model,
                                  stage, self.database], stdout=subprocess.PIPE, text=True,
                                 env=self.environment())
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "begun\n")
        for _ in range(times):
            child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=120)
        return said.replace("begun\n", "")

    def test_a_search_that_is_interrupted_keeps_its_best(self):
        said = self.interrupted("tcc.tune(sys.argv[1], database=sys.argv[3], seconds=3600, "
                                "progress=told)", "tuning")
        self.assertRegex(said, r"^Summary\(trials=[1-9].*interrupted=True")
        records = self.tcc("db", "export", self.database)
        self.assertIn('"ok"', records)

    def test_an_interrupt_ends_a_compilation_and_leaves_nothing_in_the_cache(self):
        said = self.interrupted("tcc.compile(sys.argv[1], seconds=3600, progress=told)", "tuning")
        self.assertEqual(said, "KeyboardInterrupt\n")
        self.assertEqual(list((self.folder / "cache").rglob("*.tcc")), [])

    def test_an_interrupt_ends_a_program_that_does_not_look_at_signals(self):
        self.program('echo \'{"stage": "code", "done": 2, "total": 3, "seconds": 0}\' >&2\n'
                     "exec sleep 600\n")
        said = self.interrupted("tcc.compile(sys.argv[1], progress=told)", "code")
        self.assertEqual(said, "KeyboardInterrupt\n")

    def test_the_terminals_interrupt_does_not_reach_the_program_by_itself(self):
        session = self.folder / "session"
        self.program(f'cut -d " " -f 6 /proc/$$/stat >{session}\n'
                     f'exec {BUILT["TCC_PROGRAM"]} "$@"\n')
        tcc.compile(product_model())
        self.assertNotEqual(int(session.read_text()), os.getsid(0))


class Environment(PackageTest):
    def test_the_program_finds_nvrtc_where_pip_installs_it(self):
        library = self.folder / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
        library.parent.mkdir(parents=True)
        library.write_text("")
        text = ("from tcc import _program\nv = _program.environment()\n"
                "import sys; print(v.get('TCC_NVRTC'), v['TCC_VENV'] == sys.prefix)")
        clean = {"PYTHONPATH": f"{self.folder}:{os.environ.get('PYTHONPATH', '')}:"
                               f"{self.environment()['PYTHONPATH']}"}
        for name in ("TCC_NVRTC", "CUDA_HOME", "TCC_VENV"):
            self.set_variable(name, None)
        self.assertEqual(self.run_python(text, **clean), f"{library} True\n")
        self.assertEqual(self.run_python(text, TCC_NVRTC="mine", **clean), "mine True\n")
        self.assertEqual(self.run_python(text, CUDA_HOME="/cuda", **clean), "None True\n")
        self.assertEqual(self.run_python(text, TCC_VENV="mine", TCC_NVRTC="x", **clean),
                         "x False\n")

    def test_the_module_is_the_program(self):
        result = subprocess.run([sys.executable, "-m", "tcc", "version"], capture_output=True,
                                text=True, env=self.environment(), timeout=60, check=True)
        self.assertEqual(result.stdout, self.tcc("version"))
        result = subprocess.run([sys.executable, "-m", "tcc", "frobnicate"], capture_output=True,
                                env=self.environment(), timeout=60, check=False)
        self.assertEqual(result.returncode, 2)
        result = subprocess.run([sys.executable, "-m", "tcc"], capture_output=True, text=True,
                                env=self.environment(TCC_PROGRAM="/none"), timeout=60, check=False)
        self.assertEqual((result.returncode, result.stdout), (5, ""))
        self.assertRegex(result.stderr, "^tcc: the program '/none' was not found; .*\n$")

    def test_a_finder_of_programs_looks_into_the_package(self):
        self.set_variable("TCC_PROGRAM", None)
        self.assertTrue(_program.program_path().endswith("/tcc/bin/tcc"))
