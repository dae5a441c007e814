#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// Verifier profiles (verifier.h), not different types:
//   kTensor     one loop nest a Block, loops as the operator means them; what BuildLoopNest makes
//   kScheduled  after schedule steps: any loops, windows, bound threads; Tile variables may be free
//   kLowered    no Block or Reduce; flat buffers with one index; vectors; what a backend reads
enum class Level : uint8_t { kTensor, kScheduled, kLowered };

std::string_view ToString(Level level);
std::optional<Level> ParseLevel(std::string_view text);

// A kernel, or a symbolic program of one. Copying is cheap: everything inside is shared.
//
// Parameters are buffers: those the body stores to are outputs, the rest inputs. `vars` are the
// free Tile and Shape variables of the body in a fixed order; Shape variables are arguments at run
// time.
struct Function {
  std::string name;
  Level level = Level::kTensor;
  std::vector<Buffer> params;
  std::vector<Var> vars;
  Stmt body;
  // For people and reports (fused node names, ...); nothing semantic.
  std::map<std::string, std::string> attributes;
};

// The declaration of every buffer: parameters first, then Allocates in order of occurrence.
std::vector<Buffer> DeclaredBuffers(const Function& fn);
// nullptr if `var` is not declared in `fn`. The pointer lives as long as `fn`'s body.
const Buffer* FindBuffer(const Function& fn, const Var& var);
// Blocks in order of execution of their first instance (textual order).
std::vector<Ref<Block>> BlocksOf(const Stmt& body);
// Whether each iteration of `loop` writes cells of its own: the loop is the whole binding of a
// spatial variable that is an index of all that the leaf block writes. Such a loop may feed reduce
// variables too (partial results of a factored reduction) and have no order.
bool OwnsCells(const Block& block, const Var& loop);

}  // namespace tcc
