#include <catch2/catch.hpp>

#include "models/onnx/import_onnx.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc;
using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

// The tensor as the value of a model's only initializer.
StatusOr<Tensor> Read(const Wire& tensor, const ImportOptions& options = {}) {
  std::string model = ModelOf({.outputs = {"w"}, .initializers = {tensor}});
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnxBytes(AsSpan(model), options));
  return *graph.ConstantOf(graph.outputs[0]);
}

std::string ErrorOf(const Wire& tensor, const ImportOptions& options = {}) {
  StatusOr<Tensor> read = Read(tensor, options);
  return read.ok() ? "no error" : Message(read.status());
}

// A tensor whose elements stand in field `field` as varints.
Wire Typed(int type, int field, const std::vector<int64_t>& values) {
  Wire tensor = BareTensor("w", type, {static_cast<int64_t>(values.size())});
  for (int64_t value : values) tensor.Varint(field, static_cast<uint64_t>(value));
  return tensor;
}

}  // namespace

TEST_CASE("elements in typed fields are read for every type", "[models][tensor]") {
  struct Case {
    int type;
    int field;
    std::vector<int64_t> stored;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {kOnnxUInt8, 5, {0, 255}, {0, 255}},
      {kOnnxInt8, 5, {-128, 127}, {-128, 127}},
      {kOnnxInt16, 5, {-32768, 5}, {-32768, 5}},
      {kOnnxInt32, 5, {-5, INT32_MAX}, {-5, INT32_MAX}},
      {kOnnxBool, 5, {1, 0}, {1, 0}},
      {kOnnxFloat16, 5, {0x3c00, 0xc000}, {1, -2}},
      {kOnnxBFloat16, 5, {0x3f80, 0xc000}, {1, -2}},
      {kOnnxInt64, 7, {-7, 1LL << 40}, {-7, 1LL << 40}},
      {kOnnxUInt32, 11, {7, 0xffffffff}, {7, 0xffffffff}},
      {kOnnxUInt64, 11, {7, 1LL << 40}, {7, 1LL << 40}},
  };
  for (const Case& row : cases) {
    INFO("element type " << row.type);
    StatusOr<Tensor> tensor = Read(Typed(row.type, row.field, row.stored));
    REQUIRE(tensor.status() == OkStatus());
    for (size_t i = 0; i < row.expected.size(); ++i) {
      CHECK(ElementAsDouble(*tensor, static_cast<int64_t>(i)) == row.expected[i]);
    }
  }
  StatusOr<Tensor> floats = Read(BareTensor("w", kOnnxFloat, {2}).Float(4, 0.5).Float(4, -3));
  REQUIRE(floats.status() == OkStatus());
  CHECK(floats->values<float>()[1] == -3);
}

TEST_CASE("packed and unpacked fields read the same", "[models][tensor]") {
  std::string packed = RawBytes(std::vector<float>{0.5, -3});
  StatusOr<Tensor> tensor = Read(BareTensor("w", kOnnxFloat, {2}).Bytes(4, packed));
  REQUIRE(tensor.status() == OkStatus());
  CHECK(tensor->values<float>()[0] == 0.5f);
  CHECK(tensor->values<float>()[1] == -3);
}

TEST_CASE("raw data is read for every width", "[models][tensor]") {
  StatusOr<Tensor> doubles =
      Read(RawTensor("w", kOnnxDouble, {2}, RawBytes(std::vector<double>{1, -2})));
  REQUIRE(doubles.status() == OkStatus());
  CHECK(doubles->values<double>()[1] == -2);
  StatusOr<Tensor> nibbles = Read(RawTensor("w", kOnnxInt4, {3}, "\x21\x03"));
  REQUIRE(nibbles.status() == OkStatus());
  CHECK(nibbles->bytes.size() == 2);
  StatusOr<Tensor> pairs = Read(RawTensor("w", kOnnxUInt2, {5}, "\xe4\x02"));
  REQUIRE(pairs.status() == OkStatus());
  CHECK(pairs->dtype == DType(DTypeCode::kUInt2));
  CHECK(ElementAsInt(*pairs, 3) == 3);
  CHECK(ElementAsInt(*pairs, 4) == 2);
  StatusOr<Tensor> empty = Read(BareTensor("w", kOnnxFloat, {2, 0}));
  REQUIRE(empty.status() == OkStatus());
  CHECK(empty->bytes.empty());
}

TEST_CASE("pairs of int4 that ONNX 1.16 wrote as negative bytes are read", "[models][tensor]") {
  Wire pairs = BareTensor("w", kOnnxInt4, {5});
  for (int64_t pair : {16, -57, 8}) pairs.Varint(5, static_cast<uint64_t>(pair));
  StatusOr<Tensor> tensor = Read(pairs);
  REQUIRE(tensor.status() == OkStatus());
  CHECK(std::vector<uint8_t>(tensor->bytes.begin(), tensor->bytes.end()) ==
        std::vector<uint8_t>{16, 199, 8});
}

TEST_CASE("a tensor that does not hold what it says is refused by name",
          "[models][tensor][hostile]") {
  CHECK_THAT(ErrorOf(RawTensor("w", kOnnxFloat, {3}, std::string(11, 'x'))),
             Contains("initializer 'w': 11 bytes of data; f32[3] needs 12"));
  CHECK_THAT(ErrorOf(RawTensor("w", kOnnxInt4, {3}, "x")), Contains("1 bytes of data"));
  CHECK_THAT(ErrorOf(BareTensor("w", kOnnxFloat, {3})), Contains("0 bytes of data"));
  CHECK_THAT(ErrorOf(Floats("w", {-1}, {})), Contains("initializer 'w': shape -1"));
  CHECK_THAT(ErrorOf(BareTensor("w", kOnnxFloat, {1LL << 40, 1LL << 40})),
             Contains("at most 2147483647"));
  CHECK_THAT(ErrorOf(BareTensor("w", kOnnxFloat, {1LL << 61})), Contains("at most 2147483647"));
  CHECK_THAT(ErrorOf(BareTensor("w", kOnnxFloat, {1LL << 50})), Contains("at most"));
  CHECK_THAT(ErrorOf(Floats("w", {1}, {1}).Float(4, 1)), Contains("data in two places"));
  CHECK_THAT(ErrorOf(BareTensor("w", kOnnxInt32, {1}).Float(4, 1)), Contains("0 bytes of data"));
  CHECK_THAT(ErrorOf(Typed(kOnnxUInt8, 5, {256})), Contains("element 0 is 256, out of range"));
  CHECK_THAT(ErrorOf(Typed(kOnnxInt8, 5, {0, -129})), Contains("element 1 is -129"));
  CHECK_THAT(ErrorOf(Typed(kOnnxUInt32, 11, {1LL << 32})), Contains("out of range for u32"));
  CHECK_THAT(ErrorOf(Typed(kOnnxBool, 5, {2})), Contains("a bool is 2"));
  CHECK_THAT(ErrorOf(RawTensor("w", kOnnxBool, {1}, "\x02")), Contains("a bool is 2"));
  CHECK_THAT(ErrorOf(Floats("w", {1}, {1}).Bytes(6, "text")), Contains("strings"));
  CHECK_THAT(ErrorOf(Floats("w", {8}, std::vector<float>(8)), {.max_tensor_bytes = 31}),
             Contains("initializer 'w': 32 bytes; at most 31 are allowed"));
}

TEST_CASE("element types that tcc does not have are unsupported, not malformed",
          "[models][tensor]") {
  for (int type : {static_cast<int>(kOnnxString), 14, 15, 99, 0, -1}) {
    INFO(type);
    CHECK(Read(BareTensor("w", type, {1})).status().code() == absl::StatusCode::kUnimplemented);
  }
  CHECK_THAT(
      ErrorOf(BareTensor("w", 14, {1})),
      Contains("initializer 'w': element type COMPLEX64 (14) is not supported; supported are "
               "FLOAT, UINT8,"));
}

TEST_CASE("an element type is called by its name in ONNX", "[models][tensor]") {
  const std::pair<int, std::string> names[] = {{-1, "-1"},
                                               {0, "UNDEFINED (0)"},
                                               {8, "STRING (8)"},
                                               {18, "FLOAT8E4M3FNUZ (18)"},
                                               {23, "FLOAT4E2M1 (23)"},
                                               {28, "FLOAT6E3M2 (28)"},
                                               {29, "29"}};
  for (const auto& [type, name] : names) {
    CHECK_THAT(ErrorOf(BareTensor("w", type, {1})),
               Contains("element type " + name + " is not supported; "));
  }
}

namespace {

// A sparse tensor of `dims` with these values, whose indices have the shape `index_dims`.
Wire SparseTensor(const std::vector<int64_t>& dims, const std::vector<float>& values,
                  const std::vector<int64_t>& index_dims, const std::vector<int64_t>& indices) {
  Wire sparse;
  sparse.Sub(1, Floats("w", {static_cast<int64_t>(values.size())}, values));
  sparse.Sub(2, RawTensor("", kOnnxInt64, index_dims, RawBytes(indices)));
  for (int64_t dim : dims) sparse.Varint(3, static_cast<uint64_t>(dim));
  return sparse;
}

// The sparse tensor as the value of a model's only initializer.
StatusOr<Tensor> ReadInitializer(const Wire& sparse) {
  Wire graph = GraphOf({.outputs = {"w"}}).Sub(15, sparse);
  Wire model = Wire().Varint(1, 8).Sub(7, graph).Sub(8, Wire().Bytes(1, "").Varint(2, 17));
  TCC_ASSIGN_OR_RETURN(Graph read, ImportOnnxBytes(AsSpan(model.bytes)));
  return *read.ConstantOf(read.outputs[0]);
}

std::vector<float> FloatsOf(const StatusOr<Tensor>& tensor) {
  INFO(tensor.status());
  REQUIRE(tensor.ok());
  auto values = tensor->values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("sparse constants and initializers become dense", "[models][tensor]") {
  Wire linear = SparseTensor({2, 3}, {5, 7}, {2}, {1, 5});
  Wire coordinates = SparseTensor({2, 3}, {5, 7}, {2, 2}, {0, 1, 1, 2});
  for (const Wire& sparse : {linear, coordinates}) {
    StatusOr<Tensor> tensor = ReadInitializer(sparse);
    CHECK(FloatsOf(tensor) == std::vector<float>{0, 5, 0, 0, 0, 7});
    CHECK(tensor->shape == std::vector<int64_t>{2, 3});
    Wire value = Wire().Bytes(1, "sparse_value").Varint(20, 11).Sub(22, sparse);
    std::string model = ModelOf(
        {.nodes = {{.op = "Constant", .outputs = {"c"}, .attributes = {value}}}, .outputs = {"c"}});
    StatusOr<Graph> graph = ImportOnnxBytes(AsSpan(model));
    REQUIRE(graph.status() == OkStatus());
    CHECK(FloatsOf(*graph->ConstantOf(graph->outputs[0])) == std::vector<float>{0, 5, 0, 0, 0, 7});
  }
  CHECK(FloatsOf(ReadInitializer(SparseTensor({2}, {}, {0}, {}))) == std::vector<float>{0, 0});
}

TEST_CASE("sparse tensors whose indices do not fit are refused", "[models][tensor][hostile]") {
  auto error = [](const Wire& sparse) {
    StatusOr<Tensor> read = ReadInitializer(sparse);
    CHECK(read.status().code() == absl::StatusCode::kInvalidArgument);
    return Message(read.status());
  };
  CHECK(error(SparseTensor({2, 3}, {1, 2}, {2}, {0, 6})) ==
        "sparse initializer 'w': index 1 is 6; expected 0 to 5 for shape 2x3");
  CHECK_THAT(error(SparseTensor({2, 3}, {1}, {1}, {-1})), Contains("index 0 is -1"));
  CHECK_THAT(error(SparseTensor({2, 3}, {1}, {1, 2}, {0, 3})),
             Contains("index 0 is 3; expected 0 to 2"));
  CHECK_THAT(error(SparseTensor({2, 3}, {1, 2}, {2}, {4, 3})),
             Contains("index 1 is before the one before"));
  CHECK_THAT(error(SparseTensor({2, 3}, {1, 2}, {2, 2}, {1, 0, 1, 0})),
             Contains("index 1 repeats the one before"));
  CHECK_THAT(error(SparseTensor({2, 3}, {1, 2}, {3}, {1, 2, 3})),
             Contains("indices are i64[3]; expected i64[2] or i64[2x2]"));
  CHECK_THAT(error(SparseTensor({}, {1}, {1}, {0})), Contains("has no dimensions"));
  CHECK_THAT(error(SparseTensor({-2}, {1}, {1}, {0})), Contains("sparse initializer 'w'"));
  StatusOr<Tensor> large = ReadInitializer(SparseTensor({1 << 20, 1 << 20}, {1}, {1}, {0}));
  CHECK(large.status().code() == absl::StatusCode::kUnimplemented);
}
