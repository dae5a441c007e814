#include "models/zoo/graph_builder.h"
#include "models/zoo/zoo_networks.h"

namespace tcc {
namespace {

constexpr double kBranchGain = 0.25;  // of a block that is added to its operand
constexpr double kLinearGain = 0.7;   // of a projection that is not rectified

// Table 2 of the paper: expansion, output channels, blocks, stride of the first block.
struct Stage {
  int64_t expansion;
  int64_t channels;
  int blocks;
  int64_t stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

struct BlockSpec {
  int64_t in;
  int64_t out;
  int64_t expansion;
  int64_t stride;
};

ValueId InvertedResidual(GraphBuilder& net, const std::string& name, ValueId x,
                         const BlockSpec& spec) {
  ValueId operand = x;
  int64_t inner = spec.in * spec.expansion;
  if (spec.expansion != 1) {
    x = net.Conv(name + ".expand", x, {.in = spec.in, .out = inner});
    x = net.Relu6(name + ".expand.relu", x);
  }
  x = net.Conv(name + ".depthwise", x,
               {.in = inner,
                .out = inner,
                .kernel = 3,
                .stride = spec.stride,
                .padding = 1,
                .group = inner});
  x = net.Relu6(name + ".depthwise.relu", x);
  bool added = spec.stride == 1 && spec.in == spec.out;
  x = net.Conv(name + ".project", x,
               {.in = inner, .out = spec.out, .gain = added ? kBranchGain : kLinearGain});
  return added ? net.Add(name + ".add", operand, x) : x;
}

}  // namespace

Graph BuildMobileNetV2(const ZooOptions& options) {
  int64_t size = options.small ? 32 : 224;
  int64_t divisor = options.small ? 8 : 1;
  int64_t classes = options.small ? 10 : 1000;

  GraphBuilder net("mobilenet_v2", options.seed);
  ValueId x = net.Input("x", {1, 3, size, size});
  int64_t channels = 32 / divisor;
  x = net.Conv("stem", x, {.in = 3, .out = channels, .kernel = 3, .stride = 2, .padding = 1});
  x = net.Relu6("stem.relu", x);
  int index = 0;
  for (const Stage& stage : kStages) {
    for (int block = 0; block < stage.blocks; ++block) {
      BlockSpec spec{channels, stage.channels / divisor, stage.expansion,
                     block == 0 ? stage.stride : 1};
      x = InvertedResidual(net, fmt::format("block{}", ++index), x, spec);
      channels = spec.out;
    }
  }
  int64_t features = 1280 / divisor;
  x = net.Conv("head", x, {.in = channels, .out = features});
  x = net.Relu6("head.relu", x);
  x = net.GlobalAveragePool("avgpool", x);
  x = net.Flatten("flatten", x);
  x = net.Linear("classifier", x, features, classes, 1);
  net.Output(x, {1, classes});
  return net.Take();
}

}  // namespace tcc
