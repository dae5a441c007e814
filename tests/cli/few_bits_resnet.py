#!/usr/bin/env python3
"""usage: few_bits_resnet.py [--bits 2x1] [--full] MODEL.onnx

A ResNet-18 whose convolutions have data of 2 bits and weights of 1 or 2, or bytes for both, but for
the first and the last layer, which are of bytes. All scales are powers of two and biases multiples
of the steps of sums, so that every result is exact in f32, whatever the order of its terms.
"""

import argparse
import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET = 25  # the first with 2-bit integers


@dataclasses.dataclass
class Form:
    """How the inner layers hold their data and weights."""
    data: int  # TensorProto types
    most: int  # of the data; the least is 0
    weight: int
    weights: list  # what a weight is drawn from; the mean is 0


FORMS = {
    "2x1": Form(TensorProto.UINT2, 3, TensorProto.INT8, [-1, 1]),
    "2x1 in i2": Form(TensorProto.UINT2, 3, TensorProto.INT2, [-1, 1]),
    "2x2": Form(TensorProto.UINT2, 3, TensorProto.INT2, [-2, -1, 0, 1, 1, 1]),
    "8x8": Form(TensorProto.UINT8, 255, TensorProto.INT8, list(range(-127, 128))),
}


class Builder:
    def __init__(self, form, width, size, classes, seed=7):
        self.form, self.width, self.size, self.classes = form, width, size, classes
        self.draw = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, name, kind, values):
        values = np.asarray(values)
        self.constants.append(helper.make_tensor(name, kind, values.shape, values.flatten()))
        return name

    def node(self, op, name, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def scale(self, name, exponent):
        return self.constant(f"{name}.scale", TensorProto.FLOAT, np.float32(2.0 ** exponent))

    def quantized(self, name, x, kind, exponent, zero=0):
        """x in integers of a type, as f32 again."""
        operands = [self.scale(name, exponent), self.constant(f"{name}.zero", kind, zero)]
        q = self.node("QuantizeLinear", f"{name}.q", [x, *operands])
        return self.node("DequantizeLinear", name, [q, *operands])

    def data(self, name, x):
        exponent = 0 if self.form.most == 3 else -6
        return self.quantized(name, x, self.form.data, exponent)

    def weight(self, name, shape, kind, values, terms_deviation):
        """A weight with the scale that gives its sums a deviation of about 1."""
        numbers = self.draw.choice(values, shape)
        spread = np.sqrt(np.mean(np.square(values)) * np.prod(shape[1:])) * terms_deviation
        w = self.constant(f"{name}.w", kind, numbers)
        return self.node("DequantizeLinear", f"{name}.f32",
                         [w, self.scale(name, -round(np.log2(spread)))])

    def bias(self, name, count):
        steps = self.draw.integers(-8, 9, count)
        return self.constant(f"{name}.b", TensorProto.FLOAT, (steps / 16).astype(np.float32))

    def conv(self, name, x, channels, filters, kernel, stride, inner=True):
        kind = self.form.weight if inner else TensorProto.INT8
        values = self.form.weights if inner else list(range(-127, 128))
        w = self.weight(name, (filters, channels, kernel, kernel), kind, values, 1)
        return self.node("Conv", name, [x, w, self.bias(name, filters)], kernel_shape=[kernel] * 2,
                         strides=[stride] * 2, pads=[kernel // 2] * 4)

    def block(self, name, x, channels, filters, stride):
        y = self.conv(f"{name}.conv1", x, channels, filters, 3, stride)
        y = self.data(f"{name}.inner", self.node("Relu", f"{name}.relu1", [y]))
        y = self.conv(f"{name}.conv2", y, filters, filters, 3, 1)
        if stride != 1 or channels != filters:
            x = self.conv(f"{name}.downsample", x, channels, filters, 1, stride)
        y = self.node("Add", f"{name}.add", [x, y])
        return self.data(f"{name}.out", self.node("Relu", f"{name}.relu", [y]))

    def model(self):
        x = self.quantized("image", "x", TensorProto.UINT8, -6, 128)
        x = self.conv("first", x, 3, self.width, 7, 2, inner=False)
        x = self.node("Relu", "first.relu", [x])
        x = self.node("MaxPool", "pool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        x = self.data("pooled", x)
        channels = self.width
        for stage in range(4):
            for block in range(2):
                filters = self.width << stage
                stride = 2 if stage > 0 and block == 0 else 1
                x = self.block(f"layer{stage + 1}.{block}", x, channels, filters, stride)
                channels = filters
        x = self.node("GlobalAveragePool", "mean", [x])
        x = self.quantized("features", self.node("Flatten", "flat", [x]), TensorProto.UINT8, -6)
        w = self.weight("last", (self.classes, channels), TensorProto.INT8,
                        list(range(-127, 128)), 1)
        self.node("Gemm", "y", [x, w, self.bias("last", self.classes)], transB=1)
        graph = helper.make_graph(
            self.nodes, "few_bits_resnet18",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, self.size, self.size])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, self.classes])],
            self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                 ir_version=12)


def few_bits_resnet(form, full=False):
    """A model of ONNX; small ones have half the channels and images of 64 pixels."""
    if full:
        return Builder(FORMS[form], 64, 224, 1000).model()
    return Builder(FORMS[form], 32, 64, 10).model()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--bits", default="2x1", choices=FORMS)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    onnx.save(few_bits_resnet(options.bits, options.full), options.model)


if __name__ == "__main__":
    main()
