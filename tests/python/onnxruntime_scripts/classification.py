"""Classifies a picture: mean and deviation of ImageNet, softmax, the five best.

usage: classification.py MOBILENET
"""
import sys

import numpy as np
import onnxruntime as ort

session = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
input_name = session.get_inputs()[0].name
_, channels, height, width = session.get_inputs()[0].shape

picture = np.random.default_rng(0).integers(0, 256, (height, width, channels), dtype=np.uint8)
mean = np.array([0.485, 0.456, 0.406], np.float32)
deviation = np.array([0.229, 0.224, 0.225], np.float32)
scaled = (picture.astype(np.float32) / 255 - mean) / deviation
batch = scaled.transpose(2, 0, 1)[np.newaxis]  # not contiguous

logits = session.run(None, {input_name: batch})[0][0]
probabilities = np.exp(logits - logits.max())
probabilities /= probabilities.sum()
for label in np.argsort(probabilities)[::-1][:5]:
    print(f"class {label}: {probabilities[label]:.4f}")
