/* Runs an artefact from C, on the inputs that compile_and_run uses, and prints each output's sum.
 *
 *   run_from_c MODEL.tcc [RUNS [THREADS]]
 */
#include <stdio.h>
#include <stdlib.h>

#include <tcc/tcc_c.h>

static int fail(tcc_error* error) {
  int code = tcc_error_code(error);
  fprintf(stderr, "%s\n", tcc_error_message(error));
  tcc_error_free(error);
  return code;
}

/* Makes tensors of zeros for all inputs or outputs. */
static tcc_tensor* allocate(const tcc_module* module, tcc_list list, uint32_t count) {
  tcc_tensor* tensors = calloc(count + 1, sizeof(tcc_tensor));
  for (uint32_t i = 0; tensors != NULL && i < count; ++i) {
    tcc_module_tensor(module, list, i, &tensors[i]);
    tensors[i].data = calloc(1, tensors[i].bytes + 1);
  }
  return tensors;
}

static void release(tcc_tensor* tensors, uint32_t count) {
  for (uint32_t i = 0; tensors != NULL && i < count; ++i) free(tensors[i].data);
  free(tensors);
}

/* Returns 0 for other types than f32. */
static size_t floats(const tcc_tensor* tensor) {
  return tensor->dtype == TCC_F32 && tensor->data != NULL ? tensor->bytes / sizeof(float) : 0;
}

static tcc_code run(tcc_module* module, int runs, tcc_error** error) {
  uint32_t ins = tcc_module_count(module, TCC_INPUTS), outs = tcc_module_count(module, TCC_OUTPUTS);
  tcc_tensor* inputs = allocate(module, TCC_INPUTS, ins);
  tcc_tensor* outputs = allocate(module, TCC_OUTPUTS, outs);
  for (uint32_t i = 0; i < ins; ++i) {
    float* values = inputs[i].data;
    for (size_t k = 0; k < floats(&inputs[i]); ++k) values[k] = (float)(k % 9) / 8;
  }
  tcc_executor* executor = NULL;
  tcc_code code = tcc_executor_new(module, &executor, error);
  if (code == TCC_OK) code = tcc_executor_bind(executor, inputs, ins, outputs, outs, error);
  for (int i = 0; code == TCC_OK && i < runs; ++i) code = tcc_executor_run(executor, error);
  for (uint32_t i = 0; code == TCC_OK && i < outs; ++i) {
    double sum = 0;
    const float* values = outputs[i].data;
    for (size_t k = 0; k < floats(&outputs[i]); ++k) sum += values[k];
    printf("%s sum %.6g\n", outputs[i].name, sum);
  }
  tcc_executor_free(executor);
  release(inputs, ins);
  release(outputs, outs);
  return code;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    fprintf(stderr, "usage: run_from_c MODEL.tcc [RUNS [THREADS]]\n");
    return TCC_USAGE;
  }
  tcc_error* error = NULL;
  tcc_module* module = NULL;
  tcc_options* options = tcc_options_new();
  tcc_code code = tcc_options_set(options, "threads", argc > 3 ? argv[3] : "0", &error);
  if (code == TCC_OK) code = tcc_module_load(argv[1], options, &module, &error);
  if (code == TCC_OK) code = run(module, argc > 2 ? atoi(argv[2]) : 1, &error);
  tcc_options_free(options);
  tcc_module_free(module);
  return code == TCC_OK ? 0 : fail(error);
}
