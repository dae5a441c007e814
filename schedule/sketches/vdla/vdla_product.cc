#include "schedule/sketches/vdla/vdla_product.h"

#include <algorithm>
#include <set>

#include "ir/analysis/accesses.h"
#include "ir/analysis/affine.h"
#include "ir/expr/combiner.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/placement.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"

namespace tcc {
namespace {

const Load* LoadedByte(const Expr& value) {
  const auto* cast = value.as<Cast>();
  const auto* load = cast && cast->dtype == kInt32 ? cast->value.as<Load>() : nullptr;
  return load && load->dtype == DType{DTypeCode::kInt8} ? load : nullptr;
}

// Reads the parts of a product out of its block.
class ProductReader {
 public:
  ProductReader(const Function& fn, const Block& block) : fn_(fn), block_(block) {
    found_.block = Ref<Block>(&block);
  }

  std::optional<VdlaProduct> Read() {
    const auto* reduce = block_.body.as<Reduce>();
    const bool sums = reduce && reduce->inputs.size() == 1 && HasKnownExtents(block_) &&
                      WritesPlainly(block_) && reduce->combiner.get() == SumCombiner(kInt32).get();
    const auto* product = sums ? reduce->inputs[0].as<Mul>() : nullptr;
    const Load* data = product ? LoadedByte(product->a) : nullptr;
    const Load* weight = product ? LoadedByte(product->b) : nullptr;
    if (!data || !weight || !ReadBuffers(*data, *weight)) return std::nullopt;
    if (!ReadBlocks(*data, *weight) || !ReadWindow(*data)) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool ReadBuffers(const Load& data, const Load& weight) {
    const std::vector<Access> writes = WritesOf(block_);
    const Block* maker = OnlyMapInto(fn_, data.buffer);
    if (IsParameter(fn_, data.buffer) || !maker || OnlyReaderOf(fn_, data.buffer) != &block_ ||
        IsParameter(fn_, writes[0].buffer)) {
      return false;
    }
    const Block* reader = OnlyReaderOf(fn_, writes[0].buffer);
    if (!reader || IsReduction(*reader)) return false;
    ReadResult(*reader, writes[0].buffer);
    found_.data = *FindBuffer(fn_, data.buffer);
    found_.weight = *FindBuffer(fn_, weight.buffer);
    found_.sums = *FindBuffer(fn_, writes[0].buffer);
    found_.data_block = maker->name;
    found_.result_block = reader->name;
    return true;
  }

  // Counts the bytes of results and the floats for each channel that make them of the sums.
  void ReadResult(const Block& reader, const Var& sums) {
    found_.work.result_bytes = WritesOf(reader)[0].buffer.dtype().bytes();
    found_.work.operands = std::ranges::count_if(
        ReadsOf(reader), [&](const Access& read) { return !(read.buffer == sums); });
  }

  // Returns the position of the variable that the index is, if it has `extent`.
  std::optional<size_t> IterAt(const std::vector<Expr>& indices, size_t from_last,
                               std::optional<int64_t> extent = {}) const {
    if (indices.size() <= from_last) return std::nullopt;
    const Expr& index = indices[indices.size() - 1 - from_last];
    for (size_t i = 0; i < block_.iters.size(); ++i) {
      if (!index.same_as(block_.iters[i].var)) continue;
      return !extent || ExtentOf(block_, i) == *extent ? std::optional(i) : std::nullopt;
    }
    return std::nullopt;
  }

  // Finds the variables of blocks and of places in them.
  bool ReadBlocks(const Load& data, const Load& weight) {
    const std::vector<Expr> out = WritesOf(block_)[0].indices;
    const auto input = IterAt(data.indices, 0, kVdlaBlock), input_block = IterAt(data.indices, 1);
    const auto output = IterAt(out, 0, kVdlaBlock), output_block = IterAt(out, 1);
    if (!input || !input_block || !output || !output_block) return false;
    found_.input = *input;
    found_.input_block = *input_block;
    found_.output = *output;
    found_.output_block = *output_block;
    found_.work.input_blocks = ExtentOf(block_, *input_block);
    found_.work.output_blocks = ExtentOf(block_, *output_block);
    const auto is_reduced = [&](size_t i) { return block_.iters[i].kind == IterKind::kReduce; };
    return is_reduced(*input) && is_reduced(*input_block) && IterAt(weight.indices, 0) == input &&
           IterAt(weight.indices, 1) == output && IterAt(weight.indices, 2) == input_block;
  }

  // Reads an index of the operand, a pixel times a stride plus a tap times a dilation.
  bool ReadIndex(const Expr& index, std::optional<size_t>& pixel, VdlaPixels& pixels) {
    std::vector<Var> vars;
    for (const IterVar& iter : block_.iters) vars.push_back(iter.var);
    const std::optional<AffineForm> form = ToAffine(index, vars);
    if (!form || !IsConstant(Simplify(form->rest), 0)) return false;
    for (size_t v = 0; v < form->vars.size(); ++v) {
      const size_t i = std::ranges::find(vars, form->vars[v]) - vars.begin();
      const std::optional<int64_t> factor = AsConstant(Simplify(form->coefficients[v]));
      if (!factor || *factor < 1) return false;
      if (block_.iters[i].kind == IterKind::kReduce) {
        if (pixels.taps > 1) return false;
        found_.taps.push_back(i);
        pixels.taps = ExtentOf(block_, i);
        pixels.dilation = *factor;
      } else {
        if (pixel) return false;
        pixel = i;
        pixels.extent = ExtentOf(block_, i);
        pixels.stride = *factor;
      }
    }
    return true;
  }

  // Adds axes of one place that no index of the operand has, a batch of 1 among them, to the
  // images. Returns whether every variable has been met then.
  bool MeetRest(const std::vector<size_t>& pixels) {
    std::set<size_t> met(pixels.begin(), pixels.end());
    met.insert(found_.taps.begin(), found_.taps.end());
    met.insert({found_.input_block, found_.input, found_.output_block, found_.output});
    for (size_t i = 0; i < block_.iters.size(); ++i) {
      if (met.contains(i)) continue;
      if (ExtentOf(block_, i) != 1 || block_.iters[i].kind == IterKind::kReduce) return false;
      found_.images.insert(found_.images.begin(), i);
    }
    return true;
  }

  // Finds the pixels, the last two of which are tiled, and the taps.
  bool ReadWindow(const Load& data) {
    std::vector<VdlaPixels> all;
    std::vector<size_t> pixels;
    for (size_t d = 0; d + 2 < data.indices.size(); ++d) {
      std::optional<size_t> pixel;
      VdlaPixels read;
      if (!ReadIndex(data.indices[d], pixel, read)) return false;
      if (!pixel) {
        found_.work.other_taps *= read.taps;
        continue;
      }
      all.push_back(read);
      pixels.push_back(*pixel);
    }
    for (size_t p = 0; p < pixels.size(); ++p) {
      if (p + 2 < pixels.size()) {
        found_.images.push_back(pixels[p]);
        found_.work.images *= all[p].extent;
        found_.work.other_taps *= all[p].taps;
        continue;
      }
      found_.pixels.push_back(pixels[p]);
      (found_.pixels.size() == 1 && pixels.size() > 1 ? found_.work.rows : found_.work.columns) =
          all[p];
    }
    return MeetRest(pixels);
  }

  const Function& fn_;
  const Block& block_;
  VdlaProduct found_;
};

}  // namespace

std::optional<VdlaProduct> FindVdlaProduct(const Function& fn, const Block& block) {
  if (IsReduction(block)) return ProductReader(fn, block).Read();
  const std::vector<Access> writes = WritesOf(block);
  if (writes.size() != 1 || IsParameter(fn, writes[0].buffer)) return std::nullopt;
  const Block* reader = OnlyReaderOf(fn, writes[0].buffer);
  return reader && IsReduction(*reader) ? ProductReader(fn, *reader).Read() : std::nullopt;
}

}  // namespace tcc
