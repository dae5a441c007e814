#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/status.h"

namespace tcc {

namespace onnxpb {
class Model;
}
struct OnnxBody;

// A feature that tcc cannot read, and the nodes that use it.
struct UnsupportedOperator {
  std::string what;  // "LSTM", "com.microsoft.QLinearAdd", "Conv with attribute 'x'"
  int64_t count = 0;
  std::vector<std::string> nodes;  // names of the first three
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
};

// Surveys a model; `bodies` are those of the main graph's nodes, moved out of them.
StatusOr<OnnxSurvey> SurveyModel(const onnxpb::Model& model,
                                 const std::vector<std::vector<OnnxBody>>& bodies);

// Returns Unimplemented with a line per unsupported operator; OK if there is none.
Status RefuseUnsupported(const OnnxSurvey& survey);

}  // namespace tcc
