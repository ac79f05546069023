// Starts a control plane over memory with the flags that another is to have, and ends it: what it would refuse is told before that one is made.
import { constants } from 'node:fs';
import { access, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { silentLogger } from '../component-base/logger.ts';
import { createMetrics } from '../component-base/metrics.ts';
import { systemClock } from '../component-base/system-clock.ts';
import { systemRandom } from '../component-base/system-random.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import type { AuditFlags } from './audit-options.ts';
import { openAuditLog } from './compose/audit-log.ts';
import { startServer } from './compose/compose-server.ts';
import { schedulerConfigurationOf } from './scheduler-options.ts';
import type { ServerFlags } from './server-options.ts';
import { settingsOf } from './server-settings.ts';
import { serverWorkers } from './setup/package-root.ts';

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Whether it can be written, or made with its folders: nothing is made yet. */
async function checkLogFile(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  if (found?.isDirectory()) throw new Error(`--audit-log-path ${path} is a folder`);
  if (found !== undefined) return access(path, constants.W_OK);
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    try {
      return await access(folder, constants.W_OK | constants.X_OK);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}

async function tryAudit(flags: AuditFlags): Promise<void> {
  const log = silentLogger;
  // What is tried leaves no events.
  const others = { ...flags, log: undefined };
  const audit = await openAuditLog(others, {
    clock: systemClock,
    random: systemRandom,
    log,
    metrics: createMetrics(),
  });
  await audit?.backend.close();
  if (flags.log !== undefined && flags.log.path !== '-') await checkLogFile(flags.log.path);
}

const loopback = '127.0.0.1';

/** Throws what the server would end with. It listens on the loopback address alone: the advertised one need not be there yet. */
export async function tryServer(flags: ServerFlags, advertiseAddress: string = loopback): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'porthole-try-'));
  try {
    schedulerConfigurationOf(flags);
    const { audit, ...settings } = settingsOf({ ...flags, advertiseAddress, dataDir, securePort: 0 });
    if (audit != null) await tryAudit(audit);
    const server = await startServer({
      ...settings,
      listen: [loopback],
      storage: new MemoryStorage(systemClock),
      log: silentLogger,
      ...serverWorkers(),
    });
    await server.stop();
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
