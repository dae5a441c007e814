#!/usr/bin/env python3
"""Holds what a backend touches outside its own folders, and the table of it in docs/backends.md."""
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("backend_table", ROOT / "scripts/backend_table.py")
backend_table = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(backend_table)


class BackendTouch(unittest.TestCase):

    def test_no_backend_touches_more_files_than_its_goal(self):
        paths = backend_table.sources()
        for backend in backend_table.BACKENDS:
            elsewhere = backend_table.survey(backend, paths)["elsewhere"]
            self.assertLessEqual(
                len(elsewhere), backend.goal,
                f"{backend.name} is named by {len(elsewhere)} files outside its folders, expected "
                f"at most {backend.goal}: {', '.join(sorted(elsewhere))}")

    def test_every_folder_of_a_backend_is_there(self):
        paths = backend_table.sources()
        for backend in backend_table.BACKENDS:
            for prefix in backend.folders + backend.devices:
                self.assertTrue(any(path.startswith(prefix) for path in paths)
                                or (ROOT / prefix).exists(), f"{backend.name}: {prefix}")

    def test_a_file_that_names_a_backend_is_counted(self):
        vdla = next(b for b in backend_table.BACKENDS if b.name == "vdla")
        found = backend_table.survey(vdla, ["compiler/make_backend.cc", "support/status.h"])
        self.assertEqual(list(found["elsewhere"]), ["compiler/make_backend.cc"])

    def test_the_table_of_the_page_is_current(self):
        """Lines may be a tenth off: an edit of a backend is no edit of the page."""
        text = backend_table.PAGE.read_text(encoding="utf-8")
        written = text.split(backend_table.BEGIN)[1].split(backend_table.END)[0].strip()
        rows, wanted = (
            [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
            for table in (written, backend_table.table()))
        self.assertEqual([row[0] for row in rows], [row[0] for row in wanted],
                         "run scripts/backend_table.py --write")
        for row, want in zip(rows[2:], wanted[2:]):
            self.assertEqual(row[-1], want[-1], f"{row[0]}: run scripts/backend_table.py --write")
            for cell, number in zip(row[1:-1], want[1:-1]):
                self.assertAlmostEqual(int(cell), int(number), delta=max(int(number) / 10, 5),
                                       msg=f"{row[0]}: run scripts/backend_table.py --write")


if __name__ == "__main__":
    unittest.main()
