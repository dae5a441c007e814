#include "codegen_cuda/emulator/group_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace tcc::emulator {
namespace {

// The mark: a signalling NaN, which no arithmetic returns.
constexpr uint32_t kInFlight = 0xffbf5a5a;

constexpr int kRows = 64;  // of A

int ElementBytes(char type) {
  return type == 't' ? 4 : type == 's' ? 1 : 2;
}

int WordsOf(const TccProduct& product) {
  return product.columns / 2;
}

std::string Element(const TccWhere& where) {
  return fmt::format("{}[{}]", where.name, where.index);
}

// Returns an f16; a subnormal one is a whole multiple of 2^-24.
double HalfValue(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const uint32_t mantissa = bits & 1023;
  double magnitude =
      std::ldexp(exponent == 0 ? mantissa : mantissa + 1024, std::max(exponent, 1) - 25);
  if (exponent == 31) magnitude = mantissa != 0 ? NAN : INFINITY;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double FloatValue(uint32_t bits) {
  return std::bit_cast<float>(bits);
}

// Returns an element as a factor: a double, or for bytes a number that wraps.
template <typename Factor>
Factor ValueOf(char type, uint32_t bits) {
  if constexpr (std::is_integral_v<Factor>) {
    return static_cast<Factor>(static_cast<int8_t>(bits));
  } else {
    if (type == 'h') return HalfValue(bits);
    return FloatValue(type == 'b' ? bits << 16 : bits & ~0x1fffu);
  }
}

// Returns where word `word` of a thread's sums lies in the group's C.
int RowOf(int thread, int word) {
  return thread / 32 * 16 + thread % 32 / 4 + word / 2 % 2 * 8;
}
int ColumnOf(int thread, int word) {
  return word / 4 * 8 + thread % 4 * 2 + word % 2;
}

}  // namespace

void GroupProducts::Reset() {
  for (Thread& thread : threads_) {
    thread.fenced = false;
    thread.sums.clear();
    thread.batches.assign(1, {});
  }
}

std::optional<std::string> GroupProducts::Bring(int thread, int first, const TccProduct& product) {
  threads_[thread].brought = product;
  const TccProduct& other = threads_[first].brought;
  auto key = [](const TccProduct& p) {
    return std::tuple(p.a.descriptor, p.b.descriptor, p.columns, p.a_transposed, p.b_transposed,
                      std::string_view(p.where.name), p.where.index);
  };
  if (key(product) != key(other)) {
    return fmt::format(
        "{} adds {} by {} to {} while thread {} of the group adds {} by {} to {}; expected the "
        "same, with the same descriptors",
        product.operation, Element(product.a.where), Element(product.b.where),
        Element(product.where), first, Element(other.a.where), Element(other.b.where),
        Element(other.where));
  }
  return CheckSums(threads_[thread], product);
}

// Checks that C is fenced, or is that of products in flight.
std::optional<std::string> GroupProducts::CheckSums(const Thread& thread,
                                                    const TccProduct& product) {
  const auto* place = static_cast<const uint32_t*>(product.sums);
  for (const Sums& sums : thread.sums) {
    const auto words = static_cast<int>(sums.words.size());
    if (place + WordsOf(product) <= sums.place || sums.place + words <= place) continue;
    if (place == sums.place && words == WordsOf(product)) return CheckUntouched(sums);
    return fmt::format("{} adds to a part of the sums {} of the product in line {}, in flight",
                       product.operation, Element(sums.where), sums.where.line);
  }
  if (thread.fenced) return std::nullopt;
  return fmt::format("{} adds to {} without a tcc_group_fence() since it might be touched",
                     product.operation, Element(product.where));
}

std::optional<std::string> GroupProducts::CheckUntouched(const Sums& sums) {
  for (size_t word = 0; word < sums.words.size(); ++word) {
    if (sums.place[word] == kInFlight) continue;
    return fmt::format("{}[{}].v[{}] was touched before the wait for the product in line {}",
                       sums.where.name, sums.where.index + static_cast<int64_t>(word) / 4, word % 4,
                       sums.where.line);
  }
  return std::nullopt;
}

GroupProducts::Sums* GroupProducts::FindSums(Thread& thread, const void* place) {
  auto found = std::ranges::find(thread.sums, place, &Sums::place);
  return found == thread.sums.end() ? nullptr : &*found;
}

// Returns the sums of the product that the thread has brought, set aside.
GroupProducts::Sums& GroupProducts::SetAside(Thread& thread) {
  const TccProduct& product = thread.brought;
  Sums* sums = FindSums(thread, product.sums);
  if (sums == nullptr) {
    auto* place = static_cast<uint32_t*>(product.sums);
    uint32_t* end = place + WordsOf(product);
    sums = &thread.sums.emplace_back(Sums{place, {place, end}, {}});
    std::fill(place, end, kInFlight);
  }
  sums->where = product.where;
  return *sums;
}

std::optional<std::string> GroupProducts::Issue(int group) {
  const int first = group * kThreads;
  const TccProduct& call = threads_[first].brought;
  const int bytes = ElementBytes(call.type);
  auto product =
      std::make_shared<Product>(Product{call,
                                        group,
                                        {{call.a, {kRows, bytes, call.a_transposed}},
                                         {call.b, {call.columns, bytes, call.b_transposed}}}});
  for (Operand& operand : product->operands) {
    if (auto complaint = FindChunks(operand)) return complaint;
  }
  if (auto complaint = Read(*product)) return complaint;
  for (Operand& operand : product->operands) {
    for (Chunk& chunk : operand.chunks) {
      memcpy(chunk.bytes, shared_.At(chunk.address), sizeof(chunk.bytes));
    }
  }
  for (int i = 0; i < kThreads; ++i) {
    Thread& thread = threads_[first + i];
    Sums& sums = SetAside(thread);
    ++sums.in_flight;
    thread.batches.back().push_back({product, sums.place});
  }
  if (call.type == 's') {
    Compute<uint32_t>(*product);
  } else {
    Compute<double>(*product);
  }
  return std::nullopt;
}

std::optional<std::string> GroupProducts::FindChunks(Operand& operand) const {
  const TccMatrix& matrix = operand.matrix;
  const GroupDescriptor descriptor(matrix.descriptor);
  if (auto complaint = CheckStart(descriptor)) {
    return fmt::format("the matrix at {} {}", Element(matrix.where), *complaint);
  }
  const int64_t begin = shared_.AddressOf(matrix.array);
  for (int64_t address : operand.layout.Addresses(descriptor)) {
    if (address < begin || address + GroupOperand::kChunk > begin + matrix.array_bytes) {
      return fmt::format("the matrix at {} reaches byte {} of the array's {}",
                         Element(matrix.where), address - begin, matrix.array_bytes);
    }
    operand.chunks.push_back({address, {}});
  }
  return std::nullopt;
}

// Notes that the operands are read now.
std::optional<std::string> GroupProducts::Read(Product& product) {
  product.read = shared_.epoch();
  for (const Operand& operand : product.operands) {
    for (const Chunk& chunk : operand.chunks) {
      auto complaint = shared_.ProxyRead(product.group, shared_.At(chunk.address),
                                         sizeof(chunk.bytes), product.call.where.line);
      if (complaint) {
        return fmt::format("{}, read by the product in line {}, {}", NameOf(operand, chunk),
                           product.call.where.line, *complaint);
      }
    }
  }
  return std::nullopt;
}

// Reads the operands once between two barriers: what is written behind that is a race.
std::optional<std::string> GroupProducts::ReadAgain(Product& product) {
  if (product.read == shared_.epoch()) return std::nullopt;
  if (auto complaint = Read(product)) return complaint;
  for (const Operand& operand : product.operands) {
    for (const Chunk& chunk : operand.chunks) {
      if (memcmp(chunk.bytes, shared_.At(chunk.address), sizeof(chunk.bytes)) == 0) continue;
      return fmt::format("{} was overwritten before the wait for the product in line {}",
                         NameOf(operand, chunk), product.call.where.line);
    }
  }
  return std::nullopt;
}

// Returns the element that begins a chunk.
std::string GroupProducts::NameOf(const Operand& operand, const Chunk& chunk) const {
  const int64_t byte = chunk.address - shared_.AddressOf(operand.matrix.array);
  return fmt::format("{}[{}]", operand.matrix.where.name, byte / operand.layout.element_bytes);
}

template <typename Factor>
std::vector<Factor> GroupProducts::ValuesOf(const Operand& operand, char type, bool by_k) {
  const auto& [rows, bytes, transposed] = operand.layout;
  const int depth = operand.layout.Depth();
  std::vector<Factor> values(static_cast<size_t>(rows) * depth);
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < depth; ++k) {
      const Chunk& chunk = operand.chunks[operand.layout.ChunkOf(row, k)];
      uint32_t bits = 0;
      memcpy(&bits, chunk.bytes + operand.layout.PlaceOf(row, k) * bytes, bytes);
      values[by_k ? k * rows + row : row * depth + k] = ValueOf<Factor>(type, bits);
    }
  }
  return values;
}

// Adds the product to the sums. Floats are added up in double and rounded once: a device adds in an
// order of its own.
template <typename Factor>
void GroupProducts::Compute(const Product& product) {
  const TccProduct& call = product.call;
  const int columns = call.columns;
  const int depth = product.operands[0].layout.Depth();
  const auto a = ValuesOf<Factor>(product.operands[0], call.type, /*by_k=*/false);
  const auto b = ValuesOf<Factor>(product.operands[1], call.type, /*by_k=*/true);
  std::vector<Factor> c(static_cast<size_t>(kRows) * columns);
  for (int row = 0; row < kRows; ++row) {
    for (int k = 0; k < depth; ++k) {
      const Factor factor = a[row * depth + k];
      for (int n = 0; n < columns; ++n) c[row * columns + n] += factor * b[k * columns + n];
    }
  }
  for (int i = 0; i < kThreads; ++i) {
    Thread& thread = threads_[product.group * kThreads + i];
    std::vector<uint32_t>& words = FindSums(thread, thread.brought.sums)->words;
    for (int word = 0; word < WordsOf(call); ++word) {
      const Factor sum = c[RowOf(i, word) * columns + ColumnOf(i, word)];
      if constexpr (std::is_integral_v<Factor>) {
        words[word] += sum;
      } else {
        words[word] = std::bit_cast<uint32_t>(static_cast<float>(FloatValue(words[word]) + sum));
      }
    }
  }
}

std::optional<std::string> GroupProducts::Wait(int thread, int pending) {
  Thread& own = threads_[thread];
  const int finished = static_cast<int>(own.batches.size()) - 1 - pending;
  for (int i = 0; i < finished; ++i) {
    for (const Flight& flight : own.batches[i]) {
      Sums& sums = *FindSums(own, flight.place);
      if (auto complaint = CheckUntouched(sums)) return complaint;
      if (auto complaint = ReadAgain(*flight.product)) return complaint;
      --sums.in_flight;
    }
  }
  if (finished > 0) own.batches.erase(own.batches.begin(), own.batches.begin() + finished);
  return std::nullopt;
}

std::optional<std::string> GroupProducts::Results(int thread, void* begin, int64_t bytes) {
  Thread& own = threads_[thread];
  auto* first = static_cast<uint32_t*>(begin);
  const uint32_t* last = first + bytes / static_cast<int64_t>(sizeof(*first));
  for (size_t i = 0; i < own.sums.size();) {
    const Sums& sums = own.sums[i];
    if (sums.in_flight > 0 || sums.place < first || sums.place >= last) {
      ++i;
      continue;
    }
    if (auto complaint = CheckUntouched(sums)) return complaint;
    std::ranges::copy(sums.words, sums.place);
    own.sums.erase(own.sums.begin() + static_cast<ptrdiff_t>(i));
    own.fenced = false;
  }
  return std::nullopt;
}

std::optional<std::string> GroupProducts::End(int thread) const {
  const Thread& own = threads_[thread];
  if (own.sums.empty()) return std::nullopt;
  const Sums& sums = own.sums.front();
  const char* lacks = !own.batches.back().empty() ? "is not committed"
                      : sums.in_flight > 0        ? "is in flight: not waited for"
                                                  : "is named by no wait behind it";
  return fmt::format("while its product in line {}, added to {}, {}", sums.where.line,
                     Element(sums.where), lacks);
}

}  // namespace tcc::emulator
