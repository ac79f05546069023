// Where the time of a slow request went: upstream's annotations of the audit log.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AuditEvent } from '../../src/api/audit/event.ts';
import { readAuditPolicy } from '../../src/api/audit/policy.ts';
import { policyMatcher } from '../../src/apiserver/audit/audit-rules.ts';
import type { Clock } from '../../src/base/clock.ts';
import { yamlToJson } from '../../src/base/yaml.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { startWebhookServer } from '../harness/webhook-server.ts';

let skippedMs = 0;
/** What a webhook says that it took, and hardly anything else: a busy machine makes no request slow. */
const clock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() / 1_000 + skippedMs,
  timer: (ms, run) => systemClock.timer(ms, run),
  sleep: (ms, signal) => systemClock.sleep(ms, signal),
};
const told: AuditEvent[] = [];
const { policy } = readAuditPolicy(
  '{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: Metadata, resources: [{group: "", resources: [configmaps]}]}]}',
);
const plane = await startTestControlPlane({
  clock,
  audit: {
    match: policyMatcher(policy),
    backend: {
      process(events) {
        told.push(...events);
        return true;
      },
      close: async () => {},
    },
    readYaml: yamlToJson,
  },
});
const server = await startWebhookServer();
after(async () => {
  await plane.close();
  await server.close();
});
const url = '/api/v1/namespaces/default/configmaps';
const prefix = 'apiserver.latency.k8s.io/';

async function hook(kind: 'mutating' | 'validating', tookMs: number): Promise<void> {
  server.answers.set(`/${kind}-${tookMs}`, () => {
    skippedMs += tookMs;
    return { allowed: true };
  });
  const path = `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`;
  const answer = await plane.ask('POST', path, {
    metadata: { name: `${kind}-${tookMs}` },
    webhooks: [
      {
        name: `h${tookMs}.example.com`,
        clientConfig: { url: `${server.url}/${kind}-${tookMs}`, caBundle: server.caBundle },
        rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  assert.equal(answer.status, 201, answer.text);
}

/** Milliseconds by layer, of the last event. */
function latencies(): Record<string, number> {
  const annotations = Object.entries(told.at(-1)?.annotations ?? {});
  return Object.fromEntries(
    annotations
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => {
        const [, number, unit] = /^([\d.]+)(s|ms|µs|ns)$/.exec(value) ?? assert.fail(value);
        return [key.slice(prefix.length), Number(number) * { s: 1000, ms: 1, µs: 1e-3, ns: 1e-6 }[unit!]!];
      }),
  );
}

test('a fast request is told without them', async () => {
  assert.equal((await plane.ask('POST', url, { metadata: { name: 'fast' } })).status, 201);
  assert.equal(told.at(-1)?.stage, 'ResponseComplete');
  assert.deepEqual(latencies(), {});
});

test('of a slow one each layer is told, of mutating webhooks all together', async () => {
  await hook('mutating', 200);
  await hook('mutating', 300);
  await hook('validating', 400);
  const answer = await plane.ask('POST', url, { metadata: { name: 'slow' } }, { accept: 'application/yaml' });
  assert.equal(answer.status, 201, answer.text);
  const { total, etcd, authorization, ...layers } = latencies();
  const mutating = layers['mutating-webhook'] ?? 0;
  const validating = layers['validating-webhook'] ?? 0;
  assert.ok(mutating >= 500 && mutating < 550, JSON.stringify(layers));
  assert.ok(validating >= 400 && validating < 450, JSON.stringify(layers));
  assert.ok(total! >= mutating + validating, `${total}`);
  assert.ok(etcd! > 0 && authorization! > 0);
  assert.ok(layers['serialize-response-object']! > 0 && layers['transform-response-object']! > 0);
  // Whoever asks in the server's process is known without a question.
  assert.equal(layers['authentication'], undefined);
});

test('a refusal is told, too', async () => {
  await hook('validating', 700);
  server.answers.set('/validating-700', () => {
    skippedMs += 700;
    return { allowed: false };
  });
  const refused = await plane.ask('POST', url, { metadata: { name: 'refused' } });
  assert.equal(refused.status, 400, refused.text);
  assert.equal(told.at(-1)?.responseStatus?.code, 400);
  assert.ok(latencies()['validating-webhook']! >= 700);
  assert.equal(latencies()['etcd'], undefined);
});
