/* Compiles a network in C, tells of the progress, runs the result once on the inputs that
 * compile_and_run uses, and prints each output's sum.
 *
 *   compile_from_c MODEL.onnx [KEY=VALUE ...]     e.g. target=x86-64-v3 dim=N=1
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tcc/tcc_compile_c.h>

static void tell(void* user, const char* stage, int64_t done, int64_t total) {
  fprintf(user, "%s %lld/%lld\n", stage, (long long)done, (long long)total);
}

static tcc_code set(tcc_options* options, const char* text, tcc_error** error) {
  char key[64];
  size_t length = strcspn(text, "=");
  snprintf(key, sizeof(key), "%.*s", (int)length, text);
  return tcc_options_set(options, key, text[length] == '=' ? text + length + 1 : "", error);
}

/* Makes tensors of 0, 1/8, ..., 1, 0, ... for all inputs, or of zeros for all outputs. */
static tcc_tensor* allocate(const tcc_module* module, tcc_list list, uint32_t count) {
  tcc_tensor* tensors = calloc(count + 1, sizeof(tcc_tensor));
  for (uint32_t i = 0; tensors != NULL && i < count; ++i) {
    tcc_module_tensor(module, list, i, &tensors[i]);
    float* values = tensors[i].data = calloc(1, tensors[i].bytes + 1);
    if (list != TCC_INPUTS || tensors[i].dtype != TCC_F32 || values == NULL) continue;
    for (size_t k = 0; k < tensors[i].bytes / sizeof(float); ++k) values[k] = (float)(k % 9) / 8;
  }
  return tensors;
}

static void release(tcc_tensor* tensors, uint32_t count) {
  for (uint32_t i = 0; tensors != NULL && i < count; ++i) free(tensors[i].data);
  free(tensors);
}

static tcc_code run(tcc_module* module, tcc_error** error) {
  uint32_t ins = tcc_module_count(module, TCC_INPUTS), outs = tcc_module_count(module, TCC_OUTPUTS);
  tcc_tensor* inputs = allocate(module, TCC_INPUTS, ins);
  tcc_tensor* outputs = allocate(module, TCC_OUTPUTS, outs);
  tcc_code code = tcc_module_run(module, inputs, ins, outputs, outs, error);
  for (uint32_t i = 0; code == TCC_OK && i < outs; ++i) {
    double sum = 0;
    const float* values = outputs[i].data;
    size_t count = outputs[i].dtype == TCC_F32 ? outputs[i].bytes / sizeof(float) : 0;
    for (size_t k = 0; k < count; ++k) sum += values[k];
    printf("%s sum %.6g\n", outputs[i].name, sum);
  }
  release(inputs, ins);
  release(outputs, outs);
  return code;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: compile_from_c MODEL.onnx [KEY=VALUE ...]\n");
    return TCC_USAGE;
  }
  tcc_error* error = NULL;
  tcc_artefact* artefact = NULL;
  tcc_module* module = NULL;
  tcc_options* options = tcc_options_new();
  tcc_options_on_progress(options, tell, stderr);
  tcc_code code = TCC_OK;
  for (int i = 2; code == TCC_OK && i < argc; ++i) code = set(options, argv[i], &error);
  if (code == TCC_OK) code = tcc_compile(argv[1], options, &artefact, &error);
  if (code == TCC_OK) code = tcc_module_load_artefact(artefact, options, &module, &error);
  if (code == TCC_OK) code = run(module, &error);
  if (code != TCC_OK) fprintf(stderr, "%s\n", tcc_error_message(error));
  tcc_error_free(error);
  tcc_module_free(module);
  tcc_artefact_free(artefact);
  tcc_options_free(options);
  return code;
}
