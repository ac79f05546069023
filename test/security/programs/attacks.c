/* attacks.exe NAME [PATH]: one thing that a Windows pod of a stranger would try, by Wine's ways and by raw calls of Linux.
 * Prints what came of it in one word: `denied N` with Linux' or Windows' error number, else `done`. */
#define _WIN32_WINNT 0x0A00
#include <windows.h>
#include <stdio.h>
#include <string.h>

typedef long long word;

/* Windows code may make calls of Linux past Wine: nothing in Wine keeps it from doing so. */
static word linux_call(word number, word a, word b, word c, word d, word e)
{
    word result;
    register word r10 __asm__("r10") = d;
    register word r8 __asm__("r8") = e;
    register word r9 __asm__("r9") = 0;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result;
}

enum { READ, WRITE, OPEN, CLOSE, SOCKET_ = 41, CONNECT = 42, FORK = 57, EXECVE = 59, EXIT = 60, WAIT4 = 61, KILL = 62, CREAT = 85, CHMOD = 90,
       FCHMOD = 91, PTRACE = 101, GETUID = 102, SETUID = 105, MKNOD = 133, CHROOT = 161, MOUNT = 165, INIT_MODULE = 175,
       SETXATTR = 188, ADD_KEY = 248, KEYCTL = 250, OPENAT = 257, FCHMODAT = 268, UNSHARE = 272, PERF = 298, OPEN_BY_HANDLE = 304, SETNS = 308, MEMFD = 319, BPF = 321, EXECVEAT = 322, URING = 425, OPENAT2 = 437, FCHMODAT2 = 452 };
enum { O_WRONLY_ = 1, O_CREAT_ = 0100, NEW_USER = 0x10000000, NEW_NS = 0x20000 };

static void answer(const char *name, word result)
{
    if (result < 0) printf("%s: denied %lld\n", name, -result);
    else printf("%s: done\n", name);
}

static word linux_open(const char *path, word flags)
{
    return linux_call(OPEN, (word)path, flags, 0644, 0, 0);
}

static word open_and_close(const char *path, word flags)
{
    word file = linux_open(path, flags);
    if (file >= 0) linux_call(CLOSE, file, 0, 0, 0, 0);
    return file;
}

/* How many bytes of it can be read; a masked file opens and is empty. */
static word linux_read(const char *path)
{
    char bytes[64];
    word file = linux_open(path, 0), count;
    if (file < 0) return file;
    count = linux_call(READ, file, (word)bytes, sizeof bytes, 0, 0);
    linux_call(CLOSE, file, 0, 0, 0, 0);
    return count == 0 ? -ERROR_HANDLE_EOF : count;
}

static word linux_write(const char *path, const char *text)
{
    word file = linux_open(path, O_WRONLY_), count;
    if (file < 0) return file;
    count = linux_call(WRITE, file, (word)text, strlen(text), 0, 0);
    linux_call(CLOSE, file, 0, 0, 0, 0);
    return count;
}

/* Starts a program of Linux in a child and tells whether it ran: it ends with 42. */
static word linux_start(const char *path)
{
    const char *arguments[] = { path, NULL };
    int status = 0;
    word child = linux_call(FORK, 0, 0, 0, 0, 0);
    if (child < 0) return child;
    if (child == 0) {
        word result = linux_call(EXECVE, (word)path, (word)arguments, 0, 0, 0);
        linux_call(EXIT, -result & 0x7f, 0, 0, 0, 0);
    }
    linux_call(WAIT4, child, (word)&status, 0, 0, 0);
    status = status >> 8 & 0xff;
    return status == 42 ? 0 : -status;
}

static word linux_copy(const char *from, const char *to)
{
    static char bytes[65536];
    word source = linux_open(from, 0), target = linux_open(to, O_WRONLY_ | O_CREAT_), count;
    if (source < 0) return source;
    if (target < 0) return target;
    while ((count = linux_call(READ, source, (word)bytes, sizeof bytes, 0, 0)) > 0)
        linux_call(WRITE, target, (word)bytes, count, 0, 0);
    linux_call(CLOSE, source, 0, 0, 0, 0);
    linux_call(CLOSE, target, 0, 0, 0, 0);
    return linux_call(CHMOD, (word)to, 0755, 0, 0, 0);
}

static word linux_connect(const char *path)
{
    struct { unsigned short family; char path[108]; } address = { 1, "" };
    word socket = linux_call(SOCKET_, 1, 1, 0, 0, 0), result;
    if (socket < 0) return socket;
    strncpy(address.path, path, sizeof address.path - 1);
    result = linux_call(CONNECT, socket, (word)&address, sizeof address, 0, 0);
    linux_call(CLOSE, socket, 0, 0, 0, 0);
    return result;
}

static word windows_open(const WCHAR *path, DWORD access)
{
    HANDLE file = CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (file == INVALID_HANDLE_VALUE) return -(word)GetLastError();
    CloseHandle(file);
    return 0;
}

static word windows_start(const WCHAR *path)
{
    STARTUPINFOW startup = { .cb = sizeof startup };
    PROCESS_INFORMATION process;
    DWORD code = 0;
    if (!CreateProcessW(path, NULL, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process)) return -(word)GetLastError();
    WaitForSingleObject(process.hProcess, 10000);
    GetExitCodeProcess(process.hProcess, &code);
    return 0;
}

/* Names of programs among the processes that can be seen. */
static void processes(void)
{
    char path[64], name[64];
    printf("processes:");
    for (int id = 1; id < 70000; id++) {
        snprintf(path, sizeof path, "/proc/%d/comm", id);
        word file = linux_open(path, 0);
        if (file < 0) continue;
        word count = linux_call(READ, file, (word)name, sizeof name - 1, 0, 0);
        linux_call(CLOSE, file, 0, 0, 0, 0);
        if (count > 0) printf(" %.*s", (int)count - 1, name);
    }
    printf("\n");
}

static void windows_ways(void)
{
    answer("windows core_pattern", windows_open(L"\\\\?\\unix\\proc\\sys\\kernel\\core_pattern", GENERIC_WRITE));
    answer("windows core_pattern dot", windows_open(L"\\\\.\\unix\\proc\\sys\\kernel\\core_pattern", GENERIC_WRITE));
    answer("windows shadow", windows_open(L"\\\\?\\unix\\etc\\shadow", GENERIC_READ));
    answer("windows containerd", windows_open(L"\\\\?\\unix\\run\\containerd", GENERIC_READ));
    answer("windows wine", windows_open(L"\\\\?\\unix\\usr\\share\\wine\\wine.inf", GENERIC_WRITE));
    answer("windows z", windows_open(L"Z:\\", GENERIC_READ));
    answer("windows z device", windows_open(L"\\\\.\\Z:\\etc", GENERIC_READ));
}

static void linux_calls(void)
{
    answer("core_pattern", linux_write("/proc/sys/kernel/core_pattern", "|/tmp/x"));
    answer("kernel setting", linux_write("/proc/sys/vm/overcommit_memory", "1"));
    answer("sysrq", linux_write("/proc/sysrq-trigger", "h"));
    answer("oom score", linux_write("/proc/self/oom_score_adj", "-1000"));
    answer("kcore", linux_read("/proc/kcore"));
    answer("timer list", linux_read("/proc/timer_list"));
    answer("keys", linux_read("/proc/keys"));
    answer("shadow", linux_read("/etc/shadow"));
    answer("passwd write", open_and_close("/etc/passwd", O_WRONLY_));
    answer("wine write", open_and_close("/usr/share/wine/wine.inf", O_WRONLY_));
    answer("wine new", open_and_close("/usr/lib/wine/new", O_WRONLY_ | O_CREAT_));
    answer("porthole new", open_and_close("/.porthole/new", O_WRONLY_ | O_CREAT_));
    answer("root new", open_and_close("/new", O_WRONLY_ | O_CREAT_));
    answer("sys write", open_and_close("/sys/kernel/uevent_helper", O_WRONLY_ | O_CREAT_));
    answer("cgroup", open_and_close("/sys/fs/cgroup/pids/release_agent", O_WRONLY_));
    answer("disk", open_and_close("/dev/vda", 0));
    answer("memory", open_and_close("/dev/mem", 0));
    answer("fuse", open_and_close("/dev/fuse", 0));
    answer("mknod", linux_call(MKNOD, (word)"/tmp/disk", 060600, 0xfe00, 0, 0));
    answer("mount", linux_call(MOUNT, (word)"proc", (word)"/tmp", (word)"proc", 0, 0));
    answer("chroot", linux_call(CHROOT, (word)"/tmp", 0, 0, 0, 0));
    answer("unshare user", linux_call(UNSHARE, NEW_USER, 0, 0, 0, 0));
    answer("unshare mount", linux_call(UNSHARE, NEW_NS, 0, 0, 0, 0));
    answer("setns", linux_call(SETNS, 0, 0, 0, 0, 0));
    answer("setuid", linux_call(SETUID, 1, 0, 0, 0, 0));
    answer("add_key", linux_call(ADD_KEY, (word)"user", (word)"x", (word)"y", 1, -3));
    answer("keyctl", linux_call(KEYCTL, 0, -3, 0, 0, 0));
    answer("ptrace outside", linux_call(PTRACE, 16, 100000, 0, 0, 0));
    answer("kill outside", linux_call(KILL, 100000, 0, 0, 0, 0));
    answer("bpf", linux_call(BPF, 0, 0, 0, 0, 0));
    answer("perf", linux_call(PERF, 0, 0, -1, -1, 0));
    answer("module", linux_call(INIT_MODULE, 0, 0, 0, 0, 0));
    answer("file handle", linux_call(OPEN_BY_HANDLE, -100, 0, 0, 0, 0));
    answer("io_uring", linux_call(URING, 1, 0, 0, 0, 0));
    answer("memfd", linux_call(MEMFD, (word)"x", 0, 0, 0, 0));
    answer("vsock", linux_call(SOCKET_, 40, 1, 0, 0, 0));
    answer("alg", linux_call(SOCKET_, 38, 5, 0, 0, 0));
    answer("packet", linux_call(SOCKET_, 17, 3, 0, 0, 0));
    answer("execveat", linux_call(EXECVEAT, -100, (word)"", 0, 0, 0x1000));
}

/* Root's own files on a volume, that give who starts them root's rights: `file` is the pod's, in the folder `volume`. */
static void set_ids(const char *file, const char *volume)
{
    static const char rights[20] = { 1, 0, 0, 2, -1, -1, -1, -1 };
    struct { unsigned long long flags, mode, resolve; } how = { O_WRONLY_ | O_CREAT_, 04755, 0 };
    char made[512];
    word descriptor = linux_open(file, O_WRONLY_ | O_CREAT_);
    snprintf(made, sizeof made, "%s/made", volume);
    answer("volume file", descriptor);
    answer("set-id none", linux_call(CHMOD, (word)file, 0755, 0, 0, 0));
    answer("set-id chmod", linux_call(CHMOD, (word)file, 04755, 0, 0, 0));
    answer("set-id chmod group", linux_call(CHMOD, (word)file, 02755, 0, 0, 0));
    answer("set-id chmod both", linux_call(CHMOD, (word)file, 06755, 0, 0, 0));
    answer("set-id chmod wide", linux_call(CHMOD, (word)file, 0x100000000 | 04755, 0, 0, 0));
    answer("set-id fchmod", linux_call(FCHMOD, descriptor, 04755, 0, 0, 0));
    answer("set-id fchmodat", linux_call(FCHMODAT, -100, (word)file, 04755, 0, 0));
    answer("set-id fchmodat2", linux_call(FCHMODAT2, -100, (word)file, 04755, 0, 0));
    answer("set-id open", linux_call(OPEN, (word)made, O_WRONLY_ | O_CREAT_, 04755, 0, 0));
    answer("set-id openat", linux_call(OPENAT, -100, (word)made, O_WRONLY_ | O_CREAT_, 04755, 0));
    answer("set-id openat2", linux_call(OPENAT2, -100, (word)made, (word)&how, sizeof how, 0));
    answer("set-id creat", linux_call(CREAT, (word)made, 04755, 0, 0, 0));
    answer("file rights", linux_call(SETXATTR, (word)file, (word)"security.capability", (word)rights, sizeof rights, 0));
    linux_call(CLOSE, descriptor, 0, 0, 0, 0);
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    windows_ways();
    linux_calls();
    processes();
    /* `-elf UNIX-PATH WINDOWS-PATH`: a program of Linux that the pod brought; `-volume UNIX-PATH`: a volume; every further argument is a path of the machine. */
    for (int i = 1; i < count; i++) {
        WCHAR path[512];
        if (!strcmp(arguments[i], "-elf") && i + 2 < count) {
            MultiByteToWideChar(CP_UTF8, 0, arguments[i + 2], -1, path, 512);
            answer("elf by call", linux_start(arguments[i + 1]));
            linux_copy(arguments[i + 1], "/tmp/escaped");
            answer("elf in /tmp", linux_start("/tmp/escaped"));
            answer("elf by Windows", windows_start(path));
            i += 2;
            continue;
        }
        if (!strcmp(arguments[i], "-volume") && i + 1 < count) {
            char file[512];
            snprintf(file, sizeof file, "%s/file", arguments[i + 1]);
            set_ids(file, arguments[i + 1]);
            i++;
            continue;
        }
        printf("host %d ", i);
        answer("open", open_and_close(arguments[i], 0));
        printf("host %d ", i);
        answer("connect", linux_connect(arguments[i]));
    }
    return 0;
}
