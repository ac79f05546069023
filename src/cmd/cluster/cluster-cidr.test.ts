// Pod addresses of several clusters on one machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseClusterCidr } from './cluster-cidr.ts';

test('the first cluster of a machine has the usual pod addresses', () => {
  assert.equal(chooseClusterCidr(['192.168.1.5/24', 'default', '172.30.0.0/24']), '10.244.0.0/16');
});

test('a second cluster, or a machine that routes there, gets others', () => {
  assert.equal(chooseClusterCidr(['10.244.0.0/16']), '10.128.0.0/16');
  assert.equal(chooseClusterCidr(['10.244.3.0/24', '10.128.7.9/32']), '10.129.0.0/16');
});
