#include "bench/bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/write_text.h"
#include "codegen_llvm/toolchain.h"
#include "compiler/compile_graph.h"
#include "compiler/kernels.h"
#include "graph/variants/variants.h"
#include "models/zoo/graph_builder.h"
#include "models/zoo/transformer_builder.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/executor/executor.h"
#include "schedule/sketches/parts/sketch.h"
#include "support/random.h"

namespace tcc {
namespace {

using Extents = std::vector<int64_t>;

// A product: of a matrix and a constant one, or of images with channels last and windows of 3x3.
struct BitsProduct {
  std::string name;
  bool is_convolution = false;
  int64_t rows = 1;  // of the matrix; of a square image
  int64_t depth = 1;
  int64_t columns = 1;
};

// Rows of few terms and of many; the 3x3 convolutions of ResNet-18.
const std::vector<BitsProduct>& Products() {
  static const std::vector<BitsProduct> products = {
      {"row_512x512", false, 1, 512, 512},          {"row_1024x4096", false, 1, 1024, 4096},
      {"row_4096x4096", false, 1, 4096, 4096},      {"matmul_128x768x768", false, 128, 768, 768},
      {"matmul_512x512x512", false, 512, 512, 512}, {"matmul_128x3072x768", false, 128, 3072, 768},
      {"conv_3x3_56_64", true, 56, 64, 64},         {"conv_3x3_28_128", true, 28, 128, 128},
      {"conv_3x3_14_256", true, 14, 256, 256},      {"conv_3x3_7_512", true, 7, 512, 512},
  };
  return products;
}

// A form of products: f32, or integers from a range each.
struct Form {
  const char* name;
  bool is_float = false;
  int64_t most = 0;              // of the data; the least one is 0
  std::vector<int64_t> weights;  // the values of the weight
  bool has_planes = false;       // whether bit planes multiply
};

std::vector<int64_t> Integers(int64_t low, int64_t high) {
  std::vector<int64_t> integers(static_cast<size_t>(high - low + 1));
  std::iota(integers.begin(), integers.end(), low);
  return integers;
}

std::vector<Form> Forms() {
  const std::vector<int64_t> bipolar = {-1, 1};
  return {
      {"f32", true, 0, {}, false},
      {"int8", false, 255, Integers(-127, 127), false},
      {"1x1", false, 1, bipolar, true},
      {"2x1", false, 3, bipolar, true},
      {"1x2", false, 1, Integers(-2, 1), true},
      {"2x2", false, 3, Integers(-2, 1), true},
      {"3x2", false, 7, Integers(-2, 1), true},
      {"4x2", false, 15, Integers(-2, 1), true},
      {"4x4", false, 15, Integers(-8, 7), true},
  };
}

constexpr size_t kBytes = 1;  // the form that others are compared with

Extents DataShape(const BitsProduct& product) {
  const auto& [name, is_convolution, rows, depth, columns] = product;
  return is_convolution ? Extents{1, rows, rows, depth} : Extents{rows, depth};
}

Tensor DataOf(const BitsProduct& product, const Form& form) {
  const DType type = form.is_float ? kFloat32 : DType(DTypeCode::kUInt8);
  Tensor data = MakeZeroTensor(type, DataShape(product));
  Random random(3);
  for (int64_t i = 0; i < ElementCount(data.shape).value(); ++i) {
    if (form.is_float) {
      SetElement(data, i, random.Unit() * 2 - 1);
    } else {
      SetElementInt(data, i, random.Between(0, form.most));
    }
  }
  return data;
}

Tensor WeightOf(const Extents& shape, const Form& form) {
  Tensor weight = MakeZeroTensor(form.is_float ? kFloat32 : DType(DTypeCode::kInt8), shape);
  Random random(4);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    if (form.is_float) {
      SetElement(weight, i, random.Unit() * 2 - 1);
    } else {
      SetElementInt(weight, i, form.weights[random.Below(form.weights.size())]);
    }
  }
  return weight;
}

Graph GraphOf(const BitsProduct& product, const Form& form) {
  const auto& [name, is_convolution, rows, depth, columns] = product;
  const DType type = form.is_float ? kFloat32 : DType(DTypeCode::kUInt8);
  const DType sums = form.is_float ? kFloat32 : kInt32;
  GraphBuilder net(name, 1);
  const ValueId input = net.Input("x", DataShape(product));
  ValueId x = input;
  if (form.has_planes) {
    auto bound = [&](const char* label, int64_t value) {
      Tensor number = MakeZeroTensor(type, {});
      SetElementInt(number, 0, value);
      return net.Constant(label, number);
    };
    x = net.Emit("few", OpKind::kClip, {x, bound("low", 0), bound("high", form.most)}, {}, type);
  }
  if (is_convolution) {
    x = net.Emit("first", OpKind::kTranspose, {x}, {{"perm", Extents{0, 3, 1, 2}}}, type);
    const ValueId w = net.Constant("w", WeightOf({columns, depth, 3, 3}, form));
    ValueId y = net.Emit("y", form.is_float ? OpKind::kConv : OpKind::kConvInteger, {x, w},
                         {{"pads", Extents(4, 1)}}, sums);
    y = net.Emit("last", OpKind::kTranspose, {y}, {{"perm", Extents{0, 2, 3, 1}}}, sums);
    net.Output(y, {1, rows, rows, columns});
  } else {
    const ValueId w = net.Constant("w", WeightOf({depth, columns}, form));
    const OpKind op = form.is_float ? OpKind::kMatMul : OpKind::kMatMulInteger;
    net.Output(net.Emit("y", op, {x, w}, {}, sums), {rows, columns});
  }
  Graph graph = net.Take();
  graph.values[input].dtype = type;
  return graph;
}

// Schedules the product by its bit planes. Returns whether it has them.
StatusOr<bool> TakePlanes(const Graph& graph, CompileOptions& options) {
  TCC_ASSIGN_OR_RETURN(KernelSet set, KernelsOf(graph, options));
  for (const KernelStages& kernel : set.kernels) {
    for (size_t v = 0; v < kernel.variants.size(); ++v) {
      if (PlanePairsOf(kernel.variants[v]) == 0) continue;
      Sketch sketch = FirstSketch(kernel.variants[v], options.target);
      options.schedules[kernel.symbol] = {std::move(sketch.trace), std::move(sketch.start), v};
      return true;
    }
  }
  return false;
}

// Schedules the product by another variant than bit planes, as it would be without them.
Status TakeBytes(const Graph& graph, CompileOptions& options) {
  TCC_ASSIGN_OR_RETURN(KernelSet set, KernelsOf(graph, options));
  for (const KernelStages& kernel : set.kernels) {
    if (PlanePairsOf(kernel.variants[kernel.first_variant]) == 0) continue;
    Sketch sketch = FirstSketch(kernel.variants[0], options.target);
    options.schedules[kernel.symbol] = {std::move(sketch.trace), std::move(sketch.start), 0};
  }
  return OkStatus();
}

// A compiled product with its buffers.
class Contestant {
 public:
  static StatusOr<std::unique_ptr<Contestant>> Create(const Artefact& artefact, Tensor data,
                                                      const std::shared_ptr<ThreadPool>& pool) {
    LoadOptions load;
    load.pool = pool;
    TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(artefact, load));
    std::vector<Tensor> outputs;
    for (const TensorInfo& info : artefact.metadata.outputs) {
      outputs.push_back(MakeZeroTensor(info.dtype, *StaticShape(info)));
    }
    return std::unique_ptr<Contestant>(
        new Contestant(std::move(module), std::move(data), std::move(outputs)));
  }

  void Run() { status_.Update(executor_.RunInto(inputs_, outputs_)); }
  const Status& status() const { return status_; }
  const Tensor& output() const { return outputs_[0]; }

 private:
  Contestant(Module module, Tensor data, std::vector<Tensor> outputs)
      : executor_(std::move(module)), inputs_{std::move(data)}, outputs_(std::move(outputs)) {}

  Executor executor_;
  std::vector<Tensor> inputs_, outputs_;
  Status status_;
};

// A form of a product as machine code; without planes where it has none.
struct CompiledForm {
  Form form;
  std::optional<Artefact> artefact;
};

// Checks that the planes give the integers that products of bytes do.
Status CheckPlanes(const BitsProduct& product, const CompiledForm& planes, const Target& target) {
  CompileOptions options{.target = target};
  const Graph graph = GraphOf(product, planes.form);
  TCC_RETURN_IF_ERROR(TakeBytes(graph, options));
  TCC_ASSIGN_OR_RETURN(Artefact bytes, CompileGraph(graph, options));
  const auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 1});
  std::vector<std::unique_ptr<Contestant>> both;
  for (const Artefact* artefact : std::array<const Artefact*, 2>{&bytes, &*planes.artefact}) {
    TCC_ASSIGN_OR_RETURN(both.emplace_back(),
                         Contestant::Create(*artefact, DataOf(product, planes.form), pool));
    both.back()->Run();
    TCC_RETURN_IF_ERROR(both.back()->status());
  }
  if (std::ranges::equal(both[0]->output().bytes, both[1]->output().bytes)) return OkStatus();
  return absl::DataLossError(fmt::format("{}: bit planes of {} give other integers than bytes do",
                                         product.name, planes.form.name));
}

StatusOr<std::vector<CompiledForm>> CompileForms(const BitsProduct& product, const Target& target) {
  std::vector<CompiledForm> compiled;
  for (const Form& form : Forms()) {
    CompiledForm& made = compiled.emplace_back(CompiledForm{form, {}});
    CompileOptions options{.target = target};
    const Graph graph = GraphOf(product, form);
    if (form.has_planes) {
      TCC_ASSIGN_OR_RETURN(bool has_planes, TakePlanes(graph, options));
      if (!has_planes) continue;
    }
    TCC_ASSIGN_OR_RETURN(made.artefact, CompileGraph(graph, options));
    if (form.has_planes) TCC_RETURN_IF_ERROR(CheckPlanes(product, made, target));
  }
  return compiled;
}

struct FormTime {
  std::string form;
  std::optional<double> microseconds;
};

StatusOr<std::vector<FormTime>> Measure(const BitsProduct& product,
                                        const std::vector<CompiledForm>& forms, int threads,
                                        int rounds) {
  const auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = threads});
  std::vector<std::unique_ptr<Contestant>> contestants;
  std::vector<std::function<void()>> runs;
  for (const CompiledForm& form : forms) {
    if (!form.artefact) continue;
    TCC_ASSIGN_OR_RETURN(contestants.emplace_back(),
                         Contestant::Create(*form.artefact, DataOf(product, form.form), pool));
    runs.emplace_back([contestant = contestants.back().get()] { contestant->Run(); });
  }
  const std::vector<double> seconds = LeastSeconds(runs, rounds);
  for (const auto& contestant : contestants) TCC_RETURN_IF_ERROR(contestant->status());
  std::vector<FormTime> times;
  auto next = seconds.begin();
  for (const CompiledForm& form : forms) {
    FormTime& time = times.emplace_back(FormTime{form.form.name, {}});
    if (form.artefact) time.microseconds = *next++ * 1e6;
  }
  return times;
}

std::string Line(const BitsProduct& product, int threads, const std::vector<FormTime>& times) {
  const double bytes = times[kBytes].microseconds.value();
  std::string line = fmt::format("| {:<20} | {:>7} | {:>9.1f} |", product.name, threads, bytes);
  for (size_t f = 0; f < times.size(); ++f) {
    if (f == kBytes) continue;
    const auto& time = times[f].microseconds;
    line += time ? fmt::format(" {:>5.2f} |", *time / bytes) : fmt::format(" {:>5} |", "-");
  }
  return line;
}

std::string Header() {
  std::string first = fmt::format("| {:<20} | threads | {:>9} |", "time / int8's", "int8, us");
  std::string second = "|---|---|---|";
  const std::vector<Form> forms = Forms();
  for (size_t f = 0; f < forms.size(); ++f) {
    if (f == kBytes) continue;
    first += fmt::format(" {:>5} |", forms[f].name);
    second += "---|";
  }
  return first + "\n" + second;
}

nlohmann::json ToJson(const BitsProduct& product, int threads, const std::vector<FormTime>& times) {
  nlohmann::json entry = {{"name", product.name}, {"threads", threads}};
  for (const FormTime& time : times) {
    entry[time.form + "_us"] = time.microseconds ? nlohmann::json(*time.microseconds) : nullptr;
  }
  return entry;
}

}  // namespace

Status RunBitsSuite(const BitsSuiteOptions& options) {
  TCC_ASSIGN_OR_RETURN(const Target target, FindTarget(options.target));
  if (target.kind != TargetKind::kCpu || target.arch != kHostArch) {
    return UsageError("suite '{}' is for this CPU, not {}", kBitsSuite, target.name);
  }
  const std::string cpu = CpuModelName();
  const bool prints = options.json != "";
  if (prints) {
    fmt::print("{}, {}\n{}\n", cpu.empty() ? HostCpuName() : cpu, target.name, Header());
  }
  nlohmann::json rows = nlohmann::json::array();
  bool has_product = false;
  for (const BitsProduct& product : Products()) {
    if (!options.product.empty() && options.product != product.name) continue;
    has_product = true;
    TCC_ASSIGN_OR_RETURN(std::vector<CompiledForm> forms, CompileForms(product, target));
    for (int threads : options.threads) {
      TCC_ASSIGN_OR_RETURN(std::vector<FormTime> times,
                           Measure(product, forms, threads, options.rounds));
      if (prints) fmt::print("{}\n", Line(product, threads, times));
      std::fflush(stdout);
      rows.push_back(ToJson(product, threads, times));
    }
  }
  if (!has_product) {
    return UsageError("no kernel '{}' in suite '{}'", options.product, kBitsSuite);
  }
  return options.json ? WriteText(rows.dump(2) + "\n", *options.json) : OkStatus();
}

}  // namespace tcc
