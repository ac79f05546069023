// Profiles of seccomp and AppArmor that a pod names: what the API server takes.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { namespaces, pods } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import { admin, startTestServer } from '../../src/apiserver/testing/test-server.ts';
import type { Client } from '../../src/client/client.ts';
import { createClient } from '../../src/client/create-client.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';

let server: Awaited<ReturnType<typeof startTestServer>>;
let client: Client;
before(async () => {
  server = await startTestServer();
  client = createClient(inProcessTransport((request) => server.api.handle(request), admin));
  await client.create(namespaces, { metadata: { name: 'profiles' }, spec: {} });
});
after(() => server.close());

describe('a profile of the node', () => {
  const local = (kind: string, localhostProfile: string | undefined): object => ({
    [`${kind}Profile`]: { type: 'Localhost', localhostProfile },
  });
  const long = 'x'.repeat(4096);
  const refused: readonly (readonly [what: object, answer: string])[] = [
    [
      local('seccomp', '../../..'),
      `seccompProfile.localhostProfile: Invalid value: "../../..": must not contain '..'`,
    ],
    [
      local('seccomp', 'a/../../b'),
      `seccompProfile.localhostProfile: Invalid value: "a/../../b": must not contain '..'`,
    ],
    [
      local('seccomp', '/etc/x'),
      'seccompProfile.localhostProfile: Invalid value: "/etc/x": must be a relative path',
    ],
    [
      local('seccomp', ''),
      'seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost',
    ],
    [
      { seccompProfile: { type: 'RuntimeDefault', localhostProfile: 'x' } },
      'seccompProfile.localhostProfile: Invalid value: "x": can only be set when seccomp type is Localhost',
    ],
    [
      local('appArmor', ''),
      'appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost',
    ],
    [
      local('appArmor', ' x'),
      'appArmorProfile.localhostProfile: Invalid value: " x": must not be padded with whitespace',
    ],
    [local('appArmor', long), 'appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes'],
    [
      { appArmorProfile: { type: 'Unconfined', localhostProfile: 'x' } },
      'appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost',
    ],
  ];
  const pod = (name: string, ofPod: object, ofContainer: object): Pod =>
    ({
      metadata: { name, namespace: 'profiles' },
      spec: {
        automountServiceAccountToken: false,
        securityContext: ofPod,
        containers: [{ name: 'c', image: 'i', securityContext: ofContainer }],
      },
    }) as Pod;
  for (const [what, answer] of refused) {
    test(`${JSON.stringify(what).slice(0, 90)} is refused`, async () => {
      for (const [place, object] of [
        ['spec.securityContext', pod('no', what, {})],
        ['spec.containers[0].securityContext', pod('no', {}, what)],
      ] as const) {
        await assert.rejects(client.create(pods, object), (error) => {
          assert.ok(isStatusError(error, 'Invalid'), String(error));
          assert.ok(error.message.includes(`${place}.${answer}`), error.message);
          return true;
        });
      }
    });
  }

  test('below the folder of profiles, or known to the kernel, is taken', async () => {
    await client.create(
      pods,
      pod('yes', local('seccomp', 'profiles/..audit.json'), local('appArmor', 'k8s-x')),
    );
  });
});
