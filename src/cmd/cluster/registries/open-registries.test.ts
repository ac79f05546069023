// What `up` says of mirrors that pods can write to.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { clusterPaths } from '../cluster-state.ts';
import type { Mirrors } from './mirrors.ts';
import { openRegistries } from './open-registries.ts';

async function saidOf(
  registryMirrors: Mirrors | undefined,
  registryPort?: number,
): Promise<readonly string[]> {
  const home = mkdtempSync(join(tmpdir(), 'porthole-open-'));
  const said: string[] = [];
  const paths = clusterPaths(home, 'c');
  try {
    // The only step is the registry's own program, which is fetched.
    const progress = { say: (text: string) => void said.push(text), step: () => Promise.reject('fetched') };
    const state = { registryPort, registryMirrors };
    const opened = openRegistries({ paths, gateway: '172.30.0.1', cache: home, state }, progress);
    if (registryPort === undefined) assert.deepEqual(await opened, []);
    else await assert.rejects(opened, (error) => error === 'fetched');
    for (const name of Object.keys(registryMirrors ?? {})) assert.ok(readdirSync(paths.certs).includes(name));
    return said;
  } finally {
    rmSync(home, { recursive: true });
  }
}

test('a mirror on this machine is open to pods, which is said; one elsewhere is not ours to open', async () => {
  assert.deepEqual(await saidOf(undefined), []);
  assert.deepEqual(await saidOf({ 'docker.io': ['https://mirror.example/cache'] }), []);
  assert.deepEqual(await saidOf({ 'docker.io': ['http://localhost:5000'] }, 5000), [], 'pods only read it');
  const [one, ...more] = await saidOf({ 'docker.io': ['http://localhost:5001', 'http://127.0.0.1:5001/x'] });
  assert.match(one!, /warning: pods reach the mirrors on this machine too \(port 5001\)/);
  assert.deepEqual(more, []);
  const [two] = await saidOf({ 'docker.io': ['http://localhost:5001'], 'quay.io': ['https://localhost'] });
  assert.match(two!, /\(ports 5001, 443\)/);
});
