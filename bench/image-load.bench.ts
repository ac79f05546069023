// An image of 300 MB into two nodes by `porthole image load`, beside what reading and copying the archive alone costs.
import { spawnSync } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeLayer } from '../src/images/image-tar.ts';
import { writeImageArchive } from '../src/images/oci-archive.ts';
import { startTestCluster, type TestCluster } from '../test/harness/cluster.ts';
import type { Bench, Measurement } from './bench.ts';
import { scratch } from './harness/servers.ts';

const rounds = 3;
const layerCount = 3;
const filesOfLayer = 400;
const fileBytes = 256 << 10;
const timesFloor = 3;

/** Bytes that nothing packs, others in each round: what a node has already would cost nothing. */
async function archiveOf(folder: string, round: number): Promise<string> {
  const random = createCipheriv('aes-128-ctr', Buffer.alloc(16, round + 1), Buffer.alloc(16));
  const layers: string[] = [];
  for (let l = 0; l < layerCount; l++) {
    const layer = join(folder, `layer-${l}.tar`);
    const content = join(folder, 'content');
    writeFileSync(content, random.update(Buffer.alloc(fileBytes)));
    const entries = Array.from({ length: filesOfLayer }, (_, i) => ({
      kind: 'file' as const,
      path: `data/${l}/${i}`,
      data: { file: content },
    }));
    await writeLayer(layer, entries);
    layers.push(layer);
  }
  const file = join(folder, `image-${round}.tar`);
  const part = { os: 'linux', architecture: 'amd64', config: {}, layers } as const;
  await writeImageArchive(file, `porthole.local/bench/image-${round}:1`, [part]);
  for (const layer of layers) rmSync(layer);
  return file;
}

function took(program: string, ...args: readonly string[]): number {
  const from = performance.now();
  const { status, stderr } = spawnSync(program, args, { stdio: 'pipe' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
  return performance.now() - from;
}

interface Round {
  readonly load: number;
  readonly floor: number;
}

async function oneRound(cluster: TestCluster, folder: string, round: number): Promise<Round> {
  const archive = await archiveOf(folder, round);
  const copy = join(folder, 'copy.tar');
  const floor = took('sha256sum', archive) + took('cp', archive, copy);
  rmSync(copy);
  const from = performance.now();
  const { code, stderr } = await cluster.porthole(['image', 'load', '--name', cluster.name, archive]);
  const load = performance.now() - from;
  if (code !== 0) throw new Error(stderr);
  if (statSync(archive).size < layerCount * filesOfLayer * fileBytes)
    throw new Error('the archive is too small');
  rmSync(archive);
  return { load, floor };
}

async function run(): Promise<readonly Measurement[]> {
  const folder = scratch();
  const cluster = await startTestCluster({ name: 'bench', linux: 2 });
  try {
    const measured: Round[] = [];
    for (let round = 0; round < rounds; round++) measured.push(await oneRound(cluster, folder, round));
    // The neighbours of this machine may disturb one of the two: the middle of the ratios.
    const sorted = measured.sort((a, b) => a.load / a.floor - b.load / b.floor);
    const { load, floor } = sorted[Math.floor(rounds / 2)]!;
    return [
      {
        what: `image load of ${((layerCount * filesOfLayer * fileBytes) / 1e6).toFixed(0)} MB into two nodes`,
        value: load / 1000,
        unit: 's',
        floor: { what: 'sha256sum and one cp of the archive', value: floor / 1000 },
        aim: { value: (timesFloor * floor) / 1000 },
      },
    ];
  } finally {
    await cluster.down();
    rmSync(folder, { recursive: true, force: true });
  }
}

export const bench: Bench = {
  name: 'image-load',
  question: 'what does it cost to check an archive and have it on two nodes?',
  needsBox: true,
  run,
};
