#include "graph/ops/lowerings.h"
#include "ir/simplify/simplify.h"

// Blocks of b x b pixels against b * b channels.
namespace tcc {
namespace {

struct BlockedImage {
  std::vector<Expr> shape;  // N, C, H, W
  int64_t channels = 0;
  int64_t block = 1;
};

StatusOr<BlockedImage> ImageOf(const NodeLowering& node) {
  BlockedImage image{.shape = node.Shape(0), .block = node.node().Int("blocksize", 1)};
  if (image.shape.size() != 4 || image.block < 1 || image.block > (int64_t{1} << 20)) {
    return node.Error("{} with blocksize {}; expected four dimensions and at least 1",
                      node.InputText(0), image.block);
  }
  TCC_ASSIGN_OR_RETURN(image.channels, node.KnownExtent(0, 1));
  return image;
}

}  // namespace

Status LowerDepthToSpace(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TCC_ASSIGN_OR_RETURN(BlockedImage image, ImageOf(node));
  int64_t b = image.block;
  std::string mode = node.node().String("mode", "DCR");
  if (image.channels % (b * b) != 0 || (mode != "DCR" && mode != "CRD")) {
    return node.Error("{} channels, blocksize {} and mode '{}'", image.channels, b, mode);
  }
  int64_t channels = image.channels / (b * b);
  std::vector<Expr> shape = {image.shape[0], Expr(channels), Times(image.shape[2], b),
                             Times(image.shape[3], b)};
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
  std::vector<Expr> shape = {image.shape[0], Expr(image.channels * b * b)};
  for (size_t d : {2, 3}) {
    Expr rest = Simplify(FloorModulo(image.shape[d], Expr(b)));
    if (!node.Agree(rest, Expr(0), fmt::format("elements beyond the blocks of dimension {}", d))
             .ok()) {
      return node.Error("{} with blocksize {}", node.InputText(0), b);
    }
    shape.push_back(Simplify(FloorDivide(image.shape[d], Expr(b))));
  }
  int64_t channels = image.channels;
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
