// The states of a pod's worker: the whole table, and lives of pods, as scenarios. UPDATE_SCENARIOS=1 writes what came.
import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Command, replay, titleOf } from '../base/testing/datadriven.ts';
import { newWorker, transition, type WorkerEvent, type WorkerState } from './pod-worker-state.ts';

const folder = fileURLToPath(new URL('testdata/pod-worker-state', import.meta.url));

const shown = ({ kind, ...rest }: WorkerState): string =>
  [
    kind,
    ...Object.entries(rest).flatMap(([name, value]) => {
      if (value === undefined) return [];
      return [`${name}=${typeof value === 'object' ? value.reason : value}`];
    }),
  ].join(' ');

function eventOf({ name, options }: Command): WorkerEvent {
  const reason = options.get('verdict');
  const verdict = reason === undefined ? {} : { verdict: { reason, message: '' } };
  return { kind: name, graceSeconds: Number(options.get('grace') ?? 30), ...verdict } as WorkerEvent;
}

const grace = 30;
const verdict = { reason: 'Evicted', message: '' };
const every: { readonly [E in WorkerEvent['kind']]: WorkerEvent & { readonly kind: E } } = {
  changed: { kind: 'changed' },
  admitted: { kind: 'admitted' },
  over: { kind: 'over', graceSeconds: grace },
  deleted: { kind: 'deleted', graceSeconds: grace },
  removed: { kind: 'removed', graceSeconds: grace },
  evicted: { kind: 'evicted', graceSeconds: 1, verdict },
  stopped: { kind: 'stopped' },
  cleared: { kind: 'cleared' },
};

/** What each event makes of a state: its row of the table. */
const rowOf = (state: WorkerState): string =>
  Object.values(every)
    .map((event) => {
      const { state: next, effects } = transition(state, event);
      return `${event.kind.padEnd(9)}${next === state ? 'stays' : shown(next)}${effects.map((e) => ` !${e}`).join('')}`;
    })
    .join('\n');

for (const file of globSync(`${folder}/*.txt`).sort()) {
  const text = readFileSync(file, 'utf8');
  test(`the worker: ${titleOf(text)}`, async () => {
    let state: WorkerState = newWorker;
    const came = await replay(text, (command) => {
      if (command.name === 'new') state = newWorker;
      if (command.name === 'new') return shown(state);
      if (command.name === 'row') return rowOf(state);
      const next = transition(state, eventOf(command));
      state = next.state;
      return `${shown(state)}${next.effects.map((e) => ` !${e}`).join('')}`;
    });
    if (process.env['UPDATE_SCENARIOS']) writeFileSync(file, came);
    assert.equal(came, text);
  });
}
