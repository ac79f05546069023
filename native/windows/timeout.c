/* timeout.exe [/t] SECONDS [/nobreak], which Wine lacks. Like the real one it refuses to run without a console. */
#include <windows.h>
#include <conio.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
    long seconds = -2;
    BOOL no_break = FALSE;
    DWORD mode;
    for (int i = 1; i < count; i++) {
        const char *argument = arguments[i];
        char *end;
        if ((*argument == '/' || (*argument == '-' && (argument[1] < '0' || argument[1] > '9')))) {
            if (!lstrcmpiA(argument + 1, "nobreak")) no_break = TRUE;
            else if (lstrcmpiA(argument + 1, "t")) goto usage;
            continue;
        }
        seconds = strtol(argument, &end, 10);
        if (*end) goto usage;
    }
    if (seconds < -1 || seconds > 99999) {
usage:
        fprintf(stderr, "ERROR: Invalid syntax.\nUsage: TIMEOUT [/T] timeout [/NOBREAK]\n");
        return 1;
    }
    if (!GetConsoleMode(GetStdHandle(STD_INPUT_HANDLE), &mode)) {
        fprintf(stderr, "ERROR: Input redirection is not supported, exiting the process immediately.\n");
        return 1;
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    for (long left = seconds; seconds < 0 || left > 0; left--) {
        printf(no_break ? "\rWaiting for %ld seconds, press CTRL+C to quit ..." : "\rWaiting for %ld seconds, press a key to continue ...", left);
        for (int tick = 0; tick < 10; tick++) {
            if (!no_break && _kbhit()) { _getch(); printf("\n"); return 0; }
            Sleep(100);
        }
    }
    printf("\n");
    return 0;
}
