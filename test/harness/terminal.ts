// A command on a terminal of its own, typed into as somebody would: what comes next is typed when the screen shows its cue.
import { once } from 'node:events';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';

export interface Typed {
  /** What the screen must show, after the last cue, before it is typed. */
  readonly cue: RegExp;
  readonly keys: string;
}

export interface TerminalOptions {
  readonly env: Readonly<Record<string, string>>;
  /** Default 30,000. */
  readonly timeoutMs?: number;
}

/** Runs to the end of the command; returns all that the screen got. The words of the command have no blanks. */
export async function onTerminal(
  command: readonly string[],
  steps: readonly Typed[],
  options: TerminalOptions,
): Promise<string> {
  // socat drops what the terminal still holds when the command ends: on a loaded machine all that it said.
  const child = linuxProcesses.spawn('script', ['-qefc', command.join(' '), '/dev/null'], {
    env: options.env,
  });
  let screen = '';
  let seen = 0;
  let next = 0;
  child.stdout!.on('data', (data: Buffer) => {
    screen += data.toString();
    for (let step = steps[next]; step; step = steps[++next]) {
      const match = step.cue.exec(screen.slice(seen));
      if (!match) return;
      seen += match.index + match[0].length;
      child.stdin!.write(step.keys);
    }
  });
  child.stdin!.on('error', () => undefined); // the command may end first
  const limit = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 30_000);
  const ended = once(child.stdout!, 'end');
  await child.exited;
  await ended;
  clearTimeout(limit);
  if (next < steps.length) throw new Error(`never saw ${steps[next]!.cue} on ${JSON.stringify(screen)}`);
  return screen;
}
