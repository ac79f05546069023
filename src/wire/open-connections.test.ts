// Connections that a server has open: whose goes when there are too many.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { connectionsOf, OpenConnections } from './open-connections.ts';

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  isCut = false;
  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }
  destroy(): void {
    this.isCut = true;
    queueMicrotask(() => this.emit('close'));
  }
}

test('beyond the bound the address with the most connections loses its oldest, others none', async () => {
  const open = new OpenConnections(10);
  const add = (address: string): FakeSocket => {
    const socket = new FakeSocket(address);
    open.add(socket as unknown as Socket);
    return socket;
  };
  const quiet = [add('10.0.0.1'), add('10.0.0.1'), add('10.0.0.2')];
  const crowd = Array.from({ length: 100 }, () => add('10.0.0.3'));
  assert.deepEqual(
    crowd.map((socket) => socket.isCut),
    crowd.map((_, i) => i < 93),
  );
  assert.ok(quiet.every((socket) => !socket.isCut));
  await Promise.resolve();
  // Who has left makes room.
  crowd.at(-1)!.emit('close');
  const next = add('10.0.0.2');
  assert.ok(!crowd.at(-2)!.isCut && !next.isCut);
});

test('of the files that may be open a thousand are kept, of few of them half', () => {
  const files = [20_000, 1024, Number.POSITIVE_INFINITY];
  assert.deepEqual(files.map(connectionsOf), [19_000, 512, Number.POSITIVE_INFINITY]);
});
