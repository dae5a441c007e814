#include <cmath>
#include <limits>

#include "graph/ops/lowerings.h"
#include "ir/expr/evaluate.h"
#include "ir/simplify/simplify.h"

// Attention of opset 23 to 25 as stages of one kernel:
//   present = past and new keys and values, where there is a past
//   column[b, h, d, t] = key[b, h, t, d], so that the sums run along t; not for a query or two
//   score[b, h, i, t]  = sum over d of query[b, h, i, d] column[b, h div repeats, d, t]
//   logit = softcap(scale score) + bias     (-inf where a mask or the causal order forbids t; where
//   a
//                                            mask of flags does, the attribute hidden_logit)
//   power = e^(logit - maximum of its row), total: the sum of the row's powers
//   out[b, h, i, d] = sum over t of power[b, h, i, t] value[b, h div repeats, t, d] / total
// b: batch, h: query head, i: query, t: key, past ones first. A query that may see no key gives 0
// or, under the attribute empty_rows "nan", NaN, as the Softmax does that graph passes make
// attentions of. Under the attribute core "tuple" all from the maximum on is one reduction to
// (maximum, total, sum of values), which schedules can make for tiles of keys.
namespace tcc {
namespace {

enum Operand : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kValidLengths };
enum Result : size_t { kOut, kPresentKey, kPresentValue, kScores };

// The least number of queries for which keys are transposed: fewer do not read them often enough.
constexpr int64_t kMinTransposingQueries = 4;
// The multiple that rows of scores are padded to, if they are long enough: whole vectors on every
// target.
constexpr int64_t kWholeColumns = 16;

// The step whose result output kScores holds.
enum class ScoresAfter : int64_t { kProduct, kSoftcap, kBias, kSoftmax };

// A query, key or value seen as [batch, heads, length, size], whether it is stored so or packed as
// [batch, length, heads * size].
struct Projection {
  size_t input = 0;
  bool packed = false;
  Expr batch;
  int64_t heads = 1;
  Expr length;
  Expr size;
};

StatusOr<Projection> ProjectionOf(const NodeLowering& node, size_t input,
                                  const std::string& heads_key) {
  const std::vector<Expr>& shape = node.Shape(input);
  TCC_RETURN_IF_ERROR(node.CheckFloats(input));
  if (shape.size() == 4) {
    TCC_ASSIGN_OR_RETURN(int64_t heads, node.KnownExtent(input, 1));
    return Projection{
        .input = input, .batch = shape[0], .heads = heads, .length = shape[2], .size = shape[3]};
  }
  if (shape.size() != 3) {
    return node.Error("input {} has shape {}; expected 3 or 4 dimensions", input, ShapeText(shape));
  }
  int64_t heads = node.node().Int(heads_key, 0);
  TCC_ASSIGN_OR_RETURN(int64_t width, node.KnownExtent(input, 2));
  if (heads < 1 || width % heads != 0) {
    return node.Error("{} is {}; expected a divisor of the width {} of input {}", heads_key, heads,
                      width, input);
  }
  return Projection{.input = input,
                    .packed = true,
                    .batch = shape[0],
                    .heads = heads,
                    .length = shape[1],
                    .size = Expr(width / heads)};
}

// Returns the indices at which element [b, h, i, d] is stored.
std::vector<Expr> Place(bool packed, const Expr& size, const std::vector<Expr>& element) {
  if (!packed) return element;
  return {element[0], element[2], element[1] * size + element[3]};
}

class AttentionLowering {
 public:
  explicit AttentionLowering(NodeLowering& node) : node_(node) {}

  Status Lower() {
    TCC_RETURN_IF_ERROR(ReadOperands());
    TCC_RETURN_IF_ERROR(CheckMask());
    computed_ = AccumulationType(node_.Type(kQuery));
    empty_rows_are_nan_ = node_.node().String("empty_rows", "zero") == "nan";
    columns_ = total_;
    score_shape_ = {query_.batch, Expr(query_.heads), query_.length, total_};
    out_ = node_.Output(
        kOut, node_.Type(kQuery),
        query_.packed
            ? std::vector<Expr>{query_.batch, query_.length, Times(value_.size, query_.heads)}
            : std::vector<Expr>{query_.batch, Expr(query_.heads), query_.length, value_.size});
    Join(kKey, kPastKey, kPresentKey, key_, keys_);
    Join(kValue, kPastValue, kPresentValue, value_, values_);
    TransposeKeys();
    stored_shape_ = {query_.batch, Expr(query_.heads), query_.length, columns_};
    Multiply();
    MakeLogits();
    if (node_.node().String("core", "parts") == "tuple") return CombineInOnePass();
    Normalize();
    Combine();
    return OkStatus();
  }

 private:
  Status ReadOperands() {
    TCC_RETURN_IF_ERROR(node_.CheckInputs(3, 7));
    TCC_ASSIGN_OR_RETURN(query_, ProjectionOf(node_, kQuery, "q_num_heads"));
    TCC_ASSIGN_OR_RETURN(key_, ProjectionOf(node_, kKey, "kv_num_heads"));
    TCC_ASSIGN_OR_RETURN(value_, ProjectionOf(node_, kValue, "kv_num_heads"));
    bool agree = Agree(query_.batch, key_.batch, "batches of query and key") &&
                 Agree(key_.batch, value_.batch, "batches of key and value") &&
                 Agree(key_.length, value_.length, "lengths of key and value") &&
                 Agree(query_.size, key_.size, "sizes of query and key") &&
                 query_.packed == key_.packed && key_.packed == value_.packed &&
                 key_.heads == value_.heads && node_.Type(kKey) == node_.Type(kQuery);
    if (!agree) {
      return node_.Error("query of shape {}, key of {} and value of {} do not fit together",
                         ShapeText(node_.Shape(kQuery)), ShapeText(node_.Shape(kKey)),
                         ShapeText(node_.Shape(kValue)));
    }
    if (key_.heads < 1 || query_.heads % key_.heads != 0) {
      return node_.Error("{} query heads and {} key heads; expected a multiple", query_.heads,
                         key_.heads);
    }
    if (!AsConstant(query_.size) && !node_.node().attributes.contains("scale")) {
      return node_.NotKnown({query_.size},
                            fmt::format("heads of size {}, no scale", ShapeText({query_.size})));
    }
    return ReadPast();
  }

  bool Agree(const Expr& a, const Expr& b, std::string_view what) {
    return node_.Agree(a, b, what).ok();
  }

  Status ReadPast() {
    if (node_.Has(kPastKey) != node_.Has(kPastValue)) {
      return node_.Error("past keys and past values come together or not at all");
    }
    if (node_.Has(kValidLengths) &&
        (node_.Rank(kValidLengths) != 1 || !node_.Type(kValidLengths).is_integer())) {
      return node_.Error("input {} is no list of lengths", size_t{kValidLengths});
    }
    total_ = key_.length;
    if (!node_.Has(kPastKey)) return OkStatus();
    for (size_t i : {size_t{kPastKey}, size_t{kPastValue}}) {
      const Projection& fresh = i == kPastKey ? key_ : value_;
      const std::vector<Expr>& past = node_.Shape(i);
      bool fits = past.size() == 4 && Agree(past[0], fresh.batch, "batches of past and new") &&
                  Agree(past[1], Expr(fresh.heads), "heads of past and new") &&
                  Agree(past[3], fresh.size, "sizes of past and new") &&
                  node_.Type(i) == node_.Type(fresh.input);
      if (!fits) {
        return node_.Error("the past in {} does not fit {}", node_.InputText(i),
                           node_.InputText(fresh.input));
      }
    }
    past_ = node_.Shape(kPastKey)[2];
    if (!Agree(past_, node_.Shape(kPastValue)[2], "lengths of past keys and values")) {
      return node_.Error("past keys have length {}, past values {}", ShapeText({past_}),
                         ShapeText({node_.Shape(kPastValue)[2]}));
    }
    total_ = Simplify(total_ + past_);
    return OkStatus();
  }

  // Checks the mask. Its last dimension may be a number below that of the keys: the other keys are
  // not seen. A free one is taken to be the number of keys.
  Status CheckMask() {
    if (!node_.Has(kMask)) return OkStatus();
    const std::vector<Expr>& mask = node_.Shape(kMask);
    if (!node_.Type(kMask).is_bool() && !node_.Type(kMask).is_float()) {
      return node_.NotSupported("a mask of type {} is not supported", ToString(node_.Type(kMask)));
    }
    const Expr targets[] = {query_.batch, Expr(query_.heads), query_.length};
    bool fits = !mask.empty() && mask.size() <= 4;
    for (size_t d = 0; fits && d + 1 < mask.size(); ++d) {
      const Expr& target = targets[4 - mask.size() + d];
      fits = IsConstant(mask[d], 1) || Agree(mask[d], target, "dimensions of mask and scores");
    }
    if (fits && !AsConstant(mask.back())) fits = Agree(mask.back(), total_, "keys and their mask");
    if (fits) return OkStatus();
    return node_.Error("the mask has shape {}; expected one that broadcasts to {}x{}x{}x{}",
                       ShapeText(mask), ShapeText({query_.batch}), query_.heads,
                       ShapeText({query_.length}), ShapeText({total_}));
  }

  // Joins past and new elements in one buffer, if there is a past or the output is read.
  void Join(size_t fresh_input, size_t past_input, size_t output, const Projection& fresh,
            std::optional<StoredBuffer>& joined) {
    bool wanted = node_.Wants(output);
    if (!wanted && !past_) return;
    std::vector<Expr> shape = {fresh.batch, Expr(fresh.heads), total_, fresh.size};
    DType type = node_.Type(fresh_input);
    std::string what = fresh_input == kKey ? "keys" : "values";
    joined = wanted ? node_.Output(output, type, shape) : node_.Intermediate(what, type, shape);
    Expr offset = past_ ? past_ : Expr(0);
    if (past_ && !IsConstant(past_, 0)) {
      std::vector<Axis> axes = node_.Axes(node_.Shape(past_input));
      node_.MapAt(*joined, axes, VarsOf(axes), node_.Load(past_input, VarsOf(axes)),
                  "_past_" + what);
    }
    shape[2] = fresh.length;
    std::vector<Axis> axes = node_.Axes(shape);
    std::vector<Expr> element = VarsOf(axes);
    Expr value = node_.Load(fresh_input, Place(fresh.packed, fresh.size, element));
    element[2] = Plus(element[2], offset);
    node_.MapAt(*joined, axes, element, value, "_" + what);
  }

  // Returns the head of keys and values that a query head reads.
  Expr SharedHead(const Expr& head) const {
    int64_t repeats = query_.heads / key_.heads;
    if (key_.heads == 1) return Expr(0);
    return repeats > 1 ? FloorDivide(head, Expr(repeats)) : head;
  }

  Expr LoadShared(const Projection& shared, const std::optional<StoredBuffer>& joined,
                  const std::vector<Expr>& element) {
    Expr value = joined ? node_.Load(*joined, element)
                        : node_.Load(shared.input, Place(shared.packed, shared.size, element));
    return CastTo(computed_, value);
  }

  // Fills key_columns_[b, h, d, t], with zeros behind the last key.
  void TransposeKeys() {
    std::optional<int64_t> queries = AtUsual(query_.length);
    if (queries && *queries < kMinTransposingQueries) return;
    std::optional<int64_t> keys = AsConstant(total_);
    if (keys && *keys > kWholeColumns && *keys % kWholeColumns != 0) {
      columns_ = Expr(*keys - *keys % kWholeColumns + kWholeColumns);
    }
    std::vector<Expr> shape = {key_.batch, Expr(key_.heads), key_.size, columns_};
    key_columns_ = node_.Kept("columns", computed_, shape);
    std::vector<Axis> axes = node_.Axes(shape);
    std::vector<Expr> at = VarsOf(axes);
    Expr key = LoadShared(key_, keys_, {at[0], at[1], at[3], at[2]});
    if (IsPadded()) key = SelectOf(at[3] < total_, key, Const(computed_, 0));
    node_.Map(*key_columns_, axes, key, "_columns");
  }

  bool IsPadded() const { return !SameExtent(columns_, total_); }

  void Multiply() {
    std::vector<Axis> axes = node_.Axes(stored_shape_);
    Axis d = NodeLowering::MakeAxis("d", query_.size);
    std::vector<Expr> at = VarsOf(axes);
    Expr query =
        node_.Load(kQuery, Place(query_.packed, query_.size, {at[0], at[1], at[2], d.var}));
    Expr head = SharedHead(at[1]);
    Expr key = key_columns_ ? node_.Load(*key_columns_, {at[0], head, d.var, at[3]})
                            : LoadShared(key_, keys_, {at[0], head, at[3], d.var});
    scores_ =
        node_.Reduced("scores", axes, {d}, SumCombiner(computed_), CastTo(computed_, query) * key);
  }

  Expr ScaledScore(const std::vector<Expr>& at) const {
    double size = static_cast<double>(AsConstant(query_.size).value_or(1));
    double scale = node_.node().Float("scale", 1 / std::sqrt(size));
    return node_.Load(scores_, at) * Const(computed_, scale);
  }

  Expr CappedScore(const std::vector<Expr>& at) const {
    double cap = node_.node().Float("softcap", 0);
    Expr score = ScaledScore(at);
    if (cap <= 0) return score;
    Expr ratio = Make<Div>(score, Const(computed_, cap));
    return CallOf(ScalarOp::kTanh, {ratio}) * Const(computed_, cap);
  }

  // Returns the position of a query as an index of a key.
  Expr Position(const std::vector<Expr>& at) {
    if (past_) return at[2] + past_;
    if (!node_.Has(kValidLengths)) return at[2];
    return at[2] + CastTo(kInt64, node_.Load(kValidLengths, {at[0]})) - query_.length;
  }

  // Returns the condition under which query at[2] sees key at[3]; null if it always does.
  Expr Visible(const std::vector<Expr>& at) {
    Expr visible;
    auto require = [&](const Expr& condition) {
      visible = visible ? BothOf(visible, condition) : condition;
    };
    const Expr& key = at[3];
    const Node& node = node_.node();
    if (IsPadded()) require(key < total_);
    if (node_.Has(kValidLengths)) {
      require(key < CastTo(kInt64, node_.Load(kValidLengths, {at[0]})));
    }
    if (node.Int("is_causal", 0) != 0) require(key <= Position(at));
    int64_t left = node.Int("left_window_size", -1);
    int64_t right = node.Int("right_window_size", -1);
    if (left >= 0) require(key >= Plus(Position(at), -left));
    if (right >= 0) require(key <= Plus(Position(at), right));
    if (node_.Has(kMask)) {
      const Expr& columns = node_.Shape(kMask).back();
      if (!IsConstant(columns, 1) && !SameExtent(columns, total_)) require(key < columns);
    }
    return visible;
  }

  Expr Logit(const std::vector<Expr>& at) {
    Expr logit = CappedScore(at);
    if (node_.Has(kMask)) {
      Expr mask = node_.LoadBroadcast(kMask, at);
      double hidden = node_.node().Float("hidden_logit", -std::numeric_limits<double>::infinity());
      logit = node_.Type(kMask).is_bool() ? SelectOf(mask, logit, FloatConst(computed_, hidden))
                                          : logit + CastTo(computed_, mask);
    }
    Expr visible = Visible(at);
    return visible ? SelectOf(visible, logit, NegativeInfinity()) : logit;
  }

  Expr NegativeInfinity() const {
    return FloatConst(computed_, -std::numeric_limits<double>::infinity());
  }

  void MakeLogits() {
    logits_ = node_.Kept("logits", computed_, stored_shape_);
    std::vector<Axis> axes = node_.Axes(stored_shape_);
    node_.Map(logits_, axes, Logit(VarsOf(axes)), "_logits");
  }

  // Computes the maxima of the logits, powers_ and the row sums of these.
  void Normalize() {
    StoredBuffer maximum = ReduceRows("max", MaxCombiner(computed_), logits_);
    powers_ = node_.Kept("powers", computed_, stored_shape_);
    std::vector<Axis> axes = node_.Axes(stored_shape_);
    std::vector<Expr> at = VarsOf(axes);
    Expr most = node_.Load(maximum, {at[0], at[1], at[2]});
    Expr blind = Make<Eq>(most, NegativeInfinity());
    Expr power = CallOf(ScalarOp::kExp, {node_.Load(logits_, at) - most});
    if (!empty_rows_are_nan_) power = SelectOf(blind, Const(computed_, 0), power);
    node_.Map(powers_, axes, power, "_powers");
    sums_ = ReduceRows("sum", SumCombiner(computed_), powers_);
    if (node_.Wants(kScores)) GiveScores();
  }

  // Reduces rows. Rows of whole vectors are first reduced per lane, in storage order.
  StoredBuffer ReduceRows(const std::string& name, const Combiner& combiner,
                          const StoredBuffer& scores) {
    std::vector<Expr> shape(score_shape_.begin(), score_shape_.end() - 1);
    std::optional<int64_t> columns = AsConstant(columns_);
    if (!columns || *columns % kWholeColumns != 0) {
      return ReduceLast(name, combiner, shape, columns_, [&](const auto& row, const Expr& t) {
        return node_.Load(scores, {row[0], row[1], row[2], t});
      });
    }
    std::vector<Expr> lanes = shape;
    lanes.push_back(Expr(kWholeColumns));
    StoredBuffer partial = ReduceLast(
        name + "_lanes", combiner, lanes, Expr(*columns / kWholeColumns),
        [&](const auto& row, const Expr& t) {
          return node_.Load(scores, {row[0], row[1], row[2], Times(t, kWholeColumns) + row[3]});
        });
    return ReduceLast(name, combiner, shape, Expr(kWholeColumns),
                      [&](const auto& row, const Expr& lane) {
                        return node_.Load(partial, {row[0], row[1], row[2], lane});
                      });
  }

  // Computes result[row] = combine over t < extent of element(row, t).
  template <typename Element>
  StoredBuffer ReduceLast(const std::string& name, const Combiner& combiner,
                          const std::vector<Expr>& shape, const Expr& extent,
                          const Element& element) {
    std::vector<Axis> axes = node_.Axes(shape);
    Axis t = NodeLowering::MakeAxis("t", extent);
    return node_.Reduced(name, axes, {t}, combiner, element(VarsOf(axes), t.var));
  }

  // Divides a value by the sum of its query's powers.
  Expr Share(const Expr& value, const std::vector<Expr>& at) const {
    Expr sum = node_.Load(sums_, {at[0], at[1], at[2]});
    if (empty_rows_are_nan_) return Make<Div>(value, sum);
    Expr zero = Const(computed_, 0);
    return SelectOf(Make<Eq>(sum, zero), zero, Make<Div>(value, sum));
  }

  void GiveScores() {
    DType type = node_.Type(kQuery);
    StoredBuffer out = node_.Output(kScores, type, score_shape_);
    std::vector<Axis> axes = node_.Axes(score_shape_);
    std::vector<Expr> at = VarsOf(axes);
    Expr value;
    switch (static_cast<ScoresAfter>(node_.node().Int("qk_matmul_output_mode", 0))) {
      case ScoresAfter::kProduct:
        value = ScaledScore(at);
        break;
      case ScoresAfter::kSoftcap:
        value = CappedScore(at);
        break;
      case ScoresAfter::kBias:
        value = node_.Load(logits_, at);
        break;
      case ScoresAfter::kSoftmax:
        value = Share(node_.Load(powers_, at), at);
        break;
    }
    node_.Map(out, axes, CastTo(type, value), "_qk");
  }

  void Combine() {
    std::vector<Expr> shape = {query_.batch, Expr(query_.heads), query_.length, value_.size};
    std::vector<Axis> axes = node_.Axes(shape);
    Axis t = NodeLowering::MakeAxis("t", total_);
    std::vector<Expr> at = VarsOf(axes);
    Expr power = node_.Load(powers_, {at[0], at[1], at[2], t.var});
    Expr value = LoadShared(value_, values_, {at[0], SharedHead(at[1]), t.var, at[3]});
    StoredBuffer sum = node_.Reduced("context", axes, {t}, SumCombiner(computed_), power * value);
    axes = node_.Axes(shape);
    at = VarsOf(axes);
    node_.MapAt(out_, axes, Place(query_.packed, value_.size, at),
                CastTo(node_.Type(kQuery), Share(node_.Load(sum, at), at)), "");
  }

  // Computes maximum, total and sum of values of each query in one reduction.
  Status CombineInOnePass() {
    if (node_.Wants(kScores)) return node_.NotSupported("scores of a core in one pass");
    std::vector<Expr> rows(score_shape_.begin(), score_shape_.end() - 1);
    std::vector<Expr> shape = rows;
    shape.push_back(value_.size);
    StoredBuffer maximum = node_.Intermediate("max", computed_, rows);
    StoredBuffer total = node_.Intermediate("sum", computed_, rows);
    StoredBuffer sum = node_.Intermediate("context", computed_, shape);
    std::vector<Axis> axes = node_.Axes(shape);
    Axis t = NodeLowering::MakeAxis("t", total_);
    std::vector<Expr> at = VarsOf(axes);
    std::vector<Expr> row = {at[0], at[1], at[2]};
    Expr value = LoadShared(value_, values_, {at[0], SharedHead(at[1]), t.var, at[3]});
    node_.Reduce(
        {.outputs = {maximum, total, sum},
         .axes = axes,
         .reduce_axes = {t},
         .output_indices = {row, row, at},
         .combiner = AttentionCombiner(computed_),
         .values = {node_.Load(logits_, {at[0], at[1], at[2], t.var}), Const(computed_, 1), value},
         .suffix = "_core"});
    axes = node_.Axes(shape);
    at = VarsOf(axes);
    row = {at[0], at[1], at[2]};
    Expr blind = Make<Eq>(node_.Load(maximum, row), NegativeInfinity());
    Expr mean = Make<Div>(node_.Load(sum, at), node_.Load(total, row));
    // The combiner weighs the keys of a blind row equally.
    double none = empty_rows_are_nan_ ? std::numeric_limits<double>::quiet_NaN() : 0;
    mean = SelectOf(blind, Const(computed_, none), mean);
    node_.MapAt(out_, axes, Place(query_.packed, value_.size, at), CastTo(node_.Type(kQuery), mean),
                "");
    return OkStatus();
  }

  NodeLowering& node_;
  Projection query_;
  Projection key_;
  Projection value_;
  Expr past_;   // the number of past keys; null if there is no such input
  Expr total_;  // the number of past and new keys
  DType computed_;
  bool empty_rows_are_nan_ = false;
  Expr columns_;  // the number of keys, padded to whole vectors
  std::vector<Expr> score_shape_;
  std::vector<Expr> stored_shape_;  // score_shape_ with columns_ per query
  StoredBuffer out_;
  std::optional<StoredBuffer> keys_;  // past and new keys
  std::optional<StoredBuffer> values_;
  std::optional<StoredBuffer> key_columns_;
  StoredBuffer scores_;
  StoredBuffer logits_;
  StoredBuffer powers_;
  StoredBuffer sums_;
};

}  // namespace

Status LowerAttention(NodeLowering& node) {
  int64_t mode = node.node().Int("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return node.Error("qk_matmul_output_mode is {}", mode);
  return AttentionLowering(node).Lower();
}

}  // namespace tcc
