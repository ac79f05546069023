// Preloaded into a process: a disk whose sector cannot be read, or that refuses a write, with EIO.
// FAIL_NAME: how the file's path ends. FAIL_READ_AT=n: whoever reads its byte n fails. FAIL_WRITE=n: its n-th write fails.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int writes;

static int is_failing(int fd) {
  const char *name = getenv("FAIL_NAME");
  char link[64], path[4096];
  if (!name) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  size_t tail = strlen(name);
  return length >= (ssize_t)tail && memcmp(path + length - tail, name, tail) == 0;
}

static int fails_to_read(int fd, off64_t at, size_t length) {
  const char *bad = getenv("FAIL_READ_AT");
  if (!bad || at < 0 || !is_failing(fd)) return 0;
  off64_t byte = atoll(bad);
  return at <= byte && byte < at + (off64_t)length;
}

static int fails_to_write(int fd) {
  const char *nth = getenv("FAIL_WRITE");
  if (!nth || !is_failing(fd) || __atomic_add_fetch(&writes, 1, __ATOMIC_SEQ_CST) != atoi(nth)) return 0;
  dprintf(2, "a write has failed\n");
  return 1;
}

ssize_t read(int fd, void *bytes, size_t length) {
  static ssize_t (*real)(int, void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "read");
  if (getenv("FAIL_READ_AT") && fails_to_read(fd, lseek64(fd, 0, SEEK_CUR), length)) {
    errno = EIO;
    return -1;
  }
  return real(fd, bytes, length);
}
ssize_t pread64(int fd, void *bytes, size_t length, off64_t at) {
  static ssize_t (*real)(int, void *, size_t, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "pread64");
  if (fails_to_read(fd, at, length)) {
    errno = EIO;
    return -1;
  }
  return real(fd, bytes, length, at);
}
ssize_t pread(int fd, void *bytes, size_t length, off_t at) { return pread64(fd, bytes, length, at); }

ssize_t write(int fd, const void *bytes, size_t length) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "write");
  if (fails_to_write(fd)) {
    errno = EIO;
    return -1;
  }
  return real(fd, bytes, length);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  static ssize_t (*real)(int, const void *, size_t, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
  if (fails_to_write(fd)) {
    errno = EIO;
    return -1;
  }
  return real(fd, bytes, length, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return pwrite64(fd, bytes, length, at); }
