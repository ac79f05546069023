// How the helper is asked for much at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Processes } from '../processes.ts';
import { createLinuxBeneath } from './beneath-linux.ts';
import { linuxProcesses } from './processes-linux.ts';

test('more folders than a program can be given are counted in portions, in their order and within one time', async () => {
  const asked: { ms: number; folders: readonly string[] }[] = [];
  const run: Processes['run'] = async (_, [, ms = '', ...folders]) => {
    // The real limit: a program with as many arguments starts.
    await linuxProcesses.run('true', folders);
    asked.push({ ms: Number(ms), folders });
    const stdout = folders.map((path) => `${path.slice(path.lastIndexOf('/') + 1)} 1\n`).join('');
    return { code: 0, stdout: Buffer.from(stdout), stderr: Buffer.from('') };
  };
  const beneath = createLinuxBeneath({ run } as unknown as Processes, 'beneath');
  const folders = Array.from({ length: 20_000 }, (_, i) => `/pods/${'x'.repeat(180)}/${i}`);
  const usage = await beneath.usage(folders, 60_000);
  assert.deepEqual(
    usage.map(({ bytes }) => bytes),
    folders.map((_, i) => i),
  );
  assert.ok(asked.length > 1);
  const times = asked.map(({ ms }) => ms);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => b - a),
  );
  assert.ok(times[0]! <= 60_000);
  assert.deepEqual(await beneath.usage([], 1), []);
});
