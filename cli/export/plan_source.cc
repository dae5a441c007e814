#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <set>

#include "cli/export/exported_model.h"
#include "cli/text_table.h"

// The plan as C99 that needs no library. Generated C has a fixed vocabulary: `arena`, `weights`,
// in0, out0 are memory, b7 is a buffer that loops swap, i0 a loop's counter.
namespace tcc {
namespace {

constexpr std::string_view kHead =
    R"(/* Written by tcc export. The plan of '@model@': which kernel runs on which memory. */
#include @header@

#include <stddef.h>
)";

constexpr std::string_view kMachineCheck = R"(
#if !defined(@macro@)
#error "the kernels of @name@ are for @machine@"
#endif
)";

// A function of the generated C, defined where it is called.
struct Part {
  std::string_view call;
  std::string_view definition;
};
constexpr Part kParts[] = {
    {"copy_bytes(", R"(
static void copy_bytes(uint8_t* to, const uint8_t* from, size_t bytes) {
#if __STDC_HOSTED__
  memmove(to, from, bytes);
#else
  /* Volatile, or compilers would call memmove, which may be missing here. */
  volatile uint8_t* target = to;
  if ((uintptr_t)to <= (uintptr_t)from) {
    for (size_t i = 0; i < bytes; ++i) target[i] = from[i];
  } else {
    for (size_t i = bytes; i-- > 0;) target[i] = from[i];
  }
#endif
}
)"},
    {"read_i64(", R"(
static int64_t read_i64(const uint8_t* from) {
  int64_t value;
  volatile uint8_t* target = (volatile uint8_t*)&value;
  for (size_t i = 0; i < sizeof value; ++i) target[i] = from[i];
  return value;
}
)"},
    {"swap(", R"(
static void swap(uint8_t** a, uint8_t** b) {
  uint8_t* first = *a;
  *a = *b;
  *b = first;
}
)"},
    {"within(", R"(
static int within(int64_t offset, int64_t bytes, int64_t limit) {
  return offset >= 0 && bytes >= 0 && bytes <= limit && offset <= limit - bytes;
}
)"},
    {"least(", R"(
static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
)"},
    {"most(", R"(
static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}
)"},
    {"floor_div(", R"(
static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}
)"},
    {"ceil_div(", R"(
static int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}
)"},
};

std::string CInteger(int64_t value) {
  if (value == INT64_MAX) return "INT64_MAX";
  if (value == INT64_MIN) return "INT64_MIN";
  return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
}

std::string Binary(SizeOp op, const std::string& a, const std::string& b) {
  switch (op) {
    case SizeOp::kAdd:
      return fmt::format("({} + {})", a, b);
    case SizeOp::kSub:
      return fmt::format("({} - {})", a, b);
    case SizeOp::kMul:
      return fmt::format("({} * {})", a, b);
    case SizeOp::kFloorDiv:
      return fmt::format("floor_div({}, {})", a, b);
    case SizeOp::kCeilDiv:
      return fmt::format("ceil_div({}, {})", a, b);
    case SizeOp::kMin:
      return fmt::format("least({}, {})", a, b);
    case SizeOp::kMax:
      return fmt::format("most({}, {})", a, b);
    case SizeOp::kMod:
      return fmt::format("({0} - floor_div({0}, {1}) * {1})", a, b);
    case SizeOp::kLess:
      return fmt::format("(int64_t)({} < {})", a, b);
    case SizeOp::kEqual:
      return fmt::format("(int64_t)({} == {})", a, b);
    case SizeOp::kConst:
    case SizeOp::kVar:
    case SizeOp::kSelect:
      break;
  }
  __builtin_unreachable();
}

// Returns a size in C, over the loop counters i0, i1, ...
std::string CSize(const SizeExpr& size) {
  if (std::optional<int64_t> constant = size.AsConstant()) return CInteger(*constant);
  struct Term {
    std::string text;
    bool varies;
  };
  std::vector<Term> stack;
  for (const SizeInstruction& step : size.code) {
    if (step.op == SizeOp::kConst) {
      stack.push_back({CInteger(step.value), false});
    } else if (step.op == SizeOp::kVar) {
      stack.push_back({fmt::format("i{}", step.value), true});
    } else {
      Term b = std::move(stack.back());
      stack.pop_back();
      if (step.op == SizeOp::kSelect) {
        Term taken = std::move(stack.back());
        stack.pop_back();
        stack.back() = {fmt::format("({} ? {} : {})", stack.back().text, taken.text, b.text), true};
        continue;
      }
      Term& a = stack.back();
      // Counters are int64_t; of two constants one has to be.
      if (!a.varies && !b.varies) a.text = "(int64_t)" + a.text;
      bool adds_nothing = step.op == SizeOp::kAdd && a.text == "0";
      a = {adds_nothing ? b.text : Binary(step.op, a.text, b.text), a.varies || b.varies};
    }
  }
  return stack.back().text;
}

// Returns the first byte at an address.
std::string ByteAt(const std::string& address) {
  return address.find(' ') == std::string::npos ? "*" + address : "*(" + address + ")";
}

int64_t BytesOf(const TensorInfo& info) {
  return *ByteCount(info.dtype, *StaticShape(info));
}

// Writes instructions as statements of C.
class BodyWriter {
 public:
  explicit BodyWriter(const ExportedModel& model)
      : model_(model), plan_(model.artefact.plan), metadata_(model.artefact.metadata) {}

  void Write(const std::vector<Instruction>& body) {
    indent_ += "  ";
    for (const Instruction& instruction : body) std::visit(*this, instruction.op);
    indent_.resize(indent_.size() - 2);
  }

  void operator()(const PlanCall& call) {
    const KernelInfo& kernel = metadata_.kernels[call.kernel];
    std::vector<std::string> buffers;
    for (BufferId buffer : call.buffers) buffers.push_back(AddressOf(buffer));
    statements_ += fmt::format("{}/* {} */\n", indent_, InComment(NamesText(kernel.nodes)));
    std::string shapes = "NULL";
    if (!call.shape_args.empty()) {
      std::vector<std::string> sizes;
      for (const SizeExpr& size : call.shape_args) sizes.push_back(CSize(size));
      Line("{{");
      Line("  const int64_t shape_args[] = {{{}}};", absl::StrJoin(sizes, ", "));
      shapes = "shape_args";
    }
    Line("RUN({}_kernel_{}, {}, {});", model_.name, kernel.name, shapes,
         absl::StrJoin(buffers, ", "));
    if (!call.shape_args.empty()) Line("}}");
  }

  void operator()(const PlanCopy& copy) {
    std::string from = AddressOf(copy.from), to = AddressOf(copy.to);
    const SizeExpr& bytes = plan_.buffers[copy.to].bytes;
    if (bytes.AsConstant() == 0) return;
    Line("copy_bytes({}, {}, (size_t){});", to, from, CSize(bytes));
  }

  void operator()(const PlanLoop& loop) {
    std::string trips = CSize(loop.extent);
    if (loop.trip_count) {
      trips = fmt::format("least({}, read_i64({}))", trips, AddressOf(*loop.trip_count));
    }
    uint32_t counter = plan_.shape_variables + loop.counter;
    std::string condition = loop.condition ? AddressOf(*loop.condition) : "";
    Line("for (int64_t i{0} = 0, trips{0} = {1}; i{0} < trips{0}; ++i{0}) {{", counter, trips);
    if (loop.condition) Line("  if ({} == 0) break;", ByteAt(condition));
    Write(loop.body);
    for (const auto& [first, second] : loop.swaps) {
      Line("  swap(&{}, &{});", AddressOf(first), AddressOf(second));
    }
    Line("}}");
  }

  void operator()(const PlanIf& branch) {
    Line("if ({} != 0) {{", ByteAt(AddressOf(branch.condition)));
    Write(branch.then_body);
    if (!branch.else_body.empty()) {
      Line("}} else {{");
      Write(branch.else_body);
    }
    Line("}}");
  }

  // No size is free, so that one body is taken by every run.
  void operator()(const PlanSwitch& choice) {
    auto taken = static_cast<size_t>(*choice.which.AsConstant());
    for (const Instruction& instruction : choice.bodies[taken]) std::visit(*this, instruction.op);
  }

  // Returns the declarations of the memory that the statements name.
  std::string Declarations() const {
    std::string text;
    for (const std::string& line : memory_) text += "  " + line + "\n";
    for (BufferId buffer : swapped_) {
      text += fmt::format("  uint8_t* b{} = {};\n", buffer,
                          Place("arena", *plan_.buffers[buffer].offset.AsConstant()));
    }
    return text;
  }
  const std::string& statements() const { return statements_; }
  bool Calls(std::string_view function) const { return code_.find(function) != std::string::npos; }

  // Finds the buffers that are variables, since loops swap them.
  void CollectSwaps() {
    ForEachInstruction(plan_.body, [&](const Instruction& instruction) {
      const auto* loop = std::get_if<PlanLoop>(&instruction.op);
      if (loop == nullptr) return;
      for (const auto& [first, second] : loop->swaps) swapped_.insert({first, second});
    });
    if (!swapped_.empty()) memory_.insert(kArena);
  }

 private:
  static constexpr const char* kArena = "uint8_t* const arena = memory->arena;";

  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    std::string line = indent_ + fmt::format(format, std::forward<Args>(args)...) + "\n";
    statements_ += line;
    code_ += line;
  }

  static std::string Place(const std::string& base, int64_t offset) {
    return offset == 0 ? base : fmt::format("{} + {}", base, offset);
  }

  // The name of a buffer's memory and its bytes.
  struct Memory {
    std::string name;
    int64_t bytes = 0;
  };

  // Returns a buffer's memory, and declares it.
  Memory MemoryOf(const PlanBuffer& buffer) {
    auto declared = [&](std::string name, std::string_view from, int64_t bytes) {
      // Kernels take plain pointers, though they only read inputs and weights.
      memory_.insert(fmt::format("uint8_t* const {} = {};", name, from));
      return Memory{std::move(name), bytes};
    };
    switch (buffer.kind) {
      case BufferKind::kInput:
        return declared(fmt::format("in{}", buffer.index),
                        fmt::format("(uint8_t*)(uintptr_t)inputs[{}]", buffer.index),
                        BytesOf(metadata_.inputs[buffer.index]));
      case BufferKind::kOutput:
        return declared(fmt::format("out{}", buffer.index),
                        fmt::format("outputs[{}]", buffer.index),
                        BytesOf(metadata_.outputs[buffer.index]));
      case BufferKind::kWeight:
        return declared("weights",
                        fmt::format("(uint8_t*)(uintptr_t){}{}weights",
                                    model_.weights_in_file ? "memory->" : "",
                                    model_.weights_in_file ? "" : model_.name + "_"),
                        static_cast<int64_t>(model_.artefact.weights.bytes.size()));
      case BufferKind::kArena:
        memory_.insert(kArena);
        return {"arena", *plan_.arena_bytes.AsConstant()};
    }
    __builtin_unreachable();
  }

  // Returns the address of a buffer in C. One that moves with a loop's counter is checked first, as
  // the executor does.
  std::string AddressOf(BufferId id) {
    if (swapped_.contains(id)) return fmt::format("b{}", id);
    const PlanBuffer& buffer = plan_.buffers[id];
    Memory memory = MemoryOf(buffer);
    std::optional<int64_t> offset = buffer.offset.AsConstant();
    if (offset && buffer.bytes.AsConstant()) return Place(memory.name, *offset);
    std::string at = CSize(buffer.offset);
    Line("if (!within({}, {}, {})) {{", at, CSize(buffer.bytes), CInteger(memory.bytes));
    Line("  return {}_OUT_OF_BOUNDS;", absl::AsciiStrToUpper(model_.name));
    Line("}}");
    return fmt::format("{} + {}", memory.name, at);
  }

  const ExportedModel& model_;
  const Plan& plan_;
  const Metadata& metadata_;
  std::string indent_;
  std::string statements_;
  std::string code_;  // the statements without their comments
  std::set<std::string> memory_;
  std::set<BufferId> swapped_;
};

}  // namespace

std::string PlanSource(const ExportedModel& model) {
  const Artefact& artefact = model.artefact;
  BodyWriter writer(model);
  writer.CollectSwaps();
  writer.Write(artefact.plan.body);

  std::string text(kHead);
  if (model.math_functions != 0) text += "#include <math.h>\n";
  if (writer.Calls("copy_bytes(")) {
    text += "#if __STDC_HOSTED__\n#include <string.h>\n#endif\n";
  }
  if (model.HasKernels()) text += Filled(kMachineCheck, model) + RuntimeSource(model);
  if (model.HasWeights() && !model.weights_in_file) {
    text += "\nextern const uint8_t @name@_weights[];\n";
  }
  for (const Part& part : kParts) {
    if (writer.Calls(part.call)) text += part.definition;
  }
  text +=
      "\nint32_t @name@_run(const @name@_memory* memory, const void* const inputs[], "
      "void* const outputs[]) {\n"
      "  (void)memory;\n  (void)inputs;\n  (void)outputs;\n";
  text += writer.Declarations();
  if (model.HasKernels()) text += RuntimeVariable(model);
  text += writer.statements() + "  return 0;\n}\n";
  return Filled(text, model);
}

}  // namespace tcc
