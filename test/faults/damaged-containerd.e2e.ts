// A containerd whose database of images and containers is damaged, as after a power cut.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { ensureContainerd, removeContainerd } from '../../src/kubelet/containerd/containerd-process.ts';
import { ensureCri } from '../../src/kubelet/containerd/damaged-store.ts';
import { createLinuxHost } from '../../src/os/linux/host-linux.ts';
import { createCri } from '../../src/rpc-api/cri.ts';
import { createGrpcClient, isGrpcError } from '../../src/wire/grpc-client.ts';
import { containerdIn } from '../harness/containerd-folders.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const scratch = scratchDirectory('damaged-containerd');
const options = containerdIn(scratch.path, 'pause:none');
const database = join(options.root, 'io.containerd.metadata.v1.bolt/meta.db');
const said: unknown[] = [];
const warned: unknown[] = [];
const log = {
  ...silentLogger,
  error: (fields: object) => void said.push(fields),
  warn: (fields: object) => void warned.push(fields),
};
const deps = { host: createLinuxHost(), clock: systemClock, log };
mkdirSync(options.cniConfDir, { recursive: true });
after(async () => {
  await removeContainerd(deps, { ...options, images: true });
  scratch.remove();
});

async function version(): Promise<string | undefined> {
  const grpc = createGrpcClient(systemClock, `unix://${options.address}`);
  try {
    return (await createCri(grpc).runtime.version()).runtimeName;
  } finally {
    grpc.close();
  }
}

const aside = (): string[] => readdirSync(scratch.path).filter((name) => name.startsWith('root.damaged-'));

test('a damaged store is moved aside, also of a containerd that runs; the last one is kept', async () => {
  for (const round of [1, 2]) {
    await removeContainerd(deps, options);
    mkdirSync(dirname(database), { recursive: true });
    writeFileSync(database, Buffer.alloc(65_536));
    await ensureContainerd(deps, options);
    await assert.rejects(version(), (error) => isGrpcError(error, 'Unimplemented'), 'it is not what it was');
    await ensureCri(deps, options);
    assert.equal(await version(), 'containerd');
    assert.equal(aside().length, 1);
    assert.deepEqual(said.at(-1), {
      aside: join(scratch.path, aside()[0]!),
      log: join(options.dir, 'containerd.log'),
    });
    assert.equal(said.length, round);
  }
});

test('one that hangs is killed by an agent that starts, which would wait for its answer else', async () => {
  const { pid, adopted } = await ensureCri(deps, options);
  assert.equal(adopted, true);
  process.kill(pid, 'SIGSTOP');
  const anew = await ensureCri(deps, options);
  assert.notEqual(anew.pid, pid);
  assert.equal(await version(), 'containerd');
  assert.deepEqual(warned.at(-1), { pid });
});

test('one whose CRI fails for another reason keeps its store, and is named with the next step', async () => {
  await removeContainerd(deps, { ...options, images: true });
  mkdirSync(join(options.root, 'io.containerd.metadata.v1.bolt/meta.db'), { recursive: true });
  // Which of the services that CRI lacks it names is containerd's chance.
  await assert.rejects(
    ensureCri(deps, options),
    /^Error: containerd runs without its CRI: .*failed to load plugin io\.containerd\.grpc\.v1\.cri.*(meta\.db: is a directory|no runtimes available).* \(.*containerd\.log\); next: .*move .*\/root away, porthole up, and load the images again$/s,
  );
  assert.equal(said.length, 2);
});
