/* A wall clock that is wrong, for a process and its children (LD_PRELOAD).

   SHIFTED_CLOCK names a file of eight bytes: the nanoseconds that are added to the time of day, as a signed integer. A
   test may change them while the process runs. The monotonic clock goes on as it is, as on a machine whose time is set.
   The times of files' contents are shifted too, because the same clock would have written them; bb recognizes a copied
   store by the change time of a file, which setting the clock does not alter. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BILLION 1000000000LL

static volatile int64_t none, *shift = &none;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SHIFTED_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *found = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
    if (found != MAP_FAILED) shift = found;
    close(fd);
}

static void move(struct timespec *at, int64_t by) {
    int64_t whole = at->tv_sec * BILLION + at->tv_nsec + by;
    at->tv_sec = whole / BILLION;
    at->tv_nsec = whole % BILLION;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int clock_gettime(clockid_t clock, struct timespec *at) {
    static __typeof__(&clock_gettime) real;
    if (!real) real = REAL(clock_gettime);
    int failed = real(clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(at, *shift);
    return failed;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

static int seen(int failed, struct stat *file) {
    if (!failed) {
        move(&file->st_mtim, *shift);
        move(&file->st_atim, *shift);
    }
    return failed;
}

int stat(const char *path, struct stat *file) { return seen(REAL(stat)(path, file), file); }
int lstat(const char *path, struct stat *file) { return seen(REAL(lstat)(path, file), file); }
int fstat(int fd, struct stat *file) { return seen(REAL(fstat)(fd, file), file); }
int fstatat(int fd, const char *path, struct stat *file, int how) {
    return seen(REAL(fstatat)(fd, path, file, how), file);
}
/* A program that was built for large files has these names for the same functions. */
int stat64(const char *path, struct stat64 *file) { return stat(path, (struct stat *)file); }
int lstat64(const char *path, struct stat64 *file) { return lstat(path, (struct stat *)file); }
int fstat64(int fd, struct stat64 *file) { return fstat(fd, (struct stat *)file); }
int fstatat64(int fd, const char *path, struct stat64 *file, int how) {
    return fstatat(fd, path, (struct stat *)file, how);
}

int utimensat(int fd, const char *path, const struct timespec times[2], int how) {
    if (!times) return REAL(utimensat)(fd, path, times, how);
    struct timespec moved[2] = {times[0], times[1]};
    for (int each = 0; each < 2; each++)
        if (moved[each].tv_nsec != UTIME_NOW && moved[each].tv_nsec != UTIME_OMIT) move(&moved[each], -*shift);
    return REAL(utimensat)(fd, path, moved, how);
}
