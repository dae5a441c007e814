#pragma once

/*
 * The half of tcc's C API that compiles and tunes: in libtcc, not in libtcc_runtime.
 *
 *   tcc_artefact* artefact = NULL;
 *   if (tcc_compile("model.onnx", NULL, &artefact, &error) == TCC_OK) {
 *     tcc_artefact_save(artefact, "model.tcc", &error);
 *   }
 *
 * What tcc_c.h says of codes, errors and handles holds here too. docs/c.md is the guide.
 */

#include "tcc_c.h"

/* NOLINTBEGIN(readability-identifier-naming): names as in C */
#ifdef __cplusplus
extern "C" {
#endif

/*
 * With libtcc, tcc_options_set of tcc_c.h also takes the options of tcc compile and tcc tune by
 * their long names, as docs/cli.md lists them:
 *
 *   compiling  dim, shape, bind (each given once a name: "N=1"), external-data-dir, allow-symlinks,
 *              target, schedule, numeric, no-winograd, notes, db, device, threads
 *   tuning     these, and time-budget or trials, searcher, cost-model, policy, worker, seed
 *
 * Flags are "true" or "false". A function ignores the options of others. "device" is the number of
 * a GPU to run or measure on; another text is a part of the name of the device in the database
 * whose measurements count. "schedule" and "bind" read their files at once.
 */

/* Makes an input a constant: `tensor` has a name, and its memory must stay as long as the options
 * are used. TCC_USAGE for a tensor without a name and for a name that is bound already. */
TCC_API tcc_code tcc_options_bind(tcc_options* options, const tcc_tensor* tensor,
                                  tcc_error** error);

/* Set a function that a compilation calls from its threads, one call at a time; null for none. It
 * must not throw or jump out. Texts live as long as the call. */
TCC_API void tcc_options_on_progress(tcc_options* options,
                                     void (*progress)(void* user, const char* stage, int64_t done,
                                                      int64_t total),
                                     void* user);
/* `warning` is 1 for a warning, 0 for what is only told. */
TCC_API void tcc_options_on_log(tcc_options* options,
                                void (*log)(void* user, int32_t warning, const char* message),
                                void* user);

/* A candidate that tcc_tune has measured. Seconds of a kernel are per call. Later versions add
 * fields at the end only. */
typedef struct tcc_trial {
  double seconds;             /* since the search began */
  int64_t trials;             /* measured in this run, with this one */
  const char* kernel;         /* tcc_tuned_kernel.name */
  const char* searcher;       /* "constructed" for the schedule of a compilation without "db" */
  const char* status;         /* "ok", "slow", "wrong", ...: docs/tune.md lists them */
  double best_seconds;        /* with this candidate; 0: none yet */
  double constructed_seconds; /* 0: not known yet */
} tcc_trial;
/* Sets a function that tcc_tune calls from its caller's thread after each candidate. */
TCC_API void tcc_options_on_trial(tcc_options* options,
                                  void (*trial)(void* user, const tcc_trial* trial), void* user);

/* A request to stop. */
typedef struct tcc_stop tcc_stop;
/* Returns null where memory is short. */
TCC_API tcc_stop* tcc_stop_new(void);
/* Ends all work whose options have the request: tcc_compile is TCC_CANCELLED soon, tcc_tune returns
 * what was measured and recorded so far. May be called from any thread, also from a function above,
 * but not from a signal handler. */
TCC_API void tcc_stop_request(tcc_stop* stop);
TCC_API void tcc_stop_free(tcc_stop* stop);
/* Makes a request one of the options, which may be freed before it; null for none. */
TCC_API void tcc_options_stop(tcc_options* options, const tcc_stop* stop);

/* A compiled network, to be saved or loaded. */
typedef struct tcc_artefact tcc_artefact;
/* Compile an ONNX file, or its content, which is not needed afterwards. `options` may be null. The
 * same model and options give the same artefact. */
TCC_API tcc_code tcc_compile(const char* path, const tcc_options* options, tcc_artefact** artefact,
                             tcc_error** error);
TCC_API tcc_code tcc_compile_bytes(const void* model, uint64_t bytes, const tcc_options* options,
                                   tcc_artefact** artefact, tcc_error** error);
/* Writes the file atomically. */
TCC_API tcc_code tcc_artefact_save(const tcc_artefact* artefact, const char* path,
                                   tcc_error** error);
/* Makes the file's content in memory, which lives as the artefact. Not for several threads at
 * once. */
TCC_API tcc_code tcc_artefact_bytes(tcc_artefact* artefact, const void** data, uint64_t* bytes,
                                    tcc_error** error);
TCC_API void tcc_artefact_free(tcc_artefact* artefact);
/* Loads the artefact like its file; the module needs the handle no longer. */
TCC_API tcc_code tcc_module_load_artefact(const tcc_artefact* artefact, const tcc_options* options,
                                          tcc_module** module, tcc_error** error);

/* The result of tuning, and a kernel that was tuned. Seconds are per call, 0 where the kernel was
 * not measured. Later versions add fields at the end only. */
typedef struct tcc_tuned tcc_tuned;
typedef struct tcc_tuned_kernel {
  const char* name;
  double runs;                /* calls per run of the model */
  double constructed_seconds; /* by the schedule of a compilation without "db" */
  double best_seconds;
  const char* best_searcher; /* that proposed the best candidate */
  int64_t trials;            /* in this run */
  const char* problem;       /* what kept it from being tuned; "": nothing */
} tcc_tuned_kernel;

/* Measure schedules for the kernels of an ONNX file, or its content, on this machine, in a separate
 * process (tcc-worker), and record them in the file that the option "db" names, from which
 * tcc_compile takes them. A budget, "time-budget" or "trials", has to be set. TCC_MISSING where the
 * target's kernels do not run here or there is no worker; TCC_BUDGET or TCC_CANCELLED where the end
 * came before any kernel ran. */
TCC_API tcc_code tcc_tune(const char* path, const tcc_options* options, tcc_tuned** tuned,
                          tcc_error** error);
TCC_API tcc_code tcc_tune_bytes(const void* model, uint64_t bytes, const tcc_options* options,
                                tcc_tuned** tuned, tcc_error** error);
/* Return the number of kernels, equal ones counted once, and one of them, which lives as `tuned`;
 * null beyond the last. */
TCC_API uint32_t tcc_tuned_count(const tcc_tuned* tuned);
TCC_API const tcc_tuned_kernel* tcc_tuned_at(const tcc_tuned* tuned, uint32_t index);
/* Returns the number of trials with a status, "ok" say; of all trials for null. */
TCC_API int64_t tcc_tuned_trials(const tcc_tuned* tuned, const char* status);
/* Writes the seconds of a run of the model with all constructed schedules, and with the winners,
 * which tcc_compile takes. 0: not compared, e.g. because nothing seemed faster. */
TCC_API void tcc_tuned_model(const tcc_tuned* tuned, double* constructed_seconds,
                             double* best_seconds);
TCC_API void tcc_tuned_free(tcc_tuned* tuned);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(readability-identifier-naming) */
