// Claims that lead to a volume of somebody else, or to none, are refused in upstream's words.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../api/generated/types/core-v1.ts';
import { notFound } from '../../../apimachinery/errors.ts';
import { linuxFiles } from '../../../os/linux/files-linux.ts';
import { createLinuxNodeOs } from '../../node-os/linux.ts';
import { aPod } from '../../testing/observed-builder.ts';
import { VolumeError } from '../volume-manager.ts';
import type { VolumeLocation } from '../volume-plugin.ts';
import { persistentVolumeClaim } from './persistent-volume-claim.ts';

interface Case {
  readonly pod?: object;
  readonly claim?: { readonly metadata?: object; readonly spec?: object; readonly status?: object };
  readonly volume?: { readonly claimRef?: object | undefined; readonly [source: string]: unknown } | 'none';
  readonly ephemeral?: boolean;
}

/** What becomes of the pod's volume `data`. */
function setUp(
  t: TestContext,
  { pod = {}, claim = {}, volume = {}, ephemeral = false }: Case,
): Promise<VolumeLocation> {
  const path = mkdtempSync(join(tmpdir(), 'claim-'));
  t.after(() => rmSync(path, { recursive: true }));
  const ours: Pod = { ...aPod(), ...pod };
  const bound = {
    metadata: { name: 'data', namespace: 'ns', uid: 'claim-1', ...claim.metadata },
    spec: { volumeName: 'pv-1', ...claim.spec },
    status: { phase: 'Bound', ...claim.status },
  } as PersistentVolumeClaim;
  const persistent = {
    metadata: { name: 'pv-1' },
    spec: { local: { path }, claimRef: { uid: 'claim-1' }, ...(volume === 'none' ? {} : volume) },
  } as PersistentVolume;
  const get = async ({ resource }: { resource: string }): Promise<unknown> => {
    if (resource === 'persistentvolumeclaims') return bound;
    if (volume === 'none') throw notFound({ group: '', resource: 'persistentvolumes' }, 'pv-1');
    return persistent;
  };
  return persistentVolumeClaim.setUp({
    pod: ours,
    volume: {
      name: 'data',
      ...(ephemeral ? { ephemeral: {} } : { persistentVolumeClaim: { claimName: 'data' } }),
    },
    client: { get },
    files: linuxFiles,
    nodeOs: createLinuxNodeOs({ osImage: 'Debian', kernelVersion: '6' }),
  } as never);
}

/** The text of the FailedMount event. */
async function event(t: TestContext, given: Case): Promise<string> {
  try {
    await setUp(t, given);
  } catch (error) {
    return new VolumeError('data', error).message;
  }
  return 'it was set up';
}
const unmounted =
  'Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: ';
const processing = `${unmounted}error processing PVC ns/data: `;

test('a volume that is bound to another claim, or to none, is not mounted', async (t) => {
  assert.equal(await event(t, {}), 'it was set up');
  assert.equal(
    await event(t, { volume: { claimRef: { uid: 'claim-0' } } }),
    `${processing}found PV object pv-1 but its pv.Spec.ClaimRef.UID claim-0 does not point to claim.UID claim-1`,
  );
  assert.equal(
    await event(t, { volume: { claimRef: undefined } }),
    `${processing}found PV object pv-1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
  );
  assert.equal(
    await event(t, { volume: 'none' }),
    `${processing}failed to fetch PV pv-1 from API server: persistentvolumes "pv-1" not found`,
  );
});

test('a claim that is not bound is none, and one that is being deleted is no more for a pod that starts', async (t) => {
  assert.equal(await event(t, { claim: { status: { phase: 'Lost' } } }), `${processing}PVC is not bound`);
  assert.equal(
    await event(t, { claim: { spec: { volumeName: '' } } }),
    `${processing}PVC has empty pvc.Spec.VolumeName`,
  );
  const claim = { metadata: { deletionTimestamp: '2026-11-22T07:30:00Z' } };
  assert.equal(await event(t, { claim }), `${processing}PVC is being deleted`);
  assert.equal(await event(t, { claim, pod: { status: { phase: 'Running' } } }), 'it was set up');
});

test('a volume without a way to its files, or with one that leaves, is not mounted', async (t) => {
  const failed = 'MountVolume.SetUp failed for volume "data" : ';
  for (const volume of [
    { local: { path: '/volumes/../etc' } },
    { local: undefined, hostPath: { path: '/volumes/..' } },
    { local: { path: 'C:\\volumes\\..\\x' } },
    { local: { path: '/volumes\0' } },
  ])
    assert.equal(
      await event(t, { volume }),
      `${failed}the path of PersistentVolume pv-1 must not contain '..' or NUL`,
    );
  assert.equal(
    await event(t, { volume: { local: undefined, nfs: { server: 'a', path: '/' } } }),
    `${failed}no volume plugin matched for PersistentVolume pv-1`,
  );
  const gone = { path: '/nowhere/at/all' };
  assert.equal(await event(t, { volume: { local: gone } }), `${failed}path "/nowhere/at/all" does not exist`);
  assert.match(
    await event(t, { volume: { local: undefined, hostPath: { ...gone, type: 'Directory' } } }),
    /hostPath type check failed/,
  );
});

test("an ephemeral volume's claim is the pod's own", async (t) => {
  const { name, uid = '' } = aPod().metadata;
  const claimName = `${name}-data`;
  const owned = (reference: object): Case => ({
    ephemeral: true,
    claim: {
      metadata: {
        name: claimName,
        ownerReferences: [{ kind: 'Pod', name, uid, controller: true, ...reference }],
      },
    },
  });
  assert.equal(await event(t, owned({})), 'it was set up');
  const refused = `${unmounted}PVC ns/${claimName} was not created for pod ns/${name} (pod is not owner)`;
  assert.equal(await event(t, { ephemeral: true, claim: { metadata: { name: claimName } } }), refused);
  assert.equal(await event(t, owned({ uid: 'an older pod of that name' })), refused);
  assert.equal(await event(t, owned({ controller: false })), refused);
});
