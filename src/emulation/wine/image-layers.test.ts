// Finding a container's overlay in mountinfo.
import assert from 'node:assert/strict';
import test from 'node:test';
import { findSnapshot, spellAsOnDisk } from './image-layers.ts';

const line = (target: string, type: string, options: string): string =>
  `36 35 0:42 / ${target} rw,relatime shared:1 - ${type} overlay ${options}`;

test('layers and changes are read, the last mount on a path counts', () => {
  const text = [
    line('/b/rootfs', 'overlay', 'rw,lowerdir=/old,upperdir=/o,workdir=/w'),
    line('/b/rootfs', 'overlay', 'rw,lowerdir=/s/2/fs:/s/1/fs,upperdir=/s/3/fs,workdir=/s/3/work,index=off'),
  ].join('\n');
  assert.deepEqual(findSnapshot(text, '/b/rootfs'), { layers: ['/s/2/fs', '/s/1/fs'], upper: '/s/3/fs' });
});

test('spaces in paths are decoded', () => {
  const text = line('/a\\040b/rootfs', 'overlay', 'rw,lowerdir=/s\\0402/fs,upperdir=/u,workdir=/w');
  assert.deepEqual(findSnapshot(text, '/a b/rootfs'), { layers: ['/s 2/fs'], upper: '/u' });
});

test('what is no overlay, or names its layers relatively, or is not there, is not found', () => {
  assert.equal(findSnapshot(line('/b/rootfs', 'ext4', 'rw'), '/b/rootfs'), undefined);
  assert.equal(
    findSnapshot(line('/b/rootfs', 'overlay', 'rw,lowerdir=2/fs:1/fs,upperdir=/u'), '/b/rootfs'),
    undefined,
  );
  assert.equal(findSnapshot(line('/c', 'overlay', 'rw,lowerdir=/l,upperdir=/u'), '/b/rootfs'), undefined);
  assert.equal(findSnapshot('', '/b/rootfs'), undefined);
});

test('a name that is there exactly wins over one in another letter case', () => {
  const folders: Record<string, readonly string[]> = { '/t': ['data'], '/l': ['DATA', 'Other'] };
  const reader = { isFolder: () => true, names: (path: string) => folders[path] ?? [] };
  const spell = (...parts: string[]): readonly string[] => spellAsOnDisk(reader, ['/t', '/l'], parts);
  assert.deepEqual(spell('DATA'), ['DATA']);
  assert.deepEqual(spell('Data', 'x'), ['data', 'x']);
  assert.deepEqual(spell('OTHER'), ['Other']);
  assert.deepEqual(spell('Windows', 'SYSTEM32', 'Drivers'), ['windows', 'system32', 'Drivers']);
});
