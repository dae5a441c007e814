// Operators of com.microsoft that are another operator and what stands behind it, as ONNX Runtime's
// optimizer writes them.

#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

#include "models/onnx/onnx_known_rank.h"
#include "models/onnx/onnx_normalize.h"

namespace tcc {
namespace {

struct FusedActivation {
  std::string_view name;
  OpKind op;
  std::array<std::string_view, 2> parameters = {};  // in the order of activation_params
  std::array<double, 2> defaults = {};
};

// clang-format off
constexpr FusedActivation kActivations[] = {
    {"Relu",            OpKind::kRelu},
    {"Sigmoid",         OpKind::kSigmoid},
    {"Tanh",            OpKind::kTanh},
    {"Softplus",        OpKind::kSoftplus},
    {"Softsign",        OpKind::kSoftsign},
    {"HardSwish",       OpKind::kHardSwish},
    {"LeakyRelu",       OpKind::kLeakyRelu,       {"alpha"},          {0.01f}},
    {"Elu",             OpKind::kElu,             {"alpha"},          {1}},
    {"ThresholdedRelu", OpKind::kThresholdedRelu, {"alpha"},          {1}},
    {"HardSigmoid",     OpKind::kHardSigmoid,     {"alpha", "beta"},  {0.2f, 0.5}},
    {"Selu",            OpKind::kSelu,            {"alpha", "gamma"}, {1.67326319217681884765625,
                                                                      1.05070102214813232421875}},
    {"Clip",            OpKind::kClip,            {"min", "max"}},
};
// clang-format on

size_t ParameterCount(const FusedActivation& row) {
  return row.parameters[0].empty() ? 0 : row.parameters[1].empty() ? 1 : 2;
}

std::string TakeText(OnnxNodeContext& context, const std::string& key) {
  auto entry = context.node.attributes.extract(key);
  return entry.empty() ? "" : std::get<std::string>(entry.mapped());
}

StatusOr<const FusedActivation*> FindActivation(const OnnxNodeContext& context,
                                                const std::string& name) {
  auto row = std::ranges::find(kActivations, name, &FusedActivation::name);
  if (row != std::end(kActivations)) return row;
  return context.NotSupported(
      fmt::format("attribute 'activation' is '{}'; supported are {}", name,
                  fmt::join(std::views::transform(kActivations, &FusedActivation::name), ", ")));
}

// The node becomes the activation of a value.
void BecomeActivation(OnnxNodeContext& context, const FusedActivation& row,
                      const std::array<double, 2>& parameters, ValueId value) {
  Node& node = context.node;
  std::map<std::string, Attribute> attributes;
  std::vector<ValueId> inputs = {value};
  for (size_t i = 0; i < ParameterCount(row); ++i) {
    std::string name(row.parameters[i]);
    if (row.op == OpKind::kClip) {
      inputs.push_back(context.AddScalar(name, parameters[i]));
    } else {
      attributes[name] = parameters[i];
    }
  }
  node.op = row.op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
}

// Dimensions in the order that a product wants: "transBatch" says that the first one belongs behind
// the batch, "trans" that the last two then change places.
struct MatrixOrder {
  bool trans_batch = false;
  bool trans = false;

  bool is_plain() const { return !trans_batch && !trans; }

  std::vector<int64_t> Perm(size_t rank) const {
    std::vector<int64_t> perm;
    for (size_t d = 0; d < rank; ++d) perm.push_back(static_cast<int64_t>(d));
    if (trans_batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
    if (trans) std::swap(perm[rank - 1], perm[rank - 2]);
    return perm;
  }

  // A term of an Einsum with these rows and columns.
  std::string Term(char rows, char columns) const {
    if (trans) std::swap(rows, columns);
    std::string pair = {rows, columns};
    return trans_batch ? fmt::format("{}...{}", rows, columns) : "..." + pair;
  }
};

MatrixOrder TakeOrder(OnnxNodeContext& context, const std::string& operand) {
  const Node& node = context.node;
  return {.trans_batch = node.Int("transBatch" + operand, 0) != 0,
          .trans = node.Int("trans" + operand, 0) != 0};
}

// The operand with its dimensions in order; nullopt where its rank is not known yet. A vector has
// no other order.
std::optional<ValueId> Ordered(OnnxNodeContext& context, size_t input, MatrixOrder order) {
  ValueId id = context.node.inputs[input];
  if (order.is_plain()) return id;
  std::optional<size_t> rank = KnownRank(context.graph, id);
  if (!rank) return std::nullopt;
  if (*rank < 2) return id;
  return context.Emit(OpKind::kTranspose, {id}, {{"perm", order.Perm(*rank)}},
                      context.InputType(input));
}

ValueId Product(OnnxNodeContext& context, MatrixOrder a, MatrixOrder b) {
  DType dtype = context.InputType(0);
  std::optional<ValueId> left = Ordered(context, 0, a);
  std::optional<ValueId> right = Ordered(context, 1, b);
  if (left && right) return context.Emit(OpKind::kMatMul, {*left, *right}, {}, dtype);
  std::string equation = fmt::format("{},{}->...ij", a.Term('i', 'k'), b.Term('k', 'j'));
  return context.Emit(OpKind::kEinsum, context.node.inputs, {{"equation", equation}}, dtype);
}

}  // namespace

// activation(Conv(x, w, b) + z).
Status NormalizeFusedConv(OnnxNodeContext& context) {
  Node& node = context.node;
  std::string name = TakeText(context, "activation");
  auto entry = node.attributes.extract("activation_params");
  std::vector<double> given;
  if (!entry.empty()) given = std::get<std::vector<double>>(entry.mapped());
  TCC_RETURN_IF_ERROR(NormalizeConv(context));
  ValueId added = context.HasInput(3) ? node.inputs[3] : kNoValue;
  node.inputs.resize(std::min<size_t>(node.inputs.size(), 3));
  if (name.empty() && added == kNoValue) return OkStatus();

  DType dtype = context.InputType(0);
  ValueId value = context.Emit(OpKind::kConv, node.inputs, node.attributes, dtype);
  if (added != kNoValue && !name.empty()) {
    value = context.Emit(OpKind::kAdd, {value, added}, {}, dtype);
  }
  if (name.empty()) {
    node.op = OpKind::kAdd;
    node.inputs = {value, added};
    node.attributes.clear();
    return OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(const FusedActivation* row, FindActivation(context, name));
  if (given.size() != ParameterCount(*row)) {
    return context.Invalid(fmt::format("activation_params has {} entries; {} takes {}",
                                       given.size(), name, ParameterCount(*row)));
  }
  std::array<double, 2> parameters = {};
  std::ranges::copy(given, parameters.begin());
  BecomeActivation(context, *row, parameters, value);
  return OkStatus();
}

// activation(Gemm(a, b, c)), whose parameters are activation_alpha and so on.
Status NormalizeFusedGemm(OnnxNodeContext& context) {
  Node& node = context.node;
  std::string name = TakeText(context, "activation");
  std::map<std::string, std::optional<double>> given;
  for (const char* key : {"alpha", "beta", "gamma"}) {
    given[key] = context.TakeFloat(std::string("activation_") + key);
  }
  if (name.empty()) return OkStatus();

  TCC_ASSIGN_OR_RETURN(const FusedActivation* row, FindActivation(context, name));
  std::array<double, 2> parameters = row->defaults;
  for (size_t i = 0; i < ParameterCount(*row); ++i) {
    auto entry = given.find(std::string(row->parameters[i]));
    if (entry == given.end()) {
      return context.NotSupported(
          fmt::format("attribute 'activation' is '{}', which is not supported", name));
    }
    parameters[i] = entry->second.value_or(parameters[i]);
  }
  ValueId value = context.Emit(OpKind::kGemm, node.inputs, node.attributes, context.InputType(0));
  BecomeActivation(context, *row, parameters, value);
  return OkStatus();
}

// alpha * A' B', each operand with its dimensions in another order.
Status NormalizeFusedMatMul(OnnxNodeContext& context) {
  Node& node = context.node;
  ValueId product = Product(context, TakeOrder(context, "A"), TakeOrder(context, "B"));
  ValueId factor = context.AddScalar("alpha", node.Float("alpha", 1));
  node.op = OpKind::kMul;
  node.inputs = {product, factor};
  node.attributes.clear();
  return OkStatus();
}

}  // namespace tcc
