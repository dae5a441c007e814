#!/usr/bin/env python3
"""Follows docs/cost_model.md: a feature is added to a copy of the sources and evaluated."""

from page import main
from patched_sources import PatchedSources

# A product of 16x64 by 64x32 of f32: 2048 vectors of multiply-adds on 14336 bytes.
CHECK = """
#include <catch2/catch.hpp>

#include "autodiff_features/features/sketch_formulas.h"
#include "tests/programs/spike_programs.h"

namespace tcc {

TEST_CASE("The row of the page is evaluated by its formula") {
  const FeatureRow& row = FeatureRows(FeatureKind::kNest)[static_cast<size_t>(Feature::kIntensity)];
  CHECK(row.name == "intensity");
  Trace trace = ParseTrace("reorder [mm/i, mm/k, mm/j]\\nvectorize mm/j").value();
  SymbolicProgram program = Instantiate(MatmulFunction(16, 32, 64), trace).value();
  Target target = FindTarget("x86-64-v4").value();
  SketchFormulas formulas = SketchFormulas::Create(program, target, ProfileOf(target), {}).value();
  PointTable rows = formulas.features().Evaluate(formulas.ToTable(std::vector<Point>(1)));
  CHECK(rows.columns() == kNestFeatures);
  auto value = [&](Feature feature) { return rows.at(static_cast<size_t>(feature), 0); };
  CHECK(value(Feature::kFma) == 2048);
  CHECK(value(Feature::kNestBytes) == 14336);
  CHECK(value(Feature::kIntensity) == 2048.0 / 14336.0);
}

}  // namespace tcc
"""
CHECK_FILE = "tests/autodiff_features/intensity_test.cc"
# Sources that evaluate the table's rows.
USERS = ["autodiff_features/features/nest_features.cc",
         "autodiff_features/features/sketch_formulas.cc"]


class AddFeature(PatchedSources):
    def test_a_row_and_a_formula_give_a_feature(self):
        changed = self.patch("cost_model.md", 2)
        self.assertEqual(set(changed), {"autodiff_features/features/feature_table.h",
                                        "autodiff_features/features/nest_features.cc"})
        check = self.folder / CHECK_FILE
        check.parent.mkdir(parents=True)
        check.write_text(CHECK)
        likes = {CHECK_FILE: "tests/autodiff_features/cpu_prior_test.cc"}
        files = [CHECK_FILE, *USERS]
        objects = [self.compile(path, likes.get(path)) for path in files]
        tests = self.link("bin/autodiff_features_tests", objects, keep=False)
        self.assertIn("1 test case", self.run_command(tests))


if __name__ == "__main__":
    main()
