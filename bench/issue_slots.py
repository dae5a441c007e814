"""The issue slots that the kernels of a model take on a GPU, counted without one.

A launch takes those of its warps. Each warp of the block in the middle of the grid walks through
the code (sass_walk.py); every block counts as much as that one.
"""

import collections
import dataclasses
import math
import re

from sass import CLASS_NAMES, read_kernels
from sass_walk import Walker

LANES = 32
FUNCTION = re.compile(r'fn "?([^"(]+)"?\(')
BOUND = re.compile(r" *for \S+ in 0\.\.(.+) (block|thread)Idx\.([xyz])")


@dataclasses.dataclass
class Launch:
    extents: dict  # (block or thread, axis) -> of the grid or a block

    def shape(self, kind):
        """Along x, y and z."""
        return [self.extents.get((kind, axis), 1) for axis in "xyz"]

    def blocks(self):
        return math.prod(self.shape("block"))

    def threads(self):
        return math.prod(self.shape("thread"))

    def special_registers(self, warp):
        """The values for a warp's first lane, in the block in the middle."""
        width, height, _ = self.shape("thread")
        thread = warp * LANES
        places = [thread % width, thread // width % height, thread // width // height]
        values = {f"SR_TID.{axis}": place for axis, place in zip("XYZ", places)}
        values |= {f"SR_CTAID.{axis}": extent // 2
                   for axis, extent in zip("XYZ", self.shape("block"))}
        return {**values, "SR_LANEID": 0}


def read_launches(text):
    """Task's name -> its launches in order, from `tcc dump --stage lowered`.

    A launch is an outermost nest of bound loops. Of several loops of an axis the longest counts.
    """
    tasks, end = {}, None  # the indent at which the launch at hand ends
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if end is not None and indent <= end:
            end = None
        if found := FUNCTION.match(line):
            launches = tasks.setdefault(found[1], [])
        elif found := BOUND.match(line):
            extent, kind, axis = found.groups()
            if not extent.isdigit():
                raise ValueError(f"a loop of {extent} steps over {kind}Idx.{axis}; expected a "
                                 f"number of steps: free sizes take a value with --shape")
            if end is None:
                end = indent
                launches.append(Launch({}))
            extents = launches[-1].extents
            extents[kind, axis] = max(extents.get((kind, axis), 1), int(extent))
    return tasks


def slots_of_launch(code, launch):
    """(class -> slots, whether a loop's length was not known)"""
    walker = Walker(code)
    slots, unknown = collections.Counter(), set()
    for warp in range(-(-launch.threads() // LANES)):
        counts, loops = walker.counts(launch.special_registers(warp))
        unknown |= loops
        for one, count in zip(code.instructions, counts):
            slots[one.opcode_class] += count * launch.blocks()
    return slots, bool(unknown)


@dataclasses.dataclass
class TaskSlots:
    """What one run of a task takes."""
    launches: list
    of_class: dict
    has_unknown_loops: bool


def slots_of_tasks(lowered, machine_code):
    """Task's name -> TaskSlots, from what `tcc dump` prints at the stages lowered and asm."""
    kernels = read_kernels(machine_code)
    tasks = {}
    for task, launches in read_launches(lowered).items():
        ends = [f"_{i}" for i in range(len(launches))] if len(launches) > 1 else [""]
        counted = [slots_of_launch(kernels[f"k_{task}{end}"], launch)
                   for end, launch in zip(ends, launches)]
        of_class = {name: round(sum(slots[name] for slots, _ in counted)) for name in CLASS_NAMES}
        tasks[task] = TaskSlots(launches, of_class, any(unknown for _, unknown in counted))
    return tasks
