#include "models/onnx/onnx_properties.h"

#include <catch2/catch.hpp>

#include "models/onnx/import_onnx.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

using Properties = std::map<std::string, std::string>;

// y = Relu(x), in a model that has `fields` too.
std::string ReluWith(const Wire& fields) {
  return ModelOf({.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"y"}}},
                  .inputs = {InputOf("x", kOnnxFloat, {"2"})},
                  .outputs = {"y"}}) +
         fields.bytes;
}

Wire PropertyOf(const std::string& key, const std::string& value) {
  return Wire().Sub(14, Wire().Bytes(1, key).Bytes(2, value));
}

struct Imported {
  Properties properties;
  std::string warnings;
};

Imported Import(const Wire& fields) {
  Imported imported;
  ImportOptions options;
  options.warn = [&](const std::string& line) { imported.warnings += line + "\n"; };
  StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(ReluWith(fields)), options);
  REQUIRE(graph.status() == OkStatus());
  imported.properties = graph->properties;
  return imported;
}

}  // namespace

TEST_CASE("the metadata of a model are kept word for word", "[models][properties]") {
  Wire fields = Wire().Bytes(2, "exporter").Bytes(3, "1.5").Bytes(4, "org.example").Varint(5, 7);
  fields.Bytes(6, "two\nlines").Sub(7, Wire().Bytes(10, "of the graph"));
  fields.bytes += PropertyOf("names", "{0: 'Käfer',\n 1: 'x'}").bytes + PropertyOf("", "").bytes;
  Imported imported = Import(fields);
  CHECK(imported.properties == Properties{{"model.producer_name", "exporter"},
                                          {"model.domain", "org.example"},
                                          {"model.version", "7"},
                                          {"model.description", "two\nlines"},
                                          {"model.graph_description", "of the graph"},
                                          {"onnx.names", "{0: 'Käfer',\n 1: 'x'}"},
                                          {"onnx.", ""}});
  CHECK(imported.warnings.empty());
  CHECK(Import({}).properties.empty());
}

TEST_CASE("the last of two properties with one key counts", "[models][properties]") {
  CHECK(Import({PropertyOf("a", "1").bytes + PropertyOf("a", "2").bytes}).properties ==
        Properties{{"onnx.a", "2"}});
}

TEST_CASE("metadata that is no text is left out with a warning", "[models][properties][hostile]") {
  std::string zero("a\0b", 3);
  Imported imported = Import({PropertyOf("\x1b[31m", "1").bytes + PropertyOf("a", "\xff").bytes +
                              PropertyOf("b", zero).bytes + PropertyOf("c", "kept").bytes});
  CHECK(imported.properties == Properties{{"onnx.c", "kept"}});
  CHECK_THAT(imported.warnings, Contains("left out 3 of the model's metadata, 'onnx.\\x1b[31m'"));
}

TEST_CASE("metadata beyond a megabyte is left out", "[models][properties][hostile]") {
  std::string half(size_t{1} << 19, 'x');
  Imported imported = Import(
      {PropertyOf("a", half).bytes + PropertyOf("b", half).bytes + PropertyOf("c", "").bytes});
  CHECK(imported.properties == Properties{{"onnx.a", half}, {"onnx.c", ""}});
  CHECK_THAT(imported.warnings, Contains("left out 1 of the model's metadata, 'onnx.b' first"));
}
