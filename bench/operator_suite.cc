#include "bench/operator_suite.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "models/zoo/zoo.h"
#include "support/check.h"

namespace tcc {

// The content of bench/suites/roller.csv, which is linked in (CMakeLists.txt).
extern const char* const kRollerCsv;

namespace {

struct MatmulRow {
  int64_t rows, columns, depth;
};

// Squares; ViT-B/16 and BERT base with 197 and 128 tokens; LLaMA 7B's projections with 128 tokens;
// few rows, few columns, few terms.
constexpr MatmulRow kMatmuls[] = {
    {512, 512, 512},    {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
    {8192, 8192, 8192}, {197, 768, 768},    {197, 2304, 768},   {197, 3072, 768},
    {197, 768, 3072},   {128, 768, 768},    {128, 3072, 768},   {128, 768, 3072},
    {128, 4096, 4096},  {128, 11008, 4096}, {128, 4096, 11008}, {1, 4096, 4096},
    {1, 11008, 4096},   {16, 4096, 4096},   {4096, 16, 4096},   {100, 4096, 4096},
    {65536, 64, 64},    {64, 64, 65536},    {1000, 1000, 1000}, {331, 331, 331},
};

struct ConvolutionRow {
  int64_t side, channels, filters, kernel, stride, groups;
};

// He et al. 2015, table 1, the stride in the 3x3 layer (version 1.5).
constexpr ConvolutionRow kResnet50[] = {
    {224, 3, 64, 7, 2, 1},    {56, 64, 64, 1, 1, 1},    {56, 64, 64, 3, 1, 1},
    {56, 64, 256, 1, 1, 1},   {56, 256, 64, 1, 1, 1},   {56, 256, 128, 1, 1, 1},
    {56, 128, 128, 3, 2, 1},  {28, 128, 512, 1, 1, 1},  {56, 256, 512, 1, 2, 1},
    {28, 512, 128, 1, 1, 1},  {28, 128, 128, 3, 1, 1},  {28, 512, 256, 1, 1, 1},
    {28, 256, 256, 3, 2, 1},  {14, 256, 1024, 1, 1, 1}, {28, 512, 1024, 1, 2, 1},
    {14, 1024, 256, 1, 1, 1}, {14, 256, 256, 3, 1, 1},  {14, 1024, 512, 1, 1, 1},
    {14, 512, 512, 3, 2, 1},  {7, 512, 2048, 1, 1, 1},  {14, 1024, 2048, 1, 2, 1},
    {7, 2048, 512, 1, 1, 1},  {7, 512, 512, 3, 1, 1},
};

// Sandler et al. 2018, table 2.
constexpr ConvolutionRow kMobilenetV2[] = {
    {224, 3, 32, 3, 2, 1},     {112, 32, 32, 3, 1, 32},   {112, 32, 16, 1, 1, 1},
    {112, 16, 96, 1, 1, 1},    {112, 96, 96, 3, 2, 96},   {56, 96, 24, 1, 1, 1},
    {56, 24, 144, 1, 1, 1},    {56, 144, 144, 3, 1, 144}, {56, 144, 24, 1, 1, 1},
    {56, 144, 144, 3, 2, 144}, {28, 144, 32, 1, 1, 1},    {28, 32, 192, 1, 1, 1},
    {28, 192, 192, 3, 1, 192}, {28, 192, 32, 1, 1, 1},    {28, 192, 192, 3, 2, 192},
    {14, 192, 64, 1, 1, 1},    {14, 64, 384, 1, 1, 1},    {14, 384, 384, 3, 1, 384},
    {14, 384, 64, 1, 1, 1},    {14, 384, 96, 1, 1, 1},    {14, 96, 576, 1, 1, 1},
    {14, 576, 576, 3, 1, 576}, {14, 576, 96, 1, 1, 1},    {14, 576, 576, 3, 2, 576},
    {7, 576, 160, 1, 1, 1},    {7, 160, 960, 1, 1, 1},    {7, 960, 960, 3, 1, 960},
    {7, 960, 160, 1, 1, 1},    {7, 960, 320, 1, 1, 1},    {7, 320, 1280, 1, 1, 1},
};

constexpr AttentionOp kAttention[] = {
    {1, 12, 197, 64},  {16, 12, 197, 64},  {1, 12, 128, 64},   {16, 12, 512, 64},
    {1, 32, 128, 128}, {1, 32, 2048, 128}, {4, 32, 1024, 128},
};

struct RowsRow {
  int64_t rows, columns;
};

constexpr RowsRow kRows[] = {
    {197, 768},    {2364, 197},   {1536, 128},   {65536, 128},    {65536, 1024},
    {16384, 4096}, {4096, 50257}, {128, 262144}, {1, 16'777'216}, {331, 331},
};

BenchOperator Matmul(const MatmulOp& op) {
  std::string batch = op.batch == 1 ? "" : fmt::format("{}x", op.batch);
  return {fmt::format("matmul_{}{}x{}x{}", batch, op.rows, op.columns, op.depth), op};
}

BenchOperator Convolution(const ConvolutionRow& row, int64_t batch) {
  WindowShape window{.batch = batch,
                     .channels = row.channels,
                     .height = row.side,
                     .width = row.side,
                     .kernel = row.kernel,
                     .stride = row.stride};
  window.top = window.left = window.bottom = window.right = row.kernel / 2;
  std::string groups = row.groups == 1 ? "" : "dw_";
  return {fmt::format("conv_{}{}x{}_{}_{}_{}s{}_n{}", groups, row.kernel, row.kernel, row.channels,
                      row.filters, row.side, row.stride, batch),
          ConvolutionOp{window, row.filters, row.groups, true, true}};
}

BenchOperator Attention(const AttentionOp& op) {
  return {fmt::format("attention_{}x{}x{}x{}", op.batch, op.heads, op.tokens, op.depth), op};
}

void AddRows(std::vector<BenchOperator>& suite, const RowsRow& row) {
  std::string shape = fmt::format("{}x{}", row.rows, row.columns);
  suite.push_back({"softmax_" + shape, SoftmaxOp{row.rows, row.columns}});
  suite.push_back({"layer_norm_" + shape, LayerNormOp{row.rows, row.columns}});
  suite.push_back({"sum_" + shape, ReduceSumOp{{row.rows, row.columns}, {1}, false}});
}

std::vector<BenchOperator> Matmuls() {
  std::vector<BenchOperator> suite;
  for (const MatmulRow& row : kMatmuls) {
    suite.push_back(Matmul({1, row.rows, row.columns, row.depth}));
  }
  suite.push_back(Matmul({12, 197, 197, 64}));
  suite.push_back(Matmul({192, 512, 64, 512}));
  return suite;
}

std::vector<BenchOperator> Convolutions(std::span<const ConvolutionRow> rows) {
  std::vector<BenchOperator> suite;
  for (int64_t batch : {int64_t{1}, int64_t{32}}) {
    for (const ConvolutionRow& row : rows) suite.push_back(Convolution(row, batch));
  }
  return suite;
}

std::vector<BenchOperator> Resnet50() {
  return Convolutions(kResnet50);
}

std::vector<BenchOperator> MobilenetV2() {
  return Convolutions(kMobilenetV2);
}

std::vector<BenchOperator> Attentions() {
  std::vector<BenchOperator> suite;
  for (const AttentionOp& op : kAttention) suite.push_back(Attention(op));
  return suite;
}

std::vector<BenchOperator> Rows() {
  std::vector<BenchOperator> suite;
  for (const RowsRow& row : kRows) AddRows(suite, row);
  return suite;
}

std::vector<BenchOperator> Zoo(bool small) {
  std::vector<BenchOperator> suite;
  for (const std::string& name : ZooNames()) suite.push_back({name, NetworkOp{name, small}});
  return suite;
}

std::vector<BenchOperator> Networks() {
  return Zoo(false);
}

std::vector<BenchOperator> SmallNetworks() {
  return Zoo(true);
}

std::vector<BenchOperator> Smoke() {
  WindowShape image{.batch = 2, .channels = 4, .height = 7, .width = 9, .kernel = 3};
  image.top = image.left = image.bottom = 1;
  WindowShape pool = image;
  pool.stride = 2;
  pool.right = 1;
  std::vector<BenchOperator> suite = {
      Matmul({1, 33, 20, 17}),
      Matmul({3, 8, 12, 10}),
      {"conv", ConvolutionOp{image, 8, 1, false}},
      Convolution({8, 8, 8, 3, 2, 8}, 1),
      {"average_pool", AveragePoolOp{pool}},
      {"relu", ReluOp{{2, 3, 50}}},
      {"sum_2_3", ReduceSumOp{{3, 5, 4, 6}, {2, 3}, true}},
      Attention({1, 2, 10, 8}),
  };
  AddRows(suite, {5, 70});
  suite.push_back({"dqn", NetworkOp{"dqn", true}});
  return suite;
}

// A line of numbers and words; a field that is not there is "" or 0.
class CsvRow {
 public:
  CsvRow(std::string_view header, std::string_view line) : names_(Fields(header, ',')) {
    values_ = Fields(line, ',');
    TCC_CHECK(names_.size() == values_.size()) << std::string(line);
  }

  std::string_view Text(std::string_view name) const {
    auto at = std::ranges::find(names_, name);
    TCC_CHECK(at != names_.end()) << std::string(name);
    return values_[static_cast<size_t>(at - names_.begin())];
  }
  int64_t Number(std::string_view name) const { return ToNumber(Text(name)); }
  std::vector<int64_t> Numbers(std::string_view name, char separator) const {
    std::vector<int64_t> numbers;
    for (const std::string& field : Fields(Text(name), separator))
      numbers.push_back(ToNumber(field));
    return numbers;
  }

 private:
  static std::vector<std::string> Fields(std::string_view line, char separator) {
    return absl::StrSplit(std::string(line), separator);
  }
  static int64_t ToNumber(std::string_view text) {
    int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }

  std::vector<std::string> names_, values_;
};

WindowShape WindowOf(const CsvRow& row) {
  return {.batch = row.Number("batch"),
          .channels = row.Number("channels"),
          .height = row.Number("height"),
          .width = row.Number("width"),
          .kernel = row.Number("kernel"),
          .stride = row.Number("stride"),
          .top = row.Number("pad_top"),
          .left = row.Number("pad_left"),
          .bottom = row.Number("pad_bottom"),
          .right = row.Number("pad_right")};
}

OperatorKind KindOf(const CsvRow& row) {
  std::string_view op = row.Text("op");
  if (op == "conv2d") return ConvolutionOp{WindowOf(row), row.Number("filters"), 1, false};
  if (op == "depthwise_conv2d") {
    return ConvolutionOp{WindowOf(row), row.Number("filters"), row.Number("channels"), false};
  }
  if (op == "avg_pool2d") return AveragePoolOp{WindowOf(row)};
  if (op == "relu") {
    return ReluOp{
        {row.Number("batch"), row.Number("channels"), row.Number("height"), row.Number("width")}};
  }
  if (op == "reduce_sum") {
    return ReduceSumOp{row.Numbers("shape", 'x'), row.Numbers("axes", '|'),
                       row.Number("keepdims") == 1};
  }
  TCC_CHECK(op == "matmul") << std::string(op);
  return MatmulOp{1, row.Number("rows"), row.Number("columns"), row.Number("depth")};
}

std::vector<BenchOperator> Roller() {
  std::string_view text = kRollerCsv;
  std::vector<BenchOperator> suite;
  size_t end = text.find('\n');
  std::string_view header = text.substr(0, end);
  for (size_t begin = end + 1; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    CsvRow row(header, text.substr(begin, end - begin));
    suite.push_back({std::string(row.Text("id")), KindOf(row)});
  }
  return suite;
}

struct SuiteRow {
  std::string_view name;
  std::vector<BenchOperator> (*make)();
};

constexpr SuiteRow kSuites[] = {
    {"roller", Roller},
    {"matmul", Matmuls},
    {"resnet50", Resnet50},
    {"attention", Attentions},
    {"mobilenet_v2", MobilenetV2},
    {"rows", Rows},
    {"networks", Networks},
    {"networks_small", SmallNetworks},
    {"smoke", Smoke},
};

}  // namespace

std::vector<BenchOperator> OperatorSuite(std::string_view name) {
  for (const SuiteRow& row : kSuites) {
    if (row.name == name) return row.make();
  }
  return {};
}

std::string_view OperatorSuiteNames() {
  return "roller, matmul, resnet50, mobilenet_v2, attention, rows, networks, networks_small, smoke";
}

}  // namespace tcc
