"""Embeds two sentences with masks and compares them by their cosine.

usage: bert.py BERT
"""
import sys

import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
length = session.get_inputs()[0].shape[1]


def encode(text):
    ids = [ord(letter) % 90 + 5 for letter in text][:length]
    padding = length - len(ids)
    return {
        "input_ids": np.array([ids + [0] * padding], dtype=np.int64),
        "attention_mask": np.array([[1] * len(ids) + [0] * padding], dtype=np.int64),
        "token_type_ids": np.zeros((1, length), dtype=np.int64),
    }


def embed(text):
    states, pooled = session.run(None, encode(text))
    mask = encode(text)["attention_mask"][..., None]
    mean = (states * mask).sum(axis=1) / mask.sum(axis=1)
    return mean[0], pooled[0]


for first, second in [("a compiler", "compilers"), ("tensors", "a cat")]:
    (a, pooled), (b, _) = embed(first), embed(second)
    cosine = float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    print(f"{first} / {second}: {cosine:.4f}", pooled[:4].round(4))
