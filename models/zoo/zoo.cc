#include "models/zoo/zoo.h"

#include <fmt/ranges.h>

#include "models/zoo/zoo_networks.h"

namespace tcc {
namespace {

struct ZooRow {
  std::string_view name;
  Graph (*build)(const ZooOptions& options);
};

constexpr ZooRow kZoo[] = {
    {"dqn", BuildDqn},
    {"resnet18", BuildResNet18},
    {"resnet50", BuildResNet50},
    {"mobilenet_v2", BuildMobileNetV2},
    {"r3d_18", BuildR3d18},
    {"dcgan", BuildDcgan},
    {"vit_b_16", BuildVitB16},
    {"bert_base", BuildBertBase},
    {"llama_block", BuildLlamaBlock},
    {"lstm_lm", BuildLstmLm},
};

}  // namespace

std::vector<std::string> ZooNames() {
  std::vector<std::string> names;
  for (const ZooRow& row : kZoo) names.emplace_back(row.name);
  return names;
}

StatusOr<Graph> BuildZoo(std::string_view name, const ZooOptions& options) {
  for (const ZooRow& row : kZoo) {
    if (row.name == name) return row.build(options);
  }
  return UsageError("the zoo has no network '{}'; there are {}", name, fmt::join(ZooNames(), ", "));
}

}  // namespace tcc
