#!/usr/bin/env python3
"""Schedules go out as one file a kernel, come back in, and are refused by the step that is wrong."""

from tcc_command import CommandTest, main


class Schedules(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.export("dqn", "--small")
        self.traces = self.folder / "traces"
        self.call("dump", self.model, "--target", "native", "--stage", "scheduled",
                  "--output-dir", self.traces)

    def compile(self, name, *arguments, expect=0):
        artefact = self.folder / name
        # Notes tell whether a schedule was given.
        self.call("compile", self.model, "--target", "native", "--notes", "none", "-o", artefact,
                  *arguments, expect=expect)
        return artefact

    def any_trace(self):
        return next(path for path in sorted(self.traces.iterdir()) if "split" in path.read_text())

    def test_what_dump_writes_gives_the_same_artefact(self):
        self.assertTrue(list(self.traces.glob("*.trace")))
        plain = self.compile("plain.tcc").read_bytes()
        self.assertEqual(self.compile("again.tcc", "--schedule", self.traces).read_bytes(), plain)

    def test_another_schedule_gives_other_code_and_the_same_results(self):
        for path in self.traces.iterdir():
            path.write_text("# nothing: plain loops\n")
        artefact = self.compile("loops.tcc", "--schedule", self.traces)
        self.assertNotEqual(artefact.read_bytes(), self.compile("plain.tcc").read_bytes())
        self.call("check", self.model, artefact)

    def test_sizes_may_be_numbers_or_left_to_decisions(self):
        path = self.any_trace()
        lines = path.read_text().splitlines()
        _, name, value = next(line for line in lines if line.startswith("set ")).split()
        plain = self.compile("plain.tcc").read_bytes()
        others = [line for line in lines if line.split()[:2] not in (["tile", name], ["set", name])]
        path.write_text("".join(line.replace(name, value) + "\n" for line in others))
        self.assertEqual(self.compile("number.tcc", "--schedule", self.traces).read_bytes(), plain)
        unset = [line for line in lines if line.split()[:2] != ["set", name]]
        path.write_text("\r\n".join(unset) + "\r\n")
        artefact = self.compile("unset.tcc", "--schedule", self.traces)
        self.assertEqual(artefact.read_bytes(),
                         self.compile("again.tcc", "--schedule", self.traces).read_bytes())
        self.call("check", self.model, artefact)

    def test_files_of_another_name_are_not_silently_left_out(self):
        for path in list(self.traces.iterdir()):
            path.rename(path.with_suffix(".txt"))
        self.compile("none.tcc", "--schedule", self.traces, expect=4)
        self.assertIn("expected schedules in files NAME.trace, found ", self.error)

    def test_an_illegal_step_is_refused_though_the_reference_takes_no_schedule(self):
        path = self.any_trace()
        text = path.read_text()
        # Legal: taken, and of no effect.
        self.call("compile", self.model, "--target", "reference", "-o", self.folder / "r.tcc",
                  "--schedule", self.traces)
        path.write_text(text + "vectorize g/nothing\n")
        for target in ["native", "reference"]:
            self.call("compile", self.model, "--target", target, "-o", self.folder / "m.tcc",
                      "--schedule", self.traces, expect=4)
            self.assertIn("(vectorize g/nothing): ", self.error)

    def test_threads_are_refused_on_a_cpu(self):
        path = self.any_trace()
        loop = next(line for line in path.read_text().splitlines()
                    if line.startswith("split")).split()[1]
        path.write_text(f"bind {loop} threadIdx.x\n")
        self.compile("threads.tcc", "--schedule", self.traces, expect=4)
        self.assertIn(f"binds loop '{loop}' to threadIdx.x", self.error)

    def test_a_gpu_gets_blocks_and_threads(self):
        scheduled = self.call("dump", self.model, "--target", "sm_86", "--stage", "scheduled",
                              "--verify")
        self.assertIn("bind ", scheduled)
        self.assertIn("threadIdx.x", scheduled)
        self.assertIn("blockIdx.x", self.call("dump", self.model, "--target", "sm_86", "--stage",
                                              "lowered", "--verify"))

    def test_the_text_for_a_gpu_is_one_program(self):
        source = self.call("dump", self.model, "--target", "sm_86", "--stage", "source")
        self.assertEqual(source.count("#ifdef TCC_EMULATOR"), 1)
        self.assertRegex(source, r"\nTCC_(ONE_BLOCK_)?KERNEL\(")

    def test_ptx_needs_nvrtc(self):
        ptx = ["dump", self.model, "--target", "sm_86", "--stage", "ptx"]
        self.call(*ptx, expect=5, TCC_NVRTC="/nowhere/libnvrtc.so")
        self.assertIn("/nowhere/libnvrtc.so", self.error)
        if not self.has_nvrtc():
            self.skipTest("no NVRTC")
        text = self.call(*ptx)
        self.assertIn(".target sm_86", text)
        self.assertIn(".entry", text)
        self.call("dump", self.model, "--target", "native", "--stage", "ptx", expect=2)
        self.assertIn("'native' has no such stage; it has graph, fused, tensor, scheduled, "
                      "lowered, source, asm", self.error)

    def test_assembly_of_a_gpu_is_machine_code_by_nvdisasm(self):
        asm = ["dump", self.model, "--target", "sm_86", "--stage", "asm", "--verify"]
        self.call(*asm, expect=5, TCC_NVDISASM="/nowhere/nvdisasm")
        self.assertIn("TCC_NVDISASM is /nowhere/nvdisasm, which is no program that can be run",
                      self.error)
        if not self.has_nvrtc():
            self.skipTest("no NVRTC")
        text = self.call(*asm)
        kernels = self.call("dump", self.model, "--target", "sm_86", "--stage", "ptx")
        self.assertEqual(text.count(".section\t.text."), kernels.count(".entry"))
        self.assertRegex(text, r"/\*[0-9a-f]{4}\*/ +EXIT")
        self.call(*asm, expect=5, TCC_NVDISASM="/bin/false")
        self.assertIn("/bin/false ended with 1", self.error)

    def test_mistakes_are_named(self):
        path = self.any_trace()
        name = path.stem
        path.write_text("split nowhere/i [4]\n")
        self.compile("bad.tcc", "--schedule", self.traces, expect=4)
        self.assertIn(name, self.error)
        self.assertIn("step 1 (split nowhere/i [4])", self.error)
        self.assertIn("nowhere/i", self.error)
        path.write_text("splat x\n")
        self.compile("bad.tcc", "--schedule", self.traces, expect=4)
        self.assertIn(f"{path.name}: line 1: unknown step 'splat'", self.error)
        path.rename(self.traces / "nobody.trace")
        (self.traces / "nobody.trace").write_text("")
        self.compile("bad.tcc", "--schedule", self.traces, expect=4)
        self.assertIn("a schedule is given for 'nobody'", self.error)
        self.compile("bad.tcc", "--schedule", self.folder / "no-such-folder", expect=4)
        self.assertIn("no-such-folder", self.error)
        self.call("dump", self.model, "--target", "native", "--stage", "tensor",
                  "--output-dir", self.traces, expect=2)
        self.assertIn("--output-dir", self.error)


if __name__ == "__main__":
    main()
