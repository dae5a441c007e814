#pragma once

#include "models/zoo.h"

// The rows of zoo.cc. A file a family.
namespace tcc {

// Mnih et al. 2015: three convolutions and two linear layers over four frames of 84x84; 6 actions.
Graph BuildDqn(const ZooOptions& options);
// He et al. 2016. ResNet-18 has its batch normalizations, ResNet-50 has them folded into the
// convolutions, as exporters leave either.
Graph BuildResNet18(const ZooOptions& options);
Graph BuildResNet50(const ZooOptions& options);
// Sandler et al. 2018, width 1, normalizations folded.
Graph BuildMobileNetV2(const ZooOptions& options);

}  // namespace tcc
