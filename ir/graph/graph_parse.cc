#include <absl/strings/ascii.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "ir/graph/graph_bodies.h"
#include "ir/text/parser.h"

// Parses the text of graph_text.cc, which has the grammar.
namespace tcc {
namespace {

bool IsNameChar(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-';
}

using Constants = std::unordered_map<std::string, Tensor>;

Constants ConstantsOf(const Graph& graph) {
  Constants constants;
  for (const Value& value : graph.values) {
    if (value.constant) constants.emplace(value.name, *value.constant);
  }
  return constants;
}

class GraphParser {
 public:
  GraphParser(const std::string& text, const Graph& constants)
      : text_(text), constants_(&constants), tensors_(ConstantsOf(constants)) {}

  StatusOr<Graph> Parse() {
    TCC_RETURN_IF_ERROR(Expect("graph"));
    TCC_ASSIGN_OR_RETURN(graph_.name, Name());
    TCC_RETURN_IF_ERROR(Items());
    SkipSpace();
    if (at_ != text_.size()) return Error("the end");
    TCC_RETURN_IF_ERROR(VerifyGraph(graph_));
    return std::move(graph_);
  }

 private:
  Status Items() {
    TCC_RETURN_IF_ERROR(Expect("{"));
    while (!AcceptWord("return")) TCC_RETURN_IF_ERROR(Item());
    if (!At("}") && !AtWord("agree")) {
      TCC_ASSIGN_OR_RETURN(graph_.outputs, Uses());
    }
    while (AcceptWord("agree")) TCC_RETURN_IF_ERROR(Agree());
    return Expect("}");
  }

  Status Item() {
    if (AcceptWord("body")) return Body();
    if (AcceptWord("dim")) return Dimension();
    if (AcceptWord("input")) return Input();
    if (AcceptWord("constant")) return Constant();
    if (AcceptWord("sizes")) return TypedName().status();
    return NodeLine();
  }

  // Parses a body of the preceding node. Its constants come from the same body of the same node of
  // the given graph; if that is missing, from the enclosing graph.
  Status Body() {
    if (graph_.nodes.empty()) return Error("a node before its body");
    if (++depth_ > kMaxBodyDepth) {
      return InvalidInput("bodies are nested more than {} deep", kMaxBodyDepth);
    }
    size_t node = graph_.nodes.size() - 1;
    size_t body = graph_.nodes[node].bodies.size();
    bool known = constants_ != nullptr && node < constants_->nodes.size() &&
                 body < constants_->nodes[node].bodies.size();
    const Graph* around = constants_;
    constants_ = known ? &around->nodes[node].bodies[body] : nullptr;
    Constants tensors = known ? ConstantsOf(*constants_) : tensors_;
    Graph graph;
    graph.shape_vars = graph_.shape_vars;
    std::unordered_map<std::string, ValueId> ids;
    auto exchange = [&] {
      std::swap(graph, graph_);
      std::swap(ids, ids_);
      std::swap(tensors, tensors_);
    };
    exchange();
    TCC_ASSIGN_OR_RETURN(graph_.name, Name());
    TCC_RETURN_IF_ERROR(Items());
    exchange();
    graph_.nodes.back().bodies.push_back(std::move(graph));
    constants_ = around;
    --depth_;
    return OkStatus();
  }

  Status Dimension() {
    TCC_ASSIGN_OR_RETURN(std::string name, Name());
    TCC_RETURN_IF_ERROR(Expect("in"));
    TCC_ASSIGN_OR_RETURN(int64_t low, Integer());
    TCC_RETURN_IF_ERROR(Expect(".."));
    TCC_ASSIGN_OR_RETURN(int64_t high, Integer());
    if (low > high) return Error("a range");
    Var var = ShapeVar(name, low, high);
    if (AcceptWord("usual")) {
      TCC_ASSIGN_OR_RETURN(int64_t usual, Integer());
      if (usual < low || usual > high) return Error("a usual value in the range");
      var = ShapeVar(name, low, high, usual);
    }
    graph_.shape_vars.push_back(var);
    vars_[name] = graph_.shape_vars.back();
    return OkStatus();
  }

  Status Input() {
    TCC_ASSIGN_OR_RETURN(ValueId id, TypedName());
    graph_.inputs.push_back(id);
    return OkStatus();
  }

  Status Constant() {
    TCC_ASSIGN_OR_RETURN(ValueId id, TypedName());
    Value& value = graph_.values[id];
    auto found = tensors_.find(value.name);
    if (found == tensors_.end()) return InvalidInput("constant '{}' was not given", value.name);
    value.constant = found->second;
    return OkStatus();
  }

  Status Agree() {
    TCC_RETURN_IF_ERROR(Expect("["));
    TCC_ASSIGN_OR_RETURN(Expr a, Dim());
    TCC_RETURN_IF_ERROR(Expect(","));
    TCC_ASSIGN_OR_RETURN(Expr b, Dim());
    TCC_RETURN_IF_ERROR(Expect("]"));
    TCC_ASSIGN_OR_RETURN(std::string where, Name());
    graph_.agreements.push_back({a, b, std::move(where)});
    return OkStatus();
  }

  StatusOr<ValueId> TypedName() {
    TCC_ASSIGN_OR_RETURN(std::string name, Name());
    TCC_RETURN_IF_ERROR(Expect(":"));
    TCC_ASSIGN_OR_RETURN(ValueId id, Define(name));
    TCC_RETURN_IF_ERROR(Type(graph_.values[id]));
    return id;
  }

  Status NodeLine() {
    TCC_ASSIGN_OR_RETURN(std::vector<std::string> outputs, Operands());
    TCC_RETURN_IF_ERROR(Expect("="));
    TCC_ASSIGN_OR_RETURN(std::string op, Name());
    std::optional<OpKind> kind = FindOpKind(op);
    if (!kind) return Error("an operator");
    Node node{.name = {}, .op = *kind};
    TCC_RETURN_IF_ERROR(Expect("("));
    if (!At(")")) {
      TCC_ASSIGN_OR_RETURN(node.inputs, Uses());
    }
    TCC_RETURN_IF_ERROR(Expect(")"));
    if (Accept("{")) TCC_RETURN_IF_ERROR(Attributes(node));
    if (AcceptWord("channels_last")) node.layout = DataLayout::kChannelsLast;
    TCC_RETURN_IF_ERROR(Expect(":"));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (i > 0) TCC_RETURN_IF_ERROR(Expect(","));
      if (outputs[i].empty()) {
        TCC_RETURN_IF_ERROR(Expect("_"));
        node.outputs.push_back(kNoValue);
        continue;
      }
      TCC_ASSIGN_OR_RETURN(ValueId id, Define(outputs[i]));
      TCC_RETURN_IF_ERROR(Type(graph_.values[id]));
      node.outputs.push_back(id);
    }
    node.name = outputs[0];
    if (Accept("@")) {
      TCC_ASSIGN_OR_RETURN(node.name, Name());
    }
    graph_.nodes.push_back(std::move(node));
    return OkStatus();
  }

  Status Attributes(Node& node) {
    do {
      TCC_ASSIGN_OR_RETURN(std::string key, Name());
      TCC_RETURN_IF_ERROR(Expect(":"));
      TCC_ASSIGN_OR_RETURN(Attribute value, AttributeValue());
      if (!node.attributes.emplace(key, std::move(value)).second) return Error("another attribute");
    } while (Accept(","));
    return Expect("}");
  }

  StatusOr<Attribute> AttributeValue() {
    if (At("\"")) {
      TCC_ASSIGN_OR_RETURN(std::string value, Name());
      return Attribute(std::move(value));
    }
    if (Accept("doubles[")) {
      std::vector<double> values;
      while (!Accept("]")) {
        if (!values.empty()) TCC_RETURN_IF_ERROR(Expect(","));
        TCC_ASSIGN_OR_RETURN(double value, Double());
        values.push_back(value);
      }
      return Attribute(std::move(values));
    }
    if (Accept("[")) {
      std::vector<int64_t> values;
      while (!Accept("]")) {
        if (!values.empty()) TCC_RETURN_IF_ERROR(Expect(","));
        TCC_ASSIGN_OR_RETURN(int64_t value, Integer());
        values.push_back(value);
      }
      return Attribute(std::move(values));
    }
    if (size_t open = text_.find_first_of("[,}", at_); open < text_.size() && text_[open] == '[') {
      TCC_ASSIGN_OR_RETURN(Tensor tensor, TensorValue());
      return Attribute(std::move(tensor));
    }
    return Number();
  }

  // Parses an integer, or a double: it has a point or an exponent, or is not finite.
  StatusOr<Attribute> Number() {
    SkipSpace();
    size_t end = text_.find_first_of(",}", at_);
    std::string_view word = std::string_view(text_).substr(at_, end - at_);
    if (word.find_first_of(".ein") == std::string_view::npos) {
      TCC_ASSIGN_OR_RETURN(int64_t value, Integer());
      return Attribute(value);
    }
    TCC_ASSIGN_OR_RETURN(double value, Double());
    return Attribute(value);
  }

  StatusOr<Tensor> TensorValue() {
    Value type;
    TCC_RETURN_IF_ERROR(Type(type));
    std::optional<std::vector<int64_t>> shape = StaticShape(type);
    if (!shape) return Error("a tensor of constant shape");
    TCC_RETURN_IF_ERROR(Expect("("));
    // Each element takes at least a byte of text, which bounds the memory that a shape can ask for.
    TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(type.dtype, *shape));
    if (static_cast<size_t>(bytes) > 8 * text_.size()) return Error("as many elements");
    Tensor tensor = MakeZeroTensor(type.dtype, *shape);
    int64_t count = type.dtype.is_storage_only() ? bytes : bytes / type.dtype.bytes();
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) TCC_RETURN_IF_ERROR(Expect(","));
      TCC_RETURN_IF_ERROR(Element(tensor, i));
    }
    TCC_RETURN_IF_ERROR(Expect(")"));
    return tensor;
  }

  Status Element(Tensor& tensor, int64_t index) {
    if (tensor.dtype.is_float()) {
      TCC_ASSIGN_OR_RETURN(double value, Double());
      SetElement(tensor, index, value);
      return OkStatus();
    }
    TCC_ASSIGN_OR_RETURN(int64_t value, Integer());
    if (tensor.dtype.is_storage_only()) {
      MutableBytes(tensor)[index] = static_cast<uint8_t>(value);
    } else {
      SetElementInt(tensor, index, value);
    }
    return OkStatus();
  }

  // Parses "f32[1x3]", "f32[N, 3]" or, with elements, "i64[2] = [N, 9]".
  Status Type(Value& value) {
    SkipSpace();
    size_t open = text_.find('[', at_);
    if (open == std::string::npos) return Error("a type");
    std::optional<DType> dtype = ParseDType(std::string_view(text_).substr(at_, open - at_));
    if (!dtype) return Error("a type");
    value.dtype = *dtype;
    at_ = open + 1;
    while (!Accept("]")) {
      if (!value.shape.empty() && !Accept("x")) TCC_RETURN_IF_ERROR(Expect(","));
      TCC_ASSIGN_OR_RETURN(Expr dim, Dim());
      value.shape.push_back(dim);
    }
    if (!Accept("=")) return OkStatus();
    TCC_RETURN_IF_ERROR(Expect("["));
    while (!Accept("]")) {
      if (!value.elements.empty()) TCC_RETURN_IF_ERROR(Expect(","));
      TCC_ASSIGN_OR_RETURN(Expr element, Dim());
      value.elements.push_back(element);
    }
    return OkStatus();
  }

  // Parses a number, or an expression up to the comma or bracket that ends it.
  StatusOr<Expr> Dim() {
    SkipSpace();
    size_t end = text_.find_first_not_of("0123456789", at_);
    if (end != at_ && end < text_.size() && std::string_view("x,]").find(text_[end]) < 3) {
      TCC_ASSIGN_OR_RETURN(int64_t extent, Integer());
      return Expr(extent);
    }
    int depth = 0;
    for (end = at_; end < text_.size(); ++end) {
      char c = text_[end];
      if (depth == 0 && (c == ',' || c == ']')) break;
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
    }
    TCC_ASSIGN_OR_RETURN(Expr dim, ParseExpr(text_.substr(at_, end - at_), vars_));
    at_ = end;
    return dim;
  }

  // Parses a list of names; an absent operand is empty.
  StatusOr<std::vector<std::string>> Operands() {
    std::vector<std::string> names;
    do {
      TCC_ASSIGN_OR_RETURN(std::string name, AcceptWord("_") ? std::string() : Name());
      names.push_back(std::move(name));
    } while (Accept(","));
    return names;
  }

  StatusOr<std::vector<ValueId>> Uses() {
    TCC_ASSIGN_OR_RETURN(std::vector<std::string> names, Operands());
    std::vector<ValueId> ids;
    for (const std::string& name : names) {
      auto found = ids_.find(name);
      if (!name.empty() && found == ids_.end()) {
        return InvalidInput("value '{}' is used before it is defined", name);
      }
      ids.push_back(name.empty() ? kNoValue : found->second);
    }
    return ids;
  }

  StatusOr<ValueId> Define(const std::string& name) {
    ValueId id = graph_.AddValue({.name = name, .dtype = {}});
    if (!ids_.emplace(name, id).second) return InvalidInput("two values are named '{}'", name);
    return id;
  }

  // Parses a bare or a quoted name.
  StatusOr<std::string> Name() {
    SkipSpace();
    std::string name;
    if (!Accept("\"")) {
      while (at_ < text_.size() && IsNameChar(text_[at_])) name += text_[at_++];
      if (name.empty()) return Error("a name");
      return name;
    }
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        name += text_[at_++];
        continue;
      }
      unsigned byte = 0;
      const char* digits = text_.data() + std::min(at_ + 2, text_.size());
      const char* end = text_.data() + std::min(at_ + 4, text_.size());
      auto [stop, error] = std::from_chars(digits, end, byte, 16);
      if (error != std::errc() || stop != digits + 2) return Error("\\xHH");
      name += static_cast<char>(byte);
      at_ += 4;
    }
    TCC_RETURN_IF_ERROR(Expect("\""));
    return name;
  }

  template <typename T>
  StatusOr<T> FromChars(const char* what) {
    SkipSpace();
    T value{};
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return Error(what);
    at_ = end - text_.data();
    return value;
  }
  StatusOr<int64_t> Integer() { return FromChars<int64_t>("an integer"); }
  StatusOr<double> Double() { return FromChars<double>("a number"); }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool At(std::string_view token) {
    SkipSpace();
    return text_.compare(at_, token.size(), token) == 0;
  }
  bool Accept(std::string_view token) {
    if (!At(token)) return false;
    at_ += token.size();
    return true;
  }
  // Returns whether a whole bare word comes next, not the beginning of a longer one.
  bool AtWord(std::string_view word) {
    if (!At(word)) return false;
    size_t end = at_ + word.size();
    return end == text_.size() || !IsNameChar(text_[end]);
  }
  bool AcceptWord(std::string_view word) {
    if (!AtWord(word)) return false;
    at_ += word.size();
    return true;
  }
  Status Expect(std::string_view token) {
    return Accept(token) ? OkStatus() : Error(fmt::format("'{}'", token));
  }
  Status Error(std::string_view expected) {
    auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<int64_t>(at_), '\n');
    return InvalidInput("graph text, line {}: expected {} at '{}'", line, expected,
                        text_.substr(at_, 20));
  }

  const std::string& text_;
  const Graph* constants_;  // the graph that corresponds to graph_; may be nullptr
  Constants tensors_;
  size_t at_ = 0;
  int depth_ = 0;
  Graph graph_;
  std::map<std::string, Var> vars_;
  std::unordered_map<std::string, ValueId> ids_;
};

}  // namespace

StatusOr<Graph> ParseGraph(const std::string& text, const Graph& constants) {
  return GraphParser(text, constants).Parse();
}

}  // namespace tcc
