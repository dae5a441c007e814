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

// One thing that tcc cannot read, and where.
struct UnsupportedOperator {
  std::string what;  // "LSTM", "com.microsoft.QLinearAdd", "Conv with attribute 'x'"
  int64_t count = 0;
  std::vector<std::string> nodes;  // names of the first three
};

// What a model is made of, subgraphs and functions included.
struct OnnxSurvey {
  int64_t ir_version = 0;
  int64_t opset = 0;  // of the default domain; 0 if nothing is of that
  int64_t nodes = 0;
  std::map<std::string, int64_t> operators;  // name to count
  // Locations of external data as the model has them, of tensors that nothing needs as well.
  std::set<std::string> external_files;
  // By first occurrence; what no result needs does not count.
  std::vector<UnsupportedOperator> unsupported;
};

// `bodies`: of the main graph's nodes, taken out of them.
StatusOr<OnnxSurvey> SurveyModel(const onnxpb::Model& model,
                                 const std::vector<std::vector<OnnxBody>>& bodies);

// Unimplemented with one line for each unsupported operator; OK where there is none.
Status RefuseUnsupported(const OnnxSurvey& survey);

}  // namespace tcc
