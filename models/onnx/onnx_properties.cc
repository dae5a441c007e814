#include "models/onnx/onnx_properties.h"

#include <fmt/core.h>

#include "models/onnx/onnx.pb.h"
#include "support/printable.h"

namespace tcc {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;  // a thousand class names take 30 KB
constexpr size_t kBytesOfEntry = 8;  // for its two lengths, so that empty texts are bounded too

// The properties kept so far.
class PropertyList {
 public:
  void Add(const std::string& key, const std::string& text) {
    size_t bytes = kBytesOfEntry + key.size() + text.size();
    bool is_text = IsPlainText(key) && IsUtf8(text) && text.find('\0') == std::string::npos;
    if (!is_text || bytes > kMaxBytes - bytes_) {
      if (left_out_++ == 0) first_left_out_ = key.substr(0, 64);
      return;
    }
    bytes_ += bytes;
    kept_[key] = text;
  }

  void AddIfNotEmpty(const std::string& key, const std::string& text) {
    if (!text.empty()) Add(key, text);
  }

  // Returns "" where nothing is left out.
  std::string Warning() const {
    if (left_out_ == 0) return "";
    return fmt::format(
        "left out {} of the model's metadata, '{}' first; expected UTF-8 without zero bytes, "
        "keys without control characters, and at most {} bytes in all",
        left_out_, Printable(first_left_out_), kMaxBytes);
  }

  std::map<std::string, std::string> Take() { return std::move(kept_); }

 private:
  std::map<std::string, std::string> kept_;
  size_t bytes_ = 0;
  size_t left_out_ = 0;
  std::string first_left_out_;
};

}  // namespace

std::map<std::string, std::string> PropertiesOf(
    const onnxpb::Model& model, const std::function<void(const std::string& message)>& warn) {
  PropertyList list;
  list.AddIfNotEmpty("model.producer_name", model.producer_name());
  list.AddIfNotEmpty("model.domain", model.domain());
  if (model.model_version() != 0) list.Add("model.version", std::to_string(model.model_version()));
  list.AddIfNotEmpty("model.description", model.doc_string());
  list.AddIfNotEmpty("model.graph_description", model.graph().doc_string());
  for (const onnxpb::Property& property : model.metadata_props()) {
    list.Add("onnx." + property.key(), property.value());
  }
  if (std::string warning = list.Warning(); warn && !warning.empty()) warn(warning);
  return list.Take();
}

}  // namespace tcc
