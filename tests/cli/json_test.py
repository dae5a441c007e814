#!/usr/bin/env python3
"""What commands print as JSON is what docs/schemas says, key by key."""

import json
import re

import jsonschema
import onnx
from onnx import TensorProto, helper

from tcc_command import ROOT, CommandTest, main

FOLDER = ROOT / "docs" / "schemas"
# By command, where the file has not the name of the command.
OTHER_SCHEMAS = {"cost-model-train": "cost-model-eval", "check": "layers"}


def closed(schema):
    """The same schema without keys that it does not describe."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        result.setdefault("additionalProperties", False)
    return result


def model_file(path, operator, shape):
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"], name="node")], "g",
                              tensors[:1], tensors[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)
    return path


class Json(CommandTest):
    def check(self, name, value):
        schema = closed(json.loads((FOLDER / f"{name}.json").read_text()))
        validator = jsonschema.Draft202012Validator(schema)
        errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
        self.assertEqual(errors, [], f"docs/schemas/{name}.json")

    def checked(self, name, *arguments, expect=0):
        value = json.loads(self.call(*arguments, "--json", expect=expect))
        self.check(name, value)
        if isinstance(value, dict):
            self.assertEqual(next(iter(value.items())), ("schema", f"tcc.{name}/1"))
        return value

    def test_every_schema_is_one_and_every_command_with_json_has_one(self):
        names = {path.stem for path in FOLDER.iterdir()}
        for name in names:
            jsonschema.Draft202012Validator.check_schema(
                json.loads((FOLDER / f"{name}.json").read_text()))
        used = {"error", "progress", "inspect-kernel", "instructions"}
        page = (ROOT / "docs" / "json.md").read_text()
        for section in self.call("--help-markdown").split("\n## tcc ")[1:]:
            command = section.splitlines()[0]
            if "| `--json` |" not in section:
                continue
            self.assertRegex(page, rf"\\| `tcc {command}( --layers)? --json` \\|")
            name = command.replace(" ", "-")
            used.add(OTHER_SCHEMAS.get(name, name))
        self.assertEqual(used, names)

    def test_a_key_that_no_schema_describes_is_found(self):
        with self.assertRaises(AssertionError):
            self.check("doctor", [{"name": "a", "status": "ok", "needed": True, "detail": "",
                                   "more": 1}])
        with self.assertRaises(AssertionError):
            self.check("doctor", [{"name": "a", "status": "ok", "needed": True}])

    def test_lists_of_what_there_is(self):
        for command in ["ops", "devices"]:
            self.assertGreater(len(self.checked(command, command)), 1)
        self.checked("doctor", "doctor", expect=(0, 5))

    def test_models_whole_free_and_unsupported(self):
        whole = self.checked("inspect", "inspect", self.export("dqn", "--small"))
        self.assertNotIn("not_compiled", whole)
        free = self.checked("inspect", "inspect",
                            model_file(self.folder / "free.onnx", "Relu", ["N", 2]))
        self.assertNotIn("not_compiled", free)
        self.assertEqual(free["dimensions"],
                         [{"name": "N", "low": 1, "high": 2**24, "usual": 8}])
        strange = self.checked("inspect", "inspect",
                               model_file(self.folder / "strange.onnx", "ImageDecoder", [2]),
                               expect=3)
        self.assertEqual(strange["unsupported"][0]["nodes"], ["node"])

    def test_compiled_models_for_cpus_and_gpus(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        for target in ["native", "opencl", *(["sm_86"] if self.has_nvrtc() else [])]:
            self.call("compile", model, "--target", target, "-o", artefact)
            facts = self.checked("inspect", "inspect", artefact)
            self.checked("inspect-kernel", "inspect", artefact, "--kernel",
                         facts["kernels"][0]["name"])

    def test_measurements_and_comparisons_of_compiled_models(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        self.call("compile", model, "--target", "native", "-o", artefact)
        runs = ["--iterations", 3, "--threads", 1]
        for options in [[], ["--profile"], ["--streams", 2]]:
            self.checked("bench", "bench", artefact, *runs, *options)
        plain = self.folder / "plain.tcc"
        self.call("compile", model, "--target", "reference", "-o", plain)
        self.checked("diff", "diff", artefact, artefact)
        self.checked("diff", "diff", artefact, artefact, "--time")
        self.checked("diff", "diff", artefact, plain)
        self.checked("layers", "check", model, "--layers")
        listed = self.folder / "listed.tcc"
        self.call("compile", model_file(self.folder / "free.onnx", "Relu", ["N", 2]), "-o", listed,
                  "--at", "N=1", "--at", "N=4")
        self.checked("inspect", "inspect", listed)
        self.assertEqual(self.checked("bench", "bench", listed, *runs, "--dim", "N=4")["size"],
                         "N=4")

    def test_databases_and_cost_models(self):
        database, records = self.folder / "t.db", self.folder / "t.jsonl"
        cost_model = self.folder / "m.model"
        self.call("tune", self.export("dqn", "--small"), "--db", database, "--trials", 12, "-q")
        self.checked("db-stats", "db", "stats", database)
        self.assertTrue(self.checked("db-best", "db", "best", database))
        self.call("db", "export", database, "-o", records)
        self.checked("cost-model-eval", "cost-model", "train", "--records", records, "--epochs", 1,
                     "--members", 1, "-o", cost_model)
        self.checked("cost-model-eval", "cost-model", "eval", cost_model, "--records", records)
        self.checked("cost-model-info", "cost-model", "info", cost_model)

    def test_instructions_of_another_cpu(self):
        doctor = {row["name"]: row["status"] for row in json.loads(self.call("doctor", "--json"))}
        if doctor["aarch64 worker"] != "ok":
            self.skipTest("no worker for aarch64; scripts/arm64_sysroot.sh and the preset arm64 make it")
        self.checked("instructions", "bench", self.export("dqn", "--small"), "--target",
                     "aarch64-v8.2", "--emulate")

    def test_a_calibration(self):
        self.checked("devices-calibrate", "devices", "calibrate")

    def test_lines_on_standard_error(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        for arguments in [["compile", model, "-o", artefact, "-v"],
                          ["compile", model, "-o", artefact, "--numeric", "tf32",
                           "--target", "native"],
                          ["tune", model, "--db", self.folder / "t.db", "--trials", 3],
                          ["check", model, "-v"]]:
            self.call(*arguments, "--progress", "json")
            for line in self.error.splitlines():
                self.check("progress", json.loads(line))
        self.call("compile", "none.onnx", "--errors", "json", "--progress", "json", expect=4)
        self.check("error", json.loads(self.error.splitlines()[-1]))

    def test_kinds_of_failures_are_those_of_the_table(self):
        kinds = json.loads((FOLDER / "error.json").read_text())
        kinds = kinds["properties"]["error"]["properties"]["kind"]["enum"]
        told = re.search(r"^Kinds: .*?\n\n", self.call("--help-markdown"), re.M | re.S)[0]
        self.assertEqual(re.findall(r"`(\w+)`", told), kinds)


if __name__ == "__main__":
    main()
