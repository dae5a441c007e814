#include "compiler/check/check_layers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "compiler/check/lone_kernel.h"
#include "compiler/check/rounding_allowance.h"
#include "compiler/devices/strided_argument.h"
#include "graph/passes/edit.h"
#include "graph/variants/interpret_graph.h"
#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/binding.h"
#include "runtime/executor/executor.h"
#include "schedule/sketches/flash_attention.h"
#include "support/random.h"
#include "support/storage_types.h"
#include "support/version.h"

namespace tcc {
namespace {

// A value of a graph or of a body.
struct GraphValue {
  const Graph* graph = nullptr;
  ValueId id = kNoValue;

  friend auto operator<=>(const GraphValue&, const GraphValue&) = default;
};

// An operand of a call, and the model's value that it is.
struct Operand {
  const OperandNotes* notes = nullptr;
  GraphValue value;
};

struct Call {
  const PlanCall* planned = nullptr;
  const CallNotes* notes = nullptr;
  std::vector<Operand> reads, writes;
};

std::string Quoted(const std::vector<std::string>& names) {
  return names.empty() ? "nothing" : fmt::format("'{}'", fmt::join(names, "', '"));
}

std::string Differs(std::string_view what, std::string_view compiled, std::string_view model) {
  return fmt::format("{} {} in its notes and {} in the model", what, compiled, model);
}

std::string FirstDifference(const GraphNotes& compiled, const GraphNotes& model);

// Returns how two nodes at one place differ; "" if they do not.
std::string NodeDifference(std::string_view place, const NodeNotes& compiled,
                           const NodeNotes& model) {
  auto title = [](const NodeNotes& node) { return fmt::format("'{}' ({})", node.name, node.op); };
  if (title(compiled) != title(model)) {
    return Differs(fmt::format("{} is", place), title(compiled), title(model));
  }
  const std::string named = fmt::format("{}, {},", place, title(model));
  if (compiled.inputs != model.inputs) {
    return Differs(named + " reads", Quoted(compiled.inputs), Quoted(model.inputs));
  }
  if (compiled.outputs != model.outputs) {
    return Differs(named + " writes", Quoted(compiled.outputs), Quoted(model.outputs));
  }
  if (compiled.bodies.size() != model.bodies.size()) {
    return Differs(named + " has bodies:", fmt::format("{}", compiled.bodies.size()),
                   fmt::format("{}", model.bodies.size()));
  }
  for (size_t b = 0; b < model.bodies.size(); ++b) {
    std::string inside = FirstDifference(compiled.bodies[b], model.bodies[b]);
    if (!inside.empty()) return fmt::format("{} body {}: {}", named, b, inside);
  }
  return "";
}

// Returns how the types of the values that both graphs have differ; "" if they do not.
std::string TypeDifference(const GraphNotes& compiled, const GraphNotes& model) {
  for (const auto& [value, type] : compiled.types) {
    auto found = model.types.find(value);
    if (found != model.types.end() && found->second != type) {
      return Differs(fmt::format("'{}' is", value), type, found->second);
    }
  }
  return "";
}

// Returns the first thing in which two graphs or bodies differ; "" if there is none.
std::string FirstDifference(const GraphNotes& compiled, const GraphNotes& model) {
  if (compiled == model) return "";
  if (compiled.inputs != model.inputs) {
    return Differs("the inputs are", Quoted(compiled.inputs), Quoted(model.inputs));
  }
  const size_t both = std::min(compiled.nodes.size(), model.nodes.size());
  for (size_t i = 0; i < both; ++i) {
    std::string difference = NodeDifference(fmt::format("node {} of the optimized graph", i),
                                            compiled.nodes[i], model.nodes[i]);
    if (!difference.empty()) return difference;
  }
  if (compiled.nodes.size() != model.nodes.size()) {
    return Differs("the nodes of the optimized graph are", fmt::format("{}", compiled.nodes.size()),
                   fmt::format("{}", model.nodes.size()));
  }
  if (compiled.outputs != model.outputs) {
    return Differs("the outputs are", Quoted(compiled.outputs), Quoted(model.outputs));
  }
  std::string types = TypeDifference(compiled, model);
  return types.empty() ? "the types of other values are known" : types;
}

Status CheckModel(const GraphNotes& compiled, const GraphNotes& model, std::string_view compiler) {
  std::string difference = FirstDifference(compiled, model);
  if (difference.empty()) return OkStatus();
  return InvalidInput(
      "the artefact, of tcc {}, was not made of this model with these options by tcc {}: {}",
      compiler, kVersion, difference);
}

// Returns the graph or body at a place that notes tell.
StatusOr<const Graph*> GraphAt(const Graph& graph, const std::vector<BodyPlace>& within) {
  const Graph* at = &graph;
  for (const BodyPlace& place : within) {
    if (place.node >= at->nodes.size() || place.body >= at->nodes[place.node].bodies.size()) {
      return InvalidInput("notes: node {} has no body {}", place.node, place.body);
    }
    at = &at->nodes[place.node].bodies[place.body];
  }
  return at;
}

double RootMeanSquare(const Tensor& tensor, int64_t count) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = ElementAsDouble(tensor, i);
    if (std::isfinite(value)) squares += value * value;
  }
  return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
}

// The distance between neighbours of a float type with fewer bits than f32, over the number.
double StepOf(DType dtype) {
  double step = dtype.is_float() ? Epsilon(dtype) : 0;
  return step > Epsilon(kFloat32) ? step : 0;
}

// Returns the tensor with each element of f32 moved up or down by its last bit; a tensor of another
// type as it is.
Tensor Moved(const Tensor& tensor, Random& random) {
  if (tensor.dtype != kFloat32) return tensor;
  Tensor moved = MakeTensor(tensor.dtype, tensor.shape, tensor.bytes);
  const auto count = static_cast<int64_t>(tensor.values<float>().size());
  for (int64_t i = 0; i < count; ++i) {
    double value = ElementAsDouble(tensor, i);
    SetElement(moved, i, value + (random.OneIn(2) ? value : -value) * 0x1p-23);
  }
  return moved;
}

bool IsQuantized(const GraphValue& value) {
  return std::ranges::any_of(value.graph->nodes, [&](const Node& node) {
    return node.op == OpKind::kQuantizeLinear && node.outputs[0] == value.id;
  });
}

class LayerChecker {
 public:
  LayerChecker(const Module& module, const Graph& graph, const LayerOptions& options)
      : module_(module), plan_(module.artefact().plan), graph_(graph), options_(options) {}

  // Finds the values that the notes name, for the listed size of that number.
  Status Resolve(const Notes& notes, size_t size) {
    std::vector<const PlanCall*> planned = CallsIn(plan_.body);
    for (size_t i = 0; i < planned.size(); ++i) {
      Call call{.planned = planned[i], .notes = &notes.calls[i], .reads = {}, .writes = {}};
      if (call.notes->graph != size) {
        calls_.push_back(std::move(call));
        continue;
      }
      TCC_ASSIGN_OR_RETURN(const Graph* graph, GraphAt(graph_, call.notes->within));
      TCC_ASSIGN_OR_RETURN(call.reads, OperandsOf(call.notes->reads, *graph));
      TCC_ASSIGN_OR_RETURN(call.writes, OperandsOf(call.notes->writes, *graph));
      call_of_[planned[i]] = i;
      calls_.push_back(std::move(call));
    }
    return OkStatus();
  }

  // Interprets the model and keeps its values.
  Status RunReference(const std::vector<Tensor>& inputs) {
    InterpretGraphOptions how = ReferenceOptions();
    how.observe = [&](const Graph& graph, ValueId id, Tensor& tensor) {
      expected_[{&graph, id}] = tensor;
    };
    how.progress = [&](int64_t done, int64_t total) {
      if (options_.progress) options_.progress("reference", done, total);
    };
    return InterpretGraph(graph_, inputs, how).status();
  }

  // Runs the artefact and compares what each call leaves.
  Status RunArtefact(const std::vector<Tensor>& inputs) {
    Executor executor(module_);
    Status status;
    executor.set_call_hook([&](const EndedCall& ended) {
      const size_t i = call_of_.at(&ended.call);
      auto fetch = [&](size_t operand) -> StatusOr<std::vector<uint8_t>> {
        std::vector<uint8_t> memory(static_cast<size_t>(ended.arguments.bytes[operand]));
        TCC_RETURN_IF_ERROR(executor.Fetch(ended, operand, memory));
        return memory;
      };
      StatusOr<std::optional<CheckedCall>> checked = CompareWrites(i, fetch);
      status.Update(checked.status());
      if (checked.ok() && *checked) checked_[i] = **std::move(checked);
    });
    TCC_RETURN_IF_ERROR(executor.Run(inputs).status());
    return status;
  }

  // Runs each kernel whose result differs on the interpreter's operands.
  Status RunAlone(const std::vector<Tensor>& inputs) {
    TCC_RETURN_IF_ERROR(FindOwnErrors());
    bool differs = std::ranges::any_of(checked_, [](const auto& c) { return c.second.differs(); });
    if (!differs) return OkStatus();
    TCC_RETURN_IF_ERROR(MeasureRoundings(inputs));
    return FindOwnErrors();
  }

  std::vector<CheckedCall> Result() const {
    std::vector<CheckedCall> result;
    for (const auto& [call, checked] : checked_) result.push_back(checked);
    return result;
  }

 private:
  using Fetch = std::function<StatusOr<std::vector<uint8_t>>(size_t operand)>;

  InterpretGraphOptions ReferenceOptions() const {
    InterpretGraphOptions how;
    how.threads = options_.threads;
    how.numeric = options_.numeric;
    StatusOr<Target> target = FindTarget(module_.artefact().target);
    how.fusion = target.ok() ? FusionFor(*target) : Fusion::kFused;
    how.rounds_attention = target.ok() && HasMmaForAttention(*target);
    return how;
  }

  StatusOr<std::vector<Operand>> OperandsOf(const std::vector<OperandNotes>& notes,
                                            const Graph& graph) {
    std::unordered_map<std::string, ValueId>& ids = ids_[&graph];
    if (ids.empty()) {
      for (size_t id = 0; id < graph.values.size(); ++id) {
        ids.emplace(graph.values[id].name, static_cast<ValueId>(id));
      }
    }
    std::vector<Operand> operands;
    for (const OperandNotes& operand : notes) {
      auto id = ids.find(operand.value);
      if (id == ids.end()) return InvalidInput("notes: the model has no value '{}'", operand.value);
      operands.push_back({&operand, {&graph, id->second}});
    }
    return operands;
  }

  // Returns the interpreter's value as it is stored; nullopt where it has computed none.
  StatusOr<std::optional<Tensor>> Expected(const Operand& operand) const {
    auto found = expected_.find(operand.value);
    if (found == expected_.end()) return std::nullopt;
    TCC_ASSIGN_OR_RETURN(int64_t count, ElementCount(operand.notes->shape));
    if (count != ElementCount(found->second.shape).value_or(-1)) {
      return InvalidInput("notes: '{}' is stored as {}; expected the elements of {}",
                          operand.notes->value, ShapeToString(operand.notes->shape),
                          ToString(found->second));
    }
    Tensor value = ReshapedTensor(found->second, operand.notes->shape);
    if (!operand.notes->type) return value;
    Tensor stored = MakeZeroTensor(*operand.notes->type, value.shape);
    for (int64_t i = 0; i < count; ++i) SetElement(stored, i, ElementAsDouble(value, i));
    return stored;
  }

  // The place of an operand's elements in the memory of its buffer.
  static StatusOr<StridedArgument> In(std::span<uint8_t> memory, const Operand& operand,
                                      const Tensor& like) {
    return ArgumentOver({like.dtype, like.shape, operand.notes->strides, memory},
                        fmt::format("notes: '{}'", operand.notes->value));
  }

  Tolerance ToleranceFor(const GraphValue& value, const Tensor& expected, int64_t count) const {
    Tolerance tolerance = options_.tolerance;
    if (expected.dtype.is_float()) {
      tolerance.atol *= std::max(1.0, RootMeanSquare(expected, count));
      tolerance.rtol += StepOf(expected.dtype);
    } else if (IsQuantized(value)) {
      tolerance.atol += 1;  // between two steps either is right
    }
    return tolerance;
  }

  // Compares the outputs of a call; nullopt where the interpreter has computed none of them.
  StatusOr<std::optional<CheckedCall>> CompareWrites(size_t i, const Fetch& fetch) const {
    const Call& call = calls_[i];
    std::optional<CheckedCall> worst;
    for (const Operand& operand : call.writes) {
      TCC_ASSIGN_OR_RETURN(std::optional<Tensor> expected, Expected(operand));
      if (!expected) continue;
      TCC_ASSIGN_OR_RETURN(std::vector<uint8_t> memory, fetch(operand.notes->operand));
      TCC_ASSIGN_OR_RETURN(StridedArgument place, In(memory, operand, *expected));
      TCC_ASSIGN_OR_RETURN(int64_t count, ElementCount(expected->shape));
      auto spread = spreads_.find(operand.value);
      Comparison compared =
          Compare(TensorOf(place), *expected, ToleranceFor(operand.value, *expected, count),
                  spread == spreads_.end() ? Allowance() : spread->second.ToAllowance());
      if (worst && worst->total.max_error_in_tolerances >= compared.max_error_in_tolerances) {
        continue;
      }
      worst = CheckedCall{.call = i,
                          .kernel = call.planned->kernel,
                          .value = operand.notes->value,
                          .shape = expected->shape,
                          .total = compared};
    }
    return worst;
  }

  Status FindOwnErrors() {
    int64_t done = 0;
    for (auto& [i, checked] : checked_) {
      if (options_.progress) options_.progress("kernels", ++done, std::ssize(checked_));
      if (checked.total.different == 0 || (checked.own && checked.own->different == 0)) continue;
      TCC_ASSIGN_OR_RETURN(std::vector<Tensor> memory, MemoryOf(calls_[i]));
      TCC_RETURN_IF_ERROR(RunCall(calls_[i], memory));
      auto fetch = [&](size_t operand) -> StatusOr<std::vector<uint8_t>> {
        return std::vector<uint8_t>(memory[operand].bytes.begin(), memory[operand].bytes.end());
      };
      TCC_ASSIGN_OR_RETURN(std::optional<CheckedCall> own, CompareWrites(i, fetch));
      if (own) checked.own = own->total;
    }
    return OkStatus();
  }

  // Returns the place of a buffer among the weights, unless it moves with a loop's counter.
  std::optional<int64_t> PlaceAmongWeights(const PlanBuffer& buffer) const {
    return buffer.kind == BufferKind::kWeight ? buffer.offset.AsConstant() : std::nullopt;
  }

  // Returns memory for the operands of a call, without its weights, with the interpreter's values.
  StatusOr<std::vector<Tensor>> MemoryOf(const Call& call) const {
    std::vector<Tensor> memory;
    for (BufferId id : call.planned->buffers) {
      const PlanBuffer& buffer = plan_.buffers[id];
      std::optional<int64_t> bytes = buffer.bytes.AsConstant();
      if (!bytes) return Unsupported("buffer {} has no constant size", id);
      if (PlaceAmongWeights(buffer)) bytes = 0;
      TCC_ASSIGN_OR_RETURN(Tensor zeros, AllocateTensor(DTypeCode::kUInt8, {*bytes}, "an operand"));
      std::ranges::fill(MutableBytes(zeros), uint8_t{0});
      memory.push_back(std::move(zeros));
    }
    auto fill = [&](const Operand& operand) -> Status {
      TCC_ASSIGN_OR_RETURN(std::optional<Tensor> expected, Expected(operand));
      const size_t at = operand.notes->operand;
      if (!expected || PlaceAmongWeights(plan_.buffers[call.planned->buffers[at]])) {
        return OkStatus();
      }
      TCC_ASSIGN_OR_RETURN(StridedArgument place, In(MutableBytes(memory[at]), operand, *expected));
      StoreBack(*expected, place);
      return OkStatus();
    };
    for (const Operand& operand : call.reads) TCC_RETURN_IF_ERROR(fill(operand));
    if (call.notes->writes_all) return memory;
    for (const Operand& operand : call.writes) TCC_RETURN_IF_ERROR(fill(operand));
    return memory;
  }

  Status RunCall(const Call& call, std::vector<Tensor>& memory) {
    std::vector<LoneKernels::Operand> operands;
    for (size_t i = 0; i < memory.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[call.planned->buffers[i]];
      std::optional<int64_t> place = PlaceAmongWeights(buffer);
      if (place) {
        operands.push_back({*place, buffer.bytes.AsConstant().value_or(0)});
      } else {
        operands.push_back({.memory = MutableBytes(memory[i])});
      }
    }
    return Annotate(kernels_.Run(call.planned->kernel, operands),
                    module_.metadata().kernels[call.planned->kernel].name);
  }

  // Interprets with random roundings, each kernel on the values of the run without, moved by their
  // last bits: the spread of a value is what roundings inside its own kernel may make of it.
  Status MeasureRoundings(const std::vector<Tensor>& inputs) {
    for (const auto& [i, checked] : checked_) {
      if (!checked.differs()) continue;
      for (const Operand& operand : calls_[i].writes) {
        auto expected = expected_.find(operand.value);
        if (expected != expected_.end()) {
          spreads_.emplace(operand.value, RoundingSpread(expected->second));
        }
      }
    }
    InterpretGraphOptions how = ReferenceOptions();
    Random random(0);
    how.observe = [&](const Graph& graph, ValueId id, Tensor& tensor) {
      const GraphValue value{&graph, id};
      if (auto spread = spreads_.find(value); spread != spreads_.end()) spread->second.Add(tensor);
      if (auto expected = expected_.find(value); expected != expected_.end()) {
        tensor = Moved(expected->second, random);
      }
    };
    for (int run = 0; run < kRoundingRuns; ++run) {
      random = Random(static_cast<uint64_t>(run));
      if (options_.progress) options_.progress("roundings", run, kRoundingRuns);
      how.rounding_seed = run;
      TCC_RETURN_IF_ERROR(InterpretGraph(graph_, inputs, how).status());
    }
    return OkStatus();
  }

  const Module& module_;
  const Plan& plan_;
  const Graph& graph_;
  const LayerOptions& options_;
  LoneKernels kernels_{module_};
  std::vector<Call> calls_;
  std::map<const PlanCall*, size_t> call_of_;  // looked up, never iterated
  std::map<const Graph*, std::unordered_map<std::string, ValueId>> ids_;
  std::map<GraphValue, Tensor> expected_;  // looked up, never iterated
  std::map<GraphValue, RoundingSpread> spreads_;
  std::map<size_t, CheckedCall> checked_;
};

// Returns which of the listed sizes the inputs have; 0 where none are listed.
StatusOr<size_t> NumberOfSize(const Metadata& metadata, const std::vector<Tensor>& inputs) {
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> size, BindInputs(metadata, inputs));
  if (metadata.sizes.empty()) return 0;
  return static_cast<size_t>(std::ranges::find(metadata.sizes, size) - metadata.sizes.begin());
}

}  // namespace

StatusOr<std::vector<CheckedCall>> CheckLayers(const Module& module, const Graph& graph,
                                               const Notes& notes,
                                               const std::vector<Tensor>& inputs,
                                               const LayerOptions& options) {
  const Metadata& metadata = module.metadata();
  TCC_ASSIGN_OR_RETURN(size_t size, NumberOfSize(metadata, inputs));
  if (size > notes.others.size()) return InvalidInput("notes: they lack size {}", size);
  TCC_RETURN_IF_ERROR(CheckModel(notes.AtSize(size).after, DescribeOptimized(graph),
                                 PropertyOf(metadata, "compiler")));
  LayerChecker checker(module, graph, options);
  TCC_RETURN_IF_ERROR(checker.Resolve(notes, size));
  TCC_RETURN_IF_ERROR(checker.RunReference(inputs));
  TCC_RETURN_IF_ERROR(checker.RunArtefact(inputs));
  TCC_RETURN_IF_ERROR(checker.RunAlone(inputs));
  return checker.Result();
}

}  // namespace tcc
