// What a node can't enforce it refuses to run: user namespaces, AppArmor profiles, profiles of seccomp from elsewhere.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { events } from '../../src/api/generated/resources.ts';
import { eventually } from '../harness/eventually.ts';
import { type KubeletNode, startKubeletNode } from '../harness/kubelet-node.ts';

const limit = { timeout: 120_000 };
let node: KubeletNode;
before(async () => {
  node = await startKubeletNode();
}, limit);
after(() => node?.close(), limit);

const spec = (securityContext: object, more: object = {}, script = 'sleep 600'): object => ({
  restartPolicy: 'Never',
  containers: [{ name: 'main', image: node.image, command: ['/bin/sh', '-c', script], securityContext }],
  ...more,
});
const said = async (name: string): Promise<string[]> =>
  (await node.client.list(events)).items
    .filter((event) => event.involvedObject.name === name)
    .map((event) => `${event.type} ${event.reason}: ${event.message}`);

test('hostUsers: false is refused where there are no user namespaces, and nothing runs', limit, async () => {
  await node.create('userns', spec({}, { hostUsers: false }));
  const refusal =
    "Warning FailedCreatePodSandBox: Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces";
  await eventually(async () =>
    assert.ok((await said('userns')).includes(refusal), JSON.stringify(await said('userns'))),
  );
  assert.equal((await node.get('userns')).status?.phase, 'Pending');
  const { uid = '' } = (await node.get('userns')).metadata;
  assert.deepEqual(
    await node.cri.runtime.listPodSandbox({ labelSelector: { 'io.kubernetes.pod.uid': uid } }),
    [],
  );
  await node.remove('userns');
});

test(
  'an AppArmor profile by field or annotation is refused where the kernel has none; Unconfined runs',
  limit,
  async () => {
    const profile = (type: string): object => ({
      appArmorProfile: { type, ...(type === 'Localhost' ? { localhostProfile: 'x' } : {}) },
    });
    const annotation = {
      annotations: { 'container.apparmor.security.beta.kubernetes.io/main': 'runtime/default' },
    };
    await node.create('armor-default', spec(profile('RuntimeDefault')));
    await node.create('armor-pod', spec({}, { securityContext: profile('Localhost') }));
    await node.create('armor-annotation', spec({}), annotation);
    const message = 'Cannot enforce AppArmor: AppArmor is not enabled on the host';
    for (const name of ['armor-default', 'armor-pod', 'armor-annotation']) {
      const { status } = await node.until(name, 'is refused', (pod) => pod.status?.phase === 'Failed');
      assert.deepEqual([status?.reason, status?.message], ['AppArmor', `Pod was rejected: ${message}`], name);
      await eventually(async () => assert.ok((await said(name)).includes(`Warning AppArmor: ${message}`)));
    }
    await node.create('armor-none', spec(profile('Unconfined'), {}, 'exit 0'));
    await node.until('armor-none', 'ends', (pod) => pod.status?.phase === 'Succeeded');
  },
);

test(
  'strict groups and mounts read-only throughout are refused where the runtime has neither',
  limit,
  async () => {
    const strict = { securityContext: { supplementalGroupsPolicy: 'Strict' } };
    await node.create('strict-groups', spec({}, strict));
    const { status } = await node.until(
      'strict-groups',
      'is refused',
      (pod) => pod.status?.phase === 'Failed',
    );
    assert.deepEqual(
      [status?.reason, status?.message],
      [
        'SupplementalGroupsPolicyNotSupported',
        'Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node',
      ],
    );
    const volumeMounts = [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'Enabled' }];
    const main = { name: 'main', image: node.image, command: ['/bin/sh', '-c', 'sleep 600'], volumeMounts };
    await node.create('read-only-throughout', { containers: [main], volumes: [{ name: 'v', emptyDir: {} }] });
    const waits = await node.until('read-only-throughout', 'is refused', (pod) =>
      /^Create/.test(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
    );
    assert.deepEqual(waits.status?.containerStatuses?.[0]?.state?.waiting, {
      reason: 'CreateContainerConfigError',
      message: 'volume "v" requested recursive read-only mode, but it is not supported by the runtime',
    });
  },
);

test("a seccomp profile is read below the node's own folder of profiles", limit, async () => {
  const folder = join(node.directory, 'kubelet/seccomp/team');
  mkdirSync(folder, { recursive: true });
  const filter = {
    defaultAction: 'SCMP_ACT_ALLOW',
    syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO', errnoRet: 1 }],
  };
  writeFileSync(join(folder, 'no-mkdir.json'), JSON.stringify(filter));
  const localhost = (localhostProfile: string): object => ({
    seccompProfile: { type: 'Localhost', localhostProfile },
  });
  await node.create('filtered', spec(localhost('team/no-mkdir.json'), {}, 'mkdir /tmp/x 2>&1; exit 0'));
  await node.until('filtered', 'ends', (pod) => pod.status?.phase === 'Succeeded');
  await eventually(async () =>
    assert.match(
      (await node.request('/containerLogs/default/filtered/main')).text,
      /Operation not permitted/,
    ),
  );
  await node.create('missing', spec(localhost('none.json')));
  const seen = await node.until('missing', 'is refused', (pod) =>
    /^Create/.test(pod.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? ''),
  );
  assert.match(seen.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '', /seccomp/);
});
