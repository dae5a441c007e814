#pragma once

// Forward declarations for headers: LLVM's own headers are included in .cc files only.
namespace llvm {
class AllocaInst;
class BasicBlock;
class Function;
class IRBuilderBase;
class LLVMContext;
class MDNode;
class Module;
class TargetMachine;
class Type;
class Value;
struct Align;
}  // namespace llvm
