#include "compiler/execution_plan.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>

#include "graph/passes/graph_pipeline.h"
#include "tests/compiler/random_graph.h"

namespace tcc {
namespace {

struct Planned {
  Graph graph;
  KernelSet kernels;
  ExecutionPlan plan;
};

Planned PlanOf(Graph graph) {
  REQUIRE(RunGraphPasses(graph).ok());
  const std::array fused = {FusedGraph{graph, FuseGraph(graph), {}}};
  CompileOptions options;
  options.target = *FindTarget("reference");
  StatusOr<KernelSet> kernels = MakeKernels(fused, options);
  INFO(kernels.status());
  REQUIRE(kernels.ok());
  StatusOr<ExecutionPlan> plan = BuildExecutionPlan(fused, {}, *kernels, options.target);
  INFO(plan.status());
  REQUIRE(plan.ok());
  return {std::move(graph), std::move(*kernels), std::move(*plan)};
}

int64_t At(const SizeExpr& expr) {
  return expr.AsConstant().value();
}

// Memory as the set of (kind, index, byte) cells, each with the buffer that wrote it last. A read
// must find the bytes that were written for it, or by a buffer in the very same place (a view).
class Memory {
 public:
  explicit Memory(const Plan& plan) : plan_(plan) {}

  void Write(BufferId id) {
    for (int64_t byte = 0; byte < At(plan_.buffers[id].bytes); ++byte) writer_[Cell(id, byte)] = id;
  }

  // The first byte of `id` that another buffer has overwritten or nobody wrote, or -1.
  int64_t FirstLost(BufferId id) const {
    const PlanBuffer& buffer = plan_.buffers[id];
    if (buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kWeight) return -1;
    for (int64_t byte = 0; byte < At(buffer.bytes); ++byte) {
      auto found = writer_.find(Cell(id, byte));
      if (found == writer_.end() || found->second != id) return byte;
    }
    return -1;
  }

 private:
  std::tuple<BufferKind, uint32_t, int64_t> Cell(BufferId id, int64_t byte) const {
    const PlanBuffer& buffer = plan_.buffers[id];
    return {buffer.kind, buffer.index, At(buffer.offset) + byte};
  }

  const Plan& plan_;
  std::map<std::tuple<BufferKind, uint32_t, int64_t>, BufferId> writer_;
};

// Runs the plan on paper. Returns what went wrong, "" for nothing.
std::string FaultOf(const Planned& planned) {
  Memory memory(planned.plan.plan);
  size_t task = 0;
  for (const Instruction& instruction : planned.plan.plan.body) {
    if (const auto* copy = std::get_if<PlanCopy>(&instruction.op)) {
      if (memory.FirstLost(copy->from) >= 0) return "a copied buffer was overwritten";
      memory.Write(copy->to);
      continue;
    }
    const auto& call = std::get<PlanCall>(instruction.op);
    size_t inputs = planned.kernels.tasks[task++].inputs.size();
    for (size_t i = 0; i < inputs; ++i) {
      if (memory.FirstLost(call.buffers[i]) >= 0)
        return "an operand was overwritten before its use";
    }
    for (size_t i = inputs; i < call.buffers.size(); ++i) memory.Write(call.buffers[i]);
    // Outputs must not lie over operands that the kernel still reads.
    for (size_t i = 0; i < inputs; ++i) {
      if (memory.FirstLost(call.buffers[i]) >= 0) return "a kernel writes over its own operand";
    }
  }
  if (task != planned.kernels.tasks.size()) return "a task is not called";
  for (BufferId id = 0; id < planned.plan.plan.buffers.size(); ++id) {
    if (planned.plan.plan.buffers[id].kind == BufferKind::kOutput && memory.FirstLost(id) >= 0) {
      return "an output is not written whole";
    }
  }
  return "";
}

TEST_CASE("no buffer is overwritten while somebody still reads it", "[compiler][plan]") {
  Random random(17);
  for (int round = 0; round < 150; ++round) {
    Random own = random.Fork();
    Planned planned = PlanOf(RandomGraph(own, {.nodes = 4 + round % 12, .outputs = 1 + round % 4}));
    INFO(Print(planned.graph) << ToString(planned.plan.plan));
    REQUIRE(FaultOf(planned) == "");
  }
}

TEST_CASE("the check of plans sees two live buffers in one place", "[compiler][plan]") {
  Random random(3);
  int caught = 0, tried = 0;
  for (int round = 0; round < 30; ++round) {
    Planned planned = PlanOf(RandomGraph(random, {.nodes = 30, .outputs = 2}));
    std::vector<PlanBuffer*> arena;
    for (PlanBuffer& buffer : planned.plan.plan.buffers) {
      if (buffer.kind == BufferKind::kArena) arena.push_back(&buffer);
    }
    if (arena.size() < 3) continue;
    ++tried;
    for (PlanBuffer* buffer : arena) buffer->offset = 0;
    caught += FaultOf(planned) != "";
  }
  CHECK(tried > 5);
  CHECK(caught > tried / 2);
}

TEST_CASE("buffers of a long chain share memory", "[compiler][plan]") {
  Graph graph;
  Value value;
  value.dtype = kFloat32;
  value.shape = ToExprs({64, 64});
  value.name = "x";
  ValueId last = graph.AddValue(value);
  graph.inputs = {last};
  // A Softmax is not fused with another one.
  for (int i = 0; i < 10; ++i) {
    value.name = "v" + std::to_string(i);
    Node node;
    node.op = OpKind::kSoftmax;
    node.name = "s" + std::to_string(i);
    node.inputs = {last};
    node.attributes = {{"axis", int64_t{1}}};
    node.outputs = {graph.AddValue(value)};
    last = node.outputs[0];
    graph.nodes.push_back(node);
  }
  graph.outputs = {last};
  Planned planned = PlanOf(std::move(graph));
  CHECK(At(planned.plan.plan.arena_bytes) == 2 * 64 * 64 * 4);
  CHECK(planned.plan.activation_bytes == 9 * 64 * 64 * 4);
  CHECK(planned.kernels.kernels.size() == 1);  // one computation ten times
  CHECK(planned.kernels.kernels[0].nodes.size() == 10);
}

}  // namespace
}  // namespace tcc
