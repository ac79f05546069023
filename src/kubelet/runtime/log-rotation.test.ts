// Logs that grow too long are set aside, and old ones go.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../component-base/system-clock.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { createSimulatedCri } from '../simulated/simulated-cri.ts';
import { observedContainer } from '../testing/observed-builder.ts';
import { rotateLog } from './log-rotation.ts';

const random = { uint: () => 0, fraction: () => 0, uuid: () => 'u' };
const { runtime } = createSimulatedCri({ clock: systemClock, random, podCidr: async () => '', version: '1' });

test('a log over its size is set aside, the newest four old ones stay, a small one is left alone', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'rotate-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const logPath = join(folder, '0.log');
  const container = observedContainer('main', { logPath });
  const deps = {
    files: linuxFiles,
    runtime,
    clock: { ...systemClock, now: () => Date.parse('2026-01-02T03:04:05Z') },
  };
  writeFileSync(logPath, 'small');
  assert.equal(await rotateLog(deps, container), false);
  writeFileSync(logPath, Buffer.alloc(11 << 20));
  for (const day of [1, 2, 3, 4, 5]) writeFileSync(`${logPath}.2025010${day}-000000`, '');
  writeFileSync(`${logPath}.other`, '');
  assert.equal(await rotateLog(deps, container), true);
  assert.deepEqual(readdirSync(folder).sort(), [
    '0.log.20250103-000000',
    '0.log.20250104-000000',
    '0.log.20250105-000000',
    '0.log.20260102-030405',
    '0.log.other',
  ]);
});
