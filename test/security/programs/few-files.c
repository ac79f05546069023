/* few-files ROOT FILES PROGRAM ARGUMENTS...: starts a program in another root, where it can have so many files open. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    if (count < 4) return 3;
    struct rlimit files = { strtoul(arguments[2], NULL, 10), strtoul(arguments[2], NULL, 10) };
    if (chroot(arguments[1]) || chdir("/") || setrlimit(RLIMIT_NOFILE, &files)) {
        perror(arguments[1]);
        return 3;
    }
    execv(arguments[3], arguments + 3);
    perror(arguments[3]);
    return 3;
}
