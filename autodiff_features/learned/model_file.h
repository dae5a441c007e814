#pragma once

#include <span>
#include <string>
#include <vector>

#include "autodiff_features/learned/learned_model.h"
#include "support/status.h"

// The file format of a model: a text header that ends with an empty line, the numbers as float32 in
// little endian order, and the SHA-256 of all that.
//
//   tcc-cost-model 1
//   features VERSION
//   row useful DIGEST           for each row of the target's feature table: the first digits of the
//                               SHA-256 of its unit and definition
//   target cpu | cuda
//   sm 90                       of a GPU, and the next line, too
//   multiprocessors 132
//   constant hertz 3900000000   for each constant of the prior
//   prior yes | mean LN_SECONDS
//   bound 2                     0 where the prior stands alone
//   members 5                   0 there, too
namespace tcc {

std::vector<uint8_t> ModelBytes(const LearnedModel& model);

// Parses a model; `name` is for messages. Error: another program's file; damaged or cut off; made
// by a tcc with other features, naming the first row that differs; for another target; numbers that
// are not finite; lines or bytes beyond those above.
StatusOr<LearnedModel> ParseModel(std::span<const uint8_t> bytes, const std::string& name);

Status WriteModel(const LearnedModel& model, const std::string& path);
StatusOr<LearnedModel> ReadModel(const std::string& path);

}  // namespace tcc
