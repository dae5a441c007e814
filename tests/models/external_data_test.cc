#include "models/onnx/external_data.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "models/onnx/import_onnx.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

// A folder with a model's folder in it, removed at the end.
class ModelFolder {
 public:
  ModelFolder() {
    std::string pattern = (fs::temp_directory_path() / "tcc_external_XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
    fs::create_directories(folder() / "sub");
    Write(root_ / "secret", std::vector<float>{9, 9, 9, 9});
    Write(folder() / "w.data", std::vector<float>{1, 2, 3, 4});
    Write(folder() / "sub/w.data", std::vector<float>{5, 6, 7, 8});
  }
  ~ModelFolder() { fs::remove_all(root_); }

  fs::path folder() const { return root_ / "model"; }
  fs::path root() const { return root_; }

  // Two floats of the file that `keys` name.
  StatusOr<Tensor> Read(const Keys& keys, const Wire& more = {}) const {
    Wire tensor = ExternalTensor("w", {2}, keys);
    tensor.bytes += more.bytes;
    std::ofstream(folder() / "m.onnx", std::ios::binary)
        << ModelOf({.outputs = {"w"}, .initializers = {tensor}});
    TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnx((folder() / "m.onnx").string()));
    return *graph.ConstantOf(graph.outputs[0]);
  }
  std::string ErrorOf(const Keys& keys, const Wire& more = {}) const {
    StatusOr<Tensor> read = Read(keys, more);
    if (!read.ok()) CHECK(read.status().code() == absl::StatusCode::kInvalidArgument);
    return read.ok() ? "no error" : Message(read.status());
  }

 private:
  static void Write(const fs::path& path, const std::vector<float>& values) {
    std::ofstream(path, std::ios::binary) << RawBytes(values);
  }
  fs::path root_;
};

}  // namespace

TEST_CASE("external data is read from beside the model, at any offset", "[models][external]") {
  ModelFolder model;
  auto first = [&](const Keys& keys) {
    StatusOr<Tensor> tensor = model.Read(keys);
    REQUIRE(tensor.status() == OkStatus());
    return tensor->values<float>()[0];
  };
  CHECK(first({{"location", "w.data"}, {"length", "8"}}) == 1);
  CHECK(first({{"location", "w.data"}, {"offset", "8"}, {"length", "8"}}) == 3);
  CHECK(first({{"location", "sub/w.data"}, {"offset", "4"}}) == 6);
  CHECK(first({{"location", "./sub//w.data"}, {"checksum", "whatever"}}) == 5);
  // Misaligned for a float: copied, not viewed. 1.0f and 2.0f are the bytes 0000803f 00000040, so
  // that 0x00003f80 is read, which is denormal.
  CHECK(first({{"location", "w.data"}, {"offset", "2"}}) == 0x3f80 * 0x1p-149f);
}

TEST_CASE("a location that leaves the model's folder is refused", "[models][external][hostile]") {
  ModelFolder model;
  auto error = [&](const std::string& location) { return model.ErrorOf({{"location", location}}); };
  CHECK_THAT(error("../secret"), Contains("'w'") && Contains("leads out of the model's folder"));
  CHECK_THAT(error("sub/../../secret"), Contains("leads out"));
  CHECK_THAT(error(".."), Contains("leads out"));
  CHECK_THAT(error((model.root() / "secret").string()), Contains("is absolute"));
  CHECK_THAT(error("*/_ORT_MEM_ADDR_/*"), Contains("memory address"));
  CHECK_THAT(error(std::string("w.data\0/x", 9)), Contains("NUL"));
  CHECK_THAT(error(""), Contains("no location"));
  CHECK_THAT(error("."), Contains("names no file"));
  CHECK_THAT(error("missing"), Contains("cannot open external data 'missing'"));
}

TEST_CASE("a location that a terminal would act on is refused and shown as escapes",
          "[models][external][hostile]") {
  ModelFolder model;
  auto error = [&](const std::string& key, const std::string& value) {
    return model.ErrorOf({{"location", "w.data"}, {key, value}});
  };
  CHECK_THAT(error("location", std::string("w\0\x1b", 3)), Contains("'w\\x00\\x1b' holds a NUL"));
  CHECK_THAT(error("location", "\x1b[31m"),
             Contains("'\\x1b[31m' is not UTF-8 or holds control characters"));
  CHECK_THAT(error("location", "\xff"), Contains("'\\xff' is not UTF-8"));
  CHECK_THAT(error("offset", "\x7f"), Contains("offset '\\x7f'; expected a decimal number"));
}

TEST_CASE("links and what is no file are refused", "[models][external][hostile]") {
  ModelFolder model;
  fs::create_symlink(model.root() / "secret", model.folder() / "link");
  fs::create_symlink(model.root(), model.folder() / "up");
  fs::create_hard_link(model.root() / "secret", model.folder() / "hard");
  CHECK_THAT(model.ErrorOf({{"location", "link"}}), Contains("is a symbolic link"));
  CHECK_THAT(model.ErrorOf({{"location", "up/secret"}}),
             Contains("'up/secret' is reached through a symbolic link"));
  CHECK_THAT(model.ErrorOf({{"location", "hard"}}), Contains("has 2 hard links; expected 1"));
  CHECK_THAT(model.ErrorOf({{"location", "sub"}}), Contains("not a regular file"));
}

TEST_CASE("links are followed where the user allows it, upward paths are not",
          "[models][external][hostile]") {
  ModelFolder model;
  fs::create_symlink(model.folder() / "w.data", model.folder() / "blob");
  auto import = [&](const std::string& location) {
    std::string bytes = ModelOf(
        {.outputs = {"w"}, .initializers = {ExternalTensor("w", {4}, {{"location", location}})}});
    return ImportOnnxBytes(AsSpan(bytes), {.external_data_folder = model.folder().string(),
                                           .external_data_links = Links::kFollowed})
        .status();
  };
  CHECK(import("blob") == OkStatus());
  CHECK_FALSE(import("../secret").ok());
  CHECK_FALSE(import("/etc/passwd").ok());
}

TEST_CASE("offsets and lengths are checked against the file and the shape",
          "[models][external][hostile]") {
  ModelFolder model;
  auto error = [&](const std::string& key, const std::string& value) {
    return model.ErrorOf({{"location", "w.data"}, {key, value}});
  };
  CHECK_THAT(error("offset", "9"), Contains("has 16 bytes; expected 8 from offset 9"));
  CHECK_THAT(error("offset", "9223372036854775807"), Contains("from offset 9223372036854775807"));
  CHECK_THAT(error("length", "4"), Contains("external data of 4 bytes; f32[2] needs 8"));
  for (const char* text : {"-1", "+1", " 1", "0x8", "1e3", "", "99999999999999999999", "8 "}) {
    INFO(text);
    CHECK_THAT(error("offset", text), Contains("expected a decimal number"));
    CHECK_THAT(error("length", text), Contains("expected a decimal number"));
  }
  CHECK_THAT(model.ErrorOf({{"location", "w.data"}}, Wire().Bytes(9, "12345678")),
             Contains("data in two places"));
  Keys many(17, {"key", "value"});
  CHECK_THAT(model.ErrorOf(many), Contains("17 external data keys"));
}

TEST_CASE("a model without a folder has no external data unless one is given",
          "[models][external]") {
  ModelFolder model;
  std::string bytes = ModelOf(
      {.outputs = {"w"}, .initializers = {ExternalTensor("w", {4}, {{"location", "w.data"}})}});
  CHECK_FALSE(ImportOnnxBytes(AsSpan(bytes)).ok());
  StatusOr<Graph> graph =
      ImportOnnxBytes(AsSpan(bytes), {.external_data_folder = model.folder().string()});
  REQUIRE(graph.status() == OkStatus());
  CHECK(graph->ConstantOf(0)->values<float>()[3] == 4);
}

TEST_CASE("external data outlives its name: it stays mapped", "[models][external]") {
  StatusOr<Tensor> tensor = InvalidInput("not read");
  {
    ModelFolder model;
    tensor = model.Read({{"location", "w.data"}});
  }
  REQUIRE(tensor.status() == OkStatus());
  CHECK(tensor->values<float>()[1] == 2);
}
