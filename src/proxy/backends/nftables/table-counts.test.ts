// What a table has, as nft lists it, against what was written: each rule and each element counts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from '../../../base/turns.ts';
import type { Fragment, SharedChain } from './fragment.ts';
import { listedCounts, missingFrom, wantedCounts } from './table-counts.ts';

const listed = `table ip porthole-proxy {
	map services {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.1 . tcp . 443 : goto service-tcp-cluster-1,
			     10.96.0.10 . udp . 53 : goto affinity-1-cluster-entry, 10.96.0.10 . tcp . 53 : goto refuse }
	}

	map nodeports {
		type inet_proto . inet_service : verdict
	}

	set cluster-ips {
		type ipv4_addr
		elements = { 10.96.0.1, 10.96.0.10 }
	}

	chain dispatch {
		ip daddr . meta l4proto . th dport vmap @services
		fib daddr type local ip daddr != 127.0.0.0/8 meta l4proto . th dport vmap { tcp . 80 : drop, tcp . 81 : drop }
	}

	chain nat-prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		jump dispatch
	}
}
`;

test('each rule of a chain and each element of a map is counted', () => {
  const { rules, elements } = atOnce(listedCounts(listed));
  assert.deepEqual(
    [...rules],
    [
      ['dispatch', 2],
      ['nat-prerouting', 1],
    ],
  );
  assert.deepEqual(
    [...elements],
    [
      ['services', 3],
      ['nodeports', 0],
      ['cluster-ips', 2],
    ],
  );
});

test('what is missing is said by its chain or map; what others added is not', () => {
  const wanted = {
    rules: new Map([
      ['a', 2],
      ['b', 1],
    ]),
    elements: new Map([['m', 3]]),
  };
  assert.equal(missingFrom(wanted, wanted), undefined);
  const more = {
    rules: new Map([
      ['a', 3],
      ['b', 1],
      ['c', 1],
    ]),
    elements: new Map([['m', 4]]),
  };
  assert.equal(missingFrom(wanted, more), undefined);
  const less = { rules: new Map([['a', 1]]), elements: new Map([['m', 0]]) };
  assert.equal(missingFrom(wanted, less), '1 of 2 rules of a, 1 of 1 rules of b, 3 of 3 elements of m');
});

const sharedChain: SharedChain = {
  place: 'service',
  protocol: 'tcp',
  source: 'cluster',
  backends: 1,
  insideBackends: 0,
};

test('what services have in common is wanted once, and the base chains are', () => {
  const fragment = (key: string, chain: string): Fragment => ({
    elements: new Map([
      ['cluster-ips', new Map([['10.96.0.1', '']])],
      ['hairpin', new Map([['10.244.0.2 . 10.244.0.2', '']])],
      ['services', new Map([[key, 'goto x']])],
    ]),
    sharedChains: new Map([['service-tcp-cluster-1', sharedChain]]),
    chains: new Map([[chain, ['one', 'two']]]),
    sets: new Map(),
  });
  const shared = {
    chains: new Map([['service-tcp-cluster-1', sharedChain]]),
    hairpins: new Map([['10.244.0.2 . 10.244.0.2', 2]]),
  };
  const { rules, elements } = atOnce(
    wantedCounts([fragment('k1', 'c1'), fragment('k2', 'c2')], shared, '10.244.0.0/16'),
  );
  assert.deepEqual(
    ['cluster-ips', 'hairpin', 'services', 'nodeports'].map((name) => elements.get(name)),
    [1, 1, 2, 0],
  );
  assert.deepEqual(
    ['dispatch', 'nat-postrouting', 'service-tcp-cluster-1', 'c1', 'c2'].map((name) => rules.get(name)),
    [2, 2, 2, 2, 2],
  );
});
