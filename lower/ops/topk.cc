#include <algorithm>
#include <bit>

#include "lower/ops/lowerings.h"

// TopK as a merge sort by ranks: each element's place is the number of elements that are better.
// Blocks are sorted by counting; then of two sorted runs each element finds its place in the other
// by binary search, and what comes behind the first k is dropped. With n elements and blocks of B
// that are O(n B + n log n log k) comparisons, in one loop nest without any order a level.
namespace tcc {
namespace {

constexpr int64_t kBlock = 64;

Expr I32(int64_t value) {
  return IntConst(kInt32, value);
}

class BestFirst {
 public:
  BestFirst(NodeLowering& node, int axis, int64_t extent, int64_t count)
      : node_(node),
        axis_(axis),
        extent_(extent),
        kept_(RoundedUp(std::max<int64_t>(count, 1))),
        largest_(node.node().Int("largest", 1) != 0) {}

  // Afterwards OriginAt gives the elements in order.
  void Sort() {
    SortBlocks();
    while (runs_ > 1) MergePairs();
  }

  // Where in the input stands what comes to `place`, i32.
  Expr OriginAt(const std::vector<Expr>& place) const { return node_.Load(origins_, place); }

 private:
  static int64_t RoundedUp(int64_t value) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value)));
  }

  // The input's shape with other dimensions in place of the sorted one.
  std::vector<Expr> ShapeWith(const std::vector<int64_t>& dims) const {
    return Replaced(node_.Shape(0), ToExprs(dims));
  }
  std::vector<Expr> Replaced(std::vector<Expr> list, const std::vector<Expr>& parts,
                             size_t count = 1) const {
    auto at = list.erase(list.begin() + axis_, list.begin() + axis_ + static_cast<int>(count));
    list.insert(at, parts.begin(), parts.end());
    return list;
  }

  void SortBlocks() {
    int64_t block = RoundedUp(std::min(extent_, kBlock));
    runs_ = (extent_ + block - 1) / block;
    run_ = std::min(block, kept_);
    padded_ = runs_ * block != extent_ || RoundedUp(runs_) != runs_;
    std::vector<Expr> shape = ShapeWith({runs_, block});
    StoredBuffer ranks = node_.Intermediate("ranks", kInt32, shape);
    std::vector<Axis> axes = node_.Axes(shape);
    Axis rival = NodeLowering::MakeAxis("rival", Expr(block));
    std::vector<Expr> vars = VarsOf(axes);
    Expr base = Times(vars[axis_], block);
    std::vector<Expr> place = Replaced(vars, {Expr(0)}, 2);
    Expr own = CastTo(kInt32, base + vars[axis_ + 1]);
    Expr other = CastTo(kInt32, base + rival.var);
    node_.Reduce({.outputs = {ranks},
                  .axes = axes,
                  .reduce_axes = {rival},
                  .combiner = SumCombiner(kInt32),
                  .values = {SelectOf(IsBetter(place, other, own), I32(1), I32(0))},
                  .suffix = "_ranks"});

    axes = node_.Axes(shape);
    vars = VarsOf(axes);
    Expr rank = CastTo(kInt64, node_.Load(ranks, vars));
    Expr target = Times(vars[axis_], run_) + rank;
    Expr origin = CastTo(kInt32, Times(vars[axis_], block) + vars[axis_ + 1]);
    Scatter(axes, Replaced(vars, {target}, 2), origin, run_ < block ? rank < Expr(run_) : True());
  }

  void MergePairs() {
    int64_t merged = std::min(2 * run_, kept_);
    int64_t places = runs_ * run_;
    std::vector<Axis> axes = node_.Axes(ShapeWith({(runs_ + 1) / 2, 2, run_}));
    std::vector<Expr> vars = VarsOf(axes);
    Expr pair = vars[axis_];
    Expr side = vars[axis_ + 1];
    Expr within = vars[axis_ + 2];
    auto place_of = [&](const Expr& at) { return Replaced(vars, {at}, 3); };
    // The last run may lack a partner: places beyond the end stand for it. There are such places in
    // the last run alone, so that two of them never meet.
    Expr run = Times(pair, 2) + side;
    Expr partner = Times(pair, 2) + (Expr(1) - side);
    bool complete = runs_ % 2 == 0;
    Expr own = OriginAt(place_of(Bounded(Times(run, run_) + within, places)));
    if (!complete) own = SelectOf(run < Expr(runs_), own, I32(extent_));
    auto is_better = [&](const Expr& position) {
      Expr at = Bounded(Times(partner, run_) + position, places);
      return IsBetter(place_of(Expr(0)), OriginAt(place_of(at)), own);
    };
    Expr better = 0;
    for (int64_t step = run_ / 2; step >= 1; step /= 2) {
      better = SelectOf(is_better(Plus(better, step - 1)), Plus(better, step), better);
    }
    better = SelectOf(is_better(better), Plus(better, 1), better);
    if (!complete) {
      better = SelectOf(partner < Expr(runs_), better, Expr(0));
      better = SelectOf(run < Expr(runs_), better, Expr(run_));
    }
    Expr rank = within + better;
    Expr target = Times(pair, merged) + rank;
    Expr kept = merged < 2 * run_ ? rank < Expr(merged) : True();
    runs_ = (runs_ + 1) / 2;
    run_ = merged;
    Scatter(axes, place_of(target), own, kept);
  }

  // The next order: origins at `place` become `origin`. No two elements have one place.
  void Scatter(const std::vector<Axis>& axes, const std::vector<Expr>& place, const Expr& origin,
               const Expr& predicate) {
    origins_ =
        node_.Intermediate(fmt::format("order{}", steps_), kInt32, ShapeWith({runs_ * run_}));
    node_.StoreInOrder({.output = origins_,
                        .axes = axes,
                        .kinds = std::vector<IterKind>(axes.size(), IterKind::kSpatial),
                        .indices = place,
                        .value = origin,
                        .predicate = predicate,
                        .suffix = fmt::format("_order{}", steps_)});
    ++steps_;
  }

  // For an odd number of runs, the places of the one that is missing.
  Expr Bounded(const Expr& at, int64_t places) const {
    return runs_ % 2 == 0 ? at : MinOf(at, Expr(places - 1));
  }

  Expr Key(std::vector<Expr> place, const Expr& origin) {
    Expr at = CastTo(kInt64, origin);
    place[axis_] = padded_ ? MinOf(at, Expr(extent_ - 1)) : at;
    return node_.Load(0, place);
  }

  // A total order: NaN is greater than every number, of equals the one that comes first is better,
  // and nothing is worse than the places beyond the end.
  Expr IsBetter(const std::vector<Expr>& place, const Expr& a, const Expr& b) {
    Expr x = Key(place, a);
    Expr y = Key(place, b);
    Expr x_wins = largest_ ? IsGreater(x, y) : IsGreater(y, x);
    Expr y_wins = largest_ ? IsGreater(y, x) : IsGreater(x, y);
    Expr better = EitherOf(x_wins, BothOf(Make<Not>(y_wins), a < b));
    if (!padded_) return better;
    // `better` stands first: what is right of a && or || is loaded under a condition.
    Expr farther = MaxOf(a, b);
    return EitherOf(BothOf(better, farther < I32(extent_)), BothOf(I32(extent_) <= farther, a < b));
  }

  static Expr IsGreater(const Expr& x, const Expr& y) {
    if (!x.dtype().is_float()) return y < x;
    Expr only_x_is_nan =
        BothOf(CallOf(ScalarOp::kIsNan, {x}), Make<Not>(CallOf(ScalarOp::kIsNan, {y})));
    return EitherOf(y < x, only_x_is_nan);
  }

  NodeLowering& node_;
  const int axis_;
  const int64_t extent_;
  const int64_t kept_;  // of a run, a power of two
  const bool largest_;
  bool padded_ = false;
  int64_t runs_ = 0;
  int64_t run_ = 0;  // places of each
  StoredBuffer origins_;
  int steps_ = 0;
};

}  // namespace

Status LowerTopK(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  size_t rank = node.Rank(0);
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", -1), rank));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> k, node.ConstantInts(1, "k"));
  std::vector<Expr> shape = node.Shape(0);
  std::optional<int64_t> extent = AsConstant(shape[axis]);
  if (!extent || *extent > INT32_MAX / 2) {
    return node.NotSupported("input 0 has shape {}; expected a known dimension {}",
                             ShapeText(shape), axis);
  }
  if (k.size() != 1 || k[0] < 0 || k[0] > *extent) {
    return node.Error("k is {}; expected 0 to {}", ShapeToString(k), *extent);
  }
  shape[axis] = Expr(k[0]);
  StoredBuffer values = node.Output(0, node.Type(0), shape);
  std::optional<StoredBuffer> origins;
  if (node.Wants(1)) origins = node.Output(1, kInt64, shape);
  if (*extent == 0) return OkStatus();

  BestFirst sorted(node, axis, *extent, k[0]);
  sorted.Sort();
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> place = VarsOf(axes);
  place[axis] = CastTo(kInt64, sorted.OriginAt(VarsOf(axes)));
  node.Map(values, axes, node.Load(0, place), "_values");
  if (!origins) return OkStatus();
  axes = node.Axes(shape);
  node.Map(*origins, axes, CastTo(kInt64, sorted.OriginAt(VarsOf(axes))), "_indices");
  return OkStatus();
}

}  // namespace tcc
