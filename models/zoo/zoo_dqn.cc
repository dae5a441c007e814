#include "models/zoo/graph_builder.h"
#include "models/zoo/zoo_networks.h"

namespace tcc {

Graph BuildDqn(const ZooOptions& options) {
  // Frames are (20, 9, 7)-pixel maps after the convolutions; the small one's are (10, 4, 2).
  int64_t size = options.small ? 44 : 84;
  int64_t last = options.small ? 2 : 7;
  int64_t c1 = options.small ? 4 : 32;
  int64_t c2 = options.small ? 8 : 64;
  int64_t hidden = options.small ? 32 : 512;
  constexpr int64_t kActions = 6;

  GraphBuilder net("dqn", options.seed);
  ValueId x = net.Input("x", {1, 4, size, size});
  x = net.Conv("conv1", x, {.in = 4, .out = c1, .kernel = 8, .stride = 4});
  x = net.Relu("relu1", x);
  x = net.Conv("conv2", x, {.in = c1, .out = c2, .kernel = 4, .stride = 2});
  x = net.Relu("relu2", x);
  x = net.Conv("conv3", x, {.in = c2, .out = c2, .kernel = 3});
  x = net.Relu("relu3", x);
  x = net.Flatten("flatten", x);
  x = net.Linear("fc1", x, c2 * last * last, hidden, 1);
  x = net.Relu("relu4", x);
  x = net.Linear("q", x, hidden, kActions, 1);
  net.Output(x, {1, kActions});
  return net.Take();
}

}  // namespace tcc
