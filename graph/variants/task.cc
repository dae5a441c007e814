#include "graph/variants/task.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "graph/ops/build_loop_nest.h"
#include "graph/ops/op_lowering.h"
#include "graph/passes/to_tensor_exprs.h"
#include "graph/variants/narrow_values.h"
#include "graph/variants/own_shapes.h"
#include "graph/variants/variants.h"
#include "ir/expr/compare.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/operators.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

bool IsArithmetic(const Expr& expr) {
  return expr.dtype().is_float() && (OperatorOf(expr.kind()) || expr.as<Call>());
}

double OperationsIn(const std::vector<Expr>& exprs) {
  double count = 0;
  for (const Expr& expr : exprs) {
    PreOrder(expr, [&](const Expr& node) { count += IsArithmetic(node); });
  }
  return count;
}

double FlopsOf(const ComputeExpr& stage) {
  double points = 1;
  for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const Axis& axis : *axes) {
      points *= static_cast<double>(AtUsual(axis.extent).value_or(0));
    }
  }
  double per_point = OperationsIn(stage.values);
  if (stage.combiner) per_point += OperationsIn(stage.combiner->results);
  return points * per_point;
}

double FlopsOf(const OrderedExpr& stage) {
  double points = 1;
  for (const Axis& axis : stage.axes) {
    points *= static_cast<double>(AtUsual(axis.extent).value_or(0));
  }
  return points * OperationsIn({stage.value});
}

// The extents of a stage's axes; the most elements of a buffer that one access meets. In floating
// point, as their products may fit no integer.
using Extents = std::unordered_map<Var, double, VarHash>;
using Elements = std::unordered_map<Var, double, VarHash>;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double ValueOf(const Expr& extent) {
  std::optional<int64_t> value = AtUsual(extent);
  return value ? static_cast<double>(*value) : kUnknown;
}

// How many values the expressions take together at most: as many as the axes in them have points.
double ValuesOf(std::span<const Expr> exprs, const Extents& extents) {
  Extents axes;
  for (const Expr& expr : exprs) {
    for (const Var& var : VarsOf(expr)) {
      auto axis = extents.find(var);
      if (axis != extents.end()) axes.insert(*axis);
    }
  }
  double values = 1;
  for (const auto& [var, extent] : axes) values *= extent;
  return values;
}

// The elements of inputs and outputs that the stages of a program access.
class AccessedElements {
 public:
  explicit AccessedElements(const TensorProgram& program) {
    for (const auto* buffers : {&program.inputs, &program.outputs}) {
      for (const Buffer& buffer : *buffers) buffers_.emplace(buffer.var, &buffer);
    }
  }

  void AddStage(const TensorExpr& stage) {
    std::visit([&](const auto& expr) { AddStores(expr); }, stage);
    ForEachExpr(stage, [&](const Expr& root) {
      PreOrder(root, [&](const Expr& expr) {
        if (const auto* load = expr.as<Load>()) Add(load->buffer, load->indices);
      });
    });
  }

  // NaN where an extent is not known.
  double Bytes() const {
    double bytes = 0;
    for (const auto& [var, elements] : elements_) bytes += elements * var.dtype().bits() / 8;
    return bytes;
  }

 private:
  void AddStores(const ComputeExpr& stage) {
    extents_.clear();
    for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (const Axis& axis : *axes) extents_[axis.var] = ValueOf(axis.extent);
    }
    for (size_t e = 0; e < stage.outputs.size(); ++e) Add(stage.outputs[e].var, stage.indices[e]);
  }

  void AddStores(const OrderedExpr& stage) {
    extents_.clear();
    for (const Axis& axis : stage.axes) extents_[axis.var] = ValueOf(axis.extent);
    Add(stage.output.var, stage.indices);
  }

  void Add(const Var& var, const std::vector<Expr>& indices) {
    auto buffer = buffers_.find(var);
    if (buffer == buffers_.end()) return;
    double inside = 1;  // by each dimension for itself
    for (size_t d = 0; d < indices.size(); ++d) {
      double values = ValuesOf(std::span(indices).subspan(d, 1), extents_);
      inside *= std::fmin(values, ValueOf(buffer->second->shape[d]));
    }
    double met = std::fmin(inside, ValuesOf(indices, extents_));
    double& most = elements_.emplace(var, 0).first->second;
    if (!std::isnan(most) && !(met <= most)) most = met;
  }

  std::unordered_map<Var, const Buffer*, VarHash> buffers_;
  Extents extents_;  // of the stage at hand
  Elements elements_;
};

// Returns the bytes of the input and output elements that one call reads or writes, each counted
// once: of a table from which a few rows are gathered, only these rows. If several accesses read
// one buffer, only the one with the most elements counts. The result is thus a lower bound for any
// schedule, except where computed indices make different points of one access meet the same
// elements (gathered rows that are equal). Extents are the usual ones.
std::optional<int64_t> MovedBytes(const TensorProgram& program) {
  AccessedElements accesses(program);
  for (const TensorExpr& stage : program.stages) accesses.AddStage(stage);
  double bytes = accesses.Bytes();
  if (!(bytes < 9e18)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

void LayOutParts(const std::vector<ValueId>& ids, const AliasedParts& parts,
                 std::vector<Buffer>& buffers) {
  for (size_t i = 0; i < ids.size(); ++i) {
    auto part = parts.find(ids[i]);
    if (part != parts.end()) buffers[i].layout.strides = part->second.strides;
  }
}

using Buffers = std::unordered_set<Var, VarHash>;

void EraseValues(std::vector<ValueId>& ids, std::vector<Buffer>& buffers,
                 const std::set<ValueId>& values, Buffers& erased) {
  for (size_t i = ids.size(); i > 0; --i) {
    if (!values.contains(ids[i - 1])) continue;
    erased.insert(buffers[i - 1].var);
    ids.erase(ids.begin() + static_cast<int64_t>(i) - 1);
    buffers.erase(buffers.begin() + static_cast<int64_t>(i) - 1);
  }
}

bool Reads(const ComputeExpr& stage, const Buffers& buffers) {
  bool reads = false;
  for (const Expr& value : stage.values) {
    PreOrder(value, [&](const Expr& node) {
      const auto* load = node.as<Load>();
      reads = reads || (load && buffers.contains(load->buffer));
    });
  }
  return reads;
}

// Removes the stages of a Concat, Split or Slice that copy from or to `values`, and the buffers of
// `values`.
void DropStages(LoweredNode& lowered, const std::set<ValueId>& values) {
  if (values.empty()) return;
  Buffers erased;
  EraseValues(lowered.inputs, lowered.program.inputs, values, erased);
  EraseValues(lowered.outputs, lowered.program.outputs, values, erased);
  std::erase_if(lowered.program.stages, [&](const TensorExpr& expr) {
    const auto* stage = std::get_if<ComputeExpr>(&expr);
    return stage &&
           (Reads(*stage, erased) || std::ranges::all_of(stage->outputs, [&](const Buffer& out) {
              return erased.contains(out.var);
            }));
  });
}

// Returns whether some operands may be rounded. A ConvInteger's are whole numbers, of f32 as well.
bool HasRealContraction(const Graph& graph, const Subgraph& subgraph) {
  return std::ranges::any_of(subgraph.nodes, [&](int n) {
    const Node& node = graph.nodes[n];
    return FormOf(node) == OpForm::kContraction && node.op != OpKind::kConvInteger;
  });
}

bool HasNode(const Graph& graph, const Subgraph& subgraph, OpKind op) {
  return std::ranges::any_of(subgraph.nodes, [&](int n) { return graph.nodes[n].op == op; });
}

// Returns whether the operands of an attention may be cut into whole tiles: their sizes are known
// and fit (FitsTiles).
bool FillsTiles(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 3) return false;
  for (size_t i = 0; i < 3; ++i) {
    for (const Expr& extent : graph.value(node.inputs[i]).shape) {
      if (!AsConstant(extent)) return false;
    }
  }
  // Heads are a dimension of their own, or share the last one.
  auto columns = [&](size_t input, const char* heads) {
    const std::vector<Expr>& shape = graph.value(node.inputs[input]).shape;
    const int64_t shared = shape.size() == 3 ? std::max<int64_t>(node.Int(heads, 1), 1) : 1;
    return *AsConstant(shape.back()) / shared;
  };
  const std::vector<Expr>& queries = graph.value(node.inputs[0]).shape;
  return queries.size() >= 3 &&
         FitsTiles(*AsConstant(queries[queries.size() - 2]), columns(0, "q_num_heads"),
                   columns(2, "kv_num_heads"), kFloat32.bytes());
}

// Returns whether the subgraph's products are of f32 under the requested mode.
bool StaysStrict(const Graph& graph, const Subgraph& subgraph, const NumericOptions& requested) {
  const bool rounds_attention = requested.rounds_attention && TypeOfTiles(requested.mode);
  return std::ranges::any_of(subgraph.nodes, [&](int n) {
    const Node& node = graph.nodes[n];
    return node.op == OpKind::kMatMulWords ||
           (node.op == OpKind::kAttention && !(rounds_attention && FillsTiles(graph, node)));
  });
}

// The inputs in the order of `ids`; false where they are not the same.
bool OrderInputs(const std::vector<ValueId>& ids, LoweredNode& lowered) {
  std::vector<Buffer> ordered;
  for (ValueId id : ids) {
    auto found = std::ranges::find(lowered.inputs, id);
    if (found == lowered.inputs.end()) return false;
    ordered.push_back(lowered.program.inputs[found - lowered.inputs.begin()]);
  }
  if (ids.size() != lowered.inputs.size()) return false;
  lowered.program.inputs = std::move(ordered);
  lowered.inputs = ids;
  return std::set<ValueId>(ids.begin(), ids.end()).size() == ids.size();
}

// Lowers the subgraph to a program that accesses values as they are stored and leaves out what is
// done elsewhere. Inputs that are constants of the graph have the scope kConstant.
StatusOr<LoweredNode> LowerSubgraph(const Graph& graph, const Subgraph& subgraph,
                                    const ValueStorage& storage,
                                    AttentionCore core = AttentionCore::kParts) {
  TCC_ASSIGN_OR_RETURN(LoweredNode lowered, ToTensorExprs(graph, subgraph, core));
  DropStages(lowered, subgraph.done_elsewhere);
  AccessAs(storage.types, lowered);
  LayOutParts(lowered.inputs, storage.parts, lowered.program.inputs);
  LayOutParts(lowered.outputs, storage.parts, lowered.program.outputs);
  for (size_t i = 0; i < lowered.inputs.size(); ++i) {
    if (graph.ConstantOf(lowered.inputs[i])) lowered.program.inputs[i].scope = Scope::kConstant;
  }
  return lowered;
}

// Returns the subgraph's program with the cores of its attentions as one reduction each; nullopt
// where one cannot be that.
std::optional<TensorProgram> OnePassAttention(const Graph& graph, const Subgraph& subgraph,
                                              const ValueStorage& storage, const Task& task) {
  if (!HasNode(graph, subgraph, OpKind::kAttention)) return std::nullopt;
  StatusOr<LoweredNode> lowered = LowerSubgraph(graph, subgraph, storage, AttentionCore::kTuple);
  if (!lowered.ok() || lowered->outputs != task.outputs || !OrderInputs(task.inputs, *lowered)) {
    return std::nullopt;
  }
  return lowered->program;
}

// Gives the source's programs Shape variables of their own and the task their arguments.
void TakeOwnShapes(VariantSource& source, Task& task) {
  std::vector<TensorProgram> forms = {std::move(source.program)};
  if (source.one_pass_attention) forms.push_back(std::move(*source.one_pass_attention));
  OwnShapes own = WithOwnShapes(std::move(forms));
  source.program = std::move(own.forms[0]);
  if (source.one_pass_attention) source.one_pass_attention = std::move(own.forms[1]);
  task.shape_arguments = std::move(own.arguments);
  task.may_be_zero = std::move(own.may_be_zero);
}

// Builds a variant's function. It has all variables of the task, as every kernel of the task gets
// the same arguments.
Function FunctionOf(const TensorProgram& program) {
  Function fn = BuildLoopNest(program);
  fn.vars = program.shape_vars;
  return fn;
}

// Adds the direct variant, then the others by their places.
void AddVariants(const VariantSource& source, Task& task) {
  const TensorProgram& direct = source.rounded ? *source.rounded : source.program;
  task.variants = {{.fn = FunctionOf(direct)}};
  for (const VariantRow& row : VariantRows()) {
    std::optional<TensorProgram> program = row.make(source);
    if (program) task.variants.push_back({FunctionOf(*program), &row, row.saves_time(source)});
  }
  std::ranges::sort(task.variants, {}, [](const Variant& v) { return v.row ? v.row->place : 0; });
}

void CountWork(const TensorProgram& program, Task& task) {
  for (const TensorExpr& stage : program.stages) {
    task.flops += std::visit([](const auto& expr) { return FlopsOf(expr); }, stage);
  }
  task.moved_bytes = MovedBytes(program);
}

std::optional<TensorProgram> AtZero(const std::optional<TensorProgram>& program,
                                    const std::vector<Var>& zeros) {
  return program ? AtZero(*program, zeros) : std::nullopt;
}

// Returns the task where the sizes of `may_be_zero` at the set bits of `set` are 0.
Task ZeroCase(const VariantSource& source, const Task& task, size_t set) {
  Task result;
  result.name = task.name + "_empty";
  result.inputs = task.inputs;
  result.outputs = task.outputs;
  result.nodes = task.nodes;
  result.numeric = task.numeric;
  result.stays_strict = task.stays_strict;
  std::set<size_t> is_zero;
  for (size_t bit = 0; bit < task.may_be_zero.size(); ++bit) {
    if ((set >> bit & 1) != 0) is_zero.insert(task.may_be_zero[bit]);
  }
  std::vector<Var> zeros;
  for (size_t i = 0; i < task.shape_arguments.size(); ++i) {
    if (is_zero.contains(i)) {
      zeros.push_back(source.program.shape_vars[i]);
    } else {
      result.shape_arguments.push_back(task.shape_arguments[i]);
    }
  }
  std::optional<TensorProgram> program = AtZero(source.program, zeros);
  if (!program) return result;
  CountWork(*program, result);
  AddVariants({.program = *std::move(program),
               .rounded = AtZero(source.rounded, zeros),
               .one_pass_attention = AtZero(source.one_pass_attention, zeros),
               .numeric = source.numeric,
               .winograd = source.winograd,
               .values = source.values},
              result);
  return result;
}

}  // namespace

const Variant* FindVariant(const Task& task, std::string_view name) {
  auto found = std::ranges::find_if(task.variants,
                                    [&](const Variant& v) { return v.row && v.row->name == name; });
  return found == task.variants.end() ? nullptr : &*found;
}

DType StorageType(const Graph& graph, const StoredTypes& types, ValueId id) {
  auto stored = types.find(id);
  return stored == types.end() ? graph.value(id).dtype : stored->second;
}

NumericMode ModeFor(const Graph& graph, const Subgraph& subgraph, const NumericOptions& requested) {
  const bool rounds =
      HasRealContraction(graph, subgraph) && !StaysStrict(graph, subgraph, requested);
  return rounds ? requested.mode : NumericMode::kStrict;
}

StatusOr<Task> BuildTask(const Graph& graph, const Subgraph& subgraph, const ValueStorage& storage,
                         const NumericOptions& requested) {
  TCC_ASSIGN_OR_RETURN(LoweredNode lowered, LowerSubgraph(graph, subgraph, storage));
  Task task;
  task.name = subgraph.name;
  task.inputs = lowered.inputs;
  task.outputs = lowered.outputs;
  const NumericMode numeric = ModeFor(graph, subgraph, requested);
  task.stays_strict = numeric != requested.mode && HasRealContraction(graph, subgraph) &&
                      HasF32Contraction(lowered.program);
  VariantSource source{.program = lowered.program,
                       .rounded = {},
                       .one_pass_attention = OnePassAttention(graph, subgraph, storage, task),
                       .numeric = numeric,
                       .winograd = requested.winograd && numeric == NumericMode::kStrict,
                       .tiles_attention = requested.rounds_attention};
  if (HasNode(graph, subgraph, OpKind::kMatMulInteger) ||
      HasNode(graph, subgraph, OpKind::kConvInteger)) {
    source.values = ValueSetsOf(graph, task.inputs);
  }
  TakeOwnShapes(source, task);
  source.rounded = RoundOperands(source.program, numeric);
  const bool reads_rounded =
      numeric != NumericMode::kStrict &&
      std::ranges::any_of(task.inputs, [&](ValueId id) { return storage.types.contains(id); });
  if (source.rounded || reads_rounded) task.numeric = numeric;
  AddVariants(source, task);
  for (int n : subgraph.nodes) task.nodes.push_back(graph.nodes[n].name);
  CountWork(lowered.program, task);
  for (size_t set = 1; set < size_t{1} << task.may_be_zero.size(); ++set) {
    task.zero_cases.push_back(ZeroCase(source, task, set));
  }
  return task;
}

}  // namespace tcc
