#include <numbers>

#include "models/onnx/onnx_normalize.h"
#include "models/onnx/onnx_tensor.h"

// Windows and short-time transforms as what they are made of.
namespace tcc {
namespace {

// Builds expressions of values in front of the node.
class Formula {
 public:
  explicit Formula(OnnxNodeContext& context) : context_(context) {}

  ValueId Number(DType type, double value) { return context_.AddScalar("number", value, type); }
  ValueId F64(double value) { return Number(kFloat64, value); }
  ValueId I64(int64_t value) { return Number(kInt64, static_cast<double>(value)); }

  ValueId Binary(OpKind op, ValueId a, ValueId b) {
    return context_.Emit(op, {a, b}, {}, TypeOf(a));
  }
  ValueId To(DType type, ValueId x) {
    if (TypeOf(x) == type) return x;
    return context_.Emit(OpKind::kCast, {x}, {{"to", ToString(type)}}, type);
  }
  ValueId Compare(OpKind op, ValueId a, ValueId b) { return context_.Emit(op, {a, b}, {}, kBool); }
  ValueId Where(ValueId condition, ValueId a, ValueId b) {
    return context_.Emit(OpKind::kWhere, {condition, a, b}, {}, TypeOf(a));
  }
  ValueId Unary(OpKind op, ValueId x) { return context_.Emit(op, {x}, {}, TypeOf(x)); }
  // x[first:last] of a list.
  ValueId Slice(ValueId x, int64_t first, int64_t last) {
    ValueId starts = context_.AddInts("starts", {first});
    ValueId ends = context_.AddInts("ends", {last});
    return context_.Emit(OpKind::kSlice, {x, starts, ends}, {}, TypeOf(x));
  }
  ValueId Cos(ValueId x) { return Unary(OpKind::kCos, x); }
  ValueId Range(ValueId first, ValueId limit, ValueId step) {
    return context_.Emit(OpKind::kRange, {first, limit, step}, {}, TypeOf(first));
  }
  ValueId Unsqueeze(ValueId x, int64_t axis) {
    ValueId axes = context_.AddInts("axes", {axis});
    return context_.Emit(OpKind::kUnsqueeze, {x, axes}, {}, TypeOf(x));
  }
  // [batch, length, parts of a number]; torch leaves the last one out where it is one.
  ValueId WithParts(ValueId signal) {
    ValueId shape = context_.AddInts("shape", {0, 0, -1});
    return context_.Emit(OpKind::kReshape, {signal, shape}, {{"allowzero", int64_t{0}}},
                         TypeOf(signal));
  }
  // The extent of one dimension, as a list of one.
  ValueId Extent(ValueId x, int64_t axis) {
    return context_.Emit(OpKind::kShape, {x}, {{"start", axis}, {"end", axis + 1}}, kInt64);
  }

 private:
  DType TypeOf(ValueId id) const { return context_.graph.value(id).dtype; }

  OnnxNodeContext& context_;
};

StatusOr<DType> OutputType(const OnnxNodeContext& context) {
  auto code = static_cast<int32_t>(context.node.Int("output_datatype", 1));
  std::optional<DType> type = FromOnnxType(code);
  if (type && !type->is_storage_only() && !type->is_bool()) return *type;
  return context.NotSupported(fmt::format("element type {} is not supported", OnnxTypeName(code)));
}

void BecomeCast(OnnxNodeContext& context, ValueId x, DType type) {
  context.graph.values[context.node.outputs[0]].dtype = type;
  context.node.op = OpKind::kCast;
  context.node.inputs = {x};
  context.node.attributes = {{"to", ToString(type)}};
}

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) for n below the size, where N is the size, or one
// less for a symmetric window. (ONNX's HannWindow, HammingWindow, BlackmanWindow.)
Status NormalizeWindow(OnnxNodeContext& context, double a0, double a1, double a2) {
  TCC_ASSIGN_OR_RETURN(DType type, OutputType(context));
  bool periodic = context.node.Int("periodic", 1) != 0;
  Formula formula(context);
  ValueId size = formula.To(kInt64, context.node.inputs[0]);
  ValueId n = formula.To(kFloat64, formula.Range(formula.I64(0), size, formula.I64(1)));
  ValueId period = formula.To(kFloat64, size);
  if (!periodic) period = formula.Binary(OpKind::kSub, period, formula.F64(1));
  ValueId turn = formula.Binary(OpKind::kMul, n, formula.F64(2 * std::numbers::pi));
  ValueId angle = formula.Binary(OpKind::kDiv, turn, period);
  ValueId wave = formula.Binary(OpKind::kMul, formula.Cos(angle), formula.F64(a1));
  ValueId window = formula.Binary(OpKind::kSub, formula.F64(a0), wave);
  if (a2 != 0) {
    ValueId twice = formula.Binary(OpKind::kMul, angle, formula.F64(2));
    ValueId second = formula.Binary(OpKind::kMul, formula.Cos(twice), formula.F64(a2));
    window = formula.Binary(OpKind::kAdd, window, second);
  }
  BecomeCast(context, window, type);
  return OkStatus();
}

// The edges and centres of the filters as numbers of frequency bins, one list of `filters` + 2:
// evenly spaced on the mel scale, 2595 log10(1 + f / 700).
ValueId MelBins(OnnxNodeContext& context, Formula& formula, ValueId filters) {
  const std::vector<ValueId>& in = context.node.inputs;
  auto mel_of = [&](ValueId frequency) {
    ValueId ratio = formula.Binary(OpKind::kDiv, formula.To(kFloat64, frequency), formula.F64(700));
    ValueId log = formula.Unary(OpKind::kLog, formula.Binary(OpKind::kAdd, ratio, formula.F64(1)));
    return formula.Binary(OpKind::kMul, log, formula.F64(2595 / std::numbers::ln10));
  };
  ValueId low = mel_of(in[3]);
  ValueId width = formula.Binary(OpKind::kSub, mel_of(in[4]), low);
  ValueId points = formula.Binary(OpKind::kAdd, filters, formula.I64(2));
  ValueId step = formula.Binary(OpKind::kDiv, width, formula.To(kFloat64, points));
  ValueId place = formula.To(kFloat64, formula.Range(formula.I64(0), points, formula.I64(1)));
  ValueId mel = formula.Binary(OpKind::kAdd, formula.Binary(OpKind::kMul, place, step), low);
  ValueId power = formula.Binary(OpKind::kDiv, mel, formula.F64(2595));
  ValueId ratio = formula.Binary(OpKind::kPow, formula.F64(10), power);
  ValueId frequency = formula.Binary(
      OpKind::kMul, formula.Binary(OpKind::kSub, ratio, formula.F64(1)), formula.F64(700));
  ValueId length = formula.To(kFloat64, in[1]);
  ValueId scaled =
      formula.Binary(OpKind::kMul, formula.Binary(OpKind::kAdd, length, formula.F64(1)), frequency);
  return formula.Unary(OpKind::kFloor,
                       formula.Binary(OpKind::kDiv, scaled, formula.To(kFloat64, in[2])));
}

}  // namespace

// A triangle a filter: it rises from the bin below to its centre and falls to the bin above.
Status NormalizeMelWeightMatrix(OnnxNodeContext& context) {
  TCC_ASSIGN_OR_RETURN(DType type, OutputType(context));
  Formula formula(context);
  ValueId filters = formula.To(kInt64, context.node.inputs[0]);
  ValueId bins = MelBins(context, formula, filters);
  ValueId lower = formula.Slice(bins, 0, -2);
  ValueId centre = formula.Slice(bins, 1, -1);
  ValueId upper = formula.Slice(bins, 2, INT64_MAX);
  ValueId half =
      formula.Binary(OpKind::kDiv, formula.To(kInt64, context.node.inputs[1]), formula.I64(2));
  ValueId rows = formula.Binary(OpKind::kAdd, half, formula.I64(1));
  ValueId row = formula.Unsqueeze(
      formula.To(kFloat64, formula.Range(formula.I64(0), rows, formula.I64(1))), 1);

  auto part = [&](ValueId a, ValueId b, ValueId c, ValueId d) {
    return formula.Binary(OpKind::kDiv, formula.Binary(OpKind::kSub, a, b),
                          formula.Binary(OpKind::kSub, c, d));
  };
  auto both = [&](OpKind op_a, ValueId a, OpKind op_b, ValueId b) {
    return formula.Compare(OpKind::kAnd, formula.Compare(op_a, row, a),
                           formula.Compare(op_b, row, b));
  };
  ValueId rises = both(OpKind::kGreaterOrEqual, lower, OpKind::kLessOrEqual, centre);
  ValueId falls = both(OpKind::kGreaterOrEqual, centre, OpKind::kLess, upper);
  // A filter that begins at its centre has no slope to rise.
  ValueId peaks = both(OpKind::kEqual, lower, OpKind::kEqual, centre);
  ValueId slope = formula.Where(rises, part(row, lower, centre, lower), formula.F64(0));
  ValueId rising = formula.Where(peaks, formula.F64(1), slope);
  BecomeCast(context, formula.Where(falls, part(upper, row, upper, centre), rising), type);
  return OkStatus();
}

Status NormalizeHannWindow(OnnxNodeContext& context) {
  return NormalizeWindow(context, 0.5, 0.5, 0);
}

Status NormalizeHammingWindow(OnnxNodeContext& context) {
  return NormalizeWindow(context, 25.0 / 46, 21.0 / 46, 0);
}

Status NormalizeBlackmanWindow(OnnxNodeContext& context) {
  return NormalizeWindow(context, 0.42, 0.5, 0.08);
}

// The frames that start every `frame_step`, gathered, times the window, transformed.
Status NormalizeSTFT(OnnxNodeContext& context) {
  Node& node = context.node;
  if (!context.HasInput(2) && !context.HasInput(3)) {
    return context.Invalid("has neither a window nor a frame length");
  }
  Formula formula(context);
  ValueId signal = formula.WithParts(node.inputs[0]);
  ValueId step = formula.To(kInt64, node.inputs[1]);
  ValueId length =
      context.HasInput(3) ? formula.To(kInt64, node.inputs[3]) : formula.Extent(node.inputs[2], 0);
  ValueId room = formula.Binary(OpKind::kSub, formula.Extent(signal, 1), length);
  ValueId last = formula.Binary(OpKind::kMul, formula.Binary(OpKind::kDiv, room, step), step);
  ValueId limit = formula.Binary(OpKind::kAdd, last, formula.I64(1));
  ValueId starts = formula.Unsqueeze(formula.Range(formula.I64(0), limit, step), 1);
  ValueId offsets = formula.Range(formula.I64(0), length, formula.I64(1));
  ValueId places = formula.Binary(OpKind::kAdd, starts, offsets);
  DType type = context.InputType(0);
  ValueId frames = context.Emit(OpKind::kGather, {signal, places}, {{"axis", int64_t{1}}}, type);
  if (context.HasInput(2)) {
    frames = formula.Binary(OpKind::kMul, frames, formula.Unsqueeze(node.inputs[2], 1));
  }
  node.op = OpKind::kDFT;
  node.inputs = {frames};
  node.attributes["axis"] = int64_t{2};
  node.attributes["inverse"] = int64_t{0};
  return OkStatus();
}

}  // namespace tcc
