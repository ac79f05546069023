/* windows-mounts PLAN PROGRAM ARGUMENTS...: runs runc where the files of a Windows pod belong to the pod's own user.
 * windows-mounts probe FOLDER: prints what this kernel can do of that, in words.
 *
 * runc joins a user namespace first, and from there none that the pod's own does not own: so it starts in the pod's network.
 * The mounts are made in a mount namespace that only runc sees: nothing of them is left when it ends. Files of the machine's
 * root are shown as the pod's (idmapped mounts), so image layers stay as they are and volumes keep root's ownership on disk.
 *
 * What lies below drive C: is mounted here, each name opened in the folder that was opened before it, and no link followed:
 * links come with an image, or another container of the pod makes one in a volume at this moment, and runc would follow it
 * to whatever it names in the container. runc gets the assembled tree as one mount. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPEN_TREE = 428, MOVE_MOUNT = 429, MOUNT_SETATTR = 442 };
enum { TREE_CLONE = 1, TREE_CLOEXEC = O_CLOEXEC, RECURSIVE = 0x8000, EMPTY_PATH = 0x1000, MOVE_FROM_FD = 4, MOVE_TO_FD = 0x40 };
enum { READ_ONLY = 1, NO_SUID = 2, NO_DEVICES = 4, ID_MAP = 0x100000 };
struct attributes { uint64_t set, clear, propagation, user_namespace; };

static const char *stage, *log_file;
static int owners = -1;
/* Who makes what is missing on the way to a mount: the pod, where files can be shown as its own. */
static unsigned maker;

/* The shim shows its caller the last error of runc's log; without one, who called looks at standard error. */
static void give_up(const char *reason)
{
    FILE *log = log_file ? fopen(log_file, "ae") : NULL;
    if (!log) {
        fprintf(stderr, "windows-mounts: %s\n", reason);
        exit(1);
    }
    fputs("{\"level\":\"error\",\"msg\":\"", log);
    for (; *reason; reason++) {
        if (*reason == '"' || *reason == '\\') fputc('\\', log);
        fputc((unsigned char)*reason < ' ' ? ' ' : *reason, log);
    }
    fputs("\"}\n", log);
    fclose(log);
    exit(1);
}

static void fail(const char *what, const char *which)
{
    char *reason = NULL;
    if (asprintf(&reason, "%s %s: %s", what, which, strerror(errno)) < 0) exit(1);
    give_up(reason);
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

/* Runs as the pod's user with root's rights: what is made belongs to the pod, whoever may write there. */
static void act_as(unsigned id)
{
    struct { uint32_t version; int process; } header = { 0x20080522, 0 };
    struct { uint32_t effective, permitted, inheritable; } rights[2];
    setfsgid(id);
    setfsuid(id);
    if (syscall(SYS_capget, &header, rights)) fail("read", "rights");
    for (int i = 0; i < 2; i++) rights[i].effective = rights[i].permitted;
    if (syscall(SYS_capset, &header, rights)) fail("keep", "rights");
}

static int open_name(int folder, const char *name)
{
    struct stat about;
    int found = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (found < 0 || (!fstat(found, &about) && !S_ISLNK(about.st_mode))) return found;
    close(found);
    errno = ELOOP;
    return -1;
}

/* Somebody may have been faster: what is there then is opened. */
static int make_name(int folder, const char *name, int as_folder)
{
    act_as(maker);
    int refused = as_folder ? mkdirat(folder, name, 0755) : mknodat(folder, name, S_IFREG | 0644, 0);
    int why = errno;
    act_as(0);
    errno = why;
    return refused && why != EEXIST ? -1 : open_name(folder, name);
}

/* The first `length` letters of a place in the stage, as Windows' programs know it. */
static char *shown(const char *place, size_t length)
{
    char *text = strndup(place, length), *drive = text ? strstr(text, "/drive_c") : NULL;
    if (!drive) return text;
    for (char *letter = drive; *letter; letter++)
        if (*letter == '/') *letter = '\\';
    memcpy(drive + strlen("/drive"), "C:", 2);
    return drive + strlen("/drive");
}

static void refuse_place(const char *place, size_t length)
{
    char *reason = NULL;
    int why = errno;
    char *whole = shown(place, strlen(place)), *part = shown(place, length);
    if (!whole || !part) exit(1);
    int size = why == ELOOP ? asprintf(&reason, "%s can't be used: %s is a link, and links are not followed", whole, part)
                            : asprintf(&reason, "%s can't be used: %s: %s", whole, part, strerror(why));
    if (size < 0) exit(1);
    give_up(reason);
}

/* What a place (names between slashes) is beneath the stage; what is missing is made, as a file or a folder at its end. */
static int open_place(const char *place, int as_folder)
{
    char *names = strdup(place), *rest = names;
    int at = open(stage, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!names || at < 0) fail("open", stage);
    for (char *name; (name = strsep(&rest, "/"));) {
        size_t length = name - names + strlen(name);
        int next = -1;
        errno = EINVAL;
        if (*name && strcmp(name, ".") && strcmp(name, "..")) next = open_name(at, name);
        if (next < 0 && errno == ENOENT) next = make_name(at, name, rest || as_folder);
        if (next < 0) refuse_place(place, length);
        close(at);
        at = next;
    }
    free(names);
    return at;
}

static void make_folder(const char *place)
{
    struct stat about;
    int folder = open_place(place, 1);
    errno = ENOTDIR;
    if (fstat(folder, &about) || !S_ISDIR(about.st_mode)) refuse_place(place, strlen(place));
    close(folder);
}

static void attach(int tree, const char *place)
{
    struct stat about;
    if (fstat(tree, &about)) fail("look at", place);
    int target = open_place(place, S_ISDIR(about.st_mode));
    if (syscall(MOVE_MOUNT, tree, "", target, "", MOVE_FROM_FD | MOVE_TO_FD)) refuse_place(place, strlen(place));
    close(tree);
    close(target);
}

static void overlay(const char *place, const char *upper, const char *work, char *lowers)
{
    static int count;
    char *options = NULL, *lowerdirs = NULL, *name = NULL, target[64];
    for (char *lower = strtok(lowers, "\t"); lower; lower = strtok(NULL, "\t")) {
        char *before = lowerdirs;
        if (asprintf(&name, "lower-%d", count++) < 0) fail("name", lower);
        attach(tree_of(lower, READ_ONLY, 0), name);
        if (asprintf(&lowerdirs, "%s%s%s", before ? before : "", before ? ":" : "", name) < 0) fail("name", lower);
        free(before);
        free(name);
    }
    /* Relative names: the kernel takes one page of options, and an image may have a hundred layers. */
    int folder = open_place(place, 1), here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (here < 0 || chdir(stage)) fail("go to", stage);
    if (asprintf(&options, "lowerdir=%s,upperdir=%s,workdir=%s", lowerdirs, upper, work) < 0) fail("name", place);
    snprintf(target, sizeof target, "/proc/self/fd/%d", folder);
    if (mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV, options)) fail("mount", options);
    if (fchdir(here)) fail("go back from", stage);
    close(here);
    close(folder);
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
 * `owners FIRST COUNT`, `bind PLACE ro|rw SOURCE`, `overlay PLACE UPPER WORK LOWER...`, `folder PLACE`. */
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
        maker = strtoul(first, NULL, 10);
        owners = new_owners(maker, strtoul(line ? line : "0", NULL, 10));
        if (owners < 0) fail("make a user namespace for", first);
    } else if (!strcmp(word, "bind")) {
        char *mode = strsep(&line, "\t");
        attach(tree_of(line, !strcmp(mode, "ro") ? READ_ONLY : 0, 1), first);
    } else if (!strcmp(word, "overlay")) {
        char *upper = strsep(&line, "\t"), *work = strsep(&line, "\t");
        overlay(first, upper, work, line);
    } else if (!strcmp(word, "folder")) {
        make_folder(first);
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
    for (int i = 2; i + 1 < count && !log_file; i++)
        if (!strcmp(arguments[i], "--log")) log_file = arguments[i + 1];
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
