// What nobody caught: counted, said with its stack, and survived.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { silentLogger } from '../component-base/logger.ts';
import { installLastNet } from './last-net.ts';

function net() {
  const process = new EventEmitter();
  const counted: string[] = [];
  const logged: { error: Error; origin: string }[] = [];
  let now = 0;
  installLastNet({
    process,
    log: { ...silentLogger, error: (fields) => void logged.push(fields as { error: Error; origin: string }) },
    clock: { monotonic: () => now },
    errors: { inc: ({ origin }) => void counted.push(origin ?? '') },
  });
  const later = (ms: number): void => {
    now += ms;
  };
  return { process, counted, logged, later };
}

test('a rejection that nobody handles is counted and logged with its stack', () => {
  const { process, counted, logged } = net();
  process.emit('unhandledRejection', new Error('no relationship found'));
  process.emit('uncaughtException', 'a string');
  assert.deepEqual(counted, ['unhandledRejection', 'uncaughtException']);
  assert.match(logged[0]!.error.stack ?? '', /no relationship found[\s\S]*last-net\.test\.ts/);
  assert.equal(logged[1]!.error.message, 'not an Error: a string');
});

test('an error at each event is counted each time, but said a bounded number of times a minute', () => {
  const { process, counted, logged, later } = net();
  for (let i = 0; i < 1000; i++) process.emit('uncaughtException', new Error('again'));
  assert.equal(counted.length, 1000);
  assert.equal(logged.length, 30);
  later(60_000);
  process.emit('uncaughtException', new Error('again'));
  assert.equal(logged.length, 31);
});

test('output that nobody reads is not told to the output', () => {
  const { process, counted, logged } = net();
  process.emit(
    'uncaughtException',
    Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' }),
  );
  assert.equal(counted.length, 1);
  assert.equal(logged.length, 0);
});
