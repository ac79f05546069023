// Sandboxes that live on though their containerd does not know them: it has lost its store, or was given another. Nobody else ends
// them, and the kubelet makes their pods anew beside them.
import {
  bundlesOf,
  type ContainerdDeps,
  type EnsureContainerdOptions,
  killTree,
  removeShimSocket,
} from './containerd-process.ts';
import { processesWithArgument, type RunningProcess, startTimeOf } from './process-table.ts';

export type SandboxPlaces = Pick<EnsureContainerdOptions, 'state' | 'address'>;

interface Shim {
  readonly pid: number;
  readonly startTime: string;
}

/** By the sandbox's id. */
export interface SandboxThere {
  readonly shims: readonly Shim[];
  /** Ids of its containers and, last, its own: of those that have a bundle. */
  readonly bundles: readonly string[];
}

const shimProgram = 'containerd-shim-runc-v2';
const deleteTimeoutMs = 30_000;
const maxConfigBytes = 4 << 20;

const idOfShim = ({ args }: RunningProcess, address: string): string | undefined => {
  const after = (flag: string): string | undefined => args[args.indexOf(flag) + 1];
  const ours =
    (args[0] ?? '').endsWith(shimProgram) &&
    args.includes('-address') &&
    after('-address') === address &&
    after('-namespace') === 'k8s.io';
  return ours && args.includes('-id') ? after('-id') : undefined;
};

/** Of a container that CRI made; `other`: somebody else did, as `ctr run`; undefined: there is none. */
async function sandboxOfBundle(
  { host }: ContainerdDeps,
  bundle: string,
): Promise<{ readonly sandbox: string } | 'other' | undefined> {
  const text = await host.files.readIfThere(`${bundle}/config.json`, { maxBytes: maxConfigBytes });
  if (text === undefined) return undefined;
  const { annotations } = JSON.parse(text.toString()) as { annotations?: Record<string, string> };
  const sandbox = annotations?.['io.kubernetes.cri.sandbox-id'];
  return sandbox === undefined ? 'other' : { sandbox };
}

/** All that this containerd's CRI has made and that runs now, or has left its bundle. */
export async function sandboxesThere(
  deps: ContainerdDeps,
  { address, state }: SandboxPlaces,
): Promise<ReadonlyMap<string, SandboxThere>> {
  const { files } = deps.host;
  const bundles = new Map<string, string[]>();
  const others = new Set<string>();
  for (const id of await files.list(bundlesOf(state))) {
    const made = await sandboxOfBundle(deps, `${bundlesOf(state)}/${id}`).catch(() => 'other' as const);
    if (made === 'other') others.add(id);
    else if (made !== undefined) bundles.set(made.sandbox, [...(bundles.get(made.sandbox) ?? []), id]);
  }
  const shims = new Map<string, Shim[]>();
  for (const process of await processesWithArgument(files, address)) {
    const id = idOfShim(process, address);
    const startTime = await startTimeOf(files, process.pid);
    if (id === undefined || others.has(id) || startTime === undefined) continue;
    shims.set(id, [...(shims.get(id) ?? []), { pid: process.pid, startTime }]);
  }
  const last = (sandbox: string, id: string): number => (id === sandbox ? 1 : 0);
  return new Map(
    [...new Set([...bundles.keys(), ...shims.keys()])].map((sandbox) => {
      const ids = (bundles.get(sandbox) ?? []).sort((a, b) => last(sandbox, a) - last(sandbox, b));
      return [sandbox, { shims: shims.get(sandbox) ?? [], bundles: ids }];
    }),
  );
}

async function removeContainer(deps: ContainerdDeps, places: SandboxPlaces, id: string): Promise<void> {
  const { files, mounts, processes, beneath } = deps.host;
  const { address, state } = places;
  const bundle = `${bundlesOf(state)}/${id}`;
  await removeShimSocket(deps, bundle);
  // As containerd does of a shim that died: the runtime, whichever it is, ends what runs and removes its control group.
  const args = ['-namespace', 'k8s.io', '-address', address, '-id', id, '-bundle', bundle, 'delete'];
  await processes
    .run(shimProgram, args, { cwd: bundle, timeoutMs: deleteTimeoutMs })
    .catch((error: unknown) => deps.log.warn({ error, id }, 'the rest of a container could not be deleted'));
  const cri = `${state}/io.containerd.grpc.v1.cri`;
  for (const folder of [bundle, `${cri}/sandboxes/${id}`, `${cri}/containers/${id}`]) {
    await mounts.unmountAllBelow(folder);
    // Containers may have left trees that are deeper than a path can say.
    await (beneath?.remove ?? files.remove)(folder);
  }
}

/** Of `there`, all that is not `known` any more. Returns their ids. */
export async function endUnknown(
  deps: ContainerdDeps,
  places: SandboxPlaces,
  there: ReadonlyMap<string, SandboxThere>,
  known: ReadonlySet<string>,
): Promise<readonly string[]> {
  const unknown = [...there].filter(([sandbox]) => !known.has(sandbox));
  if (unknown.length === 0) return [];
  const all = await processesWithArgument(deps.host.files, undefined);
  for (const [, { bundles, shims }] of unknown) {
    for (const { pid, startTime } of shims)
      if ((await startTimeOf(deps.host.files, pid)) === startTime) await killTree(deps, all, pid);
    for (const id of bundles) await removeContainer(deps, places, id);
  }
  return unknown.map(([sandbox]) => sandbox);
}
