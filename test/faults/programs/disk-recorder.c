// Preloaded into a process: records what it does to the files of one folder, in order, and can make a sync fail.
// RECORD_FOLDER: the folder. RECORD_FILE: where to. FAIL_SYNC=n: the n-th sync of a file whose name ends in FAIL_NAME fails with EIO.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *names[4096];
static int out = -1;
static int syncs;

#define REAL(type, name, ...) static type (*real_##name)(__VA_ARGS__)
REAL(ssize_t, write, int, const void *, size_t);
REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
REAL(int, ftruncate64, int, off64_t);
REAL(int, fsync, int);
REAL(int, fdatasync, int);
REAL(int, close, int);
REAL(int, unlink, const char *);
REAL(int, open64, const char *, int, ...);

__attribute__((constructor)) static void start(void) {
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite64 = dlsym(RTLD_NEXT, "pwrite64");
  real_ftruncate64 = dlsym(RTLD_NEXT, "ftruncate64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_close = dlsym(RTLD_NEXT, "close");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_open64 = dlsym(RTLD_NEXT, "open64");
  const char *file = getenv("RECORD_FILE");
  if (file) out = real_open64(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static const char *within(const char *path) {
  const char *folder = getenv("RECORD_FOLDER");
  if (!folder || !path) return NULL;
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

static const char *name_of(int fd) { return fd >= 0 && fd < 4096 ? names[fd] : NULL; }

static void record(char what, const char *name, uint64_t offset, const void *bytes, uint32_t length) {
  if (out < 0 || !name) return;
  uint8_t head[15];
  uint16_t named = (uint16_t)strlen(name);
  head[0] = (uint8_t)what;
  memcpy(head + 1, &named, 2);
  memcpy(head + 3, &offset, 8);
  memcpy(head + 11, &length, 4);
  real_write(out, head, sizeof head);
  real_write(out, name, named);
  // A truncation has a length and no bytes.
  if (bytes) real_write(out, bytes, length);
}

static int opened(const char *path, int flags, mode_t mode) {
  pthread_mutex_lock(&lock);
  int fd = real_open64(path, flags, mode);
  const char *name = within(path);
  if (fd >= 0 && fd < 4096) {
    free(names[fd]);
    names[fd] = name && (flags & O_ACCMODE) != O_RDONLY ? strdup(name) : NULL;
    if (names[fd]) record('o', name, 0, NULL, 0);
    if (names[fd] && (flags & O_TRUNC)) record('t', name, 0, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  return fd;
}
/* A mode is given only where a file may be made. */
#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    mode_t mode = 0; \
    if (flags & O_CREAT) { \
      va_list rest; \
      va_start(rest, flags); \
      mode = va_arg(rest, mode_t); \
      va_end(rest); \
    } \
    return opened(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
int close(int fd) {
  pthread_mutex_lock(&lock);
  if (name_of(fd)) {
    free(names[fd]);
    names[fd] = NULL;
  }
  int result = real_close(fd);
  pthread_mutex_unlock(&lock);
  return result;
}
ssize_t write(int fd, const void *bytes, size_t length) {
  if (!name_of(fd)) return real_write(fd, bytes, length);
  pthread_mutex_lock(&lock);
  off64_t at = lseek64(fd, 0, SEEK_CUR);
  ssize_t done = real_write(fd, bytes, length);
  if (done > 0) record('w', name_of(fd), (uint64_t)at, bytes, (uint32_t)done);
  pthread_mutex_unlock(&lock);
  return done;
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  if (!name_of(fd)) return real_pwrite64(fd, bytes, length, at);
  pthread_mutex_lock(&lock);
  ssize_t done = real_pwrite64(fd, bytes, length, at);
  if (done > 0) record('w', name_of(fd), (uint64_t)at, bytes, (uint32_t)done);
  pthread_mutex_unlock(&lock);
  return done;
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return pwrite64(fd, bytes, length, at); }
int ftruncate64(int fd, off64_t length) {
  pthread_mutex_lock(&lock);
  int result = real_ftruncate64(fd, length);
  if (result == 0) record('t', name_of(fd), (uint64_t)length, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }
static int synced(int fd, int (*real)(int)) {
  const char *name = name_of(fd);
  if (!name) return real(fd);
  pthread_mutex_lock(&lock);
  const char *failing = getenv("FAIL_NAME");
  const char *nth = getenv("FAIL_SYNC");
  size_t length = strlen(name), tail = failing ? strlen(failing) : 0;
  int result;
  if (failing && nth && length >= tail && strcmp(name + length - tail, failing) == 0 && ++syncs == atoi(nth)) {
    errno = EIO;
    result = -1;
  } else {
    result = real(fd);
    if (result == 0) record('s', name, 0, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  return result;
}
int fsync(int fd) { return synced(fd, real_fsync); }
int fdatasync(int fd) { return synced(fd, real_fdatasync); }
int unlink(const char *path) {
  pthread_mutex_lock(&lock);
  int result = real_unlink(path);
  if (result == 0) record('u', within(path), 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}
