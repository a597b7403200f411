/* Sums a table over and over, WORK times: what the two builds of the example differ in. */
#include <stdint.h>
#include <stdio.h>

#ifndef WORK
#define WORK 100
#endif

#define ENTRIES (1 << 16)
#define PASSES 8

static uint32_t table[ENTRIES];

int main(void) {
    uint32_t sum = 1;
    long rounds = 0;
    for (int pass = 0; pass < PASSES * WORK; pass++) {
        for (int at = 0; at < ENTRIES; at++) {
            sum = sum * 1664525u + 1013904223u;
            table[at] += sum >> 16;
        }
        rounds++;
    }
    for (int at = 0; at < ENTRIES; at++)
        sum ^= table[at];
    printf("{\"counts\": {\"entries\": %d}, \"metrics\": {\"checksum_of_work\": %u}}\n", ENTRIES, sum % 1000);
    return rounds > 0 ? 0 : 1;
}
