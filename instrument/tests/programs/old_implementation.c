/* Points of today with an implementation whose table is that of 1.0, and with tables that are none. */
#define PTI_ENABLED 1
#include "pti.h"

#include <assert.h>

static unsigned started, ended, registered;

static uint32_t register_instrument(uint32_t kind, const char *name, size_t length) {
    (void)name, (void)length;
    registered++;
    /* It knows nothing of files. */
    return kind == PTI_FILE ? 0 : registered;
}

static struct pti_locker *start(struct pti_locker_state *state, uint32_t instrument, uint32_t operation) {
    (void)instrument, (void)operation;
    started++;
    return (struct pti_locker *)state;
}

static void end(struct pti_locker *locker, uint32_t outcome) {
    (void)locker, (void)outcome;
    ended++;
}

/* Ends behind `end`: what is behind it must not be read. */
static struct {
    uint32_t version, size;
    void *functions[3];
    uintptr_t not_of_the_table;
} table = {1, 8 + 3 * sizeof(void *), {(void *)register_instrument, (void *)start, (void *)end}, 1};

static pti_mutex_t mutex = PTI_MUTEX_INITIALIZER("mutex");
static pti_file_t file;

int main(void) {
    table.version = 2;
    assert(pti_register((const struct pti_service_v1 *)&table) == EINVAL);
    table.version = 1;
    table.size -= 1;
    assert(pti_register((const struct pti_service_v1 *)&table) == EINVAL);
    table.size += 1;
    assert(pti_mutex_lock(&mutex) == 0 && pti_mutex_unlock(&mutex) == 0);
    assert(registered == 0);
    assert(pti_register((const struct pti_service_v1 *)&table) == 0);
    assert(pti_mutex_lock(&mutex) == 0);
    assert(pti_mutex_trylock(&mutex) == EBUSY);
    assert(pti_mutex_unlock(&mutex) == 0);
    assert(registered == 1 && started == 2 && ended == 2);
    assert(pti_file_open(&file, "file", "/dev/null", O_WRONLY, 0) == 0);
    assert(pti_file_write(&file, "four", 4) == 4);
    assert(pti_file_sync(&file) == -1 && errno == EINVAL);
    assert(registered == 2 && started == 2 && ended == 2);
    PTI_REGION_BEGIN(all, "all");
    PTI_REGION_END(all);
    assert(registered == 3 && started == 3 && ended == 3);
    return 0;
}
