/* ping.exe with -t, -n, -l, -w, -i and -4: Wine's own knows no -t, with which many Windows pods keep themselves alive. */
#include <winsock2.h>
#include <ws2tcpip.h>
#include <iphlpapi.h>
#include <icmpapi.h>
#include <stdio.h>
#include <stdlib.h>

static volatile LONG stopped;
static BOOL WINAPI on_control(DWORD event)
{
    if (event == CTRL_BREAK_EVENT) return TRUE;
    stopped = 1;
    return event == CTRL_C_EVENT;
}

int main(int count, char **arguments)
{
    long echoes = 4, size = 32, wait = 4000, ttl = 128;
    BOOL forever = FALSE;
    const char *host = NULL;
    for (int i = 1; i < count; i++) {
        const char *argument = arguments[i];
        if (*argument != '-' && *argument != '/') { host = argument; continue; }
        char option = argument[1] | 32;
        if (option == 't') { forever = TRUE; continue; }
        if (argument[1] == '4') continue;
        if (!strchr("nlwi", option) || i + 1 >= count) { printf("Bad option %s.\n", argument); return 1; }
        long value = strtol(arguments[++i], NULL, 10);
        if (option == 'n') echoes = value; else if (option == 'l') size = value; else if (option == 'w') wait = value; else ttl = value;
    }
    if (echoes < 1 || size < 0 || size > 65500 || wait < 0 || ttl < 1 || ttl > 255) { printf("Bad value for option.\n"); return 1; }

    WSADATA data;
    struct addrinfo hint = { 0 }, *found;
    hint.ai_family = AF_INET;
    setvbuf(stdout, NULL, _IONBF, 0);
    WSAStartup(0x202, &data);
    if (!host || getaddrinfo(host, NULL, &hint, &found)) {
        printf("Ping request could not find host %s. Please check the name and try again.\n", host ? host : "");
        return 1;
    }
    struct in_addr address = ((struct sockaddr_in *)found->ai_addr)->sin_addr;
    printf("\nPinging %s [%s] with %ld bytes of data:\n", host, inet_ntoa(address), size);

    HANDLE icmp = IcmpCreateFile();
    char *payload = calloc(1, size + 1), *reply = malloc(size + 512);
    IP_OPTION_INFORMATION options = { (UCHAR)ttl, 0, 0, 0, NULL };
    long sent = 0, received = 0;
    SetConsoleCtrlHandler(on_control, TRUE);
    while (!stopped && (forever || sent < echoes)) {
        if (sent) Sleep(1000);
        DWORD replies = IcmpSendEcho(icmp, address.s_addr, payload, (WORD)size, &options, reply, size + 512, wait);
        ICMP_ECHO_REPLY *echo = (ICMP_ECHO_REPLY *)reply;
        sent++;
        if (!replies || echo->Status != IP_SUCCESS) { printf("Request timed out.\n"); continue; }
        received++;
        if (echo->RoundTripTime) printf("Reply from %s: bytes=%ld time=%lums TTL=%d\n", inet_ntoa(address), size, echo->RoundTripTime, echo->Options.Ttl);
        else printf("Reply from %s: bytes=%ld time<1ms TTL=%d\n", inet_ntoa(address), size, echo->Options.Ttl);
    }
    printf("\nPing statistics for %s:\n    Packets: Sent = %ld, Received = %ld, Lost = %ld (%ld%% loss),\n",
           inet_ntoa(address), sent, received, sent - received, sent ? (sent - received) * 100 / sent : 0);
    return received ? 0 : 1;
}
