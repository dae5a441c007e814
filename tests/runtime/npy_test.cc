#include "support/npy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/file.h"
#include "support/random.h"
#include "tests/runtime/npy_samples.h"

using namespace tcc;

namespace {

// A file with a header that NumPy would not have written.
std::string FileWithHeader(const std::string& header, const std::string& elements) {
  std::string file = "\x93NUMPY\x01";
  file += {'\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return file + header + elements;
}

std::string Refusal(const std::string& header, const std::string& elements = "") {
  StatusOr<Tensor> tensor = ParseNpy(AsBytes(FileWithHeader(header, elements)));
  return tensor.ok() ? "accepted as " + ToString(*tensor) : Message(tensor.status());
}

}  // namespace

TEST_CASE("every type that numpy wrote is read and written back byte for byte", "[runtime][npy]") {
  constexpr int kNumbers[] = {1, 2, 3, 100, 5, 6};
  constexpr int kBools[] = {1, 0, 1, 0, 1, 1};
  for (const NumpySample& sample : kNumpyMatrices) {
    INFO(ToString(DType(sample.dtype)));
    StatusOr<Tensor> tensor = ParseNpy(AsBytes(sample.file));
    REQUIRE(tensor.ok());
    CHECK(tensor->dtype == DType(sample.dtype));
    CHECK(tensor->shape == std::vector<int64_t>{2, 3});
    for (int i = 0; i < 6; ++i) {
      CHECK(ElementAsInt(*tensor, i) == (tensor->dtype == kBool ? kBools : kNumbers)[i]);
    }
    std::vector<uint8_t> written = *NpyBytes(*tensor);
    CHECK(std::string_view(reinterpret_cast<const char*>(written.data()), written.size()) ==
          sample.file);
  }
}

TEST_CASE("Fortran order is transposed on reading", "[runtime][npy]") {
  StatusOr<Tensor> tensor = ParseNpy(AsBytes(kNumpyFortranOrder));
  REQUIRE(tensor.ok());
  CHECK(tensor->shape == std::vector<int64_t>{2, 3, 4});
  for (int i = 0; i < 24; ++i) CHECK(ElementAsInt(*tensor, i) == i);
}

TEST_CASE("scalars, empty arrays and format version 2 are read", "[runtime][npy]") {
  StatusOr<Tensor> scalar = ParseNpy(AsBytes(kNumpyScalar));
  REQUIRE(scalar.ok());
  CHECK(scalar->shape.empty());
  CHECK(ElementAsDouble(*scalar, 0) == 2.5);
  StatusOr<Tensor> empty = ParseNpy(AsBytes(kNumpyEmpty));
  REQUIRE(empty.ok());
  CHECK(empty->shape == std::vector<int64_t>{0, 3});
  CHECK(empty->bytes.empty());
  StatusOr<Tensor> version2 = ParseNpy(AsBytes(kNumpyVersion2));
  REQUIRE(version2.ok());
  CHECK(ElementAsInt(*version2, 0) == 7);
}

TEST_CASE("a tensor survives the way through a file", "[runtime][npy]") {
  auto folder = std::filesystem::temp_directory_path() / "tcc_npy_test";
  std::filesystem::create_directories(folder);
  Tensor tensor = MakeZeroTensor(kFloat32, {3, 1, 5});
  Random random(1);
  for (int i = 0; i < 15; ++i) SetElement(tensor, i, random.Normal());
  std::string path = folder / "x.npy";
  REQUIRE(WriteNpy(tensor, path).ok());
  StatusOr<Tensor> back = ReadNpy(path);
  REQUIRE(back.ok());
  CHECK(back->shape == tensor.shape);
  CHECK(std::ranges::equal(back->bytes, tensor.bytes));
  int files = 0;
  for ([[maybe_unused]] auto& entry : std::filesystem::directory_iterator(folder)) ++files;
  CHECK(files == 1);  // no temporary file stays
  std::filesystem::remove_all(folder);
}

TEST_CASE("writing refuses types that numpy lacks and folders that are not there",
          "[runtime][npy]") {
  Tensor tensor = MakeZeroTensor(DType(DTypeCode::kFloat8E5M2), {2});
  CHECK(Message(NpyBytes(tensor).status()) == "npy: NumPy has no type for f8e5m2");
  Status status = WriteNpy(MakeZeroTensor(kFloat32, {2}), "/nonexistent/x.npy");
  CHECK(Message(status) ==
        "cannot write '/nonexistent/x.npy': folder '/nonexistent': No such file or directory");
  CHECK(Message(ReadNpy("/nonexistent/x.npy").status()) ==
        "cannot open '/nonexistent/x.npy': No such file or directory");
  CHECK(Message(ReadNpy("/dev/null").status()) == "'/dev/null' is not a regular file");
}

TEST_CASE("hostile headers are refused with the reason", "[runtime][npy]") {
  const std::string tail = ", 'fortran_order': False, 'shape': (1,)}";
  CHECK(Refusal("{'descr': '>i4'" + tail) ==
        "npy: element type '>i4' is big-endian; expected little-endian");
  CHECK(Refusal("{'descr': '|O'" + tail) == "npy: arrays of Python objects are refused");
  CHECK(Refusal("{'descr': '<c8'" + tail) ==
        "npy: element type '<c8'; expected bool, an integer of 8 to 64 bits, f2, f4, f8 or "
        "V2 (bfloat16)");
  CHECK(Refusal("{'descr': '\x1b[2J'" + tail) ==
        "npy: element type '\\x1b[2J'; expected bool, an integer of 8 to 64 bits, f2, f4, f8 or "
        "V2 (bfloat16)");
  CHECK(Refusal("{'descr': [('a', '<f4')]" + tail) ==
        "npy: header has '[('a', '<f4')], 'fortran_order': False, '... where an element type "
        "(records are refused) was expected");
  const std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  CHECK(Refusal(head + "(1,)}", "abcdef") == "npy: f32 of shape 1 takes 4 bytes; the file has 6");
  CHECK(Refusal(head + "(1000000,)}", "abcd") ==
        "npy: f32 of shape 1000000 takes 4000000 bytes; the file has 4");
  CHECK(Refusal(head + "(4611686018427387904, 4)}") ==
        "shape 4611686018427387904x4 has more elements than fit 64 bits");
}

TEST_CASE("no malformed header is accepted", "[runtime][npy]") {
  const std::string head = "{'descr': '|i1', 'fortran_order': False, 'shape': ";
  for (const std::string& header :
       std::vector<std::string>{"",
                                "{",
                                "{}",
                                "[]",
                                head,
                                head + "(1)}",
                                head + "(1,)",
                                head + "(1,}",
                                head + "(-1,)}",
                                head + "(1,)} import os",
                                head + "(99999999999999999999,)}",
                                head + "(,)}",
                                head + "(1 1)}",
                                head + "(1.0,)}",
                                head + "(1,), 'shape': (1,)}",
                                head + "(1,), 'extra': 1}",
                                "{'shape': (1,)}",
                                "{'descr' '|i1'}",
                                "{'descr': '|i1}",
                                "{'descr': '\\174i1', 'fortran_order': False, 'shape': (1,)}",
                                "{'descr': '|i1', 'fortran_order': 0, 'shape': (1,)}",
                                "{'descr': '|i1', 'fortran_order': False}",
                                head + "(1,))}",
                                head + "(1,,)}"}) {
    INFO(header);
    CHECK(Refusal(header, "a").starts_with("npy: "));
  }
  std::string deep = head + "(";
  for (int i = 0; i < 65; ++i) deep += "1, ";
  CHECK(Refusal(deep + ")}", "a") == "npy: more than 64 dimensions");
  CHECK(Refusal("{\"shape\": (1,), 'fortran_order': True, 'descr': '<i1',}", "a") ==
        "accepted as i8[1]");
  CHECK(Refusal("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "a") ==
        "npy: a bool is neither 0 nor 1");
}

TEST_CASE("truncated and mutated files never crash the reader", "[runtime][npy]") {
  std::string file(kNumpyMatrices[10].file);
  for (size_t length = 0; length < file.size(); ++length) {
    std::string_view cut = std::string_view(file).substr(0, length);
    CHECK_FALSE(ParseNpy(AsBytes(cut)).ok());
  }
  Random random(7);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string mutated = file;
    for (uint64_t k = random.Below(4) + 1; k > 0; --k) {
      mutated[random.Below(mutated.size())] = static_cast<char>(random.Next());
    }
    StatusOr<Tensor> tensor = ParseNpy(AsBytes(mutated));
    if (!tensor.ok()) ++refused;
    if (tensor.ok()) {
      CHECK(*ByteCount(tensor->dtype, tensor->shape) == static_cast<int64_t>(tensor->bytes.size()));
    }
  }
  CHECK(refused > 10000);
}
