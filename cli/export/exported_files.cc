#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <algorithm>

#include "cli/export/exported_model.h"
#include "support/printable.h"

// All files of an export except NAME.c and main.c.
namespace tcc {
namespace {

constexpr std::string_view kHeader =
    R"(/* Written by tcc export. The model '@model@' in plain C@for_machine@. */
#ifndef @NAME@_H
#define @NAME@_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The features that the CPU must have, in LLVM's names. Nothing checks them. */
#define @NAME@_CPU_FEATURES "@features@"
@amx@
/* The bytes of the memory of @name@_memory. */
#define @NAME@_ARENA_BYTES @arena@
#define @NAME@_SCRATCH_BYTES @scratch@
#define @NAME@_WEIGHTS_BYTES @weights@

#define @NAME@_INPUTS @inputs@
#define @NAME@_OUTPUTS @outputs@
@tensors@
/* What @name@_run returns. */
#define @NAME@_OK 0
#define @NAME@_OUT_OF_SCRATCH 1
#define @NAME@_OUT_OF_BOUNDS (-1)

/* The memory of one run at a time. It may be used again after the run, for whatever else, too. */
typedef struct @name@_memory {
  /* @NAME@_ARENA_BYTES at a multiple of 64; may be null where they are 0. */
  void* arena;
  /* @scratch_text@ */
  void* scratch;
@members@} @name@_memory;

/* Runs the model. inputs[i] and outputs[i] are the tensors' elements in row-major order, each at a
   multiple of its element's size, in the order of the macros above. Inputs are only read. Calls
   with other memory and other outputs may run at the same time. Returns @NAME@_OK, or what went
   wrong, which no memory of the sizes above brings about. */
int32_t @name@_run(const @name@_memory* memory, const void* const inputs[], void* const outputs[]);

#ifdef __cplusplus
}
#endif

#endif
)";

constexpr std::string_view kNoAmx = "#define @NAME@_NEEDS_AMX 0\n";
constexpr std::string_view kNeedsAmx = R"(
/* The kernels may use AMX tiles. On Linux a process requests them once, before its first run:
   syscall(SYS_arch_prctl, 0x1023, 18), which is ARCH_REQ_XCOMP_PERM of XFEATURE_XTILEDATA. */
#define @NAME@_NEEDS_AMX 1
)";

constexpr std::string_view kWeightsMember =
    R"(  /* The content of @name@.weights at a multiple of 64; only read. */
  const void* weights;
)";

constexpr std::string_view kThreadMembers =
    R"(  /* How many threads there are, and the first argument of the functions below. */
  int32_t threads;
  void* context;
  /* Calls body(closure, begin, end) on disjoint ranges that together are [0, count), on up to
     `threads` threads, and returns when all have returned. Null: this thread does all. */
  void (*parallel_for)(void* context, int64_t count,
                       void (*body)(void* closure, int64_t begin, int64_t end), void* closure);
  /* Returns the number of the calling thread, 0 to threads - 1. */
  int32_t (*thread)(void* context);
)";

// Only directives that the assemblers of all machines with 64-bit ELF have.
constexpr std::string_view kKernels =
    R"(/* Written by tcc export. The kernels of '@model@': code and its constants. */
#if !defined(@macro@)
#error "the kernels of @name@ are for @machine@"
#endif

  .text
  .balign @alignment@
.Lkernels:
  .incbin "@name@.kernels"

@symbols@
  .section .note.GNU-stack, "", %progbits
)";

constexpr std::string_view kKernelSymbol = R"(  .globl @symbol@
  .hidden @symbol@
  .type @symbol@, %function
  .set @symbol@, .Lkernels + @offset@
)";

constexpr std::string_view kWeights = R"(/* Written by tcc export. The weights of '@model@'. */
  .section .rodata.@name@_weights, "a", %progbits
  .balign 64
  .globl @name@_weights
  .hidden @name@_weights
  .type @name@_weights, %object
  .size @name@_weights, @weights@
@name@_weights:
  .incbin "@name@.weights"

  .section .note.GNU-stack, "", %progbits
)";

constexpr std::string_view kMakefile =
    R"(# Written by tcc export. `make run` builds main.c and runs it.
CFLAGS ?= -O2
OBJECTS = @objects@

@name@: $(OBJECTS)
	$(CC) $(LDFLAGS) -o $@ $(OBJECTS) @libraries@

run: @name@
	./@name@

main.o: main.c @name@.h
	$(CC) -std=c99 $(CFLAGS) -c main.c
@name@.o: @name@.c @name@.h
	$(CC) -std=c99 $(CFLAGS) -c @name@.c
@rules@
clean:
	rm -f @name@ $(OBJECTS)

.PHONY: run clean
)";

// Returns a string literal of C.
std::string CString(std::string_view text) {
  std::string literal = "\"";
  for (char c : text) {
    bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '?';
    literal += plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<uint8_t>(c));
  }
  return literal + "\"";
}

// Returns what the header says of the inputs or outputs.
std::string TensorMacros(const ExportedModel& model, const std::vector<TensorInfo>& tensors,
                         std::string_view kind) {
  std::string text;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& info = tensors[i];
    std::vector<int64_t> shape = *StaticShape(info);
    std::string type = TypeText(info, model.artefact.metadata);
    // An array of C has an element at least.
    std::string list = shape.empty() ? "1" : absl::StrJoin(shape, ", ");
    text += Filled(R"(
/* '@tensor@' @type@ */
#define @NAME@_@kind@@i@_NAME @literal@
#define @NAME@_@kind@@i@_TYPE "@dtype@"
#define @NAME@_@kind@@i@_RANK @rank@
#define @NAME@_@kind@@i@_SHAPE {@shape@}
#define @NAME@_@kind@@i@_BYTES @bytes@
)",
                   model,
                   {{"@tensor@", InComment(info.name)},
                    {"@type@", type},
                    {"@kind@", std::string(kind)},
                    {"@i@", fmt::format("{}", i)},
                    {"@literal@", CString(info.name)},
                    {"@dtype@", ToString(info.dtype)},
                    {"@rank@", fmt::format("{}", shape.size())},
                    {"@shape@", list},
                    {"@bytes@", fmt::format("{}", *ByteCount(info.dtype, shape))}});
  }
  return text;
}

int64_t ScratchBytes(const ExportedModel& model) {
  constexpr int64_t kHeadBytes = 64;  // where the generated C counts what is in use
  return model.scratch_bytes == 0 ? 0 : model.scratch_bytes + kHeadBytes;
}

std::string Header(const ExportedModel& model) {
  const Metadata& metadata = model.artefact.metadata;
  auto is_amx = [](const std::string& feature) { return feature.starts_with("amx-"); };
  bool needs_amx = std::ranges::any_of(metadata.cpu_features, is_amx);
  std::string scratch = "@NAME@_SCRATCH_BYTES at a multiple of 64; may be null where they are 0.";
  if (model.threads) {
    scratch =
        "@NAME@_SCRATCH_BYTES for each thread, one thread's after another's, at a multiple\n"
        "     of 64; may be null where they are 0.";
  }
  std::string members;
  if (model.weights_in_file && model.HasWeights()) members += kWeightsMember;
  if (model.threads) members += kThreadMembers;
  std::vector<std::pair<std::string, std::string>> values = {
      {"@for_machine@", model.HasKernels() ? fmt::format(" for {}", model.image.machine.name) : ""},
      {"@features@", model.HasKernels() ? absl::StrJoin(metadata.cpu_features, ",") : ""},
      {"@amx@", Filled(needs_amx ? kNeedsAmx : kNoAmx, model)},
      {"@arena@", fmt::format("{}", *model.artefact.plan.arena_bytes.AsConstant())},
      {"@scratch@", fmt::format("{}", ScratchBytes(model))},
      {"@inputs@", fmt::format("{}", metadata.inputs.size())},
      {"@outputs@", fmt::format("{}", metadata.outputs.size())},
      {"@tensors@", TensorMacros(model, metadata.inputs, "INPUT") +
                        TensorMacros(model, metadata.outputs, "OUTPUT")},
      {"@scratch_text@", Filled(scratch, model)},
      {"@members@", Filled(members, model)}};
  return Filled(kHeader, model, values);
}

std::string KernelsAssembly(const ExportedModel& model) {
  std::string symbols;
  for (size_t i = 0; i < model.image.entries.size(); ++i) {
    std::string kernel = model.artefact.metadata.kernels[i].name;
    symbols += Filled(kKernelSymbol, model,
                      {{"@symbol@", fmt::format("{}_kernel_{}", model.name, kernel)},
                       {"@offset@", fmt::format("{}", model.image.entries[i])}});
  }
  return Filled(
      kKernels, model,
      {{"@alignment@", fmt::format("{}", model.image.alignment)}, {"@symbols@", symbols}});
}

std::string Makefile(const ExportedModel& model) {
  std::vector<std::string> objects = {"main.o", model.name + ".o"};
  std::string rules;
  auto assemble = [&](std::string_view what) {
    std::string stem = fmt::format("{}_{}", model.name, what);
    objects.push_back(stem + ".o");
    rules += fmt::format("{0}.o: {0}.S {1}.{2}\n\t$(CC) -c {0}.S\n", stem, model.name, what);
  };
  if (model.HasKernels()) assemble("kernels");
  if (model.HasWeights() && !model.weights_in_file) assemble("weights");
  std::string libraries;
  if (model.threads) libraries += " -lpthread";
  if (model.math_functions != 0) libraries += " -lm";
  return Filled(kMakefile, model,
                {{"@objects@", absl::StrJoin(objects, " ")},
                 {" @libraries@", libraries},
                 {"@rules@", rules}});
}

}  // namespace

std::string InComment(std::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"*/", "* /"}, {"/*", "/ *"}, {"??", "? ?"}});
}

std::string Filled(std::string_view text, const ExportedModel& model,
                   const std::vector<std::pair<std::string, std::string>>& values) {
  std::vector<std::pair<std::string, std::string>> all = values;
  const Artefact& artefact = model.artefact;
  all.insert(all.end(), {{"@name@", model.name},
                         {"@NAME@", absl::AsciiStrToUpper(model.name)},
                         {"@header@", fmt::format("\"{}.h\"", model.name)},
                         {"@model@", InComment(artefact.metadata.model)},
                         {"@weights@", fmt::format("{}", artefact.weights.bytes.size())}});
  if (model.HasKernels()) {
    all.insert(all.end(),
               {{"@machine@", model.image.machine.name}, {"@macro@", model.image.machine.macro}});
  }
  return absl::StrReplaceAll(std::string(text), all);
}

std::vector<ExportedFile> ExportedFiles(const ExportedModel& model) {
  const std::string& name = model.name;
  std::vector<ExportedFile> files = {{name + ".h", Header(model)},
                                     {name + ".c", PlanSource(model)}};
  if (model.HasKernels()) {
    files.push_back({name + "_kernels.S", KernelsAssembly(model)});
    files.push_back({name + ".kernels", "", model.image.bytes});
  }
  if (model.HasWeights()) {
    if (!model.weights_in_file) files.push_back({name + "_weights.S", Filled(kWeights, model)});
    files.push_back({name + ".weights", "", model.artefact.weights.bytes});
  }
  files.push_back({"main.c", MainSource(model)});
  files.push_back({"Makefile", Makefile(model)});
  return files;
}

}  // namespace tcc
