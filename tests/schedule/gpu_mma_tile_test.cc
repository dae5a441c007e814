#include "schedule/sketches/gpu/gpu_rules.h"

#include <catch2/catch.hpp>

#include "ir/simplify/simplify.h"
#include "schedule/space/limits.h"
#include "schedule/space/resources.h"
#include "schedule/space/space.h"
#include "tests/programs/point_check.h"
#include "tests/programs/product_function.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Sketch FirstFor(const Function& fn, const std::string& target) {
  return FirstSketch(fn, FindTarget(target).value());
}

bool UsesTensorCores(const Sketch& sketch) {
  return sketch.name.find("mma") != std::string::npos &&
         Print(sketch.trace).find("tensorize mm/") != std::string::npos;
}

const ProductShape kShapes[] = {
    {},
    {.rows = 33, .columns = 40, .depth = 24, .type = "bf16"},
    {.rows = 17, .columns = 23, .depth = 37, .rounded = false},
    {.a = "k, i"},
    {.rows = 40, .columns = 24, .depth = 50, .narrowed = true},
    {.b = "j, k"},
    {.a = "k, i", .b = "j, k"},
    {.rows = 20, .columns = 48, .a = "b, i, k", .b = "b, k, j", .batch = 3},
    {.rows = 20, .columns = 48, .a = "b, i, k", .batch = 2},
    {.rows = 24,
     .columns = 72,
     .depth = 96,
     .type = "i8",
     .sum = "i32",
     .b = "j, k",
     .rounded = false},
    {.type = "i8", .sum = "i32", .rounded = false},
    {.rows = 40, .columns = 20, .type = "i8", .sum = "i32", .constant = true, .rounded = false},
    {.columns = 33, .depth = 44, .type = "f32", .constant = true, .tf32 = "tf32"},
    {.columns = 40, .depth = 56, .type = "i8", .sum = "i32", .a = "k, i", .rounded = false},
    {.type = "f32", .tf32 = "tf32"},
    {.rows = 24, .columns = 40, .depth = 36, .type = "f32", .b = "j, k", .tf32 = "3xtf32"},
    {.rows = 17, .columns = 23, .depth = 37, .type = "f32", .a = "k, i", .tf32 = "tf32"},
    {.rows = 20,
     .columns = 48,
     .type = "f32",
     .a = "b, k, i",
     .b = "b, j, k",
     .batch = 2,
     .tf32 = "3xtf32"},
    {.rows = 24, .depth = 36, .type = "tf32", .b = "j, k"},
    {.type = "tf32", .a = "k, i", .narrowed = true},
    {.columns = 33, .depth = 44, .type = "tf32", .constant = true, .tf32 = "tf32 of a"},
    {.rows = 40, .type = "tf32", .a = "k, i", .b = "j, k", .tf32 = "tf32 of b"},
};

}  // namespace

TEST_CASE("products of narrow operands start on tensor cores", "[schedule][mma]") {
  for (const ProductShape& shape : kShapes) {
    Function fn = ProductFunction(shape);
    INFO(shape.type << " A[" << shape.a << "] B[" << shape.b << "]");
    CHECK(UsesTensorCores(FirstFor(fn, "sm_80")));
    CHECK(UsesTensorCores(FirstFor(fn, "sm_90a")));
    CHECK(UsesTensorCores(FirstFor(fn, "sm_75")) == (shape.type == "f16" || shape.type == "i8"));
  }
  // Strictly.
  CHECK_FALSE(UsesTensorCores(FirstFor(ProductFunction({.type = "f32"}), "sm_90a")));
  // A row times a matrix is mostly padding.
  CHECK_FALSE(UsesTensorCores(FirstFor(ProductFunction({.rows = 1}), "sm_90a")));
}

TEST_CASE("a product on tensor cores is right at its start and at random points",
          "[schedule][mma]") {
  Random random(11);
  int points = 0;
  for (const ProductShape& shape : kShapes) {
    Function fn = ProductFunction(shape);
    for (const char* name : {"sm_75", "sm_80"}) {
      Target target = FindTarget(name).value();
      Sketch sketch = FirstFor(fn, name);
      if (!UsesTensorCores(sketch)) continue;
      SymbolicProgram program = WithLimits(Instantiate(fn, sketch.trace).value(), target);
      SearchSpace space = SearchSpace::Create(program).value();
      // More points: tcc-fuzz cuda, a tenth of which are products.
      std::vector<Decisions> tried = {sketch.start};
      if (auto point = space.Sample(random)) tried.push_back(space.ToDecisions(*point));
      for (const Decisions& decisions : tried) {
        PointReport report =
            CheckPoint(fn, program, decisions, random, {.max_instances = 1'000'000});
        INFO(name << " A[" << shape.a << "] B[" << shape.b << "] " << report.message);
        if (report.outcome == PointOutcome::kTooLarge) continue;
        CHECK(report.outcome == PointOutcome::kRight);
        ++points;
      }
    }
  }
  CHECK(points >= 20);
}

TEST_CASE("a long product of few results is computed in parts that are added up",
          "[schedule][mma]") {
  const ProductShape shapes[] = {
      {.rows = 16, .columns = 24, .depth = 1024},
      {.rows = 17, .columns = 23, .depth = 777, .rounded = false},
      {.rows = 20, .columns = 16, .depth = 640, .a = "b, k, i", .b = "b, k, j", .batch = 2},
      {.rows = 16, .columns = 16, .depth = 600, .type = "f32", .b = "j, k", .tf32 = "tf32"},
      {.rows = 16, .columns = 24, .depth = 1100, .narrowed = true},
      {.rows = 24, .columns = 8, .depth = 2048, .type = "i8", .sum = "i32", .rounded = false},
  };
  Random random(12);
  for (const ProductShape& shape : shapes) {
    Function fn = ProductFunction(shape);
    Target target = FindTarget("sm_80").value();
    Sketch sketch = FirstSketch(fn, target);
    INFO(shape.type << " A[" << shape.a << "] B[" << shape.b << "] " << sketch.name);
    CHECK(sketch.name.find("mma_split_k") != std::string::npos);
    CHECK(Print(sketch.trace).find("tensorize mm.part/") != std::string::npos);
    SymbolicProgram program = WithLimits(Instantiate(fn, sketch.trace).value(), target);
    SearchSpace space = SearchSpace::Create(program).value();
    std::vector<Decisions> tried = {sketch.start};
    if (auto point = space.Sample(random)) tried.push_back(space.ToDecisions(*point));
    for (const Decisions& decisions : tried) {
      PointReport report = CheckPoint(fn, program, decisions, random, {.max_instances = 4'000'000});
      INFO(report.message);
      if (report.outcome == PointOutcome::kTooLarge) continue;
      CHECK(report.outcome == PointOutcome::kRight);
    }
  }
  // Tiles keep every multiprocessor busy.
  Sketch wide = FirstFor(ProductFunction({.rows = 2048, .columns = 2048, .depth = 1024}), "sm_80");
  CHECK(wide.name.find("split_k") == std::string::npos);
  // Parts would be short.
  Sketch brief = FirstFor(ProductFunction({.depth = 256}), "sm_80");
  CHECK(brief.name.find("split_k") == std::string::npos);
}

TEST_CASE("a constant operand of words or bytes is transposed along k when the model is linked",
          "[schedule][mma]") {
  auto has = [](const ProductShape& shape, const std::string& step) {
    std::string trace = Print(FirstFor(ProductFunction(shape), "sm_80").trace);
    return trace.find("\n" + step) != std::string::npos;
  };
  ProductShape words{.type = "f32", .constant = true, .tf32 = "tf32"};
  CHECK(has(words, "reindex mm B"));
  CHECK(has(words, "prepack mm.B.rows"));
  words.b = "j, k";
  CHECK_FALSE(has(words, "reindex"));
  ProductShape bytes{.type = "i8", .sum = "i32", .rounded = false};
  CHECK(has(bytes, "reindex mm B"));
  CHECK_FALSE(has(bytes, "prepack"));
  CHECK_FALSE(has({.constant = true}, "reindex"));
}

TEST_CASE("a step of a product on tensor cores has 128 bytes and four stages where they fit",
          "[schedule][mma]") {
  // Sizes of k in bytes; of which a step is, in how many stages.
  struct Row {
    ProductShape shape;
    const char* target;
    int64_t step, stages;
  };
  auto square = [](int64_t size, const std::string& type) {
    return ProductShape{.rows = size,
                        .columns = size,
                        .depth = size,
                        .type = type,
                        .tf32 = type == "f32" ? "tf32" : ""};
  };
  const Row rows[] = {
      {square(1024, "f16"), "sm_80", 128, 3},
      {square(1024, "f16"), "sm_90a", 128, 4},
      {square(512, "f16"), "sm_86", 128, 4},
      // Two blocks of a multiprocessor have larger tiles.
      {square(4096, "f16"), "sm_75", 64, 2},
      {square(4096, "f16"), "sm_80", 64, 4},
      {square(4096, "f16"), "sm_86", 64, 3},
      {square(4096, "f16"), "sm_90a", 128, 4},
      {square(4096, "f32"), "sm_86", 64, 2},
      {square(4096, "f32"), "sm_90a", 128, 3},
      // No more stages than steps, and steps that pad little.
      {{.rows = 512, .columns = 512, .depth = 128}, "sm_90a", 128, 2},
      {{.rows = 512, .columns = 512, .depth = 32}, "sm_90a", 64, 2},
      {{.rows = 512, .columns = 512, .depth = 16}, "sm_90a", 32, 2},
      {{.rows = 512, .columns = 512, .depth = 160}, "sm_90a", 64, 4},
  };
  for (const Row& row : rows) {
    INFO(row.target << " " << row.shape.rows << " x " << row.shape.depth << " " << row.shape.type);
    Sketch sketch = FirstFor(ProductFunction(row.shape), row.target);
    const int64_t depth = row.target == std::string("sm_75") ? 16 : 32;  // bytes of an instruction
    CHECK(sketch.start.at("mm.k.1") * depth == row.step);
    CHECK(sketch.start.at("mm.k.0.stages") == row.stages);
  }
}

TEST_CASE("starts on tensor cores keep the limits of every target", "[schedule][mma]") {
  for (const char* name : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"}) {
    Target target = FindTarget(name).value();
    for (const char* type : {"f16", "f32"}) {
      for (int64_t size : {256, 1000, 2048, 8192}) {
        ProductShape shape{.rows = size, .columns = size, .depth = size, .type = type};
        if (shape.type == "f32") shape.tf32 = "tf32";
        Function fn = ProductFunction(shape);
        Sketch sketch = FirstSketch(fn, target);
        if (!UsesTensorCores(sketch)) continue;
        INFO(name << " " << type << " " << size);
        StatusOr<Function> scheduled = Replay(fn, sketch.trace, sketch.start);
        REQUIRE(scheduled.ok());
        for (const NestResources& nest : ResourcesOf(*scheduled, target)) {
          CHECK(AsConstant(Simplify(nest.shared_bytes)).value() <= target.shared_bytes);
        }
      }
    }
  }
}
