// The program that mounts a Windows container's files is killed anywhere: the helper that it starts goes with it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import { withArgument } from '../harness/command-lines.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const kills = 150;
const scratch = scratchDirectory('killed-mounts');
after(() => scratch.remove());

test('windows-mounts that is killed leaves no process behind', { timeout: 120_000 }, async (t) => {
  const program = await buildNative(linuxProcesses, portholeCache(), {
    name: 'windows-mounts',
    target: 'linux',
    source: fileURLToPath(new URL('../../native/linux/windows-mounts.c', import.meta.url)),
  });
  // A namespace of owners after the other: most kills meet it while it waits for its helper.
  const plan = join(scratch.path, 'plan');
  writeFileSync(plan, 'owners\t1000000\t1000\n'.repeat(900));
  let killed = 0;
  for (let i = 0; i < kills; i++) {
    const child = spawn(program, [plan, 'true'], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await delay(2 + (i % 13));
    if (child.kill('SIGKILL')) killed++;
    await ended;
  }
  await eventually(async () => assert.deepEqual(withArgument(plan), []), {
    timeoutMs: 5000,
  });
  t.diagnostic(`${killed} kills`);
  assert.ok(killed > kills / 2);
});
