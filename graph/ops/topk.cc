#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>

#include "graph/ops/lowerings.h"
#include "ir/simplify/interval.h"
#include "support/integer_division.h"

// TopK as a merge sort by ranks: each element's place is the number of elements that are better.
// Blocks are sorted by counting; then of two sorted runs each element finds its place in the other
// by binary search, and what comes behind the first k is dropped. With n elements and blocks of B
// that are O(n B + n log n log k) comparisons, in one loop nest without any order a level.
//
// A few out of many are selected first: whatever is among the best k stands in one of the k
// groups whose best elements are best. With groups of sqrt(n / k) elements both the best elements
// of all groups and the elements of these groups are sqrt(n k) to sort.
//
// How many levels there are depends on n. Where it is free, all elements are one block: n^2
// comparisons, in a loop nest that vectorizes.
namespace tcc {
namespace {

constexpr int64_t kBlock = 128;

// Fewer elements, or fewer for each that is kept, are sorted at once.
constexpr int64_t kMinSelected = 512;
constexpr int64_t kMinShare = 8;

Expr I32(int64_t value) {
  return IntConst(kInt32, value);
}

std::vector<Expr> With(std::vector<Expr> list, int axis, const Expr& entry) {
  list[axis] = entry;
  return list;
}

// The values that are compared: `at` gives the one at a place.
struct Keys {
  int64_t extent = 0;  // along the axis
  std::function<Expr(const std::vector<Expr>& place)> at;
};

// A list of positions along the axis, those from the extent of the keys on worse than all others
// and different: all in their order, or those in a buffer.
struct Candidates {
  int64_t count = 0;
  std::optional<StoredBuffer> positions = {};
};

class BestFirst {
 public:
  // Names of stages begin with `prefix`.
  BestFirst(NodeLowering& node, int axis, Keys keys, Candidates candidates, int64_t count,
            std::string prefix)
      : node_(node),
        axis_(axis),
        keys_(std::move(keys)),
        candidates_(std::move(candidates)),
        prefix_(std::move(prefix)),
        kept_(RoundedUp(std::max<int64_t>(count, 1))),
        largest_(IsLargest(node)) {}

  // Returns the positions, i32, of the best elements, the best first.
  StoredBuffer Sort() {
    SortBlocks();
    while (runs_ > 1) MergePairs();
    return origins_;
  }

  // Returns the positions, i32, of the `count` best of a free extent.
  StoredBuffer SortAtOnce(const Expr& extent, const Expr& count) {
    std::vector<Axis> axes = node_.Axes(node_.Shape(0));
    std::vector<Expr> place = VarsOf(axes);
    Axis rival = NodeLowering::MakeAxis("rival", extent);
    Expr better = IsBetter(place, CastTo(kInt32, rival.var), CastTo(kInt32, place[axis_]));
    StoredBuffer ranks = node_.Reduced(prefix_ + "ranks", axes, {rival}, SumCombiner(kInt32),
                                       SelectOf(better, I32(1), I32(0)));

    axes = node_.Axes(node_.Shape(0));
    place = VarsOf(axes);
    Expr rank = CastTo(kInt64, node_.Load(ranks, place));
    Scatter(axes, With(place, axis_, rank), CastTo(kInt32, place[axis_]), rank < count, count);
    return origins_;
  }

  static bool IsLargest(const NodeLowering& node) { return node.node().Int("largest", 1) != 0; }

 private:
  Expr OriginAt(const std::vector<Expr>& place) const { return node_.Load(origins_, place); }

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

  // Returns the position, i32, of the list's entry at `index`; beyond its end one of its own.
  Expr ListedAt(const std::vector<Expr>& place, const Expr& index) const {
    if (!candidates_.positions) return CastTo(kInt32, index);
    Expr last(candidates_.count - 1);
    Expr listed = node_.Load(*candidates_.positions, With(place, axis_, MinOf(index, last)));
    // Listed positions beyond the extent are not beyond it by more than the list is long.
    Expr beyond = CastTo(kInt32, index + Expr(keys_.extent + candidates_.count));
    return SelectOf(index <= last, listed, beyond);
  }

  void SortBlocks() {
    int64_t block = RoundedUp(std::min(candidates_.count, kBlock));
    runs_ = CeilDivision(candidates_.count, block);
    run_ = std::min(block, kept_);
    padded_ = runs_ * block != candidates_.count || RoundedUp(runs_) != runs_ ||
              candidates_.positions.has_value();
    std::vector<Expr> shape = ShapeWith({runs_, block});
    std::vector<Axis> axes = node_.Axes(shape);
    Axis rival = NodeLowering::MakeAxis("rival", Expr(block));
    std::vector<Expr> vars = VarsOf(axes);
    Expr base = Times(vars[axis_], block);
    std::vector<Expr> place = Replaced(vars, {Expr(0)}, 2);
    Expr own = ListedAt(place, base + vars[axis_ + 1]);
    Expr other = ListedAt(place, base + rival.var);
    StoredBuffer ranks = node_.Reduced(prefix_ + "ranks", axes, {rival}, SumCombiner(kInt32),
                                       SelectOf(IsBetter(place, other, own), I32(1), I32(0)));

    axes = node_.Axes(shape);
    vars = VarsOf(axes);
    Expr rank = CastTo(kInt64, node_.Load(ranks, vars));
    Expr target = Times(vars[axis_], run_) + rank;
    Expr origin =
        ListedAt(Replaced(vars, {Expr(0)}, 2), Times(vars[axis_], block) + vars[axis_ + 1]);
    Scatter(axes, Replaced(vars, {target}, 2), origin, run_ < block ? rank < Expr(run_) : True(),
            Expr(runs_ * run_));
  }

  // Where one element of a pair of runs stands, and how it compares with its partner's.
  struct PairedPlace {
    std::vector<Axis> axes;
    std::vector<Expr> vars;
    Expr run, partner, own;
  };

  PairedPlace Paired() const {
    PairedPlace at;
    at.axes = node_.Axes(ShapeWith({(runs_ + 1) / 2, 2, run_}));
    at.vars = VarsOf(at.axes);
    Expr pair = at.vars[axis_];
    Expr side = at.vars[axis_ + 1];
    // The last run may lack a partner: places beyond the end stand for it. There are such places in
    // the last run alone, so that two of them never meet.
    at.run = Times(pair, 2) + side;
    at.partner = Times(pair, 2) + (Expr(1) - side);
    Expr place = Bounded(Times(at.run, run_) + at.vars[axis_ + 2], runs_ * run_);
    at.own = OriginAt(Replaced(at.vars, {place}, 3));
    if (runs_ % 2 != 0) at.own = SelectOf(at.run < Expr(runs_), at.own, I32(keys_.extent));
    return at;
  }

  Expr PartnerIsBetter(const PairedPlace& at, const Expr& position) {
    Expr place = Bounded(Times(at.partner, run_) + position, runs_ * run_);
    Expr other = OriginAt(Replaced(at.vars, {place}, 3));
    return IsBetter(Replaced(at.vars, {Expr(0)}, 3), other, at.own);
  }

  // One step of every binary search: how many of the partner are better, so far. A stage each, as
  // a step reads what came before thrice.
  StoredBuffer SearchStep(const std::optional<StoredBuffer>& before, int64_t step) {
    PairedPlace at = Paired();
    Expr better = before ? CastTo(kInt64, node_.Load(*before, at.vars)) : Expr(0);
    Expr probed = step > 1 ? Plus(better, step - 1) : better;
    Expr found = SelectOf(PartnerIsBetter(at, probed), Plus(better, step), better);
    std::string suffix = fmt::format("_{}better{}", prefix_, searches_++);
    StoredBuffer result =
        node_.Intermediate(suffix.substr(1), kInt32, ShapeWith({(runs_ + 1) / 2, 2, run_}));
    node_.Map(result, at.axes, CastTo(kInt32, found), suffix);
    return result;
  }

  void MergePairs() {
    int64_t merged = std::min(2 * run_, kept_);
    std::optional<StoredBuffer> found;
    for (int64_t step = run_ / 2; step >= 1; step /= 2) found = SearchStep(found, step);
    found = SearchStep(found, 1);
    PairedPlace at = Paired();
    Expr better = CastTo(kInt64, node_.Load(*found, at.vars));
    if (runs_ % 2 != 0) {
      better = SelectOf(at.partner < Expr(runs_), better, Expr(0));
      better = SelectOf(at.run < Expr(runs_), better, Expr(run_));
    }
    Expr rank = at.vars[axis_ + 2] + better;
    Expr target = Times(at.vars[axis_], merged) + rank;
    Expr kept = merged < 2 * run_ ? rank < Expr(merged) : True();
    runs_ = (runs_ + 1) / 2;
    run_ = merged;
    Scatter(at.axes, Replaced(at.vars, {target}, 3), at.own, kept, Expr(runs_ * run_));
  }

  // The next order, of `count` places: origins at `place` become `origin`. No two elements have one
  // place.
  void Scatter(const std::vector<Axis>& axes, const std::vector<Expr>& place, const Expr& origin,
               const Expr& predicate, const Expr& count) {
    origins_ = node_.Intermediate(fmt::format("{}order{}", prefix_, steps_), kInt32,
                                  With(node_.Shape(0), axis_, count));
    node_.StoreInOrder({.output = origins_,
                        .axes = axes,
                        .kinds = std::vector<IterKind>(axes.size(), IterKind::kSpatial),
                        .indices = place,
                        .value = origin,
                        .predicate = predicate,
                        .suffix = fmt::format("_{}order{}", prefix_, steps_)});
    ++steps_;
  }

  // For an odd number of runs, the places of the one that is missing.
  Expr Bounded(const Expr& at, int64_t places) const {
    return runs_ % 2 == 0 ? at : MinOf(at, Expr(places - 1));
  }

  Expr Key(const std::vector<Expr>& place, const Expr& origin) const {
    Expr at = CastTo(kInt64, origin);
    return keys_.at(With(place, axis_, padded_ ? MinOf(at, Expr(keys_.extent - 1)) : at));
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
    Expr extent = I32(keys_.extent);
    return EitherOf(BothOf(better, farther < extent), BothOf(extent <= farther, a < b));
  }

  static Expr IsGreater(const Expr& x, const Expr& y) {
    if (!x.dtype().is_float()) return y < x;
    Expr only_x_is_nan =
        BothOf(CallOf(ScalarOp::kIsNan, {x}), Make<Not>(CallOf(ScalarOp::kIsNan, {y})));
    return EitherOf(y < x, only_x_is_nan);
  }

  NodeLowering& node_;
  const int axis_;
  const Keys keys_;
  const Candidates candidates_;
  const std::string prefix_;
  const int64_t kept_;  // of a run, a power of two
  const bool largest_;
  bool padded_ = false;
  int64_t runs_ = 0;
  int64_t run_ = 0;  // places of each
  StoredBuffer origins_;
  int steps_ = 0;
  int searches_ = 0;
};

class Selection {
 public:
  Selection(NodeLowering& node, int axis) : node_(node), axis_(axis) {}

  // Returns the positions of at least the `count` best keys, the best first.
  StoredBuffer BestOf(const Keys& keys, int64_t count, const std::string& prefix = "") {
    if (!IsWorthIt(keys, count)) {
      return BestFirst(node_, axis_, keys, {keys.extent}, count, prefix).Sort();
    }
    int64_t size = GroupSize(keys.extent, count);
    StoredBuffer heads = HeadsOf(keys, size, prefix);
    Keys of_heads = {CeilDivision(keys.extent, size),
                     [&](const std::vector<Expr>& place) { return node_.Load(heads, place); }};
    StoredBuffer groups = BestOf(of_heads, count, prefix + "head_");
    Candidates members = {count * size, MembersOf(groups, size, count, prefix)};
    return BestFirst(node_, axis_, keys, members, count, prefix).Sort();
  }

 private:
  // The best of a group is its maximum, which is NaN if one of them is, or its minimum: NaN would
  // be that, too, though it is the worst.
  bool IsWorthIt(const Keys& keys, int64_t count) const {
    bool has_best = BestFirst::IsLargest(node_) || !node_.Type(0).is_float();
    return has_best && count > 0 && keys.extent >= kMinSelected && keys.extent / kMinShare >= count;
  }

  // Returns a size near sqrt(extent / count), one that divides the extent if there is.
  static int64_t GroupSize(int64_t extent, int64_t count) {
    auto ideal =
        static_cast<int64_t>(std::sqrt(static_cast<double>(extent) / static_cast<double>(count)));
    for (int64_t size = ideal; 2 * size > ideal && size > 1; --size) {
      if (extent % size == 0) return size;
    }
    return ideal;
  }

  std::vector<Expr> ShapeWith(int64_t extent) const {
    return With(node_.Shape(0), axis_, Expr(extent));
  }

  StoredBuffer HeadsOf(const Keys& keys, int64_t size, const std::string& prefix) {
    DType type = node_.Type(0);
    std::vector<Expr> shape = ShapeWith(CeilDivision(keys.extent, size));
    std::vector<Axis> axes = node_.Axes(shape);
    Axis member = NodeLowering::MakeAxis("member", Expr(size));
    std::vector<Expr> place = VarsOf(axes);
    Expr position = Times(place[axis_], size) + member.var;
    return node_.Reduced(prefix + "heads", axes, {member},
                         BestFirst::IsLargest(node_) ? MaxCombiner(type) : MinCombiner(type),
                         keys.at(With(place, axis_, position)),
                         keys.extent % size == 0 ? True() : position < Expr(keys.extent));
  }

  // Returns the positions of the members of the first `count` of the groups.
  StoredBuffer MembersOf(const StoredBuffer& groups, int64_t size, int64_t count,
                         const std::string& prefix) {
    std::vector<Expr> shape = ShapeWith(count * size);
    StoredBuffer members = node_.Intermediate(prefix + "members", kInt32, shape);
    std::vector<Axis> axes = node_.Axes(shape);
    std::vector<Expr> place = VarsOf(axes);
    Expr group = node_.Load(groups, With(place, axis_, FloorDivide(place[axis_], Expr(size))));
    Expr member = CastTo(kInt32, FloorModulo(place[axis_], Expr(size)));
    node_.Map(members, axes, group * I32(size) + member, "_" + prefix + "members");
    return members;
  }

  NodeLowering& node_;
  const int axis_;
};

// Returns the positions of at least the `count` best elements along the axis, the best first.
StoredBuffer BestOf(NodeLowering& node, int axis, const Expr& count) {
  const Expr& extent = node.Shape(0)[axis];
  std::optional<int64_t> known = AsConstant(extent);
  Keys keys = {known.value_or(0),
               [&](const std::vector<Expr>& place) { return node.Load(0, place); }};
  if (!known) return BestFirst(node, axis, keys, {}, 0, "").SortAtOnce(extent, count);
  int64_t most = AsConstant(count).value_or(std::min(BoundsOf(count, {}).high, *known));
  return Selection(node, axis).BestOf(keys, most);
}

}  // namespace

Status LowerTopK(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  size_t rank = node.Rank(0);
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", -1), rank));
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> k, node.Ints(1, "k"));
  std::vector<Expr> shape = node.Shape(0);
  Expr extent = shape[axis];
  if (BoundsOf(extent, {}).high > INT32_MAX / 2) {
    return node.NotSupported("input 0 has shape {}; expected at most {} in dimension {}",
                             ShapeText(shape), INT32_MAX / 2, axis);
  }
  if (k.size() != 1 || !node.AgreeAtMost(Expr(0), k[0], "the least k and k").ok() ||
      !node.AgreeAtMost(k[0], extent, "k and the extent of its axis").ok()) {
    return node.Error("k is {}; expected 0 to {}", ShapeText(k), ShapeText({extent}));
  }
  shape[axis] = k[0];
  StoredBuffer values = node.Output(0, node.Type(0), shape);
  std::optional<StoredBuffer> origins;
  if (node.Wants(1)) origins = node.Output(1, kInt64, shape);
  if (IsConstant(extent, 0)) return OkStatus();

  StoredBuffer best = BestOf(node, axis, k[0]);
  std::vector<Axis> axes = node.Axes(shape);
  Expr position = CastTo(kInt64, node.Load(best, VarsOf(axes)));
  node.Map(values, axes, node.Load(0, With(VarsOf(axes), axis, position)), "_values");
  if (!origins) return OkStatus();
  axes = node.Axes(shape);
  node.Map(*origins, axes, CastTo(kInt64, node.Load(best, VarsOf(axes))), "_indices");
  return OkStatus();
}

}  // namespace tcc
