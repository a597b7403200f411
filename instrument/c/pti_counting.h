/*
 * The default implementation for C: counts, and writes a metrics document when the program ends. Link libpti_counting.a.
 *
 *     const struct pti_counting_options options = {.output = "metrics.json"};
 *     const struct pti_service_v1 *table = pti_counting_v1(&options);
 *     if (table == NULL || pti_register(table) != 0) …
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef PTI_COUNTING_H
#define PTI_COUNTING_H

#include "pti.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pti_counting_options {
    const char *output;     /* the file; %p in its name stands for the number of the process */
    const char *workload;   /* what was run; null or empty for the name of the program */
    const char *arch;       /* null or empty for this machine's */
    const char *distro;     /* null or empty for this machine's */
    const char *host_class; /* null or empty for "unknown" */
    int times;              /* whether operations are timed */
};

/* The table to register; null, with a message on standard error, where an option does not fit or it was called before. */
const struct pti_service_v1 *pti_counting_v1(const struct pti_counting_options *options);

/* Writes the document now, as before _exit; 1, or 0 with a message on standard error. */
int pti_counting_write_now(void);

#ifdef __cplusplus
}
#endif

#endif
