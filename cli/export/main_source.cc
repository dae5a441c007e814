#include <absl/strings/str_join.h>

#include "cli/export/exported_model.h"

// main.c: runs the model once on zeros. Shows how memory is provided; it is for machines that have
// a C library.
namespace tcc {
namespace {

constexpr std::string_view kMain =
    R"(/* Written by tcc export. Runs '@model@' on zeros and prints the sum of each output. */
@thread_includes@#include <stdio.h>
#include <stdlib.h>

#include @header@

/* Returns zeros at a multiple of 64. They stay until the program ends. */
static void* zeros(size_t bytes) {
  uint8_t* memory = calloc(bytes + 64, 1);
  if (memory == NULL) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(1);
  }
  return memory + (64 - (uintptr_t)memory % 64) % 64;
}
@weights_function@@thread_functions@
int main(void) {
  @name@_memory memory = {0};
  const void* inputs[] = {@input_list@};
  void* outputs[] = {@output_list@};
  memory.arena = zeros(@NAME@_ARENA_BYTES);
  memory.scratch = zeros(@scratch@);
@settings@  int32_t status = @name@_run(&memory, inputs, outputs);
  if (status != @NAME@_OK) {
    fprintf(stderr, "@name@_run returned %d\n", (int)status);
    return 1;
  }
@sums@  return 0;
}
)";

constexpr std::string_view kReadWeights = R"(
static void* read_weights(void) {
  void* weights = zeros(@NAME@_WEIGHTS_BYTES);
  FILE* file = fopen("@name@.weights", "rb");
  if (file == NULL || fread(weights, 1, @NAME@_WEIGHTS_BYTES, file) != @NAME@_WEIGHTS_BYTES) {
    fprintf(stderr, "cannot read @name@.weights\n");
    exit(1);
  }
  fclose(file);
  return weights;
}
)";

// Starts threads for each loop, where a program with much to do would keep a pool of them.
constexpr std::string_view kThreads = R"(
#define THREADS 4

typedef struct part {
  void (*body)(void* closure, int64_t begin, int64_t end);
  void* closure;
  int64_t begin, end;
  int32_t thread;
} part;

static __thread int32_t thread_number;

static int32_t thread(void* context) {
  (void)context;
  return thread_number;
}

static void* run_part(void* argument) {
  part* own = argument;
  thread_number = own->thread;
  if (own->begin < own->end) own->body(own->closure, own->begin, own->end);
  return NULL;
}

static void parallel_for(void* context, int64_t count,
                         void (*body)(void* closure, int64_t begin, int64_t end), void* closure) {
  part parts[THREADS];
  pthread_t threads[THREADS];
  (void)context;
  for (int32_t t = 0; t < THREADS; ++t) {
    parts[t] = (part){body, closure, count * t / THREADS, count * (t + 1) / THREADS, t};
    if (t > 0 && pthread_create(&threads[t], NULL, run_part, &parts[t]) != 0) abort();
  }
  run_part(&parts[0]);
  for (int32_t t = 1; t < THREADS; ++t) pthread_join(threads[t], NULL);
}
)";

// Returns the type in C that adds up as doubles, or "".
std::string_view CType(DType dtype) {
  switch (dtype.code()) {
    case DTypeCode::kBool:
    case DTypeCode::kUInt8:
      return "uint8_t";
    case DTypeCode::kInt8:
      return "int8_t";
    case DTypeCode::kInt16:
      return "int16_t";
    case DTypeCode::kInt32:
      return "int32_t";
    case DTypeCode::kInt64:
      return "int64_t";
    case DTypeCode::kUInt16:
      return "uint16_t";
    case DTypeCode::kUInt32:
      return "uint32_t";
    case DTypeCode::kUInt64:
      return "uint64_t";
    case DTypeCode::kFloat32:
    case DTypeCode::kTFloat32:
      return "float";
    case DTypeCode::kFloat64:
      return "double";
    case DTypeCode::kFloat16:
    case DTypeCode::kBFloat16:
    case DTypeCode::kFloat8E4M3:
    case DTypeCode::kFloat8E5M2:
    case DTypeCode::kInt4:
    case DTypeCode::kUInt4:
    case DTypeCode::kInt2:
    case DTypeCode::kUInt2:
      return "";
  }
  __builtin_unreachable();
}

// Returns the statements that print the sum of an output; of its bytes, where C has no such type.
// An output without elements has no loop: compilers warn of one that never runs.
std::string SumOf(const ExportedModel& model, size_t output) {
  const Metadata& metadata = model.artefact.metadata;
  const TensorInfo& info = metadata.outputs[output];
  if (ByteCount(info.dtype, *StaticShape(info)).value() == 0) {
    return Filled("  printf(\"%s @what@, sum 0\\n\", @NAME@_OUTPUT@i@_NAME);\n", model,
                  {{"@what@", TypeText(info, metadata)}, {"@i@", fmt::format("{}", output)}});
  }
  std::string_view type = CType(info.dtype);
  return Filled(R"(  {
    const @type@* values = outputs[@i@];
    double sum = 0;
    for (size_t i = 0; i < @NAME@_OUTPUT@i@_BYTES / sizeof *values; ++i) sum += (double)values[i];
    printf("%s @what@, sum@of_bytes@ %.9g\n", @NAME@_OUTPUT@i@_NAME, sum);
  }
)",
                model,
                {{"@type@", type.empty() ? "uint8_t" : std::string(type)},
                 {"@of_bytes@", type.empty() ? " of bytes" : ""},
                 {"@what@", TypeText(info, metadata)},
                 {"@i@", fmt::format("{}", output)}});
}

// Returns the elements of an array of tensors, or a null pointer, since C has no empty arrays.
std::string TensorList(const ExportedModel& model, size_t count, std::string_view kind) {
  std::vector<std::string> list;
  for (size_t i = 0; i < count; ++i) {
    list.push_back(Filled(fmt::format("zeros(@NAME@_{}{}_BYTES)", kind, i), model));
  }
  return list.empty() ? "NULL" : absl::StrJoin(list, ", ");
}

}  // namespace

std::string MainSource(const ExportedModel& model) {
  const Metadata& metadata = model.artefact.metadata;
  std::string settings, sums;
  bool reads_weights = model.weights_in_file && model.HasWeights();
  if (reads_weights) settings += "  memory.weights = read_weights();\n";
  if (model.threads) {
    settings +=
        "  memory.threads = THREADS;\n"
        "  memory.parallel_for = parallel_for;\n"
        "  memory.thread = thread;\n";
  }
  for (size_t i = 0; i < metadata.outputs.size(); ++i) sums += SumOf(model, i);
  return Filled(kMain, model,
                {{"@thread_includes@", model.threads ? "#include <pthread.h>\n" : ""},
                 {"@weights_function@", reads_weights ? Filled(kReadWeights, model) : ""},
                 {"@thread_functions@", model.threads ? std::string(kThreads) : ""},
                 {"@input_list@", TensorList(model, metadata.inputs.size(), "INPUT")},
                 {"@output_list@", TensorList(model, metadata.outputs.size(), "OUTPUT")},
                 {"@scratch@", Filled(model.threads ? "(size_t)THREADS * @NAME@_SCRATCH_BYTES"
                                                    : "@NAME@_SCRATCH_BYTES",
                                      model)},
                 {"@settings@", settings},
                 {"@sums@", sums}});
}

}  // namespace tcc
