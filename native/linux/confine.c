/* confine PROGRAM ARGUMENTS...: the first process of a Windows container. Linux programs are started from Wine's folders only:
 * none that the pod has brought. Where the kernel has no Landlock, the program starts without that wall; whatever else fails,
 * it does not start. PORTHOLE_CWD names its working folder: a way of the pod's, which runc would go with rights of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, EXECUTE = 1, BENEATH = 1 };
struct ruleset { uint64_t files; };
struct __attribute__((packed)) rule { uint64_t allowed; int32_t folder; };

static const char *const folders[] = { "/usr", "/.porthole" };

int main(int count, char **arguments)
{
    struct ruleset handled = { EXECUTE };
    if (count < 2) return 2;
    int rules = syscall(CREATE_RULESET, &handled, sizeof handled, 0);
    if (rules < 0 && errno != ENOSYS && errno != EOPNOTSUPP) goto refused;
    if (rules >= 0) {
        for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
            struct rule rule = { EXECUTE, open(folders[i], O_PATH | O_CLOEXEC) };
            if (rule.folder < 0 || syscall(ADD_RULE, rules, BENEATH, &rule, 0)) goto refused;
            close(rule.folder);
        }
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(RESTRICT_SELF, rules, 0)) goto refused;
        close(rules);
    }
    const char *folder = getenv("PORTHOLE_CWD");
    if (folder && chdir(folder)) {
        perror(folder);
        return 127;
    }
    unsetenv("PORTHOLE_CWD");
    execv(arguments[1], arguments + 1);
refused:
    perror(arguments[1]);
    return 127;
}
