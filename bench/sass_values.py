"""What instructions of machine code compute, as far as counters and indices need it: integers of 32
bits and predicates. A value that is not known, as all that comes from memory, is None."""

import dataclasses
import operator
import re
import struct
import typing

MASK = (1 << 32) - 1
BOTH_RESULTS = {"LOP3", "ULOP3", "SHFL", "ATOM", "ATOMG", "ATOMS", "R2UR"}
VOTES = {"VOTE", "VOTEU"}
OPERAND = re.compile(r"([-~!|]*)(U?R(?:\d+|Z)|U?P(?:\d+|T)|SRZ)(?:\.reuse)?\|?")
NUMBERED = re.compile(r"U?[RP]\d+")
REGISTER = re.compile(r"U?R(?:\d+|Z)")
PREDICATE = re.compile(r"U?P(?:\d+|T)")
INTEGER = re.compile(r"-?(?:0x[0-9a-f]+|\d+)")
CONSTANTS = {"RZ": 0, "URZ": 0, "SRZ": 0, "PT": 1, "UPT": 1}
COMPARISONS = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
               "EQ": operator.eq, "NE": operator.ne}
SIGNS = {"-": lambda value: -value & MASK, "~": lambda value: ~value & MASK,
         "!": lambda value: 1 - value, "|": lambda value: abs(signed(value))}


def signed(value):
    return value - (1 << 32) if value >> 31 else value


def next_register(name):
    """The register of a pair's upper half."""
    return re.sub(r"\d+", lambda number: str(int(number[0]) + 1), name)


def reader(operand):
    """A function from registers to the operand's value."""
    if INTEGER.fullmatch(operand):
        constant = int(operand, 0) & MASK
        return lambda registers: constant
    found = OPERAND.fullmatch(operand)
    if not found:
        return lambda registers: None
    signs, name = found.groups()

    def read(registers):
        value = CONSTANTS[name] if name in CONSTANTS else registers.get(name)
        for sign in reversed(signs) if value is not None else "":
            value = SIGNS[sign](value)
        return value

    return read


def by_table(a, b, c, table):
    """What a table of 8 bits says of three words, bit by bit."""
    result = 0
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result & MASK


def shift(words, low, count, high):
    both, count = high << 32 | low, min(count, 64)
    if "L" in words:
        return both << count >> 32 & MASK if "HI" in words else low << count & MASK
    if "HI" in words:
        return (signed(high) if "S32" in words else high) >> count & MASK
    return both >> count & MASK


def shifted_add(words, a, b, *rest):
    if "HI" not in words:
        return (a << rest[0]) + b & MASK
    if "SX32" in words:
        return (signed(a) << rest[0] >> 32) + b & MASK
    return ((rest[0] << 32 | a) << rest[1] >> 32) + b & MASK


def permute(words, a, selectors, b):
    """Four of eight bytes; bit 3 of a selector takes a byte's sign instead."""
    result = 0
    for place in range(4):
        selector = selectors >> 4 * place & 15
        byte = (b << 32 | a) >> 8 * (selector & 7) & 255
        result |= (byte if selector < 8 else 255 * (byte >> 7)) << 8 * place
    return result


def compare(words, a, b, other, *_):
    if "EX" in words:  # the upper half of a comparison of 64 bits
        return None
    how = next(COMPARISONS[word] for word in words if word in COMPARISONS)
    holds = how(a, b) if "U32" in words else how(signed(a), signed(b))
    return int(holds or other if "OR" in words else holds and other)


def lesser_or_greater(words, a, b, is_lesser):
    return (min if is_lesser else max)(a, b, key=None if "U32" in words else signed)


# The first result of an operation, whose name lacks the U of uniform registers. `words` are the
# rest of the name.
OPERATIONS = {
    "MOV": lambda words, a, *_: a,
    "R2UR": lambda words, a: a,
    "VIADD": lambda words, a, b: a + b & MASK,
    "IADD3": lambda words, *terms: sum(terms) & MASK,
    "IMAD": lambda words, a, b, c, *carry: a * b + c + sum(carry) & MASK,
    "IABS": lambda words, a: abs(signed(a)),
    "IMNMX": lesser_or_greater,
    "VIMNMX": lesser_or_greater,
    "ISETP": compare,
    "LEA": shifted_add,
    "LOP3": lambda words, a, b, c, table, *_: by_table(a, b, c, table),
    "PLOP3": lambda words, a, b, c, table, *_: by_table(a, b, c, table) & 1,
    "PRMT": permute,
    "SEL": lambda words, a, b, is_first: a if is_first else b,
    "SHF": shift,
}


def product_of_pairs(words, sources):
    """registers -> both words of a product plus a pair; the upper one alone for HI."""
    a, b, low, high = map(reader, [*sources[:3], next_register(sources[2])])

    def results(registers):
        values = [read(registers) for read in (a, b, low, high)]
        if None in values:
            return [None]
        x, y = values[:2] if "U32" in words else map(signed, values[:2])
        total = x * y + (values[3] << 32 | values[2])
        return [total >> 32 & MASK] if "HI" in words else [total & MASK, total >> 32 & MASK]

    return results


def two_halves(sources):
    """The word of two floats of 16 bits, as which ptxas writes small integers; None for others."""
    try:
        return int.from_bytes(struct.pack("<2e", *map(float, reversed(sources))), "little")
    except (ValueError, OverflowError):
        return None


def results_of(instruction, sources):
    """registers -> values of the first destinations."""
    base, *words = instruction.opcode.split(".")
    base = base.removeprefix("U")
    if base in ("S2R", "S2UR"):
        return lambda registers: [registers.get(sources[0])]
    if base == "CS2R" and sources == ["SRZ"]:
        return lambda registers: [0, 0]
    if base == "HFMA2" and sources[:2] == ["-RZ", "RZ"]:
        constant = two_halves(sources[2:])
        return lambda registers: [constant]
    if base == "IMAD" and ("WIDE" in words or "HI" in words):
        return product_of_pairs(words, sources)
    if base not in OPERATIONS:
        return lambda registers: [None]
    operation, readers = OPERATIONS[base], [*map(reader, sources)]
    to_predicate = base == "LOP3" and PREDICATE.fullmatch(instruction.operands[0])

    def results(registers):
        values = [read(registers) for read in readers]
        if None in values:
            return [None]
        value = operation(words, *values)
        return [int(value != 0), value] if to_predicate else [value]

    return results


def width(instruction):
    """The number of registers that the first destination stands for."""
    base, *words = instruction.opcode.split(".")
    if base == "LDSM":
        return int(words[-1]) if words[-1].isdigit() else 1
    if base in ("HMMA", "IMMA"):
        return 2 if "F16" in words else 4
    if "128" in words:
        return 4
    pairs = base in ("DADD", "DMUL", "DFMA") or base == "CS2R" and "32" not in words
    return 2 if pairs or "64" in words or "WIDE" in words or words[:1] == ["F64"] else 1


def is_plain(operand):
    return REGISTER.fullmatch(operand) or PREDICATE.fullmatch(operand)


def destinations_of(instruction):
    """(what the instruction writes, the operands that it reads)

    Destinations come first: a register or predicate, and predicates behind it. A register behind a
    predicate is one where the operation has both results.
    """
    operands = [*instruction.operands]
    if operands[:1] == ["PR"]:
        return [f"P{i}" for i in range(7)], operands[1:]
    if not operands or not is_plain(operands[0]):
        return [], operands
    first_is_predicate = PREDICATE.fullmatch(operands[0])
    if first_is_predicate and instruction.base in BOTH_RESULTS:
        count = 1 + bool(REGISTER.fullmatch(operands[1]))
    elif instruction.base in VOTES:
        count = 1 if first_is_predicate else 2
    else:
        most = 2 if first_is_predicate else 3
        count = 1
        while count < min(most, len(operands)) and PREDICATE.fullmatch(operands[count]):
            count += 1
    names = operands[:count]
    for _ in range(width(instruction) - 1):
        names.append(next_register(names[-1]))
    return names, operands[count:]


@dataclasses.dataclass
class Effect:
    """What an instruction writes, and from what."""
    destinations: list
    reads: set  # names of registers and predicates
    apply: typing.Callable  # of registers, which it changes


def effect_of(instruction):
    destinations, sources = destinations_of(instruction)
    guard = reader(instruction.guard.removeprefix("@"))
    results = results_of(instruction, sources)
    names = [*sources, instruction.guard]
    reads = {name for word in names for name in NUMBERED.findall(word)}
    if {"WIDE", "HI"} & {*instruction.opcode.split(".")}:
        reads |= {next_register(name) for name in reads}

    def apply(registers):
        holds = guard(registers) if instruction.guard else 1
        if holds == 0:
            return
        values = results(registers) if holds else []
        for i, name in enumerate(destinations):
            registers[name] = values[i] if i < len(values) else None

    return Effect(destinations, reads, apply)
