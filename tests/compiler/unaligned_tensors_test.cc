#include <catch2/catch.hpp>

#include "compiler/check/random_inputs.h"
#include "models/zoo/zoo.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/run_compiled.h"
#include "tests/runtime/shifted_tensor.h"

namespace tcc {
namespace {

std::vector<Tensor> Shifted(std::span<const Tensor> tensors, size_t shift) {
  std::vector<Tensor> shifted;
  for (const Tensor& tensor : tensors) shifted.push_back(Shifted(tensor, shift));
  return shifted;
}

// Returns how many of the tensors do not lie at a multiple of their element's size.
int CountUnaligned(std::span<const Tensor> tensors) {
  return static_cast<int>(std::ranges::count_if(tensors, [](const Tensor& tensor) {
    auto address = reinterpret_cast<uintptr_t>(tensor.bytes.data());
    return address % static_cast<uintptr_t>(std::max(tensor.dtype.bits() / 8, 1)) != 0;
  }));
}

TEST_CASE("a network gives the same bits wherever its caller's tensors lie, without copies",
          "[compiler]") {
  for (const char* name : {"dqn", "mobilenet_v2", "bert_base", "lstm_lm"}) {
    Module module = Loaded(Compiled(*BuildZoo(name, {.small = true}), "native"));
    std::vector<Tensor> inputs = *RandomInputs(module.metadata(), 4);
    Executor executor(module);
    std::vector<Tensor> expected = executor.Run(inputs).value();
    for (size_t shift : {0, 4, 16, 60, 1}) {
      INFO(name << " at " << shift);
      std::vector<Tensor> in = Shifted(inputs, shift), out = Shifted(expected, shift);
      for (Tensor& output : out) std::ranges::fill(MutableBytes(output), kUntouched);
      Status status = executor.RunInto(in, out);
      INFO(status);
      REQUIRE(status.ok());
      CHECK(executor.copies().tensors == CountUnaligned(in) + CountUnaligned(out));
      if (shift == 16) CHECK(executor.copies().tensors == 0);
      for (size_t i = 0; i < out.size(); ++i) {
        CHECK(std::ranges::equal(out[i].bytes, expected[i].bytes));
        CHECK(IsAloneWritten(out[i]));
      }
    }
  }
}

TEST_CASE("the interpreter still gets its tensors at multiples of 64", "[compiler]") {
  Module module = Loaded(Compiled(*BuildZoo("dqn", {.small = true}), "reference"));
  std::vector<Tensor> inputs = Shifted(*RandomInputs(module.metadata(), 4), 16);
  Executor executor(module);
  REQUIRE(executor.Run(inputs).ok());
  CHECK(executor.copies().tensors == static_cast<int>(inputs.size()));
}

}  // namespace
}  // namespace tcc
