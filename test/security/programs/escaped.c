/* A program of Linux that a Windows pod tries to start: says so if it runs, and ends with 42. */
#include <unistd.h>

int main(void)
{
    static const char text[] = "a Linux program runs\n";
    (void)!write(1, text, sizeof text - 1);
    return 42;
}
