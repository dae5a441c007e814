#pragma once

#include <functional>
#include <map>
#include <string>

namespace tcc {

namespace onnxpb {
class Model;
}

// Returns the metadata of a model, each text unchanged: "onnx.KEY" for each of its
// metadata_props, the last where a key occurs twice; and, unless they are empty or 0,
// "model.producer_name", "model.domain", "model.version", "model.description" and
// "model.graph_description".
//
// Leaves out, with one warning, a key that holds control characters, a text that is not UTF-8 or
// holds a zero byte, and all that exceeds 1 MiB: no model fails to compile because of them.
std::map<std::string, std::string> PropertiesOf(
    const onnxpb::Model& model, const std::function<void(const std::string& message)>& warn);

}  // namespace tcc
