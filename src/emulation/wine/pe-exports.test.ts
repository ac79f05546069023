// Reading a library's exports and writing the forwards for another.
import assert from 'node:assert/strict';
import test from 'node:test';
import { exportsOf, forwardingDefinition } from './pe-exports.ts';

/** A library with one section at address 0x1000 that holds an export table of two names. */
function library(): Buffer {
  const file = Buffer.alloc(0x400);
  file.write('MZ', 0, 'latin1');
  file.writeUInt32LE(0x80, 0x3c);
  file.write('PE\0\0', 0x80, 'latin1');
  file.writeUInt16LE(1, 0x86);
  file.writeUInt16LE(0xf0, 0x94);
  const optional = 0x98;
  file.writeUInt32LE(0x1000, optional + 112);
  const section = optional + 0xf0;
  file.writeUInt32LE(0x200, section + 8);
  file.writeUInt32LE(0x1000, section + 12);
  file.writeUInt32LE(0x200, section + 16);
  file.writeUInt32LE(0x200, section + 20);
  const table = 0x200;
  file.writeUInt32LE(5, table + 16);
  file.writeUInt32LE(2, table + 24);
  file.writeUInt32LE(0x1040, table + 32);
  file.writeUInt32LE(0x1050, table + 36);
  file.writeUInt32LE(0x1060, table + 0x40);
  file.writeUInt32LE(0x1068, table + 0x44);
  file.writeUInt16LE(0, table + 0x50);
  file.writeUInt16LE(65, table + 0x52);
  file.write('accept\0', table + 0x60, 'latin1');
  file.write('WSAIoctl\0', table + 0x68, 'latin1');
  return file;
}

test('names come with their ordinals', () => {
  assert.deepEqual(exportsOf(library()), [
    { name: 'accept', ordinal: 5 },
    { name: 'WSAIoctl', ordinal: 70 },
  ]);
});

test('what is no library exports nothing; a cut one is an error', () => {
  assert.deepEqual(exportsOf(Buffer.alloc(10)), []);
  assert.throws(() => exportsOf(library().subarray(0, 0x210)));
});

test('own functions stay, the others are forwarded under their ordinals', () => {
  assert.equal(
    forwardingDefinition('ws2_32.dll', 'ws2_wine', exportsOf(library()), { WSAIoctl: 'own_WSAIoctl' }),
    'LIBRARY ws2_32.dll\nEXPORTS\n  accept=ws2_wine.accept @5\n  WSAIoctl=own_WSAIoctl @70\n',
  );
});
