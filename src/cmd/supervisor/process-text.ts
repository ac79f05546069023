// What a person is told of a supervised process: pure.
import type { ProcessEnd, SupervisedState } from './supervision.ts';

const agoText = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min ago` : `${Math.round(minutes / 60)} h ago`;
};

const endText = ({ code, signal, cause, atMs, hung }: ProcessEnd, nowMs: number): string => {
  if (cause !== undefined) return `could not be started ${agoText(nowMs - atMs)}: ${cause}`;
  const how =
    hung === true
      ? 'killed because it did not answer'
      : signal !== undefined
        ? `killed by ${signal}`
        : code === undefined
          ? 'ended'
          : `ended with exit code ${code}`;
  return `${how} ${agoText(nowMs - atMs)}`;
};

/** `pid 12`, `pid 12, does not answer`, `pid 12, 3 restarts, last killed by SIGKILL 8 s ago`, `restarts in 4 s, …`; `alive` as the kernel says. */
export function processText(state: SupervisedState | undefined, alive: boolean, nowMs: number): string {
  const parts: string[] = [];
  if (state?.pid !== undefined && alive) {
    parts.push(`pid ${state.pid}`);
    // The first silence of a start means that it has not come so far.
    if (state.silent === true)
      parts.push(state.answered === true ? 'does not answer' : 'does not answer yet');
  } else if (state?.pausedBy !== undefined) parts.push(`stopped for ${state.pausedBy}`);
  else if (state?.nextStartMs !== undefined)
    parts.push(`restarts in ${Math.max(0, Math.ceil((state.nextStartMs - nowMs) / 1000))} s`);
  else parts.push('not running');
  if (!state || state.restarts === 0) return parts.join(', ');
  parts.push(`${state.restarts} ${state.restarts === 1 ? 'restart' : 'restarts'}`);
  if (state.lastEnd) parts.push(`last ${endText(state.lastEnd, nowMs)}`);
  return parts.join(', ');
}
