#include "tests/fuzz/random/mutate_protobuf.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/fuzz/random/mutate_bytes.h"

namespace tcc {
namespace {

enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

struct Field {
  uint64_t tag = 0;     // number and wire type
  uint64_t number = 0;  // of a varint
  std::string bytes;    // of the others
};

using Message = std::vector<Field>;

std::optional<uint64_t> TakeVarint(std::string_view& rest) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    auto byte = static_cast<uint8_t>(rest[0]);
    rest.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<Message> Parse(std::string_view rest) {
  Message message;
  while (!rest.empty()) {
    std::optional<uint64_t> tag = TakeVarint(rest);
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    Field field{.tag = *tag, .number = 0, .bytes = {}};
    uint64_t type = *tag & 7;
    size_t length = type == kFixed64 ? 8 : 4;
    if (type == kVarint || type == kLength) {
      std::optional<uint64_t> number = TakeVarint(rest);
      if (!number) return std::nullopt;
      field.number = *number;
      length = type == kLength ? *number : 0;
    } else if (type != kFixed64 && type != kFixed32) {
      return std::nullopt;
    }
    if (length > rest.size()) return std::nullopt;
    field.bytes = rest.substr(0, length);
    rest.remove_prefix(length);
    message.push_back(std::move(field));
  }
  return message;
}

void PutVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::string Text(const Message& message) {
  std::string out;
  for (const Field& field : message) {
    PutVarint(out, field.tag);
    if ((field.tag & 7) == kVarint) PutVarint(out, field.number);
    if ((field.tag & 7) == kLength) PutVarint(out, field.bytes.size());
    out += field.bytes;
  }
  return out;
}

constexpr std::string_view kStrings[] = {
    "",
    "../model.onnx",
    "/etc/passwd",
    "a/../../etc/passwd",
    "*/_ORT_MEM_ADDR_/",
    "location",
    "offset",
    "length",
    "18446744073709551616",
    "-1",
    "link",
    "folder/link",
    "SAME_UPPER",
    "VALID",
    "NOTSET",
    "weights.bin",
    "Conv",
    "Loop",
    "ConstantOfShape",
    "Expand",
    "Tile",
    "Range",
    "Pad",
    "Resize",
    "x\n\x1b[31m",
};

// Changes one field of `message`, or of a message inside it.
class Mutator {
 public:
  Mutator(const Message& donor, Random& random) : donor_(donor), random_(random) {}

  void Mutate(Message& message, int depth) {
    if (message.empty()) return;
    size_t at = random_.Below(message.size());
    Field& field = message[at];
    if ((field.tag & 7) == kLength && depth < 12 && !random_.OneIn(4)) {
      std::optional<Message> inner = Parse(field.bytes);
      if (inner && !inner->empty()) {
        Mutate(*inner, depth + 1);
        field.bytes = Text(*inner);
        return;
      }
    }
    Change(message, at);
  }

 private:
  void Change(Message& message, size_t at) {
    switch (random_.Below(8)) {
      case 0:
        message.erase(message.begin() + static_cast<ptrdiff_t>(at));
        break;
      case 1: {
        Field copy = message[at];
        message.insert(message.begin() + static_cast<ptrdiff_t>(random_.Below(message.size() + 1)),
                       std::move(copy));
        break;
      }
      case 2:
        std::swap(message[at], message[random_.Below(message.size())]);
        break;
      case 3:
        TakeOver(message[at], message[random_.Below(message.size())]);
        break;
      case 4:
        if (!donor_.empty()) message.push_back(donor_[random_.Below(donor_.size())]);
        break;
      case 5:
        message[at].tag = random_.OneIn(2) ? message[at].tag ^ (1 + random_.Below(7))
                                           : (random_.Below(32) + 1) << 3 | (message[at].tag & 7);
        break;
      default:
        ChangeValue(message[at]);
    }
  }

  // The value of another field under this one's number.
  static void TakeOver(Field& field, const Field& other) {
    uint64_t tag = (field.tag & ~uint64_t{7}) | (other.tag & 7);
    field = other;
    field.tag = tag;
  }

  void ChangeValue(Field& field) {
    if ((field.tag & 7) == kVarint) {
      field.number = random_.OneIn(3) ? field.number + random_.Below(5) - 2
                                      : static_cast<uint64_t>(EdgeNumber(random_));
      return;
    }
    if ((field.tag & 7) != kLength || !random_.OneIn(2)) {
      field.bytes = MutatedBytes(field.bytes, field.bytes, random_);
      if ((field.tag & 7) != kLength) field.bytes.resize((field.tag & 7) == kFixed64 ? 8 : 4);
      return;
    }
    field.bytes = kStrings[random_.Below(std::size(kStrings))];
  }

  const Message& donor_;
  Random& random_;
};

// A graph in a graph in a graph: field 7 of the model, 1 node, 5 attribute, 6 graph.
std::string Nested(uint64_t depth) {
  std::string graph;
  for (uint64_t i = 0; i < depth; ++i) {
    std::string attribute = Text({{5 << 3 | 2, 0, Text({{6 << 3 | 2, 0, graph}})}});
    graph = Text({{1 << 3 | 2, 0, Text({{4 << 3 | 2, 0, "If"}}) + attribute}});
  }
  return Text({{7 << 3 | 2, 0, graph}});
}

// The level that has more fields than the wrappers around it: a model's graph.
void DescendTo(Message& message, const std::string& donor, Random& random) {
  Message other = Parse(donor).value_or(Message{});
  Mutator mutator(other, random);
  mutator.Mutate(message, 0);
}

}  // namespace

std::string MutatedProtobuf(const std::string& message, const std::string& donor, Random& random) {
  if (random.OneIn(400)) return Nested(random.Below(3000));
  std::optional<Message> fields = Parse(message);
  if (!fields) return message;
  for (uint64_t n = 1 + random.Below(4); n > 0; --n) DescendTo(*fields, donor, random);
  return Text(*fields);
}

}  // namespace tcc
