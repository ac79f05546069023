// Other people's client libraries, unmodified, against a cluster with a real node: client-go, python3-kubernetes, @kubernetes/client-node.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { TestCluster } from '../harness/cluster.ts';
import { clientGoProgram } from '../harness/go-program.ts';
import { limit, podManifest, startLinuxCluster } from '../harness/linux-cluster.ts';

const programs = fileURLToPath(new URL('programs', import.meta.url));
const pod = 'talker';

let cluster: TestCluster;
before(async () => {
  cluster = await startLinuxCluster();
  const talks =
    'echo begun; mkdir -p /www; echo hello > /www/index.html; trap "exit 0" TERM; httpd -f -p 8080 -h /www & wait';
  await cluster.kubectl.apply(podManifest(pod, { command: ['sh', '-c', talks] }));
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', `pod/${pod}`, '--timeout=60s']);
}, limit);
after(() => cluster?.down(), limit);

/** Each program says `ok <step>` for what held; it fails by its exit code, and says why. */
async function steps(program: string, args: readonly string[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await linuxProcesses.run(program, [...args, cluster.kubeconfig, pod], {
    timeoutMs: limit.timeout,
  });
  assert.equal(code, 0, `${stdout}${stderr}`);
  return stdout.toString().trim().split('\n');
}

test('client-go: protobuf, pages, apply, informers, initial events, SPDY and WebSocket, leader election', {
  timeout: 590_000,
}, async () => {
  // most of which it is compiled
  assert.deepEqual(await steps(await clientGoProgram(), []), [
    'ok typed',
    'ok refusals',
    'ok pages',
    'ok apply',
    'ok informers',
    'ok watch',
    'ok custom resources',
    'ok discovery',
    'ok exec',
    'ok leader election',
  ]);
});

test('python3-kubernetes: pages, watch, dynamic client, exec', limit, async () => {
  assert.deepEqual(await steps('/usr/bin/python3', [join(programs, 'client_python.py')]), [
    'ok typed',
    'ok pages',
    'ok watched',
    'ok untyped',
    'ok from_yaml',
    'ok executed',
    'ok logged',
  ]);
});

test('@kubernetes/client-node: apply, informer, watch, exec, log, port-forward', limit, async () => {
  assert.deepEqual(await steps(process.execPath, [join(programs, 'client-node.mjs')]), [
    'ok typed',
    'ok applied',
    'ok informed',
    'ok watched',
    'ok executed',
    'ok logged',
    'ok forwarded',
  ]);
});
