#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

constexpr int64_t kWordBits = 32;

// The extents of a product with words, all of them known.
struct WordExtents {
  int64_t bits = 0;     // of a number
  int64_t numbers = 0;  // in a word
  int64_t words = 0;    // along the depth
  int64_t columns = 0;
  int64_t blocks = 0;  // of words with a scale of their own
};

StatusOr<WordExtents> ExtentsOf(const NodeLowering& node) {
  WordExtents extents{.bits = node.node().Int("bits", 4)};
  if (extents.bits != 2 && extents.bits != 4 && extents.bits != 8) {
    return node.Error("numbers have {} bits; expected 2, 4 or 8", extents.bits);
  }
  extents.numbers = kWordBits / extents.bits;
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> words, node.StaticShape(1));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> scale, node.StaticShape(2));
  bool fits = words.size() == 2 && scale.size() == 2 && words[1] == scale[1] && scale[0] > 0 &&
              words[0] % scale[0] == 0 && node.Rank(0) > 0 &&
              IsConstant(node.Shape(0).back(), words[0] * extents.numbers);
  if (!fits) {
    return node.Error("words of shape {} and scales of {} do not fit an operand of {}",
                      ShapeText(node.Shape(1)), ShapeText(node.Shape(2)), ShapeText(node.Shape(0)));
  }
  extents.words = words[0];
  extents.columns = words[1];
  extents.blocks = scale[0];
  return extents;
}

// Returns number t of a word, the lowest first.
Expr NumberOf(const Expr& word, int64_t t, int64_t bits) {
  Expr top = word;
  int64_t above = kWordBits - bits * (t + 1);
  if (above > 0) top = CallOf(ScalarOp::kShiftLeft, {word, Const(kInt32, above)});
  int64_t below = int64_t{1} << (kWordBits - bits);
  return CastTo(kFloat32, FloorDivide(top, IntConst(kInt32, below)));
}

}  // namespace

// out[.., j] = sum over p of scale[b, j] * sum over t of
//              x[.., n p + t] * (number t of words[p, j] - zero[b, j]), b the block of word p
//
// The zero is subtracted from each number, which is exact where it is whole, and not from their
// sum, which might lose all digits to it.
Status LowerMatMulWords(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 4));
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  TCC_ASSIGN_OR_RETURN(WordExtents extents, ExtentsOf(node));
  std::vector<Expr> shape = node.Shape(0);
  shape.pop_back();
  std::vector<Axis> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::string name = d + 1 == shape.size() ? "i" : fmt::format("b{}", d);
    axes.push_back(NodeLowering::MakeAxis(name, shape[d]));
  }
  std::vector<Expr> row = VarsOf(axes);
  Axis p = NodeLowering::MakeAxis("p", extents.words);
  Axis j = NodeLowering::MakeAxis("j", extents.columns);
  Expr word = node.Load(1, {p.var, j.var});
  std::vector<Expr> block = {FloorDivide(p.var, Expr(extents.words / extents.blocks)), j.var};
  Expr sum;
  for (int64_t t = 0; t < extents.numbers; ++t) {
    std::vector<Expr> index = row;
    index.push_back(Expr(p.var) * Expr(extents.numbers) + Expr(t));
    Expr number = NumberOf(word, t, extents.bits);
    if (node.Has(3)) number = number - node.Load(3, block);
    Expr product = CastTo(kFloat32, node.Load(0, index)) * number;
    sum = t == 0 ? product : sum + product;
  }
  axes.push_back(j);
  shape.emplace_back(extents.columns);
  DType type = node.Type(0);
  StoredBuffer out = node.Output(0, type, shape);
  StoredBuffer sums = type == kFloat32 ? out : node.Intermediate("sum", kFloat32, shape);
  node.Reduce({.outputs = {sums},
               .axes = axes,
               .reduce_axes = {p},
               .combiner = SumCombiner(kFloat32),
               .values = {sum * node.Load(2, block)}});
  if (type == kFloat32) return OkStatus();
  std::vector<Axis> places = node.Axes(shape);
  node.Map(out, places, CastTo(type, node.Load(sums, VarsOf(places))), "_round");
  return OkStatus();
}

}  // namespace tcc
