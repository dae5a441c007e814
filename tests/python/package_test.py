"""The package as a whole: what it imports, its types, and what it repeats of other files."""

import os
import re
import subprocess
import sys

import tcc
from tcc_package import BUILT, PACKAGE, ROOT, PackageTest, product_model


class Package(PackageTest):
    def test_importing_loading_and_looking_into_a_module_imports_no_numpy(self):
        path = self.folder / "m.tcc"
        tcc.compile(product_model(), cache=False).save(path)
        said = self.run_python(
            "import sys, tcc\n"
            "module = tcc.load(sys.argv[1])\n"
            "print(module.inputs[0].shape, module.kernels[0].flops, 'numpy' in sys.modules)",
            path)
        self.assertEqual(said, "(3, 4) 120 False\n")

    def test_importing_opens_no_library_and_starts_nothing(self):
        self.run_python("import tcc", TCC_LIBRARY="/none", TCC_PROGRAM="/none")

    def test_the_types_are_strict_in_the_package_and_where_it_is_used(self):
        uses = ROOT / "tests" / "python" / "uses.py"
        result = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / "build" / "mypy"),
             str(PACKAGE / "tcc"), str(uses)], capture_output=True, text=True, timeout=300,
            check=False, cwd=PACKAGE, env={**os.environ, "MYPYPATH": str(PACKAGE)})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue((PACKAGE / "tcc" / "py.typed").exists())

    def test_the_declarations_are_those_of_the_header(self):
        script = ROOT / "scripts" / "c_declarations.py"
        result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True,
                                timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_the_version_is_that_of_the_project(self):
        text = (ROOT / "CMakeLists.txt").read_text()
        self.assertEqual(tcc.__version__, re.search(r"project\(tcc VERSION (\S+)", text)[1])

    def test_everything_that_the_package_has_is_documented(self):
        for name in tcc.__all__:
            if name != "__version__":
                self.assertTrue(getattr(tcc, name).__doc__, name)

    def test_the_examples_of_the_guide_run(self):
        page = (ROOT / "docs" / "python.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 5)
        (export,) = re.findall(r"^tcc (zoo export .*?)  ", page, re.MULTILINE)
        guide = "\n".join(blocks).replace("seconds=60", "trials=4")
        (self.folder / "guide.py").write_text(guide)
        for words in ([BUILT["TCC_PROGRAM"], *export.split()], [sys.executable, "guide.py"]):
            result = subprocess.run(words, capture_output=True, text=True, cwd=self.folder,
                                    timeout=300, check=False, env=self.environment())
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_guide_names_every_keyword_and_every_class_of_errors(self):
        page = (ROOT / "docs" / "python.md").read_text()
        for name in (*tcc.compile.__kwdefaults__, *tcc.load.__kwdefaults__):
            self.assertRegex(page, rf"`{name}[`=]|{name}=", name)
        for name in tcc.__all__:
            if name.endswith("Error"):
                self.assertIn(f"`{name}`" if name != "TccError" else "`tcc.TccError`", page)
