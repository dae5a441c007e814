#include "models/onnx/import_onnx.h"
#include "tests/fuzz/libfuzzer/protobuf_mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tcc::ImportOptions options;
  options.max_tensor_bytes = 16 << 20;
  // The result is dropped: an error is as good as a graph, anything else is caught outside.
  static_cast<void>(tcc::ImportOnnxBytes({data, size}, options));
  return 0;
}
