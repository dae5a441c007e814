#include "graph/ops/lowerings.h"

// Blocks of b x b pixels against b * b channels.
namespace tcc {
namespace {

struct BlockedImage {
  std::vector<int64_t> shape;  // N, C, H, W
  int64_t block = 1;
};

StatusOr<BlockedImage> ImageOf(const NodeLowering& node) {
  BlockedImage image;
  TCC_ASSIGN_OR_RETURN(image.shape, node.StaticShape(0));
  image.block = node.node().Int("blocksize", 1);
  if (image.shape.size() != 4 || image.block < 1 || image.block > (int64_t{1} << 20)) {
    return node.Error("{} with blocksize {}; expected four dimensions and at least 1",
                      node.InputText(0), image.block);
  }
  return image;
}

}  // namespace

Status LowerDepthToSpace(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TCC_ASSIGN_OR_RETURN(BlockedImage image, ImageOf(node));
  int64_t b = image.block;
  std::string mode = node.node().String("mode", "DCR");
  if (image.shape[1] % (b * b) != 0 || (mode != "DCR" && mode != "CRD")) {
    return node.Error("{} channels, blocksize {} and mode '{}'", image.shape[1], b, mode);
  }
  int64_t channels = image.shape[1] / (b * b);
  std::vector<Expr> shape = {Expr(image.shape[0]), Expr(channels), Expr(image.shape[2] * b),
                             Expr(image.shape[3] * b)};
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  Expr c = axes[1].var;
  Expr h = axes[2].var;
  Expr w = axes[3].var;
  Expr within = Times(FloorModulo(h, Expr(b)), b) + FloorModulo(w, Expr(b));
  Expr channel = mode == "DCR" ? Times(within, channels) + c : Times(c, b * b) + within;
  node.Map(out, axes,
           node.Load(0, {axes[0].var, channel, FloorDivide(h, Expr(b)), FloorDivide(w, Expr(b))}));
  return OkStatus();
}

Status LowerSpaceToDepth(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TCC_ASSIGN_OR_RETURN(BlockedImage image, ImageOf(node));
  int64_t b = image.block;
  if (image.shape[2] % b != 0 || image.shape[3] % b != 0) {
    return node.Error("{} with blocksize {}", node.InputText(0), b);
  }
  int64_t channels = image.shape[1];
  std::vector<Expr> shape = {Expr(image.shape[0]), Expr(channels * b * b), Expr(image.shape[2] / b),
                             Expr(image.shape[3] / b)};
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  if (channels == 0) {
    node.Map(out, axes, Const(node.Type(0), 0));
    return OkStatus();
  }
  Expr within = FloorDivide(axes[1].var, Expr(channels));
  node.Map(out, axes,
           node.Load(0, {axes[0].var, FloorModulo(axes[1].var, Expr(channels)),
                         Times(axes[2].var, b) + FloorDivide(within, Expr(b)),
                         Times(axes[3].var, b) + FloorModulo(within, Expr(b))}));
  return OkStatus();
}

}  // namespace tcc
