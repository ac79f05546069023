// Blocks of addresses for nodes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatCidr } from '../../base/ip.ts';
import { BlockPool, parseRange } from './cidr-blocks.ts';
import { NodeBlocks } from './node-blocks.ts';

function poolOf(cluster: string, prefix: number, used: readonly string[]): BlockPool {
  const pool = new BlockPool(parseRange(cluster), prefix);
  for (const range of used) pool.take(parseRange(range));
  return pool;
}

const free = (cluster: string, prefix: number, used: readonly string[], from = 0): string | undefined => {
  const found = poolOf(cluster, prefix, used).free(from);
  return found === undefined ? undefined : formatCidr(found.block);
};

describe('the first free block', () => {
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
  const pool = poolOf('10.1.0.0/16', 24, ['10.1.6.0/24']);
  assert.equal(pool.numberOf(parseRange('10.1.7.0/24')), 7);
  assert.equal(formatCidr(pool.freeAt(7)!.block), '10.1.7.0/24');
  assert.equal(poolOf('10.1.0.0/16', 24, ['10.1.0.0/20']).freeAt(7), undefined);
  for (const other of ['10.2.7.0/24', '10.1.7.0/25', 'fd00::/24'])
    assert.equal(pool.numberOf(parseRange(other)), undefined, other);
});

it('what is given back is free again, when nobody else has it', () => {
  const pool = poolOf('10.1.0.0/16', 24, ['10.1.0.0/24', '10.1.0.0/24', '10.1.1.0/25', 'fd00::/64']);
  pool.giveBack(parseRange('10.1.0.0/24'));
  assert.equal(pool.freeAt(0), undefined);
  pool.giveBack(parseRange('10.1.0.0/24'));
  pool.giveBack(parseRange('10.1.1.0/25'));
  assert.equal(pool.freeAt(0)?.number, 0);
  assert.equal(pool.freeAt(1)?.number, 1);
});

describe('the blocks of nodes', () => {
  const blocks = (): NodeBlocks => new NodeBlocks([{ cluster: parseRange('10.1.0.0/16'), prefix: 24 }]);
  const given = (to: NodeBlocks, name: string): string => {
    const found = to.give(name);
    return 'blocks' in found ? found.blocks.join() : 'full';
  };

  it('a node keeps what was given to it until it shows it, and its block is not given twice', () => {
    const all = blocks();
    all.saw('old', ['10.1.0.0/24']);
    assert.equal(given(all, 'a'), '10.1.1.0/24');
    all.saw('a', []);
    assert.ok(all.has('a'));
    assert.equal(given(all, 'b'), '10.1.2.0/24');
    all.saw('a', ['10.1.1.0/24']);
    all.takeBack('a');
    assert.ok(all.has('a'));
    all.takeBack('b');
    assert.ok(!all.has('b'));
  });

  it('a node that comes back gets its block again, and another does not while there are others', () => {
    const all = blocks();
    all.saw('a', ['10.1.0.0/24']);
    all.left('a');
    all.saw('b', ['10.1.1.0/24']);
    assert.equal(given(all, 'a'), '10.1.0.0/24');
  });

  it('what a user wrote by hand takes its blocks, and frees them when it is changed', () => {
    const all = blocks();
    all.saw('a', ['10.1.0.0/23', 'nonsense']);
    assert.equal(given(all, 'b'), '10.1.2.0/24');
    all.saw('a', ['10.1.4.0/24']);
    all.left('b');
    const rest = Array.from({ length: 255 }, (_, i) => given(all, `node-${i}`));
    assert.equal(new Set(rest).size, 255);
    assert.ok(!rest.includes('10.1.4.0/24'));
    assert.equal(given(all, 'one-more'), 'full');
  });
});
