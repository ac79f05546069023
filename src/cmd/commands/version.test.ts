// What `porthole version` says to programs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { version } from '../../component-base/version.ts';
import { versionCommand } from './version.ts';

test("-o json has the platform in upstream's words, as /version has it", (t) => {
  const write = t.mock.method(process.stdout, 'write', () => true);
  versionCommand().parse(['-o', 'json'], { from: 'user' });
  const said = write.mock.calls.map(({ arguments: [text] }) => String(text)).join('');
  write.mock.restore();
  assert.deepEqual(JSON.parse(said), { ...version, node: process.version });
  assert.equal(version.platform, 'linux/amd64');
});
