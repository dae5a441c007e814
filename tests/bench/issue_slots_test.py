#!/usr/bin/env python3
"""Issue slots counted from machine code and from the loops of launches, by hand-written texts."""

import pathlib
import sys
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from issue_slots import Launch, read_launches, slots_of_launch, slots_of_tasks  # noqa: E402
from sass import Instruction, read_kernels  # noqa: E402
from sass_values import effect_of  # noqa: E402
from sass_walk import Walker  # noqa: E402


def code_of(*lines):
    """A kernel, as nvdisasm prints it; a line that ends with a colon is a label."""
    text, address = [".text.k_f:"], 0
    for line in lines:
        text.append(line if line.endswith(":") else f"        /*{address:04x}*/   {line} ;")
        address += 16 * (not line.endswith(":"))
    return read_kernels("\n".join(text))["k_f"]


def counts_of(code, **special):
    return Walker(code).counts({"SR_TID.X": 0, **special})[0]


def result_of(opcode, operands, **registers):
    """What the instruction writes to its first operand."""
    instruction = Instruction("", opcode, tuple(operands.split(", ")))
    effect_of(instruction).apply(registers)
    return registers[instruction.operands[0]]


TICKET = ["ISETP.NE.AND P1, PT, R0, RZ, PT", "@P1 BRA `(.L_x_1)",
          "ATOM.E.ADD.STRONG.GPU PT, R7, desc[UR6][R6.64], R11",
          "ISETP.EQ.AND P0, PT, R7, 0x1f, PT", ".L_x_1:",
          "BAR.RED.OR.DEFER_BLOCKING 0x0, P0", "B2R.RESULT RZ, P0"]


class Walks(unittest.TestCase):
    def test_a_loop_counts_as_often_as_its_counter_says(self):
        counts = counts_of(code_of("MOV R5, RZ", ".L_x_1:", "IADD3 R5, R5, 0x2, RZ",
                                   "ISETP.NE.AND P0, PT, R5, 0xe, PT", "FFMA R0, R1, R2, R0",
                                   "@P0 BRA `(.L_x_1)", "EXIT"))
        self.assertEqual(counts, [1, 7, 7, 7, 7, 1])

    def test_a_counter_may_be_uniform_and_begin_as_two_constants_of_16_bits(self):
        counts = counts_of(code_of("HFMA2.MMA R3, -RZ, RZ, 0, 1.1920928955078125e-07",
                                   "R2UR UR4, R3", ".L_x_1:", "UIADD3 UR4, UR4, -0x1, URZ",
                                   "UISETP.NE.AND UP0, UPT, UR4, URZ, UPT",
                                   "PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0",
                                   "@P0 BRA `(.L_x_1)", "EXIT"))
        self.assertEqual(counts, [1, 1, 2, 2, 2, 2, 1])

    def test_loops_within_loops_multiply(self):
        counts = counts_of(code_of("MOV R5, RZ", ".L_x_1:", "MOV R6, RZ", ".L_x_2:",
                                   "IADD3 R6, R6, 0x1, RZ", "ISETP.GE.AND P1, PT, R6, R5, PT",
                                   "@!P1 BRA `(.L_x_2)", "VIADD R5, R5, 0x1",
                                   "ISETP.GE.U32.AND P0, PT, R5, 0x4, PT", "@!P0 BRA `(.L_x_1)",
                                   "EXIT"))
        self.assertEqual(counts, [1, 4, 7, 7, 7, 4, 4, 4, 1])

    def test_an_instruction_that_its_predicate_stops_takes_a_slot_and_writes_nothing(self):
        counts = counts_of(code_of("MOV R0, 0x1", "ISETP.EQ.AND P0, PT, R0, 0x2, PT",
                                   "@P0 MOV R0, 0x5", "ISETP.EQ.AND P1, PT, R0, 0x1, PT",
                                   "@!P1 BRA `(.L_x_1)", "FADD R1, R1, R1", ".L_x_1:", "EXIT"))
        self.assertEqual(counts, [1] * 7)

    def test_warps_that_leave_early_count_up_to_there(self):
        code = code_of("S2R R0, SR_TID.X", "ISETP.GT.AND P0, PT, R0, 0x3f, PT", "@P0 EXIT",
                       "FADD R1, R1, R1", "EXIT")
        launch = Launch({("block", "x"): 10, ("thread", "x"): 128})
        slots, is_unknown = slots_of_launch(code, launch)
        self.assertEqual((sum(slots.values()), is_unknown), (10 * (2 * 5 + 2 * 3), False))

    def test_a_branch_on_memory_is_not_taken(self):
        counts = counts_of(code_of("LDG.E R0, desc[UR4][R2.64]", "ISETP.NE.AND P0, PT, R0, RZ, PT",
                                   "@P0 BRA `(.L_x_1)", "FADD R1, R1, R1", ".L_x_1:", "EXIT"))
        self.assertEqual(counts, [1] * 5)

    def test_the_slow_path_of_a_division_is_not_taken(self):
        counts = counts_of(code_of("FCHK P0, R0, 49", "@!P0 BRA `(.L_x_1)",
                                   "CALL.REL.NOINC `($slowpath)", ".L_x_1:", "EXIT", "$slowpath:",
                                   "RET.REL.NODEC R4 `(k_f)"))
        self.assertEqual(counts, [1, 1, 0, 1, 0])

    def test_a_call_returns(self):
        counts = counts_of(code_of("CALL.REL.NOINC `($half)", "CALL.REL.NOINC `($half)", "EXIT",
                                   "$half:", "FMUL R0, R0, 0.5", "RET.REL.NODEC R4 `(k_f)"))
        self.assertEqual(counts, [1, 1, 1, 2, 2])

    def test_a_loop_of_unknown_length_counts_once_and_is_told(self):
        walker = Walker(code_of("LDC R4, c[0x0][0x210]", ".L_x_1:", "VIADD R5, R5, 0x1",
                                "ISETP.GE.AND P0, PT, R5, R4, PT", "@!P0 BRA `(.L_x_1)", "EXIT"))
        self.assertEqual(walker.counts({}), ([1] * 5, {3}))

    def test_so_does_one_that_is_left_in_its_middle(self):
        walker = Walker(code_of(".L_x_1:", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R0], R1",
                                "@P0 BRA `(.L_x_2)", "BRA `(.L_x_1)", ".L_x_2:", "EXIT"))
        self.assertEqual(walker.counts({}), ([2, 2, 1, 1], {1}))

    def test_what_the_last_block_does_counts_one_part(self):
        counts = counts_of(code_of("S2R R0, SR_TID.X", *TICKET, "@!P0 EXIT", "FADD R1, R1, R1",
                                   "EXIT"))
        self.assertEqual(counts, [1] * 8 + [1 / 32] * 2)

    def test_what_comes_behind_the_work_of_the_last_block_counts_whole(self):
        counts = counts_of(code_of("S2R R0, SR_TID.X", *TICKET, "@!P0 BRA `(.L_x_2)",
                                   "FADD R1, R1, R1", ".L_x_2:", "EXIT"))
        self.assertEqual(counts, [1] * 8 + [1 / 32, 1])

    def test_a_loop_may_be_left_by_a_call_that_does_not_return(self):
        code = ["MOV R5, RZ", ".L_x_1:", "VIADD R5, R5, 0x1", "ISETP.GE.AND P2, PT, R5, 0x3, PT",
                "@P2 CALL.REL.NOINC `(.L_x_2)", "BRA `(.L_x_1)", ".L_x_2:", "EXIT"]
        self.assertEqual(counts_of(code_of(*code)), [1, 3, 3, 3, 2, 1])
        code[0] = "LDG.E R5, desc[UR4][R2.64]"
        self.assertEqual(Walker(code_of(*code)).counts({}), ([1, 2, 2, 2, 1, 1], {3}))

    def test_a_jump_table_leads_to_its_first_label(self):
        counts = counts_of(code_of(
            'BRX R4 -0x120 (*"BRANCH_TARGETS .L_x_2,.L_x_1,.L_x_3"*)', ".L_x_1:", "EXIT", ".L_x_2:",
            "FADD R1, R1, R1", ".L_x_3:", "EXIT"))
        self.assertEqual(counts, [1, 0, 1, 1])

    def test_code_without_end_is_refused(self):
        with unittest.mock.patch("sass_walk.MAX_STEPS", 100), \
                self.assertRaisesRegex(RuntimeError, "no end"):
            counts_of(code_of(".L_x_1:", "BRA `(.L_x_1)"))


class Values(unittest.TestCase):
    def test_quotients_by_multiplication(self):
        for x in [0, 6, 7, 100, 1567, 2**31 - 1, 2**32 - 5]:
            signed = x - 2**32 if x >> 31 else x
            # How ptxas divides by 28: the upper half of a product plus x, a shift, the sign.
            high = result_of("IMAD.HI", "R0, R3, -0x6db6db6d, R2", R2=0, R3=x)
            quotient = result_of("LEA.HI.SX32", "R9, R0, R7, 0x1c", R0=high, R7=high >> 31)
            self.assertEqual(quotient - 2**32 * (quotient >> 31),
                             signed // 28 if signed >= 0 else -(-signed // 28), x)
            pair = {"R17": x}
            product = Instruction("", "IMAD.WIDE.U32", ("R8", "R17", "-0x55555555", "RZ"))
            effect_of(product).apply(pair)
            self.assertEqual(result_of("SHF.R.U32.HI", "R8, RZ, 0x1, R9", R9=pair["R9"]), x // 3)

    def test_words_and_predicates(self):
        for opcode, operands, expected in [
                ("MOV", "R0, -0x1", 2**32 - 1),
                ("IADD3", "R0, R1, -R2, 0x10", 2**32 + 100 - 300 + 16),
                ("IADD3.X", "R0, R1, RZ, RZ, PT, !PT", 101),
                ("IMAD", "R0, R1.reuse, 0x3, R2", 600),
                ("IMAD.MOV", "R0, RZ, RZ, -R1", 2**32 - 100),
                ("LEA", "R0, R1, R2, 0x3", 1100),
                ("LEA.HI", "R0, R3, R2, RZ, 0x4", 300 + 15),
                ("SHF.L.U32", "R0, R1, 0x2, RZ", 400),
                ("SHF.R.S32.HI", "R0, RZ, 0x4, R3", 2**32 - 1),
                ("SHF.R.U32.HI", "R0, RZ, 0x1c, R3", 15),
                ("SHF.L.U64.HI", "R0, R3, 0x4, R1", 1615),
                ("LOP3.LUT", "R0, R1, 0x3f, RZ, 0xc0, !PT", 100 & 63),
                ("LOP3.LUT", "R0, R1, R2, R3, 0xfe, !PT", 100 | 300 | 0xfffffff6),
                ("LOP3.LUT", "P1, RZ, R1, 0x3, RZ, 0xc0, !PT", 0),
                ("PRMT", "R0, R3, 0x9910, RZ", 0xfffffff6),
                ("PRMT", "R0, R2, 0x7710, RZ", 300),
                ("IABS", "R0, R3", 10),
                ("IMNMX", "R0, R3, R1, PT", 2**32 - 10),
                ("IMNMX.U32", "R0, R3, R1, PT", 100),
                ("SEL", "R0, R1, R2, !P2", 300),
                ("ISETP.LT.AND", "P0, PT, R3, R1, PT", 1),
                ("ISETP.LT.U32.AND", "P0, PT, R3, R1, PT", 0),
                ("ISETP.LT.U32.OR", "P0, PT, R3, R1, P2", 1),
                ("UISETP.NE.AND", "UP0, UPT, UR4, 0x7, UPT", 0),
                ("VOTE.ANY", "R0, PT, P2", None),
                ("FADD", "R0, R1, R2", None),
                ("IADD3", "R0, R1, R9, RZ", None)]:
            with self.subTest(opcode=opcode, operands=operands):
                self.assertEqual(result_of(opcode, operands, R0=1, R1=100, R2=300, R3=2**32 - 10,
                                           P2=1, UR4=7), expected)

    def test_a_wide_result_overwrites_all_its_registers(self):
        registers = {f"R{i}": i for i in range(8)}
        effect_of(Instruction("", "LDG.E.128", ("R4", "desc[UR4][R2.64]"))).apply(registers)
        self.assertEqual(registers, {"R0": 0, "R1": 1, "R2": 2, "R3": 3, "R4": None, "R5": None,
                                     "R6": None, "R7": None})


LOWERED = """\
fn f(x: f32[9], y: f32[9]) lowered {
  alloc t: f32[9]
  for i in 0..30 blockIdx.x {
    for j in 0..12 blockIdx.y {
      for k in 0..64 threadIdx.x {
      }
      for l in 0..96 threadIdx.x {
      }
    }
  }
  alloc u: f32[9] in {
    for i in 0..5 blockIdx.x {
      for k in 0..2 threadIdx.x {
        for l in 0..128 threadIdx.y {
        }
      }
    }
    for k in 0..8 threadIdx.x {
    }
  }
}

fn g(x: f32[9]) lowered {
  for i in 0..7 blockIdx.z {
  }
}
"""


class Launches(unittest.TestCase):
    def test_outermost_bound_nests_are_launches(self):
        launches = read_launches(LOWERED)
        self.assertEqual({task: [(one.shape("block"), one.shape("thread")) for one in ones]
                          for task, ones in launches.items()},
                         {"f": [([30, 12, 1], [96, 1, 1]), ([5, 1, 1], [2, 128, 1]),
                                ([1, 1, 1], [8, 1, 1])],
                          "g": [([1, 1, 7], [1, 1, 1])]})

    def test_a_warp_is_its_first_lane_in_the_block_in_the_middle(self):
        launch = Launch({("block", "x"): 30, ("block", "y"): 12, ("thread", "x"): 2,
                         ("thread", "y"): 128})
        self.assertEqual(launch.special_registers(3),
                         {"SR_TID.X": 0, "SR_TID.Y": 48, "SR_TID.Z": 0, "SR_CTAID.X": 15,
                          "SR_CTAID.Y": 6, "SR_CTAID.Z": 0, "SR_LANEID": 0})

    def test_a_free_size_is_refused(self):
        message = r"of \(n0 \+ 3\) div 4 steps over blockIdx.x; .*--shape"
        with self.assertRaisesRegex(ValueError, message):
            read_launches("fn f() lowered {\n  for i in 0..(n0 + 3) div 4 blockIdx.x {\n")

    def test_slots_are_those_of_all_launches_by_class(self):
        body = ["FFMA R0, R1, R2, R0", "@!PT LDS RZ, [RZ]", "LDS.128 R0, [R4]",
                "LDSM.16.M88.4 R0, [R4]", "LDGSTS.E.BYPASS.128 [R0], desc[UR4][R2.64]",
                "BAR.SYNC.DEFER_BLOCKING 0x0",
                "MUFU.EX2 R0, R0", "HMMA.16816.F32 R0, R4, R6, R0", "EXIT"]
        lines = [f"/*{16 * i:04x}*/ {line} ;" for i, line in enumerate(body)]
        names = ["k_f_0", "k_f_1", "k_f_2", "k_g"]
        text = "\n".join("\n".join([f".text.{name}:", *lines]) for name in names)
        tasks = slots_of_tasks(LOWERED, text)
        warps = 30 * 12 * 3 + 5 * 8 + 1
        self.assertEqual(tasks["f"].of_class, {"FFMA": warps, "HMMA": warps, "LDS": 2 * warps,
                                               "LDGSTS": warps, "BAR": warps, "MUFU": warps,
                                               "other": 2 * warps})
        self.assertEqual(sum(tasks["g"].of_class.values()), 7 * len(body))


if __name__ == "__main__":
    unittest.main()
