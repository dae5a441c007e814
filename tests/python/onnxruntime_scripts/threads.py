"""Shares a session between threads, and runs it in the background.

usage: threads.py DQN
"""
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()
options.intra_op_num_threads = 1
session = ort.InferenceSession(sys.argv[1], options)
name, shape = session.get_inputs()[0].name, session.get_inputs()[0].shape
frames = [np.random.default_rng(i).random(shape, np.float32) for i in range(32)]


def act(frame):
    return session.run(None, {name: frame})[0]


alone = [act(frame) for frame in frames]
with ThreadPoolExecutor(max_workers=4) as pool:
    together = list(pool.map(act, frames * 4))
print("the same:", all(np.array_equal(a, b) for a, b in zip(alone * 4, together)))
print("actions:", [int(values.argmax()) for values in alone])
print(alone[0], alone[31])

done = threading.Event()
answers = []


def finished(results, user_data, error):
    answers.append((results[0], user_data, error))
    done.set()


options.intra_op_num_threads = 2
session = ort.InferenceSession(sys.argv[1], options)
session.run_async(None, {name: frames[0]}, finished, "frame 0")
print("called back:", done.wait(30), np.allclose(answers[0][0], alone[0]), *answers[0][1:])
