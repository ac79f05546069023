// Reading the libraries that a program needs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { neededLibraries } from './elf-needed.ts';

test('a dynamic program names its libraries', () => {
  assert.ok(neededLibraries(readFileSync(process.execPath)).includes('libc.so.6'));
});

test('what is no 64-bit ELF file needs nothing', () => {
  assert.deepEqual(neededLibraries(Buffer.from('#!/bin/sh\n')), []);
  assert.deepEqual(neededLibraries(Buffer.alloc(64)), []);
});

test('a file that is cut short is an error, not a wrong answer', () => {
  const cut = readFileSync(process.execPath).subarray(0, 70);
  assert.throws(() => neededLibraries(cut));
});
