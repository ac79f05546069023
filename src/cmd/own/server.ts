// `porthole server` as a script of its own, which is all that its process reads.
import { serverCommand } from '../commands/server.ts';
import { runOwnCommand } from '../own-command-line.ts';

runOwnCommand(process.argv, serverCommand());
