// The contract of NodeRuntime as tests: what the kubelet rests on, whether containers run or only seem to.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../rpc-api/generated/cri-v1.ts';
import { GrpcError } from '../../wire/grpc-client.ts';
import { probeMetrics } from '../metrics/probe-metrics.ts';
import { volumeMetrics } from '../metrics/volume-metrics.ts';
import type { NodeOs } from '../node-os/node-os.ts';
import type { NodeRuntime, VolumeManagerDeps } from '../node-runtime.ts';
import { observePod } from '../observed-pod.ts';
import { podUid } from '../pod-format.ts';
import { createCommands } from '../runtime/commands.ts';
import { containerConfig } from '../runtime/container-config.ts';
import { sandboxConfig } from '../runtime/sandbox-config.ts';
import { aContainer, aPod } from './observed-builder.ts';

export interface OpenRuntime {
  readonly runtime: NodeRuntime;
  readonly nodeOs: NodeOs;
  /** One that has a shell and is there. */
  readonly image: string;
  /** Once the container's program has written the file: what is asked of it before that is asked of nobody. */
  wrote(containerId: string, path: string): Promise<void>;
  close(): Promise<void>;
}

export interface RuntimeUnderTest {
  readonly name: string;
  open(): Promise<OpenRuntime>;
}

/** The program listens for signals. As the first process of its container it is not ended by those that it does not listen for. */
const listening = '/listening';

function podOf({ image }: OpenRuntime, name: string): Pod {
  const main = aContainer('main', {
    image,
    command: ['/bin/sh', '-c', `trap "exit 0" TERM; : > ${listening}; while true; do sleep 1; done`],
    volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
  });
  const pod = aPod({ containers: [main], volumes: [{ name: 'scratch', emptyDir: {} }] });
  return { ...pod, metadata: { name, namespace: 'conformance', uid: `uid-${name}` } };
}

function sandboxOf({ nodeOs, runtime }: OpenRuntime, pod: Pod): PodSandboxConfig {
  const dns = { servers: [], domain: '', host: { servers: [], searches: [], options: [] } };
  const logDirectory = runtime.storage.logDirectory(pod);
  return sandboxConfig({ pod, attempt: 0, logDirectory, cgroupParent: '', dns, nodeOs });
}

async function containerOf({ nodeOs, runtime, image }: OpenRuntime, pod: Pod): Promise<ContainerConfig> {
  const found = await runtime.cri.images.imageStatus({ image });
  assert.ok(found, `${image} is there`);
  return containerConfig({
    pod,
    container: pod.spec.containers[0]!,
    attempt: 0,
    image: found,
    environment: new Map(),
    mounts: [],
    nodeOs,
    seccompRoot: runtime.seccompRoot,
    nodeMemoryBytes: 1 << 30,
    nodeCpuCount: 1,
  });
}

const look = ({ runtime }: OpenRuntime, pod: Pod) => observePod(runtime.cri.runtime, podUid(pod), new Map());

type Under = () => OpenRuntime;

function aboutTheNode(under: Under): void {
  test('is ready, and says what it is', async () => {
    const { cri, problems } = under().runtime;
    const { runtimeName, runtimeVersion } = await cri.runtime.version();
    assert.ok(runtimeName && runtimeVersion);
    const { status } = await cri.runtime.status();
    for (const type of ['RuntimeReady', 'NetworkReady'])
      assert.equal(status?.conditions?.find((c) => c.type === type)?.status, true, type);
    assert.deepEqual(problems(), []);
  });

  test('has disks of which a part is left', async () => {
    for (const disk of Object.values(await under().runtime.disks()))
      assert.ok(disk.capacityBytes > 0 && disk.availableBytes <= disk.capacityBytes);
  });

  test('remembers which images were pulled, and which are being', async () => {
    const { pullRecords } = under().runtime;
    const record = { imageRef: 'sha256:abc', lastUpdatedTime: '2026-01-01T00:00:00Z', credentialMapping: {} };
    await pullRecords.writeIntent('example.com/x:1');
    assert.deepEqual(await pullRecords.intents(), ['example.com/x:1']);
    await pullRecords.removeIntent('example.com/x:1');
    assert.equal(await pullRecords.hasIntent('example.com/x:1'), false);
    assert.equal(await pullRecords.pulled('sha256:abc'), undefined);
    await pullRecords.writePulled(record);
    assert.deepEqual(await pullRecords.pulled('sha256:abc'), record);
    assert.deepEqual(await pullRecords.pulledRefs(), ['sha256:abc']);
    await pullRecords.removePulled('sha256:abc');
    assert.deepEqual(await pullRecords.pulledRefs(), []);
  });
}

function aboutContainers(under: Under): void {
  test('a pod runs from its sandbox to its end, and nothing is left of it', async () => {
    const pod = podOf(under(), 'life');
    const { runtime } = under().runtime.cri;
    await under().runtime.storage.prepare(pod);
    const sandbox = sandboxOf(under(), pod);
    const sandboxId = await runtime.runPodSandbox(sandbox, '');
    assert.equal((await look(under(), pod)).sandboxes[0]?.ready, true);
    assert.equal((await look(under(), pod)).sandboxes[0]?.ips.length, 1);
    await under().runtime.storage.prepareContainerLog(pod, 'main');
    const id = await runtime.createContainer(sandboxId, await containerOf(under(), pod), sandbox);
    assert.equal((await runtime.containerStatus(id)).state, 'CONTAINER_CREATED');
    await runtime.startContainer(id);
    const running = (await look(under(), pod)).containers;
    assert.deepEqual(
      running.map(({ id: seen, name, state, sandboxId: of }) => [seen, name, state, of]),
      [[id, 'main', 'running', sandboxId]],
    );
    await under().wrote(id, listening);
    await runtime.stopContainer(id, 30);
    const {
      state,
      createdAt = 0,
      startedAt = 0,
      finishedAt = 0,
      exitCode,
    } = await runtime.containerStatus(id);
    assert.deepEqual([state, exitCode], ['CONTAINER_EXITED', 0]);
    assert.ok(createdAt > 0 && createdAt <= startedAt && startedAt <= finishedAt);
    assert.equal(await under().runtime.fullExitCode(id), undefined);
    await runtime.removeContainer(id);
    assert.deepEqual((await look(under(), pod)).containers, []);
    await runtime.stopPodSandbox(sandboxId);
    assert.equal((await look(under(), pod)).sandboxes[0]?.ready, false);
    await runtime.removePodSandbox(sandboxId);
    assert.deepEqual((await look(under(), pod)).sandboxes, []);
  });

  test('the end of a sandbox is the end of its containers, and pods that are there have addresses of their own', async () => {
    const [one, other] = [podOf(under(), 'one'), podOf(under(), 'other')];
    const { runtime } = under().runtime.cri;
    const ids = new Map<Pod, string>();
    for (const pod of [one, other]) {
      await under().runtime.storage.prepare(pod);
      ids.set(pod, await runtime.runPodSandbox(sandboxOf(under(), pod), ''));
    }
    const ipsOf = async (pod: Pod) => (await look(under(), pod)).sandboxes[0]?.ips[0];
    assert.notEqual(await ipsOf(one), await ipsOf(other));
    await under().runtime.storage.prepareContainerLog(one, 'main');
    const config = await containerOf(under(), one);
    const id = await runtime.createContainer(ids.get(one)!, config, sandboxOf(under(), one));
    await runtime.startContainer(id);
    await runtime.stopPodSandbox(ids.get(one)!);
    assert.equal((await runtime.containerStatus(id)).state, 'CONTAINER_EXITED');
    assert.equal((await look(under(), other)).sandboxes[0]?.ready, true, "another's goes on");
    for (const pod of [one, other]) {
      await runtime.stopPodSandbox(ids.get(pod)!);
      await runtime.removePodSandbox(ids.get(pod)!);
      assert.deepEqual(await look(under(), pod), { sandboxes: [], containers: [] });
    }
  });
}

function aboutWhatIsGone(under: Under): void {
  test('what is gone can be ended again, or is said not to be there, and has no status', async () => {
    const { runtime } = under().runtime.cri;
    const gone = 'f'.repeat(64);
    const isNotFound = (error: unknown): boolean => error instanceof GrpcError && error.code === 'NotFound';
    // The kubelet takes both answers for the same.
    for (const end of [runtime.stopPodSandbox, runtime.removePodSandbox, runtime.removeContainer])
      await end(gone).catch((error: unknown) => assert.ok(isNotFound(error), String(error)));
    await assert.rejects(runtime.containerStatus(gone), isNotFound);
    await assert.rejects(runtime.podSandboxStatus(gone), isNotFound);
    assert.equal(await under().runtime.imagePlatform(gone), undefined);
  });
}

function aboutPods(under: Under): void {
  test("a pod's files go with it, also when they have gone already", async () => {
    const { storage } = under().runtime;
    const pod = podOf(under(), 'files');
    await storage.prepare(pod);
    await storage.createTerminationLog(podUid(pod), 'main', 0);
    assert.ok([undefined, ''].includes(await storage.readTerminationLog(podUid(pod), 'main', 0)));
    for (let time = 0; time < 2; time++) {
      await storage.remove(podUid(pod));
      await storage.removeLogs(pod);
      assert.equal((await storage.pods()).includes(podUid(pod)), false);
    }
    assert.equal(await storage.readTerminationLog(podUid(pod), 'main', 0), undefined);
  });

  test('volumes can be set up again and taken down again', async () => {
    const { runtime, nodeOs } = under();
    const about = {
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      metrics: volumeMetrics(createMetrics(), systemClock, () => []),
      nodeOs,
      nodeIPs: [],
    };
    const volumes = runtime.volumes(about as unknown as VolumeManagerDeps);
    const pod = podOf(under(), 'volumes');
    const { signal } = new AbortController();
    await runtime.storage.prepare(pod);
    for (let time = 0; time < 2; time++) {
      const mounted = await volumes.setUp(pod, [], signal);
      const mounts = await mounted.mountsOf(pod.spec.containers[0]!, new Map(), signal);
      assert.ok(mounts.every(({ containerPath }) => containerPath === '/scratch'));
      await mounted.release(pod.spec.containers[0]!);
    }
    for (let time = 0; time < 2; time++) await volumes.tearDown(pod);
    await runtime.storage.remove(podUid(pod));
  });
}

function aboutWatchfulness(under: Under): void {
  test('who has no probes is not ill', async () => {
    const { runtime } = under();
    const commands = createCommands({ runtime: runtime.cri.runtime, clock: systemClock });
    const changed = (): void => assert.fail('nothing was probed');
    const prober = runtime.prober({
      commands,
      clock: systemClock,
      random: systemRandom,
      metrics: probeMetrics(createMetrics()),
      changed,
      event: changed,
    });
    const pod = podOf(under(), 'probes');
    prober.update(pod, await look(under(), pod), '10.0.0.1');
    for (const kind of ['liveness', 'readiness', 'startup'] as const)
      assert.notEqual(prober[kind]('f'.repeat(64)), false, kind);
    prober.stopLiveness(podUid(pod));
    prober.remove(podUid(pod));
    prober.stop();
  });

  test('of what pods use it tells for each pod that it is asked for, or for none', async () => {
    const { runtime, nodeOs } = under();
    const pod = podOf(under(), 'measured');
    const { hasMemoryVolumes } = nodeOs;
    const active = (): Pod[] => [pod];
    const meter = runtime.meter({
      clock: systemClock,
      log: silentLogger,
      runtime: runtime.cri.runtime,
      hasMemoryVolumes,
      active,
    });
    if (meter === undefined) return;
    const measured = await meter.measure([pod], 'memory');
    assert.deepEqual(
      measured.map((each) => each.pod),
      [pod],
    );
    meter.stop();
  });
}

export function nodeRuntimeConformance(driver: RuntimeUnderTest): void {
  describe(`node runtime ${driver.name}`, () => {
    let opened: OpenRuntime | undefined;
    before(async () => {
      opened = await driver.open();
    });
    after(() => opened?.close());
    const under: Under = () => opened ?? assert.fail('it was not opened');
    aboutTheNode(under);
    aboutContainers(under);
    aboutWhatIsGone(under);
    aboutPods(under);
    aboutWatchfulness(under);
  });
}
