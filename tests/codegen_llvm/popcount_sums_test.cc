// Sums of popcounts, whose counts machine code adds in bytes.

#include <bit>
#include <limits>

#include "codegen_llvm/object_code.h"
#include "tests/codegen_llvm/kernel_rig.h"

namespace tcc::test {
namespace {

// A sum of coefficient * popcount(x & y) over rows of words, with what is added before and behind.
struct CountedSum {
  const char* name;
  std::vector<int64_t> coefficients;
  bool is_added = true;         // to an element of Z
  bool has_difference = false;  // subtracts an element of X at the end
};

std::vector<int64_t> Ones(size_t count, int64_t one = 1) {
  return std::vector<int64_t>(count, one);
}

std::vector<CountedSum> Sums() {
  std::vector<CountedSum> sums;
  for (size_t length : {1, 2, 3, 7, 8, 15, 16, 30, 31, 32, 33, 63, 70}) {
    sums.push_back({"chain", Ones(length)});
  }
  const std::vector<CountedSum> others = {
      {"alone", Ones(1), false},
      {"alone, two", Ones(2), false},
      {"two planes", {1, 2}},
      {"two by two", {1, 2, 2, 4}, true, true},
      {"four by two", {1, 2, 4, 8, 2, 4, 8, 16}},
      {"signed", {1, 2, -2, -4}},
      {"signed, long", {1, -1, 2, -2, 4, -4, 8, -8, 1, -1, 2, -2, 4, -4}},
      {"of one sign", {-2, -4, -8}, true, true},
      {"bipolar", {2, 4}},
      {"far apart", {64, 1, -64, 2}},
      {"no powers", {3, 5, -7, 1}},
      {"beyond a byte", {128, 256, -1024, 1}},
      {"zero", {0, 1}, false},
  };
  sums.insert(sums.end(), others.begin(), others.end());
  return sums;
}

constexpr int64_t kColumns = 48;  // words of a row

// z[i] = [z[i] +] sum over k of coefficient k * popcount(x[k, i] & y[k, i]) [- x[0, i]].
Function FunctionOf(const CountedSum& sum, int lanes) {
  const auto rows = static_cast<int64_t>(sum.coefficients.size());
  const Buffer x = FlatBuffer("X", kInt32, rows * kColumns);
  const Buffer y = FlatBuffer("Y", kInt32, rows * kColumns);
  const Buffer z = FlatBuffer("Z", kInt32, kColumns);
  const Var i = LoopVar("i");
  auto at = [&](int64_t row) {
    const Expr first = Expr(i) * Expr(lanes) + Expr(row * kColumns);
    return lanes == 1 ? first : Lanes(first, lanes);
  };
  Expr value;
  if (sum.is_added) value = LoadOf(z, at(0));
  for (int64_t row = 0; row < rows; ++row) {
    const Expr both = CallOf(ScalarOp::kBitAnd, {LoadOf(x, at(row)), LoadOf(y, at(row))});
    const Expr ones = CallOf(ScalarOp::kPopcount, {both});
    const Expr factor = Const(kInt32, sum.coefficients[static_cast<size_t>(row)]);
    const Expr term = Make<Mul>(ones, lanes == 1 ? factor : Splatted(factor, lanes));
    value = value ? Make<Add>(value, term) : term;
  }
  if (sum.has_difference) value = Make<Sub>(value, LoadOf(x, at(0)));
  return LoweredFunction("f", {x, y, z}, Loop(i, kColumns / lanes, StoreTo(z, at(0), value)));
}

std::vector<int32_t> RandomWords(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> words;
  for (size_t i = 0; i < count; ++i) {
    // Whole words of ones are where bytes would overflow first.
    words.push_back(i % 3 == 0 ? -1 : static_cast<int32_t>(random.Below(uint64_t{1} << 32)));
  }
  return words;
}

std::vector<int32_t> Expected(const CountedSum& sum, const std::vector<int32_t>& xs,
                              const std::vector<int32_t>& ys, std::vector<int32_t> zs) {
  for (size_t i = 0; i < zs.size(); ++i) {
    int64_t value = sum.is_added ? zs[i] : 0;
    for (size_t k = 0; k < sum.coefficients.size(); ++k) {
      const size_t at = k * kColumns + i;
      value += sum.coefficients[k] * std::popcount(static_cast<uint32_t>(xs[at] & ys[at]));
    }
    if (sum.has_difference) value -= xs[i];
    zs[i] = static_cast<int32_t>(value);
  }
  return zs;
}

void CheckSum(const CountedSum& sum, int lanes, const Target& target) {
  INFO(sum.name << " of " << sum.coefficients.size() << " words, lanes " << lanes << " on "
                << target.name << " " << target.llvm_cpu);
  const size_t count = sum.coefficients.size() * kColumns;
  std::vector<int32_t> xs = RandomWords(count, 3), ys = RandomWords(count, 4);
  std::vector<int32_t> zs = RandomWords(kColumns, 5);
  const std::vector<int32_t> expected = Expected(sum, xs, ys, zs);
  const std::unique_ptr<JitModule> code = JitOf(FunctionOf(sum, lanes), target);
  TestRuntime runtime;
  void* buffers[] = {xs.data(), ys.data(), zs.data()};
  REQUIRE(code->Find("f")(&runtime.table, buffers, nullptr) == TCC_KERNEL_OK);
  CHECK(zs == expected);
}

int CountOf(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

std::string AssemblyOf(const CountedSum& sum, int lanes, const Target& target) {
  return KernelText(FunctionOf(sum, lanes), target, "asm").value();
}

}  // namespace

TEST_CASE("sums of popcounts of any length are right by every number of lanes", "[codegen_llvm]") {
  std::vector<Target> targets = {NativeTarget(), *FindTarget("x86-64-v3")};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    targets.push_back(*FindTarget("x86-64-v4"));
    if (__builtin_cpu_supports("avx512vnni")) {
      targets.push_back(*FindTarget("x86-64-v4"));
      targets.back().llvm_cpu = "cascadelake";  // dots of bytes, but no vpopcntd
    }
  }
#else
  targets = {NativeTarget()};
#endif
  for (const Target& target : targets) {
    for (const CountedSum& sum : Sums()) {
      for (int lanes : {1, 2, 4, 8, 16}) CheckSum(sum, lanes, target);
    }
  }
}

TEST_CASE("counts of words are added in bytes and widened once", "[codegen_llvm]") {
  const CountedSum chain{"chain", Ones(31)};
  for (auto [name, lanes] : {std::pair("x86-64-v3", 8), {"x86-64-v4", 16}}) {
    const std::string text = AssemblyOf(chain, lanes, *FindTarget(name));
    INFO(text);
    CHECK(CountOf(text, "vpshufb") == 62);
    CHECK(CountOf(text, "vpmaddubsw") == 1);
    CHECK(CountOf(text, "vpmaddwd") == 1);
    CHECK(CountOf(text, "vpsadbw") == 0);
    CHECK(CountOf(AssemblyOf({"longer", Ones(32)}, lanes, *FindTarget(name)), "vpmaddubsw") == 2);
  }
  Target with_dots = *FindTarget("x86-64-v4"), with_counts = with_dots;
  with_dots.llvm_cpu = "cascadelake";
  with_counts.llvm_cpu = "icelake-server";
  CHECK(CountOf(AssemblyOf(chain, 16, with_dots), "vpdpbusd") == 1);
  const std::string text = AssemblyOf(chain, 16, with_counts);
  CHECK(CountOf(text, "vpopcntd") == 31);
  CHECK(CountOf(text, "vpshufb") == 0);
}

TEST_CASE("ARM adds counts of bytes by dots with their coefficients", "[codegen_llvm][arm]") {
  const CountedSum signed_planes{"signed", {1, 2, -2, -4}};
  for (const char* name : {"aarch64-v8.2", "aarch64-v8.6", "aarch64-sve", "aarch64-sve256"}) {
    const std::string text = AssemblyOf(signed_planes, 4, *FindTarget(name));
    INFO(name << "\n" << text);
    CHECK(CountOf(text, "cnt\tv") == 4);
    CHECK(CountOf(text, "sdot\tv") == 4);
    CHECK(CountOf(text, "addlp") == 0);
  }
}

}  // namespace tcc::test
