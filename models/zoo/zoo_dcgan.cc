#include "models/zoo/graph_builder.h"
#include "models/zoo/zoo_networks.h"

namespace tcc {

Graph BuildDcgan(const ZooOptions& options) {
  int64_t latent = options.small ? 12 : 100;
  int64_t width = options.small ? 4 : 64;
  int stages = options.small ? 2 : 4;

  GraphBuilder net("dcgan", options.seed);
  ValueId x = net.Input("z", {1, latent, 1, 1});
  int64_t channels = latent;
  int64_t size = 1;
  for (int stage = 0; stage < stages; ++stage) {
    std::string name = fmt::format("up{}", stage + 1);
    int64_t out = width << (stages - 1 - stage);
    ConvSpec spec{.in = channels, .out = out, .kernel = 4, .bias = false};
    // The first spreads one pixel to 4x4, of which each sees one tap; the others double the size.
    if (stage == 0) {
      spec.gain = 4;
      size = 4;
    } else {
      spec.stride = 2;
      spec.padding = 1;
      size *= 2;
    }
    x = net.ConvTranspose(name, x, spec);
    x = net.BatchNormalization(name + ".bn", x, out, 1);
    x = net.Relu(name + ".relu", x);
    channels = out;
  }
  x = net.ConvTranspose(
      "image", x,
      {.in = channels, .out = 3, .kernel = 4, .stride = 2, .padding = 1, .bias = false});
  x = net.Emit("tanh", OpKind::kTanh, {x});
  net.Output(x, {1, 3, 2 * size, 2 * size});
  return net.Take();
}

}  // namespace tcc
