/* ws2_32.dll: Windows' socket library in front of Wine's, to which every other function is forwarded by the linker.
 * Wine refuses SIO_UDP_NETRESET, which Go programs (from 1.24 on) take for a broken socket: here it succeeds, as on Windows. */
#include <winsock2.h>
#include <windows.h>

#define UDP_CONNRESET 0x9800000CUL
#define UDP_NETRESET 0x9800000FUL

typedef int(WSAAPI *ioctl_function)(SOCKET, DWORD, void *, DWORD, void *, DWORD, DWORD *, OVERLAPPED *, LPWSAOVERLAPPED_COMPLETION_ROUTINE);
typedef int(WSAAPI *option_function)(SOCKET, int, int, char *, int *);

static FARPROC in_wine(const char *name)
{
    return GetProcAddress(LoadLibraryA("ws2_wine.dll"), name);
}

int WSAAPI own_WSAIoctl(SOCKET s, DWORD code, void *in, DWORD in_size, void *out, DWORD out_size, DWORD *returned,
                         OVERLAPPED *overlapped, LPWSAOVERLAPPED_COMPLETION_ROUTINE completion)
{
    static ioctl_function ioctl;
    static option_function option;
    if (!ioctl) {
        option = (option_function)(void *)in_wine("getsockopt");
        ioctl = (ioctl_function)(void *)in_wine("WSAIoctl");
    }
    if ((code == UDP_NETRESET || code == UDP_CONNRESET) && !overlapped && !completion) {
        int type = 0, size = sizeof type;
        if (option(s, SOL_SOCKET, SO_TYPE, (char *)&type, &size)) return SOCKET_ERROR;
        if (type == SOCK_DGRAM) {
            if (returned) *returned = 0;
            return 0;
        }
    }
    return ioctl(s, code, in, in_size, out, out_size, returned, overlapped, completion);
}
