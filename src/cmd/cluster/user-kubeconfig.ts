// The kubeconfig of whoever runs a command: a cluster's context comes with `up` and goes with `down`, by kind's rules and client-go's lock.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { parseYaml } from '../../base/yaml.ts';
import { writeDurably } from '../../component-base/durable-file.ts';
import { mergedKubeconfig, withoutCluster } from '../../controlplane/kubeconfig-edit.ts';
import type { KubeconfigFacts } from '../../controlplane/kubeconfig-text.ts';
import { asOwnerOf } from '../../os/as-owner.ts';
import { adminOf } from '../compose/cluster-credentials.ts';
import { type Environment, userHome } from '../setup/locations.ts';
import { type ClusterPaths, type ClusterState, clusterPaths, writeClusterState } from './cluster-state.ts';
import { withKubeconfigLock } from './kubeconfig-lock.ts';

/** Of cluster, user and context there: others have a cluster `default`, too. */
const contextName = (cluster: string): string => `porthole-${cluster}`;

const namesOf = ({
  name,
}: Pick<ClusterState, 'name'>): { clusterName: string; userName: string; contextName: string } => ({
  clusterName: contextName(name),
  userName: contextName(name),
  contextName: contextName(name),
});

/** Those that kubectl reads; none for a user without a home. */
export function kubeconfigFiles(env: Environment): string[] {
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  const home = userHome(env);
  const own = home === undefined ? [] : [join(home, '.kube/config')];
  return [...new Set((listed.length > 0 ? listed : own).map((file) => resolve(file)))];
}

/** The first that is there; if none is, the last. */
export const fileToMerge = (files: readonly string[]): string | undefined =>
  files.find((file) => existsSync(file)) ?? files.at(-1);

interface Found {
  readonly text: string;
  readonly uid: number;
  readonly gid: number;
}

/** Undefined: not there. No link; a pipe would be waited for, and what a device says has no end. */
function readFound(file: string): Found | undefined {
  let opened: number;
  try {
    opened = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const found = fstatSync(opened);
    if (!found.isFile()) throw new Error('it is no regular file');
    return { text: readFileSync(opened, 'utf8'), uid: found.uid, gid: found.gid };
  } finally {
    closeSync(opened);
  }
}

/** A link stays one; whoever had the file has it. One without text goes. */
async function change(file: string, edit: (text: string) => string | undefined): Promise<void> {
  await withKubeconfigLock(file, () => {
    const target = existsSync(file) ? realpathSync(file) : file;
    const before = readFound(target);
    const after = edit(before?.text ?? '');
    if (after === undefined) return;
    if (after === '') rmSync(file);
    else writeDurably(target, after, before?.uid === process.geteuid?.() ? undefined : before);
  }).catch((cause: unknown) => {
    throw Object.assign(new Error(`${file} was not changed`, { cause }), {
      next: (cause as { next?: string }).next ?? nextStep(file, cause),
    });
  });
}

/** Root acts as the folder's owner here, who may not write what an earlier command made as root. */
const nextStep = (file: string, cause: unknown): string =>
  ['EACCES', 'EPERM'].includes((cause as NodeJS.ErrnoException).code ?? '')
    ? `give ${file}, and its folder, to the user whose home it is in (chown), or name another one by --kubeconfig`
    : `repair ${file}, or name another one by --kubeconfig`;

const nobody = {
  server: '',
  caCertificatePem: '',
  credentials: { certificatePem: '', privateKeyPem: '' },
};

/** Throws as a merge will: nothing of a cluster has to be made to know. */
export const checkMergeable = (state: Pick<ClusterState, 'name'>, file: string): Promise<void> =>
  change(file, (text) => {
    mergedKubeconfig(text, { ...nobody, ...namesOf(state) });
    return undefined;
  });

/**
 * The cluster's context becomes the current one of the file, and its record says so. Returns its name, which the file's owner may
 * have changed. For the holder of the cluster's lock.
 * Throws Error with the next step.
 */
export async function mergeCluster(state: ClusterState, home: string, file: string): Promise<string> {
  const paths = clusterPaths(home, state.name);
  const admin = adminOf(paths.kubeconfig, state.name);
  if (admin === undefined)
    throw new Error(`${paths.kubeconfig} has no cluster ${JSON.stringify(state.name)} any more`);
  // First: a command that is killed here has `down` look into one file more.
  const mergedInto = [...new Set([...(state.mergedInto ?? []), file])];
  writeClusterState(paths, { ...state, mergedInto });
  let merged = '';
  await change(file, (text) => {
    merged = mergedKubeconfig(text, { ...admin, ...namesOf(state) });
    return merged;
  });
  return (parseYaml(merged) as { readonly 'current-context': string })['current-context'];
}

/** What is left of a file that we made is nothing that anybody wrote. */
function textWithout(text: string, facts: KubeconfigFacts, isLink: boolean): string | undefined {
  const left = withoutCluster(text, facts);
  const isOurs = left === withoutCluster(mergedKubeconfig('', facts), facts);
  return isOurs && !isLink ? '' : left;
}

function mentions(file: string, name: string): boolean {
  try {
    return asOwnerOf(file, () => readFound(realpathSync(file)))?.text.includes(name) === true;
  } catch {
    return false; // not there, or not ours to read: we did not write it
  }
}

/** From the kubeconfigs that have it, also of whoever runs this. What can't be changed is said, and stays. */
export async function removeFromKubeconfigs(
  state: ClusterState,
  paths: ClusterPaths,
  say: (text: string) => void,
): Promise<void> {
  const admin = adminOf(paths.kubeconfig, state.name);
  if (admin === undefined) return;
  const files = new Set([...(state.mergedInto ?? []), ...kubeconfigFiles(process.env)]);
  for (const file of [...files].filter((one) => mentions(one, contextName(state.name))))
    await change(file, (text) =>
      textWithout(text, { ...admin, ...namesOf(state) }, lstatSync(file).isSymbolicLink()),
    ).catch(({ cause, message }: Error) =>
      say(
        `  warning: ${message} and still has cluster ${contextName(state.name)}: ${(cause as Error).message}`,
      ),
    );
}
