#include <algorithm>

#include "graph/variants/stage_parts.h"
#include "graph/variants/variants.h"
#include "graph/variants/word_product.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

constexpr int64_t kQuad = 4;

// The bytes of a factor, and their zero point.
struct ByteFactor {
  WordFactor bytes;
  Expr zero = Const(kInt32, 0);
};

// Splits a factor into its element and a zero point; nullopt if it is more than that.
std::optional<ByteFactor> SplitFactor(const WordFactor& factor) {
  ByteFactor split{.bytes = factor};
  if (const auto* difference = factor.value.as<Sub>()) {
    split.bytes.value = difference->a;
    split.zero = difference->b;
  }
  const auto* cast = split.bytes.value.as<Cast>();
  bool is_element = cast && Equal(cast->value, Expr(factor.element.get()));
  return is_element ? std::optional(split) : std::nullopt;
}

// Returns whether the element's bytes have another sign than the dot takes for data.
bool TurnsSigns(const WordFactor& factor, ScalarOp dot) {
  return factor.element->dtype.is_signed_integer() != (dot == ScalarOp::kDotI8I8x4);
}

// Returns the data, whose zero point must be one number, with bytes of the sign that the dot takes:
// where theirs is another, they and the zero point are 128 more, or less.
std::optional<ByteFactor> DataOf(const ComputeExpr& product, const WordFactor& factor,
                                 ScalarOp dot) {
  std::optional<ByteFactor> data = SplitFactor(factor);
  if (!data) return std::nullopt;
  for (const auto* axes : {&product.axes, &product.reduce_axes}) {
    for (const Axis& axis : *axes) {
      if (UsesVar(data->zero, axis.var)) return std::nullopt;
    }
  }
  if (TurnsSigns(factor, dot)) {
    const int64_t step = factor.element->dtype.is_signed_integer() ? 128 : -128;
    data->zero = Simplify(data->zero + Const(kInt32, step));
  }
  return data;
}

// Returns the weight in signed bytes, without a zero point.
std::optional<ByteFactor> SignedWeight(const WordFactor& factor) {
  std::optional<ByteFactor> weight = SplitFactor(factor);
  bool fits = weight && IsConstant(weight->zero, 0) && factor.element->dtype.is_signed_integer();
  return fits ? weight : std::nullopt;
}

Expr PackedQuad(const std::vector<Expr>& numbers) {
  Expr word = CallOf(ScalarOp::kBitAnd, {numbers[0], Const(kInt32, 0xff)});
  for (int64_t n = 1; n < kQuad; ++n) {
    Expr byte = CallOf(ScalarOp::kBitAnd, {numbers[n], Const(kInt32, 0xff)});
    Expr placed = CallOf(ScalarOp::kShiftLeft, {byte, Const(kInt32, 8 * n)});
    word = CallOf(ScalarOp::kBitOr, {word, placed});
  }
  return word;
}

// Returns the word with 128 added to each of its signed bytes, or subtracted from unsigned ones.
Expr BytesOfOtherSign(const Expr& word) {
  return CallOf(ScalarOp::kBitXor, {word, Const(kInt32, -0x7f7f7f80)});
}

// A program whose product of bytes reads words of four.
class QuadProgram {
 public:
  QuadProgram(const TensorProgram& program, const WordProduct& product, ScalarOp dot)
      : program_(program), product_(product), result_(program), dot_(dot) {}

  std::optional<TensorProgram> Build() {
    std::optional<ByteFactor> data = DataOf(Stage(), product_.data, dot_);
    std::optional<ByteFactor> weight = SignedWeight(product_.weight);
    if (!data || !weight || !AddProduct(*data, *weight)) return std::nullopt;
    // Terms that a predicate leaves out are in the sums of the weight.
    if (!IsConstant(Stage().predicate, 1)) return Padded(data->zero);
    std::optional<TensorProgram> merged = MergedAxesVariant(result_);
    return merged ? std::move(merged) : std::move(result_);
  }

 private:
  const ComputeExpr& Stage() const {
    return std::get<ComputeExpr>(program_.stages[product_.stage]);
  }

  bool AddProduct(const ByteFactor& data, const ByteFactor& weight) {
    const WordPacking packing = {kQuad, PackedQuad};
    WordPacking data_packing = packing;
    if (TurnsSigns(data.bytes, dot_)) {
      data_packing.pack = [](const auto& numbers) { return BytesOfOtherSign(PackedQuad(numbers)); };
    }
    Buffer quads = AddWords(result_, product_, data.bytes, "_quads", kQuad);
    Buffer kernel = AddWords(result_, product_, weight.bytes, "_weight", kQuad);
    auto quad_stage = WordStage(program_, product_, data.bytes, quads, data_packing);
    auto kernel_stage = WordStage(program_, product_, weight.bytes, kernel, packing);
    if (!quad_stage || !kernel_stage) return false;
    quads_ = quads.var;

    ComputeExpr product = Stage();
    SumWords(product, product_, dot_, quads, kernel);
    std::vector<TensorExpr> stages = {*std::move(quad_stage)};
    std::vector<TensorExpr> first = {*std::move(kernel_stage)};
    if (IsConstant(data.zero, 0)) {
      stages.emplace_back(std::move(product));
    } else {
      auto columns = SumPartially(result_, Stage(), weight.bytes.value, "_columns");
      if (!columns) return false;
      Buffer sums = AddIntermediate(result_, product.name + "_sums", kInt32, OutShape());
      product.outputs = {sums};
      first.emplace_back(columns->stage);
      stages.emplace_back(std::move(product));
      stages.emplace_back(LessZeros(sums, *columns, data.zero));
    }
    auto at = result_.stages.begin() + static_cast<std::ptrdiff_t>(product_.stage);
    at = result_.stages.erase(at);
    result_.stages.insert(at, stages.begin(), stages.end());
    result_.stages.insert(result_.stages.begin(), first.begin(), first.end());
    return true;
  }

  std::vector<Expr> OutShape() const { return Stage().outputs[0].shape; }

  // Returns the stage out = sums - zero * columns.
  ComputeExpr LessZeros(const Buffer& sums, const PartialSums& columns, const Expr& zero) {
    ComputeExpr stage = Stage();
    Substitution values;
    stage.name = FreeName(result_, stage.name + "_less");
    stage.axes = FreshAxes(Stage().axes, values);
    stage.reduce_axes.clear();
    stage.combiner = {};
    stage.predicate = True();
    Expr sum = Make<Load>(sums.var, stage.indices[0]);
    Expr column = Make<Load>(columns.buffer.var, columns.indices);
    stage.values = {Substitute(sum - zero * column, values)};
    for (Expr& index : stage.indices[0]) index = Substitute(index, values);
    return stage;
  }

  // Surrounds the input with its zero point.
  std::optional<TensorProgram> Padded(const Expr& zero) {
    std::optional<TensorProgram> padded = ZeroPaddingVariant(result_);
    if (!padded) return std::nullopt;
    // The quads are made where they are padded.
    std::erase(padded->kept, quads_);
    for (TensorExpr& expr : padded->stages) {
      auto* stage = std::get_if<ComputeExpr>(&expr);
      const auto* select = stage ? stage->values[0].as<Select>() : nullptr;
      const auto* load = select ? select->then_value.as<Load>() : nullptr;
      if (!load || load->buffer != quads_) continue;
      stage->values = {
          SelectOf(select->condition, select->then_value, PackedQuad({zero, zero, zero, zero}))};
      return padded;
    }
    return std::nullopt;
  }

  const TensorProgram& program_;
  const WordProduct& product_;
  TensorProgram result_;
  ScalarOp dot_;
  Var quads_;
};

}  // namespace

std::optional<TensorProgram> IntegerQuadsVariant(const TensorProgram& program,
                                                 std::optional<ScalarOp> dot) {
  std::optional<WordProduct> product = FindWordProduct(program, BytesLessZero());
  if (!product) return std::nullopt;
  if (!dot) {
    dot = product->data.element->dtype.is_signed_integer() ? ScalarOp::kDotI8I8x4
                                                           : ScalarOp::kDotU8I8x4;
  }
  return QuadProgram(program, *product, *dot).Build();
}

}  // namespace tcc
