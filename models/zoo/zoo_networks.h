#pragma once

#include "models/zoo/zoo.h"

// The networks in the table of zoo.cc. Each family has a file.
namespace tcc {

// Mnih et al. 2015: three convolutions and two linear layers over four frames of 84x84; 6 actions.
Graph BuildDqn(const ZooOptions& options);
// He et al. 2016. ResNet-18 has its batch normalizations, ResNet-50 has them folded into the
// convolutions, as exporters leave either.
Graph BuildResNet18(const ZooOptions& options);
Graph BuildResNet50(const ZooOptions& options);
// Sandler et al. 2018, width 1, normalizations folded.
Graph BuildMobileNetV2(const ZooOptions& options);
// Tran et al. 2018: ResNet-18 of 3-D convolutions over 16 frames of 112x112, normalizations folded.
Graph BuildR3d18(const ZooOptions& options);
// Radford et al. 2016: the generator, from 100 numbers to an image of 64x64.
Graph BuildDcgan(const ZooOptions& options);
// Dosovitskiy et al. 2021: patches of 16, 12 layers of width 768.
Graph BuildVitB16(const ZooOptions& options);
// Devlin et al. 2019: 12 layers of width 768, 128 tokens, with its pooler.
Graph BuildBertBase(const ZooOptions& options);
// One layer of TinyLlama (Zhang et al. 2024) over 128 tokens: RMS normalization, rotary embedding,
// 32 query heads on 4 key heads, SwiGLU.
Graph BuildLlamaBlock(const ZooOptions& options);
// Two LSTM layers of width 200 between embedding and decoder, 35 tokens, words of WikiText-2: the
// language model of PyTorch's examples.
Graph BuildLstmLm(const ZooOptions& options);

}  // namespace tcc
