/* pause: holds a pod's namespaces. Ends on SIGTERM and SIGINT, reaps whatever is given to it. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal) { (void)signal; _exit(0); }
static void reap(int signal)
{
    (void)signal;
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
}

int main(void)
{
    struct sigaction ending = { .sa_handler = end }, reaping = { .sa_handler = reap, .sa_flags = SA_NOCLDSTOP };
    sigaction(SIGTERM, &ending, NULL);
    sigaction(SIGINT, &ending, NULL);
    sigaction(SIGCHLD, &reaping, NULL);
    for (;;) pause();
}
