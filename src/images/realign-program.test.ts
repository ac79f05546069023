// Moving a program's sections to page boundaries.
import assert from 'node:assert/strict';
import test from 'node:test';
import { realignProgram } from './realign-program.ts';

/** A 64-bit program of two sections at 512-byte alignment, and one that has no bytes in the file. */
function program(): Buffer {
  const file = Buffer.alloc(0x400 + 0x200 + 0x400);
  file.write('MZ', 0, 'latin1');
  file.writeUInt32LE(0x80, 0x3c);
  file.write('PE\0\0', 0x80, 'latin1');
  file.writeUInt16LE(3, 0x86);
  file.writeUInt16LE(0xf0, 0x94);
  const optional = 0x98;
  file.writeUInt16LE(0x20b, optional);
  file.writeUInt32LE(0x200, optional + 36);
  file.writeUInt32LE(0x400, optional + 60);
  file.writeUInt32LE(0x1234, optional + 64);
  file.writeUInt32LE(0x9999, optional + 112 + 4 * 8);
  const sections = optional + 0xf0;
  const section = (index: number, size: number, start: number): void => {
    file.writeUInt32LE(size, sections + index * 40 + 16);
    file.writeUInt32LE(start, sections + index * 40 + 20);
  };
  section(0, 0x200, 0x400);
  section(1, 0x400, 0x600);
  section(2, 0, 0);
  file.fill('A', 0x400, 0x600);
  file.fill('B', 0x600, 0xa00);
  return file;
}

test('sections keep their bytes at page boundaries; signature and checksum are gone', () => {
  const result = realignProgram(program());
  const optional = 0x98;
  const sections = optional + 0xf0;
  assert.equal(result.length, 3 * 4096);
  assert.equal(result.readUInt32LE(optional + 36), 4096);
  assert.equal(result.readUInt32LE(optional + 60), 4096);
  assert.equal(result.readUInt32LE(optional + 64), 0);
  assert.equal(result.readUInt32LE(optional + 112 + 4 * 8), 0);
  assert.equal(result.readUInt32LE(sections + 20), 4096);
  assert.equal(result.readUInt32LE(sections + 40 + 20), 8192);
  assert.equal(result.toString('latin1', 4096, 4096 + 0x201), `${'A'.repeat(0x200)}\0`);
  assert.equal(result.toString('latin1', 8192, 8192 + 0x401), `${'B'.repeat(0x400)}\0`);
  assert.equal(result.readUInt32LE(sections + 80 + 20), 0);
});

test('what is aligned already, or is no program, is returned as it is', () => {
  const once = realignProgram(program());
  assert.equal(realignProgram(once), once);
  for (const other of [Buffer.alloc(0), Buffer.from('MZ'), Buffer.alloc(100, 'x')]) {
    assert.equal(realignProgram(other), other);
  }
});
