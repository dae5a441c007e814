#include <algorithm>
#include <bit>

#include "graph/variants/stage_parts.h"
#include "graph/variants/value_set.h"
#include "graph/variants/variants.h"
#include "graph/variants/word_product.h"
#include "ir/expr/combiner.h"
#include "ir/expr/compare.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

constexpr int64_t kWordBits = 32;  // terms of a word
constexpr int kMaxPlanes = 4;      // of one operand
constexpr int kMaxPlanePairs = 8;  // more take longer than products of bytes
constexpr int64_t kMinTerms = 64;  // along the packed axis, or words are mostly empty

// Zen 4 takes as long to pack an element of two bits as for some 140 products of bytes: 2 bits by 1
// take 0.66 of the time of bytes with 512 products of each element, 0.45 with 4608.
constexpr double kMinUses = 512;
constexpr int kMinVectorBytes = 32;

double UsualExtent(const Expr& extent) {
  return static_cast<double>(AtUsual(extent).value_or(0));
}

using Sets = std::span<const std::optional<ValueSet>>;

Expr Word(int64_t number) {
  return Const(kInt32, number);
}

Expr CommonBits(const Expr& a, const Expr& b) {
  return CallOf(ScalarOp::kBitAnd, {a, b});
}

// An integer by bits: base + the sum over i of coefficient i * bit i, with bit i = bit `shift` + i
// of the integer less `base`.
struct Planes {
  int64_t base = 0;
  int shift = 0;
  int count = 1;
  bool is_signed = false;  // the last coefficient is negative

  int64_t Coefficient(int plane) const {
    const int64_t power = int64_t{1} << (shift + plane);
    return is_signed && plane + 1 == count ? -power : power;
  }
};

// Returns the fewest planes for these values. Those without a base come first, as a base takes sums
// of the other operand; so does one that is `zero`, which the product subtracts.
Planes PlanesFor(const ValueSet& values, int64_t zero) {
  const int64_t low = values.low - zero, high = values.high - zero;
  const int shift = std::countr_zero(static_cast<uint64_t>(values.step));
  auto bits = [&](int64_t number) {
    return static_cast<int>(std::bit_width(static_cast<uint64_t>(number) >> shift));
  };
  const Planes from_low{values.low, shift, std::max(bits(high - low), 1), false};
  if (low % values.step != 0) return from_low;
  const bool is_signed = low < 0;
  Planes plain{zero, shift, std::max(bits(std::max<int64_t>(high, 0)), is_signed ? 0 : 1),
               is_signed};
  if (is_signed) plain.count = std::max(plain.count, bits(-low - values.step)) + 1;
  return plain.count <= from_low.count ? plain : from_low;
}

// A factor of the product: integers less a zero point.
struct BitFactor {
  WordFactor factor;
  Expr integer;         // the element as i32
  Expr zero = Word(0);  // is subtracted from it
  std::optional<int64_t> known_zero = {};
  ValueSet values = {};  // of the integer
  Planes planes = {};

  // Returns the factor less the sum of its planes.
  Expr Rest() const { return Simplify(Word(planes.base) - zero); }
};

// Returns the values of a buffer's elements.
std::optional<ValueSet> SetOf(const TensorProgram& program, Sets sets, const Var& buffer) {
  for (size_t i = 0; i < program.inputs.size() && i < sets.size(); ++i) {
    if (program.inputs[i].var == buffer) return sets[i];
  }
  return ValuesOfType(buffer.dtype());
}

// Returns the values of an element that is cast to other integers, all of which hold them; nullopt
// of other expressions.
std::optional<ValueSet> ValuesOf(const TensorProgram& program, Sets sets, const Expr& expr) {
  if (const auto* load = expr.as<Load>()) return SetOf(program, sets, load->buffer);
  if (std::optional<int64_t> number = AsConstant(expr)) return ValueSet{*number, *number, 1};
  const auto* cast = expr.as<Cast>();
  const std::optional<ValueSet> all = cast ? ValuesOfType(cast->dtype) : std::nullopt;
  const std::optional<ValueSet> values = all ? ValuesOf(program, sets, cast->value) : std::nullopt;
  const bool fits = values && all->low <= values->low && values->high <= all->high;
  return fits ? values : std::nullopt;
}

// Returns what is cast, perhaps more than once.
const Expr& BehindCasts(const Expr& expr) {
  const auto* cast = expr.as<Cast>();
  return cast ? BehindCasts(cast->value) : expr;
}

bool IsElement(const Expr& expr) {
  return BehindCasts(expr).as<Load>() != nullptr;
}

// Splits a factor into its element and a zero point that no reduced axis changes; nullopt if it is
// more than that.
std::optional<BitFactor> SplitFactor(const TensorProgram& program, Sets sets,
                                     const ComputeExpr& product, const WordFactor& factor) {
  BitFactor split{.factor = factor, .integer = factor.value};
  if (const auto* difference = factor.value.as<Sub>()) {
    split.integer = difference->a;
    split.zero = difference->b;
  }
  if (!IsElement(split.integer)) return std::nullopt;
  for (const Axis& axis : product.reduce_axes) {
    if (UsesVar(split.zero, axis.var)) return std::nullopt;
  }
  const std::optional<ValueSet> values = ValuesOf(program, sets, split.integer);
  const std::optional<ValueSet> zeros = ValuesOf(program, sets, split.zero);
  if (!values) return std::nullopt;
  split.values = *values;
  if (zeros && zeros->low == zeros->high) {
    split.known_zero = zeros->low;
    split.zero = Word(zeros->low);
  }
  return split;
}

bool ChoosePlanes(BitFactor& factor) {
  factor.planes = PlanesFor(factor.values, factor.known_zero.value_or(0));
  return factor.planes.count <= kMaxPlanes;
}

// Returns whether the factor is an element, perhaps less an element or a number.
bool MayBeBits(const Expr& factor) {
  const auto* difference = factor.as<Sub>();
  if (!difference) return IsElement(factor);
  const bool is_zero = IsElement(difference->b) || AsConstant(BehindCasts(difference->b));
  return is_zero && IsElement(difference->a);
}

// Returns where in its buffer a factor's element lies: the buffer itself or, under a predicate, all
// places that the product reads.
Reach PlacesOf(const ComputeExpr& product, const WordFactor& factor, const Buffer& buffer) {
  if (!IsConstant(product.predicate, 1)) return ReachOf(product, *factor.element);
  Reach whole;
  for (const Expr& extent : buffer.shape) whole.push_back({0, extent});
  return whole;
}

// The words of a factor: its shape, with places along the packed axis in words, and the planes
// behind these.
struct PlaneWords {
  Buffer buffer;
  ComputeExpr stage;
  Reach reach;
  size_t dim = 0;  // of the words; the planes are the next one

  // Returns the load of a plane's word where the factor's element is read.
  Expr At(const WordFactor& factor, const Expr& word, const Expr& plane) const {
    std::vector<Expr> indices;
    for (size_t d = 0; d < reach.size(); ++d) {
      indices.push_back(d == dim ? word
                                 : Simplify(factor.element->indices[d] - Expr(reach[d].low)));
    }
    indices.insert(indices.begin() + static_cast<std::ptrdiff_t>(dim) + 1, plane);
    return Make<Load>(buffer.var, std::move(indices));
  }
};

// A program whose product reads words of bits.
class PlaneProgram {
 public:
  PlaneProgram(const TensorProgram& program, const WordProduct& product)
      : program_(program), product_(product), result_(program) {}

  std::optional<TensorProgram> Build(Sets sets) {
    std::optional<BitFactor> data = SplitFactor(program_, sets, Stage(), product_.data);
    std::optional<BitFactor> weight = SplitFactor(program_, sets, Stage(), product_.weight);
    if (!data || !weight || !AllowPadding(*data)) return std::nullopt;
    if (!ChoosePlanes(*data) || !ChoosePlanes(*weight)) return std::nullopt;
    if (data->planes.count * weight->planes.count > kMaxPlanePairs) return std::nullopt;
    if (!AddStages(*data, *weight)) return std::nullopt;
    std::optional<TensorProgram> merged = MergedAxesVariant(result_);
    return merged ? std::move(merged) : std::move(result_);
  }

 private:
  const ComputeExpr& Stage() const {
    return std::get<ComputeExpr>(program_.stages[product_.stage]);
  }

  bool IsPadded() const { return !IsConstant(Stage().predicate, 1); }

  // The padding is the zero point, which must be a number. Returns false if it cannot be that.
  bool AllowPadding(BitFactor& data) const {
    if (!IsPadded()) return true;
    const Buffer& input = *FindBuffer(program_, data.factor.element->buffer);
    bool fits = data.known_zero && KeepsInside(Stage().predicate, *data.factor.element, input) &&
                ReachOf(Stage(), *data.factor.element).size() == input.rank();
    if (!fits) return false;
    data.values = {std::min(data.values.low, *data.known_zero),
                   std::max(data.values.high, *data.known_zero), 1};
    return true;
  }

  bool AddStages(const BitFactor& data, const BitFactor& weight) {
    const Buffer& input = *FindBuffer(program_, data.factor.element->buffer);
    const PlaneWords bits = WordsOf(data, "_planes", PlacesOf(Stage(), data.factor, input));
    const Buffer& constant = *FindBuffer(program_, weight.factor.element->buffer);
    Reach whole;
    for (const Expr& extent : constant.shape) whole.push_back({0, extent});
    const PlaneWords kernel = WordsOf(weight, "_weight", std::move(whole));

    const Axis word{IterationVar(product_.axis.var->name), bits.buffer.shape[bits.dim]};
    ComputeExpr product = Stage();
    std::ranges::replace_if(
        product.reduce_axes, [&](const Axis& axis) { return axis.var == product_.axis.var; }, word);
    product.predicate = True();
    std::vector<TensorExpr> first = {kernel.stage};
    std::vector<TensorExpr> stages = {bits.stage};
    Expr rest = Word(0);  // what is added to the sums
    if (!IsConstant(data.Rest(), 0)) {
      auto columns = SumPartially(result_, Stage(), weight.factor.value, "_columns");
      if (!columns) return false;
      first.emplace_back(columns->stage);
      rest = data.Rest() * Make<Load>(columns->buffer.var, columns->indices);
    }
    if (!IsConstant(weight.Rest(), 0)) {
      auto rows = SumPartially(result_, product, SumOfBits(data, bits, word.var), "_rows");
      if (!rows) return false;
      stages.emplace_back(rows->stage);
      rest = rest + weight.Rest() * Make<Load>(rows->buffer.var, rows->indices);
    }
    rest = Simplify(rest);
    // The power of two that all coefficients have: sums are multiplied by it where the rest is
    // added to them anyway.
    const int shift = data.planes.shift + weight.planes.shift;
    const int64_t power = IsConstant(rest, 0) ? 1 : int64_t{1} << shift;
    product.values = {SumOfPlanes(data, bits, weight, kernel, word.var, power)};
    if (IsConstant(rest, 0)) {
      stages.emplace_back(std::move(product));
    } else {
      const Buffer sums =
          AddIntermediate(result_, product.name + "_sums", kInt32, Stage().outputs[0].shape);
      product.outputs = {sums};
      stages.emplace_back(std::move(product));
      stages.emplace_back(WithRest(sums, power, rest));
    }
    auto at = result_.stages.begin() + static_cast<std::ptrdiff_t>(product_.stage);
    at = result_.stages.erase(at);
    result_.stages.insert(at, stages.begin(), stages.end());
    result_.stages.insert(result_.stages.begin(), first.begin(), first.end());
    return true;
  }

  // Adds the stage words[.., p, i, ..] = sum over b of (bit i of the element at 32 p + b) << b.
  PlaneWords WordsOf(const BitFactor& factor, const char* suffix, Reach reach) {
    const int64_t extent = *AsConstant(product_.axis.extent);
    PlaneWords words{
        .buffer = {}, .stage = {}, .reach = std::move(reach), .dim = factor.factor.dim};
    std::vector<Expr> shape;
    for (size_t d = 0; d < words.reach.size(); ++d) {
      shape.push_back(d == words.dim ? Expr(CeilDivision(extent, kWordBits))
                                     : words.reach[d].extent);
    }
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(words.dim) + 1,
                 Expr(int64_t{factor.planes.count}));
    words.buffer = AddIntermediate(result_, Stage().name + suffix, kInt32, std::move(shape));
    result_.kept.push_back(words.buffer.var);
    words.stage = StageOver(words.buffer);
    const Axis bit{IterationVar("bit"), Expr(kWordBits)};
    words.stage.reduce_axes = {bit};
    words.stage.combiner = SumCombiner(kInt32);

    const Expr place = Expr(words.stage.axes[words.dim].var) * Expr(kWordBits) + Expr(bit.var);
    const std::vector<Expr> places = PlacesIn(words, place);
    const Buffer& buffer = *FindBuffer(program_, factor.factor.element->buffer);
    Reach inner = words.reach;
    inner[words.dim] = {0, Expr(extent)};
    const Expr inside = InsideOf(buffer, places, inner);
    if (extent % kWordBits != 0) words.stage.predicate = place < Expr(extent);
    const Expr integer = SelectUnless(inside, IntegerAt(factor, places), factor);
    words.stage.values = {PlacedBit(factor.planes, integer, words, bit.var)};
    return words;
  }

  // Returns the indices of an element for a point of the words' stage.
  static std::vector<Expr> PlacesIn(const PlaneWords& words, const Expr& place) {
    std::vector<Expr> places;
    for (size_t d = 0; d < words.reach.size(); ++d) {
      const Expr axis = words.stage.axes[d + (d > words.dim ? 1 : 0)].var;
      places.push_back(d == words.dim ? place : Simplify(axis + Expr(words.reach[d].low)));
    }
    return places;
  }

  static Expr IntegerAt(const BitFactor& factor, const std::vector<Expr>& places) {
    const Expr element(factor.factor.element.get());
    const Expr read = Make<Load>(factor.factor.element->buffer, places);
    return RewriteBottomUp(factor.integer, [&](const Expr& node) -> Expr {
      return Equal(node, element) ? read : node;
    });
  }

  // Returns the integer, or the zero point where `inside` does not hold.
  static Expr SelectUnless(const Expr& inside, const Expr& integer, const BitFactor& factor) {
    if (IsConstant(inside, 1)) return integer;
    return SelectOf(inside, integer, Word(*factor.known_zero));
  }

  static Expr PlacedBit(const Planes& planes, const Expr& integer, const PlaneWords& words,
                        const Var& bit) {
    const Expr plane = planes.count == 1 ? Expr(0) : Expr(words.stage.axes[words.dim + 1].var);
    const Expr number = planes.base == 0 ? integer : integer - Word(planes.base);
    const Expr at = Simplify(CastTo(kInt32, plane + Expr(int64_t{planes.shift})));
    const Expr shifted = IsConstant(at, 0) ? number : CallOf(ScalarOp::kShiftRight, {number, at});
    return CallOf(ScalarOp::kShiftLeft, {CommonBits(shifted, Word(1)), CastTo(kInt32, bit)});
  }

  // Returns the sum of the products of all pairs of planes in one word, over a power of two that
  // all coefficients have.
  static Expr SumOfPlanes(const BitFactor& data, const PlaneWords& bits, const BitFactor& weight,
                          const PlaneWords& kernel, const Var& word, int64_t power) {
    Expr sum;
    for (int i = 0; i < data.planes.count; ++i) {
      for (int j = 0; j < weight.planes.count; ++j) {
        const Expr both = CommonBits(bits.At(data.factor, word, Expr(int64_t{i})),
                                     kernel.At(weight.factor, word, Expr(int64_t{j})));
        AddTerm(sum, both, data.planes.Coefficient(i) * weight.planes.Coefficient(j) / power);
      }
    }
    return sum;
  }

  // Returns the sum of the data's integers less their base in one word.
  static Expr SumOfBits(const BitFactor& data, const PlaneWords& bits, const Var& word) {
    Expr sum;
    for (int i = 0; i < data.planes.count; ++i) {
      AddTerm(sum, bits.At(data.factor, word, Expr(int64_t{i})), data.planes.Coefficient(i));
    }
    return sum;
  }

  static void AddTerm(Expr& sum, const Expr& word, int64_t coefficient) {
    const Expr ones = CallOf(ScalarOp::kPopcount, {word});
    const Expr term = coefficient == 1 ? ones : ones * Word(coefficient);
    sum = sum ? sum + term : term;
  }

  // Returns the stage out = power * sums + rest.
  ComputeExpr WithRest(const Buffer& sums, int64_t power, const Expr& rest) const {
    ComputeExpr stage = Stage();
    Substitution values;
    stage.name = FreeName(result_, stage.name + "_less");
    stage.axes = FreshAxes(Stage().axes, values);
    stage.reduce_axes.clear();
    stage.combiner = {};
    stage.predicate = True();
    const Expr sum = Simplify(Make<Load>(sums.var, stage.indices[0]) * Word(power));
    stage.values = {Substitute(sum + rest, values)};
    for (Expr& index : stage.indices[0]) index = Substitute(index, values);
    return stage;
  }

  const TensorProgram& program_;
  const WordProduct& product_;
  TensorProgram result_;
};

}  // namespace

std::optional<TensorProgram> BitPlanesVariant(const TensorProgram& program, Sets sets) {
  std::optional<WordProduct> product = FindWordProduct(program, {kInt32, MayBeBits});
  const bool is_long = product && *AsConstant(product->axis.extent) >= kMinTerms;
  return is_long ? PlaneProgram(program, *product).Build(sets) : std::nullopt;
}

bool BitPlanesSaveTime(const TensorProgram& program) {
  const std::optional<WordProduct> product = FindWordProduct(program, {kInt32, MayBeBits});
  if (!product) return false;
  const auto& stage = std::get<ComputeExpr>(program.stages[product->stage]);
  double uses = 1;  // of an element of the data
  for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const Axis& axis : *axes) uses *= UsualExtent(axis.extent);
  }
  for (const Expr& extent : FindBuffer(program, product->data.element->buffer)->shape) {
    uses /= std::max(UsualExtent(extent), 1.0);
  }
  return uses >= kMinUses;
}

int MostPlanePairs(const Target& target, const ByteProduct& bytes) {
  const bool is_measured = target.kind == TargetKind::kCpu && target.arch == CpuArch::kX86 &&
                           target.vector_bytes >= kMinVectorBytes &&
                           target.counts_bits == target.dots_bytes;
  if (!is_measured) return 0;
  if (bytes.has_one_row) return target.dots_bytes ? 6 : 4;
  return !target.dots_bytes && bytes.is_transformed ? 1 : 2;
}

namespace {

// Returns the bits that words of data and of a weight have in common, if the value counts these.
const Call* CountedBits(const Expr& value) {
  const auto* ones = value.as<Call>();
  const bool counts = ones && ones->op == ScalarOp::kPopcount;
  const auto* both = counts ? ones->args[0].as<Call>() : nullptr;
  return both && both->op == ScalarOp::kBitAnd ? both : nullptr;
}

// Returns whether an element of the block has a word of the weight of its own.
bool UsesAllIn(const Block& block, const Expr& weight) {
  return std::ranges::all_of(block.iters, [&](const IterVar& iter) {
    return iter.kind != IterKind::kSpatial || IsConstant(iter.domain, 1) ||
           UsesVar(weight, iter.var);
  });
}

}  // namespace

int PlanePairsOf(const Function& fn) {
  int pairs = 0;
  PreOrderExprs(fn.body, [&](const Expr& expr) { pairs += CountedBits(expr) != nullptr; });
  return pairs;
}

bool HasOneRowOfPlanes(const Function& fn) {
  bool has_one_row = true;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* block = stmt.as<Block>();
    if (block == nullptr) return;
    PreOrderExprs(block->body, [&](const Expr& expr) {
      const Call* both = CountedBits(expr);
      if (both) has_one_row = has_one_row && UsesAllIn(*block, both->args[1]);
    });
  });
  return has_one_row;
}

}  // namespace tcc
