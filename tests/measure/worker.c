/* Does what its arguments say, in their order:
 *   work N    runs a loop N times, two instructions or more each
 *   hold N    allocates N bytes and touches them
 *   say TEXT  prints it, without a line end; complain TEXT does so on standard error
 *   echo      prints what it reads
 *   show NAME prints an environment variable
 *   fork N    forks, works N in the child and waits for it
 *   start N   starts itself anew with `work N`, and waits for it
 *   become N  becomes itself with `work N`
 *   leave N   starts a session of its own that sleeps N seconds, and does not wait for it
 *   ready F   makes the file F
 *   stay      ignores SIGTERM and SIGINT; sleep N sleeps N seconds
 *   raise N   sends itself signal N; exit N ends with N
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long done;

static void work(long n) {
    for (long i = 0; i < n; i++) done += i;
}

static void await_child(void) {
    int status;
    if (wait(&status) < 0 || status != 0) exit(99);
}

static void become(char *self, char *n) {
    execl(self, self, "work", n, (char *)NULL);
    _exit(98);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *what = argv[i];
        if (!strcmp(what, "stay")) {
            signal(SIGTERM, SIG_IGN);
            signal(SIGINT, SIG_IGN);
            continue;
        }
        if (!strcmp(what, "echo")) {
            int c;
            while ((c = getchar()) != EOF) putchar(c);
            continue;
        }
        char *word = argv[++i];
        long n = word ? atol(word) : 0;
        if (!strcmp(what, "work")) work(n);
        else if (!strcmp(what, "hold")) memset(malloc(n), 1, n);
        else if (!strcmp(what, "say")) fputs(word, stdout);
        else if (!strcmp(what, "complain")) fputs(word, stderr);
        else if (!strcmp(what, "show")) printf("%s=%s\n", word, getenv(word) ? getenv(word) : "(none)");
        else if (!strcmp(what, "fork")) {
            if (fork() == 0) { work(n); _exit(0); }
            await_child();
        } else if (!strcmp(what, "start")) {
            if (fork() == 0) become(argv[0], word);
            await_child();
        } else if (!strcmp(what, "become")) become(argv[0], word);
        else if (!strcmp(what, "leave")) {
            if (fork() == 0) { setsid(); sleep(n); _exit(0); }
        } else if (!strcmp(what, "ready")) fclose(fopen(word, "w"));
        else if (!strcmp(what, "sleep")) sleep(n);
        else if (!strcmp(what, "raise")) raise(n);
        else if (!strcmp(what, "exit")) exit(n);
        else return 97;
    }
    return 0;
}
