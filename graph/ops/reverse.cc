#include "graph/ops/lowerings.h"

namespace tcc {

// The first sequence_lens[b] elements of each sequence backwards, the rest as they are.
Status LowerReverseSequence(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const std::vector<Expr>& shape = node.Shape(0);
  int64_t batch = node.node().Int("batch_axis", 1);
  int64_t time = node.node().Int("time_axis", 0);
  bool fits = shape.size() >= 2 && batch + time == 1 && (batch == 0 || batch == 1) &&
              node.Rank(1) == 1 && node.Type(1) == kInt64 &&
              node.Agree(node.Shape(1)[0], shape[batch], "numbers of lengths and sequences").ok();
  if (!fits) {
    return node.Error("{}, lengths of shape {}, batch_axis {} and time_axis {}", node.InputText(0),
                      ShapeText(node.Shape(1)), batch, time);
  }
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> place = VarsOf(axes);
  // A length beyond the end is one to the end.
  Expr length = MinOf(node.Load(1, {place[batch]}), shape[time]);
  Expr step = place[time];
  place[time] = SelectOf(step < length, length - Expr(1) - step, step);
  node.Map(out, axes, node.Load(0, place));
  return OkStatus();
}

}  // namespace tcc
