#include "models/onnx/import_onnx.h"
#include "tests/fuzz/libfuzzer/protobuf_mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static_cast<void>(tcc::ParseOnnxTensor({data, size}, "tensor"));
  return 0;
}
