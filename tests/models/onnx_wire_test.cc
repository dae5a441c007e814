#include "models/onnx/onnx_wire.h"

#include <catch2/catch.hpp>

#include "models/onnx/import_onnx.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

std::string ErrorOf(const std::string& bytes) {
  return Message(CheckModelMessage(AsSpan(bytes)));
}

std::string ModelNaming(const std::string& name) {
  return ModelOf({.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"y"}, .name = name}},
                  .inputs = {InputOf("x", kOnnxFloat, {"2"})},
                  .outputs = {"y"}});
}

}  // namespace

TEST_CASE("a good message passes, with fields that nobody knows", "[models][wire]") {
  CHECK(ErrorOf(ModelNaming("relu")) == "");
  CHECK(ErrorOf(ModelNaming("Größe/層:0")) == "");
  CHECK(ErrorOf(ModelNaming("relu") + Wire().Varint(90, 7).Bytes(91, "\xff").bytes) == "");
  CHECK(ErrorOf("") == "");
}

TEST_CASE("tags, numbers and lengths that run over their message are refused",
          "[models][wire][hostile]") {
  CHECK_THAT(ErrorOf("\x08"), Contains("a number is cut short at byte 1"));
  CHECK_THAT(ErrorOf(std::string(1, '\x80')), Contains("a tag is cut short at byte 0"));
  CHECK_THAT(ErrorOf("\x08" + std::string(11, '\xff')), Contains("a number is cut short"));
  CHECK_THAT(ErrorOf("\x3a\x7f"), Contains("a field of 127 bytes where 0 are left"));
  CHECK_THAT(ErrorOf("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
             Contains("a field of 18446744073709551615 bytes"));
  CHECK_THAT(ErrorOf("\x0d\x01"), Contains("a field of 4 bytes where 1 are left"));
  // A node that is longer than the graph around it.
  CHECK_THAT(ErrorOf(Wire().Bytes(7, "\x0a\x05").Bytes(2, "producer").bytes),
             Contains("a field of 5 bytes where 0 are left"));
}

TEST_CASE("groups and reserved wire types are refused", "[models][wire][hostile]") {
  CHECK_THAT(ErrorOf("\x0b"), Contains("a field of wire type 3"));
  CHECK_THAT(ErrorOf("\x0c"), Contains("a field of wire type 4"));
  CHECK_THAT(ErrorOf("\x0e"), Contains("a field of wire type 6"));
}

TEST_CASE("names that a terminal would obey are refused", "[models][wire][hostile]") {
  for (const char* name : {"a\x1b[31m", "a\nb", "\x7f", "\xc2\x9b", "\xff", "\xc0\x80",
                           "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    CHECK_THAT(ErrorOf(ModelNaming(name)), Contains("is not UTF-8 or holds control characters"));
  }
}

TEST_CASE("two bytes a node do not become gigabytes", "[models][wire][hostile]") {
  std::string nodes;
  for (int i = 0; i < (1 << 20) + 1; ++i) nodes += std::string("\x0a\x00", 2);
  CHECK_THAT(ErrorOf(Wire().Bytes(7, nodes).bytes), Contains("more than 1048576 nodes"));
  std::string attributes;
  for (int i = 0; i < 1 << 22; ++i) attributes += std::string("\x2a\x00", 2);
  CHECK_THAT(ErrorOf(Wire().Bytes(7, Wire().Bytes(1, attributes).bytes).bytes),
             Contains("more than 4194304 fields"));
  std::string properties;
  for (int i = 0; i < 1 << 16; ++i) properties += std::string("\x72\x00", 2);
  CHECK(ErrorOf(properties) == "");
  CHECK_THAT(ErrorOf(properties + std::string("\x72\x00", 2)),
             Contains("more than 65536 metadata properties"));
}

TEST_CASE("graphs nested without end take no stack", "[models][wire][hostile]") {
  auto nested = [](int depth) {
    Wire graph = Wire().Bytes(2, "g");
    for (int i = 0; i < depth; ++i) {
      graph = Wire().Sub(1, Wire().Bytes(4, "If").Sub(5, GraphAttr("then_branch", graph)));
    }
    return Wire().Sub(7, graph).bytes;
  };
  CHECK(ErrorOf(nested(64)) == "");
  CHECK_THAT(ErrorOf(nested(65)), Contains("nested more than 64 deep"));
  CHECK_THAT(ErrorOf(nested(5000)), Contains("nested more than 64 deep"));
}
