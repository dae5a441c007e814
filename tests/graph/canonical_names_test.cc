#include "ir/analysis/canonical_names.h"

#include <catch2/catch.hpp>
#include <set>

#include "graph/passes/fuse_graph.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/variants/task.h"
#include "ir/analysis/canonical.h"
#include "ir/analysis/verifier.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "lower/split_prepare.h"
#include "models/zoo/zoo.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/graph/one_node.h"
#include "tests/programs/equal_up_to_names.h"

using namespace tcc;

namespace {

Graph SmallZoo(const std::string& name) {
  StatusOr<Graph> graph = BuildZoo(name, {.small = true});
  REQUIRE(graph.ok());
  return *std::move(graph);
}

// All variants of all tasks, those of loops' bodies too.
void AddVariants(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                 std::vector<Function>& variants) {
  for (const Subgraph& subgraph : subgraphs) {
    for (size_t b = 0; b < subgraph.bodies.size(); ++b) {
      AddVariants(graph.nodes[subgraph.nodes[0]].bodies[b], subgraph.bodies[b], variants);
    }
    if (subgraph.kind != SubgraphKind::kKernel) continue;
    StatusOr<Task> task = BuildTask(graph, subgraph);
    REQUIRE(task.ok());
    for (const Variant& variant : task->variants) variants.push_back(variant.fn);
  }
}

std::vector<Function> VariantsOf(Graph graph) {
  Status status = RunGraphPasses(graph);
  INFO(Message(status));
  REQUIRE(status.ok());
  std::vector<Function> variants;
  AddVariants(graph, FuseGraph(graph), variants);
  return variants;
}

// One of each key, over all networks.
const std::vector<Function>& ZooVariants() {
  static const auto* made = [] {
    auto* variants = new std::vector<Function>;
    std::set<std::string> keys;
    for (const std::string& network : ZooNames()) {
      for (Function& fn : VariantsOf(SmallZoo(network))) {
        if (keys.insert(FunctionKey(fn)).second) variants->push_back(std::move(fn));
      }
    }
    return variants;
  }();
  return *made;
}

// Names that sort the other way round. With `collide`, identifiers made of them are all the same.
void RenameAll(Graph& graph, bool collide) {
  auto name = [&](const char* prefix, size_t i, size_t count) {
    return collide ? prefix + std::string(i + 1, '.') : prefix + std::to_string(2 * count - i);
  };
  for (size_t i = 0; i < graph.values.size(); ++i) {
    graph.values[i].name = name("x", i, graph.values.size());
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    graph.nodes[i].name = name("x", i, graph.nodes.size());
    for (Graph& body : graph.nodes[i].bodies) RenameAll(body, collide);
  }
}

// Keys of all that a function lowers to with the sketch at its start, prepare functions first.
std::vector<std::string> LoweredKeys(const Function& fn, const Sketch& sketch) {
  StatusOr<Function> scheduled = Replay(fn, sketch.trace, sketch.start);
  INFO(Message(scheduled.status()));
  REQUIRE(scheduled.ok());
  StatusOr<PreparedFunction> parts = SplitPrepare(Simplify(*scheduled));
  REQUIRE(parts.ok());
  parts->prepare.push_back(parts->main);
  std::vector<std::string> keys;
  for (const Function& part : parts->prepare) {
    StatusOr<Function> lowered = RunPipeline(part);
    REQUIRE(lowered.ok());
    keys.push_back(FunctionKey(*lowered));
  }
  return keys;
}

// Values of the start in the order of the sizes.
std::vector<int64_t> StartOf(const Sketch& sketch) {
  std::vector<int64_t> values;
  for (const FreeSize& size : sketch.trace.sizes) values.push_back(sketch.start.at(size.var->name));
  return values;
}

void CheckSameSketch(const Function& fn, const Sketch& sketch, const Function& canonical,
                     const Sketch& of_canonical) {
  CHECK(of_canonical.name == sketch.name);
  CHECK(of_canonical.trace.steps.size() == sketch.trace.steps.size());
  CHECK(StartOf(of_canonical) == StartOf(sketch));
  CHECK(LoweredKeys(canonical, of_canonical) == LoweredKeys(fn, sketch));
}

std::vector<std::string> KeysOfLoops(const Function& fn) {
  std::vector<std::string> keys;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) keys.push_back(loop->key);
  });
  return keys;
}

Function Parsed(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(Message(fn.status()));
  REQUIRE(fn.ok());
  return *std::move(fn);
}

std::string FunctionText(const std::string& text) {
  return text.substr(text.find("fn "));
}

}  // namespace

TEST_CASE("names come from position", "[graph][names]") {
  Function fn = Parsed(R"(
    fn mm(A: f32[13, 11], B: f32[11, 9], C: f32[13, 9]) tensor attributes("from" = "mm") {
      alloc sum: f32[13, 9]
      for i in 0..13 @mm.init/i {
        for j in 0..9 @mm.init/j {
          block mm.init(i: spatial 13 = i, j: spatial 9 = j) {
            sum[i, j] = 0.0
          }
        }
      }
      for i in 0..13 @mm/i {
        for j in 0..9 @mm/j {
          for k in 0..11 @mm/k {
            block mm(i: spatial 13 = i, j: spatial 9 = j, k: reduce 11 = k) {
              reduce sum_f32 (sum[i, j]) with (A[i, k] * B[k, j])
            }
          }
        }
      }
      for r in 0..13 @bias/r {
        for c in 0..9 @bias/c {
          block bias(r: spatial 13 = r, c: spatial 9 = c) {
            C[r, c] = sum[r, c] + 1.0
          }
        }
      }
    })");
  CHECK(FunctionText(Print(WithCanonicalNames(fn))) ==
        R"(fn kernel(p0: f32[13, 11], p1: f32[11, 9], p2: f32[13, 9]) tensor {
  alloc t0: f32[13, 9]
  for i0 in 0..13 @b0.init/i0 {
    for i1 in 0..9 @b0.init/i1 {
      block b0.init(i0: spatial 13 = i0, i1: spatial 9 = i1) {
        t0[i0, i1] = 0.0
      }
    }
  }
  for i0_1 in 0..13 @b0/i0 {
    for i1_1 in 0..9 @b0/i1 {
      for i2 in 0..11 @b0/i2 {
        block b0(i0: spatial 13 = i0_1, i1: spatial 9 = i1_1, i2: reduce 11 = i2) {
          reduce sum_f32 (t0[i0, i1]) with (p0[i0, i2] * p1[i2, i1])
        }
      }
    }
  }
  for i0_2 in 0..13 @b1/i0 {
    for i1_2 in 0..9 @b1/i1 {
      block b1(i0: spatial 13 = i0_2, i1: spatial 9 = i1_2) {
        p2[i0, i1] = t0[i0, i1] + 1.0
      }
    }
  }
}
)");
}

TEST_CASE("loops take the names of their variables, whatever their order", "[graph][names]") {
  Function fn = Parsed(R"(
    fn f<shape n in 1..=64>(A: f32[n, 6], B: f32[n, 6]) tensor {
      for column in 0..6 @turn/column {
        for row in 0..n @turn/row {
          block turn(y: spatial n = row, x: spatial 6 = column) {
            B[y, x] = A[y, x]
          }
        }
      }
      for flat in 0..6 @tail/flat {
        block tail(y: spatial 3 = flat div 2, x: spatial 2 = flat mod 2) {
          B[0, y * 2 + x] = 0.0
        }
      }
    })");
  Function canonical = WithCanonicalNames(fn);
  CHECK(KeysOfLoops(canonical) == std::vector<std::string>{"b0/i1", "b0/i0", "b1/i2"});
  CHECK(FunctionKey(canonical) == FunctionKey(fn));
  CHECK(canonical.vars[0]->name == "s0");
  CHECK(canonical.vars[0]->high == 64);
  CHECK(Verify(canonical).ok());
}

TEST_CASE("canonical names leave the zoo's functions what they are", "[graph][names]") {
  for (const Function& fn : ZooVariants()) {
    INFO(Print(fn));
    Function canonical = WithCanonicalNames(fn);
    CHECK(FunctionKey(canonical) == FunctionKey(fn));
    CHECK(EqualUpToNames(canonical, fn));
    CHECK(Verify(canonical).ok());
    for (size_t i = 0; i < canonical.params.size(); ++i) {
      CHECK(canonical.params[i].var->name == "p" + std::to_string(i));
    }
    std::string text = Print(canonical);
    CHECK(Print(WithCanonicalNames(canonical)) == text);
    CHECK(AlphaEqual(WithCanonicalNames(canonical), canonical));
    Function parsed = Parsed(text);
    CHECK(AlphaEqual(parsed, canonical));
    CHECK(Print(parsed) == text);
    CHECK(Print(WithCanonicalNames(parsed)) == text);
  }
}

TEST_CASE("keys of canonical loops are unique and name their block", "[graph][names]") {
  for (const Function& fn : ZooVariants()) {
    Function canonical = WithCanonicalNames(fn);
    INFO(Print(canonical));
    std::vector<std::string> keys = KeysOfLoops(canonical);
    CHECK(std::set<std::string>(keys.begin(), keys.end()).size() == keys.size());
    std::set<std::string> expected;
    for (const Ref<Block>& block : BlocksOf(canonical.body)) {
      for (const IterVar& iter : block->iters) expected.insert(block->name + "/" + iter.var->name);
    }
    CHECK(std::set<std::string>(keys.begin(), keys.end()) == expected);
  }
}

TEST_CASE("equal networks with other names have the same canonical text", "[graph][names]") {
  for (const std::string& network : ZooNames()) {
    INFO(network);
    std::vector<Function> variants = VariantsOf(SmallZoo(network));
    for (bool collide : {false, true}) {
      Graph graph = SmallZoo(network);
      RenameAll(graph, collide);
      std::vector<Function> renamed = VariantsOf(graph);
      REQUIRE(renamed.size() == variants.size());
      for (size_t v = 0; v < variants.size(); ++v) {
        CHECK(Print(WithCanonicalNames(renamed[v])) == Print(WithCanonicalNames(variants[v])));
      }
    }
  }
}

TEST_CASE("a schedule of one network replays on another", "[graph][names]") {
  Target target = FindTarget("x86-64-v3").value();
  Graph other = SmallZoo("resnet18");
  RenameAll(other, /*collide=*/false);
  std::vector<Function> variants = VariantsOf(SmallZoo("resnet18"));
  std::vector<Function> renamed = VariantsOf(other);
  REQUIRE(renamed.size() == variants.size());
  for (size_t v = 0; v < variants.size(); v += 4) {
    Function canonical = WithCanonicalNames(variants[v]);
    Sketch sketch = FirstSketch(canonical, target);
    StatusOr<Trace> trace = ParseTrace(Print(sketch.trace));
    REQUIRE(trace.ok());
    StatusOr<Function> there = Replay(WithCanonicalNames(renamed[v]), *trace, sketch.start);
    REQUIRE(there.ok());
    CHECK(Print(*there) == Print(Replay(canonical, sketch.trace, sketch.start).value()));
  }
}

TEST_CASE("buffers that a model calls alike are told apart", "[graph][names]") {
  TestGraph builder;
  ValueId x = builder.Input("x.1", kFloat32, {8, 16});
  ValueId w = builder.Constant("x_1", RandomF32({16, 8}, 1));
  builder.Output(builder.Add("x-1", OpKind::kMatMul, {x, w}));
  std::vector<Function> variants = VariantsOf(builder.Build());
  std::vector<std::string> names;
  for (const Buffer& param : variants[0].params) names.push_back(param.var->name);
  CHECK(names == std::vector<std::string>{"x_1", "x_1_1", "x_1_out"});
}

TEST_CASE("no sketch depends on names", "[graph][names]") {
  // Every n-th function; all of them take 30 s.
  for (auto [name, step] : {std::pair("x86-64-v3", 3), std::pair("sm_86", 13)}) {
    Target target = FindTarget(name).value();
    for (size_t f = 0; f < ZooVariants().size(); f += step) {
      const Function& fn = ZooVariants()[f];
      Function canonical = WithCanonicalNames(fn);
      INFO(name << "\n" << Print(fn));
      CheckSameSketch(fn, FirstSketch(fn, target), canonical, FirstSketch(canonical, target));
      std::vector<Sketch> sketches = GenerateSketches(fn, target);
      std::vector<Sketch> of_canonical = GenerateSketches(canonical, target);
      REQUIRE(of_canonical.size() == sketches.size());
      for (size_t s = 0; s < sketches.size(); ++s) {
        CheckSameSketch(fn, sketches[s], canonical, of_canonical[s]);
      }
    }
  }
}
