#include <cmath>
#include <numbers>

#include "graph/passes/passes.h"
#include "graph/passes/pattern.h"

namespace tcc {
namespace {

Pattern X() {
  return AnyValue("x");
}

Node OfX(const Rewrite& rewrite) {
  Node node;
  node.inputs = {rewrite.Bound("x")};
  return node;
}

// x / 2 * (1 + tail), however it is bracketed.
Pattern HalfTimesOnePlus(const Pattern& tail) {
  Pattern sum = NodePattern(OpKind::kAdd, {tail, Number(1)});
  return Either({ProductOf(X(), Number(0.5), sum),
                 NodePattern(OpKind::kMul, {Quotient(X(), 2), sum}),
                 Quotient(NodePattern(OpKind::kMul, {X(), sum}), 2)});
}

Pattern GeluByErf() {
  return HalfTimesOnePlus(NodePattern(OpKind::kErf, {Quotient(X(), std::numbers::sqrt2)}));
}

// tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), the argument also as a product with 1 + 0.044715 x^2.
Pattern GeluByTanh() {
  auto mul = [](const Pattern& a, const Pattern& b) { return NodePattern(OpKind::kMul, {a, b}); };
  auto add = [](const Pattern& a, const Pattern& b) { return NodePattern(OpKind::kAdd, {a, b}); };
  constexpr double kCubic = 0.044715;
  Pattern slope = Number(std::sqrt(2 / std::numbers::pi));
  Pattern cube = Either({NodePattern(OpKind::kPow, {X(), Number(3)}), mul(Square(X()), X())});
  Pattern sum =
      add(X(), Either({mul(cube, Number(kCubic)), ProductOf(X(), Number(kCubic), Square(X())),
                       mul(mul(mul(X(), Number(kCubic)), X()), X())}));
  Pattern factor = add(
      Either({mul(Square(X()), Number(kCubic)), mul(mul(X(), Number(kCubic)), X())}), Number(1));
  Pattern argument = Either({mul(sum, slope), ProductOf(X(), slope, factor)});
  return HalfTimesOnePlus(NodePattern(OpKind::kTanh, {argument}));
}

std::optional<Node> ErfGelu(Rewrite& rewrite) {
  Node node = OfX(rewrite);
  node.attributes["approximate"] = std::string("none");
  return node;
}

std::optional<Node> TanhGelu(Rewrite& rewrite) {
  Node node = OfX(rewrite);
  node.attributes["approximate"] = std::string("tanh");
  return node;
}

// x * sigmoid(alpha x)
Pattern XTimesSigmoid() {
  Pattern argument = Either({X(), NodePattern(OpKind::kMul, {X(), AnyNumber("alpha")})});
  return NodePattern(OpKind::kMul, {X(), NodePattern(OpKind::kSigmoid, {argument})});
}

std::optional<Node> Swish(Rewrite& rewrite) {
  Node node = OfX(rewrite);
  bool scaled = rewrite.match.values.contains("alpha");
  node.attributes["alpha"] = scaled ? rewrite.NumberAt("alpha") : 1.0;
  return node;
}

// x * tanh(log(1 + exp(x))), where the logarithm is an operator of its own.
Pattern XTimesTanhSoftplus() {
  return NodePattern(OpKind::kMul,
                     {X(), NodePattern(OpKind::kTanh, {NodePattern(OpKind::kSoftplus, {X()})})});
}

std::optional<Node> Mish(Rewrite& rewrite) {
  return OfX(rewrite);
}

// min(max(x + 3, 0), 6)
Pattern Ramp() {
  Pattern moved = NodePattern(OpKind::kAdd, {X(), Number(3)});
  return Either(
      {NodePattern(OpKind::kClip, {moved, Number(0), Number(6)}),
       NodePattern(OpKind::kMin, {NodePattern(OpKind::kRelu, {moved}), Number(6)}),
       NodePattern(OpKind::kMin, {NodePattern(OpKind::kMax, {moved, Number(0)}), Number(6)})});
}

Pattern RampBySix() {
  return Quotient(Ramp(), 6);
}

std::optional<Node> HardSigmoid(Rewrite& rewrite) {
  Node node = OfX(rewrite);
  node.attributes["alpha"] = 1.0 / 6;
  node.attributes["beta"] = 0.5;
  return node;
}

Pattern XTimesRampBySix() {
  Pattern product = NodePattern(OpKind::kMul, {X(), Ramp()});
  return Either({Quotient(product, 6), NodePattern(OpKind::kMul, {X(), RampBySix()}),
                 NodePattern(OpKind::kMul, {Quotient(X(), 6), Ramp()})});
}

Pattern XTimesHardSigmoid() {
  return NodePattern(OpKind::kMul, {X(), NodePattern(OpKind::kHardSigmoid, {X()}, "gate")});
}

std::optional<Node> HardSwish(Rewrite& rewrite) {
  if (rewrite.match.named.contains("gate")) {
    const Node& gate = rewrite.NodeAt("gate");
    bool sixth = std::fabs(gate.Float("alpha", 0.2) - 1.0 / 6) < 1e-6;
    if (!sixth || gate.Float("beta", 0.5) != 0.5) return std::nullopt;
  }
  return OfX(rewrite);
}

// clang-format off
constexpr RewriteRule kRules[] = {
    // name                   root          result                pattern             replacement
    {"gelu_erf",              OpKind::kMul, OpKind::kGelu,        GeluByErf,          ErfGelu},
    {"gelu_erf_halved",       OpKind::kDiv, OpKind::kGelu,        GeluByErf,          ErfGelu},
    {"gelu_tanh",             OpKind::kMul, OpKind::kGelu,        GeluByTanh,         TanhGelu},
    {"swish",                 OpKind::kMul, OpKind::kSwish,       XTimesSigmoid,      Swish},
    {"mish",                  OpKind::kMul, OpKind::kMish,        XTimesTanhSoftplus, Mish},
    {"hard_swish_divided",    OpKind::kDiv, OpKind::kHardSwish,   XTimesRampBySix,    HardSwish},
    {"hard_swish",            OpKind::kMul, OpKind::kHardSwish,   XTimesRampBySix,    HardSwish},
    {"hard_sigmoid_divided",  OpKind::kDiv, OpKind::kHardSigmoid, RampBySix,          HardSigmoid},
    {"hard_sigmoid",          OpKind::kMul, OpKind::kHardSigmoid, RampBySix,          HardSigmoid},
    {"hard_swish_gate",       OpKind::kMul, OpKind::kHardSwish,   XTimesHardSigmoid,  HardSwish},
};
// clang-format on

}  // namespace

Status RewriteActivations(Graph& graph) {
  return ApplyRules(graph, kRules);
}

}  // namespace tcc
