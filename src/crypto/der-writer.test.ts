// What is written is read back by the strict reader as what it was, and what can't be written is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readAlternativeNames, writeAlternativeNames } from './alternative-names.ts';
import { DerError, derTag, oidOf, readDer, timeOf } from './der.ts';
import { der, derBits, derOid, derText, derTime, ia5Bytes } from './der-writer.ts';
import { readName, writeName } from './distinguished-name.ts';

test('values of all lengths have the shortest length there is', () => {
  for (const length of [0, 1, 127, 128, 255, 256, 65_535, 65_536, 70_000]) {
    const content = Buffer.alloc(length, 7);
    const value = readDer(der(derTag.octetString, content), derTag.octetString);
    assert.ok(content.equals(value.content), `${length}`);
  }
  assert.equal(der(derTag.octetString, Buffer.alloc(128)).subarray(0, 3).toString('hex'), '048180');
});

test('object identifiers go round, and other texts are none', () => {
  const arcs = fc.array(fc.nat({ max: 0xff_ffff_ffff }), { maxLength: 6 });
  fc.assert(
    fc.property(fc.nat({ max: 2 }), fc.nat({ max: 39 }), arcs, (top, second, others) => {
      const oid = [top, second, ...others].join('.');
      assert.equal(oidOf(readDer(derOid(oid))), oid);
    }),
  );
  for (const wrong of ['', '1', '3.1', '1.2.', '1.-2', 'a.b', '1.2.x'])
    assert.throws(() => derOid(wrong), DerError, wrong);
});

test('times go round to the second, on both sides of 1950 and 2050', () => {
  const years = { min: Date.UTC(1900, 0, 1), max: Date.UTC(9999, 11, 31) };
  fc.assert(
    fc.property(fc.integer(years), (ms) => {
      assert.equal(timeOf(readDer(derTime(ms))), Math.floor(ms / 1000) * 1000);
    }),
  );
  assert.equal(readDer(derTime(Date.UTC(2049, 11, 31, 23, 59, 59))).tag, derTag.utcTime);
  assert.equal(readDer(derTime(Date.UTC(2050, 0, 1))).tag, derTag.generalizedTime);
  assert.throws(() => derTime(Date.UTC(10_000, 0, 1)), DerError);
});

test('names go round, whatever their values hold: nothing in them is syntax', () => {
  const value = fc.oneof(
    fc.string(),
    fc.constantFrom(
      'a, O=system:masters',
      'CN=b+OU=c',
      '\\',
      '"',
      '#04024869',
      '\0',
      ' ',
      'é',
      '\u{1f600}',
      '*',
      '&',
    ),
  );
  const attribute = fc.record({ type: fc.constantFrom('2.5.4.3', '2.5.4.10', '2.5.4.5'), value });
  fc.assert(
    fc.property(fc.array(attribute, { maxLength: 5 }), (name) => {
      const whole = name.map(({ type, value }) => ({ type, value }));
      assert.deepEqual(readName(readDer(writeName(whole))), whole);
    }),
  );
  assert.throws(() => derText('half a letter \ud83d'), DerError);
  assert.equal(derText('system:node')[0], derTag.printableString);
  assert.equal(derText('kubeadm@x')[0], derTag.utf8String);
});

test('subject alternative names go round; what is no address, or beyond ASCII, is refused', () => {
  const names = {
    dnsNames: ['a.example', '*.b'],
    ips: ['10.0.0.1', 'fd00::1', '::'],
    emails: ['a@b.example'],
    uris: ['spiffe://a/b'],
  };
  assert.deepEqual(readAlternativeNames(writeAlternativeNames(names)), names);
  const mapped = { ...names, ips: ['::ffff:10.0.0.1'] };
  assert.deepEqual(readAlternativeNames(writeAlternativeNames(mapped)).ips, ['10.0.0.1']);
  for (const wrong of [
    { ips: ['10.0.0'] },
    { ips: ['fe80::1%eth0'] },
    { dnsNames: ['ä.example'] },
    { uris: ['a:\u0161'] },
  ])
    assert.throws(() => writeAlternativeNames({ ...names, ...wrong }), /no IP address|IA5String/);
  assert.throws(() => ia5Bytes('\u0141'), DerError, 'its low byte is a letter');
});

test('bits say how many of the last octet are none', () => {
  assert.equal(derBits(Buffer.from([0xa0]), 5).toString('hex'), '030205a0');
});
