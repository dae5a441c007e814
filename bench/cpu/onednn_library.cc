#include "bench/cpu/onednn_library.h"

#include <dlfcn.h>

#include <optional>

namespace tcc::onednn {
namespace {

std::optional<Library> Open() {
  void* handle = ::dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::nullopt;
  Library library{};
  bool complete = true;
  auto find = [&]<typename Fn>(const char* name, Fn*& entry) {
    entry = reinterpret_cast<Fn*>(::dlsym(handle, name));
    complete = complete && entry != nullptr;
  };
  find("dnnl_engine_create", library.engine_create);
  find("dnnl_stream_create", library.stream_create);
  find("dnnl_stream_wait", library.stream_wait);
  find("dnnl_memory_desc_init_by_tag", library.memory_desc_init_by_tag);
  find("dnnl_memory_desc_init_by_strides", library.memory_desc_init_by_strides);
  find("dnnl_memory_create", library.memory_create);
  find("dnnl_matmul_desc_init", library.matmul_desc_init);
  find("dnnl_convolution_forward_desc_init", library.convolution_forward_desc_init);
  find("dnnl_softmax_forward_desc_init", library.softmax_forward_desc_init);
  find("dnnl_primitive_desc_create", library.primitive_desc_create);
  find("dnnl_primitive_desc_query_md", library.primitive_desc_query_md);
  find("dnnl_reorder_primitive_desc_create", library.reorder_primitive_desc_create);
  find("dnnl_primitive_create", library.primitive_create);
  find("dnnl_primitive_execute", library.primitive_execute);
  find("dnnl_post_ops_create", library.post_ops_create);
  find("dnnl_post_ops_append_eltwise", library.post_ops_append_eltwise);
  find("dnnl_primitive_attr_create", library.primitive_attr_create);
  find("dnnl_primitive_attr_set_post_ops", library.primitive_attr_set_post_ops);
  find("omp_set_num_threads", library.omp_set_num_threads);
  return complete ? std::optional(library) : std::nullopt;
}

}  // namespace

const Library* OpenLibrary() {
  static const std::optional<Library> library = Open();
  return library ? &*library : nullptr;
}

}  // namespace tcc::onednn
