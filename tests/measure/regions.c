/* A program with regions; its first argument says what it does. */
#include "pti.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static volatile unsigned long sum;

static __attribute__((noinline)) void work(unsigned long turns) {
    for (unsigned long i = 0; i < turns; i++)
        sum += i;
}

static void recurse(int deep, unsigned long turns) {
    PTI_REGION_BEGIN(recursive, "recursive");
    work(turns);
    if (deep > 1)
        recurse(deep - 1, turns);
    PTI_REGION_END(recursive);
}

/* outer: 600,000 turns, of which inner: 200,000 and recursive: 300,000; the whole: 700,000. */
static void nest(void) {
    work(100000);
    PTI_REGION_BEGIN(outer, "outer");
    work(100000);
    PTI_REGION_BEGIN(inner, "inner, twice");
    work(200000);
    PTI_REGION_END(inner);
    recurse(3, 100000);
    PTI_REGION_END(outer);
}

/* outer holds `entries` regions with nothing in them. */
static void hold_empty(int entries) {
    PTI_REGION_BEGIN(outer, "outer");
    for (int i = 0; i < entries; i++) {
        PTI_REGION_BEGIN(empty, "empty");
        PTI_REGION_END(empty);
    }
    PTI_REGION_END(outer);
}

/* 100,000 turns before the fork, 200,000 in the child, 400,000 after it. */
static void fork_inside(void) {
    PTI_REGION_BEGIN(outer, "outer");
    PTI_REGION_BEGIN(forks, "forks");
    work(100000);
    pid_t child = fork();
    if (child == 0) {
        work(200000);
        PTI_REGION_END(forks);
        PTI_REGION_END(outer);
        exit(0);
    }
    waitpid(child, NULL, 0);
    work(400000);
    PTI_REGION_END(forks);
    PTI_REGION_END(outer);
}

static void allocate(size_t bytes) {
    char *volatile held = malloc(bytes);
    memset(held, 1, bytes);
    free(held);
}

static void hold_memory(void) {
    char *volatile kept = malloc(10000);
    memset(kept, 1, 10000);
    allocate(300000);
    PTI_REGION_BEGIN(small, "small");
    allocate(50000);
    PTI_REGION_END(small);
    PTI_REGION_BEGIN(large, "large/one");
    allocate(200000);
    PTI_REGION_END(large);
    free(kept);
}

/* Leaves the process inside a region. */
static void exit_inside(void) {
    PTI_REGION_BEGIN(last, "last");
    work(100000);
    exit(0);
    PTI_REGION_END(last);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "nest") == 0)
        nest();
    if (strcmp(what, "empty") == 0)
        hold_empty(atoi(argv[2]));
    if (strcmp(what, "fork") == 0)
        fork_inside();
    if (strcmp(what, "memory") == 0)
        hold_memory();
    if (strcmp(what, "exit") == 0)
        exit_inside();
    return 0;
}
