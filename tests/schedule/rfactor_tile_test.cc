#include "schedule/steps/rfactor_tile.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "ir/text/printer.h"
#include "tests/programs/compare_programs.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

void CheckAtTiles(const Function& before, const std::string& steps) {
  for (int64_t t : {1, 2, 3, 9}) {
    for (int64_t u : {1, 2, 7}) {
      CheckStepResult(before, "tile t 1 9\ntile u 1 9\n" + steps, {{"t", t}, {"u", u}});
    }
  }
}

const std::string kFlash =
    "split out/i [u]\ncompute_at core out/i.0\nsplit core/t [t]\n"
    "reorder [core/d, core/t.0, core/i, core/t.1]\n"
    "rfactor_tile core core/t.0 direct local core_p\n";

// The reduction of attention alone.
Function Core() {
  return FunctionOf(R"(
    fn core(S: f32[3, 5], V: f32[5, 4], m: f32[3], l: f32[3], acc: f32[3, 4]) tensor {
      for i in 0..3 @core/i { for d in 0..4 @core/d { for t in 0..5 @core/t {
        block core(i: spatial 3 = i, d: spatial 4 = d, t: reduce 5 = t) {
          reduce attention_f32 init (m[i], l[i], acc[i, d]) with (S[i, t], 1.0, V[t, d])
        }
      } } }
    })");
}

// Softmax(mask(Q K^T)) V in doubles, straight from its definition; 0 for a query that sees no key.
std::vector<double> PlainAttention(const AttentionShape& shape, const std::vector<Tensor>& in) {
  auto at = [&](size_t tensor, int64_t row, int64_t columns, int64_t column) {
    return ElementAsDouble(in[tensor], row * columns + column);
  };
  std::vector<double> result;
  for (int64_t i = 0; i < shape.queries; ++i) {
    std::vector<double> weights;
    double total = 0;
    for (int64_t t = 0; t < shape.keys; ++t) {
      double score = 0;
      for (int64_t e = 0; e < shape.depth; ++e) {
        score += at(0, i, shape.depth, e) * at(1, t, shape.depth, e);
      }
      bool seen = t >= shape.blind && !(at(3, i, shape.keys, t) < shape.threshold);
      weights.push_back(seen ? std::exp(score) : 0);
      total += weights.back();
    }
    for (int64_t d = 0; d < shape.width; ++d) {
      double sum = 0;
      for (int64_t t = 0; t < shape.keys; ++t) sum += weights[t] * at(2, t, shape.width, d);
      result.push_back(total == 0 ? 0 : sum / total);
    }
  }
  return result;
}

}  // namespace

TEST_CASE("a tile's direct result is a plain reduction an element", "[schedule][rfactor]") {
  CheckSteps(SoftmaxFunction(3, 5),
             "split stat/j [2]\nreorder [stat/j.0, stat/i]\n"
             "rfactor_tile stat stat/j.0 direct local p\n",
             R"(
    fn softmax(X: f32[3, 5], Y: f32[3, 5]) scheduled {
      alloc m: f32[3]
      alloc l: f32[3]
      for i in 0..3 @stat.init/i { block stat.init(i: spatial 3 = i) { m[i] = -inf; l[i] = 0.0 } }
      for j0 in 0..3 @stat/j.0 {
        alloc p.0: f32[3] local window [0] size [3]
        alloc p.1: f32[3] local window [0] size [3]
        for i in 0..3 @p.0.init/i { block p.0.init(i: spatial 3 = i) { p.0[i] = -inf } }
        for i in 0..3 @p.0/i { for j1 in 0..2 @p.0/j.1 {
          block p.0(i: spatial 3 = i, j: reduce 5 = j0 * 2 + j1) guard (j0 * 2 + j1 < 5) {
            reduce max_f32 (p.0[i]) with (X[i, j])
          }
        } }
        for i in 0..3 @p.1.init/i { block p.1.init(i: spatial 3 = i) { p.1[i] = 0.0 } }
        for i in 0..3 @p.1/i { for j1 in 0..2 @p.1/j.1 {
          block p.1(i: spatial 3 = i, j: reduce 5 = j0 * 2 + j1) guard (j0 * 2 + j1 < 5) {
            reduce sum_f32 (p.1[i]) with (1.0 * exp_diff(X[i, j], p.0[i]))
          }
        } }
        for i in 0..3 @stat/i {
          block stat(i: spatial 3 = i, tile: reduce 3 = j0) {
            reduce softmax_f32 (m[i], l[i]) with (p.0[i], p.1[i])
          }
        }
      }
      for i in 0..3 @out/i { for j in 0..5 @out/j {
        block out(i: spatial 3 = i, j: spatial 5 = j) { Y[i, j] = exp_diff(X[i, j], m[i]) / l[i] }
      } }
    })");
}

TEST_CASE("factors in a narrower type are a map of their own", "[schedule][rfactor]") {
  std::string text = Print(Core());
  text.replace(text.find("attention_f32 init"), 13, "attention_by_f16_f32");
  const std::string steps =
      "split core/t [2]\nreorder [core/d, core/t.0, core/i, core/t.1]\n"
      "rfactor_tile core core/t.0 direct local p\n";
  Function fn = FunctionOf(text.substr(text.find("fn ")));
  Function tiled = Instantiate(fn, ParseTrace(steps).value()).value().fn;
  const Block& powers = *FindBlock(tiled, "p.map0").value().back().as<Block>();
  const Block& factors = *FindBlock(tiled, "p.map1").value().back().as<Block>();
  CHECK(powers.body.as<Store>()->buffer.dtype() == kFloat32);
  CHECK(factors.body.as<Store>()->buffer.dtype() == kFloat16);
  CHECK(Print(factors.body.as<Store>()->value) == "f16(p.map0[i, t])");
  // The sum of powers has them as they are.
  CHECK(Print(tiled).find("with (1.0 * p.map0[i, t])") != std::string::npos);
  CHECK(Print(tiled).find("f32(p.map1[i, t])") != std::string::npos);
}

TEST_CASE("a tile's combined result gets a nest of its own", "[schedule][rfactor]") {
  for (const char* more :
       {"", "reorder [mm/k.0, mm/i, mm/j]\n", "reorder [mm/k.0, mm/k.1, mm/j]\n"}) {
    CheckAtTiles(MatmulFunction(3, 4, 11), std::string("split mm/k [t, u]\n") + more +
                                               "rfactor_tile mm mm/k.0 combined local mm_p");
  }
  CheckAtTiles(MatmulFunction(3, 4, 11),
               "split mm/k [t, u]\nreorder [mm/k.0, mm/i, mm/j]\n"
               "rfactor_tile mm mm/k.0 combined local mm_p\nvectorize mm_p.init/j\n"
               "reorder [mm_p/k.1, mm_p/k.2, mm_p/j]\nvectorize mm_p/j");
  CheckAtTiles(SoftmaxFunction(3, 11),
               "split stat/j [t]\nrfactor_tile stat stat/j.0 combined global p");
}

TEST_CASE("a tile's partial result may stand inside the spatial loops in between",
          "[schedule][rfactor]") {
  CheckSteps(MatmulFunction(3, 4, 5),
             "split mm/j [2]\nsplit mm/k [2]\nreorder [mm/k.0, mm/j.0, mm/k.1, mm/j.1]\n"
             "rfactor_tile mm mm/k.0 nested local p\n",
             R"(
    fn mm(A: f32[3, 5], B: f32[5, 4], C: f32[3, 4]) scheduled {
      for i in 0..3 @mm/i {
        for j0 in 0..2 @mm.init/j.0 { for j1 in 0..2 @mm.init/j.1 {
          block mm.init(i: spatial 3 = i, j: spatial 4 = j0 * 2 + j1) guard (j0 * 2 + j1 < 4) {
            C[i, j] = 0.0
          }
        } }
        for k0 in 0..3 @mm/k.0 { for j0 in 0..2 @mm/j.0 {
          alloc p: f32[3, 4] local window [i, j0 * 2] size [1, 2]
          for j1 in 0..2 @p.init/j.1 {
            block p.init(i: spatial 3 = i, j: spatial 4 = j0 * 2 + j1) guard (j0 * 2 + j1 < 4) {
              p[i, j] = 0.0
            }
          }
          for k1 in 0..2 @p/k.1 { for j1 in 0..2 @p/j.1 {
            block p(i: spatial 3 = i, j: spatial 4 = j0 * 2 + j1, k: reduce 5 = k0 * 2 + k1)
                guard (j0 * 2 + j1 < 4, k0 * 2 + k1 < 5) {
              reduce sum_f32 (p[i, j]) with (A[i, k] * B[k, j])
            }
          } }
          for j1 in 0..2 @mm/j.1 {
            block mm(i: spatial 3 = i, j: spatial 4 = j0 * 2 + j1, tile: reduce 3 = k0)
                guard (j0 * 2 + j1 < 4) {
              reduce sum_f32 (C[i, j]) with (p[i, j])
            }
          }
        } }
      }
    })");
  for (const char* more :
       {"", "reorder [mm/k.0, mm/i, mm/j]\n", "reorder [mm/k.0, mm/i, mm/k.1, mm/j]\n"}) {
    CheckAtTiles(MatmulFunction(3, 4, 11), std::string("split mm/k [t, u]\n") + more +
                                               "rfactor_tile mm mm/k.0 nested local mm_p");
  }
  CheckAtTiles(SoftmaxFunction(3, 11),
               "split stat/j [t]\nreorder [stat/j.0, stat/i]\n"
               "rfactor_tile stat stat/j.0 nested local p");
}

TEST_CASE("attention's tuple means what attention means", "[schedule][tuple]") {
  for (double threshold : {-1e9, 0.0, 0.7, 1e9}) {
    for (int64_t blind : {0, 3, 13}) {
      AttentionShape shape{.blind = blind, .threshold = threshold};
      Function attention = AttentionFunction(shape);
      Random random(5);
      std::vector<Tensor> arguments = RandomArguments(attention, random);
      StatusOr<std::vector<Tensor>> got = RunInterpreter(attention, arguments);
      REQUIRE(got.ok());
      std::vector<double> expected = PlainAttention(shape, arguments);
      for (size_t i = 0; i < expected.size(); ++i) {
        INFO("element " << i << ", threshold " << threshold << ", blind " << blind);
        CHECK(ElementAsDouble(got->back(), static_cast<int64_t>(i)) ==
              Approx(expected[i]).margin(1e-6));
      }
    }
  }
}

TEST_CASE("flash attention is a schedule, with and without masks", "[schedule][tuple]") {
  for (double threshold : {-1e9, 0.0, 1e9}) {
    for (int64_t blind : {0, 6}) {
      CheckAtTiles(AttentionFunction({.blind = blind, .threshold = threshold}), kFlash);
      CheckAtTiles(AttentionFunction({.blind = blind, .threshold = threshold}),
                   kFlash +
                       "compute_at logits core/t.0\ncompute_at scores core/t.0\n"
                       "vectorize core_p.2/d\nvectorize core.0/i\nvectorize core/d\n"
                       "reorder [core_p.map0/t.1, core_p.map0/i]\nparallel out/i.0");
    }
  }
}

TEST_CASE("strided tiles of keys, empty ones too, give attention", "[schedule][tuple]") {
  CheckAtTiles(AttentionFunction({.queries = 3, .keys = 7, .blind = 2}),
               "split core/t [t]\nreorder [core/d, core/t.1, core/i, core/t.0]\n"
               "rfactor_tile core core/t.1 direct global core_p");
}

TEST_CASE("splits after the tile leave attention as it is", "[schedule][tuple]") {
  CheckAtTiles(AttentionFunction({.queries = 3, .keys = 13, .threshold = 0.3}),
               kFlash +
                   "split core_p.2/t.1 [2]\nsplit core_p.2/d [3]\nsplit core_p.0/i [2]\n"
                   "split core/i [2]\nreorder [core_p.2/d.0, core_p.2/t.1.0]\nsplit core.0/i [3]");
}

TEST_CASE("rfactor_tile says what does not fit", "[schedule][rfactor]") {
  Function mm = MatmulFunction(4, 5, 6);
  Function attention = AttentionFunction({});
  CHECK(RefusalOf(mm, "rfactor_tile mm mm/k direct local p") ==
        "rfactor_tile: combiner 'sum_f32' has no direct form");
  CHECK(RefusalOf(mm, "rfactor_tile mm mm/i combined local p") ==
        "rfactor_tile: loop 'mm/i' feeds no reduce variable of block 'mm'");
  CHECK(RefusalOf(mm, "split mm/k [2]\nrfactor_tile mm mm/k.1 combined local p") ==
        "rfactor_tile: loop 'mm/k.0' of the reduction goes round loop 'mm/k.1'; expected the "
        "outermost");
  CHECK(RefusalOf(mm, "unroll mm/k\nrfactor_tile mm mm/k combined local p") ==
        "rfactor_tile: loop 'mm/k' is unrolled; expected a serial loop");
  CHECK(RefusalOf(mm,
                  "reorder [mm/k, mm/j]\nvectorize mm/j\nrfactor_tile mm mm/k combined local p") ==
        "rfactor_tile: loop 'mm/j' is vectorized");
  CHECK(RefusalOf(mm, "decompose_reduction mm mm/k\nrfactor_tile mm mm/k combined local p") ==
        "rfactor_tile: block 'mm' is decomposed already");
  CHECK(RefusalOf(SoftmaxFunction(3, 4), "rfactor_tile stat out/j direct local p") ==
        "rfactor_tile: loop 'out/j' does not go round block 'stat' alone");
  CHECK(RefusalOf(SoftmaxFunction(3, 4), "rfactor_tile out out/j direct local p") ==
        "rfactor_tile: block 'out' is no reduction");
  CHECK(RefusalOf(attention, "rfactor_tile core core/t combined local p") ==
        "rfactor_tile: the outputs of block 'core' differ in their axes; expected form direct");
  CHECK(RefusalOf(mm, "rfactor_tile mm mm/k combined local A") ==
        "rfactor_tile: the name 'A' is empty or in use");
  CHECK(Message(ParseTrace("rfactor_tile mm mm/k quick local A").status())
            .find("'quick' is no form of a tile") != std::string::npos);
}

TEST_CASE("a tuple of different axes keeps its loops until it is combined by tiles",
          "[schedule][tuple]") {
  Function core = Core();
  CHECK(RefusalOf(core, "reorder [core/t, core/d]") ==
        "reorder: loop 'core/d' of an axis that some outputs of block 'core' lack would go inside "
        "its reduction; rfactor_tile it first");
  for (const char* step : {"parallel core/d", "vectorize core/d", "bind core/d threadIdx.x"}) {
    std::string name(step, std::string_view(step).find(' '));
    CHECK(RefusalOf(core, step) ==
          name +
              ": loop 'core/d' feeds an axis that some outputs of block 'core' lack; "
              "rfactor_tile it first");
  }
  CHECK(RefusalOf(core, "decompose_reduction core core/t") ==
        "decompose_reduction: block 'core' updates outputs of different axes; rfactor_tile it "
        "first");
  CHECK(RefusalOf(core, "rfactor core core/t 0 global p") ==
        "rfactor: block 'core' updates outputs of different axes; rfactor_tile it first");
  CheckStepResult(core, "reorder [core/d, core/i]\nparallel core/i");
}

TEST_CASE("rfactor_tile says which loops and names of a tuple do not fit", "[schedule][tuple]") {
  Function core = Core();
  const std::string tile = "rfactor_tile core core/t direct local p";
  CHECK(RefusalOf(core, "fuse core/i core/d\n" + tile) ==
        "rfactor_tile: loop 'core/(i*d)' feeds an axis that some outputs lack and another one");
  CHECK(RefusalOf(core, "unroll core/d\n" + tile) ==
        "rfactor_tile: loop 'core/d' is unrolled; expected a serial loop");
  CHECK(RefusalOf(core, "fuse core/d core/t\nrfactor_tile core core/(d*t) direct local p") ==
        "rfactor_tile: loop 'core/(d*t)' feeds both spatial and reduce variables");
  CHECK(RefusalOf(core, "cache_read S [core] global core.0\n" + tile) ==
        "rfactor_tile: the name 'core.0' is empty or in use");
  CHECK(RefusalOf(core, "cache_read S [core] global core.old0\n" + tile) ==
        "rfactor_tile: the name 'core.old0' is empty or in use");
  CHECK(RefusalOf(core, "cache_read V [core] global v\ncompute_at v core/d\n" + tile) ==
        "rfactor_tile: loop 'core/d' of an axis that some outputs lack holds other blocks");
}

TEST_CASE("a tuple that is not nested by axes is refused", "[schedule][tuple]") {
  auto refusal = [](const std::string& outputs, const std::string& inputs,
                    const std::string& where) {
    Function fn = FunctionOf(fmt::format(R"(
      fn f(S: f32[3, 5], V: f32[5, 4], m: f32[3], l: f32[3, 4], acc: f32[3, 4], z: f32[4]) tensor {{
        for i in 0..3 @core/i {{ for d in 0..4 @core/d {{ for t in 0..5 @core/t {{
          block core(i: spatial 3 = i, d: spatial 4 = d, t: reduce 5 = t){} {{
            reduce attention_f32 init ({}) with ({})
          }}
        }} }} }}
      }})",
                                         where, outputs, inputs));
    return RefusalOf(fn, "rfactor_tile core core/t direct local p");
  };
  CHECK(refusal("m[i], z[d], acc[i, d]", "S[i, t], 1.0, V[t, d]", "") ==
        "rfactor_tile: the outputs of block 'core' differ in more than the axes they lack");
  CHECK(refusal("acc[i, d], m[i], l[i, d]", "S[i, t], 1.0, V[t, d]", "") ==
        "rfactor_tile: element 1 of 'attention_f32' depends on element 0, which has more axes");
  CHECK(refusal("m[i], l[i, d], acc[i, d]", "V[t, d], 1.0, V[t, d]", "") ==
        "rfactor_tile: what element 0 of block 'core' takes in depends on 'd', which its output "
        "lacks");
  CHECK(refusal("m[i], l[i, d], acc[i, d]", "S[i, t], 1.0, V[t, d]", " where (d < 3)") ==
        "rfactor_tile: the predicate of block 'core' depends on 'd', which some outputs lack");
}

TEST_CASE("a slice of an axis has its own copies of the elements that lack it",
          "[schedule][tuple]") {
  for (int64_t s : {1, 2, 5}) {
    Function fn = AttentionFunction({.queries = 3, .keys = 7, .width = 5, .blind = 2});
    CheckStepResult(fn,
                    "tile s 1 5\nsplit out/d [s]\nreorder [out/d.0, out/i, out/d.1]\n"
                    "compute_at core out/d.0\nsplit core/t [2]\n"
                    "reorder [core/d, core/t.0, core/i, core/t.1]\n"
                    "rfactor_tile core core/t.0 direct local p",
                    {{"s", s}});
  }
}
