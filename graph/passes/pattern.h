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

// Pattern matching on the graph, to recognize the operators that exporters decompose: patterns of
// nodes, and rules that replace a match by one node.
namespace tcc {

// A computation, written from its result back to its operands; built by the functions below.
struct PatternTree;
using Pattern = std::shared_ptr<const PatternTree>;

// Matches any value. A name that occurs twice means the same value.
Pattern AnyValue(const std::string& name);
// Matches a constant whose elements are all one number.
Pattern AnyNumber(const std::string& name);
// Matches a constant whose elements are all this number, to the precision of their type.
Pattern Number(double number);
// Matches the first result of a node whose first operands match, in either order for a commutative
// operator; the rule must check its other operands and its attributes.
Pattern NodePattern(OpKind op, const std::vector<Pattern>& operands, const std::string& name = "");
Pattern Either(const std::vector<Pattern>& ways);
// Matches the same value, or a cast of it to another type.
Pattern MaybeCast(const Pattern& pattern);
// Matches a * b * c in any bracketing.
Pattern ProductOf(const Pattern& a, const Pattern& b, const Pattern& c);
// Matches value / divisor or value * (1 / divisor), for a number.
Pattern Quotient(const Pattern& value, double divisor);
// Matches value^2 as a power or a product with itself.
Pattern Square(const Pattern& value);

struct PatternMatch {
  std::map<std::string, ValueId> values;  // by the names of AnyValue and AnyNumber
  std::map<std::string, int> named;       // nodes by the names of NodePattern
  std::set<int> nodes;                    // all matched nodes, indices into graph.nodes
  ValueId result = kNoValue;

  const Node& NodeAt(const Graph& graph, const std::string& name) const {
    return graph.nodes[named.at(name)];
  }
  double NumberAt(const Graph& graph, const std::string& name) const;
};

// A matcher of patterns in a graph that does not change meanwhile.
class PatternMatcher {
 public:
  explicit PatternMatcher(const Graph& graph);

  // Returns every way in which the node's first result matches the pattern and only the match's own
  // nodes read the values in between.
  std::vector<PatternMatch> Match(int node, const Pattern& pattern) const;

  // Follow the replacement of a node at its place: Forget before its operands change, Learn when
  // it has the new ones. A matcher made anew would read the whole graph for every match.
  void Forget(int node);
  void Learn(int node);

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

// The application of a rule to one match.
struct Rewrite {
  Graph& graph;  // constants and values may be added
  const PatternMatch& match;
  std::vector<Node> before = {};  // nodes whose results the new one reads, in order

  ValueId Bound(const std::string& name) const { return match.values.at(name); }
  const Node& NodeAt(const std::string& name) const { return match.NodeAt(graph, name); }
  double NumberAt(const std::string& name) const { return match.NumberAt(graph, name); }
  const std::vector<Expr>& ShapeOf(ValueId id) const { return graph.value(id).shape; }
  // Adds a node before the new one. Returns its result, which is named like the node.
  ValueId Emit(OpKind op, const std::string& name, std::vector<ValueId> inputs, DType dtype,
               const std::vector<Expr>& shape, std::map<std::string, Attribute> attributes = {});
};

struct RewriteRule {
  std::string_view name;
  OpKind root;    // the operator of the node that computes the result
  OpKind result;  // the operator of the new node; the rule is off while it has no lowering
  Pattern (*pattern)();
  // Returns operands and attributes of the new node; nullopt if the pattern fits but the meaning
  // does not.
  std::optional<Node> (*replacement)(Rewrite& rewrite);
};

// Applies each rule exhaustively, in the table's order; the other nodes of a match go. A match
// stays where the new nodes would give a result of another type or shape. A rule whose result
// matches it again must produce a smaller one.
Status ApplyRules(Graph& graph, std::span<const RewriteRule> rules);

}  // namespace tcc
