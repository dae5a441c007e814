#include "schedule/steps/decompose_tuple.h"

#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// The reduction of attention alone.
Function Core(int64_t queries, int64_t width, int64_t keys) {
  return FunctionOf(fmt::format(R"(
    fn core(S: f32[{n}, {t}], V: f32[{t}, {d}], m: f32[{n}], l: f32[{n}], acc: f32[{n}, {d}]) tensor {{
      for i in 0..{n} @core/i {{ for d in 0..{d} @core/d {{ for t in 0..{t} @core/t {{
        block core(i: spatial {n} = i, d: spatial {d} = d, t: reduce {t} = t) {{
          reduce attention_f32 init (m[i], l[i], acc[i, d]) with (S[i, t], 1.0, V[t, d])
        }}
      }} }} }}
    }})",
                                fmt::arg("n", queries), fmt::arg("d", width), fmt::arg("t", keys)));
}

void CheckAtTiles(const Function& before, const std::string& steps) {
  for (int64_t t : {1, 2, 3, 9}) {
    for (int64_t u : {1, 2, 7}) {
      CheckStepResult(before, "tile t 1 9\ntile u 1 9\n" + steps, {{"t", t}, {"u", u}});
    }
  }
}

}  // namespace

TEST_CASE("elements with fewer axes change first and save what the others read",
          "[schedule][tuple]") {
  CheckSteps(Core(2, 3, 5), "decompose_tuple core", R"(
    fn core(S: f32[2, 5], V: f32[5, 3], m: f32[2], l: f32[2], acc: f32[2, 3]) scheduled {
      for i in 0..2 @core/i {
        block core.0.init(i: spatial 2 = i) { m[i] = -inf; l[i] = 0.0 }
        for d in 0..3 @core.init/d {
          block core.init(i: spatial 2 = i, d: spatial 3 = d) { acc[i, d] = 0.0 }
        }
        for t in 0..5 @core/t {
          alloc core.old0: f32[2] window [i] size [1]
          block core.0(i: spatial 2 = i, t: reduce 5 = t) {
            core.old0[i] = m[i]
            m[i] = max(core.old0[i], S[i, t])
            l[i] = l[i] * exp_diff(core.old0[i], max(core.old0[i], S[i, t])) +
                   1.0 * exp_diff(S[i, t], max(core.old0[i], S[i, t]))
          }
          for d in 0..3 @core/d {
            block core(i: spatial 2 = i, d: spatial 3 = d, t: reduce 5 = t) {
              acc[i, d] = acc[i, d] * exp_diff(core.old0[i], max(core.old0[i], S[i, t])) +
                          V[t, d] * exp_diff(S[i, t], max(core.old0[i], S[i, t]))
            }
          }
        }
      }
    })");
}

TEST_CASE("a tuple is decomposed under splits of all its loops", "[schedule][tuple]") {
  CheckAtTiles(Core(3, 4, 11), "split core/t [t, u]\ndecompose_tuple core");
  CheckAtTiles(Core(3, 4, 11), "split core/d [t]\nsplit core/i [u]\ndecompose_tuple core");
  CheckAtTiles(Core(3, 4, 11),
               "split core/t [t]\nsplit core/i [u]\n"
               "reorder [core/d, core/t.0, core/i.0, core/t.1, core/i.1]\ndecompose_tuple core\n"
               "reorder [core/d, core/i.1]");
}

TEST_CASE("the blocks of a decomposed tuple run in parallel and in lanes", "[schedule][tuple]") {
  CheckAtTiles(Core(5, 4, 7),
               "split core/t [t]\nreorder [core/d, core/t.0, core/t.1, core/i]\n"
               "decompose_tuple core\nvectorize core.0/i\nparallel core/i\nvectorize core/d");
}

TEST_CASE("decompose_tuple says what does not fit", "[schedule][tuple]") {
  Function core = Core(3, 4, 5);
  CHECK(RefusalOf(core, "decompose_tuple cores") ==
        "no block 'cores' in function 'core'; it has core");
  CHECK(RefusalOf(SoftmaxFunction(3, 4), "decompose_tuple out") ==
        "decompose_tuple: block 'out' is no reduction");
  CHECK(RefusalOf(SoftmaxFunction(3, 4), "decompose_tuple stat") ==
        "decompose_tuple: the outputs of block 'stat' have the same axes");
  CHECK(RefusalOf(core, "fuse core/i core/d\ndecompose_tuple core") ==
        "decompose_tuple: loop 'core/(i*d)' feeds an axis that some outputs lack and another one");
  CHECK(RefusalOf(core, "unroll core/d\ndecompose_tuple core") ==
        "decompose_tuple: loop 'core/d' is unrolled; expected a serial loop");
  CHECK(RefusalOf(core, "fuse core/d core/t\ndecompose_tuple core") ==
        "decompose_tuple: loop 'core/(d*t)' feeds both spatial and reduce variables");
  CHECK(RefusalOf(core, "cache_read S [core] global core.0\ndecompose_tuple core") ==
        "decompose_tuple: the name 'core.0' is empty or in use");
  CHECK(RefusalOf(core, "cache_read S [core] global core.old0\ndecompose_tuple core") ==
        "decompose_tuple: the name 'core.old0' is empty or in use");
  CHECK(
      RefusalOf(core, "cache_read V [core] global v\ncompute_at v core/d\ndecompose_tuple core") ==
      "decompose_tuple: loop 'core/d' of an axis that some outputs lack holds other blocks");
}

TEST_CASE("a tuple of different axes keeps its loops until it is decomposed", "[schedule][tuple]") {
  Function core = Core(3, 4, 5);
  CHECK(RefusalOf(core, "reorder [core/t, core/d]") ==
        "reorder: loop 'core/d' of an axis that some outputs of block 'core' lack would go inside "
        "its reduction; decompose_tuple it first");
  for (const char* step : {"parallel core/d", "vectorize core/d", "bind core/d threadIdx.x"}) {
    std::string name(step, std::string_view(step).find(' '));
    CHECK(RefusalOf(core, step) ==
          name +
              ": loop 'core/d' feeds an axis that some outputs of block 'core' lack; "
              "decompose_tuple it first");
  }
  CHECK(RefusalOf(core, "decompose_reduction core core/t") ==
        "decompose_reduction: block 'core' updates outputs of different axes; decompose_tuple it "
        "first");
  CHECK(RefusalOf(core, "rfactor core core/t 0 global p") ==
        "rfactor: block 'core' updates outputs of different axes; decompose_tuple it first");
  CheckStepResult(core, "reorder [core/d, core/i]\nparallel core/i");
}

TEST_CASE("a tuple that is not nested by axes is refused", "[schedule][tuple]") {
  auto with = [](const std::string& outputs, const std::string& inputs, const std::string& where) {
    return FunctionOf(fmt::format(R"(
      fn f(S: f32[3, 5], V: f32[5, 4], m: f32[3], l: f32[3, 4], acc: f32[3, 4], z: f32[4]) tensor {{
        for i in 0..3 @core/i {{ for d in 0..4 @core/d {{ for t in 0..5 @core/t {{
          block core(i: spatial 3 = i, d: spatial 4 = d, t: reduce 5 = t){} {{
            reduce attention_f32 init ({}) with ({})
          }}
        }} }} }}
      }})",
                                  where, outputs, inputs));
  };
  CHECK(RefusalOf(with("m[i], z[d], acc[i, d]", "S[i, t], 1.0, V[t, d]", ""),
                  "decompose_tuple core") ==
        "decompose_tuple: the outputs of block 'core' differ in more than the axes they lack");
  CHECK(RefusalOf(with("acc[i, d], m[i], l[i, d]", "S[i, t], 1.0, V[t, d]", ""),
                  "decompose_tuple core") ==
        "decompose_tuple: element 1 of 'attention_f32' depends on element 0, which has more axes");
  CHECK(RefusalOf(with("m[i], l[i, d], acc[i, d]", "V[t, d], 1.0, V[t, d]", ""),
                  "decompose_tuple core") ==
        "decompose_tuple: what element 0 of block 'core' takes in depends on 'd', which its output "
        "lacks");
  CHECK(RefusalOf(with("m[i], l[i, d], acc[i, d]", "S[i, t], 1.0, V[t, d]", " where (d < 3)"),
                  "decompose_tuple core") ==
        "decompose_tuple: the predicate of block 'core' depends on 'd', which some outputs lack");
}

TEST_CASE("a slice of an axis has its own copies of the elements that lack it",
          "[schedule][tuple]") {
  const std::string kSlices =
      "tile s 1 5\nsplit out/d [s]\nreorder [out/d.0, out/i, out/d.1]\ncompute_at core out/d.0\n";
  for (int64_t s : {1, 2, 5}) {
    Function fn = AttentionFunction({.queries = 3, .keys = 7, .width = 5, .blind = 2});
    CheckStepResult(fn, kSlices + "decompose_tuple core", {{"s", s}});
    CheckStepResult(fn,
                    kSlices +
                        "split core/t [2]\nreorder [core/d, core/t.0, core/i, core/t.1]\n"
                        "rfactor_tile core core/t.0 direct local p",
                    {{"s", s}});
  }
}

TEST_CASE("decompose_tuple asks for a reduction that is whole", "[schedule][tuple]") {
  Function begun = FunctionOf(R"(
    fn core(S: f32[2, 5], V: f32[5, 3], m: f32[2], l: f32[2], acc: f32[2, 3]) scheduled {
      for i in 0..2 @core/i { for d in 0..3 @core/d { for t in 0..5 @core/t {
        block core(i: spatial 2 = i, d: spatial 3 = d, t: reduce 5 = t) {
          reduce attention_f32 (m[i], l[i], acc[i, d]) with (S[i, t], 1.0, V[t, d])
        }
      } } }
    })");
  CHECK(RefusalOf(begun, "decompose_tuple core") ==
        "decompose_tuple: block 'core' is decomposed already");
  Function once = FunctionOf(R"(
    fn core(S: f32[2, 1], V: f32[1, 3], m: f32[2], l: f32[2], acc: f32[2, 3]) tensor {
      for i in 0..2 @core/i { for d in 0..3 @core/d {
        block core(i: spatial 2 = i, d: spatial 3 = d, t: reduce 1 = 0) {
          reduce attention_f32 init (m[i], l[i], acc[i, d]) with (S[i, t], 1.0, V[t, d])
        }
      } }
    })");
  CHECK(RefusalOf(once, "decompose_tuple core") ==
        "decompose_tuple: block 'core' has no loop of its reduction");
  CHECK(RefusalOf(Core(3, 4, 5), "vectorize core/i\ndecompose_tuple core") ==
        "decompose_tuple: loop 'core/i' is vectorized");
}
