#!/usr/bin/env python3
"""Sequences and optionals that a model builds and takes apart: ONNX Runtime's results, and what is
refused."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from foreign_models_test import FLOAT, INT64, ForeignModels, constant, value
from tcc_command import main

BOOL = TensorProto.BOOL
DTYPES = {FLOAT: np.float32, INT64: np.int64, BOOL: np.bool_}


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def draw(shape, kind=FLOAT):
    return (np.random.default_rng(3).standard_normal(shape) * 4).astype(DTYPES[kind])


def sequence_info(name, kind=FLOAT):
    tensor = helper.make_tensor_type_proto(kind, None)
    return helper.make_value_info(name, helper.make_sequence_type_proto(tensor))


class Sequences(ForeignModels):
    def model(self, nodes, shape, outputs="y", kind=FLOAT, opset=17, more=(), **constants):
        """A model of x; `constants` are initializers by name."""
        return self.write(nodes, [value("x", shape, kind), *more],
                          [helper.make_empty_tensor_value_info(name) for name in outputs.split()],
                          [constant(*item) for item in constants.items()], opset)

    def agrees(self, nodes, shape, outputs="y", kind=FLOAT, opset=17, **constants):
        self.agrees_with_onnxruntime(self.model(nodes, shape, outputs, kind, opset, **constants),
                                     {"x": draw(shape, kind)})

    def refused(self, *texts, code=3):
        self.call("compile", self.folder / "m.onnx", "--target", "native", "-o",
                  self.folder / "m.tcc", expect=code)
        for text in texts:
            self.assertIn(text, self.error)


class Splits(Sequences):
    def test_a_split_without_extents_takes_the_axis_apart(self):
        at = [node("SequenceAt", "s two", "a"), node("SequenceAt", "s back", "b"),
              node("Relu", "a", "y"), node("Relu", "b", "z")]
        for keepdims in (0, 1):
            for axis in (0, 1, -1):
                split = node("SplitToSequence", "x", "s", axis=axis, keepdims=keepdims)
                self.agrees([split, *at], [3, 4, 5], "y z", two=np.int64(2), back=np.int64(-3))

    def test_a_split_into_parts_of_one_extent_leaves_a_smaller_last_part(self):
        for extent, opset in ((3, 11), (4, 13), (7, 18), (9, 21)):
            self.agrees([node("SplitToSequence", "x extent", "s", axis=1),
                         node("SequenceAt", "s last", "y"), node("SequenceLength", "s", "z")],
                        [2, 7], "y z", opset=opset, extent=np.int64(extent), last=np.int32(-1))

    def test_a_list_of_extents_tells_the_parts(self):
        for extents in ([2, 0, 4], [6], [1, 5]):
            self.agrees([node("SplitToSequence", "x extents", "s", axis=-2),
                         node("SequenceAt", "s first", "y"), node("SequenceAt", "s last", "z")],
                        [6, 3], "y z", extents=np.array(extents, np.int32), first=np.int64(0),
                        last=np.int64(-1))

    def test_parts_of_integers_and_bools_are_stacked_again(self):
        for kind, opset in ((INT64, 11), (BOOL, 13), (FLOAT, 23)):
            self.agrees([node("SplitToSequence", "x", "s", axis=1, keepdims=0),
                         node("ConcatFromSequence", "s", "y", axis=-1, new_axis=1)],
                        [3, 4, 2], kind=kind, opset=opset)

    def test_a_split_sees_the_shape_of_a_computed_value(self):
        # torch's chunk(3) of a transposed tensor: the extent of a part is computed from the shape.
        nodes = [node("Transpose", "x", "t", perm=[1, 0]), node("Shape", "t", "shape"),
                 node("Gather", "shape zero", "n"), node("Add", "n two", "more"),
                 node("Div", "more three", "part"), node("SplitToSequence", "t part", "s", axis=0),
                 node("SequenceLength", "s", "count"), node("Sub", "count one", "last"),
                 node("SequenceAt", "s last", "y")]
        self.agrees(nodes, [3, 8], zero=np.int64(0), one=np.int64(1), two=np.int64(2),
                    three=np.int64(3))

    def test_a_split_of_a_constant_and_one_inside_a_function_are_read(self):
        shuffle = helper.make_function(
            "own", "Shuffle", ["data"], ["joined"],
            [node("SplitToSequence", "data", "parts", axis=0),
             node("Constant", "", "first", value_int=0), node("SequenceAt", "parts first", "head"),
             node("SequenceErase", "parts first", "rest"),
             node("SequenceInsert", "rest head", "new"),
             node("ConcatFromSequence", "new", "joined", axis=0)],
            [helper.make_opsetid("", 17)])
        path = self.model([helper.make_node("Shuffle", ["c"], ["h"], domain="own"),
                           helper.make_node("Shuffle", ["x"], ["g"], domain="own"),
                           node("Add", "g h", "y")], [4, 2], c=draw([4, 1]))
        model = onnx.load(path)
        model.functions.append(shuffle)
        model.opset_import.append(helper.make_opsetid("own", 1))
        onnx.save(model, path)
        self.agrees_with_onnxruntime(path, {"x": draw([4, 2])})


class Edits(Sequences):
    def test_insert_and_erase_count_from_both_ends(self):
        parts = [node("Neg", "x", "n"), node("Abs", "x", "a"),
                 node("SequenceConstruct", "x n", "s")]
        ends = [node("ConcatFromSequence", "t", "y", axis=0)]
        for position in (0, 1, 2, -1, -2):
            self.agrees([*parts, node("SequenceInsert", "s a p", "t"), *ends], [2, 3],
                        p=np.int64(position))
        for position in (0, 1, 2, -1, -3):
            self.agrees([*parts, node("SequenceInsert", "s a", "long"),
                         node("SequenceErase", "long p", "t"), *ends], [2, 3],
                        p=np.int32(position))
        self.agrees([*parts, node("SequenceErase", "s", "t"), *ends], [2, 3])

    def test_a_sequence_grows_from_nothing(self):
        for kind in (FLOAT, INT64):
            self.agrees([node("SequenceEmpty", "", "e", dtype=kind),
                         node("SequenceLength", "e", "none"), node("Neg", "x", "n"),
                         node("SequenceInsert", "e x", "s"), node("SequenceInsert", "s n p", "t"),
                         node("SequenceLength", "t", "two"),
                         node("ConcatFromSequence", "t", "y", axis=1, new_axis=1)],
                        [3, 2], "y none two", kind=kind, p=np.int64(0))

    def test_an_element_may_be_an_output_and_stand_in_two_sequences(self):
        self.agrees([node("SequenceConstruct", "x c x", "s"), node("Identity", "s", "t"),
                     node("SequenceAt", "t zero", "y"), node("SequenceAt", "t one", "z"),
                     node("ConcatFromSequence", "s", "all", axis=0)], [2, 3], "y z all",
                    c=draw([1, 3]), zero=np.int64(0), one=np.int64(1))


class Structure(Sequences):
    def branch(self, name, *nodes):
        return helper.make_graph(nodes, name, [], [sequence_info(nodes[-1].output[0])])

    def chosen(self):
        return [node("SplitToSequence", "x", "s", axis=0),
                node("If", "c", "t", then_branch=self.branch("a", node("SequenceErase", "s", "e")),
                     else_branch=self.branch("b", node("SequenceInsert", "s x", "i"))),
                node("ConcatFromSequence", "t", "y", axis=0)]

    def test_the_taken_branch_gives_a_sequence(self):
        for condition in (True, False):
            self.agrees(self.chosen(), [3, 2], c=np.array(condition))

    def test_a_condition_of_the_run_asks_for_its_input(self):
        self.model(self.chosen(), [3, 2], more=[value("c", [], BOOL)])
        self.refused("result 'e' is a sequence, and the condition is computed from 'c' at run time",
                     "--bind c=FILE.npy")

    def test_an_optional_of_a_sequence_is_the_sequence(self):
        self.agrees([node("SplitToSequence", "x", "s", axis=0), node("Optional", "s", "o"),
                     node("OptionalHasElement", "o", "has"), node("OptionalGetElement", "o", "t"),
                     node("SequenceAt", "t one", "y")], [3, 2], "y has", opset=18, one=np.int64(1))

    def test_bodies_read_the_elements_of_a_sequence_outside(self):
        body = helper.make_graph(
            [node("SequenceAt", "s one", "e"), node("Add", "sum e", "next"),
             node("Add", "next f", "after"), node("Identity", "c", "go"),
             node("ConcatFromSequence", "s", "scan", axis=0)], "body",
            [value("i", [], INT64), value("c", [], BOOL), value("sum", [1, 2])],
            [value("go", [], BOOL), value("after", [1, 2]), value("scan", [3, 2])])
        self.agrees([node("SplitToSequence", "x", "s", axis=0), node("SequenceAt", "s one", "f"),
                     helper.make_node("Loop", ["trips", "", "f"], ["y", "z"], body=body)],
                    [3, 2], "y z", trips=np.int64(2), one=np.int64(1))

    def test_a_loop_that_carries_a_sequence_is_refused(self):
        body = helper.make_graph([node("SequenceInsert", "s x", "t"), node("Identity", "c", "go")],
                                 "body", [value("i", [], INT64), value("c", [], BOOL),
                                          sequence_info("s")],
                                 [value("go", [], BOOL), sequence_info("t")])
        self.model([node("SequenceEmpty", "", "e"),
                    helper.make_node("Loop", ["trips", "", "e"], ["all"], body=body),
                    node("ConcatFromSequence", "all", "y", axis=0)], [3], trips=np.int64(2))
        self.refused("(Loop): input 'e' is a sequence, whose length an iteration may change")

    def test_a_structure_that_only_a_run_knows_is_refused(self):
        split = node("SplitToSequence", "x", "s", axis=0)
        at = node("SequenceAt", "s p", "y")
        self.model([split, at], [3, 2], more=[value("p", [], INT64)])
        self.refused("node 'y' (SequenceAt): the structure of a sequence depends on input 1 ('p'), "
                     "which is computed from 'p' at run time; expected a constant",
                     "--bind p=FILE.npy")
        self.model([node("Relu", "x", "r"), node("SplitToSequence", "r", "s", axis=0), at],
                   ["N", 2], p=np.int64(0))
        self.refused("node 's' (SplitToSequence): the number of parts of 'r' is not known: axis 0 "
                     "has N elements; expected a number that is given", "--dim")
        self.compile(self.folder / "m.onnx", "--dim", "N=2")
        self.model([split, at], [5000, 2], p=np.int64(0))
        self.refused("a sequence of 5000 tensors; at most 4096 are supported")

    def test_what_hides_the_shape_of_a_value_to_split_is_what_the_refusal_says(self):
        self.model([node("Reshape", "x r", "h"), node("SplitToSequence", "h", "s", axis=0),
                    node("SequenceAt", "s p", "y")], [3, 2], more=[value("r", [2], INT64)],
                   p=np.int64(0))
        self.refused("node 's' (SplitToSequence): the number of parts of 'h' is not known: "
                     "node 'h' (Reshape)", "--bind r=FILE.npy")

    def test_sequences_are_no_outputs(self):
        self.write([node("SplitToSequence", "x", "s", axis=0)], [value("x", [2, 3])],
                   [sequence_info("s")])
        self.refused("output 's' is a sequence, which is not supported; expected a tensor")

    def test_a_position_outside_and_operands_of_another_kind_are_named(self):
        split = node("SplitToSequence", "x", "s", axis=0)
        for position in (3, -4):
            self.model([split, node("SequenceAt", "s p", "y")], [3, 2], p=np.int64(position))
            self.refused(f"position {position} of a sequence of 3; expected -3 to 2", code=4)
        self.model([split, node("SequenceErase", "s p", "t"), node("SequenceLength", "t", "y")],
                   [3, 2], p=np.int64(3))
        self.refused("position 3 of a sequence of 3; expected -3 to 2", code=4)
        self.model([split, node("SequenceInsert", "s x p", "t"), node("SequenceLength", "t", "y")],
                   [3, 2], p=np.int64(4))
        self.refused("position 4 of a sequence of 3; expected -3 to 3", code=4)
        self.model([split, node("SequenceInsert", "s p", "t"), node("SequenceLength", "t", "y")],
                   [3, 2], p=np.int64(4))
        self.refused("input 1 ('p') is i64; the sequence holds f32", code=4)
        self.model([split, node("Relu", "s", "y")], [3, 2])
        self.refused("node 'y' (Relu): input 0 ('s') is a sequence; expected a tensor", code=4)
        self.model([node("SequenceAt", "x p", "y")], [3, 2], p=np.int64(0))
        self.refused("node 'y' (SequenceAt): input 0 ('x') is a tensor; expected a sequence",
                     code=4)
        self.model([node("SequenceEmpty", "", "e"), node("ConcatFromSequence", "e", "y", axis=0)],
                   [3])
        self.refused("node 'y' (ConcatFromSequence): the sequence is empty", code=4)
        self.model([node("SequenceEmpty", "", "e"), node("SequenceErase", "e", "t"),
                    node("SequenceLength", "t", "y")], [3])
        self.refused("node 't' (SequenceErase): the sequence is empty", code=4)


if __name__ == "__main__":
    main()
