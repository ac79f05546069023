// Which logs of containerd's mean that its store is damaged, and what is said of the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noCriText, saysDamaged } from './damaged-store.ts';

const line = (plugin: string, error: string): string =>
  `time="t" level=warning msg="failed to load plugin io.containerd.${plugin}" error="${error}"`;

test('only a database that is none is damaged, as each release of containerd writes it; a full disk is not', () => {
  const rows: readonly (readonly [said: string, damaged: boolean])[] = [
    [line('metadata.v1.bolt', 'invalid database'), true],
    [
      'level=warning msg="failed to load plugin" error="checksum error" id=io.containerd.metadata.v1.bolt',
      true,
    ],
    [line('metadata.v1.bolt', 'write meta.db: no space left on device'), false],
    [line('metadata.v1.bolt', 'read meta.db: input/output error'), false],
    [line('snapshotter.v1.native', 'invalid database'), false],
    ['level=info msg="loading plugin io.containerd.metadata.v1.bolt" note="invalid database"', false],
    ['', false],
  ];
  for (const [said, damaged] of rows) assert.equal(saysDamaged(`first\n${said}\nlast`), damaged, said);
});

test('a containerd without CRI is named with its own words and the next step', () => {
  const cri = line('grpc.v1.cri', 'no snapshotter');
  assert.equal(
    noCriText(`${line('metadata.v1.bolt', 'x')}\n${cri}\n`, '/n/containerd.log', '/n/root'),
    `containerd runs without its CRI: ${cri} (/n/containerd.log); next: mend what it names; if it is its store, move /n/root away, porthole up, and load the images again`,
  );
  assert.match(noCriText('', '/l', '/r'), /without its CRI: it does not say why \(\/l\); next: /);
});
