/*
 * A small key-value store with a log, instrumented: the example of perf-instrument.
 *
 *     kv LOG OPERATIONS [METRICS]
 *
 * sets and gets keys, appends each change to LOG, and syncs the log every 32 changes. With METRICS the counting
 * implementation writes its document there. The work is the same each time, so that its counts are, too.
 *
 * -DTWO_LOCKS builds a change that looks harmless: each read takes the lock of the log as well.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include "pti.h"
#if PTI_ENABLED
#include "pti_counting.h"
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024
#define SYNC_EVERY 32

struct pair {
    struct pair *next;
    uint64_t key;
    uint64_t value;
};

struct store {
    pti_rwlock_t lock;
    struct pair *buckets[BUCKETS];
};

struct log {
    pti_mutex_t lock;
    pti_file_t file;
    unsigned unsynced;
};

static struct store store = {.lock = PTI_RWLOCK_INITIALIZER("store")};
static struct log journal = {.lock = PTI_MUTEX_INITIALIZER("log")};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static struct pair **find(uint64_t key) {
    struct pair **place = &store.buckets[key * 0x9e3779b97f4a7c15u >> 54];
    while (*place != NULL && (*place)->key != key)
        place = &(*place)->next;
    return place;
}

static void sync_log(void) {
    PTI_REGION_BEGIN(sync, "sync");
    if (pti_file_datasync(&journal.file) != 0)
        fail("sync");
    journal.unsynced = 0;
    PTI_REGION_END(sync);
}

static void append(uint64_t key, uint64_t value) {
    const uint64_t record[2] = {key, value};
    pti_mutex_lock(&journal.lock);
    if (pti_file_write(&journal.file, record, sizeof record) != (ssize_t)sizeof record)
        fail("write");
    if (++journal.unsynced == SYNC_EVERY)
        sync_log();
    pti_mutex_unlock(&journal.lock);
}

static void set(uint64_t key, uint64_t value) {
    append(key, value);
    pti_rwlock_wrlock(&store.lock);
    struct pair **place = find(key);
    if (*place == NULL) {
        *place = calloc(1, sizeof **place);
        if (*place == NULL)
            fail("calloc");
        (*place)->key = key;
    }
    (*place)->value = value;
    pti_rwlock_unlock(&store.lock);
}

static uint64_t get(uint64_t key) {
#ifdef TWO_LOCKS
    pti_mutex_lock(&journal.lock);
#endif
    pti_rwlock_rdlock(&store.lock);
    const struct pair *pair = *find(key);
    uint64_t value = pair == NULL ? 0 : pair->value;
    pti_rwlock_unlock(&store.lock);
#ifdef TWO_LOCKS
    pti_mutex_unlock(&journal.lock);
#endif
    return value;
}

static void load(unsigned operations) {
    PTI_REGION_BEGIN(load, "load");
    for (unsigned i = 0; i < operations; i++)
        set(i % 500, i);
    PTI_REGION_END(load);
}

static uint64_t read_back(unsigned operations) {
    uint64_t sum = 0;
    PTI_REGION_BEGIN(read, "read");
    for (unsigned i = 0; i < operations; i++)
        sum += get(i % 700);
    PTI_REGION_END(read);
    return sum;
}

static void start_counting(const char *output) {
#if PTI_ENABLED
    const struct pti_counting_options options = {.output = output, .workload = "kv"};
    const struct pti_service_v1 *table = pti_counting_v1(&options);
    if (table == NULL || pti_register(table) != 0)
        exit(2);
#else
    (void)output;
#endif
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "use: kv LOG OPERATIONS [METRICS]\n");
        return 2;
    }
    if (argc > 3)
        start_counting(argv[3]);
    unsigned operations = (unsigned)strtoul(argv[2], NULL, 10);
    if (pti_file_open(&journal.file, "log", argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644) != 0)
        fail(argv[1]);
    load(operations);
    printf("%llu\n", (unsigned long long)read_back(operations));
    return pti_file_close(&journal.file);
}
