/*
 * perf-instrument for C: says where a program waits and what its regions cost, at no cost when it is off.
 *
 * The API layer are the functions pti_mutex_lock, pti_file_read and so on: inline wrappers of pthreads and of POSIX files.
 * Define PTI_ENABLED as 1 before this header to compile the instrumentation in, and link libpti.a. Without it each wrapper
 * is the plain call, the types are the plain types in a struct, and nothing needs to be linked.
 *
 * The ABI layer is struct pti_service_v1, a table of functions that an implementation registers. It only grows, at its
 * end. Each point announces an operation (start), does it, and tells how it ended (end, end_io).
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef PTI_H
#define PTI_H

#ifndef PTI_ENABLED
#define PTI_ENABLED 0
#endif

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The ABI ---- */

#define PTI_VERSION 1

enum pti_kind { PTI_MUTEX = 1, PTI_RWLOCK = 2, PTI_COND = 3, PTI_FILE = 4, PTI_REGION = 5 };

/* Operations; each kind counts its own from 0. */
enum pti_operation {
    PTI_MUTEX_LOCK = 0,
    PTI_RWLOCK_READ = 0,
    PTI_RWLOCK_WRITE = 1,
    PTI_COND_WAIT = 0,
    PTI_COND_NOTIFY = 1,
    PTI_FILE_READ = 0,
    PTI_FILE_WRITE = 1,
    PTI_FILE_SYNC = 2,
    PTI_REGION_RUN = 0
};

/* How an operation ended: a sum of these. */
enum pti_outcome { PTI_DONE = 0, PTI_ERROR = 1, PTI_CONTENDED = 2 };

/* What the implementation remembers between start and end, on the caller's stack. */
struct pti_locker_state {
    uint64_t words[8];
};

/* What start hands to end; only the implementation knows what is behind it. */
struct pti_locker;

struct pti_service_v1 {
    uint32_t version; /* PTI_VERSION */
    uint32_t size;    /* bytes of the table that are filled, from version on */
    /* Since 1.0. A number from 1 on, the same for the same kind and name; 0 if the implementation does not count it. */
    uint32_t (*register_instrument)(uint32_t kind, const char *name, size_t length);
    /* Since 1.0. A locker, or null if the implementation does not want to know how the operation ends. */
    struct pti_locker *(*start)(struct pti_locker_state *state, uint32_t instrument, uint32_t operation);
    /* Since 1.0. Once for each locker; a task may end it on another thread, never at the same time. */
    void (*end)(struct pti_locker *locker, uint32_t outcome);
    /* Since 1.1. The same for a read or a write, with the bytes that it moved. */
    void (*end_io)(struct pti_locker *locker, uint32_t outcome, uint64_t bytes);
};

#if PTI_ENABLED

/*
 * Registers an implementation for all points that are linked with this copy of libpti.a, for good. The table must stay.
 * 0, or EINVAL for a table of another version, EEXIST where one is registered already.
 *
 * A shared object that is loaded has a copy of its own: hand it the table that the program got, and have it call this.
 */
int pti_register(const struct pti_service_v1 *table);

/* The table that was registered, with every function in place; null before. */
extern const struct pti_service_v1 *pti_service;

struct pti_instrument {
    const char *name;
    uint32_t kind;
    uint32_t number;
};

#define PTI_OFF UINT32_MAX

uint32_t pti_find_number(const struct pti_service_v1 *service, struct pti_instrument *instrument);

struct pti_wait {
    const struct pti_service_v1 *service;
    struct pti_locker *locker;
    struct pti_locker_state state;
};

/* Announces an operation; 0 where nobody is told. */
static inline int pti_wait_start(struct pti_wait *wait, struct pti_instrument *instrument, uint32_t operation) {
    const struct pti_service_v1 *service = __atomic_load_n(&pti_service, __ATOMIC_ACQUIRE);
    if (__builtin_expect(service == NULL, 1))
        return 0;
    uint32_t number = __atomic_load_n(&instrument->number, __ATOMIC_RELAXED);
    if (number == 0)
        number = pti_find_number(service, instrument);
    if (number == PTI_OFF)
        return 0;
    wait->service = service;
    wait->locker = service->start(&wait->state, number, operation);
    return 1;
}

static inline void pti_wait_end(struct pti_wait *wait, uint32_t outcome) {
    if (wait->locker != NULL)
        wait->service->end(wait->locker, outcome);
}

static inline void pti_wait_end_io(struct pti_wait *wait, ssize_t moved) {
    if (wait->locker != NULL)
        wait->service->end_io(wait->locker, moved < 0 ? PTI_ERROR : PTI_DONE, moved < 0 ? 0 : (uint64_t)moved);
}

#define PTI_INSTRUMENT_FIELD struct pti_instrument instrument;
#define PTI_INSTRUMENT_INIT(kind, name) {name, kind, 0},
#define PTI_NAME_INSTRUMENT(that, kind_, name_)                                                                        \
    ((that)->instrument.name = (name_), (that)->instrument.kind = (kind_), (that)->instrument.number = 0)
/*
 * A lock: tries, and waits where that fails, which is how a contended wait is told from one that is not. A lock that is
 * taken from a thread that died (EOWNERDEAD) counts as an error, although it is taken.
 */
#define PTI_TAKE(that, operation, try_take, take)                                                                      \
    do {                                                                                                               \
        struct pti_wait wait_;                                                                                         \
        if (pti_wait_start(&wait_, &(that)->instrument, operation)) {                                                  \
            uint32_t outcome_ = PTI_DONE;                                                                              \
            int result_ = (try_take);                                                                                  \
            if (result_ == EBUSY) {                                                                                    \
                outcome_ = PTI_CONTENDED;                                                                              \
                result_ = (take);                                                                                      \
            }                                                                                                          \
            pti_wait_end(&wait_, outcome_ | (result_ == 0 ? PTI_DONE : PTI_ERROR));                                    \
            return result_;                                                                                            \
        }                                                                                                              \
    } while (0)
/* One that only tries: another's lock is contended and no error. */
#define PTI_TRY(that, operation, try_take)                                                                             \
    do {                                                                                                               \
        struct pti_wait wait_;                                                                                         \
        if (pti_wait_start(&wait_, &(that)->instrument, operation)) {                                                  \
            int result_ = (try_take);                                                                                  \
            pti_wait_end(&wait_, result_ == 0 ? PTI_DONE : result_ == EBUSY ? PTI_CONTENDED : PTI_ERROR);              \
            return result_;                                                                                            \
        }                                                                                                              \
    } while (0)
/* A call that answers with 0 or an error; `fine` is an error that is none. */
#define PTI_CALL(that, operation, call, fine)                                                                          \
    do {                                                                                                               \
        struct pti_wait wait_;                                                                                         \
        if (pti_wait_start(&wait_, &(that)->instrument, operation)) {                                                  \
            int result_ = (call);                                                                                      \
            pti_wait_end(&wait_, result_ == 0 || result_ == (fine) ? PTI_DONE : PTI_ERROR);                            \
            return result_;                                                                                            \
        }                                                                                                              \
    } while (0)
#define PTI_TRANSFER(that, operation, call)                                                                            \
    do {                                                                                                               \
        struct pti_wait wait_;                                                                                         \
        if (pti_wait_start(&wait_, &(that)->instrument, operation)) {                                                  \
            ssize_t moved_ = (call);                                                                                   \
            int error_ = errno;                                                                                        \
            pti_wait_end_io(&wait_, moved_);                                                                           \
            errno = error_;                                                                                            \
            return moved_;                                                                                             \
        }                                                                                                              \
    } while (0)

#else

#define PTI_INSTRUMENT_FIELD
#define PTI_INSTRUMENT_INIT(kind, name)
#define PTI_NAME_INSTRUMENT(that, kind, name) ((void)(name))
#define PTI_TAKE(that, operation, try_take, take)
#define PTI_TRY(that, operation, try_take)
#define PTI_CALL(that, operation, call, fine)
#define PTI_TRANSFER(that, operation, call)

#endif

/* ---- Mutexes ---- */

typedef struct pti_mutex {
    PTI_INSTRUMENT_FIELD
    pthread_mutex_t mutex; /* for what is not to be counted */
} pti_mutex_t;

/* The name must stay; a literal does. Mutexes of one name are counted together. */
#define PTI_MUTEX_INITIALIZER(name) {PTI_INSTRUMENT_INIT(PTI_MUTEX, name) PTHREAD_MUTEX_INITIALIZER}

static inline int pti_mutex_init(pti_mutex_t *that, const char *name, const pthread_mutexattr_t *attributes) {
    PTI_NAME_INSTRUMENT(that, PTI_MUTEX, name);
    return pthread_mutex_init(&that->mutex, attributes);
}

static inline int pti_mutex_destroy(pti_mutex_t *that) {
    return pthread_mutex_destroy(&that->mutex);
}

static inline int pti_mutex_lock(pti_mutex_t *that) {
    PTI_TAKE(that, PTI_MUTEX_LOCK, pthread_mutex_trylock(&that->mutex), pthread_mutex_lock(&that->mutex));
    return pthread_mutex_lock(&that->mutex);
}

static inline int pti_mutex_trylock(pti_mutex_t *that) {
    PTI_TRY(that, PTI_MUTEX_LOCK, pthread_mutex_trylock(&that->mutex));
    return pthread_mutex_trylock(&that->mutex);
}

static inline int pti_mutex_unlock(pti_mutex_t *that) {
    return pthread_mutex_unlock(&that->mutex);
}

/* ---- Reader-writer locks ---- */

typedef struct pti_rwlock {
    PTI_INSTRUMENT_FIELD
    pthread_rwlock_t rwlock;
} pti_rwlock_t;

#define PTI_RWLOCK_INITIALIZER(name) {PTI_INSTRUMENT_INIT(PTI_RWLOCK, name) PTHREAD_RWLOCK_INITIALIZER}

static inline int pti_rwlock_init(pti_rwlock_t *that, const char *name, const pthread_rwlockattr_t *attributes) {
    PTI_NAME_INSTRUMENT(that, PTI_RWLOCK, name);
    return pthread_rwlock_init(&that->rwlock, attributes);
}

static inline int pti_rwlock_destroy(pti_rwlock_t *that) {
    return pthread_rwlock_destroy(&that->rwlock);
}

static inline int pti_rwlock_rdlock(pti_rwlock_t *that) {
    PTI_TAKE(that, PTI_RWLOCK_READ, pthread_rwlock_tryrdlock(&that->rwlock), pthread_rwlock_rdlock(&that->rwlock));
    return pthread_rwlock_rdlock(&that->rwlock);
}

static inline int pti_rwlock_wrlock(pti_rwlock_t *that) {
    PTI_TAKE(that, PTI_RWLOCK_WRITE, pthread_rwlock_trywrlock(&that->rwlock), pthread_rwlock_wrlock(&that->rwlock));
    return pthread_rwlock_wrlock(&that->rwlock);
}

static inline int pti_rwlock_tryrdlock(pti_rwlock_t *that) {
    PTI_TRY(that, PTI_RWLOCK_READ, pthread_rwlock_tryrdlock(&that->rwlock));
    return pthread_rwlock_tryrdlock(&that->rwlock);
}

static inline int pti_rwlock_trywrlock(pti_rwlock_t *that) {
    PTI_TRY(that, PTI_RWLOCK_WRITE, pthread_rwlock_trywrlock(&that->rwlock));
    return pthread_rwlock_trywrlock(&that->rwlock);
}

static inline int pti_rwlock_unlock(pti_rwlock_t *that) {
    return pthread_rwlock_unlock(&that->rwlock);
}

/* ---- Condition variables ---- */

typedef struct pti_cond {
    PTI_INSTRUMENT_FIELD
    pthread_cond_t cond;
} pti_cond_t;

#define PTI_COND_INITIALIZER(name) {PTI_INSTRUMENT_INIT(PTI_COND, name) PTHREAD_COND_INITIALIZER}

static inline int pti_cond_init(pti_cond_t *that, const char *name, const pthread_condattr_t *attributes) {
    PTI_NAME_INSTRUMENT(that, PTI_COND, name);
    return pthread_cond_init(&that->cond, attributes);
}

static inline int pti_cond_destroy(pti_cond_t *that) {
    return pthread_cond_destroy(&that->cond);
}

/* The mutex is given up and taken back inside, which counts for the condition variable and not for the mutex. */
static inline int pti_cond_wait(pti_cond_t *that, pti_mutex_t *mutex) {
    PTI_CALL(that, PTI_COND_WAIT, pthread_cond_wait(&that->cond, &mutex->mutex), 0);
    return pthread_cond_wait(&that->cond, &mutex->mutex);
}

/* A wait that times out is no error. */
static inline int pti_cond_timedwait(pti_cond_t *that, pti_mutex_t *mutex, const struct timespec *until) {
    PTI_CALL(that, PTI_COND_WAIT, pthread_cond_timedwait(&that->cond, &mutex->mutex, until), ETIMEDOUT);
    return pthread_cond_timedwait(&that->cond, &mutex->mutex, until);
}

static inline int pti_cond_signal(pti_cond_t *that) {
    PTI_CALL(that, PTI_COND_NOTIFY, pthread_cond_signal(&that->cond), 0);
    return pthread_cond_signal(&that->cond);
}

static inline int pti_cond_broadcast(pti_cond_t *that) {
    PTI_CALL(that, PTI_COND_NOTIFY, pthread_cond_broadcast(&that->cond), 0);
    return pthread_cond_broadcast(&that->cond);
}

/* ---- Files ---- */

typedef struct pti_file {
    PTI_INSTRUMENT_FIELD
    int fd;
} pti_file_t;

/* Wraps a descriptor. Name what the file is for, not its path: files of one name are counted together. */
static inline void pti_file_init(pti_file_t *that, const char *name, int fd) {
    PTI_NAME_INSTRUMENT(that, PTI_FILE, name);
    that->fd = fd;
}

/* 0, or -1 with errno as open(2) sets it. */
static inline int pti_file_open(pti_file_t *that, const char *name, const char *path, int flags, mode_t mode) {
    pti_file_init(that, name, open(path, flags, mode));
    return that->fd < 0 ? -1 : 0;
}

static inline int pti_file_close(pti_file_t *that) {
    return close(that->fd);
}

static inline ssize_t pti_file_read(pti_file_t *that, void *bytes, size_t count) {
    PTI_TRANSFER(that, PTI_FILE_READ, read(that->fd, bytes, count));
    return read(that->fd, bytes, count);
}

static inline ssize_t pti_file_pread(pti_file_t *that, void *bytes, size_t count, off_t offset) {
    PTI_TRANSFER(that, PTI_FILE_READ, pread(that->fd, bytes, count, offset));
    return pread(that->fd, bytes, count, offset);
}

static inline ssize_t pti_file_write(pti_file_t *that, const void *bytes, size_t count) {
    PTI_TRANSFER(that, PTI_FILE_WRITE, write(that->fd, bytes, count));
    return write(that->fd, bytes, count);
}

static inline ssize_t pti_file_pwrite(pti_file_t *that, const void *bytes, size_t count, off_t offset) {
    PTI_TRANSFER(that, PTI_FILE_WRITE, pwrite(that->fd, bytes, count, offset));
    return pwrite(that->fd, bytes, count, offset);
}

static inline int pti_file_sync(pti_file_t *that) {
    PTI_CALL(that, PTI_FILE_SYNC, fsync(that->fd), 0);
    return fsync(that->fd);
}

static inline int pti_file_datasync(pti_file_t *that) {
    PTI_CALL(that, PTI_FILE_SYNC, fdatasync(that->fd), 0);
    return fdatasync(that->fd);
}

/* ---- Regions ---- */

#if PTI_ENABLED

struct pti_region_site {
    struct pti_instrument instrument;
    const char *enter;
    const char *leave;
    const char *inherit;
    unsigned char wanted;
};

struct pti_region {
    struct pti_region_site *site; /* null where nobody is told */
    struct pti_wait wait;
    int is_told;
};

/* Whether the program runs under valgrind: 0 before anyone has looked, 1 if it does not. */
extern unsigned char pti_valgrind;

void pti_look_for_valgrind(void);
void pti_region_enter_told(struct pti_region *that, struct pti_region_site *site);
void pti_region_leave_told(struct pti_region *that);

static inline void pti_region_enter(struct pti_region *that, struct pti_region_site *site) {
    that->site = NULL;
    if (__builtin_expect(__atomic_load_n(&pti_valgrind, __ATOMIC_RELAXED) == 0, 0))
        pti_look_for_valgrind();
    if (__atomic_load_n(&pti_service, __ATOMIC_ACQUIRE) != NULL ||
        __atomic_load_n(&pti_valgrind, __ATOMIC_RELAXED) != 1)
        pti_region_enter_told(that, site);
}

static inline void pti_region_leave(struct pti_region *that) {
    if (that->site != NULL)
        pti_region_leave_told(that);
}

/*
 * PTI_REGION_BEGIN(parse, "parse"); … PTI_REGION_END(parse); with a name of C and a literal. Regions may nest, and may enter
 * themselves again; every way out of the block must pass the end.
 */
#define PTI_REGION_BEGIN(variable, name)                                                                               \
    static struct pti_region_site pti_site_##variable = {                                                              \
        {name, PTI_REGION, 0}, "perf-tracking-region enter " name, "perf-tracking-region leave " name,                 \
        "perf-tracking-region inherit " name, 0};                                                                      \
    struct pti_region pti_region_##variable;                                                                           \
    pti_region_enter(&pti_region_##variable, &pti_site_##variable)
#define PTI_REGION_END(variable) pti_region_leave(&pti_region_##variable)

#else

#define PTI_REGION_BEGIN(variable, name) ((void)name)
#define PTI_REGION_END(variable) ((void)0)

#endif

#ifdef __cplusplus
}
#endif

#endif
