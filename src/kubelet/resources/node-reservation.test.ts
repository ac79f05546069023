// What is kept from pods: how it is written, and the limits that follow from it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MachineInfo } from '../../os/stats.ts';
import { allPodsLimits, nothingReserved, parseReservation, sumOfReservations } from './node-reservation.ts';

const machine = { cpuCount: 4, memoryBytes: 8 * 2 ** 30, maxPids: 32_768 } as MachineInfo;

test('reservations are read as upstream writes them, and anything else is refused', () => {
  assert.deepEqual(parseReservation(''), nothingReserved);
  assert.deepEqual(parseReservation('cpu=100m,memory=256Mi,pid=1k'), {
    milliCpu: 100,
    memoryBytes: 256 << 20,
    pids: 1000,
  });
  for (const bad of ['cpu', 'cpu=x', 'cpu=-1', 'memory=', 'gpu=1', '=1', 'cpu=1;memory=1'])
    assert.throws(() => parseReservation(bad), bad);
});

test('all pods together get what is not reserved; without a word about pids half of them', () => {
  const both = sumOfReservations(parseReservation('cpu=1,memory=1Gi'), parseReservation('cpu=500m,pid=768'));
  assert.deepEqual(allPodsLimits(machine, both), {
    cpuShares: 2560,
    memoryLimitBytes: 7 * 2 ** 30,
    pidsLimit: 32_000,
  });
  assert.equal(allPodsLimits(machine, nothingReserved).pidsLimit, 16_384);
  for (const all of ['cpu=4', 'memory=9Gi', 'pid=40000'])
    assert.throws(() => allPodsLimits(machine, parseReservation(all)), /Expected capacity >= reservation/);
});
