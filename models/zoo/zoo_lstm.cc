#include <cmath>

#include "models/zoo/graph_builder.h"
#include "models/zoo/zoo_networks.h"

namespace tcc {
namespace {

// The customary initialisation, uniform in +-1/sqrt(hidden); [tokens, 1, width] both.
ValueId LstmLayer(GraphBuilder& net, const std::string& name, ValueId x, int64_t width,
                  int64_t hidden) {
  double spread = 1 / std::sqrt(static_cast<double>(hidden));
  ValueId input = net.Weight(name + ".weight_ih", {1, 4 * hidden, width}, 0, spread);
  ValueId recurrent = net.Weight(name + ".weight_hh", {1, 4 * hidden, hidden}, 0, spread);
  ValueId bias = net.Weight(name + ".bias", {1, 8 * hidden}, 0, spread);
  ValueId y = net.Emit(name, OpKind::kLSTM, {x, input, recurrent, bias},
                       {{"direction", std::string("forward")},
                        {"hidden_size", hidden},
                        {"input_forget", int64_t{0}},
                        {"layout", int64_t{0}}});
  return net.Emit(name + ".forward", OpKind::kSqueeze, {y, net.Ints(name + ".axis", {1})});
}

}  // namespace

Graph BuildLstmLm(const ZooOptions& options) {
  int64_t tokens = options.small ? 5 : 35;
  int64_t width = options.small ? 12 : 200;
  int64_t words = options.small ? 100 : 33278;

  GraphBuilder net("lstm_lm", options.seed);
  ValueId ids = net.IntegerInput("input_ids", {tokens, 1});
  ValueId table = net.Weight("words.weight", {words, width}, 0, 1);
  ValueId x = net.Emit("words", OpKind::kGather, {table, ids}, {{"axis", int64_t{0}}});
  x = LstmLayer(net, "lstm1", x, width, width);
  x = LstmLayer(net, "lstm2", x, width, width);
  x = net.Emit("rows", OpKind::kReshape, {x, net.Ints("rows.shape", {tokens, width})},
               {{"allowzero", int64_t{0}}});
  // The states are near 0.1, of which the logits shall be of order 1.
  x = net.Linear("decoder", x, width, words, 4);
  x = net.Emit("log_probabilities", OpKind::kLogSoftmax, {x}, {{"axis", int64_t{-1}}});
  net.Output(x, {tokens, words});
  return net.Take();
}

}  // namespace tcc
