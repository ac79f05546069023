// What a node says of credentials that it cannot read.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createMetrics } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { clientFrom } from './node-credentials.ts';

const folder = mkdtempSync(join(tmpdir(), 'porthole-credentials-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a damaged kubeconfig of a node is named, with what to do', async () => {
  const file = join(folder, 'agent.kubeconfig');
  for (const text of ['', '{}', 'x: [', '\0\0']) {
    writeFileSync(file, text);
    await assert.rejects(
      clientFrom(file, 'test', systemClock, createMetrics()),
      (error: Error & { next?: string }) => {
        assert.ok(error.message.includes(file), error.message);
        assert.equal(error.next, 'porthole up writes it anew');
        return true;
      },
    );
  }
});
