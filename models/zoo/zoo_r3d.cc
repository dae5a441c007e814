#include "models/zoo/graph_builder.h"
#include "models/zoo/zoo_networks.h"

namespace tcc {
namespace {

constexpr double kBranchGain = 0.25;  // of a block that is added to its operand
constexpr double kLinearGain = 0.7;   // of a projection that is not rectified

ConvNdSpec Cube(int64_t in, int64_t out, int64_t kernel, int64_t stride, double gain) {
  int64_t padding = kernel / 2;
  return {.in = in,
          .out = out,
          .kernel = {kernel, kernel, kernel},
          .strides = {stride, stride, stride},
          .padding = {padding, padding, padding},
          .gain = gain};
}

ValueId Block(GraphBuilder& net, const std::string& name, ValueId x, int64_t in, int64_t out,
              int64_t stride) {
  ValueId branch = net.ConvNd(name + ".conv1", x, Cube(in, out, 3, stride, 1));
  branch = net.Relu(name + ".relu1", branch);
  branch = net.ConvNd(name + ".conv2", branch, Cube(out, out, 3, 1, kBranchGain));
  if (stride != 1) x = net.ConvNd(name + ".downsample", x, Cube(in, out, 1, stride, kLinearGain));
  return net.Relu(name + ".relu", net.Add(name + ".add", branch, x));
}

}  // namespace

Graph BuildR3d18(const ZooOptions& options) {
  int64_t size = options.small ? 16 : 112;
  int64_t frames = options.small ? 8 : 16;
  int64_t width = options.small ? 8 : 64;
  int64_t classes = options.small ? 10 : 400;

  GraphBuilder net("r3d_18", options.seed);
  ValueId x = net.Input("x", {1, 3, frames, size, size});
  x = net.ConvNd(
      "stem", x,
      {.in = 3, .out = width, .kernel = {3, 7, 7}, .strides = {1, 2, 2}, .padding = {1, 3, 3}});
  x = net.Relu("stem.relu", x);
  int64_t channels = width;
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < 2; ++block) {
      int64_t out = width << stage;
      int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = Block(net, fmt::format("layer{}.{}", stage + 1, block), x, channels, out, stride);
      channels = out;
    }
  }
  x = net.GlobalAveragePool("avgpool", x);
  x = net.Flatten("flatten", x);
  x = net.Linear("fc", x, channels, classes, 1);
  net.Output(x, {1, classes});
  return net.Take();
}

}  // namespace tcc
