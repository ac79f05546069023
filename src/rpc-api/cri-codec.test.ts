// CRI messages: the bytes that containerd speaks, and bytes that are hostile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeCri, encodeCri } from './cri-codec.ts';

test('a container config survives its bytes, enums by name and maps in place', () => {
  const config = {
    metadata: { name: 'web', attempt: 2 },
    envs: [{ key: 'A', value: Buffer.from('1') }],
    mounts: [
      { containerPath: '/x', hostPath: '/y', readonly: true, propagation: 'PROPAGATION_BIDIRECTIONAL' },
    ],
    labels: { __proto__x: 'v', a: 'b' },
    linux: { securityContext: { seccomp: { profileType: 'Unconfined' }, runAsUser: { value: 1000 } } },
  };
  const back = decodeCri('ContainerConfig', encodeCri('ContainerConfig', config)) as typeof config;
  assert.equal(back.metadata.attempt, 2);
  assert.equal(back.mounts[0]!.propagation, 'PROPAGATION_BIDIRECTIONAL');
  assert.equal(back.linux.securityContext.seccomp.profileType, 'Unconfined');
  assert.equal(back.linux.securityContext.runAsUser.value, 1000);
  assert.deepEqual({ ...back.labels }, { __proto__x: 'v', a: 'b' });
});

test('field numbers are those of the CRI: ContainerMetadata{name="a",attempt=1} is four known bytes and a pair', () => {
  assert.equal(encodeCri('ContainerMetadata', { name: 'a', attempt: 1 }).toString('hex'), '0a01611001');
});

test('hostile bytes are an error, not a crash, and do not pollute prototypes', () => {
  assert.throws(() => decodeCri('PodSandboxStatusResponse', Buffer.from('ffffffffffffffffffff', 'hex')));
  const entry = Buffer.concat([
    Buffer.from('0a09', 'hex'),
    Buffer.from('__proto__'),
    Buffer.from('120178', 'hex'),
  ]);
  const map = Buffer.concat([Buffer.from([0x62, entry.length]), entry]);
  decodeCri('ContainerStatus', map);
  assert.equal(({} as Record<string, unknown>)['x'], undefined);
});
