#include "graph/ops/lowerings.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

struct RoiParameters {
  bool takes_maximum = false;
  bool half_pixel = true;
  int64_t samples = 0;  // samples along each side of a bin; 0: as many as there are pixels
  double scale = 1;
};

// One side of the region that an output place reads, in floats and in pixels of the image.
struct RoiSide {
  Expr bin;      // the width of a bin
  Expr start;    // the start of the bin
  Expr samples;  // the number of samples, at least 0
};

// The samples of a side that may lie on the image: the others are zeros, however many.
struct RoiSamples {
  std::vector<Axis> axes;
  Expr number;      // of the sample among all of the side, as a float
  Expr may_exist;   // by the region alone, whatever bin
  Expr exists;      // less than the side's samples
  Expr leaves_out;  // whether the side has others
};

class RoiAligner {
 public:
  RoiAligner(NodeLowering& node, const RoiParameters& parameters, std::vector<Expr> image,
             std::vector<int64_t> pooled)
      : node_(node),
        parameters_(parameters),
        image_(std::move(image)),
        pooled_(std::move(pooled)),
        type_(node.Type(0) == kFloat64 ? kFloat64 : kFloat32) {}

  void Lower() {
    std::vector<Expr> shape = {node_.Shape(1)[0], image_[1], Expr(pooled_[0]), Expr(pooled_[1])};
    StoredBuffer out = node_.Output(0, node_.Type(0), shape);
    std::vector<Axis> axes = node_.Axes(shape);
    RoiSide y = Side(0, axes);
    RoiSide x = Side(1, axes);
    RoiSamples rows = SamplesOf(0, y, "y");
    RoiSamples columns = SamplesOf(1, x, "x");
    std::vector<Axis> samples = rows.axes;
    samples.insert(samples.end(), columns.axes.begin(), columns.axes.end());
    StoredBuffer merged = node_.Reduced(
        "samples", axes, samples,
        parameters_.takes_maximum ? MaxCombiner(type_) : SumCombiner(type_),
        SampleAt(axes, Place(y, rows.number), Place(x, columns.number)),
        BothOf(BothOf(rows.may_exist, columns.may_exist), BothOf(rows.exists, columns.exists)));

    axes = node_.Axes(shape);
    node_.Map(out, axes, CastTo(node_.Type(0), Result(axes, node_.Load(merged, VarsOf(axes)))));
  }

 private:
  Expr F(double value) const { return FloatConst(type_, value); }
  Expr AsFloat(const Expr& extent) const { return ScaledFloat(type_, extent); }

  Expr Corner(const Expr& roi, int64_t column) const {
    Expr corner = CastTo(type_, node_.Load(1, {roi, Expr(column)})) * F(parameters_.scale);
    return parameters_.half_pixel ? corner - F(0.5) : corner;
  }

  // Returns side 0 (y) or side 1 (x). A region of interest is x1, y1, x2, y2.
  RoiSide Side(int64_t side, const std::vector<Axis>& axes) const {
    Expr roi = axes[0].var;
    Expr start = Corner(roi, 1 - side);
    Expr length = Corner(roi, 3 - side) - start;
    if (!parameters_.half_pixel) length = MaxOf(length, F(1));
    RoiSide result;
    result.bin = Make<Div>(length, F(static_cast<double>(pooled_[side])));
    result.start = start + CastTo(type_, axes[side + 2].var) * result.bin;
    result.samples = parameters_.samples > 0 ? F(static_cast<double>(parameters_.samples))
                                             : MaxOf(CallOf(ScalarOp::kCeil, {result.bin}), F(0));
    return result;
  }

  Expr Place(const RoiSide& side, const Expr& number) const {
    return side.start + (number + F(0.5)) * Make<Div>(side.bin, side.samples);
  }

  // Samples that a region asks for are a pixel apart or less, and those of more than two are more
  // than half of it: with n + 1 pixels from -1 to n on the image, n + 3 of them at most; two more
  // make up for the rounding of the first. Regions inside the image need far less: the loop is in
  // two, and conditions on the region alone leave both of them early, whatever else is unrolled.
  RoiSamples SamplesOf(int64_t dim, const RoiSide& side, const std::string& name) const {
    if (parameters_.samples > 0) {
      Axis sample = NodeLowering::MakeAxis("i" + name, Expr(parameters_.samples));
      return {{sample}, CastTo(type_, sample.var), True(), True(), IntConst(kBool, 0)};
    }
    const Expr& extent = image_[dim + 2];
    Expr inner = Simplify(FloorDivide(extent, Expr(pooled_[dim])) + Expr(2));
    Expr parts = Simplify(CeilDivide(extent + Expr(5), inner));
    Axis part = NodeLowering::MakeAxis("o" + name, parts);
    Axis sample = NodeLowering::MakeAxis("i" + name, inner);
    Expr before = Product(std::vector<Expr>{part.var, inner});
    Expr counted = CastTo(type_, before + sample.var);
    Expr first = FirstSample(side);
    Expr may_exist = BothOf(CastTo(type_, before) < side.samples, counted < side.samples);
    Expr leaves_out = EitherOf(
        F(0) < first, first + AsFloat(Product(std::vector<Expr>{parts, inner})) < side.samples);
    Expr number = first + counted;
    return {{part, sample}, number, may_exist, number < side.samples, leaves_out};
  }

  // Divides the sum by the number of all samples, or compares the maximum with the zeros left out.
  Expr Result(const std::vector<Axis>& axes, const Expr& merged) const {
    RoiSide y = Side(0, axes);
    RoiSide x = Side(1, axes);
    Expr count = y.samples * x.samples;
    if (!parameters_.takes_maximum) return Make<Div>(merged, MaxOf(count, F(1)));
    Expr leaves_out = EitherOf(SamplesOf(0, y, "y").leaves_out, SamplesOf(1, x, "x").leaves_out);
    return SelectOf(F(0) < count, SelectOf(leaves_out, MaxOf(merged, F(0)), merged), F(0));
  }

  // Returns the number of a sample before the image, the last one or the one before it; else 0.
  Expr FirstSample(const RoiSide& side) const {
    Expr step = Make<Div>(side.bin, side.samples);
    Expr at = Make<Div>(F(-1) - side.start, step) - F(1.5);
    return MaxOf(CallOf(ScalarOp::kFloor, {at}), F(0));
  }

  // The two pixels next to one coordinate, its distance from the lower one, and whether it is on
  // the image.
  struct Neighbours {
    Expr low, high;
    Expr to_low;
    Expr inside;
  };
  Neighbours NeighboursOf(const Expr& place, const Expr& extent) const {
    Expr last = Plus(extent, -1);
    Expr inside = BothOf(F(-1) <= place, place <= AsFloat(extent));
    Expr clamped = MinOf(MaxOf(place, F(0)), AsFloat(last));
    Expr low = CastTo(kInt64, CallOf(ScalarOp::kFloor, {clamped}));
    return {low, MinOf(low + Expr(1), last), clamped - CallOf(ScalarOp::kFloor, {clamped}), inside};
  }

  Expr SampleAt(const std::vector<Axis>& axes, const Expr& y, const Expr& x) const {
    Neighbours rows = NeighboursOf(y, image_[2]);
    Neighbours columns = NeighboursOf(x, image_[3]);
    Expr batch =
        MinOf(MaxOf(CastTo(kInt64, node_.Load(2, {axes[0].var})), Expr(0)), Plus(image_[0], -1));
    auto part = [&](const Expr& row, const Expr& column, const Expr& weight) {
      return weight * CastTo(type_, node_.Load(0, {batch, axes[1].var, row, column}));
    };
    Expr far_y = rows.to_low;
    Expr far_x = columns.to_low;
    Expr near_y = F(1) - far_y;
    Expr near_x = F(1) - far_x;
    Expr a = part(rows.low, columns.low, near_y * near_x);
    Expr b = part(rows.low, columns.high, near_y * far_x);
    Expr c = part(rows.high, columns.low, far_y * near_x);
    Expr d = part(rows.high, columns.high, far_y * far_x);
    // ONNX takes the maximum over the weighted pixels.
    Expr value = parameters_.takes_maximum ? MaxOf(MaxOf(a, b), MaxOf(c, d)) : a + b + c + d;
    return SelectOf(BothOf(rows.inside, columns.inside), value, F(0));
  }

  NodeLowering& node_;
  RoiParameters parameters_;
  std::vector<Expr> image_;
  std::vector<int64_t> pooled_;
  DType type_;
};

}  // namespace

Status LowerRoiAlign(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  const std::vector<Expr>& image = node.Shape(0);
  const std::vector<Expr>& rois = node.Shape(1);
  std::vector<int64_t> pooled = {node.node().Int("output_height", 1),
                                 node.node().Int("output_width", 1)};
  std::string mode = node.node().String("mode", "avg");
  std::string transformation = node.node().String("coordinate_transformation_mode", "half_pixel");
  RoiParameters parameters{.takes_maximum = mode == "max",
                           .half_pixel = transformation == "half_pixel",
                           .samples = node.node().Int("sampling_ratio", 0),
                           .scale = node.node().Float("spatial_scale", 1)};
  constexpr int64_t kLimit = 1 << 12;
  bool good = image.size() == 4 && rois.size() == 2 &&
              node.Agree(rois[1], Expr(4), "numbers of a region").ok() && node.Rank(2) == 1 &&
              node.Agree(node.Shape(2)[0], rois[0], "numbers of batch indices and regions").ok() &&
              node.Type(0).is_float() && node.Type(1).is_float() && node.Type(2).is_integer();
  bool known = (mode == "avg" || mode == "max") && parameters.samples >= 0 &&
               parameters.samples < kLimit && pooled[0] > 0 && pooled[1] > 0 &&
               (parameters.half_pixel || transformation == "output_half_pixel");
  for (const Expr& extent : image) good = good && node.AgreeOnPlaces(extent, Expr(1)).ok();
  if (!good || !known) {
    return node.Error(
        "image of shape {}, regions of shape {}, output {}x{}, mode '{}', "
        "coordinate_transformation_mode '{}'",
        ShapeText(image), ShapeText(rois), pooled[0], pooled[1], mode, transformation);
  }
  RoiAligner(node, parameters, image, pooled).Lower();
  return OkStatus();
}

}  // namespace tcc
