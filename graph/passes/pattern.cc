#include "graph/passes/pattern.h"

#include <algorithm>
#include <cmath>

#include "graph/passes/infer_shapes.h"
#include "graph/passes/passes.h"
#include "support/check.h"

namespace tcc {

enum class PatternKind : uint8_t { kValue, kNumber, kCall, kEither };

struct PatternTree {
  PatternKind kind;
  std::string name = "";
  std::optional<double> number = std::nullopt;  // for kNumber; any number if absent
  OpKind op = OpKind::kIdentity;                // for kCall
  std::vector<Pattern> children = {};           // operands, or alternatives
};

namespace {

Pattern Make(PatternTree tree) {
  return std::make_shared<const PatternTree>(std::move(tree));
}

// The relative precision of constants: exporters print them in the type they compute in, and round
// twice.
double PrecisionOf(DType type) {
  if (type == kFloat16) return 0x1p-9;
  if (type.is_float() && type.bits() == 16) return 0x1p-6;
  return 1e-6;
}

// Returns the number that all elements of a constant have.
std::optional<double> UniformNumber(const Graph& graph, ValueId id) {
  const Tensor* tensor = graph.ConstantOf(id);
  if (!tensor || tensor->dtype.is_storage_only()) return std::nullopt;
  int64_t count = ElementCount(tensor->shape).value_or(0);
  if (count == 0) return std::nullopt;
  double number = ElementAsDouble(*tensor, 0);
  for (int64_t i = 1; i < count; ++i) {
    if (ElementAsDouble(*tensor, i) != number) return std::nullopt;
  }
  return number;
}

bool IsNumber(const Graph& graph, ValueId id, const PatternTree& pattern) {
  std::optional<double> number = UniformNumber(graph, id);
  if (!number || !pattern.number) return number.has_value();
  double precision = PrecisionOf(graph.value(id).dtype);
  return std::fabs(*number - *pattern.number) <= precision * std::fabs(*pattern.number);
}

}  // namespace

Pattern AnyValue(const std::string& name) {
  return Make({.kind = PatternKind::kValue, .name = name});
}

Pattern AnyNumber(const std::string& name) {
  return Make({.kind = PatternKind::kNumber, .name = name});
}

Pattern Number(double number) {
  return Make({.kind = PatternKind::kNumber, .number = number});
}

Pattern NodePattern(OpKind op, const std::vector<Pattern>& operands, const std::string& name) {
  return Make({.kind = PatternKind::kCall, .name = name, .op = op, .children = operands});
}

Pattern Either(const std::vector<Pattern>& ways) {
  return Make({.kind = PatternKind::kEither, .children = ways});
}

Pattern MaybeCast(const Pattern& pattern) {
  return Either({pattern, NodePattern(OpKind::kCast, {pattern})});
}

Pattern ProductOf(const Pattern& a, const Pattern& b, const Pattern& c) {
  auto product = [](const Pattern& x, const Pattern& y) {
    return NodePattern(OpKind::kMul, {x, y});
  };
  return Either({product(product(a, b), c), product(product(a, c), b), product(product(b, c), a)});
}

Pattern Quotient(const Pattern& value, double divisor) {
  return Either({NodePattern(OpKind::kDiv, {value, Number(divisor)}),
                 NodePattern(OpKind::kMul, {value, Number(1 / divisor)})});
}

Pattern Square(const Pattern& value) {
  return Either(
      {NodePattern(OpKind::kPow, {value, Number(2)}), NodePattern(OpKind::kMul, {value, value})});
}

double PatternMatch::NumberAt(const Graph& graph, const std::string& name) const {
  return ElementAsDouble(*graph.ConstantOf(values.at(name)), 0);
}

ValueId Rewrite::Emit(OpKind op, const std::string& name, std::vector<ValueId> inputs, DType dtype,
                      const std::vector<Expr>& shape, std::map<std::string, Attribute> attributes) {
  ValueId result = AddComputed(graph, name, dtype, shape);
  before.push_back({.name = name,
                    .op = op,
                    .inputs = std::move(inputs),
                    .outputs = {result},
                    .attributes = std::move(attributes)});
  return result;
}

PatternMatcher::PatternMatcher(const Graph& graph)
    : graph_(graph), uses_(UsesOf(graph)), producers_(ProducersOf(graph)) {}

void PatternMatcher::Forget(int node) {
  for (ValueId id : graph_.nodes[node].inputs) {
    if (id != kNoValue) std::erase(uses_.readers[id], node);
  }
  for (ValueId id : graph_.nodes[node].outputs) {
    if (id != kNoValue) producers_[id] = -1;
  }
}

void PatternMatcher::Learn(int node) {
  size_t values = graph_.values.size();
  uses_.readers.resize(values);
  uses_.is_output.resize(values, false);
  producers_.resize(values, -1);
  for (ValueId id : graph_.nodes[node].inputs) {
    if (id == kNoValue) continue;
    std::vector<int>& readers = uses_.readers[id];
    auto at = std::ranges::lower_bound(readers, node);
    if (at == readers.end() || *at != node) readers.insert(at, node);
  }
  for (ValueId id : graph_.nodes[node].outputs) {
    if (id != kNoValue) producers_[id] = node;
  }
}

std::vector<PatternMatch> PatternMatcher::Match(int node, const Pattern& pattern) const {
  const std::vector<ValueId>& outputs = graph_.nodes[node].outputs;
  if (outputs.empty() || outputs[0] == kNoValue) return {};
  PatternMatch start;
  start.result = outputs[0];
  std::vector<PatternMatch> matches = Extend(start, outputs[0], *pattern);
  std::erase_if(matches, [&](const PatternMatch& match) { return !IsClosed(match, node); });
  return matches;
}

std::vector<PatternMatch> PatternMatcher::Extend(const PatternMatch& match, ValueId id,
                                                 const PatternTree& pattern) const {
  if (id == kNoValue) return {};
  switch (pattern.kind) {
    case PatternKind::kNumber:
      if (!IsNumber(graph_, id, pattern)) return {};
      [[fallthrough]];
    case PatternKind::kValue: {
      PatternMatch bound = match;
      if (pattern.name.empty()) return {bound};
      auto [entry, absent] = bound.values.emplace(pattern.name, id);
      if (!absent && entry->second != id) return {};
      return {bound};
    }
    case PatternKind::kCall:
      return ExtendByNode(match, id, pattern);
    case PatternKind::kEither: {
      std::vector<PatternMatch> all;
      for (const Pattern& way : pattern.children) {
        std::vector<PatternMatch> found = Extend(match, id, *way);
        all.insert(all.end(), found.begin(), found.end());
      }
      return all;
    }
  }
  return {};
}

std::vector<PatternMatch> PatternMatcher::ExtendByNode(const PatternMatch& match, ValueId id,
                                                       const PatternTree& pattern) const {
  int n = producers_[id];
  if (n < 0) return {};
  const Node& node = graph_.nodes[n];
  size_t count = pattern.children.size();
  if (node.op != pattern.op || node.outputs[0] != id || node.inputs.size() < count) return {};
  PatternMatch start = match;
  start.nodes.insert(n);
  if (!pattern.name.empty()) start.named[pattern.name] = n;

  auto in_order = [&](const std::vector<ValueId>& operands) {
    std::vector<PatternMatch> matches = {start};
    for (size_t i = 0; i < count; ++i) {
      std::vector<PatternMatch> longer;
      for (const PatternMatch& so_far : matches) {
        std::vector<PatternMatch> found = Extend(so_far, operands[i], *pattern.children[i]);
        longer.insert(longer.end(), found.begin(), found.end());
      }
      matches = std::move(longer);
    }
    return matches;
  };
  std::vector<PatternMatch> matches = in_order(node.inputs);
  if (count == 2 && IsCommutative(node.op) && node.inputs[0] != node.inputs[1]) {
    std::vector<PatternMatch> swapped = in_order({node.inputs[1], node.inputs[0]});
    matches.insert(matches.end(), swapped.begin(), swapped.end());
  }
  return matches;
}

bool PatternMatcher::IsClosed(const PatternMatch& match, int root) const {
  for (int n : match.nodes) {
    if (n == root) continue;
    for (ValueId output : graph_.nodes[n].outputs) {
      if (output == kNoValue) continue;
      if (uses_.is_output[output]) return false;
      for (int reader : uses_.readers[output]) {
        if (!match.nodes.contains(reader)) return false;
      }
    }
  }
  return true;
}

namespace {

// Returns whether the new nodes compute what the old ones did as far as types tell. A constant of a
// pattern may widen the match's result by broadcasting, which the new node would not.
bool KeepsResults(const Rewrite& rewrite, const Node& node) {
  auto fits = [&](const Node& n) { return GivesItsResults(rewrite.graph, n); };
  return std::ranges::all_of(rewrite.before, fits) && fits(node);
}

// Replaces the first match that the rule accepts and that keeps the type and the shape of its
// result. Returns the position of the new node; the matcher is gone if other nodes have moved.
std::optional<size_t> Replace(Graph& graph, const RewriteRule& rule, size_t root,
                              const Pattern& pattern, std::optional<PatternMatcher>& matcher) {
  for (const PatternMatch& match : matcher->Match(static_cast<int>(root), pattern)) {
    Rewrite rewrite{graph, match};
    std::optional<Node> node = rule.replacement(rewrite);
    if (!node) continue;
    node->op = rule.result;
    node->name = graph.nodes[root].name;
    node->outputs = {match.result};
    if (!KeepsResults(rewrite, *node)) continue;
    // Nobody reads the others now; without operands they read nothing either.
    for (int n : match.nodes) {
      matcher->Forget(n);
      graph.nodes[n].inputs.clear();
    }
    graph.nodes[root] = std::move(*node);
    if (rewrite.before.empty()) {
      matcher->Learn(static_cast<int>(root));
      return root;
    }
    matcher.reset();
    graph.nodes.insert(graph.nodes.begin() + static_cast<int64_t>(root), rewrite.before.begin(),
                       rewrite.before.end());
    return root + rewrite.before.size();
  }
  return std::nullopt;
}

}  // namespace

Status ApplyRules(Graph& graph, std::span<const RewriteRule> rules) {
  for (const RewriteRule& rule : rules) {
    Pattern pattern = rule.pattern();
    std::optional<PatternMatcher> matcher;
    for (size_t n = 0; n < graph.nodes.size();) {
      std::optional<size_t> replaced;
      if (graph.nodes[n].op == rule.root) {
        if (!matcher) matcher.emplace(graph);
        replaced = Replace(graph, rule, n, pattern, matcher);
      }
      // The new node may match again, as a part of three in a row.
      n = replaced.value_or(n + 1);
    }
  }
  return RemoveDead(graph);
}

}  // namespace tcc
