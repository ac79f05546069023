// A containerd that died is started, one that hangs is killed first; what it needs is seen to each time it has answered.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { GrpcError } from '../../wire/grpc-client.ts';
import { lookAfter } from './containerd-supervisor.ts';

const failure = (code: string): GrpcError => new GrpcError('/runtime.v1.RuntimeService/Status', code, code);

function machine() {
  const clock = new FakeClock();
  const did: string[] = [];
  const said: string[] = [];
  const state = { running: true, fails: undefined as Error | undefined };
  const look = lookAfter(
    {
      isRunning: async () => state.running,
      start: async () => {
        did.push('start');
        state.running = true;
        state.fails = undefined;
      },
      ask: async () => {
        did.push('ask');
        if (state.fails) throw state.fails;
      },
      kill: async () => {
        did.push('kill');
        state.running = false;
      },
      started: async (start) => {
        did.push('before start');
        await start();
      },
      answered: async () => void did.push('answered'),
    },
    { clock, log: { ...silentLogger, warn: (_fields: object, text?: string) => void said.push(text ?? '') } },
  );
  const seconds = async (count: number): Promise<string[]> => {
    did.length = 0;
    for (let i = 0; i < count; i++) {
      clock.advance(1000);
      await look();
    }
    return [...did];
  };
  return { state, seconds, said };
}

test('it is asked every ten seconds, and each answer is the moment to see to what it needs', async () => {
  const { seconds } = machine();
  assert.deepEqual(await seconds(21), ['ask', 'answered', 'ask', 'answered', 'ask', 'answered']);
});

test('one that does not answer three times in a row is killed and started anew', async () => {
  const { state, seconds, said } = machine();
  await seconds(1);
  state.fails = failure('DeadlineExceeded');
  assert.deepEqual(await seconds(29), ['ask', 'ask']);
  assert.deepEqual(await seconds(2), ['ask', 'kill', 'before start', 'start']);
  assert.match(said[0]!, /^containerd did not answer 3 times/);
  assert.deepEqual(await seconds(1), ['ask', 'answered'], 'what it needs does not wait');
});

test('an error is an answer, and so is one between two silences', async () => {
  const { state, seconds } = machine();
  state.fails = failure('Unavailable');
  await seconds(20);
  state.fails = undefined;
  await seconds(10);
  state.fails = failure('Unavailable');
  await seconds(20);
  state.fails = failure('Unknown');
  const each = Array.from({ length: 12 }, () => 'ask');
  assert.deepEqual(await seconds(12), each, 'one that is not ready yet is asked each second');
  assert.equal(state.running, true);
});
