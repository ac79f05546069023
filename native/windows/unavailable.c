/* Stands in for Windows programs that an emulated node does not have: says so and fails.
 * Wine has silent stubs for some of them that end with 0, so that a pod would look Completed. */
#include <windows.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    char path[MAX_PATH] = "program", *name = path;
    if (GetModuleFileNameA(NULL, path, MAX_PATH - 1)) {
        char *slash = strrchr(path, '\\');
        if (slash) name = slash + 1;
    }
    int powershell = !_strnicmp(name, "powershell", 10) || !_strnicmp(name, "pwsh", 4);
    fprintf(stderr,
            powershell ? "%s: this is an emulated Windows node: it has no PowerShell. Use cmd.exe or a program of the image, "
                         "or run the pod on a real Windows node.\n"
                       : "%s: this is an emulated Windows node: it has no such program. Run the pod on a real Windows node.\n",
            name);
    return 1;
}
