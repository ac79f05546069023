/* spoof: sends one packet that says it comes from somebody else; needs NET_RAW and nothing more.
 *   spoof ip SOURCE DESTINATION PORT TEXT          a UDP datagram by a raw IP socket
 *   spoof frame TO MAC SOURCE DESTINATION PORT TEXT   the same with hardware addresses, by a packet socket
 *   spoof arp MAC ADDRESS                          "ADDRESS is at MAC", to everybody
 *   spoof ip6                                      a UDP datagram to all nodes of the link */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned char packet[1500];

static unsigned short sum(const void *data, size_t length) {
  const unsigned char *bytes = data;
  unsigned long total = 0;
  for (size_t i = 0; i + 1 < length; i += 2) total += (unsigned long)(bytes[i] << 8 | bytes[i + 1]);
  while (total >> 16) total = (total & 0xffff) + (total >> 16);
  return htons((unsigned short)~total);
}

/* An IPv4 header and a datagram without a checksum, which IPv4 allows. */
static size_t datagram(unsigned char *at, const char *source, const char *destination, int port, const char *text) {
  struct iphdr *ip = (struct iphdr *)at;
  struct udphdr *udp = (struct udphdr *)(at + sizeof *ip);
  size_t length = sizeof *ip + sizeof *udp + strlen(text);
  ip->version = 4;
  ip->ihl = 5;
  ip->ttl = 64;
  ip->protocol = IPPROTO_UDP;
  ip->tot_len = htons((unsigned short)length);
  ip->saddr = inet_addr(source);
  ip->daddr = inet_addr(destination);
  ip->check = sum(ip, sizeof *ip);
  udp->uh_sport = htons(7777);
  udp->uh_dport = htons((unsigned short)port);
  udp->uh_ulen = htons((unsigned short)(sizeof *udp + strlen(text)));
  memcpy(udp + 1, text, strlen(text));
  return length;
}

static int hardware(const char *text, unsigned char *to) {
  return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", to, to + 1, to + 2, to + 3, to + 4, to + 5) == 6 ? 0 : -1;
}

static int send_frame(size_t length) {
  struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("eth0"), .sll_halen = 6};
  int fd = socket(AF_PACKET, SOCK_RAW, htons(0x0003));
  if (fd < 0) return -1;
  memcpy(to.sll_addr, packet, 6);
  return sendto(fd, packet, length, 0, (struct sockaddr *)&to, sizeof to) == (ssize_t)length ? 0 : -1;
}

static int raw_ip(char **args) {
  size_t length = datagram(packet, args[0], args[1], atoi(args[2]), args[3]);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {inet_addr(args[1])}};
  int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
  if (fd < 0) return -1;
  return sendto(fd, packet, length, 0, (struct sockaddr *)&to, sizeof to) == (ssize_t)length ? 0 : -1;
}

static int frame(char **args) {
  if (hardware(args[0], packet) || hardware(args[1], packet + 6)) return -1;
  packet[12] = 0x08;
  return send_frame(14 + datagram(packet + 14, args[2], args[3], atoi(args[4]), args[5]));
}

static int arp(char **args) {
  static const unsigned char head[] = {0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 2};
  in_addr_t address = inet_addr(args[1]);
  memset(packet, 0xff, 6);
  if (hardware(args[0], packet + 6)) return -1;
  memcpy(packet + 12, head, sizeof head);
  memcpy(packet + 22, packet + 6, 6);
  memcpy(packet + 28, &address, 4);
  memset(packet + 32, 0xff, 6);
  memcpy(packet + 38, &address, 4);
  return send_frame(60);
}

static int ip6(void) {
  struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_scope_id = if_nametoindex("eth0")};
  inet_pton(AF_INET6, "ff02::1", &to.sin6_addr);
  int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  if (fd < 0) return -1;
  return sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof to) == 1 ? 0 : -1;
}

int main(int count, char **args) {
  int failed = -2;
  if (count == 6 && !strcmp(args[1], "ip")) failed = raw_ip(args + 2);
  if (count == 8 && !strcmp(args[1], "frame")) failed = frame(args + 2);
  if (count == 4 && !strcmp(args[1], "arp")) failed = arp(args + 2);
  if (count == 2 && !strcmp(args[1], "ip6")) failed = ip6();
  if (failed == -1) perror(args[1]);
  puts(failed ? "not sent" : "sent");
  return failed ? 1 : 0;
}
