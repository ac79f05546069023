// What a person is told who ends a command by ^C: what was begun goes on without it, or waits for the same command.
import { livingSupervisor } from '../supervisor/supervise-cluster.ts';
import { type ClusterPaths, isClusterThere } from './cluster-state.ts';

/** As shells say it: 128 and the signal's number. */
const exitCode = 130;

type Begun = 'nothing' | 'record' | 'processes';

/** Pure. */
function interruptedText(name: string, begun: Begun): string {
  const remove = `porthole down --name ${name} takes it down`;
  if (begun === 'nothing') return `interrupted: nothing was made of cluster ${name}`;
  if (begun === 'record')
    return `interrupted: cluster ${name} is begun, and nothing of it runs; the same command goes on with it, ${remove}`;
  return `interrupted: the processes of cluster ${name} go on (porthole status --name ${name}); the same command waits for them, ${remove}`;
}

const begunOf = (paths: ClusterPaths): Begun =>
  !isClusterThere(paths) ? 'nothing' : livingSupervisor(paths.root) ? 'processes' : 'record';

/** Of an `up`. */
export const interruptedUp = (name: string, paths: ClusterPaths): string =>
  interruptedText(name, begunOf(paths));

/** Runs `body`; ^C meanwhile says what is left and ends this process. */
export async function sayWhenInterrupted<T>(
  say: (text: string) => void,
  textNow: () => string,
  body: () => Promise<T>,
): Promise<T> {
  const interrupted = (): void => {
    say(textNow());
    process.exit(exitCode);
  };
  process.once('SIGINT', interrupted);
  try {
    return await body();
  } finally {
    process.off('SIGINT', interrupted);
  }
}
