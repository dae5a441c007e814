"""Modules of a GPU, by the emulated driver: runs on arrays of the host, and enqueued runs."""

import ctypes
import os
import pathlib
import subprocess
import tempfile

import numpy as np

import tcc
from tcc_package import BUILT, PackageTest, product_model

DEVICE, OTHER = 2, 1  # the artefact is for the first one's architecture
CUDA, F32 = 2, (2, 32, 1)  # of DLPack


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
                # What follows makes a DLManagedTensor of it.
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor:
    """A tensor of f32 in a device's memory, as other libraries hand it out."""

    def __init__(self, device, size):
        self.device = device
        self.place = device.allocate(4 * size)
        self.shape = (ctypes.c_int64 * 1)(size)
        self.managed = DLTensor(self.place, CUDA, device.number, 1, *F32, self.shape)
        self.streams = []

    def __dlpack_device__(self):
        return CUDA, self.device.number

    def __dlpack__(self, stream):
        self.streams.append(stream)
        return new_capsule(ctypes.addressof(self.managed), b"dltensor", None)


class Device:
    def __init__(self, driver, number):
        self.driver, self.number = driver, number
        self.context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), number)
        self.within("cuStreamCreate", ctypes.byref(self.stream), 0)

    def call(self, name, *arguments):
        result = getattr(self.driver, name)(*arguments)
        assert result == 0, f"{name} failed with {result}"

    def within(self, name, *arguments):
        """Calls what works in the device's context."""
        self.call("cuCtxPushCurrent_v2", self.context)
        self.call(name, *arguments)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def allocate(self, size):
        place = ctypes.c_uint64()
        self.within("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(size))
        return place.value

    def upload(self, tensor, array):
        self.within("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(tensor.place),
                    ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), self.stream)

    def download(self, tensor):
        array = np.zeros(tensor.shape[0], np.float32)
        self.within("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(array.ctypes.data),
                    ctypes.c_uint64(tensor.place), ctypes.c_size_t(array.nbytes), self.stream)
        self.within("cuStreamSynchronize", self.stream)
        return array


class Gpu(PackageTest):
    """The artefact has a free dimension N and computes y = 2 x + 0 in blocks of 128."""

    @classmethod
    def setUpClass(cls):
        os.environ["TCC_CUDA_DRIVER"] = BUILT["TCC_CUDA_DRIVER"]
        cls.addClassCleanup(os.environ.pop, "TCC_CUDA_DRIVER")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([BUILT["gpu_artefacts"], folder.name], check=True, timeout=300)
        cls.file = pathlib.Path(folder.name) / "free_dimension.tcc"

    def test_arrays_of_the_host_are_uploaded_and_sizes_follow_from_the_inputs(self):
        module = tcc.load(self.file, device=DEVICE)
        self.assertEqual((module.device, module.target), (DEVICE, "sm_86"))
        self.assertEqual(module.inputs[0], tcc.TensorInfo("x", "f32", (-1,), ("N",)))
        self.assertIn("(x: f32[N]) -> (y: f32[N])", repr(module))
        self.assertIsNone(module.activation_bytes)
        for size in (5, 0, 300):
            x = np.arange(size, dtype=np.float32)
            np.testing.assert_array_equal(module(x), 2 * x)
            y = np.ones(size, np.float32)
            bound = module.bind({"x": x}, {"y": y})
            bound()
            np.testing.assert_array_equal(y, 2 * x)
        with self.assertRaisesRegex(tcc.MissingError, r"compile for target sm_75 \(target\)$"):
            tcc.load(self.file, device=0)
        with self.assertRaisesRegex(tcc.BadInputError, r"expected shape \(N,\), \(1, 2\) came"):
            module(np.zeros((1, 2), np.float32))
        with self.assertRaisesRegex(tcc.BadInputError, "'y'"):
            module.run({"x": np.zeros(5, np.float32)}, out={"y": np.zeros(6, np.float32)})

    def test_runs_are_enqueued_on_tensors_of_the_gpu_in_the_callers_stream(self):
        module = tcc.load(self.file, device=DEVICE)
        device = Device(ctypes.CDLL(BUILT["TCC_CUDA_DRIVER"]), DEVICE)
        for stream, told in ((device.stream.value, device.stream.value), (0, 1)):
            for size in (5, 300):
                x, y = Tensor(device, size), Tensor(device, size)
                values = np.arange(size, dtype=np.float32)
                device.upload(x, values)
                device.within("cuStreamSynchronize", device.stream)
                module.enqueue({"x": x}, {"y": y}, stream=stream)
                device.within("cuStreamSynchronize", ctypes.c_void_p(stream))
                np.testing.assert_array_equal(device.download(y), 2 * values)
                self.assertEqual((x.streams, y.streams), ([told], [told]))

    def test_tensors_elsewhere_are_refused(self):
        module = tcc.load(self.file, device=DEVICE)
        driver = ctypes.CDLL(BUILT["TCC_CUDA_DRIVER"])
        device, other = Device(driver, DEVICE), Device(driver, OTHER)
        x, elsewhere = Tensor(device, 4), Tensor(other, 4)
        host = np.zeros(4, np.float32)
        for wrong, message in ((elsewhere, r"memory of GPU 2, .*\(2, 1\) came"),
                               (host, r"memory of GPU 2, .*\(1, 0\) came"),
                               ([1.0], "expected a tensor in GPU memory.*list came")):
            with self.assertRaisesRegex(tcc.BadInputError, f"output 'y': .*{message}"):
                module.enqueue({"x": x}, {"y": wrong})
        with self.assertRaisesRegex(tcc.BadInputError, "input 'x': expected memory of the host"):
            module(x)
        cpu = tcc.compile(product_model(), cache=False)
        with self.assertRaisesRegex(tcc.UsageError, "this one runs on the CPU"):
            cpu.enqueue({"x": x}, {"y": x})

    def test_a_gpu_that_is_not_there_is_told(self):
        with self.assertRaisesRegex(tcc.MissingError, "99"):
            tcc.load(self.file, device=99)
