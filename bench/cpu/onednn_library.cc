#include "bench/cpu/onednn_library.h"

#include <dlfcn.h>

#include "support/cuda/cuda_library.h"

namespace tcc::onednn {
namespace {

constexpr Symbol<Library> kSymbols[] = {
    SymbolFor<&Library::engine_create>("dnnl_engine_create"),
    SymbolFor<&Library::stream_create>("dnnl_stream_create"),
    SymbolFor<&Library::stream_wait>("dnnl_stream_wait"),
    SymbolFor<&Library::memory_desc_init_by_tag>("dnnl_memory_desc_init_by_tag"),
    SymbolFor<&Library::memory_desc_init_by_strides>("dnnl_memory_desc_init_by_strides"),
    SymbolFor<&Library::memory_create>("dnnl_memory_create"),
    SymbolFor<&Library::matmul_desc_init>("dnnl_matmul_desc_init"),
    SymbolFor<&Library::convolution_forward_desc_init>("dnnl_convolution_forward_desc_init"),
    SymbolFor<&Library::softmax_forward_desc_init>("dnnl_softmax_forward_desc_init"),
    SymbolFor<&Library::primitive_desc_create>("dnnl_primitive_desc_create"),
    SymbolFor<&Library::primitive_desc_query_md>("dnnl_primitive_desc_query_md"),
    SymbolFor<&Library::reorder_primitive_desc_create>("dnnl_reorder_primitive_desc_create"),
    SymbolFor<&Library::primitive_create>("dnnl_primitive_create"),
    SymbolFor<&Library::primitive_execute>("dnnl_primitive_execute"),
    SymbolFor<&Library::post_ops_create>("dnnl_post_ops_create"),
    SymbolFor<&Library::post_ops_append_eltwise>("dnnl_post_ops_append_eltwise"),
    SymbolFor<&Library::primitive_attr_create>("dnnl_primitive_attr_create"),
    SymbolFor<&Library::primitive_attr_set_post_ops>("dnnl_primitive_attr_set_post_ops"),
    SymbolFor<&Library::omp_set_num_threads>("omp_set_num_threads"),
};

StatusOr<Library> Open() {
  constexpr const char* kName = "libdnnl.so.2";
  void* handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Missing("{} cannot be opened", kName);
  return BindAll(OpenedLibrary{handle, kName}, kSymbols, "oneDNN of version 2");
}

}  // namespace

const Library* OpenLibrary() {
  static const StatusOr<Library> library = Open();
  return library.ok() ? &*library : nullptr;
}

}  // namespace tcc::onednn
