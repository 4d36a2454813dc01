/* A slow disk, for a process and its children (LD_PRELOAD).

   SLOW_DISK names a file of eight bytes: the nanoseconds that each step takes which must reach the disk, as a signed
   integer. A test may change them while the process runs. The steps: to write a file's content out, and to give a file
   its name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BILLION 1000000000LL
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static volatile int64_t none, *pause_of = &none;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SLOW_DISK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *found = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
    if (found != MAP_FAILED) pause_of = found;
    close(fd);
}

static void turn(void) {
    int64_t long_ = *pause_of;
    struct timespec left = {long_ / BILLION, long_ % BILLION};
    if (long_ > 0)
        while (nanosleep(&left, &left) != 0) continue;
}

int fsync(int fd) { turn(); return REAL(fsync)(fd); }
int fdatasync(int fd) { turn(); return REAL(fdatasync)(fd); }
int rename(const char *from, const char *to) { turn(); return REAL(rename)(from, to); }
int renameat(int at, const char *from, int of, const char *to) { turn(); return REAL(renameat)(at, from, of, to); }
