/* planter.exe link TARGET PATH: makes a link of Linux, past Wine. planter.exe stop-all FILE: stops every other process of its
 * container, again and again, and makes FILE (a path of Linux) when it has done so once. */
#define _WIN32_WINNT 0x0A00
#include <windows.h>
#include <stdio.h>
#include <string.h>

typedef long long word;
enum { OPEN = 2, NANOSLEEP = 35, KILL = 62, SYMLINK = 88 };
enum { CREATE_FOR_WRITING = 0101, SIGSTOP_ = 19 };

static word linux_call(word number, word a, word b, word c)
{
    word result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

int main(int count, char **arguments)
{
    if (count == 4 && !strcmp(arguments[1], "link")) {
        word result = linux_call(SYMLINK, (word)arguments[2], (word)arguments[3], 0);
        printf("link: %lld\n", result);
        return result < 0;
    }
    if (count != 3 || strcmp(arguments[1], "stop-all")) return 2;
    const word pause[2] = { 0, 20000000 };
    for (int stopped = 0;; linux_call(NANOSLEEP, (word)pause, 0, 0)) {
        word result = linux_call(KILL, -1, SIGSTOP_, 0);
        if (stopped++ == 0 && result == 0) linux_call(OPEN, (word)arguments[2], CREATE_FOR_WRITING, 0644);
    }
}
