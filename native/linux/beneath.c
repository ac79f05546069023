/* beneath: opens what a path names beneath a folder without following a link, and mounts or removes exactly that. Root walks
 * so wherever a pod may change the path meanwhile: each name is opened relative to its parent's descriptor.
 *
 *   beneath open    BASE PATH KIND MAKE               prints the kind of what is there
 *   beneath mount   BASE PATH KIND MAKE TARGET SCOPE  the same, and mounts it on TARGET; SCOPE is `one` or `all` (with the
 *                                                     mounts below it, and then nothing spreads from or to it)
 *   beneath release TARGET                            unmounts TARGET and removes it
 *   beneath remove  FOLDER                            removes FOLDER and all in it; stops at mounts
 *   beneath usage   MS FOLDER...                      prints for each how many bytes and inodes it takes on its file
 *                                                     system, 0 0 when it is not there; then `late` when there was more
 *                                                     to count after MS milliseconds, `unread` when a part refuses
 *
 * PATH: names between slashes, '' for BASE itself. KIND: what must be there, or `any`. MAKE: `none`, `directory` (missing
 * names become folders) or `file` (the last becomes an empty file), and `:` with the octal mode; without it BASE's own.
 * A failure prints `<step> <errno> <text>` on standard error and ends with 1; wrong arguments end with 2. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
struct how {
  uint64_t flags, mode, resolve;
};
enum { NO_XDEV = 1, NO_MAGICLINKS = 2, NO_SYMLINKS = 4, BENEATH = 8 };

static void die(const char *step) {
  int why = errno;
  fprintf(stderr, "%s %d %s\n", step, why, strerror(why));
  exit(1);
}

static void refuse(const char *step, int why) {
  errno = why;
  die(step);
}

static void usage(void) {
  fputs("usage: see beneath.c\n", stderr);
  exit(2);
}

/* One name in a folder. A link is opened itself by O_PATH, and then refused; kernels before 5.6 have no openat2, and for
 * a single name that is as safe. */
static int open_name(int parent, const char *name, int flags, uint64_t more) {
  struct how how = {.flags = (uint64_t)(unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
                    .resolve = BENEATH | NO_SYMLINKS | NO_MAGICLINKS | more};
  struct stat at, here;
  int fd = (int)syscall(SYS_openat2, parent, name, &how, sizeof how);
  for (int tries = 0; fd < 0 && errno == EAGAIN && tries < 1000; tries++)
    fd = (int)syscall(SYS_openat2, parent, name, &how, sizeof how);
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) fd = openat(parent, name, flags | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  if (fstat(fd, &here) || fstat(parent, &at)) return -1;
  if (S_ISLNK(here.st_mode)) return errno = ELOOP, -1;
  if ((more & NO_XDEV) && at.st_dev != here.st_dev) return errno = EXDEV, -1;
  return fd;
}

static const char *kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFREG: return "file";
  case S_IFDIR: return "directory";
  case S_IFLNK: return "symlink";
  case S_IFSOCK: return "socket";
  case S_IFIFO: return "fifo";
  case S_IFCHR: return "characterDevice";
  case S_IFBLK: return "blockDevice";
  default: return "other";
  }
}

static mode_t mode_of(int fd) {
  struct stat s;
  if (fstat(fd, &s)) die("stat");
  return s.st_mode;
}

struct make {
  int directories, file;
  mode_t mode;
};

static struct make parse_make(const char *text, int base) {
  struct make make = {0};
  const char *colon = strchr(text, ':');
  size_t length = colon ? (size_t)(colon - text) : strlen(text);
  make.directories = length == 9 && !strncmp(text, "directory", 9);
  make.file = length == 4 && !strncmp(text, "file", 4);
  if (!make.directories && !make.file && strcmp(text, "none")) usage();
  make.mode = colon ? (mode_t)strtoul(colon + 1, NULL, 8) & 07777 : mode_of(base) & 0777;
  return make;
}

/* A name that is missing is made in the opened parent. Somebody may have been faster: what is there then is opened. */
static void make_name(int parent, const char *name, const struct make *make, int last) {
  if (make->file && last) {
    int fd = openat(parent, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, make->mode);
    if (fd < 0 && errno != EEXIST) die("make");
    if (fd >= 0) close(fd);
  } else if (make->directories) {
    if (mkdirat(parent, name, make->mode) && errno != EEXIST) die("make");
  } else {
    refuse("open", ENOENT);
  }
}

/* The descriptor (O_PATH) of what `path` names beneath `base`. */
static int walk(int base, char *path, const struct make *make) {
  int at = base;
  char *rest = path;
  for (char *name; (name = strsep(&rest, "/"));) {
    if (!*name || !strcmp(name, ".")) continue;
    if (!strcmp(name, "..")) refuse("open", EXDEV);
    int last = !rest || !rest[strspn(rest, "/")];
    int next = open_name(at, name, O_PATH, 0);
    if (next < 0 && errno == ENOENT) {
      make_name(at, name, make, last);
      next = open_name(at, name, O_PATH, 0);
    }
    if (next < 0) die("open");
    if (!last && !S_ISDIR(mode_of(next))) refuse("open", ENOTDIR);
    close(at);
    at = next;
  }
  return at;
}

static int find(char **args) {
  umask(0);
  int base = open(args[0], O_PATH | O_CLOEXEC);
  if (base < 0) die("base");
  struct make make = parse_make(args[3], base);
  int found = walk(base, args[1], &make);
  const char *kind = kind_of(mode_of(found));
  if (strcmp(args[2], "any") && strcmp(args[2], kind)) {
    fprintf(stderr, "kind 0 %s\n", kind);
    exit(1);
  }
  puts(kind);
  return found;
}

/* Private first: an unmount must not spread to the mounts that it was copied from. */
static void unmount(const char *target) {
  while (mount(NULL, target, NULL, MS_REC | MS_PRIVATE, NULL) == 0)
    if (umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW)) die("unmount");
  if (errno != EINVAL && errno != ENOENT) die("unmount");
}

static void clear_target(const char *target) {
  unmount(target);
  if (rmdir(target) && errno == ENOTDIR) unlink(target);
  struct stat s;
  if (!lstat(target, &s)) refuse("target", EEXIST);
}

static void mount_found(int found, const char *target, const char *scope) {
  char source[64];
  unsigned long flags = MS_BIND | (strcmp(scope, "all") ? 0 : MS_REC);
  if (strcmp(scope, "all") && strcmp(scope, "one")) usage();
  clear_target(target);
  if (S_ISDIR(mode_of(found)) ? mkdir(target, 0750) : mknod(target, S_IFREG | 0640, 0)) die("target");
  snprintf(source, sizeof source, "/proc/self/fd/%d", found);
  if (mount(source, target, NULL, flags, NULL)) die("mount");
  if ((flags & MS_REC) && mount(NULL, target, NULL, MS_REC | MS_PRIVATE, NULL)) die("mount");
}

/* Moves a folder that is not empty up to the top, so that a tree of any depth goes with three descriptors. */
static void hoist(int from, const char *name, int top) {
  static unsigned long count;
  char fresh[64];
  do snprintf(fresh, sizeof fresh, ".beneath-%d-%lu", (int)getpid(), count++);
  while (renameat(from, name, top, fresh) && (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
  struct stat s;
  if (!fstatat(from, name, &s, AT_SYMLINK_NOFOLLOW)) refuse("remove", EBUSY);
}

static void empty(int top, int folder);

static void remove_entry(int parent, const char *name, int top) {
  if (!unlinkat(parent, name, 0) || errno == ENOENT) return;
  if (errno != EISDIR && errno != EPERM) die("remove");
  if (!unlinkat(parent, name, AT_REMOVEDIR) || errno == ENOENT) return;
  if (errno != ENOTEMPTY && errno != EEXIST) die("remove");
  if (parent != top) {
    hoist(parent, name, top);
    return;
  }
  int folder = open_name(parent, name, O_RDONLY | O_DIRECTORY, NO_XDEV);
  if (folder < 0) die("remove");
  empty(top, folder);
  close(folder);
  if (unlinkat(parent, name, AT_REMOVEDIR) && errno != ENOENT && errno != ENOTEMPTY) die("remove");
}

static void empty(int top, int folder) {
  /* A descriptor of its own: a copy would share the place that was read last. */
  int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = own < 0 ? NULL : fdopendir(own);
  if (!entries) die("remove");
  for (struct dirent *entry; (entry = readdir(entries));)
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) remove_entry(folder, entry->d_name, top);
  closedir(entries);
}

static void remove_tree(const char *path) {
  int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (top < 0 && errno == ENOENT) return;
  if (top < 0 && (errno == ENOTDIR || errno == ELOOP)) {
    if (unlink(path)) die("remove");
    return;
  }
  if (top < 0) die("remove");
  /* Folders that were moved up while the top was read are found by the next round. */
  for (int rounds = 0; rmdir(path); rounds++) {
    if ((errno != ENOTEMPTY && errno != EEXIST) || rounds == 1000000) die("remove");
    empty(top, top);
  }
}

/* Folders whose descriptors are kept on the way down, so that moving them cuts no walk short; those below are left, and
 * entered again by `..`, so that no depth is too much. */
enum { KEPT_LEVELS = 500 };
/* What the names of folders that wait may take: their owner decides how many there are. */
enum { MOST_MEMORY = 512 << 20 };

struct level {
  struct stat self;
  int fd; /* -1: not kept */
  char *folders; /* names, each with its end */
  size_t length, next;
  unsigned depth;
  struct level *up;
};

struct sum {
  unsigned long long bytes, inodes;
  int late, unread;
};

static unsigned long long deadline;

static unsigned long long now_ms(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now)) die("usage");
  return (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
}

/* What is gone, exchanged or another file system's is nothing of this tree; whatever else fails hides something. */
static void note_failure(struct sum *sum) {
  if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != EXDEV) sum->unread = 1;
}

/* As du: what is on the disk, not how long files claim to be. All links of a file lie beneath the same mount. */
static void add(struct sum *sum, const struct stat *s) {
  sum->bytes += (unsigned long long)s->st_blocks * 512 / (S_ISDIR(s->st_mode) || !s->st_nlink ? 1 : s->st_nlink);
  sum->inodes++;
  if (sum->inodes % 256 == 0 && now_ms() >= deadline) sum->late = 1;
}

static void remember(struct level *level, const char *name, struct sum *sum) {
  size_t size = strlen(name) + 1;
  char *more = realloc(level->folders, level->length + size);
  if (!more) {
    sum->unread = 1;
    return;
  }
  level->folders = more;
  memcpy(level->folders + level->length, name, size);
  level->length += size;
}

static struct level *read_level(int folder, struct level *up, struct sum *sum) {
  struct level *level = calloc(1, sizeof *level);
  if (!level || fstat(folder, &level->self)) die("usage");
  level->up = up;
  level->depth = up ? up->depth + 1 : 0;
  level->fd = level->depth < KEPT_LEVELS ? folder : -1;
  int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = own < 0 ? NULL : fdopendir(own);
  if (!entries) note_failure(sum);
  while (entries && !sum->late) {
    struct stat s;
    errno = 0;
    struct dirent *entry = readdir(entries);
    if (!entry) {
      if (errno) note_failure(sum);
      break;
    }
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (fstatat(folder, entry->d_name, &s, AT_SYMLINK_NOFOLLOW)) {
      note_failure(sum);
      continue;
    }
    if (s.st_dev != level->self.st_dev) continue;
    add(sum, &s);
    if (S_ISDIR(s.st_mode)) remember(level, entry->d_name, sum);
  }
  if (entries) closedir(entries);
  return level;
}

/* Whether the folder is the one that was left when its child was entered: a pod may have moved that. */
static int is_level(int folder, const struct level *level) {
  struct stat s;
  return folder >= 0 && !fstat(folder, &s) && s.st_dev == level->self.st_dev && s.st_ino == level->self.st_ino;
}

/* The descriptor of the folder above `here`, which is closed; -1: it is not above any more. */
static int leave(int here, const struct level *up) {
  int parent = up->fd;
  if (parent < 0) {
    parent = openat(here, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!is_level(parent, up)) return -1;
  }
  close(here);
  return parent;
}

static void print_usage(const char *path) {
  struct sum sum = {.late = now_ms() >= deadline};
  int here = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat file;
  if (here < 0 && errno == ENOTDIR && !lstat(path, &file)) {
    if (S_ISREG(file.st_mode)) add(&sum, &file);
  } else if (here < 0) {
    note_failure(&sum);
  }
  struct level *level = here < 0 ? NULL : read_level(here, NULL, &sum);
  if (level) add(&sum, &level->self);
  while (level && !sum.late) {
    struct level *done = level;
    if (level->next < level->length) {
      const char *name = level->folders + level->next;
      level->next += strlen(name) + 1;
      int child = open_name(here, name, O_RDONLY | O_DIRECTORY, NO_XDEV);
      if (child < 0) {
        note_failure(&sum);
        continue;
      }
      if (level->fd < 0) close(here);
      here = child;
      level = read_level(here, level, &sum);
      continue;
    }
    level = level->up;
    if (level && (here = leave(here, level)) < 0) {
      sum.unread = 1;
      break;
    }
    free(done->folders);
    free(done);
  }
  printf("%llu %llu%s\n", sum.bytes, sum.inodes, sum.late ? " late" : sum.unread ? " unread" : "");
}

/* What a walk that ended early leaves open or allocated is no matter: what comes after it is late, too. */
static void print_usages(const char *ms, char **folders, int count) {
  struct rlimit memory = {MOST_MEMORY, MOST_MEMORY};
  deadline = now_ms() + strtoull(ms, NULL, 10);
  /* Nobody waits for it as for work of the node. */
  if (setpriority(PRIO_PROCESS, 0, 10) || setrlimit(RLIMIT_AS, &memory)) die("usage");
  for (int i = 0; i < count; i++) print_usage(folders[i]);
}

int main(int count, char **args) {
  if (count == 6 && !strcmp(args[1], "open")) {
    find(args + 2);
  } else if (count == 8 && !strcmp(args[1], "mount")) {
    mount_found(find(args + 2), args[6], args[7]);
  } else if (count == 3 && !strcmp(args[1], "release")) {
    clear_target(args[2]);
  } else if (count == 3 && !strcmp(args[1], "remove")) {
    remove_tree(args[2]);
  } else if (count >= 4 && !strcmp(args[1], "usage")) {
    print_usages(args[2], args + 3, count - 3);
  } else {
    usage();
  }
  return 0;
}
