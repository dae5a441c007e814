#include "tests/codegen_llvm/kernel_rig.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "runtime/cpu/kernel_calls.h"

namespace tcc::test {
namespace {

TestRuntime& Self(void* context) {
  return *static_cast<TestRuntime*>(context);
}

// Ranges of three iterations, alternately on two threads.
void ParallelFor(void* context, int64_t count, TccLoopBody body, void* closure) {
  ++Self(context).parallel_loops;
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    for (int64_t begin = next.fetch_add(3); begin < count; begin = next.fetch_add(3))
      body(closure, begin, std::min(begin + 3, count));
  };
  std::thread other(work);
  work();
  other.join();
}

std::atomic_flag counting = ATOMIC_FLAG_INIT;

template <typename F>
auto Counting(F&& f) {
  while (counting.test_and_set()) std::this_thread::yield();
  auto result = f();
  counting.clear();
  return result;
}

void* Alloc(void* context, int64_t bytes) {
  TestRuntime& self = Self(context);
  bool allowed = Counting([&] {
    if (self.allocations_left == 0) return false;
    if (self.allocations_left > 0) --self.allocations_left;
    ++self.allocations;
    ++self.live_allocations;
    return true;
  });
  if (!allowed) return nullptr;
  void* memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  memset(memory, 0xa5, bytes);
  return memory;
}

void Free(void* context, void* memory) {
  Counting([&] { return --Self(context).live_allocations; });
  free(memory);
}

}  // namespace

TestRuntime::TestRuntime()
    : table{.context = this,
            .parallel_for = ParallelFor,
            .alloc = Alloc,
            .free = Free,
            .math = TccMath} {}

LoadedModule::LoadedModule(const std::vector<uint8_t>& image) {
  int fd = memfd_create("kernels", 0);
  REQUIRE(fd >= 0);
  REQUIRE(write(fd, image.data(), image.size()) == static_cast<ssize_t>(image.size()));
  handle_ = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  close(fd);
  INFO(dlerror());
  REQUIRE(handle_ != nullptr);
}

LoadedModule::~LoadedModule() {
  if (handle_) dlclose(handle_);
}

TccKernel LoadedModule::Find(const std::string& name) const {
  return reinterpret_cast<TccKernel>(dlsym(handle_, name.c_str()));
}

Target NativeTarget() {
  return FindTarget("native").value();
}

std::unique_ptr<JitModule> JitOf(const Function& fn, const Target& target) {
  auto module = Jit(LoweredModule{{fn}}, target);
  INFO(module.status().ToString());
  REQUIRE(module.ok());
  return std::move(*module);
}

std::vector<uint8_t> ImageOf(const std::vector<Function>& kernels, int threads,
                             const Target& target) {
  auto compiled = MakeLlvmBackend(target)->Compile({kernels}, {.threads = threads});
  INFO(compiled.status().ToString());
  REQUIRE(compiled.ok());
  return compiled->image;
}

void Run(const Function& fn, const std::vector<void*>& buffers,
         const std::vector<size_t>& buffer_bytes, const std::vector<int64_t>& shape_args) {
  std::vector<std::vector<uint8_t>> copies;
  std::vector<void*> copied;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto* bytes = static_cast<const uint8_t*>(buffers[i]);
    copies.emplace_back(bytes, bytes + buffer_bytes[i]);
    copied.push_back(copies.back().data());
  }
  auto call = [&](TccKernel kernel, const std::vector<void*>& arguments) {
    REQUIRE(kernel != nullptr);
    TestRuntime runtime;
    CHECK(kernel(&runtime.table, arguments.data(), shape_args.data()) == TCC_KERNEL_OK);
    CHECK(runtime.live_allocations == 0);
  };
  call(JitOf(fn)->Find(fn.name), buffers);
  LoadedModule loaded(ImageOf({fn}));
  call(loaded.Find(fn.name), copied);
  for (size_t i = 0; i < buffers.size(); ++i) {
    // An empty buffer may be null, which memcmp may not.
    CHECK((buffer_bytes[i] == 0 || memcmp(buffers[i], copied[i], buffer_bytes[i]) == 0));
  }
}

Buffer FlatBuffer(const std::string& name, DType dtype, Expr elements, Scope scope) {
  Buffer buffer;
  buffer.var = BufferVar(name, dtype);
  buffer.shape = {std::move(elements)};
  buffer.scope = scope;
  return buffer;
}

Function LoweredFunction(std::string name, std::vector<Buffer> params, Stmt body,
                         std::vector<Var> vars) {
  Function fn;
  fn.name = std::move(name);
  fn.level = Level::kLowered;
  fn.params = std::move(params);
  fn.vars = std::move(vars);
  fn.body = std::move(body);
  return fn;
}

Stmt Loop(const Var& var, Expr extent, Stmt body, ForKind kind) {
  return MakeStmt<For>(var, std::move(extent), kind, "", std::move(body));
}

Expr LoadOf(const Buffer& buffer, Expr index) {
  return Make<Load>(buffer.var, std::vector<Expr>{std::move(index)});
}

Stmt StoreTo(const Buffer& buffer, Expr index, Expr value, Expr mask) {
  return MakeStmt<Store>(buffer.var, std::vector<Expr>{std::move(index)}, std::move(value),
                         std::move(mask));
}

Expr Lanes(Expr base, int lanes, Expr stride) {
  return Make<Ramp>(std::move(base), std::move(stride), lanes);
}

Expr Splatted(Expr value, int lanes) {
  return Make<Broadcast>(std::move(value), lanes);
}

FencedFloats::FencedFloats(const std::vector<float>& values, Fence fence) {
  constexpr size_t kPage = 4096;
  size_t inside = (values.size() * sizeof(float) + kPage - 1) / kPage * kPage;
  bytes_ = inside + 2 * kPage;
  void* pages = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  pages_ = static_cast<char*>(pages);
  REQUIRE(mprotect(pages_ + kPage, inside, PROT_READ | PROT_WRITE) == 0);
  size_t skip = fence == Fence::kAtEnd ? inside - values.size() * sizeof(float) : 0;
  data_ = reinterpret_cast<float*>(pages_ + kPage + skip);
  std::ranges::copy(values, data_);
}

FencedFloats::~FencedFloats() {
  munmap(pages_, bytes_);
}

std::vector<float> RandomFloats(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Unit() * 2 - 1);
  return values;
}

}  // namespace tcc::test
