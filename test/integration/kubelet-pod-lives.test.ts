// Lives of pods as scenarios: a kubelet with a runtime that hangs when it is told to, and a clock that stands still. UPDATE_SCENARIOS=1 writes what came.
import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pods } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { admin, startTestServer } from '../../src/apiserver/testing/test-server.ts';
import { type Command, replay, titleOf } from '../../src/base/testing/datadriven.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import type { Client } from '../../src/client/client.ts';
import { createClient } from '../../src/client/create-client.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { createLinuxNodeOs } from '../../src/kubelet/node-os/linux.ts';
import { createSimulatedCri } from '../../src/kubelet/simulated/simulated-cri.ts';
import type { Cri } from '../../src/rpc-api/cri.ts';
import { eventually } from '../harness/eventually.ts';
import { createNodeNamespaces } from '../harness/node-namespaces.ts';
import { ScriptedRuntime } from '../harness/scripted-runtime.ts';
import { startSimulatedKubelet } from '../harness/simulated-kubelet.ts';

const folder = fileURLToPath(new URL('testdata/pod-lives', import.meta.url));
const isUpdate = process.env['UPDATE_SCENARIOS'] !== undefined;
const nodeOs = createLinuxNodeOs({ osImage: 'Simulated', kernelVersion: '0' });

/** A command, or so many seconds of sleep. */
function hookOf(kind: string | undefined): object | undefined {
  if (kind === undefined) return undefined;
  return kind === 'exec' ? { exec: { command: ['hook'] } } : { sleep: { seconds: Number(kind) } };
}

function podOf({ words, options }: Command): Pod {
  const lifecycle = {
    postStart: hookOf(options.get('postStart')),
    preStop: hookOf(options.get('preStop')),
  };
  const main = { name: 'main', image: 'example.com/x:1', imagePullPolicy: options.get('pull'), lifecycle };
  const sidecar = { ...main, name: 'sidecar', lifecycle: undefined, restartPolicy: 'Always' };
  const env = [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'none', key: 'x' } } }];
  const seconds = options.get('deadline');
  return {
    metadata: {
      name: words[0],
      namespace: 'default',
      annotations: {
        ...(words.includes('mirror') ? { 'kubernetes.io/config.mirror': 'x' } : {}),
        ...(options.has('runs') ? { 'porthole.dev/simulated-run-seconds': options.get('runs') } : {}),
      },
    },
    spec: {
      nodeName: 'node-1',
      containers: [words.includes('unset') ? { ...main, env } : main],
      ...(words.includes('sidecar') ? { initContainers: [sidecar] } : {}),
      restartPolicy: options.get('restart') ?? 'Always',
      terminationGracePeriodSeconds: Number(options.get('grace') ?? 30),
      ...(words.includes('windows') ? { os: { name: 'windows' } } : {}),
      ...(seconds === undefined ? {} : { activeDeadlineSeconds: Number(seconds) }),
    },
  } as unknown as Pod;
}

class Story {
  readonly #client: Client;
  readonly #clock = new FakeClock();
  readonly #real: Cri;
  readonly #runtime: ScriptedRuntime;
  readonly #names: string[] = [];
  stop: () => Promise<void> = async () => undefined;

  constructor(client: Client) {
    this.#client = client;
    const machine = { clock: this.#clock, random: systemRandom };
    this.#real = createSimulatedCri({ ...machine, podCidr: async () => '10.244.7.0/24', version: '1' });
    this.#runtime = new ScriptedRuntime(this.#real, this.#clock);
  }

  async start(): Promise<void> {
    const { cri } = this.#runtime;
    this.stop = await startSimulatedKubelet({ client: this.#client, cri, nodeOs, clock: this.#clock });
  }

  async run(command: Command): Promise<string> {
    await this.#do(command);
    if (!isUpdate)
      await eventually(async () => assert.equal(await this.#came(), command.expected), { everyMs: 5 });
    else await this.#quiet();
    const came = await this.#came();
    this.#runtime.said.length = 0;
    return came;
  }

  async #do(command: Command): Promise<void> {
    const { name: what, words, options } = command;
    const key = { name: words[0] ?? '', namespace: 'default' };
    if (what === 'hang')
      this.#runtime.hang(words[0] ?? '', Number(options.get('for') ?? Number.POSITIVE_INFINITY));
    else if (what === 'fail') this.#runtime.fail(words[0] ?? '', words.slice(1).join(' '));
    else if (what === 'heal') this.#runtime.heal();
    else if (what === 'lose') await this.#loseSandboxes();
    else if (what === 'advance') {
      // Whoever looks at the runtime again and again sleeps by then.
      await new Promise(setImmediate);
      this.#clock.advance(Number(words[0]) * 1000);
    } else if (what === 'create') {
      if (!this.#names.includes(key.name)) this.#names.push(key.name);
      await this.#client.create(pods, podOf(command));
    } else if (what === 'delete') {
      const grace = options.get('grace');
      await this.#client.delete(pods, key, grace === undefined ? {} : { gracePeriodSeconds: Number(grace) });
    } else if (what === 'image') {
      const body = { spec: { containers: [{ name: 'main', image: words[1] }] } };
      await this.#client.patch(pods, key, { type: 'strategic', body });
    } else if (what === 'restart') {
      await this.stop();
      await this.start();
    } else throw new Error(`no such command: ${what}`);
  }

  /** As when a machine starts anew. */
  async #loseSandboxes(): Promise<void> {
    const { runtime } = this.#real;
    for (const { id = '' } of await runtime.listPodSandbox()) await runtime.stopPodSandbox(id);
  }

  /** What the runtime was told since the last command, and how the pods look now. */
  async #came(): Promise<string> {
    const all = (await this.#client.list(pods)).items;
    const shown = this.#names.map((name) => {
      const pod = all.find((p) => p.metadata.name === name);
      if (!pod) return `${name}: gone`;
      const { phase, reason } = pod.status ?? {};
      const [seen] = pod.status?.containerStatuses ?? [];
      const waits = seen?.state?.waiting?.reason;
      const restarts = seen?.restartCount ? `restarts=${seen.restartCount}` : undefined;
      const ending = pod.metadata.deletionTimestamp === undefined ? undefined : 'Terminating';
      return `${name}: ${[phase, reason, waits, restarts, ending].filter((word) => word !== undefined).join(' ')}`;
    });
    return [...this.#runtime.said, ...shown].join('\n');
  }

  /** Only to write scenarios: nothing has come for a while. */
  async #quiet(): Promise<void> {
    for (let last = '', same = 0; same < 20; ) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const came = await this.#came();
      same = came === last ? same + 1 : 0;
      last = came;
    }
  }
}

async function storyOf(t: TestContext): Promise<Story> {
  const server = await startTestServer();
  t.after(() => server.close());
  const client = createClient(inProcessTransport((request) => server.api.handle(request), admin));
  await createNodeNamespaces(client);
  const story = new Story(client);
  await story.start();
  t.after(() => story.stop());
  return story;
}

for (const file of globSync(`${folder}/*.txt`).sort()) {
  const text = readFileSync(file, 'utf8');
  test(titleOf(text), async (t) => {
    const story = await storyOf(t);
    const came = await replay(text, (command) => story.run(command));
    if (isUpdate) writeFileSync(file, came);
    assert.equal(came, text);
  });
}
