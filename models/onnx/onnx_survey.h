#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/status.h"

namespace tcc {

namespace onnxpb {
class Model;
class Node;
}  // namespace onnxpb
struct OnnxBody;

// A feature that tcc cannot read, and the nodes that use it.
struct UnsupportedOperator {
  std::string what;  // "LSTM", "com.microsoft.QLinearAdd", "Conv with attribute 'x'"
  int64_t count = 0;
  std::vector<std::string> nodes;  // names of the first three
  bool only_in_branches = true;    // the nodes all belong to branches of Ifs, taken or not
};

// The operators and files of a model, subgraphs and functions included.
struct OnnxSurvey {
  int64_t ir_version = 0;
  int64_t opset = 0;  // of the default domain; 0 if that is unused
  int64_t nodes = 0;
  std::map<std::string, int64_t> operators;  // name to count
  // The locations of external data as the model spells them, including those of unused tensors.
  std::set<std::string> external_files;
  // The unsupported operators by first occurrence; nodes that no result needs do not count.
  std::vector<UnsupportedOperator> unsupported;
  int64_t outputs = 0;
  // The outputs that need no unsupported operator, where there is one; empty too if that cannot be
  // said of outputs: a function has it, or the model as a whole is unsupported.
  std::vector<std::string> supported_outputs;
};

// Surveys a model; `bodies` are those of the main graph's nodes, moved out of them.
StatusOr<OnnxSurvey> SurveyModel(const onnxpb::Model& model,
                                 const std::vector<std::vector<OnnxBody>>& bodies);

// Returns the reason why the node, which is no call of a function, cannot be read, if any:
// UnsupportedOperator::what.
std::optional<std::string> UnsupportedFeature(const onnxpb::Node& node,
                                              const std::vector<OnnxBody>& bodies,
                                              int64_t default_opset);

// Returns whether only branches of Ifs hold unsupported operators: they may never be taken.
bool MayBeRead(const OnnxSurvey& survey);

// Returns Unimplemented with a line per unsupported operator; OK if there is none.
Status RefuseUnsupported(const OnnxSurvey& survey);

}  // namespace tcc
