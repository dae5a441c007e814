"""A detector as Ultralytics exports one: names and stride in the metadata, boxes and scores in one
output, non-maximum suppression in numpy."""
import ast

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

CELLS, CLASSES = 8, 3
draw = np.random.default_rng(1)
weights = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in {
    "w0": draw.standard_normal((16, 3, 8, 8)) / 14, "b0": np.zeros(16),
    "w1": draw.standard_normal((4 + CLASSES, 16, 1, 1)) / 4, "b1": np.zeros(4 + CLASSES)}.items()]
graph = helper.make_graph(
    [helper.make_node("Conv", ["images", "w0", "b0"], ["c0"], strides=[8, 8]),
     helper.make_node("Relu", ["c0"], ["r0"]),
     helper.make_node("Conv", ["r0", "w1", "b1"], ["c1"]),
     helper.make_node("Reshape", ["c1", "flat"], ["rows"]),
     helper.make_node("Sigmoid", ["rows"], ["output0"])],
    "detector",
    [helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, 8 * CELLS, 8 * CELLS])],
    [helper.make_tensor_value_info("output0", TensorProto.FLOAT, [1, 4 + CLASSES, CELLS**2])],
    [*weights, numpy_helper.from_array(np.array([1, 4 + CLASSES, CELLS**2]), "flat")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
helper.set_model_props(model, {"names": "{0: 'person', 1: 'bicycle', 2: 'car'}", "stride": "8",
                               "task": "detect"})
onnx.save(model, "detector.onnx")


def overlap(box, others):
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.clip(high - low, 0, None), axis=1)
    area = np.prod(box[2:] - box[:2]) + np.prod(others[:, 2:] - others[:, :2], axis=1)
    return common / (area - common)


def suppress(boxes, scores, threshold=0.3):
    order, kept = list(np.argsort(-scores)), []
    while order:
        best = order.pop(0)
        kept.append(best)
        if order:
            overlaps = overlap(boxes[best], boxes[order])
            order = [index for index, share in zip(order, overlaps) if share < threshold]
    return kept


session = ort.InferenceSession("detector.onnx")
metadata = session.get_modelmeta().custom_metadata_map
names, stride = ast.literal_eval(metadata["names"]), int(metadata["stride"])
frame = np.random.default_rng(2).random(session.get_inputs()[0].shape, np.float32)
output, = session.run([session.get_outputs()[0].name], {session.get_inputs()[0].name: frame})
rows = output[0].T
grid = np.stack(np.meshgrid(np.arange(CELLS), np.arange(CELLS)), -1).reshape(-1, 2)
centres, sizes = (grid + rows[:, :2]) * stride, rows[:, 2:4] * 3 * stride
boxes = np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1)
scores, labels = rows[:, 4:].max(axis=1), rows[:, 4:].argmax(axis=1)
confident = scores > 0.5
boxes, scores, labels = boxes[confident], scores[confident], labels[confident]
kept = suppress(boxes, scores)
print(len(scores), "candidates,", len(kept), "objects of a", metadata["task"], "model")
for index in kept[:5]:
    print(names[int(labels[index])], round(float(scores[index]), 4), boxes[index].round(2))
