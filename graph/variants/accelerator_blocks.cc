#include <algorithm>
#include <span>

#include "graph/variants/stage_parts.h"
#include "graph/variants/variants.h"
#include "graph/variants/word_product.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/vdla_config.h"

namespace tcc {
namespace {

constexpr int64_t kBlock = kVdlaBlock;  // elements
constexpr DType kByte{DTypeCode::kInt8};

// An axis as blocks and the places in a block.
struct BlockedAxis {
  Axis axis;
  Axis block, place;
  Expr index() const { return Expr(block.var) * Expr(kBlock) + Expr(place.var); }
};

BlockedAxis InBlocks(const Axis& axis) {
  const Expr blocks(*AsConstant(axis.extent) / kBlock);
  return {axis,
          {IterationVar(axis.var->name + "_block"), blocks},
          {IterationVar(axis.var->name), Expr(kBlock)}};
}

bool IsWhole(const Expr& extent) {
  const std::optional<int64_t> number = AsConstant(extent);
  return number && *number > 0 && *number % kBlock == 0;
}

// Returns whether the value is the element of the factor, a byte.
bool IsElement(const Expr& value, const WordFactor& factor) {
  const auto* cast = value.as<Cast>();
  return cast && cast->dtype == kInt32 && factor.element->dtype.bits() == 8 &&
         Equal(cast->value, Expr(factor.element.get()));
}

// Returns the zero point of the data as signed bytes, which are 128 less than unsigned ones;
// nullopt if it varies, or if a signed byte does not hold it.
std::optional<int64_t> ZeroOf(const WordFactor& data) {
  const auto* less = data.value.as<Sub>();
  const std::optional<int64_t> stored = less ? AsConstant(Simplify(less->b)) : 0;
  if (!IsElement(less ? less->a : data.value, data) || !stored) return std::nullopt;
  const int64_t zero = data.element->dtype == kByte ? *stored : *stored - 128;
  return zero >= -128 && zero < 128 ? std::optional(zero) : std::nullopt;
}

// Returns a byte as a signed one.
Expr Signed(const Expr& byte) {
  if (byte.dtype() == kByte) return byte;
  return CastTo(kByte, CallOf(ScalarOp::kBitXor, {byte, Const(byte.dtype(), 128)}));
}

// A program whose product is over blocks of 16 inputs and 16 outputs.
class BlockedProgram {
 public:
  // `zero` is the data's zero point (ZeroOf).
  BlockedProgram(const TensorProgram& program, const WordProduct& product, int64_t zero)
      : product_(product),
        zero_(zero),
        stage_(std::get<ComputeExpr>(program.stages[product.stage])),
        result_(program) {}

  std::optional<TensorProgram> Build() {
    if (!FindAxes() || !FindResult()) return std::nullopt;
    const Load& data = *product_.data.element;
    const Buffer input = *FindBuffer(result_, data.buffer);
    if (product_.data.dim + 1 != input.rank()) return std::nullopt;
    const bool is_inside =
        IsConstant(stage_.predicate, 1) || KeepsInside(stage_.predicate, data, input);
    if (!is_inside) return std::nullopt;
    const Reach reach = ReachOf(stage_, data);
    if (reach.size() != input.rank()) return std::nullopt;
    const Buffer blocks = AddDataStage(input, reach);
    const Buffer weight = AddWeightStage();
    const Buffer sums = AddProduct(blocks, weight, reach);
    if (!AddOffsets()) return std::nullopt;
    AddResult(sums);
    result_.stages.resize(product_.stage);
    result_.stages.insert(result_.stages.end(), std::make_move_iterator(stages_.begin() + 1),
                          std::make_move_iterator(stages_.end()));
    std::erase_if(result_.intermediates,
                  [&](const Buffer& buffer) { return buffer.var == sums_var(); });
    // Stages of constants come first of all, since they are run when the model is linked.
    result_.stages.insert(result_.stages.begin(), std::move(stages_.front()));
    if (offsets_) result_.stages.insert(result_.stages.begin(), offsets_->stage);
    return std::move(result_);
  }

 private:
  // Finds the axis of the outputs, the last dimension of the result, which no index of the data
  // uses.
  bool FindAxes() {
    const std::vector<Expr>& out = stage_.indices[0];
    if (out.empty() || out.size() != stage_.axes.size()) return false;
    for (size_t d = 0; d < out.size(); ++d) {
      if (!out[d].same_as(stage_.axes[d].var)) return false;
    }
    const Axis& outputs = stage_.axes.back();
    const bool fits = IsWhole(product_.axis.extent) && IsWhole(outputs.extent) &&
                      !UsesVar(product_.data.value, outputs.var) &&
                      UsesVar(product_.weight.value, outputs.var);
    if (!fits) return false;
    for (size_t a = 0; a + 1 < stage_.axes.size(); ++a) {
      if (UsesVar(product_.weight.value, stage_.axes[a].var)) return false;
    }
    in_ = InBlocks(product_.axis);
    out_ = InBlocks(outputs);
    return true;
  }

  // Adds blocks[.., block, place] = data[.. + low, block * 16 + place], the zero point outside.
  Buffer AddDataStage(const Buffer& input, const Reach& reach) {
    std::vector<Expr> shape;
    for (size_t d = 0; d + 1 < reach.size(); ++d) shape.push_back(reach[d].extent);
    shape.push_back(in_.block.extent);
    shape.emplace_back(kBlock);
    const Buffer blocks =
        AddIntermediate(result_, stage_.name + "_blocks", kByte, std::move(shape));
    ComputeExpr stage = StageOver(blocks);
    std::vector<Expr> places;
    for (size_t d = 0; d + 1 < reach.size(); ++d) {
      places.push_back(Simplify(Expr(stage.axes[d].var) + Expr(reach[d].low)));
    }
    const size_t last = reach.size() - 1;
    places.push_back(Expr(stage.axes[last].var) * Expr(kBlock) + Expr(stage.axes[last + 1].var));
    const Expr element = Signed(Make<Load>(input.var, places));
    const Expr inside = InsideOf(input, places, reach);
    stage.values = {IsConstant(inside, 1) ? element
                                          : SelectOf(inside, element, Const(kByte, zero_))};
    data_stage_ = std::move(stage);
    result_.kept.push_back(blocks.var);
    return blocks;
  }

  // Adds weight[block of outputs, taps.., block of inputs, output, input].
  Buffer AddWeightStage() {
    std::vector<Axis> axes = {out_.block};
    for (const Axis& axis : stage_.reduce_axes) {
      if (axis.var != product_.axis.var) axes.push_back(axis);
    }
    axes.insert(axes.end(), {in_.block, out_.place, in_.place});
    std::vector<Expr> shape;
    for (const Axis& axis : axes) shape.push_back(axis.extent);
    const Buffer weight =
        AddIntermediate(result_, stage_.name + "_weight", kByte, std::move(shape));
    ComputeExpr stage = StageOver(weight);
    Substitution values;
    for (size_t a = 0; a < axes.size(); ++a) values.emplace(axes[a].var, stage.axes[a].var);
    const Expr element = Substitute(Expr(product_.weight.element.get()), Blocked());
    stage.values = {Substitute(element, values)};
    stages_.emplace_back(std::move(stage));
    stages_.emplace_back(std::move(data_stage_));
    weight_axes_ = std::move(axes);
    result_.kept.push_back(weight.var);
    return weight;
  }

  // Returns what replaces the variables of the blocked axes.
  Substitution Blocked() const {
    return {{in_.axis.var, in_.index()}, {out_.axis.var, out_.index()}};
  }

  // Adds sums[.., block, place] = sum of i32(blocks[..]) * i32(weight[..]).
  Buffer AddProduct(const Buffer& blocks, const Buffer& weight, const Reach& reach) {
    std::vector<Expr> shape(stage_.outputs[0].shape.begin(), stage_.outputs[0].shape.end() - 1);
    shape.push_back(out_.block.extent);
    shape.emplace_back(kBlock);
    const Buffer sums = AddIntermediate(result_, stage_.name + "_sums", kInt32, std::move(shape));
    ComputeExpr stage = stage_;
    stage.outputs = {sums};
    stage.predicate = True();
    stage.axes.back() = out_.block;
    stage.axes.push_back(out_.place);
    stage.indices[0].back() = out_.block.var;
    stage.indices[0].emplace_back(out_.place.var);
    std::erase_if(stage.reduce_axes, [&](const Axis& axis) { return axis.var == in_.axis.var; });
    stage.reduce_axes.insert(stage.reduce_axes.end(), {in_.block, in_.place});
    std::vector<Expr> at;
    for (size_t d = 0; d + 1 < reach.size(); ++d) {
      at.push_back(Simplify(product_.data.element->indices[d] - Expr(reach[d].low)));
    }
    at.insert(at.end(), {in_.block.var, in_.place.var});
    std::vector<Expr> of_weight;
    for (const Axis& axis : weight_axes_) of_weight.emplace_back(axis.var);
    stage.values = {CastTo(kInt32, Make<Load>(blocks.var, at)) *
                    CastTo(kInt32, Make<Load>(weight.var, of_weight))};
    stages_.emplace_back(std::move(stage));
    return sums;
  }

  // Adds offsets[o] = zero point * sum of the weight at output o, if there is a zero point.
  bool AddOffsets() {
    if (zero_ == 0) return true;
    offsets_ =
        SumPartially(result_, stage_, Const(kInt32, zero_) * product_.weight.value, "_offsets");
    return offsets_.has_value();
  }

  // Finds the map that makes the outputs of the product's sums element by element; false if
  // something else reads them.
  bool FindResult() {
    const auto behind = std::span(result_.stages).subspan(product_.stage + 1);
    if (behind.empty()) return true;
    const auto* map = std::get_if<ComputeExpr>(&behind[0]);
    if (behind.size() > 1 || !map || map->combiner || map->outputs.size() != 1 ||
        !IsConstant(map->predicate, 1) || map->axes.size() != stage_.axes.size()) {
      return false;
    }
    const auto is_in_place = [&](const std::vector<Expr>& indices) {
      return std::ranges::equal(indices, map->axes, [](const Expr& index, const Axis& axis) {
        return index.same_as(axis.var);
      });
    };
    // An operand has one number for each channel, the last axis.
    const auto is_by_channel = [&](const Load& load) {
      const Buffer* buffer = FindBuffer(result_, load.buffer);
      const Axis& channel = map->axes.back();
      const auto all = std::ranges::count_if(
          load.indices, [&](const Expr& index) { return index.same_as(channel.var); });
      return buffer && buffer->scope == Scope::kConstant && all == 1 &&
             std::ranges::all_of(load.indices, [&](const Expr& index) {
               return index.same_as(channel.var) || IsConstant(index, 0);
             });
    };
    const bool reads_elsewhere = Contains(map->values[0], [&](const Expr& value) {
      const auto* load = value.as<Load>();
      if (!load) return false;
      return load->buffer == sums_var() ? !is_in_place(load->indices) : !is_by_channel(*load);
    });
    if (reads_elsewhere || !is_in_place(map->indices[0])) return false;
    map_ = *map;
    return true;
  }

  const Var& sums_var() const { return stage_.outputs[0].var; }

  // Returns what the map makes of a sum at the indices of the result.
  Expr ResultOf(const Expr& sum, const std::vector<Expr>& indices) const {
    if (!map_) return sum;
    Substitution at;
    for (size_t a = 0; a < indices.size(); ++a) at.emplace(map_->axes[a].var, indices[a]);
    const Expr value = Substitute(map_->values[0], at);
    return RewriteBottomUp(value, [&](const Expr& node) -> Expr {
      const auto* load = node.as<Load>();
      return load && load->buffer == sums_var() ? sum : node;
    });
  }

  // Adds out[.., block * 16 + place] = sums[.., block, place] less the offset, or what a map makes
  // of it.
  void AddResult(const Buffer& sums) {
    ComputeExpr stage = StageOver(sums);
    const std::vector<Expr> places = std::move(stage.indices[0]);
    stage.name = FreeName(result_, stage_.name + "_result");
    const Expr last = places[places.size() - 2] * Expr(kBlock) + places.back();
    stage.indices[0].assign(places.begin(), places.end() - 2);
    stage.indices[0].push_back(last);
    stage.outputs = map_ ? map_->outputs : stage_.outputs;
    Expr sum = Make<Load>(sums.var, places);
    if (offsets_) sum = sum - Make<Load>(offsets_->buffer.var, std::vector<Expr>{last});
    stage.values = {ResultOf(sum, stage.indices[0])};
    stages_.emplace_back(std::move(stage));
  }

  const WordProduct& product_;
  const int64_t zero_;
  const ComputeExpr stage_;
  std::optional<PartialSums> offsets_;
  std::optional<ComputeExpr> map_;  // makes bytes of the sums
  TensorProgram result_;
  BlockedAxis in_, out_;
  ComputeExpr data_stage_;
  std::vector<Axis> weight_axes_;
  std::vector<TensorExpr> stages_;
};

}  // namespace

std::optional<TensorProgram> AcceleratorBlocksVariant(const TensorProgram& program) {
  const std::optional<WordProduct> product = FindWordProduct(program, BytesLessZero());
  if (!product) return std::nullopt;
  const std::optional<int64_t> zero = ZeroOf(product->data);
  const WordFactor& weight = product->weight;
  const bool fits = zero && IsElement(weight.value, weight) && weight.element->dtype == kByte;
  return fits ? BlockedProgram(program, *product, *zero).Build() : std::nullopt;
}

}  // namespace tcc
