#include "graph/passes/recurrence_activation.h"

#include <absl/strings/str_split.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <ranges>

#include "support/check.h"

namespace tcc {
namespace {

struct Row {
  std::string_view name;
  OpKind op;  // what it is, or its main part
  bool has_alpha = false;
  bool has_beta = false;
  double alpha = 0;  // defaults: those of the operators of the same name
  double beta = 0;
};

// clang-format off
constexpr Row kRows[] = {
    {"Affine",          OpKind::kMul,             true,  true,  1,     0},
    {"Elu",             OpKind::kElu,             true,  false, 1},
    {"HardSigmoid",     OpKind::kHardSigmoid,     true,  true,  0.2f,  0.5},
    {"LeakyRelu",       OpKind::kLeakyRelu,       true,  false, 0.01f},
    {"Relu",            OpKind::kRelu},
    {"ScaledTanh",      OpKind::kTanh,            true,  true,  1,     1},
    {"Sigmoid",         OpKind::kSigmoid},
    {"Softplus",        OpKind::kSoftplus},
    {"Softsign",        OpKind::kSoftsign},
    {"Tanh",            OpKind::kTanh},
    {"ThresholdedRelu", OpKind::kThresholdedRelu, true,  false, 1},
};
// clang-format on

// ONNX ignores the case of these names.
const Row* FindRow(const std::string& name) {
  auto lower = [](unsigned char c) { return std::tolower(c); };
  for (const Row& row : kRows) {
    if (std::ranges::equal(row.name, name, {}, lower, lower)) return &row;
  }
  return nullptr;
}

std::string SupportedNames() {
  return fmt::format("{}", fmt::join(std::views::transform(kRows, &Row::name), ", "));
}

std::vector<double> Doubles(const Node& node, const std::string& key) {
  auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return {};
  return std::get<std::vector<double>>(found->second);
}

// The next of the numbers given, or the default.
double Take(const std::vector<double>& given, size_t& next, double fallback) {
  return next < given.size() ? given[next++] : fallback;
}

}  // namespace

StatusOr<std::vector<RecurrenceActivation>> ReadActivations(
    const Node& node, const std::vector<std::string>& defaults, size_t directions) {
  std::vector<std::string> names;
  for (size_t d = 0; d < directions; ++d) {
    names.insert(names.end(), defaults.begin(), defaults.end());
  }
  std::string given = node.String("activations", "");
  if (!given.empty()) {
    size_t expected = names.size();
    names = absl::StrSplit(given, ',');
    if (names.size() != expected) {
      return InvalidInput("node '{}' ({}): has {} activations; expected {}", node.name,
                          ToString(node.op), names.size(), expected);
    }
  }
  std::vector<double> alphas = Doubles(node, "activation_alpha");
  std::vector<double> betas = Doubles(node, "activation_beta");
  size_t next_alpha = 0;
  size_t next_beta = 0;
  std::vector<RecurrenceActivation> activations;
  for (const std::string& name : names) {
    const Row* row = FindRow(name);
    if (row == nullptr) {
      return Unsupported("node '{}' ({}): activation '{}' is not supported; supported are {}",
                         node.name, ToString(node.op), name, SupportedNames());
    }
    RecurrenceActivation activation{.name = std::string(row->name)};
    if (row->has_alpha) activation.alpha = Take(alphas, next_alpha, row->alpha);
    if (row->has_beta) activation.beta = Take(betas, next_beta, row->beta);
    activations.push_back(std::move(activation));
  }
  return activations;
}

ValueId ApplyActivation(NodeWriter& writer, const RecurrenceActivation& activation, ValueId x) {
  const Row* row = FindRow(activation.name);
  TCC_CHECK(row != nullptr) << activation.name;
  DType dtype = writer.graph().value(x).dtype;
  auto times = [&](ValueId value, double factor) {
    return writer.Emit(OpKind::kMul, {value, writer.Scalar(dtype, factor)});
  };
  if (activation.name == "Affine") {
    return writer.Emit(OpKind::kAdd,
                       {times(x, activation.alpha), writer.Scalar(dtype, activation.beta)});
  }
  if (activation.name == "ScaledTanh") {
    return times(writer.Emit(OpKind::kTanh, {times(x, activation.beta)}), activation.alpha);
  }
  NodeWriter::Attributes attributes;
  if (row->has_alpha) attributes["alpha"] = activation.alpha;
  if (row->has_beta) attributes["beta"] = activation.beta;
  return writer.Emit(row->op, {x}, attributes);
}

}  // namespace tcc
