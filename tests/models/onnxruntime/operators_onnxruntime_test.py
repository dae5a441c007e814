"""Operators that ONNX's node tests leave out, of the domain com.microsoft above all: tcc's results
against ONNX Runtime's, without its optimisations.

usage: operators_onnxruntime_test.py TCC [TARGET]
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

DRAW = np.random.default_rng(5)
F32, U8, I8, I32 = np.float32, np.uint8, np.int8, np.int32


def u8(*shape):
    return DRAW.integers(0, 256, shape).astype(U8)


# Of 7 bits: where a CPU has no VNNI, ONNX Runtime adds two products of u8 and i8 in 16 bits, which
# saturate with weights of 8.
def i8(*shape):
    return DRAW.integers(-64, 64, shape).astype(I8)


def i32(*shape):
    return DRAW.integers(-3000, 3000, shape).astype(I32)


def f32(*shape):
    return DRAW.standard_normal(shape).astype(F32)


def number(value, dtype=F32):
    return np.array(value, dtype)


def triple(values, scale, zero):
    return [values, number(scale), number(zero, values.dtype)]


# name: operator, inputs (None: left out), attributes. The first input, and all that are a tuple,
# are fed; the others are initializers. A name with a dot is of another domain. `ulps` counts how
# many steps of an integer result may differ: ONNX Runtime rounds sums of floats in its own order.
def cases():
    yield "QLinearAdd", triple(u8(2, 3, 4), 0.0213, 120) + triple(u8(3, 4), 0.0317, 7) + [
        number(0.0409), number(99, U8)], {}
    yield "QLinearAdd", triple(i8(2, 5), 0.513, -3) + triple(i8(2, 1), 0.257, 0) + [number(0.7)], {}
    yield "QLinearMul", triple(u8(2, 3, 4), 0.0213, 120) + triple(u8(2, 3, 4), 0.0317, 7) + [
        number(0.05), number(99, U8)], {}
    yield "QLinearSigmoid", triple(u8(40), 0.05, 128) + [number(1 / 256), number(0, U8)], {}
    yield "QLinearLeakyRelu", triple(i8(40), 0.05, -10) + [number(0.0409), number(3, I8)], {
        "alpha": 0.2}
    yield "QLinearGlobalAveragePool", triple(u8(2, 3, 5, 4), 0.0507, 3) + [
        number(0.0207), number(5, U8)], {}
    yield "QLinearAveragePool", triple(u8(1, 3, 6, 7), 0.0507, 3) + [
        number(0.0409), number(5, U8)], {
        "kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    # Averages in the middle of two results.
    yield "QLinearAveragePool", triple(u8(1, 4, 9, 9), 0.03, 5) + [number(0.03), number(9, U8)], {
        "kernel_shape": [2, 2], "pads": [1, 0, 0, 1]}
    # ONNX Runtime rounds the exponentials to integers, divides them by their sum and rounds halves
    # up; here the softmax is in f32 and QuantizeLinear rounds halves to even: at most a step apart.
    step = number(1 / 256)
    for axis, opset in ((-1, 13), (1, 13), (1, 12), (-1, 12)):
        attributes = {"axis": axis, "opset": opset}
        yield "QLinearSoftmax", triple(u8(3, 7, 11), 0.05, 5) + [step, number(0, U8)], attributes
        yield "QLinearSoftmax", triple(i8(3, 7, 11), 0.1, 5) + [step, number(-128, I8)], attributes
    yield "QLinearSoftmax", [u8(4, 9), number(0.2), None, number(0.003), number(3, U8)], {
        "opset": 13}
    yield "QLinearConcat", [number(0.0409), number(50, U8)] + triple(u8(2, 3), 0.0211, 9) + triple(
        u8(2, 1), 0.0817, 30), {"axis": 1}
    yield "QLinearWhere", [DRAW.integers(0, 2, (3, 4)).astype(bool)] + triple(
        u8(3, 4), 0.0211, 9) + triple(u8(3, 4), 0.0519, 30) + [number(0.0409), number(50, U8)], {}
    a, b = triple(u8(5, 70), 0.0213, 120), triple(i8(70, 6), 0.01, -4)
    yield "QGemm", a + b + [i32(6), number(0.5), number(128, U8)], {"alpha": 0.5}
    yield "QGemm", a + b + [i32(5, 6)], {}
    columns = [i8(6, 70), np.abs(f32(6)) / 100 + F32(0.01), i8(6)]
    yield "QGemm", a + columns + [None, number(0.3), number(3, U8)], {"transB": 1}
    yield "DynamicQuantizeMatMul", [f32(4, 30), i8(30, 5), number(0.0207), number(3, I8),
                                    f32(5)], {}
    yield "DynamicQuantizeMatMul", [f32(2, 4, 30), i8(30, 5), np.abs(f32(5)), i8(5)], {}
    yield "MatMulIntegerToFloat", [u8(4, 30), i8(30, 5), number(0.1), np.abs(f32(5)),
                                   number(7, U8), i8(5), f32(5)], {}
    yield "QuantizeLinear", [f32(3, 40) * 300, number(0.01), number(-1000, np.int16)], {}
    yield "DequantizeLinear", [u8(3, 40), np.abs(f32(3)), u8(3)], {"axis": 0}
    x = triple(u8(1, 8, 9, 7), 0.0213, 120)
    yield "ai.QLinearConv", x + [i8(6, 4, 3, 3), np.abs(f32(6)) / 50, np.zeros(6, I8)] + [
        number(0.2), number(128, U8), i32(6)], {"group": 2, "pads": [1, 1, 0, 1], "strides": [2, 1]}
    yield "ai.QLinearConv", x[:1] + [number(0.01), number(3, U8), u8(6, 8, 1, 1), number(0.0207),
                                     number(99, U8), number(0.3), number(9, U8)], {}
    yield "ai.QLinearMatMul", triple(u8(3, 4, 30), 0.0213, 120) + [
        i8(30, 5), np.abs(f32(5)) / 50, np.zeros(5, I8), number(0.2), number(128, U8)], {}
    yield "ai.MatMulInteger", [u8(3, 70), i8(70, 5), number(9, U8), i8(5)], {}
    yield "ai.ConvInteger", [u8(1, 3, 7, 8), u8(4, 3, 3, 2), number(9, U8), number(100, U8)], {
        "dilations": [2, 1], "pads": [1, 2, 3, 0]}
    yield "ai.DynamicQuantizeLinear", [f32(3, 40)], {}
    yield "ai.DynamicQuantizeLinear", [np.zeros((3, 4), F32)], {}
    yield "ai.QuantizeLinear", [(f32(2, 6, 5) * 40).astype(np.float16),
                                np.float16([0.5, 2]).reshape(2), i8(2)], {"axis": 0}
    yield "ai.QuantizeLinear", [f32(4, 6) * 40, np.abs(f32(2, 6)), u8(2, 6)], {
        "axis": 0, "block_size": 2}
    yield "ai.DequantizeLinear", [i32(4, 6), number(0.01)], {}
    for auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        yield "ai.ConvTranspose", [f32(1, 3, 5, 4), f32(3, 2, 3, 4), f32(2)], {
            "strides": [2, 3], "auto_pad": auto_pad}
    yield "ai.ConvTranspose", [f32(2, 4, 5, 4, 3), f32(4, 3, 3, 2, 4), f32(6)], {
        "group": 2, "strides": [2, 3, 1], "dilations": [2, 1, 2], "pads": [1, 0, 2, 2, 1, 0],
        "output_padding": [1, 2, 0]}
    for shape in ([10, 11], [9, 13]):
        yield "ai.ConvTranspose", [f32(1, 3, 5, 6), f32(3, 2, 3, 3)], {
            "strides": [2, 2], "output_shape": shape}
    for auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        yield "ai.Conv", [f32(2, 4, 11), f32(6, 2, 4), f32(6)], {
            "group": 2, "strides": [3], "auto_pad": auto_pad}
        yield "ai.Conv", [f32(1, 2, 5, 6, 7), f32(3, 2, 2, 3, 4)], {
            "strides": [2, 1, 1], "auto_pad": auto_pad}
        yield "ai.MaxPool", [f32(1, 2, 5, 6, 8)], {
            "kernel_shape": [2, 3, 4], "strides": [2, 1, 3], "auto_pad": auto_pad}
    yield "ai.Conv", [f32(1, 2, 5, 6), f32(3, 2, 3, 2)], {"auto_pad": "VALID", "strides": [1, 2]}
    for order in (0, 1):
        yield "ai.MaxPool+Indices", [f32(2, 3, 7, 9)], {
            "kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 1, 0, 1], "ceil_mode": 1,
            "storage_order": order}
    yield "ai.MaxPool+Indices", [f32(2, 3, 11)], {"kernel_shape": [3], "dilations": [2]}
    yield "ai.MaxPool", [u8(2, 3, 7, 9)], {"kernel_shape": [3, 2]}
    yield "ai.MaxPool", [i8(2, 3, 7, 9)], {"kernel_shape": [3, 2], "pads": [1, 1, 1, 1]}
    for count in (0, 1):
        yield "ai.AveragePool", [f32(1, 2, 7, 8, 5)], {
            "kernel_shape": [3, 2, 2], "strides": [2, 3, 2], "pads": [1, 0, 1, 0, 1, 0],
            "ceil_mode": 1, "count_include_pad": count}
    yield "ai.LpPool", [f32(1, 2, 7, 8, 5)], {
        "kernel_shape": [3, 2, 2], "strides": [2, 3, 2], "pads": [1, 0, 1, 0, 1, 0], "p": 3}
    yield "ai.GlobalLpPool", [f32(2, 3, 4, 5)], {"p": 1}
    yield from resizes()
    # Regions on the image, across its edges, around it, beside it, and of no size.
    regions = F32([[2, 1, 9, 7], [-30, -20, 70, 5], [-90, -80, 95, 99], [40, 3, 60, 9],
                   [-1, -1, 18, 16], [5, 5, 5, 5], [9, 9, 3, 2]])
    for mode in ("avg", "max"):
        for transformation in ("half_pixel", "output_half_pixel"):
            yield "ai.RoiAlign", [f32(2, 3, 8, 9), regions, np.arange(7) % 2], {
                "mode": mode, "output_height": 3, "output_width": 2, "sampling_ratio": 0,
                "spatial_scale": 0.5, "coordinate_transformation_mode": transformation}


def resizes():
    """Nearest places by scales that f32 cannot hold, whose product with the extent may or may not
    be whole."""
    for transformation in ("half_pixel", "asymmetric", "half_pixel_symmetric"):
        for mode in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
            for scales in ((1 / 3, 7 / 3, 0.7), (2 / 3, 9 / 5, 0.9), (5 / 9, 1.2, 1 / 6),
                           (19 / 14, 2 / 7, 0.6)):
                yield "ai.Resize", [f32(18, 14, 21), None, F32(scales)], {
                    "mode": "nearest", "nearest_mode": mode,
                    "coordinate_transformation_mode": transformation}


DTYPES = {np.dtype(F32): TensorProto.FLOAT, np.dtype(U8): TensorProto.UINT8,
          np.dtype(I8): TensorProto.INT8, np.dtype(I32): TensorProto.INT32,
          np.dtype(bool): TensorProto.BOOL, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.float16): TensorProto.FLOAT16}


def model_of(name, inputs, attributes):
    domain = "" if name.startswith("ai.") else "com.microsoft"
    op, _, more = name.removeprefix("ai.").partition("+")
    # An input of every model is the largest operand; the parameters are constants, as exporters
    # write them.
    fed = max((i for i, x in enumerate(inputs) if x is not None), key=lambda i: inputs[i].size)
    if op in ("QLinearConv", "ConvInteger", "Conv", "ConvTranspose",
              "QLinearMatMul", "QLinearWhere"):
        fed = 0
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    outputs = ["y", "scale", "zero"] if op == "DynamicQuantizeLinear" else ["y"]
    outputs += [more] if more else []
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, name="node", domain=domain, **attributes)], "case",
        [helper.make_tensor_value_info(names[fed], DTYPES[inputs[fed].dtype], inputs[fed].shape)],
        [onnx.ValueInfoProto(name=output) for output in outputs],
        [numpy_helper.from_array(x, n) for i, (x, n) in enumerate(zip(inputs, names))
         if n and i != fed])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), names[fed], inputs[fed]


def differs(got, expected):
    """The largest difference; in steps for integers."""
    assert got.dtype == expected.dtype and got.shape == expected.shape, (got.dtype, got.shape,
                                                                        expected.shape)
    if got.dtype.kind == "f":
        return np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-6)
    return np.abs(got.astype(np.int64) - expected.astype(np.int64)).max()


def check(tcc, target, folder, index, case):
    name, inputs, attributes = case
    model, fed, value = model_of(name, inputs, attributes)
    path = folder / f"{index}.onnx"
    path.write_bytes(model.SerializeToString())
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    expected = session.run(None, {fed: value})
    np.save(folder / "x.npy", value)
    artefact = folder / f"{index}.tcc"
    subprocess.run([tcc, "compile", path, "--target", target, "-o", artefact, "--progress",
                    "none"], check=True)
    subprocess.run([tcc, "run", artefact, "--input", f"{fed}={folder / 'x.npy'}", "--output-dir",
                    folder], check=True)
    for i, e in enumerate(expected):
        got = np.load(folder / f"output_{i}.npy")
        # A tie may fall either way where a scale was multiplied in another order.
        limit = 1e-5 if e.dtype.kind == "f" else 1
        if e.dtype in (np.int32, np.int64):
            limit = 0
        difference = differs(got, e)
        different = (got != e).mean()
        print(f"{index} {name} {e.dtype}: difference {difference:.3g}, {100 * different:.1f} %")
        assert difference <= limit, f"{name}: {got} is not {e}"
        assert e.dtype.kind == "f" or different < 0.02, f"{name}: {100 * different} % differ"


def main():
    tcc = sys.argv[1]
    target = sys.argv[2] if len(sys.argv) > 2 else "native"
    with tempfile.TemporaryDirectory() as folder:
        for index, case in enumerate(cases()):
            check(tcc, target, pathlib.Path(folder), index, case)


if __name__ == "__main__":
    main()
