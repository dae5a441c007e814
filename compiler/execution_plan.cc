#include "compiler/execution_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/plan_buffers.h"
#include "compiler/plan_sizes.h"
#include "compiler/shape_checks.h"
#include "graph/ops/node_lowering.h"
#include "graph/passes/control_flow.h"
#include "ir/expr/evaluate.h"
#include "ir/graph/constants.h"
#include "ir/graph/graph_bodies.h"
#include "ir/simplify/simplify.h"
#include "runtime/executor/available_memory.h"
#include "support/check.h"

namespace tcc {
namespace {

// The buffers of a graph's or body's values while its instructions are made. A captured value is in
// its buffer of the enclosing graph.
struct Scope {
  Scope(const Graph& of_graph, const std::vector<Subgraph>& of_subgraphs,
        const ValueStorage& of_storage = {}, std::vector<BodyPlace> is_within = {})
      : graph(of_graph),
        subgraphs(of_subgraphs),
        storage(of_storage),
        within(std::move(is_within)),
        root(of_graph.values.size()) {
    for (size_t v = 0; v < root.size(); ++v) root[v] = static_cast<ValueId>(v);
    for (const Subgraph& subgraph : subgraphs) {
      const Node& node = graph.nodes[subgraph.nodes[0]];
      switch (subgraph.kind) {
        case SubgraphKind::kView:
          root[subgraph.outputs[0]] = root[node.inputs[0]];
          break;
        case SubgraphKind::kKernel:
        case SubgraphKind::kIf:
        case SubgraphKind::kPart:
          for (ValueId id : subgraph.outputs) {
            if (!storage.parts.contains(id)) written.insert(id);
          }
          break;
        case SubgraphKind::kLoop:
          for (size_t i = PartsOf(node).carried; i < node.outputs.size(); ++i) {
            stacked.insert(node.outputs[i]);
          }
          break;
      }
    }
  }

  const Graph& graph;
  const std::vector<Subgraph>& subgraphs;
  const ValueStorage storage;
  const std::vector<BodyPlace> within;
  std::vector<ValueId> root;  // by value: the value whose bytes it aliases
  // The values that can be written directly to a given buffer: as a whole, or slice by slice.
  std::set<ValueId> written, stacked;
  std::map<ValueId, BufferId> buffers;  // by root
};

// Returns a body's place, from the graph of the model on.
std::vector<BodyPlace> PlaceOfBody(const Scope& around, const Subgraph& owner, size_t body) {
  std::vector<BodyPlace> place = around.within;
  place.push_back({static_cast<size_t>(owner.nodes[0]), body});
  return place;
}

// Returns whether the kernel writes all of its outputs. A Concat's operands may be in their places.
bool WritesAll(const Subgraph& subgraph) {
  return std::ranges::none_of(subgraph.inputs,
                              [&](ValueId id) { return subgraph.done_elsewhere.contains(id); });
}

// A builder that assigns a graph's values to the buffers of a plan. One arena serves all bodies: a
// buffer is live from the first instruction that touches it to the last, counted through all bodies
// in order. A buffer that is older than a loop and used in it lives to the loop's end.
class PlanBuilder {
 public:
  PlanBuilder(const KernelSet& kernels, int64_t alignment, const FreeDims& dims)
      : kernels_(kernels), alignment_(alignment), sizes_(result_.plan, dims.codes) {}

  StatusOr<ExecutionPlan> Build(std::span<const FusedGraph> graphs, const ListedSizes& listed,
                                const FreeDims& dims) {
    Plan& plan = result_.plan;
    const bool has_general = graphs.size() > listed.sizes.size();
    plan.shape_variables =
        static_cast<uint32_t>(has_general ? dims.vars.size() : listed.dims.size());
    if (listed.sizes.empty()) {
      TCC_RETURN_IF_ERROR(AddGraph(graphs[0]));
    } else {
      number_ = sizes_.Let(NumberOfSize(CodesOfListedDims(graphs, listed, dims), listed.sizes,
                                        has_general ? OtherSizes::kFirst : OtherSizes::kNone));
      TCC_RETURN_IF_ERROR(AddSwitch(graphs));
    }
    TCC_RETURN_IF_ERROR(CheckMemoryFor(buffers_.weight_bytes(), "the weights"));
    PlanBuffers::Placed placed = std::move(buffers_).Place();
    plan.buffers = std::move(placed.buffers);
    plan.arena_bytes = SelectByNumber(number_, placed.arena_bytes);
    result_.weights = placed.weights;
    result_.prepared = std::move(placed.prepared);
    result_.activation_bytes = placed.activation_bytes;
    for (const std::vector<PlanBuffers::Lifetime>& lifetimes : placed.lifetimes) {
      std::vector<ArenaValue>& arena = result_.arena.emplace_back();
      for (const PlanBuffers::Lifetime& value : lifetimes) {
        arena.push_back({names_.at(value.buffer), value.offset, value.live.bytes, value.live.first,
                         value.live.last});
      }
    }
    return std::move(result_);
  }

 private:
  // The destination of a graph's or body's result; kCopied: kernels cannot write there.
  enum class Writing : uint8_t { kInPlace, kCopied };
  struct Result {
    ValueId value;
    BufferId buffer;
    Writing writing = Writing::kInPlace;
  };

  // Adds a switch by the number of the graph, whose bodies run the graphs.
  Status AddSwitch(std::span<const FusedGraph> graphs) {
    PlanSwitch choice{.which = number_, .bodies = {}};
    std::vector<Instruction>* around = body_;
    for (const FusedGraph& fused : graphs) {
      if (!choice.bodies.empty()) buffers_.BeginBody();
      graph_ = choice.bodies.size();
      body_ = &choice.bodies.emplace_back();
      TCC_RETURN_IF_ERROR(AddGraph(fused));
    }
    body_ = around;
    Emit({std::move(choice)});
    return OkStatus();
  }

  Status AddGraph(const FusedGraph& fused) {
    const Graph& graph = fused.graph;
    for (const ShapeCheck& check : ShapeChecksOf(graph)) {
      TCC_RETURN_IF_ERROR(AddCheck(check.holds, check.message));
    }
    Scope scope(graph, fused.subgraphs, fused.storage);
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      TCC_ASSIGN_OR_RETURN(Expr bytes, BytesOf(graph, graph.inputs[i]));
      scope.buffers[graph.inputs[i]] = buffers_.Add(BufferKind::kInput, i, bytes);
    }
    std::vector<Result> results;
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      TCC_ASSIGN_OR_RETURN(Expr bytes, BytesOf(graph, graph.outputs[i]));
      results.push_back({graph.outputs[i], buffers_.Add(BufferKind::kOutput, i, bytes)});
    }
    return RunScope(scope, results);
  }

  // Adds a check for the graph at hand.
  Status AddCheck(const Expr& holds, const std::string& message) {
    if (!sizes_.Has(holds)) return Unsupported("a run cannot check this: {}", message);
    SizeExpr code = sizes_.Of(holds);
    if (!number_.AsConstant()) {
      SizeExpr is_graph = Combine(SizeOp::kEqual, number_, static_cast<int64_t>(graph_));
      code = SelectSize(is_graph, code, 1);
    }
    auto same = [&](const PlanCheck& check) { return check.holds == code; };
    if (std::ranges::none_of(result_.plan.checks, same)) {
      result_.plan.checks.push_back({std::move(code), message});
    }
    return OkStatus();
  }

  // Returns the bytes of elements of a shape, as a formula.
  StatusOr<Expr> BytesOf(const Value& value, DType type, const std::vector<Expr>& shape) const {
    if (std::optional<std::vector<int64_t>> known = AsNumbers(shape)) {
      TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(type, *known));
      return Expr(bytes);
    }
    const int64_t bits = type.bits();
    Expr elements = Product(shape);
    Expr bytes =
        Simplify(bits % 8 == 0 ? elements * Expr(bits / 8) : CeilDivide(elements * Expr(bits), 8));
    if (sizes_.Has(bytes) && AtUsual(bytes)) return bytes;
    return Unsupported(
        "value '{}' is of shape {}, whose size is no formula over the inputs' dimensions; bind "
        "them",
        value.name, ShapeText(shape));
  }

  StatusOr<Expr> BytesOf(const Graph& graph, ValueId id, const StoredTypes& types = {}) const {
    const Value& value = graph.value(id);
    return BytesOf(value, StorageType(graph, types, id), value.shape);
  }

  void Emit(Instruction instruction) {
    body_->push_back(std::move(instruction));
    buffers_.Advance();
  }

  BufferId AddArena(const std::string& value, const Expr& bytes) {
    BufferId buffer = buffers_.Add(BufferKind::kArena, 0, bytes);
    names_[buffer] = value;
    return buffer;
  }

  void EmitCopy(BufferId from, BufferId to) {
    if (from == to) return;
    buffers_.Touch(from);
    buffers_.Touch(to);
    Emit({PlanCopy{from, to}});
  }

  // Returns the buffer of a value that is read.
  BufferId Use(Scope& scope, ValueId value) {
    ValueId id = scope.root[value];
    if (auto part = scope.storage.parts.find(id); part != scope.storage.parts.end()) {
      BufferId whole = Use(scope, part->second.whole);
      return buffers_.AddPart(whole, part->second.offset, part->second.bytes);
    }
    auto found = scope.buffers.find(id);
    if (found == scope.buffers.end()) {
      const Tensor* constant = scope.graph.ConstantOf(id);
      TCC_CHECK(constant != nullptr) << "'" << scope.graph.value(id).name << "' is nowhere";
      found = scope.buffers.emplace(id, buffers_.AddWeight(*constant)).first;
    }
    buffers_.Touch(found->second);
    return found->second;
  }

  // Returns the buffer of a value that is written.
  StatusOr<BufferId> Place(Scope& scope, ValueId id) {
    if (auto part = scope.storage.parts.find(id); part != scope.storage.parts.end()) {
      TCC_ASSIGN_OR_RETURN(BufferId whole, Place(scope, part->second.whole));
      return buffers_.AddPart(whole, part->second.offset, part->second.bytes);
    }
    auto found = scope.buffers.find(id);
    if (found == scope.buffers.end()) {
      TCC_ASSIGN_OR_RETURN(Expr bytes, BytesOf(scope.graph, id, scope.storage.types));
      found = scope.buffers.emplace(id, AddArena(scope.graph.value(id).name, bytes)).first;
    }
    buffers_.Touch(found->second);
    return found->second;
  }

  // Emits the instructions of a graph or body whose inputs are placed, and the copies of its
  // results to their destinations. A result is written there directly if it is computed here and is
  // not an earlier result as well.
  Status RunScope(Scope& scope, const std::vector<Result>& results) {
    std::vector<Result> copied;
    for (const Result& result : results) {
      ValueId id = scope.root[result.value];
      bool in_place = scope.written.contains(id) ||
                      (scope.stacked.contains(id) && !buffers_.IsSwapped(result.buffer));
      in_place = in_place && result.writing == Writing::kInPlace;
      if (!in_place || !scope.buffers.emplace(id, result.buffer).second) {
        copied.push_back(result);
      }
    }
    for (const Subgraph& subgraph : scope.subgraphs) {
      switch (subgraph.kind) {
        case SubgraphKind::kView:
        case SubgraphKind::kPart:
          break;
        case SubgraphKind::kKernel:
          TCC_RETURN_IF_ERROR(AddCall(scope, subgraph));
          break;
        case SubgraphKind::kIf:
          TCC_RETURN_IF_ERROR(AddIf(scope, subgraph));
          break;
        case SubgraphKind::kLoop:
          TCC_RETURN_IF_ERROR(LoopBuilder(*this, scope, subgraph).Build());
          break;
      }
    }
    for (const Result& result : copied) EmitCopy(Use(scope, result.value), result.buffer);
    return OkStatus();
  }

  // Adds the call of a task. Where sizes may be 0 that is a switch between its zero cases.
  Status AddCall(Scope& scope, const Subgraph& subgraph) {
    const size_t number = next_task_++;
    const Task& task = kernels_.tasks[number];
    PlannedCall planned{.task = number,
                        .graph = graph_,
                        .step = buffers_.now(),
                        .within = scope.within,
                        .writes_all = WritesAll(subgraph)};
    planned.kernel = static_cast<uint32_t>(kernels_.kernel_of_task[number]);
    TCC_ASSIGN_OR_RETURN(PlanCall call, CallOf(scope, task, planned));
    if (task.zero_cases.empty()) {
      Emit({std::move(call)});
      return OkStatus();
    }
    PlanSwitch cases{.which = sizes_.Of(NumberOfZeroCase(task)), .bodies = {{{std::move(call)}}}};
    for (size_t i = 0; i < task.zero_cases.size(); ++i) {
      std::vector<Instruction>& body = cases.bodies.emplace_back();
      std::optional<size_t> kernel = kernels_.kernels_of_zero_cases[number][i];
      if (!kernel) continue;
      planned.kernel = static_cast<uint32_t>(*kernel);
      TCC_ASSIGN_OR_RETURN(PlanCall rest, CallOf(scope, task.zero_cases[i], planned));
      body.push_back({std::move(rest)});
    }
    Emit({std::move(cases)});
    return OkStatus();
  }

  // Returns a formula for the place of a task's case among its zero cases, from 1; 0: no size is 0.
  static Expr NumberOfZeroCase(const Task& task) {
    Expr number = 0;
    for (size_t bit = 0; bit < task.may_be_zero.size(); ++bit) {
      const Expr& size = task.shape_arguments[task.may_be_zero[bit]];
      number = number + SelectOf(Make<Eq>(size, Expr(0)), int64_t{1} << bit, 0);
    }
    return number;
  }

  static bool HasZeroCase(const Task& task, const Expr& size) {
    return std::ranges::any_of(task.may_be_zero,
                               [&](size_t i) { return task.shape_arguments[i].same_as(size); });
  }

  // Returns the call of a task, or of a zero case, and notes it.
  StatusOr<PlanCall> CallOf(Scope& scope, const Task& task, const PlannedCall& planned) {
    PlanCall call;
    call.kernel = planned.kernel;
    const KernelStages& kernel = kernels_.kernels[call.kernel];
    for (const KernelOperand& operand : kernel.operands) {
      TCC_ASSIGN_OR_RETURN(BufferId buffer, BufferOf(scope, task, kernel, operand));
      call.buffers.push_back(buffer);
    }
    const std::vector<Var>& vars = kernel.variants[kernel.schedule.variant].vars;
    TCC_CHECK(task.shape_arguments.size() == vars.size()) << kernel.symbol;
    for (size_t i = 0; i < vars.size(); ++i) {
      const Expr& size = task.shape_arguments[i];
      if (!sizes_.Has(size)) {
        return Unsupported("'{}': size {} is no formula over the inputs' dimensions; bind them",
                           task.name, ShapeText({size}));
      }
      call.shape_args.push_back(sizes_.Of(size));
      if (HasZeroCase(kernels_.tasks[planned.task], size) || BoundsOf(size, {}).low >= vars[i]->low)
        continue;
      TCC_RETURN_IF_ERROR(AddCheck(Expr(vars[i]->low) <= size,
                                   fmt::format("'{}' has the size {}, which has to be at least {}",
                                               task.name, ShapeText({size}), vars[i]->low)));
    }
    result_.calls.push_back(planned);
    return call;
  }

  StatusOr<BufferId> BufferOf(Scope& scope, const Task& task, const KernelStages& kernel,
                              const KernelOperand& operand) {
    switch (operand.kind) {
      case KernelOperand::Kind::kParameter: {
        size_t inputs = task.inputs.size();
        if (operand.index < inputs) return Use(scope, task.inputs[operand.index]);
        return Place(scope, task.outputs[operand.index - inputs]);
      }
      case KernelOperand::Kind::kPrepared:
        break;
    }
    const PrepareStages& prepare = kernel.prepare[operand.index];
    PreparedWeight weight{prepare.key, {}, prepare.bytes, {}};
    for (size_t i : prepare.constants) {
      weight.constants.push_back(*scope.graph.ConstantOf(task.inputs[i]));
    }
    return buffers_.AddPrepared(weight);
  }

  // Returns a body's instructions, after the copies in `first`; its results go to the buffers of
  // `results`.
  StatusOr<std::vector<Instruction>> RunBody(Scope& body, const std::vector<Result>& results,
                                             const std::vector<PlanCopy>& first = {}) {
    std::vector<Instruction> instructions;
    std::vector<Instruction>* around = std::exchange(body_, &instructions);
    buffers_.Advance();
    for (const PlanCopy& copy : first) EmitCopy(copy.from, copy.to);
    Status status = RunScope(body, results);
    body_ = around;
    if (!status.ok()) return status;
    return instructions;
  }

  Status AddIf(Scope& scope, const Subgraph& subgraph) {
    const Node& node = scope.graph.nodes[subgraph.nodes[0]];
    PlanIf branch;
    branch.condition = Use(scope, node.inputs[0]);
    std::vector<std::optional<BufferId>> places;
    for (ValueId id : node.outputs) {
      places.emplace_back();
      if (id == kNoValue) continue;
      TCC_ASSIGN_OR_RETURN(places.back(), Place(scope, id));
    }
    for (size_t b = 0; b < node.bodies.size(); ++b) {
      Scope body(node.bodies[b], subgraph.bodies[b], {}, PlaceOfBody(scope, subgraph, b));
      for (size_t i = 1; i < node.inputs.size(); ++i) {
        body.buffers[body.graph.inputs[i - 1]] = Use(scope, node.inputs[i]);
      }
      std::vector<Result> results;
      for (size_t i = 0; i < places.size(); ++i) {
        if (places[i]) results.push_back({body.graph.outputs[i], *places[i]});
      }
      TCC_ASSIGN_OR_RETURN((b == 0 ? branch.then_body : branch.else_body), RunBody(body, results));
    }
    Emit({std::move(branch)});
    return OkStatus();
  }

  // The builder of one Loop. A carried value has two buffers that are swapped after each iteration:
  // the body reads one and writes the other, and after the loop the first holds the result.
  class LoopBuilder {
   public:
    LoopBuilder(PlanBuilder& plan, Scope& scope, const Subgraph& subgraph)
        : plan_(plan),
          scope_(scope),
          node_(scope.graph.nodes[subgraph.nodes[0]]),
          parts_(PartsOf(node_)),
          body_(node_.bodies[0], subgraph.bodies[0], {}, PlaceOfBody(scope, subgraph, 0)) {}

    Status Build() {
      TCC_RETURN_IF_ERROR(PlaceTripCount());
      TCC_RETURN_IF_ERROR(PlaceCarried());
      PlaceCondition();
      loop_.counter = plan_.depth_;
      uint32_t& counters = plan_.result_.plan.counters;
      counters = std::max(counters, loop_.counter + 1);
      ++plan_.depth_;
      TCC_RETURN_IF_ERROR(PlaceScans());
      for (size_t i = parts_.first_captured(); i < node_.inputs.size(); ++i) {
        body_.buffers[body_.graph.inputs[i]] = plan_.Use(scope_, node_.inputs[i]);
      }
      plan_.buffers_.Advance();
      int64_t begin = plan_.buffers_.now();
      TouchOwn();
      TCC_ASSIGN_OR_RETURN(loop_.body, plan_.RunBody(body_, results_, copied_slices_));
      plan_.Emit({std::move(loop_)});
      --plan_.depth_;
      plan_.buffers_.KeepThroughLoop(begin);
      return OkStatus();
    }

   private:
    const Value& Operand(size_t i) const { return scope_.graph.value(node_.inputs[i]); }

    Status PlaceTripCount() {
      for (size_t i = 0; i < parts_.scan_inputs; ++i) {
        const Value& value = Operand(parts_.first_scan_input() + i);
        TCC_RETURN_IF_ERROR(plan_.BytesOf(value, value.dtype, value.shape).status());
        extent_ = i == 0 ? value.shape[0] : MinOf(extent_, value.shape[0]);
      }
      if (std::optional<Expr> trips = TripCount(scope_.graph, node_)) {
        extent_ = *trips;
      } else if (node_.inputs[0] != kNoValue) {
        loop_.trip_count = plan_.Use(scope_, node_.inputs[0]);
      }
      extent_ = Simplify(extent_);
      if (!plan_.sizes_.Has(extent_)) {
        return Unsupported(
            "node '{}' (Loop) runs {} times, which is no formula over the inputs' "
            "dimensions; bind them",
            node_.name, ShapeText({extent_}));
      }
      loop_.extent = plan_.sizes_.Of(extent_);
      return OkStatus();
    }

    Status PlaceCarried() {
      for (size_t k = 0; k < parts_.carried; ++k) {
        TCC_ASSIGN_OR_RETURN(Expr bytes, plan_.BytesOf(scope_.graph, node_.inputs[2 + k]));
        const std::string& name = body_.graph.value(body_.graph.inputs[2 + k]).name;
        BufferId current = plan_.AddArena(name, bytes);
        BufferId next = plan_.AddArena(name, bytes);
        loop_.swaps.emplace_back(current, next);
        plan_.buffers_.Pair(current, next);
        plan_.EmitCopy(plan_.Use(scope_, node_.inputs[2 + k]), current);
        body_.buffers[body_.graph.inputs[2 + k]] = current;
        results_.push_back({body_.graph.outputs[1 + k], next});
        // The operand may be needed again, so the result has its own buffer.
        if (node_.outputs[k] != kNoValue) scope_.buffers[node_.outputs[k]] = current;
      }
      return OkStatus();
    }

    // Places the condition. It is read before each iteration, so it is written before the first.
    void PlaceCondition() {
      ValueId after = body_.graph.outputs[0];
      const Tensor* known = body_.graph.ConstantOf(after);
      bool stays = known != nullptr && known->bytes[0] != 0;
      if (stays && node_.inputs[1] == kNoValue) return;
      loop_.condition = plan_.AddArena(body_.graph.value(after).name, 1);
      BufferId before;
      if (node_.inputs[1] != kNoValue) {
        before = plan_.Use(scope_, node_.inputs[1]);
      } else {
        before = plan_.buffers_.AddWeight(ScalarTensor(kBool, 1));
      }
      plan_.EmitCopy(before, *loop_.condition);
      if (!stays) results_.push_back({after, *loop_.condition});
    }

    Status PlaceScans() {
      for (size_t i = 0; i < parts_.scan_inputs; ++i) {
        size_t at = parts_.first_scan_input() + i;
        BufferId whole = plan_.Use(scope_, node_.inputs[at]);
        // A slice has a fixed place, which does not follow a swap.
        if (plan_.buffers_.IsSwapped(whole)) {
          TCC_ASSIGN_OR_RETURN(Expr bytes, plan_.BytesOf(scope_.graph, node_.inputs[at]));
          BufferId fixed = plan_.AddArena(Operand(at).name, bytes);
          plan_.EmitCopy(whole, fixed);
          whole = fixed;
        }
        TCC_ASSIGN_OR_RETURN(Expr bytes, SliceBytes(Operand(at)));
        BufferId slice = plan_.buffers_.AddSlice(
            whole, loop_.counter, bytes, Last("scan_input_directions", i, Operand(at).shape[0]));
        BufferId& operand = body_.buffers[body_.graph.inputs[at]];
        operand = slice;
        if (WritingTo(bytes) == Writing::kInPlace) continue;
        operand = plan_.AddArena(body_.graph.value(body_.graph.inputs[at]).name, bytes);
        copied_slices_.push_back({slice, operand});
      }
      for (size_t i = 0; i < parts_.scan_outputs; ++i) {
        ValueId output = node_.outputs[parts_.carried + i];
        if (output == kNoValue) continue;
        TCC_ASSIGN_OR_RETURN(BufferId whole, plan_.Place(scope_, output));
        TCC_ASSIGN_OR_RETURN(Expr bytes, SliceBytes(scope_.graph.value(output)));
        BufferId slice = plan_.buffers_.AddSlice(whole, loop_.counter, bytes,
                                                 Last("scan_output_directions", i, extent_));
        results_.push_back({body_.graph.outputs[1 + parts_.carried + i], slice, WritingTo(bytes)});
      }
      return OkStatus();
    }

    // Returns whether kernels can write slices of these bytes in place: small ones may be
    // misaligned.
    Writing WritingTo(const Expr& bytes) const {
      Expr beyond = Simplify(FloorModulo(bytes, plan_.alignment_));
      return IsConstant(beyond, 0) ? Writing::kInPlace : Writing::kCopied;
    }

    StatusOr<Expr> SliceBytes(const Value& value) const {
      return plan_.BytesOf(value, value.dtype, {value.shape.begin() + 1, value.shape.end()});
    }

    std::optional<Expr> Last(const char* directions, size_t i, const Expr& extent) const {
      if (RunsBackward(node_, directions, i)) return Simplify(extent - 1);
      return std::nullopt;
    }

    // Touches the buffers that the loop itself reads, before its first iteration and between
    // iterations.
    void TouchOwn() {
      for (const auto& [current, next] : loop_.swaps) {
        plan_.buffers_.Touch(current);
        plan_.buffers_.Touch(next);
      }
      if (loop_.trip_count) plan_.buffers_.Touch(*loop_.trip_count);
      if (loop_.condition) plan_.buffers_.Touch(*loop_.condition);
    }

    PlanBuilder& plan_;
    Scope& scope_;
    const Node& node_;
    LoopParts parts_;
    Scope body_;
    PlanLoop loop_;
    Expr extent_ = INT64_MAX;
    std::vector<Result> results_;
    std::vector<PlanCopy> copied_slices_;  // to the buffers that the body reads
  };

  const KernelSet& kernels_;
  int64_t alignment_;
  ExecutionPlan result_;
  PlanSizes sizes_;
  PlanBuffers buffers_{sizes_};
  std::map<BufferId, std::string> names_;  // of the values in arena buffers
  std::vector<Instruction>* body_ = &result_.plan.body;
  size_t graph_ = 0;     // whose instructions are made
  SizeExpr number_ = 0;  // of the graph that a run takes
  size_t next_task_ = 0;
  uint32_t depth_ = 0;  // enclosing loops
};

}  // namespace

StatusOr<ExecutionPlan> BuildExecutionPlan(std::span<const FusedGraph> graphs,
                                           const ListedSizes& listed, const KernelSet& kernels,
                                           const Target& target) {
  const FreeDims dims = FreeDimsOf(graphs);
  return PlanBuilder(kernels, target.BufferAlignment(), dims).Build(graphs, listed, dims);
}

}  // namespace tcc
