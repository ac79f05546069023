/* swap: exchanges two names of a folder without an end: `swap FOLDER A B`. What a pod can do to its own volume. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **args) {
  if (count != 4 || chdir(args[1])) return 2;
  for (unsigned long turns = 0;; turns++) {
    if (syscall(SYS_renameat2, AT_FDCWD, args[2], AT_FDCWD, args[3], 2 /* RENAME_EXCHANGE */)) return 1;
    if (turns == 0) {
      puts("swapping");
      fflush(stdout);
    }
    usleep(rand() % 2000);
  }
}
