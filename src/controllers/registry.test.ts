// The list of controllers equals the folder, and names are upstream's.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { allControllers } from './registry.ts';

describe('allControllers', () => {
  it('holds one controller for each file of the folder, by the same name', () => {
    const files = readdirSync(import.meta.dirname)
      .filter((name) => name.endsWith('-controller.ts'))
      .map((name) => name.slice(0, -'.ts'.length));
    const names = allControllers({
      rootCa: { now: () => '' },
      clusterCIDRs: ['10.244.0.0/16'],
      storageVersionMigrator: true,
      loadBalancerRange: '203.0.113.0/24',
    }).map(({ name }) => name);
    assert.deepEqual([...names].sort(), files.sort());
  });
});
