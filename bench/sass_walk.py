"""How often a warp issues each instruction of a kernel, found by walking through the code.

The walk follows one lane. It computes what decides branches from the indices of the thread and its
block. Where a condition depends on memory or on an argument of the kernel, a branch forward is not
taken, unless it skips the call of a function (the slow path of a division); a loop has one round,
and is told; a jump table leads to its first label. What only the last of several blocks executes,
by a ticket, counts one part for each of them.
"""

import dataclasses

from sass_values import PREDICATE, effect_of, reader

MAX_STEPS = 10_000_000
ENDS = {"BRA", "EXIT", "CALL", "RET", "BRX", "JMP"}


def needed_names(code, effects):
    """The registers and predicates on which branches depend."""
    needed = {name for one, effect in zip(code.instructions, effects) if one.base in ENDS
              for name in effect.reads}
    while True:
        more = {name for effect in effects if needed & {*effect.destinations}
                for name in effect.reads} - needed
        if not more:
            return needed
        needed |= more


def blocks_with_a_ticket(code, i):
    """The number of blocks of which only the last goes on behind the branch at `i`; else 1.

    This is tcc_is_last() of the kernels' text: what an atomic addition returns is compared with the
    number of blocks less one, and a barrier tells all threads.
    """
    before = code.instructions[:i]
    told = next((k for k in reversed(range(i)) if before[k].base == "B2R"), None)
    if told is None or code.instructions[i].guard.lstrip("@!") not in before[told].operands:
        return 1
    atomics = [k for k in range(told) if before[k].base in ("ATOM", "ATOMG")]
    for one in before[atomics[-1]:told] if atomics else []:
        if one.opcode.startswith("ISETP.EQ") and one.operands[3].startswith("0x"):
            return int(one.operands[3], 16) + 1
    return 1


@dataclasses.dataclass
class Branch:
    base: str
    target: int  # None where it is not known
    conditions: list  # readers of registers, all of which must hold
    blocks: int  # of which one goes on behind it
    skips_function: bool
    leaves_loop: bool  # another branch behind it goes back


def branch_of(code, i):
    one, target = code.instructions[i], code.target(i)
    words = [one.guard[1:]] * bool(one.guard)
    words += [word for word in one.operands if PREDICATE.fullmatch(word.lstrip("!"))]
    if one.opcode.startswith("BRA.DIV"):  # where lanes of a warp are apart
        words = ["!PT"]
    jumped = range(i + 1, target or 0)
    between = [(code.instructions[k], code.target(k)) for k in jumped]
    return Branch(one.base, target, [*map(reader, words)], blocks_with_a_ticket(code, i),
                  any(inner.base == "CALL" and "$" in inner.operands[0] for inner, _ in between),
                  any(inner.base == "BRA" and goes_to <= i for inner, goes_to in between))


class Walker:
    """A kernel's code, prepared for walks of several warps."""

    def __init__(self, code):
        effects = [effect_of(one) for one in code.instructions]
        needed = needed_names(code, effects)
        is_end = [one.base in ENDS for one in code.instructions]
        starts = {0, len(effects), *code.labels.values()}
        starts = sorted(starts | {i + 1 for i, ends in enumerate(is_end) if ends})
        self.ends = dict(zip(starts, starts[1:]))  # of the basic blocks
        self.effects = {start: [effects[i].apply for i in range(start, end)
                                if needed & {*effects[i].destinations}]
                        for start, end in self.ends.items()}
        self.branches = {i: branch_of(code, i) for i, ends in enumerate(is_end) if ends}

    def counts(self, special):
        """(how often each instruction is issued, the loops of unknown length)

        `special` has the values of special registers, such as SR_TID.X.
        """
        visits, unknown = Steps(self, special).walk()
        counts = [visits[start] for start, end in self.ends.items() for _ in range(start, end)]
        return counts, unknown


class Steps:
    """One walk."""

    def __init__(self, walker, special):
        self.walker = walker
        self.registers = dict(special)
        self.weight = 1
        self.parts = []  # (where a part of one block ends, the weight from there)
        self.returns = []
        self.left = set()  # loops
        self.unknown = set()

    def walk(self):
        visits = dict.fromkeys(self.walker.ends, 0)
        at, steps = 0, 0
        while at in visits:
            while self.parts and self.parts[-1][0] == at:
                self.weight = self.parts.pop()[1]
            visits[at] += self.weight
            for apply in self.walker.effects[at]:
                apply(self.registers)
            i = self.walker.ends[at] - 1
            at = self.behind(i, self.walker.branches[i]) if i in self.walker.branches else i + 1
            steps += 1
            if steps > MAX_STEPS:
                raise RuntimeError(f"no end after {MAX_STEPS} basic blocks")
        return visits, self.unknown

    def behind(self, i, branch):
        """The index of what comes after the branch at `i`; -1 at the end."""
        values = [read(self.registers) for read in branch.conditions]
        if 0 in values:
            return i + 1
        if None in values:
            return self.behind_unknown(i, branch)
        if branch.base == "CALL":
            self.returns.append(i + 1)
        if branch.base == "RET":
            return self.returns.pop() if self.returns else -1
        if branch.base == "EXIT":
            return -1
        if branch.target is None:
            raise RuntimeError(f"a {branch.base} to a place that is not known")
        return branch.target

    def behind_unknown(self, i, branch):
        if branch.base == "EXIT":
            self.weight /= branch.blocks
            return i + 1
        if branch.base not in ("BRA", "CALL"):  # ptxas leaves a loop by a call as well
            raise RuntimeError(f"a {branch.base} on a condition that is not known")
        if branch.target <= i:
            self.unknown.add(i)
            return i + 1
        if branch.skips_function:
            return branch.target
        if branch.leaves_loop:  # after one round
            self.unknown.add(i)
            self.left ^= {i}
            return i + 1 if i in self.left else branch.target
        if branch.blocks > 1:
            self.parts.append((branch.target, self.weight))
            self.weight /= branch.blocks
        return i + 1
