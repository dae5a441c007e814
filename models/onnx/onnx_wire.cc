#include "models/onnx/onnx_wire.h"

#include <optional>
#include <string_view>
#include <vector>

#include "support/printable.h"

namespace tcc {
namespace {

constexpr int kMaxGraphDepth = 64;
constexpr int64_t kMaxNodes = int64_t{1} << 20;
constexpr int64_t kMaxFields = int64_t{1} << 22;
constexpr int64_t kMaxProperties = int64_t{1} << 16;  // parsed ones take 10 MB

enum class Kind : uint8_t {
  kModel,
  kOperatorSet,
  kProperty,
  kGraph,
  kFunction,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kValueInfo,
  kType,
  kTensorOf,
  kShape,
  kDimension,
  kText,
};

// The fields whose content is looked at: messages, and strings that name things.
struct FieldRow {
  Kind message;
  uint64_t field;
  Kind content;
};

constexpr FieldRow kFields[] = {
    {Kind::kModel, 7, Kind::kGraph},
    {Kind::kModel, 8, Kind::kOperatorSet},
    {Kind::kModel, 14, Kind::kProperty},
    {Kind::kModel, 25, Kind::kFunction},
    {Kind::kOperatorSet, 1, Kind::kText},
    {Kind::kGraph, 1, Kind::kNode},
    {Kind::kGraph, 2, Kind::kText},
    {Kind::kGraph, 5, Kind::kTensor},
    {Kind::kGraph, 11, Kind::kValueInfo},
    {Kind::kGraph, 12, Kind::kValueInfo},
    {Kind::kGraph, 13, Kind::kValueInfo},
    {Kind::kGraph, 15, Kind::kSparseTensor},
    {Kind::kFunction, 1, Kind::kText},
    {Kind::kFunction, 4, Kind::kText},
    {Kind::kFunction, 5, Kind::kText},
    {Kind::kFunction, 6, Kind::kText},
    {Kind::kFunction, 7, Kind::kNode},
    {Kind::kFunction, 9, Kind::kOperatorSet},
    {Kind::kFunction, 10, Kind::kText},
    {Kind::kFunction, 11, Kind::kAttribute},
    {Kind::kFunction, 13, Kind::kText},
    {Kind::kNode, 1, Kind::kText},
    {Kind::kNode, 2, Kind::kText},
    {Kind::kNode, 3, Kind::kText},
    {Kind::kNode, 4, Kind::kText},
    {Kind::kNode, 5, Kind::kAttribute},
    {Kind::kNode, 7, Kind::kText},
    {Kind::kNode, 8, Kind::kText},
    {Kind::kAttribute, 1, Kind::kText},
    {Kind::kAttribute, 5, Kind::kTensor},
    {Kind::kAttribute, 6, Kind::kGraph},
    {Kind::kAttribute, 10, Kind::kTensor},
    {Kind::kAttribute, 11, Kind::kGraph},
    {Kind::kAttribute, 21, Kind::kText},
    {Kind::kAttribute, 22, Kind::kSparseTensor},
    {Kind::kSparseTensor, 1, Kind::kTensor},
    {Kind::kSparseTensor, 2, Kind::kTensor},
    {Kind::kTensor, 8, Kind::kText},
    {Kind::kValueInfo, 1, Kind::kText},
    {Kind::kValueInfo, 2, Kind::kType},
    {Kind::kType, 1, Kind::kTensorOf},
    {Kind::kTensorOf, 2, Kind::kShape},
    {Kind::kShape, 1, Kind::kDimension},
    {Kind::kDimension, 2, Kind::kText},
};

std::optional<Kind> ContentOf(Kind message, uint64_t field) {
  for (const FieldRow& row : kFields) {
    if (row.message == message && row.field == field) return row.content;
  }
  return std::nullopt;
}

// A message whose fields are still to be seen.
struct Pending {
  size_t begin;
  size_t end;
  Kind kind;
  int depth;  // graphs around it, itself included
};

class MessageCheck {
 public:
  explicit MessageCheck(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  Status Run() {
    pending_.push_back({0, bytes_.size(), Kind::kModel, 0});
    while (!pending_.empty()) {
      Pending message = pending_.back();
      pending_.pop_back();
      TCC_RETURN_IF_ERROR(CheckFields(message));
    }
    return OkStatus();
  }

 private:
  Status Malformed(size_t at, std::string_view what) const {
    return InvalidInput("not an ONNX model: {} at byte {}", what, at);
  }

  Status CheckFields(const Pending& message) {
    size_t at = message.begin;
    while (at < message.end) {
      size_t begin = at;
      std::optional<uint64_t> tag = TakeVarint(at, message.end);
      if (!tag) return Malformed(begin, "a tag is cut short");
      if (++fields_ > kMaxFields) {
        return InvalidInput("the model has more than {} fields", kMaxFields);
      }
      TCC_RETURN_IF_ERROR(CheckField(message, *tag, at));
    }
    return OkStatus();
  }

  // Moves `at` from behind the tag to behind the field.
  Status CheckField(const Pending& message, uint64_t tag, size_t& at) {
    size_t begin = at;
    uint64_t length = 0;
    switch (tag & 7) {
      case 0:
        if (!TakeVarint(at, message.end)) return Malformed(begin, "a number is cut short");
        return OkStatus();
      case 1:
        length = 8;
        break;
      case 5:
        length = 4;
        break;
      case 2: {
        std::optional<uint64_t> given = TakeVarint(at, message.end);
        if (!given) return Malformed(begin, "a length is cut short");
        length = *given;
        break;
      }
      default:
        return Malformed(begin, fmt::format("a field of wire type {}", tag & 7));
    }
    if (length > message.end - at) {
      return Malformed(
          begin, fmt::format("a field of {} bytes where {} are left", length, message.end - at));
    }
    size_t content = at;
    at += length;
    std::optional<Kind> kind = ContentOf(message.kind, tag >> 3);
    return (tag & 7) == 2 && kind ? CheckContent(message, *kind, content, at) : OkStatus();
  }

  Status CheckContent(const Pending& message, Kind kind, size_t begin, size_t end) {
    if (kind == Kind::kText) {
      std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + begin, end - begin);
      if (IsPlainText(text)) return OkStatus();
      return InvalidInput("the name at byte {} is not UTF-8 or holds control characters", begin);
    }
    int depth = message.depth + (kind == Kind::kGraph ? 1 : 0);
    if (depth > kMaxGraphDepth + 1) {
      return InvalidInput("subgraphs are nested more than {} deep", kMaxGraphDepth);
    }
    if (kind == Kind::kNode && ++nodes_ > kMaxNodes) {
      return InvalidInput("the model has more than {} nodes", kMaxNodes);
    }
    if (kind == Kind::kProperty && ++properties_ > kMaxProperties) {
      return InvalidInput("the model has more than {} metadata properties", kMaxProperties);
    }
    pending_.push_back({begin, end, kind, depth});
    return OkStatus();
  }

  // At most ten bytes.
  std::optional<uint64_t> TakeVarint(size_t& at, size_t end) const {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && at < end; shift += 7) {
      uint8_t byte = bytes_[at++];
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::span<const uint8_t> bytes_;
  std::vector<Pending> pending_;
  int64_t fields_ = 0;
  int64_t nodes_ = 0;
  int64_t properties_ = 0;
};

}  // namespace

Status CheckModelMessage(std::span<const uint8_t> bytes) {
  return MessageCheck(bytes).Run();
}

}  // namespace tcc
