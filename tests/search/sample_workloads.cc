#include "tests/search/sample_workloads.h"

#include <catch2/catch.hpp>

#include "ir/analysis/canonical.h"
#include "ir/analysis/canonical_names.h"
#include "ir/text/parser.h"
#include "schedule/space/domain.h"

namespace tcc {

Target SearchTarget() {
  StatusOr<Target> target = FindTarget("x86-64-v3");
  REQUIRE(target.ok());
  return *target;
}

Workload ProductWorkload(const std::string& name, const ProductSizes& sizes) {
  std::string text = fmt::format(
      R"(
fn mm(A: f32[{m}, {k}], B: f32[{b}], C: f32[{m}, {n}]) tensor {{
  for i in 0..{m} @C/i {{ for j in 0..{n} @C/j {{ for k in 0..{k} @C/k {{
    block C(i: spatial {m} = i, j: spatial {n} = j, k: reduce {k} = k) {{
      reduce sum_f32 init (C[i, j]) with (A[i, k] * B[{index}])
    }}
  }} }} }}
}})",
      fmt::arg("m", sizes.rows), fmt::arg("n", sizes.columns), fmt::arg("k", sizes.depth),
      fmt::arg("b", sizes.turned ? fmt::format("{}, {}", sizes.columns, sizes.depth)
                                 : fmt::format("{}, {}", sizes.depth, sizes.columns)),
      fmt::arg("index", sizes.turned ? "j, k" : "k, j"));
  StatusOr<Function> parsed = ParseFunction(text);
  INFO(text << parsed.status());
  REQUIRE(parsed.ok());
  Function fn = WithCanonicalNames(*parsed);
  fn.name = "kernel";
  Workload workload;
  workload.key = FunctionKey(fn);
  workload.name = name;
  workload.variants = {fn};
  workload.variant_keys = {workload.key};
  workload.inputs = 2;
  workload.flops = 2.0 * static_cast<double>(sizes.rows * sizes.columns * sizes.depth);
  return workload;
}

Workload WithVariants(const std::vector<Workload>& parts, size_t first_variant) {
  Workload workload = parts[0];
  workload.variants.clear();
  workload.variant_keys.clear();
  for (const Workload& part : parts) {
    workload.variants.push_back(part.variants[0]);
    workload.variant_keys.push_back(part.variant_keys[0]);
  }
  workload.first_variant = first_variant;
  return workload;
}

std::vector<Point> LegalPoints(const SearchSpace& space) {
  std::vector<Point> points = {{}};
  for (const FreeSize& size : space.sizes()) {
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (int64_t value : ValuesOf(size)) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  std::erase_if(points, [&](const Point& point) { return !space.IsLegal(point); });
  return points;
}

}  // namespace tcc
