#include "tests/fuzz/random/mutate_bytes.h"

#include <algorithm>
#include <cstring>

namespace tcc {
namespace {

struct Range {
  size_t at;
  size_t length;
};

Range RandomRange(const std::string& bytes, size_t longest, Random& random) {
  size_t at = random.Below(bytes.size() + 1);
  return {at, std::min<size_t>(random.Below(longest) + 1, bytes.size() - at)};
}

void OverwriteNumber(std::string& bytes, Random& random) {
  int64_t number = EdgeNumber(random);
  size_t width = size_t{1} << random.Below(4);
  if (bytes.size() < width) return;
  std::memcpy(bytes.data() + random.Below(bytes.size() - width + 1), &number, width);
}

void MutateOnce(std::string& bytes, const std::string& donor, Random& random) {
  Range range = RandomRange(bytes, 16, random);
  switch (random.Below(8)) {
    case 0:
      if (!bytes.empty())
        bytes[random.Below(bytes.size())] ^= static_cast<char>(1 << random.Below(8));
      break;
    case 1:
      if (!bytes.empty()) bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
      break;
    case 2:
      bytes.erase(range.at, range.length);
      break;
    case 3:
      bytes.insert(random.Below(bytes.size() + 1), bytes.substr(range.at, range.length));
      break;
    case 4:
      bytes.insert(range.at,
                   std::string(random.Below(16) + 1, static_cast<char>(random.Below(256))));
      break;
    case 5: {
      Range piece = RandomRange(donor, 256, random);
      bytes.replace(range.at, range.length, donor, piece.at, piece.length);
      break;
    }
    case 6:
      if (random.OneIn(4)) bytes.resize(range.at);
      break;
    default:
      OverwriteNumber(bytes, random);
  }
}

}  // namespace

int64_t EdgeNumber(Random& random) {
  uint64_t power = uint64_t{1} << random.Below(64);
  switch (random.Below(6)) {
    case 0:
      return 0;
    case 1:
      return -1;
    case 2:
      return static_cast<int64_t>(power);
    case 3:
      return static_cast<int64_t>(power - 1);
    case 4:
      return static_cast<int64_t>(0 - power);
    default:
      return random.Between(-4, 40);
  }
}

std::string MutatedBytes(std::string bytes, const std::string& donor, Random& random) {
  for (uint64_t n = 1 + random.Below(6); n > 0; --n) MutateOnce(bytes, donor, random);
  return bytes;
}

}  // namespace tcc
