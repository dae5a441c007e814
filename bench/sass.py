"""The machine code of kernels (SASS), read from what nvdisasm prints."""

import dataclasses
import re

KERNEL = re.compile(r"\.text\.(\S+):")
LABEL = re.compile(r"(\S+):")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:(@!?U?P[0-9T])\s+)?([^\s;]+)\s*([^;]*);")
TARGET = re.compile(r"`\((\S+)\)|BRANCH_TARGETS ([^\s\"]+)")  # the first of a jump table
DOES_NOTHING = "@!PT"  # ptxas pads with loads that no lane executes

# What counts as which class, by the opcode's first part.
CLASSES = {"FFMA": "FFMA", "HMMA": "HMMA", "HGMMA": "HMMA", "IMMA": "HMMA", "IGMMA": "HMMA",
           "LDS": "LDS", "LDSM": "LDS", "LDGSTS": "LDGSTS", "BAR": "BAR", "MUFU": "MUFU"}
CLASS_NAMES = [*dict.fromkeys(CLASSES.values()), "other"]


@dataclasses.dataclass(frozen=True)
class Instruction:
    guard: str  # "", or "@P0", "@!UP3"
    opcode: str
    operands: tuple

    @property
    def base(self):
        return self.opcode.split(".")[0]

    @property
    def opcode_class(self):
        return "other" if self.guard == DOES_NOTHING else CLASSES.get(self.base, "other")


@dataclasses.dataclass
class Code:
    """A kernel's instructions; a label is the index of the instruction behind it."""
    instructions: list
    labels: dict

    def target(self, i):
        """The index that the branch or call at `i` goes to; None without a label."""
        found = TARGET.search(" ".join(self.instructions[i].operands))
        return self.labels.get(found[1] or found[2]) if found else None


def read_kernels(text):
    """Kernel's name -> Code."""
    kernels = {}
    code = None
    for line in map(str.strip, text.splitlines()):
        if found := KERNEL.fullmatch(line):
            code = kernels.setdefault(found[1], Code([], {}))
        elif code and (found := INSTRUCTION.match(line)):
            guard, opcode, operands = found.groups()
            words = tuple(word.strip() for word in operands.split(",")) if operands.strip() else ()
            code.instructions.append(Instruction(guard or "", opcode, words))
        elif code and (found := LABEL.fullmatch(line)):
            code.labels[found[1]] = len(code.instructions)
    return kernels
