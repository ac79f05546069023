// What a person is told who ends a command by ^C: what was begun goes on without it, or waits for the same command.
import { livingSupervisor } from '../supervisor/supervise-cluster.ts';
import { isPrepared, removeSupervision } from '../supervisor/supervision.ts';
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

function begunOf(paths: ClusterPaths): Begun {
  if (!isClusterThere(paths)) return 'nothing';
  return livingSupervisor(paths.root) && !isPrepared(paths.root) ? 'processes' : 'record';
}

/** Of an `up`. A supervisor that has no work yet finds that it is to have none, and ends. */
export function interruptedUp(name: string, paths: ClusterPaths): string {
  const text = interruptedText(name, begunOf(paths));
  if (isPrepared(paths.root)) removeSupervision(paths.root);
  return text;
}

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
