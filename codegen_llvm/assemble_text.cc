#include "codegen_llvm/assemble_text.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen_llvm/target_machine.h"

namespace tcc {
namespace {

Status Refused(const std::string& what) {
  return absl::InternalError("LLVM refuses what was printed: " + what);
}

Status ParseSource(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (!module) {
    error.print("", stream, false);
    return Refused(stream.str());
  }
  if (llvm::verifyModule(*module, &stream)) return Refused(stream.str());
  return OkStatus();
}

// The object that the assembler makes goes nowhere.
Status Assemble(const std::string& text, const llvm::TargetMachine& machine) {
  llvm::InitializeNativeTargetAsmParser();
  std::string message;
  llvm::SourceMgr source;
  source.setDiagHandler(
      [](const llvm::SMDiagnostic& diagnostic, void* out) {
        llvm::raw_string_ostream stream(*static_cast<std::string*>(out));
        diagnostic.print("", stream, false);
      },
      &message);
  source.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());

  const llvm::Target& backend = machine.getTarget();
  const llvm::MCSubtargetInfo& subtarget = *machine.getMCSubtargetInfo();
  llvm::MCContext context(machine.getTargetTriple(), machine.getMCAsmInfo(),
                          machine.getMCRegisterInfo(), &subtarget, &source);
  std::unique_ptr<llvm::MCObjectFileInfo> file_info(
      backend.createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(file_info.get());

  llvm::MCTargetOptions options;
  llvm::raw_null_ostream nowhere;
  std::unique_ptr<llvm::MCAsmBackend> assembler(
      backend.createMCAsmBackend(subtarget, *machine.getMCRegisterInfo(), options));
  std::unique_ptr<llvm::MCObjectWriter> writer = assembler->createObjectWriter(nowhere);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(
      backend.createMCCodeEmitter(*machine.getMCInstrInfo(), context));
  std::unique_ptr<llvm::MCStreamer> streamer(
      backend.createMCObjectStreamer(machine.getTargetTriple(), context, std::move(assembler),
                                     std::move(writer), std::move(emitter), subtarget));

  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(source, context, *streamer, *machine.getMCAsmInfo()));
  std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      backend.createMCAsmParser(subtarget, *parser, *machine.getMCInstrInfo(), options));
  parser->setTargetParser(*target_parser);
  if (parser->Run(/*NoInitialTextSection=*/false)) return Refused(message);
  return OkStatus();
}

}  // namespace

Status AssembleText(const std::string& text, const std::string& stage, const Target& target) {
  if (stage == "source") return ParseSource(text);
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, CreateTargetMachine(target));
  return Assemble(text, *machine);
}

}  // namespace tcc
