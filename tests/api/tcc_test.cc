#include "api/tcc.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <thread>

#include "runtime/executor/usable_cpus.h"
#include "tests/api/run_module.h"
#include "tests/compiler/onnx_models.h"
#include "tests/runtime/address_sanitizer.h"
#include "tests/runtime/child_process.h"

// The embedding API as a program outside sees it: no header of the compiler in here.
namespace {

struct alignas(tcc::kAlignment) Six {
  std::array<float, 6> values{};
};

TEST_CASE("a module says what its inputs and outputs are", "[api]") {
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel())));
  REQUIRE(module.inputs().size() == 2);
  const tcc::TensorInfo& x = module.inputs()[0];
  CHECK(x.name == "x");
  CHECK(x.dtype == tcc::DType::kFloat32);
  CHECK(x.layout == tcc::Layout::kRowMajor);
  CHECK(x.shape == std::vector<int64_t>{2, 3});
  CHECK(x.bytes == 24);
  CHECK(tcc::ToString(x.dtype) == "f32");
  CHECK(module.outputs()[0].name == "y");
  CHECK(module.name() == "add");
  CHECK(module.target() == "native");
  REQUIRE(module.kernels().size() == 1);
  CHECK(module.kernels()[0].nodes == std::vector<std::string>{"y"});
  CHECK(module.properties()[0].second == tcc::Version());
}

TEST_CASE("a run reads and writes the caller's aligned buffers in place", "[api]") {
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel())));
  Six x{{1, 2, 3, 4, 5, 6}}, b{{10, 20, 30, 40, 50, 60}}, y;
  tcc::Copies copies{.tensors = 9, .bytes = 9};
  // By name, in another order.
  REQUIRE(
      module
          .Run({tcc::In("b", b.values), tcc::In("x", x.values)}, {tcc::Out("y", y.values)}, &copies)
          .ok());
  CHECK(y.values == std::array<float, 6>{11, 22, 33, 44, 55, 66});
  CHECK(copies.tensors == 0);
  CHECK(copies.bytes == 0);
}

TEST_CASE("a run uses arrays of floats where they lie, at any multiple of four bytes", "[api]") {
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel())));
  alignas(tcc::kAlignment) std::array<float, 7> x{0, 1, 2, 3, 4, 5, 6}, y{};
  Six b{{1, 1, 1, 1, 1, 1}};
  std::span shifted_x(x.data() + 1, 6), shifted_y(y.data() + 1, 6);
  tcc::Copies copies;
  // Without names tensors are taken by their places.
  REQUIRE(
      module
          .Run({tcc::In("", shifted_x), tcc::In("", b.values)}, {tcc::Out("", shifted_y)}, &copies)
          .ok());
  CHECK(y == std::array<float, 7>{0, 2, 3, 4, 5, 6, 7});
  CHECK(copies.tensors == 0);
  CHECK(copies.bytes == 0);
}

TEST_CASE("a run copies each buffer that is not aligned, and counts it", "[api]") {
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel())));
  constexpr std::array<float, 6> kOnes{1, 1, 1, 1, 1, 1}, kTwos{2, 2, 2, 2, 2, 2};
  constexpr size_t kBytes = sizeof(kOnes);
  alignas(tcc::kAlignment) std::array<char, kBytes + 1> x{}, y{};
  std::memcpy(x.data() + 1, kOnes.data(), kBytes);
  Six b{kOnes};
  tcc::Copies copies;
  REQUIRE(module
              .Run({{"x", tcc::DType::kFloat32, x.data() + 1, kBytes}, tcc::In("b", b.values)},
                   {{"y", tcc::DType::kFloat32, y.data() + 1, kBytes}}, &copies)
              .ok());
  CHECK(std::memcmp(y.data() + 1, kTwos.data(), kBytes) == 0);
  CHECK(copies.tensors == 2);
  CHECK(copies.bytes == 2 * kBytes);
}

TEST_CASE("what does not fit the model is refused by name", "[api]") {
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel())));
  Six x, b, y;
  auto message = [&](std::initializer_list<tcc::Input> inputs,
                     std::initializer_list<tcc::Output> outputs) {
    tcc::Status status = module.Run(inputs, outputs);
    CHECK(status.code() == tcc::Code::kBadInput);
    return status.message();
  };
  tcc::Input good_x = tcc::In("x", x.values), good_b = tcc::In("b", b.values);
  tcc::Output good_y = tcc::Out("y", y.values);
  using Catch::Matchers::Contains;
  CHECK_THAT(message({good_x}, {good_y}), Contains("input 'b' is missing"));
  CHECK_THAT(message({good_x, good_b}, {}), Contains("output 'y' is missing"));
  CHECK_THAT(message({good_x, good_x}, {good_y}), Contains("'x' is given twice"));
  CHECK_THAT(message({good_x, tcc::In("c", b.values)}, {good_y}), Contains("no input 'c'"));
  std::array<double, 6> wrong_type{};
  CHECK_THAT(message({good_x, tcc::In("b", wrong_type)}, {good_y}), Contains("expected f32[2x3]"));
  std::array<float, 5> too_short{};
  CHECK_THAT(message({good_x, tcc::In("b", too_short)}, {good_y}), Contains("24 bytes, got 20"));
  CHECK_THAT(message({good_x, good_b}, {tcc::Out("y", too_short)}), Contains("got 20"));
  std::array<int64_t, 2> shape{3, 2};
  CHECK_THAT(message({good_x, tcc::In("b", b.values, shape)}, {good_y}), Contains("f32[3x2]"));
  tcc::Input nothing{"b", tcc::DType::kFloat32, nullptr, 24};
  CHECK_THAT(message({good_x, nothing}, {good_y}), Contains("no memory"));
}

TEST_CASE("an element type that is none is refused by name", "[api]") {
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel())));
  Six x, b, y;
  const auto none = static_cast<tcc::DType>(200), next = static_cast<tcc::DType>(20);
  CHECK(tcc::ToString(none).empty());
  CHECK(tcc::ToString(static_cast<tcc::DType>(16)) == "u4");
  auto refused = [](const tcc::Status& status, const std::string& what) {
    INFO(status.message());
    CHECK(status.code() == tcc::Code::kBadInput);
    CHECK_THAT(status.message(), Catch::Matchers::Contains(what));
  };
  tcc::Input good_x = tcc::In("x", x.values), bad_b{"b", none, b.values.data(), 24};
  tcc::Output good_y = tcc::Out("y", y.values);
  refused(module.Run({good_x, bad_b}, {good_y}), "input 'b' has DType 200; expected 0 to 19");
  bad_b.dtype = next;
  refused(module.Run({good_x, bad_b}, {good_y}), "input 'b' has DType 20");
  refused(module.OutputShapes(std::array{good_x, bad_b}).status(), "input 'b' has DType 20");
  refused(module.Run({good_x, tcc::In("b", b.values)}, {{"y", none, y.values.data(), 24}}),
          "output 'y' has DType 200");

  tcc::Executor executor(module);
  std::vector<tcc::DeviceTensor> inputs = {{"x", none, x.values.data(), 24},
                                           {"b", tcc::DType::kFloat32, b.values.data(), 24}};
  std::vector<tcc::DeviceTensor> outputs = {{"y", none, y.values.data(), 24}};
  refused(executor.Enqueue(inputs, outputs, nullptr), "input 'x' has DType 200");
  refused(module.OutputShapes(inputs).status(), "input 'x' has DType 200");
  inputs[0].dtype = tcc::DType::kFloat32;
  refused(executor.Enqueue(inputs, outputs, nullptr), "output 'y' has DType 200");

  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, module.inputs()[1].shape}) {
    tcc::CompileOptions options;
    options.binds = {{"b", none, b.values.data(), 24, shape}};
    refused(tcc::Compile(AddModel(), options).status(), "bound input 'b' has DType 200");
  }
}

TEST_CASE("an artefact runs the same directly, from a file and from memory", "[api]") {
  tcc::Artefact artefact = Compiled(SmallNetwork("dqn"));
  std::vector<float> expected = RunOnce(Loaded(tcc::Module::Load(artefact)));
  std::string path = (std::filesystem::temp_directory_path() / "tcc_test_artefact.tcc").string();
  REQUIRE(artefact.Save(path).ok());
  CHECK(RunOnce(Loaded(tcc::Module::Load(path))) == expected);
  std::filesystem::remove(path);
  auto bytes = std::make_shared<std::vector<uint8_t>>(artefact.Bytes());
  CHECK(RunOnce(Loaded(tcc::Module::Load(*bytes, bytes))) == expected);
  tcc::Module copied = Loaded(tcc::Module::Load(*bytes, nullptr));
  bytes->assign(bytes->size(), 0);
  CHECK(RunOnce(copied) == expected);
}

TEST_CASE("native code answers as the reference does", "[api]") {
  std::vector<uint8_t> model = SmallNetwork("resnet18");
  std::vector<float> got = RunOnce(Loaded(tcc::Module::Load(Compiled(model))));
  std::vector<float> expected =
      RunOnce(Loaded(tcc::Module::Load(Compiled(model, {.target = "reference"}))));
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(1e-4));
}

TEST_CASE("eight threads run one module at once", "[api]") {
  tcc::Module module =
      Loaded(tcc::Module::Load(Compiled(SmallNetwork("mobilenet_v2")), {.threads = 2, .pool = {}}));
  std::vector<float> expected = RunOnce(module);
  std::array<int, 8> equal{};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Feed feed(module);
      tcc::Executor own(module);
      for (int run = 0; run < 10; ++run) {
        // Half of them by executors of their own.
        std::memset(feed.outputs[0].data, 0, feed.outputs[0].bytes);
        tcc::Status status =
            t % 2 == 0 ? module.Run(feed.inputs, feed.outputs) : own.Run(feed.inputs, feed.outputs);
        equal[t] += status.ok() && feed.FirstOutput() == expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : equal) CHECK(count == 10);
}

TEST_CASE("several threads compile at once and give the same artefact", "[api]") {
  std::vector<uint8_t> model = SmallNetwork("dqn");
  std::vector<uint8_t> expected = Compiled(model).Bytes();
  std::array<bool, 4> equal{};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      tcc::CompileOptions options{.threads = 1 + t % 2};
      tcc::Result<tcc::Artefact> artefact = tcc::Compile(std::span(model), options);
      equal[t] = artefact.ok() && artefact->Bytes() == expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (bool same : equal) CHECK(same);
}

TEST_CASE("one to eight threads give the same answer whatever the number of CPUs", "[api]") {
  std::vector<uint8_t> model = SmallNetwork("dqn");
  std::vector<float> expected;
  for (int threads = 1; threads <= 8; ++threads) {
    INFO(threads);
    tcc::CompileOptions compile;
    compile.threads = threads;
    tcc::LoadOptions load;
    load.threads = threads;
    tcc::Module module = Loaded(tcc::Module::Load(Compiled(model, compile), load));
    CHECK(module.threads() == threads);
    std::vector<float> got = RunOnce(module);
    if (threads == 1) expected = got;
    CHECK(got == expected);
    load.pool = tcc::ThreadPool(threads);
    CHECK(RunOnce(Loaded(tcc::Module::Load(Compiled(model, compile), load))) == expected);
  }
}

TEST_CASE("a forked child runs its parent's modules on threads of its own", "[api][fork]") {
  tcc::LoadOptions options;
  options.threads = 2;
  // Large enough for more than one thread.
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel(1 << 16)), options));
  const std::vector<float> expected = RunOnce(module);
  const std::vector<int> cpus = tcc::AllowedCpus();
  auto run_in_child = [&] {
    return tcc::InChild([&] {
      for (int run = 0; run < 3; ++run) {
        Feed feed(module);
        if (!module.Run(feed.inputs, feed.outputs).ok()) return "a run failed";
        if (feed.FirstOutput() != expected) return "wrong results";
      }
      auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
      if (threads < 2) return "the child has no other thread";
      if (module.threads() != 2) return "another number of threads";
      return tcc::AllowedCpus() == cpus ? "" : "the child is pinned";
    });
  };
  for (int round = 0; round < 10; ++round) {
    CHECK(run_in_child() == "");
    CHECK(RunOnce(module) == expected);
  }
  // Out of the middle of another thread's run.
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    Feed feed(module);
    while (!stop) (void)module.Run(feed.inputs, feed.outputs);
  });
  for (int round = 0; round < 20; ++round) CHECK(run_in_child() == "");
  stop = true;
  busy.join();
}

// The limits of a sanitizer's address space are its own.
#ifndef TCC_ADDRESS_SANITIZER
TEST_CASE("short memory is an error and not the end of the program", "[api]") {
  constexpr int64_t kRows = 8 << 20;
  constexpr size_t kBytes = kRows * 3 * sizeof(float);
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel(kRows))));
  std::shared_ptr<void> x = tcc::AllocateAligned(kBytes + 4), y = tcc::AllocateAligned(kBytes);
  char* shifted = static_cast<char*>(x.get()) + 1;  // a copy is made
  const std::vector<uint8_t> model = AddModel(kRows);
  const std::vector<tcc::Input> inputs = {{"x", tcc::DType::kFloat32, shifted, kBytes},
                                          {"b", tcc::DType::kFloat32, x.get(), kBytes}};
  const std::vector<tcc::Output> outputs = {{"y", tcc::DType::kFloat32, y.get(), kBytes}};
  std::string problem = tcc::InChild([&]() -> std::string {
    if (!tcc::LimitMemoryTo(tcc::MemoryInUse() + (int64_t{32} << 20))) return "no limit";
    tcc::Status status = module.Run(inputs, outputs);
    if (status.code() != tcc::Code::kNoMemory) return "run: " + status.message();
    if (status.message().find("input 'x'") == std::string::npos) return status.message();
    std::span<const uint8_t> file(static_cast<const uint8_t*>(x.get()), kBytes);
    status = tcc::Module::Load(file, nullptr).status();
    if (status.code() != tcc::Code::kNoMemory) return "load: " + status.message();
    tcc::CompileOptions options;
    options.binds = {{"b", tcc::DType::kFloat32, x.get(), kBytes}};
    status = tcc::Compile(std::span(model), options).status();
    if (status.code() != tcc::Code::kNoMemory) return "compile: " + status.message();
    return tcc::AllocateAligned(kBytes) == nullptr ? "" : "there is memory";
  });
  INFO(problem);
  CHECK(problem.empty());
}
#endif

TEST_CASE("modules share a pool of threads", "[api]") {
  tcc::ThreadPool pool(3);
  tcc::LoadOptions options{.pool = pool};
  tcc::Module one = Loaded(tcc::Module::Load(Compiled(AddModel()), options));
  tcc::Module two = Loaded(tcc::Module::Load(Compiled(SmallNetwork("dqn")), options));
  CHECK(one.threads() == 3);
  CHECK(two.threads() == 3);
  CHECK(RunOnce(two) == RunOnce(Loaded(tcc::Module::Load(Compiled(SmallNetwork("dqn")),
                                                         {.threads = 1, .pool = {}}))));
}

TEST_CASE("progress and log tell every stage", "[api]") {
  std::vector<std::string> stages, lines;
  tcc::CompileOptions options;
  options.threads = 2;
  options.progress = [&](const tcc::Progress& progress) {
    CHECK(progress.done <= progress.total);
    if (stages.empty() || stages.back() != progress.stage) stages.emplace_back(progress.stage);
  };
  options.logger = [&](tcc::LogLevel, std::string_view line) { lines.emplace_back(line); };
  (void)Compiled(SmallNetwork("dqn"), options);
  CHECK(stages == std::vector<std::string>{"import", "graph", "schedule", "code", "plan"});
  REQUIRE(lines.size() == 6);
  CHECK_THAT(lines.back(), Catch::Matchers::Contains("kernels"));
}

TEST_CASE("a stop request ends compiling at every stage", "[api]") {
  std::vector<uint8_t> model = SmallNetwork("resnet18");
  for (const char* stage : {"import", "graph", "schedule", "code", "plan"}) {
    INFO(stage);
    std::stop_source source;
    std::atomic<int> later_stages = 0;  // reports of them after the request
    tcc::CompileOptions options;
    options.threads = 2;
    options.cancellation = source.get_token();
    options.progress = [&](const tcc::Progress& progress) {
      if (progress.stage == stage) {
        source.request_stop();
      } else if (source.stop_requested()) {
        ++later_stages;
      }
    };
    tcc::Result<tcc::Artefact> artefact = tcc::Compile(std::span(model), options);
    REQUIRE_FALSE(artefact.ok());
    CHECK(artefact.status().code() == tcc::Code::kCancelled);
    CHECK(later_stages == 0);
  }
}

TEST_CASE("options that do not fit and models that are none are refused", "[api]") {
  std::vector<uint8_t> model = AddModel();
  auto code = [&](const tcc::CompileOptions& options) {
    return tcc::Compile(std::span(model), options).status().code();
  };
  CHECK(code({.target = "vax"}) == tcc::Code::kUsage);
  CHECK(code({.shapes = {{"z", {1}}}}) == tcc::Code::kUsage);
  CHECK(code({.numeric = "sloppy"}) == tcc::Code::kUsage);
  CHECK(tcc::Compile("/nowhere/model.onnx").status().code() == tcc::Code::kBadInput);
  model.resize(model.size() / 2);
  CHECK(code({}) == tcc::Code::kBadInput);
  CHECK(tcc::Module::Load("/nowhere/model.tcc").status().code() == tcc::Code::kBadInput);
  CHECK(tcc::Module::Load(model, nullptr).status().code() == tcc::Code::kBadInput);
}

TEST_CASE("kernels can be given schedules of the caller's own", "[api]") {
  std::vector<uint8_t> model = SmallNetwork("dqn");
  // Notes tell whether a schedule was given.
  tcc::CompileOptions options{.target = "x86-64-v3", .notes = false};
  std::vector<tcc::Kernel> kernels = tcc::Kernels(std::span(model), options).value();
  REQUIRE(kernels.size() > 2);
  for (const tcc::Kernel& kernel : kernels) {
    INFO(kernel.name << "\n" << kernel.schedule);
    CHECK(!kernel.nodes.empty());
    CHECK(!kernel.rules.empty());
    REQUIRE(!kernel.variants.empty());
    CHECK(kernel.variants[0].find("fn " + kernel.name + "(") != std::string::npos);
  }
  std::vector<uint8_t> plain = Compiled(model, options).Bytes();

  // What the default is, said explicitly, makes no difference.
  for (const tcc::Kernel& kernel : kernels) options.schedules[kernel.name] = kernel.schedule;
  CHECK(Compiled(model, options).Bytes() == plain);

  // Others do, and the answer stays.
  std::vector<float> answer =
      RunOnce(Loaded(tcc::Module::Load(Compiled(model, {.target = "reference"}))));
  for (auto& [name, schedule] : options.schedules) schedule = "";  // no step: loops as they stand
  tcc::Artefact unscheduled = Compiled(model, options);
  CHECK(unscheduled.Bytes() != plain);
  CHECK(tcc::Kernels(std::span(model), options).value()[0].rules.empty());
  std::vector<float> got = RunOnce(Loaded(tcc::Module::Load(unscheduled)));
  REQUIRE(got.size() == answer.size());
  for (size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(answer[i]).epsilon(1e-4).margin(1e-5));
}

TEST_CASE("schedules that do not fit are refused by kernel and step", "[api]") {
  std::vector<uint8_t> model = AddModel();
  std::string name = tcc::Kernels(std::span(model)).value()[0].name;
  auto refused = [&](const std::string& kernel, const std::string& text) {
    return tcc::Compile(std::span(model), {.schedules = {{kernel, text}}}).status();
  };
  CHECK(refused("nobody", "").message().find("'nobody'") != std::string::npos);
  CHECK(refused(name, "split").message().find("schedule of '" + name + "'") != std::string::npos);
  tcc::Status status = refused(name, "vectorize " + name + "/nothing");
  CHECK(status.code() == tcc::Code::kBadInput);
  CHECK(status.message().find("step 1") != std::string::npos);
}

TEST_CASE("a numeric mode is asked for by name and said by the artefact", "[api]") {
  std::vector<uint8_t> model = SmallNetwork("dqn");
  for (const char* mode : {"strict", "bf16"}) {
    tcc::CompileOptions options;
    options.numeric = mode;
    tcc::Module module = Loaded(tcc::Module::Load(Compiled(model, options)));
    std::string said;
    for (const auto& [key, value] : module.properties()) {
      if (key == "numeric") said = value;
    }
    CHECK(said == mode);
  }
}

TEST_CASE("a bound input becomes a constant", "[api]") {
  std::array<float, 6> bias{1, 2, 3, 4, 5, 6};
  std::array<int64_t, 2> shape{2, 3};
  tcc::CompileOptions options;
  options.binds = {tcc::In("b", bias, shape)};
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel(), options)));
  REQUIRE(module.inputs().size() == 1);
  Six x{{1, 1, 1, 1, 1, 1}}, y;
  REQUIRE(module.Run({tcc::In("x", x.values)}, {tcc::Out("y", y.values)}).ok());
  CHECK(y.values == std::array<float, 6>{2, 3, 4, 5, 6, 7});
}

TEST_CASE("a bound input without a shape has the declared one", "[api]") {
  std::array<float, 6> bias{1, 2, 3, 4, 5, 6};
  tcc::CompileOptions options;
  options.binds = {tcc::In("b", bias)};
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel(), options)));
  Six x{{1, 1, 1, 1, 1, 1}}, y;
  REQUIRE(module.Run({tcc::In("x", x.values)}, {tcc::Out("y", y.values)}).ok());
  CHECK(y.values == std::array<float, 6>{2, 3, 4, 5, 6, 7});

  // A declared scalar is one.
  std::array<float, 1> seven{7};
  options.binds = {tcc::In("s", seven)};
  module = Loaded(tcc::Module::Load(Compiled(ScalarModel(), options)));
  std::array<float, 3> in{1, 2, 3}, out{};
  REQUIRE(module.Run({tcc::In("x", in)}, {tcc::Out("y", out)}).ok());
  CHECK(out == std::array<float, 3>{8, 9, 10});

  // What the model leaves open is as the other options say.
  options.binds = {tcc::In("b", bias)};
  options.dims = {{"N", 2}, {"M", 2}};
  module = Loaded(tcc::Module::Load(Compiled(FreeAddModel(), options)));
  REQUIRE(module.Run({tcc::In("x", x.values)}, {tcc::Out("y", y.values)}).ok());
  CHECK(y.values == std::array<float, 6>{2, 3, 4, 5, 6, 7});
  options.dims = {{"N", 2}};
  options.shapes = {{"b", {2, 3}}};
  module = Loaded(tcc::Module::Load(Compiled(FreeAddModel(), options)));
  CHECK(module.inputs().size() == 1);
}

TEST_CASE("a bound input that does not fit the declared shape is refused by name", "[api]") {
  std::array<float, 6> bias{};
  tcc::CompileOptions options;
  options.binds = {tcc::In("b", bias)};
  using Catch::Matchers::Contains;
  auto refused = [&](const std::vector<uint8_t>& model, tcc::Code code, const std::string& what) {
    tcc::Status status = tcc::Compile(std::span(model), options).status();
    CHECK(status.code() == code);
    CHECK_THAT(status.message(), Contains(what));
  };
  refused(FreeAddModel(), tcc::Code::kUsage,
          "bound input 'b' has free dimensions; expected them, or its shape, to be given "
          "(CompileOptions::dims, CompileOptions::shapes)");
  refused(AddModel(3), tcc::Code::kBadInput, "'b': f32[3x3] takes 36 bytes, got 24");
  std::array<double, 6> doubles{};
  options.binds = {tcc::In("b", doubles)};
  refused(AddModel(), tcc::Code::kUsage, "input 'b' is f32; f64");
  options.binds = {{"b", tcc::DType::kFloat32, nullptr, 24}};
  refused(AddModel(), tcc::Code::kBadInput, "bound input 'b' has no memory");
}

TEST_CASE("messages name fields of the API and no option of the command line", "[api]") {
  auto message = [](const std::vector<uint8_t>& model, const tcc::CompileOptions& options) {
    std::string text = tcc::Compile(std::span(model), options).status().message();
    CHECK_THAT(text, !Catch::Matchers::Contains("--"));
    return text;
  };
  CHECK(message(AddModel(), {.dims = {{"K", 1}}}) ==
        "no dimension is named 'K'; all of them are fixed (CompileOptions::dims)");
  CHECK(message(FreeAddModel(), {.dims = {{"N", -1}}}) ==
        "dimension 'N' is -1; expected 0 or more (CompileOptions::dims)");
  CHECK(message(FreeAddModel(), {.ranges = {{"N", {.low = 5, .high = 3}}}}) ==
        "dimension 'N' has the range 5..3; expected LEAST..GREATEST within 0..16777216 "
        "(CompileOptions::ranges)");
  CHECK(message(FreeAddModel(), {.ranges = {{"K", {}}}}) ==
        "no dimension is named 'K'; there are M, N (CompileOptions::ranges)");
  CHECK(message(AddModel(), {.shapes = {{"z", {1}}}}) ==
        "no input is named 'z'; there are x, b (CompileOptions::shapes)");
  std::array<float, 1> value{};
  CHECK(message(AddModel(), {.binds = {tcc::In("z", value)}}) ==
        "no input is named 'z'; there are x, b (CompileOptions::binds)");
  CHECK_THAT(message(AddModel(), {.target = "vax"}), Catch::Matchers::Contains("'vax'"));
  CHECK_THAT(message(AddModel(), {.numeric = "x"}), Catch::Matchers::Contains("'x'"));
}

TEST_CASE("a free dimension is decided by the shape of an input", "[api]") {
  tcc::Module module = Loaded(tcc::Module::Load(CopyArtefact(), nullptr));
  const tcc::TensorInfo& info = module.inputs()[0];
  CHECK(info.shape == std::vector<int64_t>{-1, 3});
  CHECK(info.dim_names == std::vector<std::string>{"N", ""});
  CHECK(info.bytes == 0);
  Six x{{1, 2, 3, 4, 5, 6}}, y;
  std::array<int64_t, 2> two{2, 3}, nine{9, 3};
  REQUIRE(module.Run({tcc::In("x", x.values, two)}, {tcc::Out("y", y.values)}).ok());
  CHECK(y.values == x.values);
  auto shapes = module.OutputShapes(std::array{tcc::In("x", x.values, two)});
  CHECK(shapes->at(0) == std::vector<int64_t>{2, 3});
  using Catch::Matchers::Contains;
  tcc::Status status = module.Run({tcc::In("x", x.values)}, {tcc::Out("y", y.values)});
  CHECK_THAT(status.message(), Contains("'x' is f32[Nx3]: its shape must be given"));
  status = module.Run({tcc::In("x", x.values, nine)}, {tcc::Out("y", y.values)});
  CHECK_THAT(status.message(), Contains("dimension N is 9; expected 1 to 8"));
}

TEST_CASE("output shapes follow from the inputs' without their data", "[api]") {
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel())));
  tcc::Input x{"x", tcc::DType::kFloat32, nullptr, 24}, b{"b", tcc::DType::kFloat32, nullptr, 24};
  auto shapes = module.OutputShapes(std::array{x, b});
  REQUIRE(shapes.ok());
  CHECK(*shapes == std::vector<std::vector<int64_t>>{{2, 3}});
  CHECK_FALSE(module.OutputShapes(std::array{x}).ok());
}

TEST_CASE("work is not enqueued on a CPU, which has no device", "[api]") {
  tcc::LoadOptions options;
  options.device = 7;
  tcc::Module module = Loaded(tcc::Module::Load(Compiled(AddModel()), options));
  CHECK_FALSE(module.device());
  Six x, b, y;
  std::vector<tcc::DeviceTensor> inputs = {{"x", tcc::DType::kFloat32, x.values.data(), 24},
                                           {"b", tcc::DType::kFloat32, b.values.data(), 24}};
  std::vector<tcc::DeviceTensor> outputs = {{"y", tcc::DType::kFloat32, y.values.data(), 24}};
  tcc::Executor executor(module);
  tcc::Status status = executor.Enqueue(inputs, outputs, nullptr);
  CHECK(status.code() == tcc::Code::kUsage);
  CHECK(status.message() ==
        "the module is for 'native', whose kernels run on host memory; expected a GPU");
  CHECK(module.OutputShapes(inputs).value() == std::vector<std::vector<int64_t>>{{2, 3}});
}

}  // namespace
