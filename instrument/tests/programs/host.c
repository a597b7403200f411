/*
 * host PLUGIN METRICS: a program of today, whose implementation has a larger table than the header of today, loads a plugin
 * that was built with an older header.
 */
#define PTI_ENABLED 1
#include "pti_counting.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* A table of tomorrow. */
static struct {
    struct pti_service_v1 table;
    void (*of_tomorrow)(void);
} grown;

static pti_file_t file;
static pti_mutex_t mutex = PTI_MUTEX_INITIALIZER("host");

int main(int argc, char **argv) {
    assert(argc == 3);
    const struct pti_counting_options options = {.output = argv[2]};
    const struct pti_service_v1 *table = pti_counting_v1(&options);
    assert(table != NULL && table->size == sizeof *table);
    grown.table = *table;
    grown.table.size = sizeof grown;
    assert(pti_register(&grown.table) == 0);
    assert(pti_register(&grown.table) == EEXIST);

    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*start)(const struct pti_service_v1 *);
    int (*work)(int);
    unsigned (*bytes)(void);
    *(void **)&start = dlsym(plugin, "plugin_start");
    *(void **)&work = dlsym(plugin, "plugin_work");
    *(void **)&bytes = dlsym(plugin, "plugin_bytes_of_the_table");
    assert(bytes() < sizeof *table);
    assert(work(5) == 0);
    assert(start(&grown.table) == 0);
    assert(work(7) == 0);

    assert(pti_file_open(&file, "host", "/dev/null", O_WRONLY, 0) == 0);
    assert(pti_file_write(&file, "four", 4) == 4);
    assert(pti_mutex_lock(&mutex) == 0 && pti_mutex_unlock(&mutex) == 0);
    return 0;
}
