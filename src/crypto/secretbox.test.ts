// secretbox: NaCl's own vector, and nothing opened of what was changed or cut.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretbox } from './secretbox.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const key = hex('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389');
const nonce = hex('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37');
const plain = hex(
  'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705',
);
const sealed = hex(
  'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5',
);

test("NaCl's vector, behind its nonce as upstream stores it, is opened", () => {
  assert.deepEqual(secretbox(key).open(Buffer.concat([nonce, sealed]), ''), plain);
});

test('what is sealed is opened by its key alone, whole; no two seals are the same', () => {
  const box = secretbox(key);
  const one = box.seal(plain, '');
  assert.deepEqual(box.open(one, ''), plain);
  assert.notDeepEqual(one, box.seal(plain, ''));
  const refused = /output array was not large enough for encryption|shorter than the required size/;
  assert.throws(() => secretbox(Buffer.alloc(32)).open(one, ''), refused);
  for (let at = 0; at < one.length; at++) {
    const flipped = Buffer.from(one);
    flipped[at]! ^= 1;
    assert.throws(() => box.open(flipped, ''), refused);
    assert.throws(() => box.open(one.subarray(0, at), ''), refused);
  }
});
