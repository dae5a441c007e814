#include <algorithm>
#include <map>

#include "graph/ops/lowerings.h"

// Einsum names the dimensions of the operands and of the result; dimensions that are not in the
// result are summed over. More than two operands are contracted from the left, two at a time.
namespace tcc {
namespace {

// A name of a dimension: a letter, or the position of a dimension that "..." stands for, counted
// from the right and below 0.
using Label = int;
using Labels = std::vector<Label>;

// Returns the label as a loop name: "x", or "e1".
std::string NameOf(Label label) {
  return label < 0 ? fmt::format("e{}", -label) : std::string(1, static_cast<char>(label));
}

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

// Parses "ij..." of `rank` dimensions; nullopt for other characters and for a mismatch of the rank.
std::optional<Labels> ParseTerm(std::string_view term, size_t rank) {
  size_t ellipsis = term.find("...");
  bool any = ellipsis != std::string_view::npos;
  size_t letters = term.size() - (any ? 3 : 0);
  if (letters > rank || (!any && letters != rank)) return std::nullopt;
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == ellipsis) {
      for (size_t left = rank - letters; left > 0; --left)
        labels.push_back(-static_cast<int>(left));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels.push_back(static_cast<unsigned char>(term[i]));
    } else {
      return std::nullopt;
    }
  }
  return labels;
}

// Returns the result's labels of an equation without "->": the dimensions of "..." first, then the
// letters that occur once, in their order.
Labels ImplicitResult(const std::vector<Labels>& operands) {
  std::map<Label, int> counts;
  for (const Labels& labels : operands) {
    for (Label label : labels) ++counts[label];
  }
  Labels result;
  for (auto [label, count] : counts) {
    if (label < 0 || count == 1) result.push_back(label);
  }
  return result;
}

std::optional<Equation> ParseEquation(std::string text, const std::vector<size_t>& ranks) {
  std::erase(text, ' ');
  size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation equation;
  while (true) {
    size_t comma = left.find(',');
    if (equation.operands.size() == ranks.size()) return std::nullopt;
    std::optional<Labels> labels =
        ParseTerm(left.substr(0, comma), ranks[equation.operands.size()]);
    if (!labels) return std::nullopt;
    equation.operands.push_back(*labels);
    if (comma == std::string_view::npos) break;
    left = left.substr(comma + 1);
  }
  if (equation.operands.size() != ranks.size()) return std::nullopt;
  equation.result = ImplicitResult(equation.operands);
  if (arrow == std::string::npos) return equation;

  std::string_view right = std::string_view(text).substr(arrow + 2);
  size_t dots = right.find("...");
  size_t hidden = static_cast<size_t>(
      std::ranges::count_if(equation.result, [](Label label) { return label < 0; }));
  bool shown = dots != std::string_view::npos;
  std::optional<Labels> result =
      ParseTerm(right, right.size() - (shown ? 3 : 0) + (shown ? hidden : 0));
  if (!result) return std::nullopt;
  equation.result = *result;
  return equation;
}

bool Contains(const Labels& labels, Label label) {
  return std::ranges::find(labels, label) != labels.end();
}

// An operand of the next contraction: an input of the node, or the result of the last contraction.
struct Operand {
  Labels labels;
  std::vector<Expr> shape;
  std::optional<StoredBuffer> buffer;  // nullopt: input `input`
  size_t input = 0;
};

class Contraction {
 public:
  Contraction(NodeLowering& node, Equation equation)
      : node_(node), equation_(std::move(equation)), type_(node.Type(0)) {}

  Status Lower() {
    TCC_RETURN_IF_ERROR(CollectExtents());
    DType computed = AccumulationType(type_);
    StoredBuffer out = node_.Output(0, type_, ShapeOf(equation_.result));
    Operand left = InputOperand(0);
    size_t count = equation_.operands.size();
    for (size_t i = 1; i < count || i == 1; ++i) {
      bool last = i + 1 >= count;
      std::vector<Operand> operands = {left};
      if (i < count) operands.push_back(InputOperand(i));
      Labels labels = last ? equation_.result : NeededAfter(operands, i + 1);
      StoredBuffer result = out;
      std::string name = last ? "" : fmt::format("_part{}", i);
      if (!last || computed != type_) {
        result = node_.Intermediate(fmt::format("part{}", i), computed, ShapeOf(labels));
      }
      Contract(operands, labels, result, computed, name);
      left = {.labels = labels, .shape = ShapeOf(labels), .buffer = result, .input = 0};
    }
    if (computed == type_) return OkStatus();
    std::vector<Axis> axes = node_.Axes(ShapeOf(equation_.result));
    node_.Map(out, axes, CastTo(type_, node_.Load(*left.buffer, VarsOf(axes))), "_round");
    return OkStatus();
  }

 private:
  Status CollectExtents() {
    for (size_t i = 0; i < equation_.operands.size(); ++i) {
      for (size_t d = 0; d < equation_.operands[i].size(); ++d) {
        const Expr& dim = node_.Shape(i)[d];
        auto [entry, fresh] = extents_.emplace(equation_.operands[i][d], dim);
        if (fresh || IsConstant(dim, 1)) continue;
        bool stretches = IsConstant(entry->second, 1);
        std::string what = fmt::format("extents of dimension '{}'", NameOf(entry->first));
        if (!stretches && !node_.Agree(entry->second, dim, what).ok()) {
          return node_.Error("dimension '{}' is {} and {}", NameOf(entry->first),
                             ShapeText({entry->second}), ShapeText({dim}));
        }
        if (stretches || AsConstant(dim)) entry->second = dim;
      }
    }
    for (Label label : equation_.result) {
      bool twice = std::ranges::count(equation_.result, label) > 1;
      if (twice || !extents_.contains(label)) {
        return node_.Error("dimension '{}' of the result is {}", NameOf(label),
                           twice ? "there twice" : "in no operand");
      }
    }
    return OkStatus();
  }

  std::vector<Expr> ShapeOf(const Labels& labels) const {
    std::vector<Expr> shape;
    for (Label label : labels) shape.push_back(extents_.at(label));
    return shape;
  }

  Operand InputOperand(size_t i) const {
    return {.labels = equation_.operands[i],
            .shape = node_.Shape(i),
            .buffer = std::nullopt,
            .input = i};
  }

  // Returns the labels of the operands, each once, that the result or an operand from `next` on
  // uses.
  Labels NeededAfter(const std::vector<Operand>& operands, size_t next) const {
    Labels needed;
    for (const Operand& operand : operands) {
      for (Label label : operand.labels) {
        bool used = Contains(equation_.result, label);
        for (size_t i = next; i < equation_.operands.size(); ++i) {
          used = used || Contains(equation_.operands[i], label);
        }
        if (used && !Contains(needed, label)) needed.push_back(label);
      }
    }
    return needed;
  }

  void Contract(const std::vector<Operand>& operands, const Labels& labels,
                const StoredBuffer& result, DType computed, const std::string& suffix) {
    std::map<Label, Expr> vars;
    std::vector<Axis> axes;
    std::vector<Axis> reduce_axes;
    auto add = [&](Label label, std::vector<Axis>& to) {
      if (vars.contains(label)) return;
      to.push_back(NodeLowering::MakeAxis(NameOf(label), extents_.at(label)));
      vars.emplace(label, to.back().var);
    };
    for (Label label : labels) add(label, axes);
    for (const Operand& operand : operands) {
      for (Label label : operand.labels) add(label, reduce_axes);
    }
    Expr value;
    for (const Operand& operand : operands) {
      std::vector<Expr> place;
      for (size_t d = 0; d < operand.labels.size(); ++d) {
        bool stretched = IsConstant(operand.shape[d], 1);
        place.push_back(stretched ? Expr(0) : vars.at(operand.labels[d]));
      }
      Expr factor = CastTo(computed, operand.buffer ? node_.Load(*operand.buffer, place)
                                                    : node_.Load(operand.input, place));
      value = value ? value * factor : factor;
    }
    if (reduce_axes.empty()) return node_.Map(result, axes, value, suffix);
    node_.Reduce({.outputs = {result},
                  .axes = axes,
                  .reduce_axes = reduce_axes,
                  .combiner = SumCombiner(computed),
                  .values = {value},
                  .suffix = suffix});
  }

  NodeLowering& node_;
  Equation equation_;
  DType type_;
  std::map<Label, Expr> extents_;
};

}  // namespace

Status LowerEinsum(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, SIZE_MAX));
  std::vector<size_t> ranks;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.Has(i) || node.Type(i) != node.Type(0)) {
      return node.Error("operand {} is missing or of another type than operand 0", i);
    }
    ranks.push_back(node.Rank(i));
  }
  std::string text = node.node().String("equation", "");
  std::optional<Equation> equation = ParseEquation(text, ranks);
  if (!equation) return node.Error("equation '{}' does not fit the operands", text);
  return Contraction(node, *equation).Lower();
}

}  // namespace tcc
