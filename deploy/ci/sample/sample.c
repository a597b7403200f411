/* Counts primes, again and again: the same work on every run, so that what it costs can be compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 100, LIMIT = 10000 };

static int primes_below(char *composite, int limit)
{
    int primes = 0;
    memset(composite, 0, limit);
    for (int number = 2; number < limit; number++) {
        if (composite[number])
            continue;
        primes++;
        for (int multiple = 2 * number; multiple < limit; multiple += number)
            composite[multiple] = 1;
    }
    return primes;
}

int main(void)
{
    char *composite = malloc(LIMIT);
    long sum = 0;
    if (composite == NULL)
        return 1;
    for (int round = 0; round < ROUNDS; round++)
        sum += primes_below(composite, LIMIT - round % 10);
    printf("%ld\n", sum);
    free(composite);
    return 0;
}
