/* Preloaded into a process: counts each change of a file below some folders, by whatever code, and ends the process by SIGKILL at the
   n-th: a write() after half of its bytes, anything else before it is done. See tests/helpers/kill_at_write.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct shared {
    long changes;                    /* changes so far */
    long length;                     /* of the list */
    char list[(1 << 20) - 16];       /* each: call, path, line feed */
};
static struct shared *seen;
static char roots[16384];
static long stop;

void arm(const char *folders, long nth, struct shared *into) {
    snprintf(roots, sizeof roots, "%s", folders);
    stop = nth;
    seen = into;
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* The absolute path of a name, as far as that can be said without looking at the file. */
static const char *whole(int dir, const char *name, char *into) {
    char link[64], base[PATH_MAX] = "";
    if (name == NULL) return "";
    if (name[0] == '/') return name;
    if (dir == AT_FDCWD) {
        if (getcwd(base, sizeof base) == NULL) return "";
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length < 0) return "";
        base[length] = 0;
    }
    if (name[0] == 0) snprintf(into, 2 * PATH_MAX, "%s", base);
    else snprintf(into, 2 * PATH_MAX, "%s/%s", base, name);
    return into;
}

static int below(const char *path) {
    char copy[sizeof roots], *rest = copy, *root;
    strcpy(copy, roots);
    while ((root = strsep(&rest, ":")) != NULL)
        if (root[0] && strncmp(path, root, strlen(root)) == 0) return 1;
    return 0;
}

/* Whether this change is the one to end at. */
static int due(const char *call, int dir, const char *name) {
    char space[2 * PATH_MAX];
    const char *path;
    int before = errno, now = 0;
    if (seen == NULL) return 0;
    path = whole(dir, name, space);
    if (below(path)) {
        char line[2 * PATH_MAX + 16];
        long length = snprintf(line, sizeof line, "%s %s\n", call, path), at = __sync_fetch_and_add(&seen->length, length);
        if (at + length < (long)sizeof seen->list) memcpy(seen->list + at, line, length);
        now = __sync_add_and_fetch(&seen->changes, 1) == stop;
    }
    errno = before;
    return now;
}

static void end(void) { kill(getpid(), SIGKILL); for (;;) pause(); }
static void change(const char *call, int dir, const char *name) { if (due(call, dir, name)) end(); }

#define WRITING(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))
#define MODE(flags, mode) mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

#define OPEN(NAME) int NAME(const char *path, int flags, ...) { MODE(flags, mode) \
    if (WRITING(flags)) change("open", AT_FDCWD, path); \
    return ((int (*)(const char *, int, mode_t))next(#NAME))(path, flags, mode); }
OPEN(open)
OPEN(open64)
#define OPENAT(NAME) int NAME(int dir, const char *path, int flags, ...) { MODE(flags, mode) \
    if (WRITING(flags)) change("open", dir, path); \
    return ((int (*)(int, const char *, int, mode_t))next(#NAME))(dir, path, flags, mode); }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int file, const void *data, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL) real = next("write");
    if (file > 2 && due("write", file, "")) {
        if (size > 1) { ssize_t done = real(file, data, size / 2); (void)done; }
        end();
    }
    return real(file, data, size);
}
#define PWRITE(NAME, OFFSET) ssize_t NAME(int file, const void *data, size_t size, OFFSET at) { \
    change("write", file, ""); return ((ssize_t (*)(int, const void *, size_t, OFFSET))next(#NAME))(file, data, size, at); }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
ssize_t writev(int file, const struct iovec *parts, int count) {
    change("write", file, "");
    return ((ssize_t (*)(int, const struct iovec *, int))next("writev"))(file, parts, count);
}
#define CUT(NAME, LENGTH) int NAME(int file, LENGTH length) { \
    change("truncate", file, ""); return ((int (*)(int, LENGTH))next(#NAME))(file, length); }
CUT(ftruncate, off_t)
CUT(ftruncate64, off64_t)

int rename(const char *from, const char *to) { change("rename", AT_FDCWD, to); return ((int (*)(const char *, const char *))next("rename"))(from, to); }
int renameat(int a, const char *from, int b, const char *to) {
    change("rename", b, to); return ((int (*)(int, const char *, int, const char *))next("renameat"))(a, from, b, to); }
int link(const char *from, const char *to) { change("link", AT_FDCWD, to); return ((int (*)(const char *, const char *))next("link"))(from, to); }
int unlink(const char *path) { change("unlink", AT_FDCWD, path); return ((int (*)(const char *))next("unlink"))(path); }
int unlinkat(int dir, const char *path, int flags) {
    change("unlink", dir, path); return ((int (*)(int, const char *, int))next("unlinkat"))(dir, path, flags); }
int mkdir(const char *path, mode_t mode) { change("mkdir", AT_FDCWD, path); return ((int (*)(const char *, mode_t))next("mkdir"))(path, mode); }
int rmdir(const char *path) { change("rmdir", AT_FDCWD, path); return ((int (*)(const char *))next("rmdir"))(path); }
