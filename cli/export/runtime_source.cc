#include <absl/strings/ascii.h>

#include "cli/export/exported_model.h"
#include "runtime/artefact/kernel_abi.h"

// The runtime of exported kernels in C99: loops, scratch memory, libm.
namespace tcc {
namespace {

// Mirrors runtime/artefact/kernel_abi.h.
constexpr std::string_view kRuntime = R"(
typedef void (*loop_body)(void* closure, int64_t begin, int64_t end);

/* What the kernels call. */
typedef struct runtime_table {
  void* context;
  void (*parallel_for)(void* context, int64_t count, loop_body body, void* closure);
  void* (*alloc)(void* context, int64_t bytes);
  void (*free)(void* context, void* memory);
  double (*math)(int32_t function, double x, double y);
} runtime_table;

typedef int32_t kernel(const runtime_table* runtime, void* const* buffers,
                       const int64_t* shape_args);
)";

constexpr std::string_view kSerialLoop = R"(
static void run_loop(void* context, int64_t count, loop_body body, void* closure) {
  (void)context;
  if (count > 0) body(closure, 0, count);
}
)";

constexpr std::string_view kThreadedLoop = R"(
static void run_loop(void* context, int64_t count, loop_body body, void* closure) {
  const @name@_memory* memory = context;
  if (count > 1 && memory->parallel_for != NULL) {
    memory->parallel_for(memory->context, count, body, closure);
  } else if (count > 0) {
    body(closure, 0, count);
  }
}
)";

constexpr std::string_view kOwnScratch = R"(
static uint8_t* own_scratch(const @name@_memory* memory) {
  return memory->scratch;
}
)";

constexpr std::string_view kThreadsScratch = R"(
static uint8_t* own_scratch(const @name@_memory* memory) {
  ptrdiff_t thread = memory->parallel_for != NULL ? memory->thread(memory->context) : 0;
  return (uint8_t*)memory->scratch + thread * @NAME@_SCRATCH_BYTES;
}
)";

// The first line of a thread's scratch memory counts what is in use.
constexpr std::string_view kScratch = R"(
/* Scratch memory is a stack. Its first 64 bytes hold how many are in use, themselves included. */
static void* take_scratch(void* context, int64_t bytes) {
  uint8_t* scratch = own_scratch(context);
  int64_t* used = (int64_t*)(void*)scratch;
  uint8_t* memory = scratch + *used;
  if (bytes < 0 || bytes > @NAME@_SCRATCH_BYTES - *used) return NULL;
  *used += bytes <= 64 ? 64 : (bytes + 63) / 64 * 64;
  return memory;
}

static void return_scratch(void* context, void* memory) {
  uint8_t* scratch = own_scratch(context);
  *(int64_t*)(void*)scratch = (uint8_t*)memory - scratch;
}
)";

constexpr std::string_view kClearScratch = R"(
static void clear_scratch(const @name@_memory* memory) {
  *(int64_t*)memory->scratch = 64;
}
)";

constexpr std::string_view kClearThreadsScratch = R"(
static void clear_scratch(const @name@_memory* memory) {
  ptrdiff_t threads = memory->parallel_for != NULL ? memory->threads : 1;
  for (ptrdiff_t thread = 0; thread < threads; ++thread) {
    uint8_t* scratch = (uint8_t*)memory->scratch + thread * @NAME@_SCRATCH_BYTES;
    *(int64_t*)(void*)scratch = 64;
  }
}
)";

constexpr std::string_view kRun = R"(
#define RUN(kernel, shape_args, ...)                        \
  do {                                                      \
    void* const buffers[] = {__VA_ARGS__};                  \
    int32_t status = kernel(&runtime, buffers, shape_args); \
    if (status != 0) return status;                         \
  } while (0)
)";
// Returns the function that runs the kernels' calls of libm, or "".
std::string MathFunction(uint32_t functions) {
  if (functions == 0) return "";
  std::string text =
      "\nstatic double call_math(int32_t function, double x, double y) {\n"
      "  (void)y;\n"
      "  switch (function) {\n";
  auto add = [&](int code, const std::string& name) {
    if ((functions >> code & 1) == 0) return;
    bool is_binary = code == TCC_MATH_POW || code == TCC_MATH_FMOD;
    text += fmt::format("    case {}:\n      return {}(x{});\n", code, absl::AsciiStrToLower(name),
                        is_binary ? ", y" : "");
  };
#define TCC_ADD_MATH(name) add(TCC_MATH_##name, #name);
  TCC_MATH_FUNCTIONS(TCC_ADD_MATH)
#undef TCC_ADD_MATH
  return text + "    default:\n      return 0;\n  }\n}\n";
}

std::string KernelDeclarations(const ExportedModel& model) {
  std::string text;
  for (const KernelInfo& kernel : model.artefact.metadata.kernels) {
    text += fmt::format("extern kernel {}_kernel_{};\n", model.name, kernel.name);
  }
  return text;
}

}  // namespace

std::string RuntimeSource(const ExportedModel& model) {
  std::string text(kRuntime);
  text += KernelDeclarations(model);
  text += model.threads ? kThreadedLoop : kSerialLoop;
  if (model.scratch_bytes > 0) {
    text += model.threads ? kThreadsScratch : kOwnScratch;
    text += kScratch;
    text += model.threads ? kClearThreadsScratch : kClearScratch;
  }
  text += MathFunction(model.math_functions);
  text += kRun;
  return text;
}

std::string RuntimeVariable(const ExportedModel& model) {
  bool scratch = model.scratch_bytes > 0;
  std::string text = fmt::format(
      "  const runtime_table runtime = {{(void*)(uintptr_t)memory, run_loop, {}, {}, {}}};\n",
      scratch ? "take_scratch" : "NULL", scratch ? "return_scratch" : "NULL",
      model.math_functions != 0 ? "call_math" : "NULL");
  if (scratch) text += "  clear_scratch(memory);\n";
  return text;
}

}  // namespace tcc
