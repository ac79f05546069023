/* Ends in its own time when its container is stopped: says goodbye in its log and in the file that it is given. */
#include <windows.h>
#include <stdio.h>

static const char *file;

static BOOL WINAPI handle(DWORD event)
{
    printf("event %lu\n", event);
    fflush(stdout);
    Sleep(700); /* work that must be finished */
    FILE *out = fopen(file, "w");
    if (out) {
        fprintf(out, "goodbye after event %lu\n", event);
        fclose(out);
    }
    printf("goodbye\n");
    fflush(stdout);
    ExitProcess(21);
}

int main(int count, char **arguments)
{
    if (count != 2) return 2;
    file = arguments[1];
    SetConsoleCtrlHandler(handle, TRUE);
    printf("ready\n");
    fflush(stdout);
    Sleep(INFINITE);
    return 0;
}
