#include "compiler/notes.h"

#include <algorithm>
#include <iterator>

#include "ir/analysis/canonical.h"
#include "ir/expr/evaluate.h"
#include "runtime/executor/run_sizes.h"
#include "support/check.h"

namespace tcc {
namespace {

enum class Types : uint8_t { kKnown, kUnknown };

std::string NameOf(const Graph& graph, ValueId id) {
  return id == kNoValue ? "" : graph.value(id).name;
}

std::vector<std::string> NamesOf(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (ValueId id : ids) names.push_back(NameOf(graph, id));
  return names;
}

std::vector<int64_t> UsualSizes(const std::vector<Expr>& formulas) {
  std::vector<int64_t> sizes;
  for (const Expr& formula : formulas) {
    std::optional<int64_t> usual = AtUsual(formula);
    TCC_CHECK(usual.has_value()) << "a parameter has no usual size";
    sizes.push_back(*usual);
  }
  return sizes;
}

GraphNotes Describe(const Graph& graph, Types types) {
  GraphNotes notes;
  notes.inputs = NamesOf(graph, graph.inputs);
  notes.outputs = NamesOf(graph, graph.outputs);
  auto add_types = [&](const std::vector<ValueId>& ids) {
    for (ValueId id : ids) {
      if (id == kNoValue || types == Types::kUnknown) continue;
      const Value& value = graph.value(id);
      std::optional<std::vector<int64_t>> shape = StaticShape(value);
      std::string dims = shape ? ShapeToString(*shape) : "?";
      notes.types.emplace(value.name, fmt::format("{}[{}]", ToString(value.dtype), dims));
    }
  };
  add_types(graph.inputs);
  add_types(graph.outputs);
  for (const Node& node : graph.nodes) {
    NodeNotes& described = notes.nodes.emplace_back();
    described.name = node.name;
    described.op = ToString(node.op);
    described.inputs = NamesOf(graph, node.inputs);
    described.outputs = NamesOf(graph, node.outputs);
    for (const Graph& body : node.bodies) described.bodies.push_back(Describe(body, types));
    add_types(node.inputs);
    add_types(node.outputs);
  }
  return notes;
}

const Graph& GraphAt(const Graph& graph, const std::vector<BodyPlace>& within) {
  const Graph* at = &graph;
  for (const BodyPlace& place : within) at = &at->nodes[place.node].bodies[place.body];
  return *at;
}

KernelNotes DescribeKernel(const KernelStages& kernel) {
  KernelNotes notes;
  notes.name = kernel.symbol;
  notes.sketch = kernel.sketch;
  notes.choice = kernel.choice;
  notes.variant = kernel.schedule.variant;
  notes.tuned = kernel.tuned;
  notes.schedule = Print(kernel.schedule);
  if (kernel.tuned) notes.record = WorkloadKeyOf(kernel);
  return notes;
}

CallNotes DescribeCall(const FusedGraph& fused, const KernelSet& kernels, const PlannedCall& call) {
  const Task& task = kernels.tasks[call.task];
  const Graph& graph = GraphAt(fused.graph, call.within);
  CallNotes notes{.kernel = call.kernel,
                  .graph = call.graph,
                  .step = call.step,
                  .nodes = task.nodes,
                  .within = call.within,
                  .reads = {},
                  .writes = {},
                  .writes_all = call.writes_all};
  const std::vector<KernelOperand>& operands = kernels.kernels[call.kernel].operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].kind != KernelOperand::Kind::kParameter) continue;
    const size_t index = operands[i].index;
    const bool reads = index < task.inputs.size();
    const ValueId id = reads ? task.inputs[index] : task.outputs[index - task.inputs.size()];
    if (graph.ConstantOf(id)) continue;
    const Value& value = graph.value(id);
    OperandNotes operand{.operand = i, .value = value.name, .shape = {}, .strides = {}};
    const Buffer& param = task.variants[0].fn.params[index];
    operand.shape = UsualSizes(param.shape);
    operand.strides = UsualSizes(param.layout.strides);
    if (param.dtype() != value.dtype) operand.type = param.dtype();
    (reads ? notes.reads : notes.writes).push_back(std::move(operand));
  }
  return notes;
}

// Returns the most steps that BuildExecutionPlan counts for these instructions: one for each, one
// for each body, and one for each loop.
int64_t StepsOf(const std::vector<Instruction>& instructions) {
  int64_t steps = 0;
  for (const Instruction& instruction : instructions) {
    ++steps;
    if (const auto* loop = std::get_if<PlanLoop>(&instruction.op)) {
      steps += 2 + StepsOf(loop->body);
    } else if (const auto* branch = std::get_if<PlanIf>(&instruction.op)) {
      steps += 2 + StepsOf(branch->then_body) + StepsOf(branch->else_body);
    } else if (const auto* choice = std::get_if<PlanSwitch>(&instruction.op)) {
      for (const std::vector<Instruction>& body : choice->bodies) steps += 1 + StepsOf(body);
    }
  }
  return steps;
}

// Returns the bytes of the arena at a listed size, or at the only one; no limit where nothing lists
// the sizes.
StatusOr<int64_t> ArenaBytes(const Artefact& artefact, size_t number) {
  const std::vector<std::vector<int64_t>>& sizes = artefact.metadata.sizes;
  if (sizes.empty() && artefact.plan.shape_variables > 0) return INT64_MAX;
  const std::vector<int64_t> size = sizes.empty() ? std::vector<int64_t>() : sizes[number];
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const RunSizes> run,
                       RunSizesByShape(artefact.plan).For(size));
  return run->arena_bytes;
}

// Checks that the values of a size are in its arena and live during the plan's steps.
Status CheckArena(const SizeNotes& notes, int64_t bytes, int64_t steps) {
  for (const ArenaValue& value : notes.arena) {
    if (value.offset < 0 || value.bytes < 0 || value.offset > bytes ||
        value.bytes > bytes - value.offset) {
      return InvalidInput("notes: '{}' has {} bytes at {}; expected them in an arena of {}",
                          value.name, value.bytes, value.offset, bytes);
    }
    if (value.first < 0 || value.first > value.last || value.last > steps) {
      return InvalidInput("notes: '{}' is live from step {} to {}; expected steps from 0 to {}",
                          value.name, value.first, value.last, steps);
    }
  }
  return OkStatus();
}

// Returns whether an artefact has `sizes` bodies: one for each listed size, and perhaps one for all
// others.
bool TellsOfSizes(const Artefact& artefact, size_t sizes) {
  const std::vector<Instruction>& body = artefact.plan.body;
  const auto* choice = body.size() == 1 ? std::get_if<PlanSwitch>(&body[0].op) : nullptr;
  if (sizes == 1 || artefact.plan.shape_variables == 0 || !artefact.metadata.sizes.empty()) {
    return sizes == std::max<size_t>(artefact.metadata.sizes.size(), 1);
  }
  return choice != nullptr && choice->bodies.size() == sizes;
}

// Checks the arena of each size, and that calls are steps of the plan.
Status CheckSteps(const Notes& notes, const Artefact& artefact) {
  const int64_t steps = StepsOf(artefact.plan.body);
  const size_t sizes = notes.others.size() + 1;
  if (!TellsOfSizes(artefact, sizes)) {
    return InvalidInput("notes: they tell of {} sizes; the metadata has {}", sizes,
                        std::max<size_t>(artefact.metadata.sizes.size(), 1));
  }
  for (size_t number = 0; number < sizes; ++number) {
    TCC_ASSIGN_OR_RETURN(int64_t bytes, ArenaBytes(artefact, number));
    TCC_RETURN_IF_ERROR(CheckArena(notes.AtSize(number), bytes, steps));
  }
  for (size_t i = 0; i < notes.calls.size(); ++i) {
    const int64_t step = notes.calls[i].step;
    if (step < 0 || step >= steps) {
      return InvalidInput("notes: call {} is step {}; expected one from 0 to {}", i, step,
                          steps - 1);
    }
  }
  return OkStatus();
}

// Checks that the notes tell of the artefact's kernels, calls and arena.
Status CheckFit(const Notes& notes, const Artefact& artefact) {
  const std::vector<KernelInfo>& kernels = artefact.metadata.kernels;
  auto same_name = [](const KernelNotes& a, const KernelInfo& b) { return a.name == b.name; };
  if (!std::ranges::equal(notes.kernels, kernels, same_name)) {
    return InvalidInput("notes: their {} kernels are not the {} of the metadata",
                        notes.kernels.size(), kernels.size());
  }
  std::vector<const PlanCall*> calls = CallsIn(artefact.plan.body);
  if (notes.calls.size() != calls.size()) {
    return InvalidInput("notes: they have {} calls; the plan has {}", notes.calls.size(),
                        calls.size());
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    const CallNotes& call = notes.calls[i];
    if (call.kernel != calls[i]->kernel) {
      return InvalidInput("notes: call {} is of kernel {}; the plan calls {}", i, call.kernel,
                          calls[i]->kernel);
    }
    if (call.graph > notes.others.size()) {
      return InvalidInput("notes: call {} is of size {}; there are {}", i, call.graph,
                          notes.others.size() + 1);
    }
    for (const auto* operands : {&call.reads, &call.writes}) {
      for (const OperandNotes& operand : *operands) {
        bool fits = operand.operand < calls[i]->buffers.size() &&
                    (operand.strides.empty() || operand.strides.size() == operand.shape.size());
        if (!fits) return InvalidInput("notes: call {} has no operand for '{}'", i, operand.value);
      }
    }
  }
  return CheckSteps(notes, artefact);
}

}  // namespace

GraphNotes DescribeImported(const Graph& graph) {
  return Describe(graph, Types::kUnknown);
}

GraphNotes DescribeOptimized(const Graph& graph) {
  return Describe(graph, Types::kKnown);
}

int64_t CountNodes(const Graph& graph) {
  auto count = static_cast<int64_t>(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    for (const Graph& body : node.bodies) count += CountNodes(body);
  }
  return count;
}

StatusOr<Notes> NotesOf(const Artefact& artefact) {
  if (artefact.notes.bytes.empty()) {
    return UsageError("the artefact has no notes; compile the model again, without --notes none");
  }
  TCC_ASSIGN_OR_RETURN(Notes notes, ReadNotes(artefact.notes.bytes));
  TCC_RETURN_IF_ERROR(CheckFit(notes, artefact));
  return notes;
}

StatusOr<Notes> NotesOf(const Artefact& artefact, const std::string& file) {
  StatusOr<Notes> notes = NotesOf(artefact);
  return notes.ok() ? notes : Annotate(notes.status(), file);
}

Notes DescribeCompilation(std::span<const FusedGraph> graphs, std::vector<SizeNotes> sizes,
                          const KernelSet& kernels, const ExecutionPlan& plan) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i].after = DescribeOptimized(graphs[i].graph);
    sizes[i].arena = plan.arena[i];
  }
  Notes notes{std::move(sizes[0]), {}, {}, {}};
  notes.others.assign(std::make_move_iterator(sizes.begin() + 1),
                      std::make_move_iterator(sizes.end()));
  for (const KernelStages& kernel : kernels.kernels) {
    notes.kernels.push_back(DescribeKernel(kernel));
  }
  for (const PlannedCall& call : plan.calls) {
    notes.calls.push_back(DescribeCall(graphs[call.graph], kernels, call));
  }
  return notes;
}

}  // namespace tcc
