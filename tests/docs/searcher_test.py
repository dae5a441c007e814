#!/usr/bin/env python3
"""docs/tutorial/searcher.md: its code is that of the program, which tunes with the new searcher."""

import sqlite3
import sys

from page import ROOT, PageTest, blocks, main

sys.path.insert(0, str(ROOT / "scripts"))
from fill_tutorial import Page  # pylint: disable=wrong-import-position

PAGE = "tutorial/searcher.md"
HEADER = "constructed us  random us  climb us  kernel"


class Searcher(PageTest):
    def test_the_code_shown_is_that_of_the_program(self):
        program = (ROOT / "docs" / "tutorial" / "searcher" / "main.cc").read_text()
        snippets = blocks(PAGE, "cpp")
        self.assertEqual(len(snippets), 3)
        for number, snippet in enumerate(snippets):
            with self.subTest(snippet=number):
                self.assertTrue(snippet in program, f"not in main.cc:\n{snippet}")
        # The class and its row.
        self.assertLessEqual(sum(snippet.count("\n") for snippet in snippets[:2]), 40)

    def test_the_searcher_tunes_and_goes_on_where_it_ended(self):
        model = Page(ROOT / "docs" / PAGE, self.tcc, self.folder).model
        program = self.build / "bin" / "searcher"
        for _ in range(2):
            header, *rows = self.run_command(program, model, self.folder, 64).splitlines()
            self.assertEqual(header, HEADER)
            self.assertEqual(len(rows), 1)
            self.assertRegex(rows[0], r"^ *(\d+\.\d\d +){3}mm$")
        for searcher, other in [("random", "climb"), ("climb", "random")]:
            counts = self.counts(self.folder / f"{searcher}.db")
            # Candidates that lower alike are recorded without a trial.
            self.assertGreaterEqual(sum(counts.values()), 128)
            self.assertGreater(counts.get(searcher, 0), 0, counts)
            self.assertNotIn(other, counts)
        artefact = self.folder / "product.tcc"
        self.run_command(self.tcc, "compile", model, "--db", self.folder / "climb.db", "-o",
                         artefact)
        self.run_command(self.tcc, "check", model, artefact)

    def counts(self, database):
        """Measurements by who proposed them; the comparison at the end left out."""
        connection = sqlite3.connect(database)
        self.addCleanup(connection.close)
        return dict(connection.execute("SELECT searcher, count(*) FROM measurement "
                                       "WHERE series = 0 GROUP BY searcher"))


if __name__ == "__main__":
    main()
