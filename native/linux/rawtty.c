/* rawtty PROGRAM [ARGUMENT…]: runs a program on a terminal that passes every key on, as a Windows console does.
 * Wine sets its terminal so only when a program first reads: what was typed before would arrive as lines of Unix. */
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    struct termios terminal;
    if (count < 2) return 2;
    if (tcgetattr(0, &terminal) == 0) {
        terminal.c_lflag &= ~(ECHO | ECHONL | ICANON | IEXTEN);
        terminal.c_iflag &= ~(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
        tcsetattr(0, TCSANOW, &terminal);
    }
    execv(arguments[1], arguments + 1);
    perror(arguments[1]);
    return 127;
}
