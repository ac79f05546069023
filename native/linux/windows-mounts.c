/* windows-mounts PLAN PROGRAM ARGUMENTS...: runs runc where the files of a Windows pod belong to the pod's own user.
 * windows-mounts probe FOLDER: prints what this kernel can do of that, in words.
 *
 * runc joins a user namespace first, and from there none that the pod's own does not own: so it starts in the pod's network.
 * The mounts are made in a mount namespace that only runc sees: nothing of them is left when it ends. Files of the machine's
 * root are shown as the pod's (idmapped mounts), so image layers stay as they are and volumes keep root's ownership on disk. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPEN_TREE = 428, MOVE_MOUNT = 429, MOUNT_SETATTR = 442 };
enum { TREE_CLONE = 1, TREE_CLOEXEC = O_CLOEXEC, RECURSIVE = 0x8000, EMPTY_PATH = 0x1000, MOVE_FROM_FD = 4 };
enum { READ_ONLY = 1, NO_SUID = 2, NO_DEVICES = 4, ID_MAP = 0x100000 };
struct attributes { uint64_t set, clear, propagation, user_namespace; };

static const char *stage;
static int owners = -1;

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "windows-mounts: %s %s: %s\n", what, which, strerror(errno));
    exit(1);
}

static void own_mounts(void)
{
    if (unshare(CLONE_NEWNS)) fail("unshare", "mounts");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) fail("make private", "/");
}

static int write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t written = write(file, text, strlen(text));
    close(file);
    return written < 0 ? -1 : 0;
}

/* A user namespace in which `count` ids from 0 are those from `first` outside. */
static int new_owners(unsigned first, unsigned count)
{
    int ready[2], result = -1;
    char path[64], map[64], byte;
    if (pipe2(ready, O_CLOEXEC)) return -1;
    pid_t parent = getpid(), child = fork();
    if (child < 0) return -1;
    if (child > 0) close(ready[1]); /* else there is no end to read, when the child ends before it says anything */
    if (child == 0) {
        /* It ends with its parent, however that ends: also when that was before it could say so. */
        byte = unshare(CLONE_NEWUSER) || prctl(PR_SET_PDEATHSIG, SIGKILL) ? 'n' : 'y';
        if (getppid() != parent || write(ready[1], &byte, 1) != 1) _exit(1);
        for (;;) pause();
    }
    snprintf(map, sizeof map, "0 %u %u", first, count);
    if (read(ready[0], &byte, 1) == 1 && byte == 'y') {
        snprintf(path, sizeof path, "/proc/%d/uid_map", child);
        int mapped = write_file(path, map);
        snprintf(path, sizeof path, "/proc/%d/gid_map", child);
        mapped |= write_file(path, map);
        snprintf(path, sizeof path, "/proc/%d/ns/user", child);
        if (!mapped) result = open(path, O_RDONLY | O_CLOEXEC);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    return result;
}

/* A copy of the mount at a path, with the pod's owners where the file system knows how. */
static int tree_of(const char *path, uint64_t set, int recursive)
{
    for (int mapped = owners >= 0; mapped >= 0; mapped--) {
        struct attributes attributes = { .set = set | NO_SUID | NO_DEVICES };
        int tree = syscall(OPEN_TREE, AT_FDCWD, path, TREE_CLONE | TREE_CLOEXEC | (recursive ? RECURSIVE : 0));
        if (tree < 0) fail("open", path);
        if (mapped) {
            attributes.set |= ID_MAP;
            attributes.user_namespace = owners;
        }
        if (!syscall(MOUNT_SETATTR, tree, "", EMPTY_PATH | (recursive ? RECURSIVE : 0), &attributes, sizeof attributes))
            return tree;
        if (!mapped) fail("set attributes of", path);
        close(tree);
    }
    return -1;
}

/* `name` in the stage, as a file or a folder like its source. */
static char *mount_point(const char *name, int folder)
{
    char *path;
    if (asprintf(&path, "%s/%s", stage, name) < 0) fail("name", name);
    if (folder ? mkdir(path, 0755) : mknod(path, S_IFREG | 0644, 0)) fail("make", path);
    return path;
}

static void attach(int tree, const char *name)
{
    struct stat about;
    if (fstat(tree, &about)) fail("look at", name);
    char *target = mount_point(name, S_ISDIR(about.st_mode));
    if (syscall(MOVE_MOUNT, tree, "", AT_FDCWD, target, MOVE_FROM_FD)) fail("mount", target);
    close(tree);
    free(target);
}

static void overlay(const char *name, const char *upper, const char *work, char *lowers)
{
    char *options = NULL, *lowerdirs = NULL, *place = NULL;
    int count = 0;
    for (char *lower = strtok(lowers, "\t"); lower; lower = strtok(NULL, "\t")) {
        char *before = lowerdirs;
        if (asprintf(&place, "%s-%d", name, count++) < 0) fail("name", name);
        attach(tree_of(lower, READ_ONLY, 0), place);
        if (asprintf(&lowerdirs, "%s%s%s", before ? before : "", before ? ":" : "", place) < 0) fail("name", name);
        free(before);
        free(place);
    }
    /* Relative names: the kernel takes one page of options, and an image may have a hundred layers. */
    char *target = mount_point(name, 1);
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (here < 0 || chdir(stage)) fail("go to", stage);
    if (asprintf(&options, "lowerdir=%s,upperdir=%s,workdir=%s", lowerdirs, upper, work) < 0) fail("name", name);
    if (mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV, options)) fail("mount", options);
    if (fchdir(here)) fail("go back from", stage);
    close(here);
}

static void enter(const char *path)
{
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, 0)) fail("enter", path);
    close(namespace);
}

/* The namespaces that the process named in a file shares with its pod. */
static void enter_pod(const char *pid_file)
{
    static const char *const kinds[] = { "net", "ipc", "uts" };
    char path[64];
    int pid = 0;
    FILE *file = fopen(pid_file, "re");
    if (!file || fscanf(file, "%d", &pid) != 1 || pid <= 1) fail("read", pid_file);
    fclose(file);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, kinds[i]);
        enter(path);
    }
}

/* Lines of fields between tabs: `enter NAMESPACE`, `enter-pod PID-FILE`, `stage FOLDER`,
 * `owners FIRST COUNT`, `bind NAME ro|rw SOURCE`, `overlay NAME UPPER WORK LOWER...`. */
static void obey(char *line)
{
    char *word = strsep(&line, "\t"), *first = strsep(&line, "\t");
    errno = EINVAL;
    if (!first) fail("understand", word);
    if (!strcmp(word, "enter")) {
        enter(first);
    } else if (!strcmp(word, "enter-pod")) {
        enter_pod(first);
    } else if (!strcmp(word, "stage")) {
        own_mounts();
        stage = strdup(first);
        if (mount("tmpfs", stage, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711")) fail("mount", stage);
    } else if (!strcmp(word, "owners")) {
        owners = new_owners(strtoul(first, NULL, 10), strtoul(line ? line : "0", NULL, 10));
        if (owners < 0) fail("make a user namespace for", first);
    } else if (!strcmp(word, "bind")) {
        char *mode = strsep(&line, "\t");
        attach(tree_of(line, !strcmp(mode, "ro") ? READ_ONLY : 0, 1), first);
    } else if (!strcmp(word, "overlay")) {
        char *upper = strsep(&line, "\t"), *work = strsep(&line, "\t");
        overlay(first, upper, work, line);
    } else {
        fail("understand", word);
    }
}

/* Runs a question in a child: a kernel that refuses it ends that one only. */
static int can(int (*question)(const char *), const char *argument)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0) _exit(question(argument));
    waitpid(child, &status, 0);
    return status == 0;
}

static int maps_owners(const char *folder)
{
    struct attributes attributes = { .set = ID_MAP };
    int tree = syscall(OPEN_TREE, AT_FDCWD, folder, TREE_CLONE | TREE_CLOEXEC);
    attributes.user_namespace = new_owners(1000000, 1000);
    return tree < 0 || (int)attributes.user_namespace < 0
        || syscall(MOUNT_SETATTR, tree, "", EMPTY_PATH, &attributes, sizeof attributes);
}

/* What runc does for a container with owners of its own: they must reach the folder, and mount a /proc. */
static int has_namespaces(const char *folder)
{
    int owned = new_owners(1000000, 1000), status = 1;
    if (owned < 0 || setns(owned, CLONE_NEWUSER) || setgid(0) || setuid(0)) return 1;
    if (unshare(CLONE_NEWNS | CLONE_NEWPID) || chdir(folder)) return 1;
    pid_t child = fork();
    if (child == 0) {
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount(folder, folder, NULL, MS_BIND, NULL)) _exit(1);
        _exit(mount("proc", "/proc", "proc", 0, NULL) ? 1 : 0);
    }
    waitpid(child, &status, 0);
    return status;
}

int main(int count, char **arguments)
{
    char *line = NULL;
    size_t size = 0;
    if (count < 3) return 2;
    if (!strcmp(arguments[1], "probe")) {
        own_mounts();
        if (can(maps_owners, arguments[2])) printf("owners\n");
        if (can(has_namespaces, arguments[2])) printf("namespaces\n");
        return 0;
    }
    FILE *plan = fopen(arguments[1], "re");
    if (!plan) fail("open", arguments[1]);
    while (getline(&line, &size, plan) > 0) {
        line[strcspn(line, "\n")] = 0;
        obey(line);
    }
    if (ferror(plan) || !feof(plan)) fail("read", arguments[1]);
    fclose(plan);
    execvp(arguments[2], arguments + 2);
    fail("start", arguments[2]);
}
