// Symbols that Debian's archives of LLVM and LLD refer to and a program for x86-64 does without.

#include <cstdlib>

// X86 has initialisers of its own, in the archives.
#define LLVMInitializeX86TargetInfo LLVMInitializeNoTargetInfo
#define LLVMInitializeX86Target LLVMInitializeNoTarget
#define LLVMInitializeX86TargetMC LLVMInitializeNoTargetMC
#define LLVMInitializeX86AsmPrinter LLVMInitializeNoAsmPrinter
#define LLVMInitializeX86AsmParser LLVMInitializeNoAsmParser

// LLD initialises every target, which would link 20 code generators: 107 MB instead of 46.
#define LLVM_TARGET(name)                    \
  void LLVMInitialize##name##TargetInfo() {} \
  void LLVMInitialize##name##Target() {}     \
  void LLVMInitialize##name##TargetMC() {}   \
  void LLVMInitialize##name##AsmPrinter() {} \
  void LLVMInitialize##name##AsmParser() {}

extern "C" {
#include <llvm/Config/Targets.def>
}

// LTO calls it when it is told to use Polly.
void getPollyPluginInfo() {
  abort();
}
