// What the runtime's CNI library left of containers that are gone.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { forgetAttachments } from './runtime-cache.ts';

test('the attachments of one network are forgotten, those of others stay', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'cni-results-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const [ours, theirs] = ['a1'.repeat(32), 'b2'.repeat(32)];
  const stay = [`porthole-2-${theirs}-eth0`, `cni-loopback-${theirs}-lo`, `porthole-${theirs}-eth0`, 'other'];
  for (const name of [`porthole-1-${ours}-eth0`, `cni-loopback-${ours}-lo`, ...stay])
    writeFileSync(join(directory, name), '{}');
  await forgetAttachments(linuxFiles, 'porthole-1', directory);
  assert.deepEqual(readdirSync(directory).sort(), [...stay].sort());
  await forgetAttachments(linuxFiles, 'porthole-1', join(directory, 'not-there'));
});
