/* What a Go program does with a UDP socket on Windows: both controls must succeed, then a packet goes to itself and back. */
#include <winsock2.h>
#include <stdio.h>

int main(void)
{
    WSADATA data;
    DWORD off = 0, returned = 0;
    struct sockaddr_in address = { .sin_family = AF_INET };
    int length = sizeof address;
    char text[8] = "";

    WSAStartup(0x202, &data);
    SOCKET s = socket(AF_INET, SOCK_DGRAM, 0);
    printf("connreset %d\n", WSAIoctl(s, 0x9800000C, &off, sizeof off, NULL, 0, &returned, NULL, NULL));
    printf("netreset %d\n", WSAIoctl(s, 0x9800000F, &off, sizeof off, NULL, 0, &returned, NULL, NULL));
    printf("no socket %d\n", WSAIoctl(INVALID_SOCKET, 0x9800000F, &off, sizeof off, NULL, 0, &returned, NULL, NULL));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(s, (struct sockaddr *)&address, length);
    getsockname(s, (struct sockaddr *)&address, &length);
    sendto(s, "packet", 6, 0, (struct sockaddr *)&address, length);
    recv(s, text, sizeof text - 1, 0);
    printf("%s\n", text);
    return 0;
}
