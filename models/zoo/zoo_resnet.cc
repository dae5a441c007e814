#include <array>

#include "models/zoo/graph_builder.h"
#include "models/zoo/zoo_networks.h"

namespace tcc {
namespace {

// A branch adds this share of the trunk's deviation, so that sixteen blocks stay of order 1.
constexpr double kBranchGain = 0.25;
// A projection keeps the deviation of what is not rectified after it.
constexpr double kLinearGain = 0.7;

struct ResNet {
  std::array<int, 4> blocks;  // of each stage
  bool bottleneck;
  bool folded;  // batch normalizations are in the convolutions
};

class ResNetBuilder {
 public:
  ResNetBuilder(const std::string& name, const ResNet& net, const ZooOptions& options)
      : net_(net),
        builder_(name, options.seed),
        width_(options.small ? 8 : 64),
        size_(options.small ? 32 : 224),
        classes_(options.small ? 10 : 1000) {}

  Graph Build() {
    ValueId x = builder_.Input("x", {1, 3, size_, size_});
    x = Normalized("conv1", x, {.in = 3, .out = width_, .kernel = 7, .stride = 2, .padding = 3});
    x = builder_.Relu("relu1", x);
    x = builder_.MaxPool("maxpool", x, 3, 2, 1);
    int64_t channels = width_;
    for (int stage = 0; stage < 4; ++stage) {
      for (int block = 0; block < net_.blocks[stage]; ++block) {
        int64_t inner = width_ << stage;
        int64_t out = net_.bottleneck ? 4 * inner : inner;
        int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        std::string name = fmt::format("layer{}.{}", stage + 1, block);
        x = Block(name, x, {.in = channels, .inner = inner, .out = out, .stride = stride});
        channels = out;
      }
    }
    x = builder_.GlobalAveragePool("avgpool", x);
    x = builder_.Flatten("flatten", x);
    x = builder_.Linear("fc", x, channels, classes_, 1);
    builder_.Output(x, {1, classes_});
    return builder_.Take();
  }

 private:
  struct BlockSpec {
    int64_t in;
    int64_t inner;
    int64_t out;
    int64_t stride;
  };

  ValueId Block(const std::string& name, ValueId x, const BlockSpec& spec) {
    ValueId branch = net_.bottleneck ? Bottleneck(name, x, spec) : Basic(name, x, spec);
    ValueId trunk = x;
    if (spec.stride != 1 || spec.in != spec.out) {
      trunk =
          Normalized(name + ".downsample", x,
                     {.in = spec.in, .out = spec.out, .stride = spec.stride, .gain = kLinearGain});
    }
    return builder_.Relu(name + ".relu", builder_.Add(name + ".add", branch, trunk));
  }

  ValueId Basic(const std::string& name, ValueId x, const BlockSpec& spec) {
    x = Normalized(
        name + ".conv1", x,
        {.in = spec.in, .out = spec.inner, .kernel = 3, .stride = spec.stride, .padding = 1});
    x = builder_.Relu(name + ".relu1", x);
    return Normalized(
        name + ".conv2", x,
        {.in = spec.inner, .out = spec.out, .kernel = 3, .padding = 1, .gain = kBranchGain});
  }

  ValueId Bottleneck(const std::string& name, ValueId x, const BlockSpec& spec) {
    x = Normalized(name + ".conv1", x, {.in = spec.in, .out = spec.inner});
    x = builder_.Relu(name + ".relu1", x);
    x = Normalized(
        name + ".conv2", x,
        {.in = spec.inner, .out = spec.inner, .kernel = 3, .stride = spec.stride, .padding = 1});
    x = builder_.Relu(name + ".relu2", x);
    return Normalized(name + ".conv3", x, {.in = spec.inner, .out = spec.out, .gain = kBranchGain});
  }

  // A convolution and its normalization; folded, the gain is in the weights.
  ValueId Normalized(const std::string& name, ValueId x, ConvSpec spec) {
    if (net_.folded) return builder_.Conv(name, x, spec);
    double gain = spec.gain;
    spec.bias = false;
    spec.gain = 1;
    x = builder_.Conv(name, x, spec);
    return builder_.BatchNormalization(name + ".bn", x, spec.out, gain);
  }

  ResNet net_;
  GraphBuilder builder_;
  int64_t width_;
  int64_t size_;
  int64_t classes_;
};

}  // namespace

Graph BuildResNet18(const ZooOptions& options) {
  return ResNetBuilder("resnet18", {{2, 2, 2, 2}, false, false}, options).Build();
}

Graph BuildResNet50(const ZooOptions& options) {
  return ResNetBuilder("resnet50", {{3, 4, 6, 3}, true, true}, options).Build();
}

}  // namespace tcc
