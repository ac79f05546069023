// Long texts take room from others, for as long as they wait.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WaitingRoom } from './waiting-room.ts';

test('who finds no room is told so; there is some again when others have left', () => {
  const waiting = new WaitingRoom(10_000);
  assert.equal(waiting.enter(9_000), undefined);
  const leave = waiting.enter(5_000);
  assert.ok(leave !== undefined);
  assert.equal(waiting.enter(5_000), undefined);
  const leaveShort = Array.from({ length: 4 }, () => waiting.enter(0));
  assert.deepEqual(
    leaveShort.map((one) => one !== undefined),
    [true, true, true, false],
  );
  leave();
  assert.ok(waiting.enter(5_000) !== undefined);
});
