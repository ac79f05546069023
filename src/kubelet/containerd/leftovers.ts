// Sandboxes that live on though their containerd does not know them: it has lost its store, or was given another. Nobody else ends
// them, and the kubelet makes their pods anew beside them.
import {
  bundlesOf,
  type ContainerdDeps,
  type EnsureContainerdOptions,
  killTree,
  shimSocketOf,
} from './containerd-process.ts';
import { childrenOfAll, processesWithArgument, type RunningProcess, startTimeOf } from './process-table.ts';

export type SandboxPlaces = Pick<EnsureContainerdOptions, 'state' | 'address'>;

interface Shim {
  readonly pid: number;
  readonly startTime: string;
}

/** By the sandbox's id. */
export interface SandboxThere {
  readonly shims: readonly Shim[];
  /** Its containers and, last, itself: of those that have a bundle. */
  readonly bundles: readonly Bundle[];
}

interface Bundle {
  readonly id: string;
  /** The program that runs it. A containerd that starts removes the bundles of those it does not know, and this with them. */
  readonly runtime: string;
  /** Of its shim. */
  readonly socket: string | undefined;
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
  deps: ContainerdDeps,
  bundle: string,
): Promise<(Omit<Bundle, 'id'> & { readonly sandbox: string }) | 'other' | undefined> {
  const { files } = deps.host;
  const text = await files.readIfThere(`${bundle}/config.json`, { maxBytes: maxConfigBytes });
  if (text === undefined) return undefined;
  const { annotations } = JSON.parse(text.toString()) as { annotations?: Record<string, string> };
  const sandbox = annotations?.['io.kubernetes.cri.sandbox-id'];
  if (sandbox === undefined) return 'other';
  const runtime = (await files.readIfThere(`${bundle}/runtime`))?.toString().trim();
  return { sandbox, runtime: runtime || 'runc', socket: await shimSocketOf(deps, bundle) };
}

/** All that this containerd's CRI has made and that runs now, or has left its bundle. */
export async function sandboxesThere(
  deps: ContainerdDeps,
  { address, state }: SandboxPlaces,
): Promise<ReadonlyMap<string, SandboxThere>> {
  const { files } = deps.host;
  const bundles = new Map<string, Bundle[]>();
  const others = new Set<string>();
  for (const id of await files.list(bundlesOf(state))) {
    const made = await sandboxOfBundle(deps, `${bundlesOf(state)}/${id}`).catch(() => 'other' as const);
    if (made === 'other') others.add(id);
    else if (made !== undefined)
      bundles.set(made.sandbox, [
        ...(bundles.get(made.sandbox) ?? []),
        { id, runtime: made.runtime, socket: made.socket },
      ]);
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
      const own = (bundles.get(sandbox) ?? []).sort((a, b) => last(sandbox, a.id) - last(sandbox, b.id));
      return [sandbox, { shims: shims.get(sandbox) ?? [], bundles: own }];
    }),
  );
}

const said = ({ log }: ContainerdDeps, id: string, error: unknown): void =>
  log.warn({ error, id }, 'the runtime could not delete the rest of a container');

async function removeContainer(
  deps: ContainerdDeps,
  { state }: SandboxPlaces,
  { id, runtime, socket }: Bundle,
): Promise<void> {
  const { files, mounts, processes, beneath } = deps.host;
  const bundle = `${bundlesOf(state)}/${id}`;
  if (socket !== undefined) await files.remove(socket);
  // It ends what runs still, removes its control group, and what it keeps itself.
  const args = ['--root', `${state}/runc/k8s.io`, 'delete', '--force', id];
  await processes.run(runtime, args, { timeoutMs: deleteTimeoutMs }).then(
    ({ code, stderr }) => code === 0 || said(deps, id, stderr.toString().trim()),
    (error: unknown) => said(deps, id, error),
  );
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
  const children = await childrenOfAll(deps.host.files);
  for (const [, { bundles, shims }] of unknown) {
    for (const { pid, startTime } of shims)
      if ((await startTimeOf(deps.host.files, pid)) === startTime) await killTree(deps, children, pid);
    for (const one of bundles) await removeContainer(deps, places, one);
  }
  return unknown.map(([sandbox]) => sandbox);
}
