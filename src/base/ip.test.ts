// Addresses and prefixes of both families: what Go's net/netip reads and refuses, how they are written, and what overlaps.
import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  cidrContains,
  cidrOf,
  cidrsOverlap,
  formatCidr,
  formatIp,
  hostPort,
  type Ip,
  ipAt,
  isWithin,
  parseCidr,
  parseIp,
  parseIpWithBits,
  sizeOfCidr,
  unmapped,
} from './ip.ts';

const ip = (text: string): Ip => parseIp(text)!;

test('every text of an address is read, and written as RFC 5952 says', () => {
  const rows: [text: string, canonical: string][] = [
    ['0.0.0.0', '0.0.0.0'],
    ['10.244.1.7', '10.244.1.7'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['2001:DB8::0001', '2001:db8::1'],
    ['2001:0db8:0000:0000:0000:ff00:0042:8329', '2001:db8::ff00:42:8329'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:0:0:2:3:0:0:4', '1::2:3:0:0:4'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['10:0:0:100:0:0:0:1000', '10:0:0:100::1000'],
    ['a0:0:0:b0::', 'a0:0:0:b0::'],
    ['::ffff:1.2.3.4', '::ffff:1.2.3.4'],
    ['::ffff:102:304', '::ffff:1.2.3.4'],
    ['::1.2.3.4', '::102:304'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['::1%%', '::1%%'],
  ];
  for (const [text, canonical] of rows) assert.equal(formatIp(ip(text)), canonical, text);
});

test("what Go's net/netip refuses is refused", () => {
  const texts = [
    ['', ' ', '1', '1.2.3', '1.2.3.4.5', '01.2.3.4', '1.2.3.00', '256.1.1.1', '1.2.3.x', '0x1.2.3.4'],
    [' 1.2.3.4', '1.2.3.4 ', '1..2.3', '.1.2.3', '1.2.3.4.', '+1.2.3.4', '1.2.3.4%eth0', '1e1.2.3.4'],
    [':', ':::', '1:2', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:8::', '::1:2:3:4:5:6:7:8'],
    ['1:2:3:4::5:6:7:8', '1::2::3', ':1::', '1::2:', '12345::', 'g::', '::-1', ' ::1', '[::1]', '::1/128'],
    ['::ffff:01.2.3.4', '::ffff:0x1.2.3.4', '::1.2.3', '::1.2.3.256', '1.2.3.4::', '::1.2.3.4:5'],
    ['1:2:3:4:5:6:7:1.2.3.4', '1:2:3:4:5:1.2.3.4', 'fe80::1%', '%eth0'],
  ].flat();
  for (const text of texts) assert.equal(parseIp(text), undefined, JSON.stringify(text));
});

test('what is written is read as the same address, and is an address to others, too', () => {
  const value = fc.oneof(
    fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((value): Ip => ({ family: 4, value })),
    // groups that are often zero: runs of them are what is shortened
    fc
      .array(fc.oneof(fc.constant(0), fc.constant(0xffff), fc.integer({ min: 0, max: 0xffff })), {
        minLength: 8,
        maxLength: 8,
      })
      .map(
        (groups): Ip => ({
          family: 6,
          value: groups.reduce((sum, group) => (sum << 16n) + BigInt(group), 0n),
        }),
      ),
  );
  fc.assert(
    fc.property(value, (address) => {
      const text = formatIp(address);
      assert.deepEqual(parseIp(text), address);
      assert.equal(isIP(text), address.family);
      // a browser's shortest form is the same, but for the dots
      if (address.family === 6 && !text.includes('.'))
        assert.equal(new URL(`http://[${text}]`).hostname, `[${text}]`);
    }),
    { numRuns: 2000 },
  );
});

test('what is no address to others is none here', () => {
  const piece = fc.constantFrom('::', ':', '0', '1', '00', '1.2', '.', '255', '256', 'ffff', 'fffff', 'g');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      assert.equal(parseIp(text) !== undefined, isIP(text) !== 0, text);
    }),
    { numRuns: 5000 },
  );
});

test("an IPv4 address in IPv6's clothes is another value, and the same machine", () => {
  assert.notDeepEqual(ip('::ffff:1.2.3.4'), ip('1.2.3.4'));
  assert.deepEqual(unmapped(ip('::ffff:1.2.3.4')), ip('1.2.3.4'));
  for (const text of ['1.2.3.4', '::1.2.3.4', '1::ffff:1.2.3.4', 'fe80::1%eth0'])
    assert.deepEqual(unmapped(ip(text)), ip(text));
});

test('a prefix loses its host bits, and the address with it keeps them', () => {
  const rows: [string, string, string][] = [
    ['10.1.2.3/24', '10.1.2.0/24', '10.1.2.3'],
    ['10.1.2.3/0', '0.0.0.0/0', '10.1.2.3'],
    ['10.1.2.3/32', '10.1.2.3/32', '10.1.2.3'],
    ['2001:db8:0:1::7/64', '2001:db8:0:1::/64', '2001:db8:0:1::7'],
    ['ffff::/1', '8000::/1', 'ffff::'],
    ['::1/128', '::1/128', '::1'],
    ['::ffff:1.2.3.4/120', '::ffff:1.2.3.0/120', '::ffff:1.2.3.4'],
  ];
  for (const [text, cidr, address] of rows) {
    assert.equal(formatCidr(parseCidr(text)!), cidr);
    assert.equal(formatIp(parseIpWithBits(text)!.ip), address);
  }
  for (const text of ['10.0.0.0', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/8/8', '10.0.0.0/ 8'])
    assert.equal(parseCidr(text), undefined, text);
  for (const text of ['x/8', '/8', '10/8', '010.0.0.0/8', '::/129', '::/-1', 'fe80::%eth0/64', '10.0.0.0/+8'])
    assert.equal(parseCidr(text), undefined, text);
});

test('what a prefix contains, and how many', () => {
  const cidr = parseCidr('10.1.2.0/24')!;
  assert.ok(cidrContains(cidr, ip('10.1.2.255')));
  assert.ok(!cidrContains(cidr, ip('10.1.3.0')));
  assert.ok(!cidrContains(parseCidr('::/0')!, ip('10.1.2.3')), 'of another family');
  assert.ok(!cidrContains(parseCidr('fe80::/10')!, ip('fe80::1%eth0')), 'an address with a zone is in none');
  assert.ok(cidrContains(parseCidr('fe80::/10')!, ip('fe80::1')));
  assert.equal(sizeOfCidr(cidr), 256n);
  assert.equal(sizeOfCidr(parseCidr('::/64')!), 1n << 64n);
  assert.equal(formatIp(ipAt(cidr, 2)!), '10.1.2.2');
  assert.equal(ipAt(cidr, 256), undefined);
  assert.equal(ipAt(cidr, -1), undefined);
  assert.equal(formatIp(ipAt(parseCidr('fd00::/64')!, 10)!), 'fd00::a');
  assert.equal(formatCidr(cidrOf(ip('fd00::7'))), 'fd00::7/128');
});

test('prefixes overlap when one is in the other, and never across families', () => {
  const rows: [a: string, b: string, overlap: boolean, within: boolean][] = [
    ['10.1.2.0/24', '10.0.0.0/8', true, true],
    ['10.0.0.0/8', '10.1.2.0/24', true, false],
    ['10.1.2.0/24', '10.1.3.0/24', false, false],
    ['fd00:1::/32', 'fd00::/8', true, true],
    ['0.0.0.0/0', '::/0', false, false],
  ];
  for (const [a, b, overlap, within] of rows) {
    assert.equal(cidrsOverlap(parseCidr(a)!, parseCidr(b)!), overlap, `${a} ${b}`);
    assert.equal(isWithin(parseCidr(a)!, parseCidr(b)!), within, `${a} ${b}`);
  }
});

test('the colons of an address are not those before its port', () => {
  assert.equal(hostPort('10.0.0.1', 80), '10.0.0.1:80');
  assert.equal(hostPort('fd00::1', 80), '[fd00::1]:80');
  assert.equal(hostPort('node-1', '443'), 'node-1:443');
});

test('any text of groups and colons is read as Node’s own parser reads it, and written so that it is the same address', () => {
  const part = fc.constantFrom(
    ':',
    '::',
    '0',
    '1',
    'a',
    'F',
    'ffff',
    '0000',
    '00ab',
    '12345',
    'g',
    '1.2.3.4',
  );
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 17 }), (parts) => {
      const text = parts.join('');
      const read = parseIp(text);
      assert.equal(read?.family ?? 0, isIP(text), text);
      if (read !== undefined) assert.deepEqual(parseIp(formatIp(read)), read, text);
    }),
    { numRuns: 2_000 },
  );
});

test('a hundred thousand addresses are read, and written, without holding anybody for long', () => {
  const texts = Array.from({ length: 100_000 }, (_, i) => `2001:db8:${(i >> 8).toString(16)}:${i & 255}::1`);
  const from = process.cpuUsage();
  for (const text of texts) formatIp(parseIp(text)!);
  // 1.5 s and more, when the groups were cut out and put together as texts.
  assert.ok(process.cpuUsage(from).user < 1_000_000, `${process.cpuUsage(from).user} µs`);
});
