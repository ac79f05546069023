/* ctrl.exe EVENT: deliver a console control event to every program of the container, as CSRSS does on Windows:
 * by a thread that runs kernelbase!CtrlRoutine in each process. 6 is CTRL_SHUTDOWN_EVENT. */
#include <windows.h>
#include <tlhelp32.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const not_programs[] = {
    "services.exe", "winedevice.exe", "plugplay.exe", "svchost.exe", "explorer.exe", "rpcss.exe",
    "conhost.exe",  "wineboot.exe",   "start.exe",    "pinit.exe",   "ctrl.exe",     "tabtip.exe",
};

static BOOL is_program(const PROCESSENTRY32 *entry)
{
    if (entry->th32ProcessID == GetCurrentProcessId()) return FALSE;
    for (size_t i = 0; i < sizeof not_programs / sizeof *not_programs; i++)
        if (!lstrcmpiA(not_programs[i], entry->szExeFile)) return FALSE;
    return TRUE;
}

static LPTHREAD_START_ROUTINE routine;

struct outcome {
    int delivered, failed;
};

static struct outcome deliver(DWORD event)
{
    struct outcome outcome = { 0, 0 };
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    PROCESSENTRY32 entry = { .dwSize = sizeof entry };
    for (BOOL more = Process32First(snapshot, &entry); more; more = Process32Next(snapshot, &entry)) {
        if (!is_program(&entry)) continue;
        HANDLE process = OpenProcess(PROCESS_ALL_ACCESS, FALSE, entry.th32ProcessID);
        HANDLE thread = process ? CreateRemoteThread(process, NULL, 0, routine, (void *)(ULONG_PTR)event, 0, NULL) : NULL;
        if (thread) outcome.delivered++;
        else outcome.failed++;
        if (process) CloseHandle(process);
        if (thread) CloseHandle(thread);
    }
    CloseHandle(snapshot);
    return outcome;
}

int main(int count, char **arguments)
{
    DWORD event = count > 1 ? strtoul(arguments[1], NULL, 10) : CTRL_SHUTDOWN_EVENT;
    routine = (LPTHREAD_START_ROUTINE)(void *)GetProcAddress(GetModuleHandleA("kernelbase"), "CtrlRoutine");
    if (!routine) {
        fprintf(stderr, "ctrl: kernelbase has no CtrlRoutine\n");
        return 2;
    }
    /* A container that was started a moment ago may have no program yet. */
    for (int attempt = 0; attempt < 100; attempt++) {
        struct outcome outcome = deliver(event);
        if (outcome.delivered) return 0;
        if (outcome.failed) break;
        Sleep(20);
    }
    fprintf(stderr, "ctrl: event %lu was given to no program\n", event);
    return 1;
}
