#include "ir/analysis/canonical.h"
#include "ir/expr/compare.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "tests/fuzz/function_variants.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/random/random_function.h"
#include "tests/programs/equal_up_to_names.h"

namespace tcc {
namespace {

// Parse(Print(fn)) is fn, and prints as the same text.
Status CheckRoundTrip(const Function& fn, const std::string& what) {
  std::string text = Print(fn);
  StatusOr<Function> again = ParseFunction(text);
  if (!again.ok()) return Annotate(again.status(), what + " does not parse:\n" + text);
  if (!AlphaEqual(*again, fn)) {
    return WrongResult("{} parses as another function:\n{}", what, text);
  }
  std::string second = Print(*again);
  if (second != text) return WrongResult("{} prints differently:\n{}{}", what, text, second);
  return OkStatus();
}

Status CheckKeys(const Function& fn, Random& random) {
  std::string key = CanonicalText(fn);
  if (!AlphaEqual(WithOtherVars(fn), fn)) {
    return WrongResult("other variables make another function:\n{}", Print(fn));
  }
  Function same = WrittenOtherwise(fn, random);
  if (CanonicalText(same) != key) {
    return WrongResult("written otherwise, the key differs:\n{}{}", Print(fn), Print(same));
  }
  Function other = Changed(fn, random);
  if (CanonicalText(other) == key || EqualUpToNames(other, fn)) {
    return WrongResult("a change is not seen:\n{}{}", Print(fn), Print(other));
  }
  return OkStatus();
}

// A few bytes removed, doubled, replaced or put in; words of the language more often than not.
std::string Broken(std::string text, Random& random) {
  static constexpr std::string_view kPieces[] = {
      "(",     ")", "[",          "]",    "{",     "}",    ":",  "=",    "<",    "in",
      "for",   "0", "9999999999", "-",    "1e400", "\"",   "@",  "nan(", ":f16", "select(",
      "ramp(", "A", "i",          "\xff", "..",    "mask", "by", "!",
  };
  for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
    size_t at = random.Below(text.size() + 1);
    size_t length = std::min<size_t>(random.Below(12), text.size() - at);
    switch (random.Below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(random.Below(text.size() + 1), text.substr(at, length));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random.Below(256));
        break;
      default:
        text.insert(at, kPieces[random.Below(std::size(kPieces))]);
    }
  }
  return text;
}

Status CheckBroken(const Function& fn, Random& random, Histogram& histogram) {
  std::string text = Print(fn);
  for (int i = 0; i < 4; ++i) {
    std::string broken = Broken(text, random);
    StatusOr<Function> parsed = ParseFunction(broken);
    ++histogram[parsed.ok() ? "broken texts that parse" : "broken texts refused"];
    if (!parsed.ok()) {
      if (!Message(parsed.status()).starts_with("line ")) {
        return WrongResult("a message without a place: {}", Message(parsed.status()));
      }
      continue;
    }
    TCC_RETURN_IF_ERROR(CheckRoundTrip(*parsed, "what a broken text parsed as"));
  }
  return OkStatus();
}

Status CheckPoint(uint64_t seed, Histogram& histogram) {
  Random random(seed);
  Function fn = RandomFunction(random);
  CountKinds(fn, histogram);
  TCC_RETURN_IF_ERROR(CheckRoundTrip(fn, "a random function"));
  TCC_RETURN_IF_ERROR(CheckKeys(fn, random));
  return CheckBroken(fn, random, histogram);
}

}  // namespace

FuzzResult FuzzText(const FuzzOptions& options) {
  return RunPoints("text", options, CheckPoint);
}

}  // namespace tcc
