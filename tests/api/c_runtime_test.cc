#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "api/tcc_c.h"
#include "api/tcc_runtime.h"
#include "tests/api/c_answer.h"
#include "tests/api/run_module.h"
#include "tests/compiler/onnx_models.h"

// The C API of libtcc_runtime as a program outside sees it.
namespace {

using Floats = std::array<float, 6>;
using Shape = std::vector<int64_t>;
using ModulePtr = std::unique_ptr<tcc_module, decltype(&tcc_module_free)>;
using ExecutorPtr = std::unique_ptr<tcc_executor, decltype(&tcc_executor_free)>;

// Calls with a place for an error, and once more without.
template <typename Call>
Answer Ask(Call&& call) {
  tcc_error* error = nullptr;
  tcc_code code = call(&error);
  Answer answer{code, ""};
  if (error != nullptr) {
    CHECK(tcc_error_code(error) == code);
    answer.message = tcc_error_message(error);
  }
  CHECK((error == nullptr) == (code == TCC_OK));
  tcc_error_free(error);
  CHECK(call(nullptr) == code);
  return answer;
}

const Answer kGood{TCC_OK, ""};

ModulePtr Load(const std::vector<uint8_t>& file, const tcc_options* options = nullptr) {
  tcc_module* module = nullptr;
  tcc_error* error = nullptr;
  tcc_module_load_bytes(file.data(), file.size(), nullptr, nullptr, options, &module, &error);
  INFO((error == nullptr ? "" : tcc_error_message(error)));
  REQUIRE(module != nullptr);
  return {module, tcc_module_free};
}

ExecutorPtr ExecutorOf(tcc_module* module) {
  tcc_executor* executor = nullptr;
  REQUIRE(tcc_executor_new(module, &executor, nullptr) == TCC_OK);
  return {executor, tcc_executor_free};
}

// y[2x3] = x[2x3] + b[2x3].
const std::vector<uint8_t>& AddArtefact() {
  static const std::vector<uint8_t> file = Compiled(AddModel()).Bytes();
  return file;
}

tcc_tensor Named(const char* name, Floats& values) {
  return {.name = name,
          .data = values.data(),
          .bytes = sizeof(values),
          .shape = nullptr,
          .rank = -1,
          .dtype = TCC_F32,
          .reserved = 0};
}

// Tensors for AddArtefact.
struct Add {
  Floats x{1, 2, 3, 4, 5, 6}, b{10, 20, 30, 40, 50, 60}, y{};
  std::array<tcc_tensor, 2> inputs = {Named("x", x), Named("b", b)};
  tcc_tensor output = Named("y", y);

  Answer RunOn(tcc_module* module) {
    return Ask([&](tcc_error** error) {
      return tcc_module_run(module, inputs.data(), 2, &output, 1, error);
    });
  }
  Answer BindTo(tcc_executor* executor) {
    return Ask([&](tcc_error** error) {
      return tcc_executor_bind(executor, inputs.data(), 2, &output, 1, error);
    });
  }
};
const Floats kSums{11, 22, 33, 44, 55, 66};

TEST_CASE("the C API's numbers of types and codes are those of the C++ API", "[api]") {
  CHECK(tcc_abi() >= TCC_ABI);
  CHECK(tcc_version() == tcc::Version());
  for (tcc_dtype dtype = TCC_BOOL; dtype <= TCC_U4; ++dtype) {
    CHECK(tcc_dtype_name(dtype) == tcc::ToString(static_cast<tcc::DType>(dtype)));
  }
  CHECK(tcc_dtype_name(TCC_BF16) == std::string("bf16"));
  CHECK(tcc_dtype_name(TCC_F8E5M2) == std::string("f8e5m2"));
  CHECK(tcc_dtype_name(TCC_U4) == std::string("u4"));
  CHECK(tcc_dtype_name(TCC_U4 + 1) == nullptr);
  CHECK(tcc_dtype_name(-1) == nullptr);
  using tcc::Code;
  for (auto [code, c_code] :
       std::initializer_list<std::pair<Code, tcc_code>>{{Code::kOk, TCC_OK},
                                                        {Code::kUsage, TCC_USAGE},
                                                        {Code::kUnsupported, TCC_UNSUPPORTED},
                                                        {Code::kBadInput, TCC_BAD_INPUT},
                                                        {Code::kMissing, TCC_MISSING},
                                                        {Code::kBudget, TCC_BUDGET},
                                                        {Code::kNoMemory, TCC_NO_MEMORY},
                                                        {Code::kInternal, TCC_BUG},
                                                        {Code::kCancelled, TCC_CANCELLED}}) {
    CHECK(static_cast<tcc_code>(code) == c_code);
  }
}

TEST_CASE("the C API describes a module", "[api]") {
  ModulePtr module = Load(AddArtefact());
  CHECK(tcc_module_count(module.get(), TCC_INPUTS) == 2);
  CHECK(tcc_module_count(module.get(), TCC_OUTPUTS) == 1);
  REQUIRE(tcc_module_count(module.get(), TCC_KERNELS) == 1);
  tcc_tensor b;
  tcc_module_tensor(module.get(), TCC_INPUTS, 1, &b);
  CHECK(b.name == std::string("b"));
  CHECK(b.data == nullptr);
  CHECK(b.bytes == 24);
  CHECK(Shape(b.shape, b.shape + b.rank) == Shape{2, 3});
  CHECK(b.dtype == TCC_F32);
  CHECK(tcc_module_dim_name(module.get(), TCC_INPUTS, 1, 0) == std::string());
  int64_t flops = 0;
  CHECK(tcc_module_kernel(module.get(), 0, &flops) == tcc_module_kernel(module.get(), 0, nullptr));
  CHECK(flops == 6);
  CHECK(tcc_module_kernel_node(module.get(), 0, 0) == std::string("y"));
  CHECK(tcc_module_kernel_node(module.get(), 0, 1) == nullptr);
  REQUIRE(tcc_module_count(module.get(), TCC_PROPERTIES) > 0);
  const char* value = nullptr;
  CHECK(tcc_module_property(module.get(), 0, &value) == std::string("compiler"));
  CHECK(value == std::string(tcc_version()));
  CHECK(tcc_module_name(module.get()) == std::string("add"));
  CHECK(tcc_module_target(module.get()) == std::string("native"));
  CHECK(tcc_module_weights_bytes(module.get()) == 0);
  CHECK(tcc_module_activation_bytes(module.get()) == 0);
  CHECK(tcc_module_threads(module.get()) >= 1);
  CHECK(tcc_module_device(module.get()) == -1);
}

TEST_CASE("a module runs from C on tensors by name or by place", "[api]") {
  ModulePtr module = Load(AddArtefact());
  Add add;
  std::swap(add.inputs[0], add.inputs[1]);
  CHECK(add.RunOn(module.get()) == kGood);
  CHECK(add.y == kSums);
  Add places;
  const Shape shape{2, 3};
  for (tcc_tensor* tensor : {&places.inputs[0], &places.inputs[1], &places.output}) {
    tensor->name = nullptr;
    tensor->shape = shape.data();
    tensor->rank = 2;
  }
  CHECK(places.RunOn(module.get()) == kGood);
  CHECK(places.y == kSums);
}

TEST_CASE("a free extent's size and an output's shape follow from the inputs in C", "[api]") {
  ModulePtr module = Load(CopyArtefact());
  tcc_tensor info;
  tcc_module_tensor(module.get(), TCC_INPUTS, 0, &info);
  CHECK(Shape(info.shape, info.shape + info.rank) == Shape{-1, 3});
  CHECK(info.bytes == 0);
  CHECK(tcc_module_dim_name(module.get(), TCC_INPUTS, 0, 0) == std::string("N"));

  Floats x{1, 2, 3, 4, 5, 6}, y{};
  tcc_tensor input = Named("x", x), output = Named("y", y);
  auto run = [&] {
    return Ask([&](tcc_error** error) {
      return tcc_module_run(module.get(), &input, 1, &output, 1, error);
    });
  };
  CHECK(run() == Answer{TCC_BAD_INPUT, "input 'x' is f32[Nx3]: its shape must be given"});
  Shape two{2, 3}, three{3, 3};
  input.shape = two.data();
  input.rank = 2;
  CHECK(run() == kGood);
  CHECK(y == x);
  output.shape = three.data();
  output.rank = 2;
  CHECK(run() == Answer{TCC_BAD_INPUT, "output 'y': expected f32[2x3], got f32[3x3]"});

  // Neither data nor bytes are needed.
  tcc_tensor shaped = input;
  shaped.data = nullptr;
  shaped.bytes = 0;
  std::array<int64_t, 2> extents{};
  uint32_t rank = 0;
  auto ask = [&](uint32_t index, uint32_t most_rank) {
    return Ask([&](tcc_error** error) {
      return tcc_module_output_shape(module.get(), &shaped, 1, index, extents.data(), most_rank,
                                     &rank, error);
    });
  };
  CHECK(ask(0, 1) == kGood);
  CHECK(rank == 2);
  CHECK(extents == std::array<int64_t, 2>{});
  CHECK(ask(0, 2) == kGood);
  CHECK(extents == std::array<int64_t, 2>{2, 3});
  CHECK(ask(1, 2) == Answer{TCC_USAGE, "expected an output below 1, got 1"});
  shaped.shape = nullptr;
  CHECK(ask(0, 2) == Answer{TCC_BAD_INPUT, "input 'x' has rank 2 and no shape"});
}

TEST_CASE("tensors that do not fit are refused in C by name, with what was expected", "[api]") {
  ModulePtr module = Load(AddArtefact());
  const auto refusal = [&](auto&& change) {
    Add add;
    change(add);
    Answer answer = add.RunOn(module.get());
    CHECK(answer.code == TCC_BAD_INPUT);
    CHECK(add.y == Floats{});
    return answer.message;
  };
  static Shape shape{3, 2};
  CHECK(refusal([](Add& add) { add.inputs[1].name = "c"; }) == "the model has no input 'c'");
  CHECK(refusal([](Add& add) { add.inputs[1].name = "x"; }) == "input 'x' is given twice");
  CHECK(refusal([](Add& add) { add.inputs[1].data = nullptr; }) == "input 'b' has no memory");
  CHECK(refusal([](Add& add) { add.inputs[1].bytes = 20; }) ==
        "'b': f32[2x3] takes 24 bytes, got 20");
  CHECK(refusal([](Add& add) { add.inputs[1].dtype = TCC_F64; }) ==
        "input 'b': expected f32[2x3], got f64[2x3]");
  CHECK(refusal([](Add& add) { add.inputs[1].dtype = 17; }) ==
        "input 'b' has DType 17; expected 0 to 16");
  // Not 11, f32, which it is modulo 256.
  CHECK(refusal([](Add& add) { add.inputs[1].dtype = 267; }) ==
        "input 'b' has DType 267; expected 0 to 16");
  CHECK(refusal([](Add& add) { add.output.dtype = -1; }) ==
        "output 'y' has DType -1; expected 0 to 16");
  CHECK(refusal([](Add& add) {
          add.inputs[1].name = nullptr;
          add.inputs[1].rank = -2;
        }) == "input 'b' has rank -2; expected -1 or more");
  CHECK(refusal([](Add& add) { add.output.rank = 0; }) == "output 'y' has rank 0; expected 2");
  CHECK(refusal([](Add& add) { add.output.rank = 1; }) == "output 'y' has rank 1 and no shape");
  CHECK(refusal([](Add& add) { add.inputs[0].reserved = 1; }) ==
        "input 'x' has 1 in `reserved`; expected 0");
  CHECK(refusal([](Add& add) {
          add.inputs[0].shape = shape.data();
          add.inputs[0].rank = 2;
        }) == "input 'x': expected f32[2x3], got f32[3x2]");

  auto run = [&](const tcc_tensor* inputs, uint32_t count) {
    Add add;
    return Ask([&](tcc_error** error) {
      return tcc_module_run(module.get(), inputs, count, &add.output, 1, error);
    });
  };
  Add add;
  CHECK(run(nullptr, 2) == Answer{TCC_BAD_INPUT, "expected 2 inputs, got null"});
  CHECK(run(add.inputs.data(), 1) == Answer{TCC_BAD_INPUT, "input 'b' is missing"});
  std::array<tcc_tensor, 3> three = {add.inputs[0], add.inputs[1], add.inputs[1]};
  three[2].name = nullptr;
  CHECK(run(three.data(), 3) == Answer{TCC_BAD_INPUT, "the model has 2 inputs"});
}

TEST_CASE("an executor runs on what is bound, which a failed binding leaves", "[api]") {
  ModulePtr module = Load(AddArtefact());
  ExecutorPtr executor = ExecutorOf(module.get());
  auto run = [&] {
    return Ask([&](tcc_error** error) { return tcc_executor_run(executor.get(), error); });
  };
  CHECK(run() == Answer{TCC_USAGE, "the executor has no tensors: nothing was bound"});
  Add add, other;
  REQUIRE(add.BindTo(executor.get()) == kGood);
  // The executor keeps the network.
  module.reset();
  CHECK(run() == kGood);
  CHECK(add.y == kSums);
  other.inputs[1].name = "c";
  CHECK(other.BindTo(executor.get()) == Answer{TCC_BAD_INPUT, "the model has no input 'c'"});
  add.x[0] = 100;
  CHECK(run() == kGood);
  CHECK(add.y[0] == 110);
  CHECK(other.y == Floats{});
  other.inputs[1].name = "b";
  REQUIRE(other.BindTo(executor.get()) == kGood);
  CHECK(run() == kGood);
  CHECK(other.y == kSums);
  CHECK(Ask([&](tcc_error** error) {
          return tcc_executor_enqueue(executor.get(), add.inputs.data(), 2, &add.output, 1, nullptr,
                                      error);
        }) ==
        Answer{TCC_USAGE,
               "the module is for 'native', whose kernels run on host memory; expected a GPU"});
}

TEST_CASE("eight threads run one module from C at once", "[api]") {
  tcc_options* options = tcc_options_new();
  REQUIRE(tcc_options_set(options, "threads", "2", nullptr) == TCC_OK);
  ModulePtr module = Load(AddArtefact(), options);
  tcc_options_free(options);
  CHECK(tcc_module_threads(module.get()) <= 2);
  std::array<bool, 8> right{};
  std::vector<std::jthread> threads;
  for (size_t thread = 0; thread < right.size(); ++thread) {
    threads.emplace_back([&module, &result = right[thread], thread] {
      bool all = true;
      for (int run = 0; run < 200; ++run) {
        Add add;
        add.x[0] = static_cast<float>(thread * 1000 + static_cast<size_t>(run));
        all &=
            tcc_module_run(module.get(), add.inputs.data(), 2, &add.output, 1, nullptr) == TCC_OK;
        all &= add.y[0] == add.x[0] + 10 && add.y[5] == 66;
      }
      result = all;
    });
  }
  threads.clear();
  CHECK(right == std::array{true, true, true, true, true, true, true, true});
}

TEST_CASE("options of loading are texts, and a wrong one is refused by its key", "[api]") {
  std::unique_ptr<tcc_options, decltype(&tcc_options_free)> options(tcc_options_new(),
                                                                    tcc_options_free);
  auto set = [&](const char* key, const char* value) {
    return Ask(
        [&](tcc_error** error) { return tcc_options_set(options.get(), key, value, error); });
  };
  CHECK(set("threads", "1") == kGood);
  CHECK(set("map-weights", "true") == kGood);
  CHECK(set("map-weights", "false") == kGood);
  CHECK(set("device", "0") == kGood);
  CHECK(set("threads", "two") == Answer{TCC_USAGE, "threads: expected a whole number, got 'two'"});
  CHECK(set("threads", "-1") == Answer{TCC_USAGE, "threads: expected a whole number, got '-1'"});
  CHECK(set("threads", "4294967296") ==
        Answer{TCC_USAGE, "threads: expected at most 2147483647, got '4294967296'"});
  CHECK(set("map-weights", "1") ==
        Answer{TCC_USAGE, "map-weights: expected true or false, got '1'"});
  CHECK(set("device", "") == Answer{TCC_USAGE, "device: expected a value, got ''"});
  Answer unknown = set("color", "red");
  CHECK(unknown.code == TCC_USAGE);
  CHECK_THAT(unknown.message, Catch::Matchers::Contains("no option 'color'; expected one of ") &&
                                  Catch::Matchers::Contains(", threads, map-weights, "));
  CHECK(set(nullptr, "1").code == TCC_USAGE);
  CHECK(set("threads", nullptr).code == TCC_USAGE);
  // The mistakes have left the options as they were.
  CHECK(tcc_module_threads(Load(AddArtefact(), options.get()).get()) == 1);
}

TEST_CASE("a file that does not load has its code in C, and writes no module", "[api]") {
  const auto folder = std::filesystem::temp_directory_path() / "tcc_c_runtime_test";
  std::filesystem::create_directory(folder);
  const std::string good = folder / "good.tcc", bad = folder / "bad.tcc";
  const std::vector<uint8_t>& file = AddArtefact();
  std::ofstream(good).write(reinterpret_cast<const char*>(file.data()),
                            static_cast<std::streamsize>(file.size()));
  std::ofstream(bad) << "no artefact";
  tcc_module* module = nullptr;
  auto load = [&](const char* path) {
    Answer answer = Ask([&](tcc_error** error) {
      CHECK(module == nullptr);
      tcc_code code = tcc_module_load(path, nullptr, &module, error);
      CHECK((module != nullptr) == (code == TCC_OK));
      tcc_module_free(std::exchange(module, nullptr));
      return code;
    });
    return answer;
  };
  CHECK(load(good.c_str()) == kGood);
  CHECK(load(bad.c_str()).code == TCC_BAD_INPUT);
  CHECK_THAT(load(bad.c_str()).message, Catch::Matchers::Contains(bad));
  CHECK(load((good + "x").c_str()) ==
        Answer{TCC_BAD_INPUT, "cannot open '" + good + "x': No such file or directory"});
  CHECK(load(nullptr) == Answer{TCC_USAGE, "expected a path, got null"});
  std::filesystem::remove_all(folder);
}

TEST_CASE("a null address for a result is told, and bytes are released all the same", "[api]") {
  const Answer null{TCC_USAGE, "expected an address to write the result to, got null"};
  const std::vector<uint8_t>& file = AddArtefact();
  ModulePtr module = Load(file);
  Add add;
  uint32_t rank = 0;
  CHECK(Ask([&](tcc_error** error) { return tcc_module_load("m.tcc", nullptr, nullptr, error); }) ==
        null);
  int released = 0;
  CHECK(Ask([&](tcc_error** error) {
          return tcc_module_load_bytes(
              file.data(), file.size(), [](void* owner) { ++*static_cast<int*>(owner); }, &released,
              nullptr, nullptr, error);
        }) == null);
  CHECK(released == 2);  // of two calls
  CHECK(Ask([&](tcc_error** error) { return tcc_executor_new(module.get(), nullptr, error); }) ==
        null);
  std::array<int64_t, 2> shape{};
  CHECK(Ask([&](tcc_error** error) {
          return tcc_module_output_shape(module.get(), add.inputs.data(), 2, 0, shape.data(), 2,
                                         nullptr, error);
        }) == null);
  CHECK(Ask([&](tcc_error** error) {
          return tcc_module_output_shape(module.get(), add.inputs.data(), 2, 0, nullptr, 2, &rank,
                                         error);
        }) == null);
  CHECK(rank == 0);
  CHECK(Ask([&](tcc_error** error) {
          return tcc_module_output_shape(module.get(), add.inputs.data(), 2, 0, nullptr, 0, &rank,
                                         error);
        }) == kGood);
  CHECK(rank == 2);
}

TEST_CASE("bytes that C hands over are released once, after the last use or a failure", "[api]") {
  struct alignas(64) Owner {
    std::array<uint8_t, 1 << 16> bytes{};
    int released = 0;
    static void Release(void* owner) { ++static_cast<Owner*>(owner)->released; }
  };
  const std::vector<uint8_t>& file = AddArtefact();
  auto owner = std::make_unique<Owner>();
  REQUIRE(file.size() < owner->bytes.size());
  tcc_module* module = nullptr;
  auto load = [&](size_t shift, size_t bytes) {
    owner->released = 0;
    std::memcpy(owner->bytes.data() + shift, file.data(), bytes);
    return tcc_module_load_bytes(owner->bytes.data() + shift, bytes, Owner::Release, owner.get(),
                                 nullptr, &module, nullptr);
  };
  SECTION("used in place, as long as an executor lives") {
    REQUIRE(load(0, file.size()) == TCC_OK);
    Add add;
    {
      ExecutorPtr executor = ExecutorOf(module);
      CHECK(add.RunOn(module) == kGood);
      tcc_module_free(module);
      CHECK(owner->released == 0);
      CHECK(add.BindTo(executor.get()) == kGood);
      CHECK(tcc_executor_run(executor.get(), nullptr) == TCC_OK);
      CHECK(add.y == kSums);
    }
    CHECK(owner->released == 1);
  }
  SECTION("copied where they are not aligned") {
    REQUIRE(load(1, file.size()) == TCC_OK);
    CHECK(owner->released == 1);
    owner->bytes.fill(0);
    CHECK(Add().RunOn(module) == kGood);
    tcc_module_free(module);
    CHECK(owner->released == 1);
  }
  SECTION("bytes that are no artefact") {
    CHECK(load(0, file.size() - 1) == TCC_BAD_INPUT);
    CHECK(owner->released == 1);
  }
  SECTION("an owner that is null") {
    static int released = 0;
    std::memcpy(owner->bytes.data(), file.data(), file.size());
    REQUIRE(tcc_module_load_bytes(
                owner->bytes.data(), file.size(), [](void*) { ++released; }, nullptr, nullptr,
                &module, nullptr) == TCC_OK);
    CHECK(released == 0);
    tcc_module_free(module);
    CHECK(released == 1);
  }
  SECTION("no bytes at all") {
    CHECK(tcc_module_load_bytes(nullptr, 0, Owner::Release, owner.get(), nullptr, &module,
                                nullptr) == TCC_BAD_INPUT);
    CHECK(owner->released == 1);
  }
}

}  // namespace
