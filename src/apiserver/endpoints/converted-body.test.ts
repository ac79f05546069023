// An object of a large list that can't be shaped: its reader is cut, and the process does not hear of it.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { Turns } from '../../base/turns.ts';
import { writePull } from '../../wire/body-writer.ts';
import { ConvertedBody } from './converted-body.ts';

const piece = (text: string): Buffer => Buffer.from(text);

test('what a piece can not be made for cuts the answer', async () => {
  const body = new ConvertedBody({
    values: [piece('{}'), piece('{"bad":true}')],
    item: (value) => {
      const object = JSON.parse(value.toString()) as { bad?: boolean };
      if (object.bad === true) throw new Error('row failed');
      return piece('x');
    },
    writer: { head: piece('['), separator: piece(','), tail: piece(']') },
    turns: new Turns(setImmediate),
    monotonic: () => 0,
  });
  const out = new PassThrough();
  out.resume();
  const failed = new Promise<Error>((resolve) => out.once('error', resolve));
  let ended = 0;
  writePull(out, body, () => ended++);
  assert.equal((await failed).message, 'row failed');
  assert.equal(ended, 1);
  assert.equal(out.writableFinished, false);
});
