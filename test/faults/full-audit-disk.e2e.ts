// An audit log on a disk that fills up: requests go on, lines stay whole, and with space the log does too.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readAuditPolicy } from '../../src/api/audit/policy.ts';
import { policyMatcher } from '../../src/apiserver/audit/audit-rules.ts';
import { AuditFailures, ignoringFailures } from '../../src/apiserver/audit/backend.ts';
import { fileBackend } from '../../src/apiserver/audit/backend-file.ts';
import { startTestServer } from '../../src/apiserver/testing/test-server.ts';
import { yamlToJson } from '../../src/base/yaml.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';
import { RotatingFile } from '../../src/component-base/rotating-file.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const policy =
  '{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata, omitStages: [RequestReceived]}]}';
const maps = '/api/v1/namespaces/default/configmaps';

for (const mode of ['blocking', 'blocking-strict'])
  test(`a full disk under the audit log, mode ${mode}`, async (context) => {
    const scratch = scratchDirectory('full-audit-disk');
    const disk = join(scratch.path, 'disk');
    mkdirSync(disk);
    assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]).status, 0);
    const path = join(disk, 'audit.log');
    const metrics = createMetrics();
    const options = { path, maxBytes: 0, maxBackups: 0, maxAgeMs: 0, compress: false, clock: systemClock };
    const sink = new RotatingFile({ ...options, onTrouble: (error) => assert.fail(String(error)) });
    const file = fileBackend(sink, 'json', new AuditFailures(silentLogger, metrics));
    const server = await startTestServer({
      audit: {
        match: policyMatcher(readAuditPolicy(policy).policy),
        readYaml: yamlToJson,
        backend: mode === 'blocking' ? ignoringFailures(file) : file,
      },
    });
    const ask = async (): Promise<number> => (await server.request('GET', maps)).status;
    const lost = async (): Promise<number> =>
      Number(
        /^apiserver_audit_error_total\{plugin="log"\} (\d+)$/m.exec((await metrics.text()).text)?.[1] ?? 0,
      );
    try {
      assert.equal(await ask(), 200);
      const { bavail, bsize } = statfsSync(disk);
      const ballast = join(disk, 'ballast');
      writeFileSync(ballast, Buffer.alloc((bavail - 1) * bsize));
      let asked = 1;
      for (; (await lost()) < 20; asked++) assert.equal(await ask(), 200);
      rmSync(ballast);
      assert.equal(await ask(), 200);
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
      for (const line of lines) assert.equal(JSON.parse(line).stage, 'ResponseComplete');
      assert.equal(lines.length, asked + 1 - 20);
      context.diagnostic(`${lines.length} lines kept, 20 lost`);
    } finally {
      await server.close();
      await file.close();
      spawnSync('umount', [disk]);
      scratch.remove();
    }
  });

test('a file that somebody empties in its place is not filled with zeros when its disk is full', async () => {
  const scratch = scratchDirectory('emptied-audit-file');
  const disk = join(scratch.path, 'disk');
  mkdirSync(disk);
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]).status, 0);
  const path = join(disk, 'audit.log');
  const options = { path, maxBytes: 0, maxBackups: 0, maxAgeMs: 0, compress: false, clock: systemClock };
  const file = new RotatingFile({ ...options, onTrouble: (error) => assert.fail(String(error)) });
  try {
    file.write(`${'a'.repeat(100_000)}\n`);
    truncateSync(path);
    file.write('b\n');
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, 'ballast'), Buffer.alloc((bavail - 1) * bsize));
    // The beginning of it has room.
    assert.throws(() => file.write(`${'c'.repeat(20_000)}\n`), { code: 'ENOSPC' });
    assert.equal(statSync(path).size, 2);
    rmSync(join(disk, 'ballast'));
    file.write('d\n');
    assert.equal(readFileSync(path, 'utf8'), 'b\nd\n');
  } finally {
    await file.close();
    spawnSync('umount', [disk]);
    scratch.remove();
  }
});
