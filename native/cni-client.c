/* The CNI plugin binary: hands its environment and stdin to the node agent's socket and prints the answer. The socket
 * is `porthole.sock` in the folder of the binary (a link is fine), so that no configuration needs to be read here. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

static int fail(const char *what) {
  const char *why = strerror(errno);
  printf("{\"cniVersion\":\"1.0.0\",\"code\":11,\"msg\":\"the node agent is not reachable\",\"details\":\"%s: %s\"}\n",
         what, why);
  return 1;
}

static int write_all(int fd, const char *data, size_t length) {
  while (length > 0) {
    ssize_t n = write(fd, data, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    data += n;
    length -= (size_t)n;
  }
  return 0;
}

/* Long paths do not fit into sockaddr_un: go to the folder and use a short name. */
static int go_home(void) {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return -1;
  path[n] = 0;
  char *slash = strrchr(path, '/');
  if (!slash) return -1;
  slash[slash == path] = 0;
  return chdir(path);
}

int main(void) {
  static char buffer[65536];
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "porthole.sock"};
  ssize_t n;
  if (go_home()) return fail("folder of the plugin");
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) return fail("connect");
  for (char **e = environ; *e; e++)
    if (!strncmp(*e, "CNI_", 4) && write_all(fd, *e, strlen(*e) + 1)) return fail("write");
  if (write_all(fd, "", 1)) return fail("write");
  while ((n = read(0, buffer, sizeof buffer)) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail("read of stdin");
    if (write_all(fd, buffer, (size_t)n)) return fail("write");
  }
  if (shutdown(fd, SHUT_WR)) return fail("shutdown");
  int status = -1; /* the first byte: 0 or 1 */
  while ((n = read(fd, buffer, sizeof buffer)) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    char *data = buffer;
    if (status < 0) {
      status = *data++ != '0';
      n--;
    }
    if (write_all(1, data, (size_t)n)) return 1;
  }
  if (status < 0) {
    errno = ECONNRESET;
    return fail("answer");
  }
  return status;
}
