// The command that starts this command line again as a long-running process of a cluster.
import { selfArguments } from '../setup/package-root.ts';

/** `netnsPath`: the network namespace to run in. */
export function selfCommand(args: readonly string[], netnsPath: string | undefined): string[] {
  const command = [process.execPath, ...selfArguments(), ...args];
  return netnsPath === undefined ? command : ['nsenter', `--net=${netnsPath}`, '--', ...command];
}
