// The rules of a node's DNS: lanes are for nobody who names them, and there are none where they can't be had.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dnsRules, lanePorts } from './dns-table.ts';

const lanes = { ports: lanePorts.slice(0, 3), seed: 0xbeef };

test('those who ask go to a lane by their address, and answers come from where they asked', () => {
  const rules = dnsRules('10.96.0.10', lanes).split('\n');
  const at = (part: string): number => {
    const found = rules.findIndex((rule) => rule.includes(part));
    assert.notEqual(found, -1, part);
    return found;
  };
  const toLane = at(
    'udp dport 53 udp dport set jhash ip saddr mod 3 seed 0xbeef map { 0 : 914, 1 : 915, 2 : 916 }',
  );
  assert.ok(
    at('ip daddr 10.96.0.10 udp dport { 914, 915, 916 } drop') < toLane,
    'whoever names a lane passes by the share',
  );
  assert.ok(at('update @askers') < toLane);
  assert.ok(at('ip daddr 10.96.0.10 udp dport 53 notrack') < toLane);
  assert.ok(
    at('ip saddr 10.96.0.10 udp sport { 914, 915, 916 } notrack udp sport set 53') > at('hook output'),
  );
});

test('without lanes there is one socket, and the share of each who asks', () => {
  const rules = dnsRules('10.96.0.10', { ports: [], seed: 1 });
  assert.doesNotMatch(rules, /jhash|914/);
  assert.match(rules, /udp dport 53 update @askers \{ ip saddr limit rate over 20000\/second/);
});
