// What a container left to say when it ended: its message file, or the end of its log.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { ObservedContainer } from '../observed-pod.ts';
import { findContainer, podUid } from '../pod-format.ts';
import type { PodStorage } from '../pod-storage.ts';

const logTailLines = 80;
const logTailBytes = 2048;

/** The text of CRI log lines: `time stream tag text`. */
export function logText(lines: string): string {
  return lines
    .split('\n')
    .map((line) => /^\S+ (?:stdout|stderr) [PF]\S* ?(.*)$/s.exec(line)?.[1])
    .filter((text) => text !== undefined)
    .slice(-logTailLines)
    .map((text) => `${text}\n`)
    .join('');
}

export async function terminationMessage(
  storage: PodStorage,
  pod: Pod,
  container: ObservedContainer,
): Promise<string | undefined> {
  const spec = findContainer(pod, container.name);
  if (!spec) return undefined;
  const written = await storage.readTerminationLog(podUid(pod), container.name, container.restartCount);
  if (written !== undefined && written !== '') return written;
  if (spec.terminationMessagePolicy !== 'FallbackToLogsOnError' || container.exitCode === 0) return undefined;
  const tail = await storage.readLogTail(container.logPath, 4 * logTailBytes);
  const text = logText(tail?.toString('utf8') ?? '');
  return text === '' ? undefined : text.slice(-logTailBytes);
}
