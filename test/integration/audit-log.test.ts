// The audit log by its flags: a server writes its file and sends to its webhook, and starts with no wrong policy.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Command } from 'commander';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { type AuditFlags, auditFlagsOf, withAudit } from '../../src/cmd/audit-options.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const flagsOf = (...args: string[]): AuditFlags =>
  auditFlagsOf(withAudit(new Command().exitOverride()).parse(args, { from: 'user' }).opts());

const policy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  resources: [{resources: [secrets]}]
  users: [${administrator.name}]
`;

interface EventList {
  kind: string;
  items: { objectRef?: { name?: string }; verb: string }[];
}

const start = (dataDir: string, audit: AuditFlags): ReturnType<typeof startServer> =>
  startServer({
    dataDir,
    securePort: 0,
    bindAddress: '127.0.0.1',
    log: silentLogger,
    storage: new MemoryStorage(systemClock),
    audit,
  });

test('events are in the file when their request is answered, and at the webhook when the server has ended', async (t) => {
  const scratch = scratchDirectory('audit-log');
  t.after(() => scratch.remove());
  const file = (name: string): string => join(scratch.path, name);
  const received: EventList[] = [];
  const webhook = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    received.push(JSON.parse(Buffer.concat(parts).toString()));
    response.end('{}');
  }).listen(0, '127.0.0.1');
  t.after(() => webhook.close());
  await once(webhook, 'listening');
  const server = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/events`;
  writeFileSync(file('policy.yaml'), policy);
  writeFileSync(
    file('webhook.yaml'),
    JSON.stringify({
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server } }],
      contexts: [{ name: 'c', context: { cluster: 'c' } }],
    }),
  );
  const log = join(scratch.path, 'logs', 'audit.log');
  const running = await start(
    file('data'),
    flagsOf(
      ...['--audit-policy-file', file('policy.yaml'), '--audit-log-path', log],
      ...['--audit-webhook-config-file', file('webhook.yaml'), '--audit-webhook-batch-max-size=10'],
    ),
  );
  const { request } = inProcessTransport(running.controlPlane.handle, administrator);
  const secrets = '/api/v1/namespaces/default/secrets';
  const body = Buffer.from(JSON.stringify({ kind: 'Secret', apiVersion: 'v1', metadata: { name: 's' } }));
  const headers = { 'content-type': 'application/json' };
  await request({ method: 'POST', path: secrets, headers, body });
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).objectRef.name),
    ['s'],
  );
  assert.equal(statSync(log).mode & 0o777, 0o600);
  await running.stop();
  assert.deepEqual(
    received.map(({ kind, items }) => [kind, items.map((item) => item.verb)]),
    [['EventList', ['create']]],
  );
});

test('a policy that is wrong or not there stops the start, and says which file', async (t) => {
  const scratch = scratchDirectory('audit-policy');
  t.after(() => scratch.remove());
  const file = join(scratch.path, 'policy.yaml');
  const log = join(scratch.path, 'audit.log');
  const flags = flagsOf('--audit-policy-file', file, '--audit-log-path', log);
  const data = join(scratch.path, 'data');
  await assert.rejects(
    start(data, flags),
    /loading audit policy file: failed to read file path ".*policy.yaml": ENOENT/,
  );
  writeFileSync(file, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []\n');
  await assert.rejects(
    start(data, flags),
    /loading audit policy file: loaded illegal policy with 0 rules: from file /,
  );
});

test("flags are kube-apiserver's, with its presets and its words for what is wrong", () => {
  const { log, webhook } = flagsOf('--audit-log-path=/a', '--audit-webhook-config-file=/b');
  const truncate = undefined;
  const throttle = { qps: 10, burst: 15 };
  assert.deepEqual(log, {
    path: '/a',
    mode: 'blocking',
    batch: { bufferSize: 10_000, maxSize: 1, maxWaitMs: 0, throttle: undefined },
    truncate,
    format: 'json',
    maxAgeDays: 366,
    maxBackups: 100,
    maxMegabytes: 100,
    compress: false,
  });
  assert.deepEqual(webhook, {
    configFile: '/b',
    mode: 'batch',
    batch: { bufferSize: 10_000, maxSize: 400, maxWaitMs: 30_000, throttle },
    truncate,
    initialBackoffMs: 10_000,
  });
  const wrong: [string, string][] = [
    [
      '--audit-log-mode=async',
      'invalid audit log mode async, allowed modes are "batch,blocking,blocking-strict"',
    ],
    ['--audit-log-format=xml', 'invalid audit log format xml, allowed formats are "legacy,json"'],
    ['--audit-log-maxage=-1', "--audit-log-maxage -1 can't be a negative number"],
    [
      '--audit-log-truncate-max-event-size=0',
      'invalid audit truncate log max event size 0, must be a positive number',
    ],
  ];
  for (const [flag, message] of wrong) assert.throws(() => flagsOf('--audit-log-path=/a', flag), { message });
  const buffer = ['--audit-log-path=/a', '--audit-log-mode=batch', '--audit-log-batch-buffer-size=0'];
  assert.throws(() => flagsOf(...buffer), /invalid audit batch log buffer size 0, must be a positive number/);
});
