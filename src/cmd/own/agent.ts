// `porthole agent` as a script of its own, which is all that its process reads.
import { agentCommand } from '../commands/agent.ts';
import { runOwnCommand } from '../own-command-line.ts';

runOwnCommand(process.argv, agentCommand());
