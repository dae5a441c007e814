#!/usr/bin/env python3
"""docs/cli.md is what the program says of itself."""

from tcc_command import ROOT, CommandTest, main


class ReferencePage(CommandTest):
    def test_the_page_is_what_help_markdown_prints(self):
        page = (ROOT / "docs" / "cli.md").read_text()
        self.assertEqual(page, self.call("--help-markdown"),
                         "run: scripts/update_docs.sh")

    def test_the_page_of_operators_is_what_ops_prints(self):
        page = (ROOT / "docs" / "operators.md").read_text()
        self.assertEqual(page, self.call("ops", "--markdown"),
                         "run: scripts/update_docs.sh")

    def test_the_page_of_features_is_what_cost_model_prints(self):
        page = (ROOT / "docs" / "features.md").read_text()
        self.assertEqual(page, self.call("cost-model", "features", "--markdown"),
                         "run: scripts/update_docs.sh")

    def test_every_command_is_in_the_page(self):
        page = self.call("--help-markdown")
        for command in ["compile", "run", "check", "bench", "inspect", "dump", "zoo export", "ops",
                        "devices", "doctor"]:
            self.assertIn(f"\n## tcc {command}\n", page)


if __name__ == "__main__":
    main()
