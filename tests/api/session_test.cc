#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "api/tcc.h"
#include "tests/compiler/onnx_models.h"

// Sessions as a program outside sees them: no header of the compiler in here.
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

// A folder with y = x + b for x of f32[Nx3] and b of f32[Mx3]; caches lie in it, too.
struct Rig {
  Rig() {
    std::string name = (fs::temp_directory_path() / "session_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name;
    std::vector<uint8_t> model = FreeAddModel();
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(model.data()), std::ssize(model));
    if (const char* value = std::getenv("TCC_CACHE_DIR")) before = value;
    setenv("TCC_CACHE_DIR", (folder / "cache").c_str(), 1);
  }
  ~Rig() {
    before.empty() ? unsetenv("TCC_CACHE_DIR") : setenv("TCC_CACHE_DIR", before.c_str(), 1);
    fs::remove_all(folder);
  }

  std::string path() const { return folder / "m.onnx"; }
  // A session that counts its compilations.
  tcc::Session Open(tcc::CompileOptions options = {},
                    tcc::SessionSizes sizes = tcc::SessionSizes::kAny) {
    options.target = "reference";
    options.progress = [this](const tcc::Progress& progress) {
      compiled += progress.stage == "plan";
    };
    tcc::LoadOptions load;
    load.threads = 1;
    tcc::Result<tcc::Session> session = tcc::Session::Open(path(), options, load, sizes);
    INFO(session.status().message());
    REQUIRE(session.ok());
    return *session;
  }

  fs::path folder;
  std::string before;
  int compiled = 0;
};

std::vector<float> Rows(int64_t rows, float value) {
  return std::vector<float>(static_cast<size_t>(3 * rows), value);
}

}  // namespace

TEST_CASE("a session runs a model at any shape and hands over the outputs", "[api]") {
  Rig rig;
  tcc::Session session = rig.Open();
  REQUIRE(session.inputs().size() == 2);
  CHECK(session.inputs()[0].name == "x");
  CHECK(session.inputs()[0].shape == std::vector<int64_t>{-1, 3});
  CHECK(session.inputs()[0].dim_names == std::vector<std::string>{"N", ""});
  for (int64_t rows : {2, 5, 2}) {
    std::vector<float> x = Rows(rows, 1.5f), b = Rows(rows, 2);
    std::array<int64_t, 2> shape{rows, 3};
    tcc::Result<std::vector<tcc::OwnedTensor>> outputs =
        session.Run({tcc::In("b", b, shape), tcc::In("x", x, shape)});
    INFO(outputs.status().message());
    REQUIRE(outputs.ok());
    REQUIRE(outputs->size() == 1);
    const tcc::OwnedTensor& y = outputs->front();
    CHECK(y.name == "y");
    CHECK(y.dtype == tcc::DType::kFloat32);
    CHECK(y.shape == std::vector<int64_t>{rows, 3});
    REQUIRE(y.bytes == sizeof(float) * x.size());
    CHECK(reinterpret_cast<uintptr_t>(y.data.get()) % tcc::kAlignment == 0);
    const auto* values = static_cast<const float*>(y.data.get());
    CHECK(std::vector<float>(values, values + x.size()) == Rows(rows, 3.5f));
  }
  CHECK(rig.compiled == 1);
  std::vector<float> x = Rows(5, 1);
  std::array<int64_t, 2> shape{5, 3};
  CHECK(rig.Open().Run({tcc::In("x", x, shape), tcc::In("b", x, shape)}).ok());
  CHECK(rig.compiled == 1);
  tcc::Session each = rig.Open({}, tcc::SessionSizes::kEach);
  for (int64_t rows : {5, 4, 5}) {
    std::vector<float> same = Rows(rows, 1);
    std::array<int64_t, 2> sizes{rows, 3};
    CHECK(each.Run({tcc::In("x", same, sizes), tcc::In("b", same, sizes)}).ok());
  }
  CHECK(rig.compiled == 3);
}

TEST_CASE("a session says which input does not fit, and for which sizes a compilation failed",
          "[api]") {
  Rig rig;
  tcc::Session session = rig.Open();
  std::vector<float> x = Rows(2, 1);
  std::array<int64_t, 2> two{2, 3}, three{3, 3}, none{0, 3}, hostile{-1, 3};
  auto refused = [&](std::initializer_list<tcc::Input> inputs, const std::string& words) {
    tcc::Status status = session.Run(inputs).status();
    CHECK(status.code() == tcc::Code::kBadInput);
    CHECK_THAT(status.message(), Contains(words));
  };
  refused({tcc::In("x", x, two)}, "input 'b' is missing");
  refused({tcc::In("x", x, two), tcc::In("b", x)}, "'b' is f32[Mx3]: its shape must be given");
  refused({tcc::In("x", x, two), tcc::In("b", x, three)}, "f32[3x3] takes 36 bytes, got 24");
  refused({tcc::In("x", x, hostile), tcc::In("b", x, two)}, "dimension N is -1");
  CHECK(rig.compiled == 0);
  std::vector<float> y = Rows(3, 1);
  refused({tcc::In("x", x, two), tcc::In("b", y, three)}, "with N=2, M=3: ");
  tcc::Input empty{"x", tcc::DType::kFloat32, nullptr, 0, none};
  CHECK(session.Run({empty, {"b", tcc::DType::kFloat32, nullptr, 0, none}}).ok());
  CHECK(tcc::Session::Open(rig.path() + ".none").status().code() == tcc::Code::kBadInput);
  CHECK(tcc::Session::Open(rig.path(), {.target = "abacus"}).status().code() == tcc::Code::kUsage);
}

TEST_CASE("a session keeps to the sizes of its options, and ends when it is told to", "[api]") {
  Rig rig;
  std::stop_source stop;
  tcc::Session session =
      rig.Open({.dims = {{"N", 2}}, .cancellation = stop.get_token()}, tcc::SessionSizes::kEach);
  CHECK(session.inputs()[0].shape == std::vector<int64_t>{2, 3});
  std::vector<float> x = Rows(2, 1), b = Rows(1, 1);
  std::array<int64_t, 2> one{1, 3}, two{2, 3};
  CHECK(session.Run({tcc::In("x", x), tcc::In("b", b, one)}).ok());
  CHECK(session.Run({tcc::In("x", b, one), tcc::In("b", b, one)}).status().code() ==
        tcc::Code::kBadInput);
  stop.request_stop();
  CHECK(session.Run({tcc::In("x", x), tcc::In("b", b, one)}).ok());
  CHECK(session.Run({tcc::In("x", x), tcc::In("b", x, two)}).status().code() ==
        tcc::Code::kCancelled);
}
