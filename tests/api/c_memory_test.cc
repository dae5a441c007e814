#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <vector>

#include "api/tcc_c.h"
#include "tests/api/run_module.h"
#include "tests/compiler/onnx_models.h"

// The C API where the C++ allocator is counted, or has no memory.
namespace {

// The allocations of this thread: how many there were, and how many more succeed (-1: all).
thread_local int64_t allocations = 0;
thread_local int64_t allowed = -1;

}  // namespace

void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  if (allowed == 0) return nullptr;
  if (allowed > 0) --allowed;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes) {
  void* memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace {

// Calls with memory for no allocation, for one, ... until there is enough; returns the number of
// calls that failed. Each has to fail with TCC_NO_MEMORY.
template <typename Call>
int FailuresUntilThereIsMemory(Call&& call) {
  int failures = 0;
  while (true) {
    tcc_error* error = nullptr;
    allowed = failures;
    tcc_code code = call(&error);
    allowed = -1;
    if (code == TCC_OK) return failures;
    ++failures;
    REQUIRE(code == TCC_NO_MEMORY);
    REQUIRE(error != nullptr);
    CHECK(tcc_error_code(error) == TCC_NO_MEMORY);
    CHECK_THAT(tcc_error_message(error), Catch::Matchers::Contains("memory"));
    tcc_error_free(error);
  }
}

struct Tensors {
  std::array<float, 6> x{1, 2, 3, 4, 5, 6}, b{1, 1, 1, 1, 1, 1}, y{};
  std::array<tcc_tensor, 2> inputs{};
  tcc_tensor output{};

  Tensors() {
    for (auto [tensor, values] : {std::pair(&inputs[0], &x), {&inputs[1], &b}, {&output, &y}}) {
      tensor->data = values->data();
      tensor->bytes = sizeof(*values);
      tensor->rank = -1;
      tensor->dtype = TCC_F32;
    }
  }
};

TEST_CASE("a bound run allocates nothing", "[api]") {
  for (const std::vector<uint8_t>& file : {Compiled(AddModel()).Bytes(), CopyArtefact()}) {
    tcc_module* module = nullptr;
    tcc_executor* executor = nullptr;
    REQUIRE(tcc_module_load_bytes(file.data(), file.size(), nullptr, nullptr, nullptr, &module,
                                  nullptr) == TCC_OK);
    REQUIRE(tcc_executor_new(module, &executor, nullptr) == TCC_OK);
    const uint32_t inputs = tcc_module_count(module, TCC_INPUTS);
    const std::array<int64_t, 2> shape{2, 3};
    Tensors tensors;
    tensors.inputs[0].shape = shape.data();
    tensors.inputs[0].rank = 2;
    REQUIRE(tcc_executor_bind(executor, tensors.inputs.data(), inputs, &tensors.output, 1,
                              nullptr) == TCC_OK);
    REQUIRE(tcc_executor_run(executor, nullptr) == TCC_OK);
    const int64_t before = allocations;
    for (int run = 0; run < 10; ++run) {
      tensors.x[5] = static_cast<float>(run);
      if (tcc_executor_run(executor, nullptr) != TCC_OK) break;
    }
    const int64_t after = allocations;
    CHECK(after == before);
    CHECK(tensors.y[5] == (inputs == 2 ? 10 : 9));
    // The count is one of allocations.
    REQUIRE(tcc_module_run(module, tensors.inputs.data(), inputs, &tensors.output, 1, nullptr) ==
            TCC_OK);
    CHECK(allocations > after);
    tcc_executor_free(executor);
    tcc_module_free(module);
  }
}

TEST_CASE("a call from C that finds no memory says so, wherever that is", "[api]") {
  const std::vector<uint8_t> file = Compiled(AddModel()).Bytes();
  static int released = 0;
  tcc_options* options = tcc_options_new();
  REQUIRE(tcc_options_set(options, "threads", "1", nullptr) == TCC_OK);
  tcc_module* module = nullptr;
  released = 0;
  int failures = FailuresUntilThereIsMemory([&](tcc_error** error) {
    return tcc_module_load_bytes(
        file.data(), file.size(), [](void*) { ++released; }, nullptr, options, &module, error);
  });
  CHECK(failures > 10);
  tcc_options_free(options);

  tcc_executor* executor = nullptr;
  CHECK(FailuresUntilThereIsMemory(
            [&](tcc_error** error) { return tcc_executor_new(module, &executor, error); }) > 1);
  Tensors tensors;
  CHECK(FailuresUntilThereIsMemory([&](tcc_error** error) {
          return tcc_executor_bind(executor, tensors.inputs.data(), 2, &tensors.output, 1, error);
        }) > 1);
  FailuresUntilThereIsMemory([&](tcc_error** error) { return tcc_executor_run(executor, error); });
  CHECK(tensors.y == std::array<float, 6>{2, 3, 4, 5, 6, 7});
  CHECK(FailuresUntilThereIsMemory([&](tcc_error** error) {
          return tcc_module_run(module, tensors.inputs.data(), 2, &tensors.output, 1, error);
        }) > 1);
  tcc_executor_free(executor);
  tcc_module_free(module);
  CHECK(released == failures + 1);

  allowed = 0;
  options = tcc_options_new();
  allowed = -1;
  CHECK(options == nullptr);
}

}  // namespace
