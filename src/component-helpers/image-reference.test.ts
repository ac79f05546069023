// Names of images are what containerd keeps them by: what a pod says is looked up by the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullNameOf, parseImageReference, repositoryOf } from './image-reference.ts';

const digest = `sha256:${'a'.repeat(64)}`;

test('image names are taken apart, and what is none is refused', () => {
  assert.deepEqual(parseImageReference('busybox'), {
    registry: 'docker.io',
    path: 'library/busybox',
    tag: 'latest',
    digest: '',
  });
  assert.equal(parseImageReference('localhost:5000/a/b:1')?.registry, 'localhost:5000');
  for (const bad of [
    '',
    'UPPER',
    'a b',
    'a:',
    'a@sha256:1',
    '../x',
    'a/../b',
    'a;rm',
    // An image's id.
    'a'.repeat(64),
    `example.com/${'a'.repeat(256)}`,
  ]) {
    assert.equal(parseImageReference(bad), undefined, bad);
  }
});

test("Docker Hub's images have one name, however it is written", () => {
  const rows: readonly (readonly [written: string, repository: string, whole: string])[] = [
    ['busybox', 'docker.io/library/busybox', 'docker.io/library/busybox:latest'],
    ['docker.io/busybox:1', 'docker.io/library/busybox', 'docker.io/library/busybox:1'],
    ['index.docker.io/busybox', 'docker.io/library/busybox', 'docker.io/library/busybox:latest'],
    [`index.docker.io/team/a@${digest}`, 'docker.io/team/a', `docker.io/team/a@${digest}`],
    [`docker.io/a:1@${digest}`, 'docker.io/library/a', `docker.io/library/a@${digest}`],
    ['docker.io/team/a:1', 'docker.io/team/a', 'docker.io/team/a:1'],
    // Another registry has images of one word.
    ['example.com/a:1', 'example.com/a', 'example.com/a:1'],
    ['localhost/a', 'localhost/a', 'localhost/a:latest'],
    // What names no image is its own.
    ['UPPER', 'UPPER', 'UPPER'],
  ];
  for (const [written, repository, whole] of rows) {
    assert.equal(repositoryOf(written), repository, written);
    assert.equal(fullNameOf(written), whole, written);
    assert.equal(fullNameOf(whole), whole);
  }
});
