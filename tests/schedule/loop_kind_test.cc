#include "schedule/steps/loop_kind.h"

#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

TEST_CASE("a loop gets its kind and nothing else changes", "[schedule][loop_kind]") {
  struct Row {
    const char* step;
    const char* kind;
  };
  const Row rows[] = {
      {"parallel mm/i", "parallel"},
      {"vectorize mm/i", "vectorized"},
      {"unroll mm/i", "unrolled"},
      {"partition mm/i", "partitioned"},
      {"bind mm/i blockIdx.x", "blockIdx.x"},
      {"bind mm/i threadIdx.y", "threadIdx.y"},
      {"bind mm/i vthread", "vthread"},
  };
  for (const Row& row : rows) {
    CheckSteps(MatmulFunction(3, 4, 5), row.step,
               fmt::format(R"(
      fn mm(A: f32[3, 5], B: f32[5, 4], C: f32[3, 4]) scheduled {{
        for i in 0..3 {} @mm/i {{ for j in 0..4 @mm/j {{ for k in 0..5 @mm/k {{
          block mm(i: spatial 3 = i, j: spatial 4 = j, k: reduce 5 = k) {{
            reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
          }}
        }} }} }}
      }})",
                           row.kind));
  }
}

TEST_CASE("a loop of a reduction may be unrolled", "[schedule][loop_kind]") {
  CheckStepResult(MatmulFunction(3, 4, 5), "split mm/k [2]\nunroll mm/k.1\nunroll mm/k.0");
}

TEST_CASE("a vectorized loop may hold serial and unrolled ones", "[schedule][loop_kind]") {
  CheckStepResult(MatmulFunction(3, 4, 5), "unroll mm/j\nvectorize mm/i");
}

TEST_CASE("partitioned loops give the same result at any sizes", "[schedule][loop_kind]") {
  ConvShape shape;
  shape.stride = 1;
  for (int64_t t : {1, 3, 4, 9}) {
    CheckStepResult(ConvFunction(shape),
                    "tile t 1 9\nsplit conv/x [t]\nsplit conv/o [2]\nunroll conv/x.1\n"
                    "vectorize conv/o.1\npartition conv/x.0\npartition conv/o.0\n"
                    "partition conv/y",
                    {{"t", t}});
  }
}

TEST_CASE("partition refuses what is not serial and what is in a vector", "[schedule][loop_kind]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "parallel mm/i\npartition mm/i") ==
        "partition: loop 'mm/i' is parallel; expected a serial loop");
  CHECK(RefusalOf(mm, "vectorize mm/i\npartition mm/j") ==
        "partition: loop 'mm/i' round it is vectorized");
}

TEST_CASE("a loop that is not serial keeps its kind", "[schedule][loop_kind]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "unroll mm/i\nparallel mm/i") ==
        "parallel: loop 'mm/i' is unrolled; expected a serial loop");
  CHECK(RefusalOf(mm, "unroll mm/i\nvectorize mm/i") ==
        "vectorize: loop 'mm/i' is unrolled; expected a serial loop");
  CHECK(RefusalOf(mm, "parallel mm/i\nunroll mm/i") ==
        "unroll: loop 'mm/i' is parallel; expected a serial loop");
  CHECK(RefusalOf(mm, "parallel mm/i\nbind mm/i blockIdx.x") ==
        "bind: loop 'mm/i' is parallel; expected a serial loop");
}

TEST_CASE("only unrolling and threads along x are allowed to a loop that feeds a reduction",
          "[schedule][loop_kind]") {
  Function mm = MatmulFunction(4, 5, 6);
  const std::string why = ": loop 'mm/k' feeds a reduction; expected a loop of spatial axes";
  CHECK(RefusalOf(mm, "parallel mm/k") == "parallel" + why);
  CHECK(RefusalOf(mm, "vectorize mm/k") == "vectorize" + why);
  CHECK(RefusalOf(mm, "bind mm/k threadIdx.y") == "bind" + why);
  CHECK(RefusalOf(mm, "bind mm/k blockIdx.x") == "bind" + why);
  CheckStepResult(mm, "bind mm/k threadIdx.x");
  CheckStepResult(mm,
                  "bind mm/i threadIdx.y\nsplit mm/k [4, 2]\nbind mm/k.1 threadIdx.x\n"
                  "vectorize mm/k.2");
}

TEST_CASE("a reduction across threads has loops of its own", "[schedule][loop_kind]") {
  Function mm = MatmulFunction(4, 5, 6);
  auto refused = [&](const std::string& steps) {
    return RefusalOf(mm, steps).find("feeds a reduction") != std::string::npos;
  };
  CHECK(refused("reorder [mm/k, mm/j]\nbind mm/k threadIdx.x"));
  CHECK(
      refused("cache_read A [mm] global A_s\nsplit mm/k [3]\ncompute_at A_s mm/k.0\n"
              "bind mm/k.1 threadIdx.x"));
  CHECK(refused("split mm/k [3]\nbind mm/k.0 threadIdx.x\nbind mm/k.1 threadIdx.x"));
  CHECK(refused("bind mm/i vthread\nbind mm/k threadIdx.x"));
  CHECK(refused("split mm/k [4, 2]\nvectorize mm/k.2"));
  CHECK(RefusalOf(mm, "bind mm/k threadIdx.x\nbind mm/i vthread") ==
        "bind: block 'mm' in loop 'mm/i' is reduced across threads; expected no vthread");
}

TEST_CASE("a vectorized loop holds no bound loop and no allocation", "[schedule][loop_kind]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "parallel mm/j\nvectorize mm/i") ==
        "vectorize: loop 'mm/i' holds a bound loop; expected only serial and unrolled loops");
  CHECK(RefusalOf(mm, "vectorize mm/j\nvectorize mm/i") ==
        "vectorize: loop 'mm/i' holds a bound loop; expected only serial and unrolled loops");
  CHECK(RefusalOf(mm, "cache_read A [mm] global A_s\ncompute_at A_s mm/j\nvectorize mm/i") ==
        "vectorize: loop 'mm/i' holds an allocation; expected only serial and unrolled loops");
  CHECK(RefusalOf(mm, "vectorize mm/i\nparallel mm/j") ==
        "parallel: loop 'mm/i' round it is vectorized");
  CHECK(RefusalOf(mm, "vectorize mm/i\nbind mm/j threadIdx.x") ==
        "bind: loop 'mm/i' round it is vectorized");
}

TEST_CASE("bind refuses what is no hardware index and threads that move a shared window",
          "[schedule][loop_kind]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "bind mm/i parallel") ==
        "bind: loop 'mm/i' to parallel; expected a hardware index");
  CHECK(RefusalOf(mm, "bind mm/i serial") ==
        "bind: loop 'mm/i' to serial; expected a hardware index");
  const std::string staged = "cache_read A [mm] shared A_s\ncompute_at A_s mm/j\n";
  CHECK(RefusalOf(mm, staged + "bind mm/i threadIdx.y") ==
        "bind: the window of shared buffer 'A_s' moves with loop 'mm/i'; bind loops to threadIdx.y "
        "before the buffer is placed");
  CHECK(RefusalOf(mm, staged + "bind mm/i vthread") ==
        "bind: the window of shared buffer 'A_s' moves with loop 'mm/i'; bind loops to vthread "
        "before the buffer is placed");
  CHECK(RefusalOf(mm, staged + "bind mm/i blockIdx.x").empty());
}

TEST_CASE("loops of one nest do not share a hardware index", "[schedule][loop_kind]") {
  Function mm = MatmulFunction(4, 5, 6);
  const std::string why =
      "bind: block 'mm' uses loop 'mm/i' and stands inside loop 'mm/j'; both would be ";
  CHECK(RefusalOf(mm, "bind mm/i threadIdx.x\nbind mm/j threadIdx.x") == why + "threadIdx.x");
  CHECK(RefusalOf(mm, "bind mm/j blockIdx.y\nbind mm/i blockIdx.y") == why + "blockIdx.y");
  CheckStepResult(mm, "bind mm/i vthread\nbind mm/j vthread");
  CheckStepResult(mm, "bind mm/i threadIdx.x\nbind mm/j threadIdx.y");
  // A nest of its own inside a thread loop that it does not use takes the index over.
  CheckStepResult(mm, R"(
bind mm/i threadIdx.x
cache_read B [mm] shared B_s
compute_at B_s mm/i
bind B_s/ax1 threadIdx.x
)");
}
