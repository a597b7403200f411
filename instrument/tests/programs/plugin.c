/* A plugin: a shared object with points of its own, which the program hands the table to. */
#define PTI_ENABLED 1
#include "pti.h"

static pti_mutex_t mutex = PTI_MUTEX_INITIALIZER("plugin");
static pti_rwlock_t rwlock = PTI_RWLOCK_INITIALIZER("plugin");

int plugin_start(const struct pti_service_v1 *table) {
    return pti_register(table);
}

unsigned plugin_bytes_of_the_table(void) {
    return (unsigned)sizeof(struct pti_service_v1);
}

int plugin_work(int times) {
    int failed = 0;
    for (int i = 0; i < times; i++) {
        failed |= pti_mutex_lock(&mutex) | pti_rwlock_rdlock(&rwlock);
        failed |= pti_rwlock_unlock(&rwlock) | pti_mutex_unlock(&mutex);
    }
    return failed;
}
