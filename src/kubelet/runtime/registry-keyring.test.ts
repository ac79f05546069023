// Which key of a pull secret is for which image.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entriesFor } from './registry-keyring.ts';

test('every usual form of a key finds its images, and no others', () => {
  const rows: readonly (readonly [key: string, image: string, fits: boolean])[] = [
    ['reg.example.com', 'reg.example.com/a', true],
    ['https://reg.example.com', 'reg.example.com/a/b', true],
    ['http://reg.example.com/v1/', 'reg.example.com/a', true],
    ['https://reg.example.com/v2/', 'reg.example.com/a', true],
    ['reg.example.com/', 'reg.example.com/a', true],
    ['reg.example.com:5000', 'reg.example.com:5000/a', true],
    ['https://reg.example.com:5000/v1/', 'reg.example.com:5000/a', true],
    ['reg.example.com', 'reg.example.com:5000/a', false],
    ['reg.example.com:5000', 'reg.example.com/a', false],
    ['reg.example.com/team', 'reg.example.com/team/a', true],
    ['https://reg.example.com/v2/team', 'reg.example.com/team/a', true],
    ['reg.example.com/team', 'reg.example.com/other/a', false],
    ['reg.example.com/team/a', 'reg.example.com/team', false],
    ['*.example.com', 'reg.example.com/a', true],
    ['*.example.com', 'a.reg.example.com/a', false],
    ['*.example.com', 'example.com/a', false],
    ['r?g.example.com', 'reg.example.com/a', false],
    ['reg[0-9].example.com', 'reg7.example.com/a', true],
    ['reg[.example.com', 'reg.example.com/a', false],
    ['*.*.com', 'reg.example.com/a', true],
    ['*', 'localhost/a', true],
    ['r*g.example.com', 'reg.example.com/a', true],
    ['*e*g*.example.com', 'registry-eg.example.com/a', true],
    ['*r[a-f]g*', 'xreg/a', true],
    ['*r[f-a]g', 'reg/a', false],
    // A tenant's pattern with a tenant's name: by backtracking it would take longer than the machine lives.
    [`${'*a'.repeat(30)}*b`, `${'a'.repeat(200)}/x`, false],
    ['regxexample.com', 'reg.example.com/a', false],
    ['[::1]:5000', '[::1]:5000/a', true],
    ['https://index.docker.io/v1/', 'docker.io/library/busybox', true],
    ['index.docker.io', 'docker.io/library/busybox', true],
    ['docker.io', 'docker.io/team/a', true],
    ['docker.io/team', 'docker.io/team/a', true],
    ['https://index.docker.io/v1/', 'reg.example.com/a', false],
    ['', 'reg.example.com/a', false],
  ];
  for (const [key, image, fits] of rows) {
    assert.deepEqual(entriesFor([[key, 'x']], image), fits ? ['x'] : [], `${key} for ${image}`);
  }
});

test('the more specific key comes first, and entries of one key keep their order', () => {
  const entries = [
    ['*.example.com', 'any'],
    ['reg.example.com', 'first'],
    ['reg.example.com/team', 'team'],
    ['https://reg.example.com/v1/', 'second'],
  ] as const;
  assert.deepEqual(entriesFor(entries, 'reg.example.com/team/a'), ['team', 'first', 'second', 'any']);
  const hub = [
    ['https://index.docker.io/v1/', 'hub'],
    ['docker.io/team', 'team'],
  ] as const;
  assert.deepEqual(entriesFor(hub, 'docker.io/team/a'), ['team']);
  assert.deepEqual(entriesFor(hub, 'docker.io/library/a'), ['hub']);
});
