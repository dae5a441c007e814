"""Feeds a window of tokens to a language model and appends the likeliest, again and again.

usage: lstm.py LSTM
"""
import sys

import numpy
import onnxruntime as ort

sess = ort.InferenceSession(sys.argv[1])
inp = sess.get_inputs()[0]
out = sess.get_outputs()[0]
print(inp.name, inp.shape, inp.type, "->", out.name, out.shape, out.type)
window = list(range(1, inp.shape[0] + 1))
total = 0.0
for _ in range(6):
    ids = numpy.asarray(window[-inp.shape[0]:], dtype=numpy.int64).reshape(inp.shape)
    log_probabilities = sess.run([out.name], {inp.name: ids})[0]
    best = int(log_probabilities[-1].argmax())
    total += float(log_probabilities[-1, best])
    window.append(best)
print("tokens", window)
print("log probability", round(total, 3))
