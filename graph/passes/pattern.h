#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/passes/edit.h"
#include "ir/graph/graph.h"
#include "support/status.h"

// What exporters take apart is found by its shape and put together again: patterns of nodes, and
// rules that replace what they match by one node.
namespace tcc {

// A computation written from its result back to its operands; made by the functions below.
struct PatternTree;
using Pattern = std::shared_ptr<const PatternTree>;

// Any value. A name that occurs twice means the same value.
Pattern AnyValue(const std::string& name);
// A constant whose elements are all one number.
Pattern AnyNumber(const std::string& name);
// A constant whose elements are all this number, to the precision of their type.
Pattern Number(double number);
// The first result of a node whose first operands are these, in either order where the operator is
// commutative; its other operands and its attributes are for the rule to check.
Pattern NodePattern(OpKind op, const std::vector<Pattern>& operands, const std::string& name = "");
Pattern Either(const std::vector<Pattern>& ways);
// The same value, or cast to another type.
Pattern MaybeCast(const Pattern& pattern);
// a * b * c however it is bracketed.
Pattern ProductOf(const Pattern& a, const Pattern& b, const Pattern& c);
// value / divisor or value * (1 / divisor), for a number.
Pattern Quotient(const Pattern& value, double divisor);
// value^2 as a power or a product with itself.
Pattern Square(const Pattern& value);

struct PatternMatch {
  std::map<std::string, ValueId> values;  // by the names of AnyValue and AnyNumber
  std::map<std::string, int> named;       // nodes by the names of NodePattern
  std::set<int> nodes;                    // all that matched, indices into graph.nodes
  ValueId result = kNoValue;

  const Node& NodeAt(const Graph& graph, const std::string& name) const {
    return graph.nodes[named.at(name)];
  }
  double NumberAt(const Graph& graph, const std::string& name) const;
};

// Finds patterns in a graph that does not change meanwhile.
class PatternMatcher {
 public:
  explicit PatternMatcher(const Graph& graph);

  // Every way in which the node's first result is what the pattern says, and nothing but the
  // match's own nodes reads what lies between.
  std::vector<PatternMatch> Match(int node, const Pattern& pattern) const;

 private:
  std::vector<PatternMatch> Extend(const PatternMatch& match, ValueId id,
                                   const PatternTree& pattern) const;
  std::vector<PatternMatch> ExtendByNode(const PatternMatch& match, ValueId id,
                                         const PatternTree& pattern) const;
  bool IsClosed(const PatternMatch& match, int root) const;

  const Graph& graph_;
  ValueUses uses_;
  std::vector<int> producers_;
};

// A rule at work on one match.
struct Rewrite {
  Graph& graph;  // constants and values may be added
  const PatternMatch& match;
  std::vector<Node> before = {};  // nodes whose results the new one reads, in order

  ValueId Bound(const std::string& name) const { return match.values.at(name); }
  const Node& NodeAt(const std::string& name) const { return match.NodeAt(graph, name); }
  double NumberAt(const std::string& name) const { return match.NumberAt(graph, name); }
  const std::vector<Expr>& ShapeOf(ValueId id) const { return graph.value(id).shape; }
};

struct RewriteRule {
  std::string_view name;
  OpKind root;    // of the node that computes the result
  OpKind result;  // of the node that replaces it; the rule rests while that has no lowering
  Pattern (*pattern)();
  // Operands and attributes of the new node; nullopt where the pattern fits and the meaning does
  // not.
  std::optional<Node> (*replacement)(Rewrite& rewrite);
};

// Applies each rule wherever it fits and as often, in the table's order; a match's other nodes go.
// A result that its own rule matches must be a smaller one.
Status ApplyRules(Graph& graph, std::span<const RewriteRule> rules);

}  // namespace tcc
