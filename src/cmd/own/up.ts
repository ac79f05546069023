// `porthole up` as a script of its own, which is all that its process reads.
import { upCommand } from '../commands/up.ts';
import { runOwnCommand } from '../own-command-line.ts';

runOwnCommand(process.argv, upCommand());
