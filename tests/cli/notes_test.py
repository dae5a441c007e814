#!/usr/bin/env python3
"""The notes of an artefact: what `tcc inspect --kernel` shows of them, and files that mean harm."""

import hashlib
import json
import struct

from tcc_command import CommandTest, main

ROW = struct.Struct("<IQQ32s")  # kind, offset, size, hash
NOTES = 5


def notes_row(artefact):
    """Where the last row of the section table begins."""
    at = 8 + 4 + 8
    for _ in range(2):  # target, device
        at += 4 + struct.unpack_from("<I", artefact, at)[0]
    count = struct.unpack_from("<I", artefact, at + 32)[0]
    return at + 32 + 4 + (count - 1) * ROW.size


def notes_of(artefact):
    kind, offset, size, _ = ROW.unpack_from(artefact, notes_row(artefact))
    assert kind == NOTES
    return artefact[offset:offset + size]


def with_notes(artefact, notes):
    """The bytes of an artefact with other notes, whose hashes are right."""
    row = notes_row(artefact)
    offset = ROW.unpack_from(artefact, row)[1]
    file = bytearray(artefact[:offset] + notes)
    struct.pack_into("<Q", file, 8 + 4, len(file))
    ROW.pack_into(file, row, NOTES, offset, len(notes), hashlib.sha256(notes).digest())
    end = row + ROW.size
    file[end:end + 32] = hashlib.sha256(file[:end]).digest()
    return bytes(file)


class NotesTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.export("dqn", "--small")
        self.artefact = self.folder / "m.tcc"

    def compile(self, *options):
        self.call("compile", self.model, "--target", "x86-64-v3", "-o", self.artefact, *options)
        return self.artefact.read_bytes()

    def kernels(self):
        summary = json.loads(self.call("inspect", self.artefact, "--json"))
        return [kernel["name"] for kernel in summary["kernels"]]

    def test_the_schedule_of_each_kernel_makes_the_same_kernel_again(self):
        self.compile()
        schedules = self.folder / "schedules"
        schedules.mkdir()
        for name in self.kernels():
            kernel = json.loads(self.call("inspect", self.artefact, "--kernel", name, "--json"))
            self.assertEqual(kernel["name"], name)
            self.assertIsNone(kernel["record"])
            (schedules / f"{name}.trace").write_text(kernel["schedule"])
            text = self.call("inspect", self.artefact, "--kernel", name)
            self.assertTrue(text.endswith("\nschedule\n" + kernel["schedule"]))
            self.assertRegex(text, rf"(?m)^sketch +{kernel['sketch']}$")
        once = self.compile("--notes", "none")
        again = self.compile("--notes", "none", "--schedule", schedules)
        self.assertEqual(once, again)

    def test_the_notes_are_the_same_in_any_folder_and_for_any_number_of_threads(self):
        once = self.compile("--threads", 1)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.model = self.model.rename(elsewhere / self.model.name)
        self.artefact = elsewhere / "m.tcc"
        self.assertEqual(self.compile("--threads", 3), once)

    def test_what_cannot_be_shown_says_why(self):
        self.compile()
        self.call("inspect", self.artefact, "--kernel", "nosuch", expect=2)
        self.assertIn("there is no 'nosuch'", self.error)
        self.call("inspect", self.model, "--kernel", "conv1", expect=2)
        self.assertIn("expected a compiled model", self.error)
        name = self.kernels()[0]
        self.compile("--notes", "none")
        self.assertEqual(self.kernels()[0], name)
        self.call("inspect", self.artefact, "--kernel", name, expect=2)
        self.assertIn("without --notes none", self.error)
        self.call("compile", self.model, "--notes", "some", expect=2)

    def test_damaged_notes_are_refused(self):
        good = self.compile()
        self.artefact.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        for command in (["run"], ["inspect"]):
            self.call(*command, self.artefact, expect=4)
            self.assertIn("notes section does not match its SHA-256", self.error)
        self.artefact.write_bytes(good[:-1])
        self.call("run", self.artefact, expect=4)

    def test_forged_notes_harm_nobody(self):
        good = self.compile()
        name = self.kernels()[0]
        expected = self.call("run", self.artefact, "--random", 1)
        bomb = b"\x28\xb5\x2f\xfd\xa4" + struct.pack("<I", 1 << 31) + b"\x03\x00\x10" + b" "
        for notes in [b"notes", b"\x28\xb5\x2f\xfd", bomb, bytes(1 << 20)]:
            self.artefact.write_bytes(with_notes(good, notes))
            self.assertEqual(self.call("run", self.artefact, "--random", 1), expected)
            self.call("inspect", self.artefact, "--kernel", name, expect=4)
            self.assertIn(f"{self.artefact}: notes: ", self.error)
            self.call("check", self.model, self.artefact, "--layers", expect=4)
        other = self.folder / "other.tcc"
        self.call("compile", self.export("resnet18", "--small"), "--target", "x86-64-v3",
                  "-o", other)
        self.artefact.write_bytes(with_notes(good, notes_of(other.read_bytes())))
        self.call("inspect", self.artefact, "--kernel", name, expect=4)
        self.assertIn(f"{self.artefact}: notes: their ", self.error)

    def test_a_comparison_says_in_which_file_the_notes_are_damaged(self):
        good = self.compile()
        damaged = self.folder / "damaged.tcc"
        damaged.write_bytes(with_notes(good, b"notes"))
        for pair in [(self.artefact, damaged), (damaged, self.artefact)]:
            self.call("diff", *pair, "--schedules", expect=4)
            self.assertIn(f"tcc: {damaged}: notes: ", self.error)


if __name__ == "__main__":
    main()
