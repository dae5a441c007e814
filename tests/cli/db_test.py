#!/usr/bin/env python3
"""tcc db: databases of measurements are counted, listed, exported, imported, merged and checked."""

import contextlib
import hashlib
import json
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

from tcc_command import CommandTest, main


def sealed(lines):
    """The lines of an export with a checksum that holds."""
    text = "".join(lines)
    records = sum(line.startswith('{"fn"') for line in lines)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text + json.dumps({"records": records, "sha256": digest}) + "\n"


class Db(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = pathlib.Path(folder.name) / "dqn.onnx"
        cls.tuned = pathlib.Path(folder.name) / "f.db"
        for arguments in [["zoo", "export", "dqn", "--small", "-o", cls.model],
                          ["tune", cls.model, "--db", cls.tuned, "--trials", "24", "--searcher",
                           "random", "--progress", "none"]]:
            subprocess.run([cls.tcc, *arguments], check=True, capture_output=True, timeout=900)

    def setUp(self):
        super().setUp()
        self.database = self.folder / "f.db"
        shutil.copy(self.tuned, self.database)

    def db(self, subcommand, *arguments, **keywords):
        return self.call("db", subcommand, *arguments, **keywords)

    def refused(self, code, message, *arguments):
        self.assertEqual(self.db(*arguments, expect=code), "")
        self.assertIn(message, self.error)

    def change(self, database, statement):
        with contextlib.closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(statement)

    def rows(self, query):
        with contextlib.closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(query).fetchall()

    def count(self, table):
        return self.rows(f"SELECT count(*) FROM {table}")[0][0]

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_stats_count_the_rows_of_the_tables(self):
        stats = json.loads(self.db("stats", self.database, "--json"))
        for table, name in [("workload", "workloads"), ("variant", "variants"),
                            ("sketch", "sketches"), ("candidate", "candidates"),
                            ("environment", "environments"), ("measurement", "measurements")]:
            self.assertEqual(stats[name], self.count(table))
            self.assertGreater(stats[name], 0)
        self.assertEqual(stats["measurements_by_status"],
                         dict(self.rows("SELECT status, count(*) FROM measurement GROUP BY 1")))
        lines = self.db("stats", self.database).splitlines()
        self.assertIn(["measurements", str(stats["measurements"])],
                      [line.split() for line in lines])
        self.assertIn(["ok", str(stats["measurements_by_status"]["ok"])],
                      [line.split() for line in lines])

    def test_best_lists_every_kernel_with_its_environment(self):
        best = json.loads(self.db("best", self.database, "--json"))
        self.assertEqual(len(best), self.count("workload"))
        self.assertEqual(sum(row["trials"] for row in best),
                         self.count("measurement WHERE series = 0"))
        for row in best:
            self.assertLessEqual(row["best_seconds"], row["constructed_seconds"])
            self.assertEqual(row["environment"]["measurer"], "local")
            self.assertEqual(row["environment"]["target"], "native")
            self.assertIn("L1", row["environment"]["device"])
            self.assertGreater(row["environment"]["threads"], 0)
        head, *lines = self.db("best", self.database).splitlines()
        self.assertIn("constructed us", head)
        self.assertEqual(len(lines), len(best))
        for row, line in zip(best, lines):
            self.assertAlmostEqual(float(line.split()[1]), row["best_seconds"] * 1e6, delta=0.6)
            self.assertIn(row["searcher"], line)
            self.assertIn("native, ", line)
            self.assertTrue(line.endswith(row["name"]), line)

    def test_an_export_rebuilds_the_database(self):
        text = self.db("export", self.database)
        exported = self.folder / "f.jsonl"
        self.assertEqual(self.db("export", self.database, "-o", exported), "")
        self.assertEqual(exported.read_text(), text)
        copy = self.folder / "copy.db"
        said = self.db("import", copy, exported, "--keep-measurer")
        self.assertIn(f"{self.count('measurement')} new measurements, 0 known", said)
        self.assertEqual(self.db("export", copy), text)
        self.assertEqual(self.db("best", copy, "--json"), self.db("best", self.database, "--json"))
        said = self.db("import", copy, exported, "--keep-measurer")
        self.assertIn(f"0 new measurements, {self.count('measurement')} known", said)
        self.assertEqual(self.db("export", copy), text)

    def test_an_export_is_read_from_standard_input(self):
        text = self.db("export", self.database)
        copy = self.folder / "copy.db"
        result = subprocess.run([self.tcc, "db", "import", copy, "-", "--keep-measurer"],
                                input=text, text=True, capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("standard input: ", result.stdout)
        self.assertEqual(self.db("export", copy), text)

    def test_what_others_measured_counts_on_the_same_device_alone(self):
        self.change(self.database, "DELETE FROM measurement WHERE series = 1")
        self.change(self.database, "UPDATE measurement SET seconds = 1e-12 WHERE status = 'ok' "
                                   "AND searcher != 'constructed'")
        same, other = self.folder / "same.jsonl", self.folder / "other.jsonl"
        self.db("export", self.database, "-o", same)
        self.change(self.database, "UPDATE environment SET device = 'another CPU'")
        self.db("export", self.database, "-o", other)
        some = "[1-9][0-9]*"
        for exported, options, used in [(same, [], some), (same, ["--keep-measurer"], some),
                                        (other, [], "0"), (other, ["--keep-measurer"], "0")]:
            copy = self.folder / f"{exported.stem}{len(options)}.db"
            self.db("import", copy, exported, *options)
            self.call("compile", self.model, "--db", copy, "-o", self.folder / "m.tcc")
            self.assertRegex(self.error, rf"\b{used} of [0-9]+ kernels as they were tuned")
        best = json.loads(self.db("best", self.folder / "same0.db", "--json"))
        self.assertEqual({row["environment"]["measurer"] for row in best}, {"import:local"})
        self.assertIn("import:local", self.db("best", self.folder / "same0.db"))

    def test_databases_are_merged(self):
        text = self.db("export", self.database)
        halves = [self.folder / "even.db", self.folder / "odd.db"]
        for remainder, half in enumerate(halves):
            shutil.copy(self.database, half)
            # A comparison is one whole: the first half has all of them.
            self.change(half, f"DELETE FROM measurement WHERE id % 2 != {remainder} AND "
                              f"(series = 0 OR {remainder} = 1)")
            if remainder == 1:
                self.change(half, "DELETE FROM measurement WHERE series = 1")
        merged = self.folder / "merged.db"
        said = self.db("merge", merged, *halves, self.database).splitlines()
        self.assertEqual(len(said), 3)
        self.assertIn("odd.db", said[1])
        self.assertIn(f" 0 new measurements, {self.count('measurement')} known", said[2])
        self.assertEqual(self.db("export", merged), text)
        before = halves[0].read_bytes()
        self.refused(4, "absent.db", "merge", halves[0], halves[1], self.folder / "absent.db")
        self.assertEqual(halves[0].read_bytes(), before)

    def check_refused_import(self, text, message):
        export = self.write("bad.jsonl", text)
        before = self.db("export", self.database)
        self.refused(4, message, "import", self.database, export)
        self.assertIn("bad.jsonl", self.error)
        self.assertEqual(self.db("export", self.database), before)
        self.refused(4, message, "import", self.folder / "made.db", export)
        self.assertEqual(self.names(), ["bad.jsonl", "f.db"])

    def test_a_cut_or_changed_export_is_refused_and_leaves_nothing(self):
        lines = self.db("export", self.database).splitlines(keepends=True)
        text = "".join(lines)
        self.check_refused_import("", "last line")
        self.check_refused_import(text[:-1], "last line")
        self.check_refused_import("".join(lines[:-1]), f"line {len(lines) - 1}: ")
        self.check_refused_import("".join(lines[1:]), f"line {len(lines) - 1}: the checksum")
        self.check_refused_import(text.replace('"local"', '"loyal"', 1),
                                  f"line {len(lines)}: the checksum")

    def test_a_hostile_line_is_refused_by_its_number(self):
        lines = self.db("export", self.database).splitlines(keepends=True)[:-1]
        self.assertEqual(sealed(lines), self.db("export", self.database))
        last = max(i for i, line in enumerate(lines, 1) if '"status": "ok"' in line)
        key = json.loads(lines[0])["function"]
        for line, old, new, message in [
                (last, '"status": "', '"status": "un', f"line {last}: status 'un"),
                (last, '"seconds": ', '"seconds": -', f"line {last}: field 'seconds'"),
                (last, '"trace": "', '"trace": "bend ', f"line {last}: trace: "),
                (1, key, "0" * 64, "line 1: the function's key is")]:
            with self.subTest(new=new):
                changed = list(lines)
                changed[line - 1] = changed[line - 1].replace(old, new, 1)
                self.assertNotEqual(changed, lines)
                self.check_refused_import(sealed(changed), message)

    def test_verify_finds_a_damaged_key(self):
        self.assertEqual(self.db("verify", self.database),
                         f"sound: {self.count('measurement')} measurements\n")
        self.change(self.database, "UPDATE variant SET key = 'x' || key "
                                   "WHERE rowid = (SELECT min(rowid) FROM variant)")
        problems = self.db("verify", self.database, expect=4).splitlines()
        self.assertTrue(any(line.startswith("variant 'x") and "key" in line for line in problems),
                        problems)
        self.assertIn(f"f.db' is not sound: {len(problems)} problem", self.error)

    def test_verify_finds_damaged_pages(self):
        whole = self.database.read_bytes()
        middle = len(whole) // 2
        self.database.write_bytes(whole[:middle] + bytes(64) * 256 + whole[middle + 64 * 256:])
        before = self.database.read_bytes()
        self.db("verify", self.database, expect=4)
        self.assertIn("f.db", self.error)
        self.assertEqual(self.database.read_bytes(), before)
        self.assertEqual(self.names(), ["f.db"])

    def test_files_that_are_no_databases_are_refused_by_name(self):
        foreign = self.write("foreign.db", "my notes\n")
        other = self.folder / "other.db"
        self.change(other, "CREATE TABLE t(x)")
        for subcommand in ["stats", "best", "export", "verify"]:
            self.refused(4, "absent.db", subcommand, self.folder / "absent.db")
            self.refused(4, "foreign.db", subcommand, foreign)
            self.refused(4, "another program", subcommand, other)
            self.refused(4, "it is a folder", subcommand, self.folder)
        export = self.folder / "f.jsonl"
        self.db("export", self.database, "-o", export)
        for file in [foreign, other, self.folder, self.folder / "none" / "f.db"]:
            self.refused(4, str(file), "import", file, export)
            self.refused(4, str(file), "merge", file, self.database)
        self.refused(4, "absent.jsonl", "import", self.database, self.folder / "absent.jsonl")
        self.refused(4, str(self.folder), "import", self.database, self.folder)
        self.refused(4, "line 1", "import", self.database, foreign.rename(self.folder / "notes"))
        self.assertEqual(self.names(), ["f.db", "f.jsonl", "notes", "other.db"])

    def test_an_export_replaces_no_database_and_no_folder(self):
        before = self.database.read_bytes()
        self.refused(2, "f.db", "export", self.database, "-o", self.database)
        self.refused(4, "it is a folder", "export", self.database, "-o", self.folder)
        self.assertEqual(self.database.read_bytes(), before)

    def test_wrong_command_lines_end_with_2(self):
        self.call("db", expect=2)
        self.assertIn("subcommand", self.error.lower())
        self.call("db", self.database, expect=2)
        self.db("stats", expect=2)
        self.db("import", self.database, expect=2)
        self.db("merge", self.database, expect=2)
        self.db("verify", self.database, "--json", expect=2)
        self.assertIn("--json", self.error)


if __name__ == "__main__":
    main()
