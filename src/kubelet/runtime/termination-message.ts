// What a container left to say when it ended: its message file, or the end of its log.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { parseLogLine } from '../cri-log-line.ts';
import type { ObservedContainer } from '../observed-pod.ts';
import { findContainer, podUid } from '../pod-format.ts';
import type { PodStorage } from '../pod-storage.ts';

const logTailLines = 80;
const logTailBytes = 2048;
/** A record of the log holds up to 16 KiB of text; before it there may be short ones with a head each. */
const readBytes = 32 << 10;

/** What the last lines of a log in the CRI's format say; a line that was not ended is not ended here. */
export function logText(tail: Buffer): string {
  const texts: Buffer[] = [];
  for (let start = 0, end = tail.indexOf(0x0a); end >= 0; start = end + 1, end = tail.indexOf(0x0a, start)) {
    const line = parseLogLine(tail.subarray(start, end));
    if (line) texts.push(line.partial ? line.text : tail.subarray(end - line.text.length, end + 1));
  }
  const text = Buffer.concat(texts.slice(-logTailLines)).subarray(-logTailBytes);
  // Cut in the middle of a character, it begins with the next one.
  let from = 0;
  while (from < 3 && ((text[from] ?? 0) & 0xc0) === 0x80) from++;
  return text.toString('utf8', from);
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
  const tail = await storage.readLogTail(container.logPath, readBytes);
  const text = tail ? logText(tail) : '';
  return text === '' ? undefined : text;
}
