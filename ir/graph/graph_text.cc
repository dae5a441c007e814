#include <absl/strings/ascii.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/graph/graph.h"
#include "ir/text/printer.h"

// graph "resnet" {
//   dim N in 1..1048576 usual 8
//   input x: f32[N, 3, 224, 224]
//   constant w: f32[64x3x7x7]
//   sizes k: i64[2] = [N, 9]
//   y = Conv(x, w, _) {strides: [2, 2]} channels_last : f32[N, 64, 112, 112] @node/name
//   s = Loop(n, _, y) {carried: 0, scan_output_axes: [0]} : f32[9x4]
//     body step {
//       input i: i64[]
//       ...
//     }
//   return y, s
//   agree [N + 1, 9] "where"
// }
// Elements also follow the type of a node's result: `k = Shape(x) : i64[2] = [N, 9]`.
// A name is bare if it consists of letters, digits and ._/- only, else in double quotes; `_` is an
// absent operand. A node with the name of its first output has no @. A body has the dimensions of
// the enclosing graph. The parser is graph_parse.cc.
namespace tcc {
namespace {

bool IsBareName(const std::string& name) {
  static constexpr std::array<std::string_view, 9> kReserved = {
      "_", "dim", "input", "constant", "sizes", "return", "agree", "graph", "body"};
  if (name.empty() || std::ranges::find(kReserved, name) != kReserved.end()) {
    return false;
  }
  return std::ranges::all_of(name, [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-';
  });
}

// Quotes the text; bytes outside printable ASCII, quotes and backslashes become \xHH.
std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

std::string NameText(const std::string& name) {
  return IsBareName(name) ? name : Quoted(name);
}

// Prints the value with a point or an exponent, so that it does not read as an integer.
std::string DoubleText(double value) {
  std::string text = fmt::format("{}", value);
  bool is_integer = std::isfinite(value) && text.find_first_of(".e") == std::string::npos;
  return is_integer ? text + ".0" : text;
}

std::string TensorText(const Tensor& tensor) {
  std::vector<std::string> elements;
  if (tensor.dtype.is_storage_only()) {
    for (uint8_t byte : tensor.bytes) elements.push_back(fmt::format("{}", byte));
  } else {
    int64_t count = static_cast<int64_t>(tensor.bytes.size()) / tensor.dtype.bytes();
    for (int64_t i = 0; i < count; ++i) {
      elements.push_back(tensor.dtype.is_float() ? DoubleText(ElementAsDouble(tensor, i))
                                                 : fmt::format("{}", ElementAsInt(tensor, i)));
    }
  }
  return fmt::format("{}({})", ToString(tensor), fmt::join(elements, ", "));
}

struct AttributeText {
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return DoubleText(value); }
  std::string operator()(const std::string& value) const { return Quoted(value); }
  std::string operator()(const std::vector<int64_t>& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const std::vector<double>& values) const {
    std::vector<std::string> texts;
    for (double value : values) texts.push_back(DoubleText(value));
    return fmt::format("doubles[{}]", fmt::join(texts, ", "));
  }
  std::string operator()(const Tensor& tensor) const { return TensorText(tensor); }
};

// Returns "[N, 9]"; with the separator "x", "[3x9]".
std::string FormulasText(const std::vector<Expr>& formulas, std::string_view separator = ", ") {
  std::vector<std::string> texts;
  for (const Expr& formula : formulas) {
    std::optional<int64_t> number = AsConstant(formula);
    texts.push_back(number ? fmt::format("{}", *number) : Print(formula));
  }
  return fmt::format("[{}]", fmt::join(texts, separator));
}

std::string TypeText(const Value& value) {
  std::string shape = FormulasText(value.shape, StaticShape(value) ? "x" : ", ");
  std::string elements = value.elements.empty() ? "" : " = " + FormulasText(value.elements);
  return fmt::format("{}{}{}", ToString(value.dtype), shape, elements);
}

std::string OperandsText(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (ValueId id : ids) names.push_back(id == kNoValue ? "_" : NameText(graph.value(id).name));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string NodeText(const Graph& graph, const Node& node) {
  std::string text = fmt::format("{} = {}({})", OperandsText(graph, node.outputs),
                                 ToString(node.op), OperandsText(graph, node.inputs));
  if (!node.attributes.empty()) {
    std::vector<std::string> attributes;
    for (const auto& [key, value] : node.attributes) {
      attributes.push_back(NameText(key) + ": " + std::visit(AttributeText{}, value));
    }
    text += fmt::format(" {{{}}}", fmt::join(attributes, ", "));
  }
  if (node.layout == DataLayout::kChannelsLast) text += " channels_last";
  std::vector<std::string> types;
  for (ValueId id : node.outputs) {
    types.push_back(id == kNoValue ? "_" : TypeText(graph.value(id)));
  }
  text += fmt::format(" : {}", fmt::join(types, ", "));
  bool named_as_output = !node.outputs.empty() && node.outputs[0] != kNoValue &&
                         graph.value(node.outputs[0]).name == node.name;
  return named_as_output ? text : text + " @" + NameText(node.name);
}

// Appends the text between the braces of a graph, with `indent` before each line.
void AppendItems(const Graph& graph, const std::string& indent, std::string& text) {
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    text += fmt::format("{}input {}: {}\n", indent, NameText(value.name), TypeText(value));
  }
  std::vector<bool> computed(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.outputs) {
      if (id != kNoValue) computed[id] = true;
    }
  }
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    bool sizes = !value.elements.empty() && !computed[id];
    if (!value.constant && !sizes) continue;
    text += fmt::format("{}{} {}: {}\n", indent, sizes ? "sizes" : "constant", NameText(value.name),
                        TypeText(value));
  }
  for (const Node& node : graph.nodes) {
    text += indent + NodeText(graph, node) + "\n";
    for (const Graph& body : node.bodies) {
      text += fmt::format("{}  body {} {{\n", indent, NameText(body.name));
      AppendItems(body, indent + "    ", text);
      text += indent + "  }\n";
    }
  }
  std::string results = OperandsText(graph, graph.outputs);
  text += fmt::format("{}return{}{}\n", indent, results.empty() ? "" : " ", results);
  for (const Agreement& pair : graph.agreements) {
    text +=
        fmt::format("{}agree {} {}\n", indent, FormulasText({pair.a, pair.b}), Quoted(pair.where));
  }
}

}  // namespace

std::string Print(const Graph& graph) {
  std::string text = fmt::format("graph {} {{\n", NameText(graph.name));
  for (const Var& var : graph.shape_vars) {
    text += fmt::format("  dim {} in {}..{} usual {}\n", NameText(var->name), var->low, var->high,
                        var->usual);
  }
  AppendItems(graph, "  ", text);
  return text + "}\n";
}

}  // namespace tcc
