// Blocks of addresses for nodes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatCidr } from '../../base/ip.ts';
import { blockNumber, freeAt, freeBlock, parseRange } from './cidr-blocks.ts';

const free = (cluster: string, prefix: number, used: readonly string[], from = 0): string | undefined => {
  const found = freeBlock(parseRange(cluster), prefix, used.map(parseRange), from);
  return found === undefined ? undefined : formatCidr(found.block);
};

describe('freeBlock', () => {
  it('gives the first block that nobody has', () => {
    assert.equal(free('10.244.0.0/16', 24, []), '10.244.0.0/24');
    assert.equal(free('10.244.0.0/16', 24, ['10.244.0.0/24', '10.244.2.0/24']), '10.244.1.0/24');
  });
  it('goes on from the last one and comes round', () => {
    assert.equal(free('10.0.0.0/30', 32, ['10.0.0.1/32'], 3), '10.0.0.3/32');
    assert.equal(free('10.0.0.0/30', 32, ['10.0.0.3/32'], 3), '10.0.0.0/32');
  });
  it('steers clear of blocks of other sizes', () => {
    assert.equal(free('10.244.0.0/16', 24, ['10.244.0.0/23']), '10.244.2.0/24');
    assert.equal(free('10.244.0.0/16', 24, ['10.244.0.128/25', '10.244.1.7/32']), '10.244.2.0/24');
    assert.equal(free('10.244.0.0/16', 24, ['10.0.0.0/8']), undefined);
    assert.equal(free('10.244.0.0/16', 24, ['192.168.0.0/16', 'fd00::/8']), '10.244.0.0/24');
  });
  it('says when all are taken', () => {
    assert.equal(free('10.0.0.0/31', 32, ['10.0.0.0/32', '10.0.0.1/32']), undefined);
    assert.equal(free('10.0.0.0/24', 16, []), undefined);
  });
  it('knows IPv6', () => {
    assert.equal(free('fd00:10:244::/56', 64, ['fd00:10:244::/64']), 'fd00:10:244:1::/64');
  });
});

describe('parseRange', () => {
  it('refuses what is no range', () => {
    for (const text of [
      '',
      '10.0.0.0',
      '10.0.0.0/33',
      '10.0.0/8',
      '256.0.0.0/8',
      '1.2.3.04/8',
      'fd00::1::/64',
      'g::/8',
      '10.0.0.0/-1',
      '10.0.0.0/8 ',
    ])
      assert.throws(() => parseRange(text), { message: `invalid CIDR address: ${text}` });
  });
  it('writes what it read', () => {
    for (const text of [
      '0.0.0.0/0',
      '10.1.2.0/24',
      '::/0',
      'fd00::/8',
      '2001:db8:0:1::/64',
      '2001:db8:1:2:3:4:5:6/128',
    ])
      assert.equal(formatCidr(parseRange(text)), text);
  });
});

it('a block that a node had is found again while it is free', () => {
  const cluster = parseRange('10.1.0.0/16');
  const had = parseRange('10.1.7.0/24');
  assert.equal(blockNumber(cluster, 24, had), 7);
  assert.equal(formatCidr(freeAt(cluster, 24, [parseRange('10.1.6.0/24')], 7)!.block), '10.1.7.0/24');
  assert.equal(freeAt(cluster, 24, [parseRange('10.1.0.0/20')], 7), undefined);
  for (const other of ['10.2.7.0/24', '10.1.7.0/25', 'fd00::/24'])
    assert.equal(blockNumber(cluster, 24, parseRange(other)), undefined, other);
});
