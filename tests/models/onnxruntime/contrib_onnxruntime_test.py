"""Operators that ONNX Runtime's optimizer writes, and element types of 4 and 8 bits: tcc's results
against ONNX Runtime's.

usage: contrib_onnxruntime_test.py TCC [FILTER]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

DRAW = np.random.default_rng(7)
F32, I32 = np.float32, np.int32
B, S, L, N, H = 2, 3, 5, 2, 4  # batch, queries, keys, heads, size of a head


def f32(*shape):
    return DRAW.standard_normal(shape).astype(F32)


def i32(*values):
    return np.array(values, I32)


def zeros_and_ones(*shape):
    mask = DRAW.integers(0, 2, shape).astype(I32)
    mask[..., 0] = 1  # a row that hides all keys would show nothing but rounding
    return mask


class Const:
    """An operand that is an initializer."""

    def __init__(self, value):
        self.value = value


class Computed:
    """An operand that another node gives, whose rank the importer does not know yet."""

    def __init__(self, value):
        self.value = value


# Operator, operands (None: left out), attributes, outputs.
def fused_cases():
    x, w = f32(1, 3, 7, 6), Const(f32(4, 3, 3, 3))
    bias, z = Const(f32(4)), f32(1, 4, 5, 4)
    for name, params in [("Relu", None), ("Tanh", None), ("Sigmoid", None), ("HardSwish", None),
                         ("LeakyRelu", [0.3]), ("Clip", [-0.5, 0.7]), ("HardSigmoid", [0.3, 0.4])]:
        attributes = {"activation": name}
        if params:
            attributes["activation_params"] = params
        yield "FusedConv", [x, w, bias], attributes, 1
        yield "FusedConv", [x, w, None, z], attributes, 1
    yield "FusedConv", [x, w, bias, z], {}, 1
    yield "FusedConv", [x, w, bias], {}, 1
    yield "FusedConv", [f32(1, 4, 9), Const(f32(6, 2, 3)), None], {
        "activation": "Relu", "group": 2, "pads": [2, 1], "strides": [2]}, 1
    for name in ("Relu", "LeakyRelu", "Elu", "Selu", "HardSigmoid", "ThresholdedRelu", "Softplus",
                 "Softsign", "Tanh", "Sigmoid"):
        yield "FusedGemm", [f32(3, 4), Const(f32(5, 4)), f32(5)], {
            "activation": name, "activation_alpha": 0.3, "activation_beta": 0.4,
            "activation_gamma": 1.1, "alpha": 0.7, "beta": 0.3, "transB": 1}, 1
    yield "FusedGemm", [f32(4, 3), f32(4, 5)], {"activation": "Relu", "transA": 1}, 1
    yield "FusedMatMul", [f32(2, 3, 4), f32(2, 5, 4)], {"transB": 1, "alpha": 0.125}, 1
    yield "FusedMatMul", [f32(2, 4, 3), Const(f32(5, 4))], {"transA": 1, "transB": 1}, 1
    yield "FusedMatMul", [f32(6, 2, 3, 4), f32(2, 4, 5)], {"alpha": -2.0}, 1
    yield "FusedMatMul", [f32(3, 2, 4), f32(5, 2, 4)], {
        "transBatchA": 1, "transBatchB": 1, "transB": 1}, 1
    yield "FusedMatMul", [f32(4, 2, 3), f32(2, 4, 5)], {"transBatchA": 1, "transA": 1}, 1
    yield "FusedMatMul", [f32(3, 2, 2, 4), f32(2, 2, 4, 5)], {"transBatchA": 1}, 1
    yield "FusedMatMul", [f32(4), f32(4, 5)], {"transA": 1}, 1
    yield "FusedMatMul", [Computed(f32(2, 3, 4)), f32(5, 4)], {"transB": 1, "alpha": 3.0}, 1
    yield "FusedMatMul", [Computed(f32(2, 4, 3)), f32(2, 5, 4)], {"transA": 1, "transB": 1}, 1
    yield "FusedMatMul", [Computed(f32(4, 2, 3)), f32(4, 2, 5)], {
        "transBatchA": 1, "transA": 1, "transBatchB": 1}, 1


def multi_head_cases():
    heads = {"num_heads": N}
    q, k, v = f32(B, S, N * H), f32(B, L, N * H), f32(B, L, N * H)
    bias = Const(f32(3 * N * H))
    yield "MultiHeadAttention", [q, k, v], heads, 1
    yield "MultiHeadAttention", [q, k, v, bias], {**heads, "scale": 0.3}, 3
    yield "MultiHeadAttention", [q, k, f32(B, L, N * 6), Const(f32(2 * N * H + N * 6))], heads, 1
    for mask in (i32(3, 5), i32(1, 4, 0, 3, 6, 0, 1, 5), zeros_and_ones(B, L),
                 zeros_and_ones(B, S, L)):
        yield "MultiHeadAttention", [q, k, v, None, mask], heads, 1
        yield "MultiHeadAttention", [q, k, v, bias, mask, f32(B, 1, S, L)], {
            **heads, "mask_filter_value": -7.5}, 1
    yield "MultiHeadAttention", [q, k, v, None, None, f32(1, N, S, L)], heads, 1
    yield "MultiHeadAttention", [q, q + 1, q * 2], {**heads, "unidirectional": 1}, 1
    past = [f32(B, N, 4, H), f32(B, N, 4, H)]
    k, v = f32(B, S, N * H), f32(B, S, N * H)
    yield "MultiHeadAttention", [q, k, v, None, None, None] + past, heads, 3
    yield "MultiHeadAttention", [q, k, v, bias, zeros_and_ones(B, S + 4), f32(1, 1, S, S + 4)
                                 ] + past, {**heads, "unidirectional": 1}, 3
    yield "MultiHeadAttention", [q, f32(B, N, L, H), f32(B, N, L, H)], heads, 1


def attention_cases():
    heads = {"num_heads": N}
    x, w, bias = f32(B, S, 7), Const(f32(7, 3 * N * H)), Const(f32(3 * N * H))
    yield "Attention", [x, w, bias], heads, 1
    yield "Attention", [x, w, bias], {**heads, "unidirectional": 1, "scale": 0.4}, 2
    for mask in (i32(2, 3), i32(2, 3, 1, 0), i32(2, 3, 0, 2, 5, 0, 2, 5), zeros_and_ones(B, S),
                 zeros_and_ones(B, S, S)):
        yield "Attention", [x, w, bias, mask], heads, 1
        yield "Attention", [x, w, bias, mask, None, f32(B, N, S, S)], {
            **heads, "mask_filter_value": -5.5}, 1
    yield "Attention", [x, w, bias, None, None, f32(1, 1, S, S)], heads, 1
    past = f32(2, B, N, 4, H)
    yield "Attention", [x, w, bias, None, past], heads, 2
    yield "Attention", [x, w, bias, zeros_and_ones(B, S + 4), past], {
        **heads, "unidirectional": 1}, 2
    yield "Attention", [x, w, bias, i32(6, 7), past], heads, 2
    yield "Attention", [x, Const(f32(7, 8 + 8 + 12)), Const(f32(28))], {
        **heads, "qkv_hidden_sizes": [8, 8, 12]}, 1


def embedding_cases():
    ids, segments = np.array([[1, 2, 3], [4, 0, 1]], I32), np.array([[0, 1, 1], [1, 0, 0]], I32)
    words, places, kinds = Const(f32(6, 8)), Const(f32(5, 8)), Const(f32(2, 8))
    norm = [Const(f32(8)), Const(f32(8))]
    mask, at = np.array([[1, 1, 0], [1, 0, 2]], I32), np.array([[0, 2, 1]], I32)
    name = "EmbedLayerNormalization"
    yield name, [ids, None, words, places, None] + norm, {}, 2
    yield name, [ids, segments, words, places, kinds] + norm + [mask], {"epsilon": 0.01}, 3
    yield name, [ids, segments, words, places, kinds] + norm + [None, at], {}, 2
    yield name, [ids, None, words, places, None] + norm + [mask, at], {}, 3
    x, weight = f32(B, S, 8), Const(f32(8))
    yield "SkipLayerNormalization", [x, f32(B, S, 8), weight, Const(f32(8)), Const(f32(8))], {}, 1
    yield "BiasGelu", [x, Const(f32(8))], {}, 1


def few_bits_cases():
    def u8(*shape):
        return Const(DRAW.integers(0, 256, shape).astype(np.uint8))

    for depth, columns, block, bits in [(64, 10, 16, 4), (48, 3, 16, 4), (100, 5, 32, 4),
                                        (64, 6, 32, 8), (64, 10, 16, 2), (100, 5, 32, 2)]:
        blocks = -(-depth // block)
        x, scales = f32(2, 3, depth), Const(np.abs(f32(columns, blocks)))
        weights = u8(columns, blocks, block * bits // 8)
        zeros = u8(columns, -(-blocks * bits // 8))
        # At level 1 ONNX Runtime computes in f32.
        attributes = {"K": depth, "N": columns, "block_size": block, "bits": bits,
                      "accuracy_level": 1}
        yield "MatMulNBits", [x, weights, scales], attributes, 1
        yield "MatMulNBits", [x, weights, scales, zeros, None, Const(f32(columns))], attributes, 1
        if bits < 8:  # ONNX Runtime has no zero points of floats for 8 bits
            zeros = Const(f32(columns, blocks) + F32(2 ** (bits - 1)))
            yield "MatMulNBits", [x, weights, scales, zeros], attributes, 1


def lstm_cases():
    steps, size, hidden = 8, 16, 32

    def weights(kind, count, *shape):
        low = np.iinfo(kind).min
        return [Const(DRAW.integers(low, low + 256, (count, rows, 4 * hidden)).astype(kind))
                for rows in shape]

    def scales(*shape):
        return Const((DRAW.uniform(0.5, 1, shape) / 128 / np.sqrt(hidden)).astype(F32))

    w, r = weights(np.uint8, 1, size, hidden)
    zeros = Const(np.array([121], np.uint8))
    yield "DynamicQuantizeLSTM", [f32(steps, 1, size), w, r] + [None] * 5 + [
        scales(1), zeros, scales(1), zeros], {"hidden_size": hidden}, 3
    w, r = weights(np.int8, 2, size, hidden)
    zeros = Const(np.zeros((2, 4 * hidden), np.int8))
    yield "DynamicQuantizeLSTM", [
        f32(steps, 2, size), w, r, Const(f32(2, 8 * hidden) / 8), i32(8, 4),
        f32(2, 2, hidden) / 2, f32(2, 2, hidden) / 2, Const(f32(2, 3 * hidden) / 8),
        scales(2, 4 * hidden), zeros, scales(2, 4 * hidden), zeros], {
            "hidden_size": hidden, "direction": "bidirectional"}, 3


# ONNX Runtime rounds the input and each state of this LSTM to 8 bits, tcc does not: 0.005 on
# states of up to 1.
TOLERANCES = {"DynamicQuantizeLSTM": ("0", "1e-2")}


def cases():
    yield from fused_cases()
    yield from lstm_cases()
    yield from multi_head_cases()
    yield from attention_cases()
    yield from embedding_cases()
    yield from few_bits_cases()


# Operator, operands, attributes, what the message names.
def refused_cases():
    heads = {"num_heads": N}
    x, w, bias = f32(B, S, 7), Const(f32(7, 3 * N * H)), Const(f32(3 * N * H))
    q, k = f32(B, S, N * H), f32(B, L, N * H)
    yield "FusedConv", [f32(1, 3, 7, 6), Const(f32(4, 3, 3, 3))], {"activation": "Gelu"}, [
        "'activation'", "'Gelu'", "LeakyRelu"]
    yield "FusedGemm", [f32(3, 4), f32(4, 5)], {"activation": "Softmax"}, ["'Softmax'", "Relu"]
    yield "Attention", [x, w, bias, zeros_and_ones(B, 1, 8, 8)], heads, [
        "mask_index", "4 dimensions", "1, 2 and 3"]
    yield "Attention", [x, w, bias, i32(1, 2, 3)], heads, ["'x3'", "3 elements", "2, 4 or 8"]
    yield "Attention", [x, w, bias, Computed(i32(1, 2))], heads, ["mask_index", "unknown"]
    yield "Attention", [x, w, bias], {**heads, "do_rotary": 1}, ["do_rotary"]
    yield "Attention", [x, w, bias, None, None, None, i32(1)], heads, ["past_sequence_length"]
    weights = Const(np.zeros((3, 2, 8), np.uint8))
    for more, words in (({"bits": 3}, ["MatMulNBits", "'bits'", "is 3", "2, 4 and 8"]),
                        ({"weight_prepacked": 1}, ["weight_prepacked"])):
        yield "MatMulNBits", [f32(2, 32), weights, Const(f32(3, 2))], {
            "K": 32, "N": 3, "block_size": 16, **more}, words
    yield "MatMulNBits", [f32(2, 32), weights.value, Const(f32(3, 2))], {
        "K": 32, "N": 3, "block_size": 16}, ["input 1", "computed"]
    yield "MultiHeadAttention", [f32(B, S, N, 3, H), None, None, Const(f32(3 * N * H))], heads, [
        "bias", "packed"]
    yield "MultiHeadAttention", [q, k, k] + [None] * 5 + [i32(1)], heads, ["past_sequence_length"]


def value_of(operand):
    return operand if operand is None or isinstance(operand, np.ndarray) else operand.value


def contrib_model(op, operands, attributes, outputs):
    names = ["" if x is None else f"x{i}" for i, x in enumerate(operands)]
    read = [n + "/sums" if isinstance(x, Computed) else n for n, x in zip(names, operands)]
    fed = [(n, value_of(x)) for n, x in zip(names, operands) if n and not isinstance(x, Const)]
    results = [f"y{i}" for i in range(outputs)]
    before = [helper.make_node("CumSum", [n, "axis"], [r]) for n, r in zip(names, read) if n != r]
    axis = [numpy_helper.from_array(np.array(0), "axis")] if before else []
    graph = helper.make_graph(
        before + [helper.make_node(op, read, results, "node", domain="com.microsoft",
                                   **attributes)],
        "case",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
         for n, x in fed],
        [onnx.ValueInfoProto(name=result) for result in results],
        axis + [numpy_helper.from_array(x.value, n) for n, x in zip(names, operands)
                if isinstance(x, Const)])
    return model_of(graph), dict(fed)


def model_of(graph):
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def session_of(model, level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, to=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    if to:
        options.optimized_model_filepath = str(to)
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


TARGETS = (["native"], ["reference"], ["sm_86", "--emulate"])


def check(tcc, folder, model, feeds, expected, targets, rtol="1e-4", atol="1e-5"):
    """tcc's results for the model are those, on every target."""
    folder.mkdir(exist_ok=True)
    path = model
    if not isinstance(model, pathlib.Path):
        path = folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
    for kind, arrays in (("input", feeds), ("output", expected)):
        for i, array in enumerate(arrays):
            np.save(folder / f"{kind}_{i}.npy", array)
    for target in targets:
        subprocess.run([tcc, "check", path, "--golden", folder, "--rtol", rtol, "--atol", atol,
                        "--target", *target], check=True, stdout=subprocess.DEVNULL)


def check_refused(tcc, folder, model, words):
    path = folder / "refused.onnx"
    path.write_bytes(model.SerializeToString())
    result = subprocess.run([tcc, "check", path, "--target", "native"], capture_output=True,
                            text=True, check=False)
    print("refused", result.stderr.strip(), flush=True)
    assert result.returncode == 3, result
    assert all(word in result.stderr for word in ["'node'", *words]), result.stderr


def check_packed(tcc, folder):
    """Packed projections, which ONNX Runtime computes on GPUs only, give what plain ones do."""
    q, k, v = f32(B, S, N, H), f32(B, S, N, H), f32(B, S, N, H)
    flat = [x.reshape(B, S, N * H) for x in (q, k, v)]
    plain, feeds = contrib_model("MultiHeadAttention", flat, {"num_heads": N}, 1)
    expected = session_of(plain).run(None, feeds)
    for operands in ([np.stack([q, k, v], 3)], [flat[0], np.stack([k, v], 3)]):
        print("packed", [x.shape for x in operands], flush=True)
        model, feeds = contrib_model("MultiHeadAttention", operands, {"num_heads": N}, 1)
        check(tcc, folder / f"packed{len(operands)}", model, feeds.values(), expected, TARGETS)


def check_early_normalization(tcc, folder):
    """LayerNormalization in a model of an opset that does not have it, as the optimizer writes."""
    x = f32(3, 8)
    graph = helper.make_graph(
        [helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["y"], epsilon=0.01)],
        "early", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(f32(8), name) for name in ("scale", "bias")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    print("LayerNormalization of opset 13", flush=True)
    check(tcc, folder / "early", model, [x], session_of(model).run(None, {"x": x}), TARGETS)


# x of f32 through one of these types and back: each its own way to round and to saturate.
SPECIAL = np.array([0, -0.0, 1, -1.06, 0.3, 7.5, -8.5, 100, 447, 448, 460, 463.9, 464, 464.1, 480,
                    1e4, 57344, 61439, 61440, 65000, 1e9, -1e9, 2e-3, -1e-3, 1e-8, np.inf, -np.inf,
                    np.nan, 1.5, 2.5], F32)


def stored_model(nodes, x, initializers):
    return model_of(helper.make_graph(
        nodes, "stored", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [onnx.ValueInfoProto(name="y")], initializers))


# Without saturation by ml_dtypes, which ONNX's own tests take: ONNX Runtime gives 448 for 480 and NaN
# for 65000, which lie where the types would have their next number.
def rounded(x, name):
    with np.errstate(all="ignore"):
        return x.astype({"FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn,
                         "FLOAT8E5M2": ml_dtypes.float8_e5m2}[name]).astype(F32)


def stored_cases():
    """Name, model, fed f32, what is expected where ONNX Runtime does not say it."""
    for name in ("FLOAT8E4M3FN", "FLOAT8E5M2"):
        kind = TensorProto.DataType.Value(name)
        for saturate in (0, 1):
            x = np.concatenate([SPECIAL, f32(50) * 300])
            yield f"Cast {name} {saturate}", stored_model([
                helper.make_node("Cast", ["x"], ["s"], to=kind, saturate=saturate),
                helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT)], x, []), x, None if saturate else rounded(x, name)
            yield f"QuantizeLinear {name} {saturate}", stored_model([
                helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["s"],
                                 saturate=saturate),
                helper.make_node("DequantizeLinear", ["s", "scale", "zero"], ["y"])], x, [
                    numpy_helper.from_array(F32(0.5), "scale"),
                    helper.make_tensor("zero", kind, [], [0])]), x, (
                        None if saturate else rounded(x * 2, name) / 2)
    for name, low in (("INT4", -8), ("UINT4", 0)):
        kind = TensorProto.DataType.Value(name)
        x = f32(5, 7) * 6
        yield f"QuantizeLinear {name}", stored_model([
            helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["s"], axis=1),
            helper.make_node("DequantizeLinear", ["s", "scale", "zero"], ["y"], axis=1)], x, [
                numpy_helper.from_array(np.abs(f32(7)) + F32(0.1), "scale"),
                helper.make_tensor("zero", kind, [7], [low + i for i in range(7)])]), x, None
        for op, scale, attributes in [
                ("MatMul", (), {}), ("MatMul", (5,), {"axis": 1}), ("MatMul", (7,), {"axis": 0}),
                ("MatMul", (4, 5), {"axis": 0, "block_size": 2}), ("Gemm", (5,), {"axis": 1})]:
            weights = DRAW.integers(low, low + 16, (7, 5))
            zeros = DRAW.integers(low, low + 16, scale)
            yield f"{op} {name} {scale}", stored_model([
                helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["f"], **attributes),
                helper.make_node(op, ["x", "f"], ["y"])], f32(3, 7), [
                    helper.make_tensor("w", kind, (7, 5), weights.flatten()),
                    numpy_helper.from_array(np.abs(f32(*scale)).astype(F32), "scale"),
                    helper.make_tensor("zero", kind, scale, zeros.flatten())]), f32(3, 7), None


# Networks that tcc exports, as ONNX Runtime's optimizer leaves them, and what that has put there.
OPTIMIZED = {"resnet18": {"FusedConv"}, "mobilenet_v2": {"FusedConv"},
             "dqn": {"FusedConv", "FusedGemm"},
             "vit_b_16": {"FusedMatMul", "Gelu", "SkipLayerNormalization"},
             "bert_base": {"FusedMatMul", "FusedGemm", "Gelu", "SkipLayerNormalization"},
             "llama_block": {"FusedMatMul", "QuickGelu"}}


def check_optimized(tcc, folder, name):
    print("optimized", name, flush=True)
    folder.mkdir()
    plain, optimized = folder / "plain.onnx", folder / "optimized.onnx"
    subprocess.run([tcc, "zoo", "export", name, "-o", plain, "--small"], check=True,
                   stdout=subprocess.DEVNULL)
    levels = onnxruntime.GraphOptimizationLevel
    session = session_of(onnx.load(plain), levels.ORT_ENABLE_EXTENDED, optimized)
    kinds = {node.op_type for node in onnx.load(optimized).graph.node
             if node.domain == "com.microsoft"}
    assert OPTIMIZED[name] <= kinds, f"{name}: the optimizer wrote {kinds}"
    feeds = {}
    for value in session.get_inputs():
        whole = value.type != "tensor(float)"
        feeds[value.name] = (DRAW.integers(0, 2, value.shape) if whole else f32(*value.shape))
    expected = session_of(onnx.load(plain)).run(None, feeds)
    check(tcc, folder, optimized, feeds.values(), expected, TARGETS[:2], "1e-3", "1e-4")


def main():
    tcc = sys.argv[1]
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    seen = set()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for index, (op, operands, attributes, outputs) in enumerate(cases()):
            if not pattern.search(op):
                continue
            model, feeds = contrib_model(op, operands, attributes, outputs)
            expected = session_of(model).run(None, feeds)
            targets = TARGETS if op not in seen else TARGETS[:2]
            seen.add(op)
            shapes = [None if x is None else value_of(x).shape for x in operands]
            print(index, op, shapes, attributes, flush=True)
            check(tcc, folder / str(index), model, feeds.values(), expected, targets,
                  *TOLERANCES.get(op, ()))
        for op, operands, attributes, words in refused_cases():
            if pattern.search("refused " + op):
                check_refused(tcc, folder, contrib_model(op, operands, attributes, 1)[0], words)
        if pattern.search("packed"):
            check_packed(tcc, folder)
        if pattern.search("LayerNormalization"):
            check_early_normalization(tcc, folder)
        for title, model, x, expected in stored_cases():
            if pattern.search(title):
                print(title, flush=True)
                if expected is None:
                    expected = session_of(model).run(None, {"x": x})[0]
                check(tcc, folder / title.replace(" ", "_"), model, [x], [expected], TARGETS)
        for network in OPTIMIZED:
            if pattern.search("optimized " + network):
                check_optimized(tcc, folder / network, network)


if __name__ == "__main__":
    main()
