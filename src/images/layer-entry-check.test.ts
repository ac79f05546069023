// Hostile entries of layers, one by one.
import assert from 'node:assert/strict';
import test from 'node:test';
import { checkLayerEntry } from './layer-entry-check.ts';

const check = (name: string, type = 'file', linkname?: string, os = 'linux'): string | undefined =>
  checkLayerEntry({ name, type, linkname, size: 0 }, os);

const refused: readonly [string, string, string | undefined, string, RegExp][] = [
  ['/etc/passwd', 'file', undefined, 'linux', /absolute/],
  ['../../etc/passwd', 'file', undefined, 'linux', /leaves the layer/],
  ['a/../../b', 'file', undefined, 'linux', /leaves the layer/],
  ['a\0b', 'file', undefined, 'linux', /NUL/],
  ['', 'file', undefined, 'linux', /empty/],
  ['a'.repeat(300), 'file', undefined, 'linux', /255 bytes/],
  ['a/'.repeat(3000), 'file', undefined, 'linux', /longer than 4096/],
  ['dev/sda', 'block-device', undefined, 'linux', /device/],
  ['dev/mem', 'character-device', undefined, 'linux', /device/],
  ['bin/x', 'symlink', '../../etc/shadow', 'linux', /leaves the layer/],
  ['bin/x', 'symlink', 'ok/../../../x', 'linux', /leaves the layer/],
  ['bin/x', 'link', '/etc/shadow', 'linux', /absolute/],
  ['bin/x', 'link', '../x', 'linux', /leaves the layer/],
  ['a/.wh..', 'file', undefined, 'linux', /whiteout/],
  ['a/.wh...', 'file', undefined, 'linux', /whiteout/],
  ['a/.wh.', 'file', undefined, 'linux', /whiteout/],
  ['x', 'sparse', undefined, 'linux', /unknown type/],
  ['etc/passwd', 'file', undefined, 'windows', /not below Files/],
  ['Files/x', 'symlink', '/usr/lib/wine', 'windows', /absolute/],
];
for (const [name, type, linkname, os, reason] of refused) {
  test(`${type} ${JSON.stringify(name.slice(0, 30))}${linkname ? ` -> ${linkname}` : ''} is refused for ${os}`, () => {
    assert.match(check(name, type, linkname, os) ?? 'accepted', reason);
  });
}

const accepted: readonly [string, string, string | undefined, string][] = [
  ['bin/sh', 'symlink', '/bin/busybox', 'linux'],
  ['usr/bin/x', 'symlink', '../../bin/x', 'linux'],
  ['bin/x', 'link', 'bin/busybox', 'linux'],
  ['a/.wh.old', 'file', undefined, 'linux'],
  ['a/.wh..wh..opq', 'file', undefined, 'linux'],
  ['./a/./b', 'directory', undefined, 'linux'],
  ['Files/Program Files/x..y', 'file', undefined, 'windows'],
  ['Hives/System_Delta', 'file', undefined, 'windows'],
  ['__proto__/constructor', 'file', undefined, 'linux'],
];
for (const [name, type, linkname, os] of accepted) {
  test(`${type} ${name}${linkname ? ` -> ${linkname}` : ''} is fine for ${os}`, () => {
    assert.equal(check(name, type, linkname, os), undefined);
  });
}
