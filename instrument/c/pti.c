/*
 * libpti.a: the table that is registered, and the marks of regions under valgrind. See pti.h; src/valgrind.rs describes
 * the marks, and is the same in Rust.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#undef PTI_ENABLED
#define PTI_ENABLED 1
#include "pti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct pti_service_v1 *pti_service;

static uint32_t registers_nothing(uint32_t kind, const char *name, size_t length) {
    (void)kind, (void)name, (void)length;
    return 0;
}

static struct pti_locker *starts_nothing(struct pti_locker_state *state, uint32_t instrument, uint32_t operation) {
    (void)state, (void)instrument, (void)operation;
    return NULL;
}

static void ends_nothing(struct pti_locker *locker, uint32_t outcome) {
    (void)locker, (void)outcome;
}

static void ends_no_io(struct pti_locker *locker, uint32_t outcome, uint64_t bytes) {
    (void)locker, (void)outcome, (void)bytes;
}

int pti_register(const struct pti_service_v1 *table) {
    static int is_registered;
    static struct pti_service_v1 known;
    size_t size = sizeof known;
    if (table->version != PTI_VERSION || table->size < offsetof(struct pti_service_v1, end_io))
        return EINVAL;
    if (__atomic_exchange_n(&is_registered, 1, __ATOMIC_ACQ_REL))
        return EEXIST;
    if (table->size < size)
        size = table->size;
    memcpy(&known, table, size);
    if (known.register_instrument == NULL)
        known.register_instrument = registers_nothing;
    if (known.start == NULL)
        known.start = starts_nothing;
    if (known.end == NULL)
        known.end = ends_nothing;
    if (known.end_io == NULL)
        known.end_io = ends_no_io;
    __atomic_store_n(&pti_service, &known, __ATOMIC_RELEASE);
    return 0;
}

uint32_t pti_find_number(const struct pti_service_v1 *service, struct pti_instrument *instrument) {
    uint32_t number = service->register_instrument(instrument->kind, instrument->name, strlen(instrument->name));
    if (number == 0)
        number = PTI_OFF;
    __atomic_store_n(&instrument->number, number, __ATOMIC_RELAXED);
    return number;
}

/* ---- Client requests, after valgrind's public specification ---- */

#define RUNNING_ON_VALGRIND 0x1001
#define GDB_MONITOR_COMMAND 0x1202
/* The fourth of callgrind's requests, which begin at ('C', 'T'). */
#define DUMP_STATS_AT (((uintptr_t)'C' << 24) | ((uintptr_t)'T' << 16) | 3)

static inline __attribute__((always_inline)) uintptr_t request(uintptr_t code, const void *argument) {
    volatile uintptr_t arguments[6] = {code, (uintptr_t)argument, 0, 0, 0, 0};
    uintptr_t answer = 0;
#if defined(__x86_64__)
    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(arguments)
                     : "cc", "memory");
#elif defined(__aarch64__)
    register volatile uintptr_t *place __asm__("x4") = arguments;
    register uintptr_t given __asm__("x3") = answer;
    __asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
                     "orr x10, x10, x10"
                     : "+r"(given)
                     : "r"(place)
                     : "cc", "memory");
    answer = given;
#else
    (void)arguments;
#endif
    return answer;
}

enum { UNKNOWN, NO, YES, MASSIF };

unsigned char pti_valgrind;

static inline int is_here(void) {
    return __atomic_load_n(&pti_valgrind, __ATOMIC_RELAXED) > NO;
}

/* How many regions deep a forked child knows where it was forked. */
#define DEPTH 64

static __thread struct pti_region_site *open_sites[DEPTH];
static __thread size_t deep;

static inline void open_site(struct pti_region_site *site) {
    if (deep < DEPTH)
        open_sites[deep] = site;
    deep++;
}

static __attribute__((cold, noinline)) void close_below(const struct pti_region_site *site) {
    size_t place = deep;
    while (place > 0 && open_sites[place - 1] != site)
        place--;
    if (place == 0)
        return;
    for (place--; place < deep; place++)
        open_sites[place] = open_sites[place + 1];
}

/* Regions are left in any order; most are left in the reverse one. */
static inline void close_site(const struct pti_region_site *site) {
    if (deep > 0)
        deep--;
    if (deep < DEPTH && open_sites[deep] != site)
        close_below(site);
}

static void add_escaped(char *text, size_t size, const char *name) {
    size_t length = strlen(text);
    for (; *name != '\0' && length + 4 < size; name++) {
        char c = *name;
        int is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (is_plain)
            text[length++] = c;
        else
            length += (size_t)snprintf(text + length, 4, "%%%02X", (unsigned)(unsigned char)c);
        text[length] = '\0';
    }
}

/* Has massif write what the heap holds now. */
static __attribute__((noinline)) void snapshot(const char *done, const char *name) {
    static unsigned long number;
    char text[4096];
    unsigned long own = __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED);
    const char *folder = getenv("PERF_TRACKING_REGION_FOLDER");
    int length = folder == NULL ? -1
                                : snprintf(text, sizeof text, "snapshot %s/region.%ld.%lu.%s.", folder, (long)getpid(),
                                           own, done);
    if (length < 0 || (size_t)length + 3 * strlen(name) + 1 > sizeof text)
        return;
    add_escaped(text, sizeof text, name);
    request(GDB_MONITOR_COMMAND, text);
}

/*
 * Writes a part. One piece of code for all marks: callgrind counts the instructions right before a request with the part after
 * it where another request came last.
 */
static __attribute__((noinline)) void dump(const char *text) {
    request(DUMP_STATS_AT, text);
}

static inline void mark(const char *text, const char *done, const struct pti_region_site *site) {
    if (__atomic_load_n(&pti_valgrind, __ATOMIC_RELAXED) == MASSIF)
        snapshot(done, site->instrument.name);
    else
        dump(text);
}

/* A forked child starts with counts of its own, inside the regions of the thread that forked it. */
static void forked(void) {
    dump("perf-tracking-region forked");
    for (size_t place = 0; place < deep && place < DEPTH; place++)
        dump(open_sites[place]->inherit);
}

static struct pti_region_site outer = {{"", PTI_REGION, PTI_OFF},
                                       "perf-tracking-calibration enter outer",
                                       "perf-tracking-calibration leave outer",
                                       "",
                                       YES};
static struct pti_region_site inner = {{"", PTI_REGION, PTI_OFF},
                                       "perf-tracking-calibration enter inner",
                                       "perf-tracking-calibration leave inner",
                                       "",
                                       YES};

static __attribute__((noinline)) void calibrate(void) {
    struct pti_region a, b;
    pti_region_enter(&a, &outer);
    pti_region_enter(&b, &inner);
    pti_region_leave(&b);
    pti_region_leave(&a);
}

/*
 * Before the first region of the process: looks for valgrind, and shows what marks cost, twice, for the first costs more.
 * Not in the call that marks a region, for callgrind counts a function that calls itself in another way.
 */
__attribute__((cold, noinline)) void pti_look_for_valgrind(void) {
    unsigned char found = YES;
    if (request(RUNNING_ON_VALGRIND, NULL) == 0)
        found = NO;
    else if (getenv("PERF_TRACKING_REGION_FOLDER") != NULL)
        found = MASSIF;
    __atomic_store_n(&pti_valgrind, found, __ATOMIC_RELAXED);
    if (found != YES)
        return;
    pthread_atfork(NULL, NULL, forked);
    calibrate();
    calibrate();
}

/* The first time that a site is come to. */
static __attribute__((cold, noinline)) int ask(struct pti_region_site *site) {
    const char *name = getenv("PERF_TRACKING_REGION");
    int is_wanted = name == NULL || strcmp(name, site->instrument.name) == 0;
    __atomic_store_n(&site->wanted, is_wanted ? YES : NO, __ATOMIC_RELAXED);
    return is_wanted;
}

static inline int is_wanted(struct pti_region_site *site) {
    unsigned char wanted = __atomic_load_n(&site->wanted, __ATOMIC_RELAXED);
    return wanted == UNKNOWN ? ask(site) : wanted == YES;
}

/* Calls of their own, and the mark next to the caller: so each entry costs the same wherever it stands. */
__attribute__((noinline)) void pti_region_enter_told(struct pti_region *that, struct pti_region_site *site) {
    that->site = site;
    that->is_told = pti_wait_start(&that->wait, &site->instrument, PTI_REGION_RUN);
    if (is_here() && is_wanted(site)) {
        open_site(site);
        mark(site->enter, "enter", site);
    }
}

__attribute__((noinline)) void pti_region_leave_told(struct pti_region *that) {
    struct pti_region_site *site = that->site;
    if (is_here() && __atomic_load_n(&site->wanted, __ATOMIC_RELAXED) == YES) {
        mark(site->leave, "leave", site);
        close_site(site);
    }
    if (that->is_told)
        pti_wait_end(&that->wait, PTI_DONE);
}
