// Which logs there are to print, and that those of the registry are where its processes write.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { clusterPaths } from './cluster-state.ts';
import { logsOf } from './log-names.ts';
import { registryProcesses } from './registries/local-registry.ts';
import { simulatedState } from './testing/simulated-state.ts';

test('a cluster with a registry has a log of each of its doors', (t) => {
  const home = mkdtempSync(join(tmpdir(), 'logs-'));
  t.after(() => rmSync(home, { recursive: true }));
  const paths = clusterPaths(home, 'x');
  const doors = registryProcesses({ paths, program: 'docker-registry', port: 5000, gateway: '10.0.0.1' }).map(
    ({ logFile }) => basename(logFile, '.log'),
  );
  const nodes = simulatedState.nodes.map(({ name }) => name);
  assert.deepEqual(logsOf(simulatedState), ['server', 'supervisor', ...nodes]);
  assert.deepEqual(logsOf({ ...simulatedState, registryPort: 5000 }), [
    'server',
    'supervisor',
    ...doors,
    ...nodes,
  ]);
});
