// Classes of volume attributes stay while somebody names them, and a claim that asks for more says who is waited for.
import { test } from 'node:test';
import {
  events,
  persistentvolumeclaims,
  persistentvolumes,
  volumeattributesclasses,
} from '../../src/api/generated/resources.ts';
import { startCluster } from './controllers-cluster.ts';

const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };

test('a class that is to be deleted stays until no claim names it', async (t) => {
  const { client, until } = await startCluster(t);
  const name = 'gold';
  await client.create(volumeattributesclasses, {
    metadata: { name },
    driverName: 'd',
    parameters: { a: 'b' },
  } as never);
  await until(
    volumeattributesclasses,
    (l) => l.get(name)?.metadata.finalizers?.includes('kubernetes.io/vac-protection'),
    'the finalizer',
  );
  const key = { name: 'c', namespace: 'default' };
  const claim = { ...spec, storageClassName: 'x', volumeAttributesClassName: name };
  await client.create(persistentvolumeclaims, { metadata: key, spec: claim } as never);
  await until(persistentvolumeclaims, (l) => l.get('c', 'default'), 'the claim');
  await client.delete(volumeattributesclasses, { name });
  await until(
    volumeattributesclasses,
    (l) => l.get(name)?.metadata.deletionTimestamp !== undefined,
    'it is on its way out',
  );
  await client.delete(persistentvolumeclaims, key);
  await until(volumeattributesclasses, (l) => l.get(name) === undefined, 'it is gone');
});

test('a bound claim that asks for more than it has waits for an external controller, and says so', async (t) => {
  const { client, until } = await startCluster(t, { disabled: ['persistentvolume-binder-controller'] });
  const key = { name: 'c', namespace: 'default' };
  const made = await client.create(persistentvolumeclaims, {
    metadata: key,
    spec: { ...spec, storageClassName: 'x', volumeName: 'v' },
  } as never);
  const claimRef = { ...key, uid: made.metadata.uid };
  await client.create(persistentvolumes, {
    metadata: { name: 'v' },
    spec: { ...spec, capacity: { storage: '1Gi' }, csi: { driver: 'd', volumeHandle: 'h' }, claimRef },
  } as never);
  const body = { status: { phase: 'Bound', capacity: { storage: '512Mi' } } };
  await client.patch(persistentvolumeclaims, key, { type: 'merge', body }, { subresource: 'status' });
  await until(
    events,
    (l) => l.list('default').find(({ reason }) => reason === 'ExternalExpanding'),
    'the event',
  );
});
