/* pinit.exe PROGRAM ARGUMENTS...: the first Windows process of an emulated container.
 *
 * Linux pipes that Wine is handed as stdio are no Windows pipes (node.exe: EBADF), so the program gets real ones and this
 * process pumps. It also gives the program the environment that the pod asked for and nothing of Wine's own, reports the
 * full 32-bit exit code, and says in one line why a program could not be started. */
#define _WIN32_WINNT 0x0A00
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct pump {
    HANDLE from, to;
    volatile LONG writing;
    /* The other end of `to`, when its reader must get one line at a time. */
    HANDLE paced;
};

/* Wine's cmd.exe takes all that a pipe holds, runs the first line and forgets the rest. */
static DWORD next_piece(struct pump *pump, const char *at, DWORD count)
{
    if (!pump->paced) return count;
    for (DWORD available = 1; available;) {
        if (!PeekNamedPipe(pump->paced, NULL, 0, NULL, &available, NULL)) break;
        if (available) Sleep(2);
    }
    const char *end = memchr(at, '\n', count);
    return end ? (DWORD)(end - at) + 1 : count;
}

static DWORD WINAPI pump_thread(void *argument)
{
    struct pump *pump = argument;
    char buffer[65536];
    DWORD count, written;

    while (ReadFile(pump->from, buffer, sizeof buffer, &count, NULL) && count) {
        char *at = buffer;
        InterlockedExchange(&pump->writing, 1);
        while (count) {
            DWORD piece = next_piece(pump, at, count);
            if (!WriteFile(pump->to, at, piece, &written, NULL) || !written) goto done;
            at += written;
            count -= written;
        }
        InterlockedExchange(&pump->writing, 0);
    }
done:
    InterlockedExchange(&pump->writing, 0);
    CloseHandle(pump->to);
    return 0;
}

/* Control events are for the program, not for its keeper. */
static BOOL WINAPI ignore_control(DWORD event)
{
    (void)event;
    return TRUE;
}

static BOOL is_pipe(HANDLE handle)
{
    return handle && handle != INVALID_HANDLE_VALUE && (GetFileType(handle) & 0xf) == FILE_TYPE_PIPE;
}

/* What follows our own name on the command line, exactly as it was quoted. */
static WCHAR *rest_of_command_line(void)
{
    WCHAR *at = GetCommandLineW();
    if (*at == '"') {
        for (at++; *at && *at != '"'; at++) {}
        if (*at) at++;
    } else {
        while (*at && *at != ' ') at++;
    }
    while (*at == ' ') at++;
    return at;
}

static BOOL starts_with(const WCHAR *text, const WCHAR *prefix)
{
    return _wcsnicmp(text, prefix, wcslen(prefix)) == 0;
}

#define OWN L"PORTHOLE_ENV_"

/* The pod's variables arrive as PORTHOLE_ENV_name, because Wine keeps PATH, HOME, TEMP and others for itself. */
static void set_environment(void)
{
    static const WCHAR *unwanted[] = { L"WINE", L"LANG=", L"LC_", L"USER=", L"PORTHOLE_", L"UNIX_", L"PWD=", L"OLDPWD=", L"SHLVL=" };
    WCHAR *block = GetEnvironmentStringsW();
    size_t size = 0, i;
    for (WCHAR *at = block; *at; at += wcslen(at) + 1) size += wcslen(at) + 1;
    WCHAR *copy = malloc((size + 1) * sizeof(WCHAR));
    memcpy(copy, block, (size + 1) * sizeof(WCHAR));
    FreeEnvironmentStringsW(block);

    for (WCHAR *at = copy, *next; *at; at = next) {
        next = at + wcslen(at) + 1;
        for (i = 0; i < sizeof unwanted / sizeof *unwanted; i++) {
            if (!starts_with(at, unwanted[i]) || starts_with(at, OWN)) continue;
            WCHAR *equals = wcschr(at + 1, '=');
            if (!equals) break;
            *equals = 0;
            SetEnvironmentVariableW(at, NULL);
            *equals = '=';
            break;
        }
    }
    for (WCHAR *at = copy; *at; at += wcslen(at) + 1) {
        if (!starts_with(at, OWN)) continue;
        WCHAR *equals = wcschr(at + wcslen(OWN) + 1, '=');
        if (!equals) continue;
        *equals = 0;
        SetEnvironmentVariableW(at, NULL);
        SetEnvironmentVariableW(at + wcslen(OWN), equals + 1);
    }
    free(copy);
}

/* Wine reads TEMP from the registry before it knows the user's profile. */
static void set_temp(void)
{
    WCHAR profile[MAX_PATH], temp[MAX_PATH + 32];
    if (!GetEnvironmentVariableW(L"USERPROFILE", profile, MAX_PATH)) return;
    _snwprintf(temp, MAX_PATH + 31, L"%ls\\AppData\\Local\\Temp", profile);
    temp[MAX_PATH + 31] = 0;
    SetEnvironmentVariableW(L"TEMP", temp);
    SetEnvironmentVariableW(L"TMP", temp);
}

static BOOL is_command_shell(const WCHAR *command)
{
    WCHAR name[MAX_PATH];
    BOOL quoted = *command == '"';
    size_t length = wcscspn(command + quoted, quoted ? L"\"" : L" ");
    const WCHAR *start = command + quoted, *end = start + length;
    for (const WCHAR *at = start; at < end; at++) if (*at == '\\' || *at == '/') start = at + 1;
    length = end - start;
    if (length >= MAX_PATH) return FALSE;
    memcpy(name, start, length * sizeof(WCHAR));
    name[length] = 0;
    return !_wcsicmp(name, L"cmd") || !_wcsicmp(name, L"cmd.exe");
}

static void say(const WCHAR *text)
{
    char utf8[4096];
    DWORD written;
    int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, utf8, sizeof utf8 - 1, NULL, NULL);
    if (length > 1) WriteFile(GetStdHandle(STD_ERROR_HANDLE), utf8, length - 1, &written, NULL);
}

static void report_exit_code(const WCHAR *file, DWORD code)
{
    if (!*file) return;
    HANDLE handle = CreateFileW(file, GENERIC_WRITE, FILE_SHARE_READ, NULL, TRUNCATE_EXISTING, 0, NULL);
    if (handle == INVALID_HANDLE_VALUE) return;
    char text[32];
    DWORD written;
    int length = snprintf(text, sizeof text, "%lu\n", code);
    WriteFile(handle, text, length, &written, NULL);
    CloseHandle(handle);
}

/* As the Linux shells number them: not found 127, found but not a program 126. */
static DWORD cannot_start(const WCHAR *command, DWORD error)
{
    WCHAR reason[512] = L"", text[2048];
    FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, error, 0, reason, 511, NULL);
    for (WCHAR *at = reason; *at; at++) if (*at == '\r' || *at == '\n') *at = ' ';
    _snwprintf(text, 2047, L"container: CreateProcess failed for %.1024ls: 0x%lx %ls\n", command, error, reason);
    text[2047] = 0;
    say(text);
    return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND ? 127 : 126;
}

static BOOL start(WCHAR *command, STARTUPINFOW *startup, PROCESS_INFORMATION *process)
{
    size_t length = wcslen(command);
    WCHAR *copy = malloc((length + 1) * sizeof(WCHAR));
    wcscpy(copy, command);
    if (CreateProcessW(NULL, copy, NULL, NULL, TRUE, 0, NULL, NULL, startup, process)) return TRUE;
    DWORD error = GetLastError();
    /* An image with ArgsEscaped holds its whole command line in one argument. */
    if (error == ERROR_FILE_NOT_FOUND && length > 2 && command[0] == '"' && wcschr(command + 1, '"') == command + length - 1) {
        wcscpy(copy, command + 1);
        copy[length - 2] = 0;
        if (CreateProcessW(NULL, copy, NULL, NULL, TRUE, 0, NULL, NULL, startup, process)) return TRUE;
    }
    SetLastError(error);
    return FALSE;
}

/* What the program left in its pipes is still written; a grandchild that keeps a pipe open holds nobody up. */
static void drain(struct pump **pumps, HANDLE *threads)
{
    for (int i = 1; i < 3; i++) {
        if (!threads[i]) continue;
        for (int idle = 0; idle < 4;) {
            DWORD available = 0;
            if (WaitForSingleObject(threads[i], 50) == WAIT_OBJECT_0) break;
            BOOL open = PeekNamedPipe(pumps[i]->from, NULL, 0, NULL, &available, NULL);
            if (!open) break;
            idle = available || pumps[i]->writing ? 0 : idle + 1;
        }
    }
}

int main(void)
{
    WCHAR *command = rest_of_command_line(), exit_file[512] = L"";
    STARTUPINFOW startup = { .cb = sizeof startup };
    PROCESS_INFORMATION process;
    SECURITY_ATTRIBUTES inheritable = { sizeof inheritable, NULL, TRUE };
    HANDLE given[3], ours[3] = { 0 }, theirs[3], threads[3] = { 0 };
    struct pump *pumps[3] = { 0 };
    DWORD code = 1;

    SetConsoleCtrlHandler(ignore_control, TRUE);
    GetEnvironmentVariableW(L"PORTHOLE_EXIT", exit_file, 512);
    set_temp();
    set_environment();

    given[0] = GetStdHandle(STD_INPUT_HANDLE);
    given[1] = GetStdHandle(STD_OUTPUT_HANDLE);
    given[2] = GetStdHandle(STD_ERROR_HANDLE);
    for (int i = 0; i < 3; i++) {
        HANDLE read, write;
        theirs[i] = given[i];
        if (!is_pipe(given[i]) || !CreatePipe(&read, &write, &inheritable, 65536)) continue;
        pumps[i] = calloc(1, sizeof *pumps[i]);
        pumps[i]->from = i == 0 ? given[i] : read;
        pumps[i]->to = i == 0 ? write : given[i];
        theirs[i] = i == 0 ? read : write;
        ours[i] = i == 0 ? write : read;
        if (i == 0 && is_command_shell(command))
            DuplicateHandle(GetCurrentProcess(), read, GetCurrentProcess(), &pumps[i]->paced, 0, FALSE, DUPLICATE_SAME_ACCESS);
        SetHandleInformation(ours[i], HANDLE_FLAG_INHERIT, 0);
        SetHandleInformation(given[i], HANDLE_FLAG_INHERIT, 0);
    }
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = theirs[0];
    startup.hStdOutput = theirs[1];
    startup.hStdError = theirs[2];

    if (!*command || !start(command, &startup, &process)) {
        code = cannot_start(command, *command ? GetLastError() : ERROR_FILE_NOT_FOUND);
        report_exit_code(exit_file, code);
        ExitProcess(code);
    }
    for (int i = 0; i < 3; i++) {
        if (!pumps[i]) continue;
        CloseHandle(theirs[i]);
        threads[i] = CreateThread(NULL, 0, pump_thread, pumps[i], 0, NULL);
    }
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &code);
    drain(pumps, threads);
    report_exit_code(exit_file, code);
    ExitProcess(code);
}
