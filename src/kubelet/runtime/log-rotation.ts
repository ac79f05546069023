// Keeps container logs small: a log over its size is set aside, and only the newest few are kept.
import type { Clock } from '../../base/clock.ts';
import { rfc3339 } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Files } from '../../os/files.ts';
import type { RuntimeService } from '../../rpc-api/cri.ts';
import type { ObservedContainer } from '../observed-pod.ts';
import { runEvery } from '../run-every.ts';

export interface LogRotationDeps {
  readonly files: Files;
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly log: Logger;
  readonly running: () => readonly ObservedContainer[];
}

/** Upstream's defaults: containerLogMaxSize, containerLogMaxFiles, containerLogMonitorInterval. */
const maxBytes = 10 << 20;
const maxFiles = 5;
const everyMs = 10_000;

/** The files that a log had before, oldest first: `0.log.20260101-101500`. */
function rotatedLogs(names: readonly string[], log: string): string[] {
  return names.filter((n) => n.startsWith(`${log}.`) && /^\d{8}-\d{6}$/.test(n.slice(log.length + 1))).sort();
}

export async function rotateLog(
  deps: Pick<LogRotationDeps, 'files' | 'runtime' | 'clock'>,
  container: ObservedContainer,
): Promise<boolean> {
  const path = container.logPath;
  const info = path === '' ? undefined : await deps.files.lstat(path);
  if (info?.kind !== 'file' || info.sizeBytes < maxBytes) return false;
  const slash = path.lastIndexOf('/');
  const [folder, name] = [path.slice(0, slash), path.slice(slash + 1)];
  const old = rotatedLogs(await deps.files.list(folder), name);
  // The one that is about to be set aside and the new one count too.
  for (const each of old.slice(0, Math.max(old.length - (maxFiles - 2), 0))) {
    await deps.files.remove(`${folder}/${each}`);
  }
  const stamp = rfc3339(deps.clock.now()).replace(/[-:Z]/g, '').replace('T', '-');
  const aside = `${path}.${stamp}`;
  await deps.files.rename(path, aside);
  try {
    await deps.runtime.reopenContainerLog(container.id);
  } catch (error) {
    // The runtime still writes to the old file: it gets its name back.
    await deps.files.rename(aside, path);
    throw error;
  }
  return true;
}

/** Returns the function that ends it. */
export function startLogRotation(deps: LogRotationDeps): () => Promise<void> {
  return runEvery(deps.clock, everyMs, async () => {
    for (const container of deps.running()) {
      try {
        await rotateLog(deps, container);
      } catch (error) {
        deps.log.warn({ error, path: container.logPath }, 'a log was not rotated');
      }
    }
  });
}
