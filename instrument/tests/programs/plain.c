/* The same work with pthreads and POSIX files, and with the wrappers, for counting its instructions. */
#include "pti.h"

#include <stdio.h>

#ifdef BARE
#define pti_mutex_t pthread_mutex_t
#define pti_rwlock_t pthread_rwlock_t
#define pti_cond_t pthread_cond_t
#undef PTI_MUTEX_INITIALIZER
#undef PTI_RWLOCK_INITIALIZER
#undef PTI_COND_INITIALIZER
#undef PTI_REGION_BEGIN
#undef PTI_REGION_END
#define PTI_MUTEX_INITIALIZER(name) PTHREAD_MUTEX_INITIALIZER
#define PTI_RWLOCK_INITIALIZER(name) PTHREAD_RWLOCK_INITIALIZER
#define PTI_COND_INITIALIZER(name) PTHREAD_COND_INITIALIZER
#define PTI_REGION_BEGIN(variable, name) ((void)0)
#define PTI_REGION_END(variable) ((void)0)
#define pti_mutex_lock pthread_mutex_lock
#define pti_mutex_trylock pthread_mutex_trylock
#define pti_mutex_unlock pthread_mutex_unlock
#define pti_rwlock_rdlock pthread_rwlock_rdlock
#define pti_rwlock_wrlock pthread_rwlock_wrlock
#define pti_rwlock_unlock pthread_rwlock_unlock
#define pti_cond_signal pthread_cond_signal
#define pti_cond_broadcast pthread_cond_broadcast
#define WRITE(file, bytes, count) write((file)->fd, bytes, count)
#define READ(file, bytes, count) read((file)->fd, bytes, count)
#define SYNC(file) fdatasync((file)->fd)
#else
#define WRITE(file, bytes, count) pti_file_write(file, bytes, count)
#define READ(file, bytes, count) pti_file_read(file, bytes, count)
#define SYNC(file) pti_file_datasync(file)
#endif

static pti_mutex_t mutex = PTI_MUTEX_INITIALIZER("mutex");
static pti_rwlock_t rwlock = PTI_RWLOCK_INITIALIZER("rwlock");
static pti_cond_t cond = PTI_COND_INITIALIZER("cond");

__attribute__((noinline)) long work(pti_file_t *out, pti_file_t *in, int times) {
    long sum = 0;
    char bytes[16] = {0};
    PTI_REGION_BEGIN(work, "work");
    for (int i = 0; i < times; i++) {
        sum += pti_mutex_lock(&mutex);
        sum += pti_mutex_unlock(&mutex);
        if (pti_mutex_trylock(&mutex) == 0)
            sum += pti_mutex_unlock(&mutex) + 1;
        sum += pti_rwlock_rdlock(&rwlock) + pti_rwlock_unlock(&rwlock);
        sum += pti_rwlock_wrlock(&rwlock) + pti_rwlock_unlock(&rwlock);
        sum += pti_cond_signal(&cond) + pti_cond_broadcast(&cond);
        sum += WRITE(out, bytes, sizeof bytes) + READ(in, bytes, sizeof bytes);
        sum += SYNC(out);
    }
    PTI_REGION_END(work);
    return sum;
}

int main(void) {
    pti_file_t out, in;
    if (pti_file_open(&out, "out", "/dev/null", O_WRONLY, 0) != 0 || pti_file_open(&in, "in", "/dev/zero", O_RDONLY, 0) != 0)
        return 1;
    printf("%ld\n", work(&out, &in, 100));
    return 0;
}
