/* udp-echo PORT: sends each packet back behind "linux:". udp-echo HOST PORT TEXT: sends a text until it is answered. */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <netinet/in.h>

static int serve(int socket_, int port)
{
    struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(port) }, peer;
    char packet[2048] = "linux:";
    if (bind(socket_, (struct sockaddr *)&own, sizeof own)) return 1;
    for (;;) {
        socklen_t size = sizeof peer;
        ssize_t length = recvfrom(socket_, packet + 6, sizeof packet - 6, 0, (struct sockaddr *)&peer, &size);
        if (length >= 0) sendto(socket_, packet, 6 + length, 0, (struct sockaddr *)&peer, size);
    }
}

static int ask(int socket_, char **arguments)
{
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM }, *found;
    struct timeval patience = { .tv_usec = 300000 };
    char packet[2048];
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (int attempt = 0; attempt < 30; attempt++) {
        if (getaddrinfo(arguments[1], arguments[2], &hints, &found)) continue;
        sendto(socket_, arguments[3], strlen(arguments[3]), 0, found->ai_addr, found->ai_addrlen);
        freeaddrinfo(found);
        ssize_t length = recv(socket_, packet, sizeof packet, 0);
        if (length < 0) continue;
        printf("%.*s\n", (int)length, packet);
        return 0;
    }
    return 1;
}

int main(int count, char **arguments)
{
    int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
    if (count == 2) return serve(socket_, atoi(arguments[1]));
    return count == 4 ? ask(socket_, arguments) : 2;
}
