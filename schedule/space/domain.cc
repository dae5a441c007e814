#include "schedule/space/domain.h"

#include <absl/strings/ascii.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>

#include "support/check.h"

namespace tcc {
namespace {

constexpr std::string_view kNames[] = {
#define TCC_DOMAIN_NAME(text, kind, meaning) text,
    TCC_DOMAIN_KINDS(TCC_DOMAIN_NAME)
#undef TCC_DOMAIN_NAME
};

bool InDomain(const Domain& domain, int64_t value) {
  switch (domain.kind) {
    case DomainKind::kAny:
      return true;
    case DomainKind::kDivisors:
      return domain.numbers[0] % value == 0;
    case DomainKind::kMultiples:
      return value % domain.numbers[0] == 0;
    case DomainKind::kChoice:
      return std::ranges::binary_search(domain.numbers, value);
  }
  TCC_UNREACHABLE();
}

bool IsWellFormed(const Domain& domain) {
  const std::vector<int64_t>& numbers = domain.numbers;
  bool rising = std::ranges::adjacent_find(numbers, std::greater_equal<>()) == numbers.end();
  if (domain.kind == DomainKind::kAny) return numbers.empty();
  if (numbers.empty() || numbers[0] < 1 || !rising) return false;
  return domain.kind == DomainKind::kChoice || numbers.size() == 1;
}

// Parses the words after the range; no words mean any.
std::optional<Domain> ParseDomain(std::istringstream& words) {
  Domain domain;
  std::string name;
  if (!(words >> name)) return domain;
  const auto* known = std::find(std::begin(kNames), std::end(kNames), name);
  if (known == std::end(kNames)) return std::nullopt;
  domain.kind = static_cast<DomainKind>(known - std::begin(kNames));
  for (int64_t number = 0; words >> number;) domain.numbers.push_back(number);
  if (!words.eof() || !IsWellFormed(domain)) return std::nullopt;
  return domain;
}

// Returns whether `name` is a word that an expression of the trace can hold, like "mm.i.1".
bool IsWord(const std::string& name) {
  auto letter = [](char c) { return absl::ascii_isalpha(c) || c == '_'; };
  return letter(name[0]) && name.back() != '.' && name.find("..") == std::string::npos &&
         std::ranges::all_of(
             name, [&](char c) { return letter(c) || absl::ascii_isdigit(c) || c == '.'; });
}

}  // namespace

bool Allows(const FreeSize& size, int64_t value) {
  return value >= size.var->low && value <= size.var->high && InDomain(size.domain, value);
}

std::vector<int64_t> ValuesOf(const FreeSize& size) {
  std::vector<int64_t> values;
  auto add = [&](int64_t value) {
    if (Allows(size, value)) values.push_back(value);
  };
  const int64_t low = size.var->low, high = size.var->high;
  switch (size.domain.kind) {
    case DomainKind::kAny:
      for (int64_t value = low; value <= high; ++value) add(value);
      return values;
    case DomainKind::kDivisors:
      for (int64_t value = low; value <= std::min(high, size.domain.numbers[0]); ++value) {
        add(value);
      }
      return values;
    case DomainKind::kMultiples: {
      const int64_t step = size.domain.numbers[0];
      for (int64_t k = (low - 1) / step + 1; k <= high / step; ++k) add(k * step);
      return values;
    }
    case DomainKind::kChoice:
      for (int64_t value : size.domain.numbers) add(value);
      return values;
  }
  TCC_UNREACHABLE();
}

std::string Print(const FreeSize& size) {
  std::string text = fmt::format("tile {} {} {}", size.var->name, size.var->low, size.var->high);
  if (size.domain.kind != DomainKind::kAny) {
    text += fmt::format(" {} {}", kNames[static_cast<size_t>(size.domain.kind)],
                        fmt::join(size.domain.numbers, " "));
  }
  return text;
}

StatusOr<FreeSize> ParseFreeSize(const std::string& line) {
  std::istringstream words(line);
  std::string keyword, name;
  int64_t low = 0, high = 0;
  if (!(words >> keyword >> name >> low >> high) || low < 1 || high < low) {
    return InvalidInput("'{}'; expected 'tile NAME LOW HIGH [DOMAIN]' with 1 <= LOW <= HIGH", line);
  }
  if (!IsWord(name)) {
    return InvalidInput("'{}'; expected letters, digits, '_' and '.' in '{}'", line, name);
  }
  std::optional<Domain> domain = ParseDomain(words);
  if (!domain) {
    return InvalidInput(
        "'{}'; the domain of '{}' is expected to be 'any', 'divisors N', 'multiples N' or "
        "'choice N1 N2 ...' with rising N >= 1",
        line, name);
  }
  return FreeSize{TileVar(name, low, high), *std::move(domain)};
}

}  // namespace tcc
