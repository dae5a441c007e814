#include "compiler/session.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "compiler/devices/reference_device.h"
#include "support/random.h"
#include "support/temporary_folder.h"
#include "tests/models/onnx_bytes.h"
#include "tests/runtime/child_process.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

Tensor Normals(const std::vector<int64_t>& shape, uint64_t seed) {
  Tensor tensor = MakeZeroTensor(kFloat32, shape);
  Random random(seed);
  for (int64_t i = 0; i < *ElementCount(shape); ++i) SetElement(tensor, i, random.Normal());
  return tensor;
}

Tensor Ints64(const std::vector<int64_t>& values) {
  return MakeTensor(kInt64, {std::ssize(values)}, AsSpan(RawBytes(values)));
}

// y = softmax(x * w) for x of f32[NxMx4].
ModelSpec TwoFreeDims() {
  std::vector<float> weights;
  for (int i = 0; i < 20; ++i) weights.push_back(static_cast<float>(i * 7 % 11) / 4 - 1);
  return {.nodes = {{.op = "MatMul", .inputs = {"x", "w"}, .outputs = {"p"}},
                    {.op = "Softmax", .inputs = {"p"}, .outputs = {"y"}}},
          .inputs = {InputOf("x", kOnnxFloat, {"N", "M", "4"})},
          .outputs = {"y"},
          .initializers = {Floats("w", {4, 5}, weights)}};
}

// y = x + b for x of f32[Nx3] and b of f32[Nx3].
ModelSpec SharedDim() {
  return {.nodes = {{.op = "Add", .inputs = {"x", "b"}, .outputs = {"y"}}},
          .inputs = {InputOf("x", kOnnxFloat, {"N", "3"}), InputOf("b", kOnnxFloat, {"N", "3"})},
          .outputs = {"y"}};
}

// y = reshape(x, s) for x of f32[N].
ModelSpec ShapeByValue() {
  return {.nodes = {{.op = "Reshape", .inputs = {"x", "s"}, .outputs = {"y"}}},
          .inputs = {InputOf("x", kOnnxFloat, {"N"}), InputOf("s", kOnnxInt64, {"R"})},
          .outputs = {"y"}};
}

// A model in a folder of its own, the sessions on it, and how often they have compiled.
struct Rig {
  explicit Rig(const ModelSpec& spec, SessionSizes made_for = SessionSizes::kEach)
      : sizes(made_for) {
    Write(spec);
  }

  void Write(const ModelSpec& spec) const {
    std::ofstream(path, std::ios::binary) << ModelOf(spec);
  }

  SessionOptions Options() {
    SessionOptions options;
    options.compile = CompileOptions{
        .target = *FindTarget("reference"), .threads = 1, .verify = false, .progress = {}};
    options.load.threads = 1;
    options.load.devices = AllDevices();
    options.cache = ArtefactCache(cache);
    options.sizes = sizes;
    options.compile_graph = [this](Graph graph, const CompileOptions& compile) {
      ++compiled;
      return CompileGraph(std::move(graph), compile);
    };
    return options;
  }

  std::unique_ptr<Session> Open(SessionOptions options) const {
    StatusOr<std::unique_ptr<Session>> session = Session::Open(path, std::move(options));
    INFO(session.status());
    REQUIRE(session.ok());
    return *std::move(session);
  }
  std::unique_ptr<Session> Open() { return Open(Options()); }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& file : fs::directory_iterator(cache + "/session")) files.push_back(file);
    return files;
  }

  SessionSizes sizes;
  TemporaryFolder folder = *TemporaryFolder::Make("a test");
  std::string path = folder / "m.onnx";
  std::string cache = folder / "cache";
  int compiled = 0;
};

std::vector<Tensor> Ran(Session& session, const std::vector<Tensor>& inputs) {
  StatusOr<std::vector<Tensor>> outputs = session.Run(inputs);
  INFO(outputs.status());
  REQUIRE(outputs.ok());
  return *outputs;
}

std::string RunError(Session& session, const std::vector<Tensor>& inputs) {
  Status status = session.Run(inputs).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  return Message(status);
}

bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}

}  // namespace

TEST_CASE("a session gives the bits of artefacts compiled for each size", "[compiler]") {
  for (const char* target : {"native", "reference"}) {
    INFO(target);
    Rig rig(TwoFreeDims());
    SessionOptions options = rig.Options();
    options.compile.target = *FindTarget(target);
    std::unique_ptr<Session> session = rig.Open(options);
    for (auto [n, m] : {std::pair<int64_t, int64_t>{1, 3}, {2, 17}, {5, 1}}) {
      INFO(n << " " << m);
      Tensor x = Normals({n, m, 4}, 1);
      Graph graph = *ImportOnnx(rig.path, {.dims = {{"N", n}, {"M", m}}});
      Module module =
          *Module::FromArtefact(*CompileGraph(std::move(graph), options.compile), options.load);
      std::vector<Tensor> expected = *Executor(module).Run(std::vector{x});
      std::vector<Tensor> got = Ran(*session, {x});
      REQUIRE(got.size() == 1);
      CHECK(got[0].shape == std::vector<int64_t>{n, m, 5});
      CHECK(SameBytes(got[0], expected[0]));
    }
    CHECK(rig.compiled == 3);
  }
}

TEST_CASE("a session compiles once for each size, and the least recent module goes", "[compiler]") {
  Rig rig(SharedDim());
  rig.cache = "";
  std::unique_ptr<Session> session = rig.Open();
  auto run = [&](int64_t n) {
    Tensor x = Normals({n, 3}, 1), b = Normals({n, 3}, 2);
    std::vector<Tensor> y = Ran(*session, {x, b});
    for (int64_t i = 0; i < 3 * n; ++i) {
      CHECK(ElementAsDouble(y[0], i) ==
            static_cast<float>(ElementAsDouble(x, i) + ElementAsDouble(b, i)));
    }
    return rig.compiled;
  };
  CHECK(run(1) == 1);
  CHECK(run(1) == 1);
  for (int64_t n = 2; n <= 8; ++n) CHECK(run(n) == n);
  CHECK(run(1) == 8);
  CHECK(run(9) == 9);
  CHECK(run(1) == 9);  // used more recently than 2
  CHECK(run(2) == 10);
}

TEST_CASE("sessions of one process and of another share files", "[compiler]") {
  Rig rig(SharedDim());
  std::vector<Tensor> inputs = {Normals({2, 3}, 1), Normals({2, 3}, 2)};
  std::string child = InChild([&] {
    Ran(*rig.Open(), inputs);
    return std::to_string(rig.compiled);
  });
  CHECK(child == "1");
  std::unique_ptr<Session> session = rig.Open();
  std::vector<Tensor> y = Ran(*session, inputs);
  CHECK(rig.compiled == 0);
  CHECK(SameBytes(y[0], Ran(*rig.Open(), inputs)[0]));
  CHECK(rig.compiled == 0);
  Ran(*session, {Normals({4, 3}, 1), Normals({4, 3}, 2)});
  CHECK(rig.compiled == 1);
  CHECK(rig.Files().size() == 2);
}

TEST_CASE("threads that ask for one size wait for one compilation", "[compiler]") {
  Rig rig(SharedDim());
  std::unique_ptr<Session> session = rig.Open();
  std::vector<Tensor> inputs = {Normals({2, 3}, 1), Normals({2, 3}, 2)};
  std::vector<StatusOr<std::vector<Tensor>>> results(4, absl::UnknownError("did not run"));
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = session->Run(inputs); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) {
    REQUIRE(result.ok());
    CHECK(SameBytes((*result)[0], (*results[0])[0]));
  }
  CHECK(rig.compiled == 1);
}

TEST_CASE("a damaged or foreign file of the cache is compiled again", "[compiler]") {
  Rig rig(SharedDim());
  std::vector<Tensor> inputs = {Normals({2, 3}, 1), Normals({2, 3}, 2)};
  Tensor expected = Ran(*rig.Open(), inputs)[0];
  REQUIRE(rig.Files().size() == 1);
  const std::string file = rig.Files()[0];
  std::string whole;
  {
    std::ifstream stream(file, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(stream), {});
  }
  // An artefact for another size.
  Ran(*rig.Open(), {Normals({5, 3}, 1), Normals({5, 3}, 2)});
  std::vector<fs::path> files = rig.Files();
  REQUIRE(files.size() == 2);
  std::string foreign;
  {
    std::ifstream stream(files[files[0] == file ? 1 : 0], std::ios::binary);
    foreign.assign(std::istreambuf_iterator<char>(stream), {});
  }
  std::string flipped = whole, cut = whole.substr(0, whole.size() / 2);
  flipped[flipped.size() / 2] ^= 1;
  for (const std::string& content : {flipped, cut, std::string("no artefact"), foreign}) {
    std::ofstream(file, std::ios::binary) << content;
    rig.compiled = 0;
    CHECK(SameBytes(Ran(*rig.Open(), inputs)[0], expected));
    CHECK(rig.compiled == 1);
    CHECK(SameBytes(Ran(*rig.Open(), inputs)[0], expected));
    CHECK(rig.compiled == 1);
  }
}

TEST_CASE("options and the model's content are part of what a file is found by", "[compiler]") {
  Rig rig(TwoFreeDims());
  std::vector<Tensor> inputs = {Normals({1, 2, 4}, 1)};
  Tensor first = Ran(*rig.Open(), inputs)[0];
  CHECK(rig.compiled == 1);
  SessionOptions without = rig.Options();
  without.compile.notes = false;
  Ran(*rig.Open(without), inputs);
  CHECK(rig.compiled == 2);
  SessionOptions target = rig.Options();
  target.compile.target = *FindTarget("native");
  Ran(*rig.Open(target), inputs);
  CHECK(rig.compiled == 3);

  std::unique_ptr<Session> open = rig.Open();
  ModelSpec other = TwoFreeDims();
  other.initializers = {Floats("w", {4, 5}, std::vector<float>(20, 1))};
  rig.Write(other);
  Ran(*open, inputs);  // what is there already
  CHECK_THAT(RunError(*open, {Normals({3, 2, 4}, 1)}), Contains("have changed since"));
  Tensor changed = Ran(*rig.Open(), inputs)[0];
  CHECK(rig.compiled == 4);
  CHECK_FALSE(SameBytes(first, changed));
}

TEST_CASE("values that decide shapes are part of what is compiled for", "[compiler]") {
  Rig rig(ShapeByValue());
  std::unique_ptr<Session> session = rig.Open();
  Tensor x = Normals({6}, 1);
  CHECK(Ran(*session, {x, Ints64({2, 3})})[0].shape == std::vector<int64_t>{2, 3});
  CHECK(Ran(*session, {x, Ints64({-1, 2})})[0].shape == std::vector<int64_t>{3, 2});
  CHECK(Ran(*session, {x, Ints64({6, 1, 1})})[0].shape == std::vector<int64_t>{6, 1, 1});
  CHECK(rig.compiled == 3);
  Tensor y = Ran(*session, {Normals({6}, 2), Ints64({2, 3})})[0];
  CHECK(std::ranges::equal(y.bytes, Normals({6}, 2).bytes));
  CHECK(rig.compiled == 3);
  Status status = session->Run(std::vector{x, Ints64({4, 2})}).status();
  CHECK_THAT(Message(status), Contains("with N=6, R=2, values of s: "));
  // One element too many to be bound.
  status = session->Run(std::vector{x, Ints64(std::vector<int64_t>(513, 1))}).status();
  CHECK(status.code() == absl::StatusCode::kUnimplemented);
  CHECK_THAT(Message(status), Contains("'s' at run time"));
}

TEST_CASE("an input that does not fit is refused by name, before anything is compiled",
          "[compiler]") {
  Rig rig(SharedDim());
  std::unique_ptr<Session> session = rig.Open();
  Tensor x = Normals({2, 3}, 1);
  CHECK_THAT(RunError(*session, {x}), Contains("expected 2 inputs (x, b), got 1"));
  CHECK_THAT(RunError(*session, {x, Ints64({1, 2})}),
             Contains("input 'b': expected f32[Nx3], got i64[2]"));
  CHECK_THAT(RunError(*session, {x, Normals({3}, 1)}), Contains("expected f32[Nx3], got f32[3]"));
  CHECK_THAT(RunError(*session, {x, Normals({2, 4}, 1)}), Contains("got f32[2x4]"));
  CHECK_THAT(RunError(*session, {x, Normals({5, 3}, 1)}),
             Contains("input 'b': dimension N is 5, but another input has 2"));
  CHECK(rig.compiled == 0);
}

TEST_CASE("hostile sizes end in a message or in empty outputs", "[compiler]") {
  Rig rig(SharedDim());
  std::unique_ptr<Session> session = rig.Open();
  auto sized = [](int64_t n) { return Tensor{kFloat32, {n, 3}, nullptr, {}}; };
  for (int64_t n : {int64_t{-1}, int64_t{1} << 31, int64_t{1} << 62}) {
    CHECK_THAT(RunError(*session, {sized(n), sized(n)}),
               Contains(fmt::format("dimension N is {}; expected 0 to 2147483647", n)));
  }
  // Sizes that would do, but not with these bytes.
  CHECK_THAT(RunError(*session, {sized(1 << 30), sized(1 << 30)}), Contains("bytes, got 0"));
  CHECK(rig.compiled == 0);
  std::vector<Tensor> y = Ran(*session, {sized(0), sized(0)});
  CHECK(y[0].shape == std::vector<int64_t>{0, 3});
}

TEST_CASE("an input that nothing reads may have any size", "[compiler]") {
  ModelSpec spec = SharedDim();
  spec.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"y"}}};
  spec.inputs[1] = InputOf("b", kOnnxFloat, {"K", "3"});
  Rig rig(spec);
  std::unique_ptr<Session> session = rig.Open();
  Ran(*session, {Normals({2, 3}, 1), Normals({7, 3}, 1)});
  Status status = session->Run(std::vector{Normals({2, 3}, 1), Normals({7, 4}, 1)}).status();
  CHECK_THAT(Message(status), Contains("dimension 1 of input 'b' is 3"));
}

TEST_CASE("an extent of 0 that an old exporter wrote takes any size", "[compiler]") {
  ModelSpec spec = TwoFreeDims();
  spec.inputs = {InputOf("x", kOnnxFloat, {"0", "2", "4"})};
  Rig rig(spec);
  CHECK(Ran(*rig.Open(), {Normals({3, 2, 4}, 1)})[0].shape == std::vector<int64_t>{3, 2, 5});
}

TEST_CASE("a session stops when it is asked to", "[compiler]") {
  Rig rig(SharedDim());
  std::stop_source stop;
  SessionOptions options = rig.Options();
  options.compile.stop = stop.get_token();
  std::unique_ptr<Session> session = rig.Open(options);
  std::vector<Tensor> inputs = {Normals({2, 3}, 1), Normals({2, 3}, 2)};
  Ran(*session, inputs);
  stop.request_stop();
  Ran(*session, inputs);
  Status status = session->Run(std::vector{Normals({3, 3}, 1), Normals({3, 3}, 2)}).status();
  CHECK(status.code() == absl::StatusCode::kCancelled);
}

TEST_CASE("the least recently used files of a cache go beyond its limit", "[compiler]") {
  Rig rig(SharedDim());
  SessionOptions options = rig.Options();
  Ran(*rig.Open(options), {Normals({1, 3}, 1), Normals({1, 3}, 2)});
  REQUIRE(rig.Files().size() == 1);
  auto bytes = static_cast<int64_t>(fs::file_size(rig.Files()[0]));
  options.cache = ArtefactCache(rig.cache, 2 * bytes + bytes / 2);
  std::unique_ptr<Session> session = rig.Open(options);
  auto run = [&](int64_t n) { Ran(*session, {Normals({n, 3}, 1), Normals({n, 3}, 2)}); };
  fs::last_write_time(rig.Files()[0], fs::file_time_type::clock::now() - std::chrono::hours(2));
  const fs::path first = rig.Files()[0];
  run(2);
  for (const fs::path& file : rig.Files()) {
    if (file != first) {
      fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
    }
  }
  run(1);  // is used, so that the other one is the oldest
  run(3);
  CHECK(rig.Files().size() == 2);
  CHECK(fs::exists(first));
  rig.compiled = 0;
  std::unique_ptr<Session> again = rig.Open(options);
  Ran(*again, {Normals({1, 3}, 1), Normals({1, 3}, 2)});
  CHECK(rig.compiled == 0);
  Ran(*again, {Normals({2, 3}, 1), Normals({2, 3}, 2)});
  CHECK(rig.compiled == 1);
}

TEST_CASE("a session compiles once for all sizes, in another process too", "[compiler]") {
  for (const char* target : {"native", "reference"}) {
    INFO(target);
    Rig rig(TwoFreeDims(), SessionSizes::kAny);
    SessionOptions options = rig.Options();
    options.compile.target = *FindTarget(target);
    std::vector<std::string> notes;
    options.compile.note = [&](const std::string& note) { notes.push_back(note); };
    std::vector<std::string> warnings;
    options.import.warn = [&](const std::string& warning) { warnings.push_back(warning); };
    std::unique_ptr<Session> session = rig.Open(options);
    SessionOptions each = options;
    each.sizes = SessionSizes::kEach;
    each.cache = ArtefactCache("");
    each.compile_graph = CompileGraph;
    std::unique_ptr<Session> expected = rig.Open(each);
    for (auto [n, m] : {std::pair<int64_t, int64_t>{1, 3}, {2, 17}, {5, 1}, {9, 130}}) {
      INFO(n << " " << m);
      Tensor x = Normals({n, m, 4}, 1);
      Tensor got = Ran(*session, {x})[0], want = Ran(*expected, {x})[0];
      REQUIRE(got.shape == want.shape);
      for (int64_t i = 0; i < n * m * 5; ++i) {
        CHECK(ElementAsDouble(got, i) == Approx(ElementAsDouble(want, i)).margin(1e-6));
      }
    }
    CHECK(rig.compiled == 1);
    CHECK(warnings.empty());
    CHECK_THAT(notes.at(0), Contains("any size: compiled in"));
    std::string child = InChild([&] {
      Ran(*rig.Open(options), {Normals({3, 7, 4}, 2)});
      return std::to_string(rig.compiled);
    });
    CHECK(child == "1");
  }
}

TEST_CASE("sizes that the artefact for all refuses get one of their own", "[compiler]") {
  // b may be repeated, which the artefact for all sizes takes for N = M.
  ModelSpec spec = SharedDim();
  spec.inputs[1] = InputOf("b", kOnnxFloat, {"M", "3"});
  Rig rig(spec, SessionSizes::kAny);
  std::unique_ptr<Session> session = rig.Open();
  auto run = [&](int64_t n, int64_t m) {
    Tensor x = Normals({n, 3}, 1), b = Normals({m, 3}, 2);
    Tensor y = Ran(*session, {x, b})[0];
    REQUIRE(y.shape == std::vector<int64_t>{n, 3});
    CHECK(ElementAsDouble(y, 3 * n - 1) ==
          static_cast<float>(ElementAsDouble(x, 3 * n - 1) + ElementAsDouble(b, 3 * m - 1)));
    return rig.compiled;
  };
  CHECK(run(4, 4) == 1);
  CHECK(run(4, 1) == 2);
  CHECK(run(6, 6) == 2);
  CHECK(run(6, 1) == 3);
  CHECK(run(4, 1) == 3);
  // Nothing takes these.
  CHECK_THAT(RunError(*session, {Normals({4, 3}, 1), Normals({3, 3}, 2)}),
             Contains("with N=4, M=3: "));
}

TEST_CASE("a model that needs sizes gets an artefact for each, and is not tried again",
          "[compiler]") {
  Rig rig(SharedDim(), SessionSizes::kAny);
  SessionOptions options = rig.Options();
  std::vector<std::string> notes;
  options.compile.note = [&](const std::string& note) { notes.push_back(note); };
  int tried = 0;
  options.compile_graph = [&](Graph graph, const CompileOptions& compile) -> StatusOr<Artefact> {
    if (!graph.shape_vars.empty()) {
      ++tried;
      return Unsupported("a node needs a number");
    }
    ++rig.compiled;
    return CompileGraph(std::move(graph), compile);
  };
  std::unique_ptr<Session> session = rig.Open(options);
  for (int64_t n : {2, 3, 2}) Ran(*session, {Normals({n, 3}, 1), Normals({n, 3}, 2)});
  CHECK(tried == 1);
  CHECK(rig.compiled == 2);
  CHECK(notes.at(0) == "not compiled with any size: a node needs a number");
  // An artefact that is kept for the sizes costs no attempt.
  Ran(*rig.Open(options), {Normals({3, 3}, 1), Normals({3, 3}, 2)});
  CHECK(tried == 1);
  CHECK(rig.compiled == 2);
}

TEST_CASE("values that decide shapes are compiled for, sizes are not", "[compiler]") {
  Rig rig(ShapeByValue(), SessionSizes::kAny);
  std::unique_ptr<Session> session = rig.Open();
  CHECK(Ran(*session, {Normals({6}, 1), Ints64({-1, 2})})[0].shape == std::vector<int64_t>{3, 2});
  CHECK(Ran(*session, {Normals({8}, 1), Ints64({-1, 2})})[0].shape == std::vector<int64_t>{4, 2});
  CHECK(rig.compiled == 1);
  CHECK(Ran(*session, {Normals({8}, 1), Ints64({2, -1})})[0].shape == std::vector<int64_t>{2, 4});
  CHECK(rig.compiled == 2);
}
