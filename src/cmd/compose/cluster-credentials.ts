// Writes the credentials of a cluster's user and nodes, before its processes start and while its server runs.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { parseYaml } from '../../base/yaml.ts';
import { makeFolderDurably, writeDurably } from '../../component-base/durable-file.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { renewedKubeconfig } from '../../controlplane/kubeconfig-edit.ts';
import { type KubeconfigFacts, kubeconfigText } from '../../controlplane/kubeconfig-text.ts';
import { isGood, openPki, type Pki, type ServerNames } from '../../controlplane/pki.ts';
import type { KeyPairPem } from '../../crypto/certificates.ts';
import { withBrought } from './brought-credentials.ts';
import { certificateStore, currentCertificate, type NodeCertificate } from './certificate-store.ts';
import { checkDataDirectory, dataPaths } from './data-directory.ts';
import { pkiFiles } from './pki-files.ts';

export interface ClusterCredentials {
  readonly clusterName: string;
  /** The server's data directory: the PKI lies in it. */
  readonly serverDir: string;
  /** URL for people on this machine. */
  readonly localUrl: string;
  /** URL for nodes. */
  readonly nodeUrl: string;
  /** Where the administrator's kubeconfig goes. */
  readonly kubeconfig: string;
  /** How long certificates are good. Default a year. */
  readonly certificateMs?: number;
  /** PEM: vouches for the server's certificate, besides its own authority. */
  readonly rootCaFile?: string | undefined;
  /** Where this list goes, for the server that keeps what it names renewed. */
  readonly listFile?: string;
  readonly nodes: readonly { readonly name: string; readonly ip: string; readonly dir: string }[];
}

function write(file: string, text: string): void {
  makeFolderDurably(dirname(file));
  writeDurably(file, text);
}

type Names = Pick<KubeconfigFacts, 'clusterName' | 'userName'>;
type Told = Pick<KubeconfigFacts, 'server' | 'caCertificatePem'> & { readonly credentials: KeyPairPem };

const adminName = 'kubernetes-admin';

/** What a kubeconfig says of our cluster and user; undefined: it is not there, or says it otherwise. */
function readKubeconfig(file: string, { clusterName, userName }: Names): Told | undefined {
  const text = (value: unknown): string => Buffer.from(String(value), 'base64').toString();
  try {
    const { clusters, users } = parseYaml(readFileSync(file, 'utf8')) as {
      clusters: { name: string; cluster: Record<string, unknown> }[];
      users: { name: string; user: Record<string, unknown> }[];
    };
    const { cluster } = clusters.find(({ name }) => name === clusterName)!;
    const { user } = users.find(({ name }) => name === userName)!;
    return {
      server: String(cluster['server']),
      caCertificatePem: text(cluster['certificate-authority-data']),
      credentials: {
        certificatePem: text(user['client-certificate-data']),
        privateKeyPem: text(user['client-key-data']),
      },
    };
  } catch {
    return undefined;
  }
}

/** What the kubeconfig that `issueClusterCredentials` wrote says of the administrator. */
export const adminOf = (kubeconfig: string, clusterName: string): Told | undefined =>
  readKubeconfig(kubeconfig, { clusterName, userName: adminName });

/** Its own entries are written again when they lead elsewhere, believe others, or end soon; what its owner put in stays. */
async function keepKubeconfig(
  file: string,
  facts: Omit<KubeconfigFacts, 'credentials'>,
  now: number,
  issue: () => Promise<KeyPairPem>,
): Promise<void> {
  const has = readKubeconfig(file, facts);
  const isGoodStill =
    has?.server === facts.server &&
    has.caCertificatePem === facts.caCertificatePem &&
    isGood(has.credentials, facts.caCertificatePem, undefined, now);
  if (isGoodStill) return;
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  write(file, renewedKubeconfig(before, { ...facts, credentials: await issue() }));
}

type AdminCredentials = Pick<ClusterCredentials, 'clusterName' | 'localUrl' | 'kubeconfig'>;

const commonFacts = (pki: Pki, { clusterName }: Pick<ClusterCredentials, 'clusterName'>) => ({
  clusterName,
  caCertificatePem: pki.rootCaPem,
});

const keepAdmin = (pki: Pki, clock: Pick<Clock, 'now'>, of: AdminCredentials): Promise<void> =>
  keepKubeconfig(
    of.kubeconfig,
    { ...commonFacts(pki, of), userName: adminName, server: of.localUrl },
    clock.now(),
    () => pki.admin(),
  );

/** The nodes' kubeconfigs, and what nodes believe. */
async function keepNodes(pki: Pki, clock: Pick<Clock, 'now'>, of: ClusterCredentials): Promise<void> {
  const common = { ...commonFacts(pki, of), server: of.nodeUrl };
  for (const { name, dir } of of.nodes) {
    const proxy = { ...common, userName: 'system:kube-proxy' };
    await keepKubeconfig(join(dir, 'kube-proxy.kubeconfig'), proxy, clock.now(), () => pki.issueKubeProxy());
    const kubelet = kubeconfigText({
      ...common,
      userName: `system:node:${name}`,
      credentials: { file: currentCertificate(join(dir, 'pki'), 'kubelet-client') },
    });
    writeIfOther(join(dir, 'agent.kubeconfig'), kubelet);
    writeIfOther(join(dir, 'ca.crt'), pki.caCertificatePem);
  }
}

function writeIfOther(file: string, text: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) write(file, text);
}

/** While the server runs: what the file lists is renewed before it ends, and follows the authorities. */
export async function keepCredentials(pki: Pki, clock: Pick<Clock, 'now'>, file: string): Promise<void> {
  const listed = JSON.parse(readFileSync(file, 'utf8')) as ClusterCredentials;
  await keepAdmin(pki, clock, listed);
  await keepNodes(pki, clock, listed);
}

/** All that a server needs to start, and whoever asks whether it has. */
export async function issueServerCredentials(
  options: AdminCredentials & Pick<ClusterCredentials, 'serverDir' | 'certificateMs' | 'rootCaFile'>,
): Promise<Pki> {
  // Before a key that is missing is made anew.
  checkDataDirectory(options.serverDir);
  const { certificateMs, rootCaFile } = options;
  const own = await openPki(pkiFiles(dataPaths(options.serverDir).pki), systemClock, { certificateMs });
  const pki = withBrought(
    own,
    rootCaFile === undefined ? undefined : { rootCaPem: readFileSync(rootCaFile, 'utf8') },
  );
  await keepAdmin(pki, systemClock, options);
  return pki;
}

/** Node folders get agent.kubeconfig, kube-proxy.kubeconfig, ca.crt, and in pki/ the kubelet's own certificates unless they are good. */
export async function issueNodeCredentials(pki: Pki, options: ClusterCredentials): Promise<void> {
  for (const { name, ip, dir } of options.nodes) {
    const names = { dnsNames: [name], ips: [ip] };
    const issued = await pki.issueNodeCredentials(name, names);
    const keep = (of: NodeCertificate, authorityPem: string, fresh: KeyPairPem, has?: ServerNames): void => {
      const store = certificateStore(join(dir, 'pki'), of, systemClock);
      const pem = store.current();
      const inUse = pem === undefined ? undefined : { certificatePem: pem, privateKeyPem: pem };
      if (inUse === undefined || !isGood(inUse, authorityPem, has, systemClock.now()))
        store.replace(fresh.certificatePem + fresh.privateKeyPem);
    };
    keep('kubelet-client', pki.caCertificatePem, issued.kubelet);
    keep('kubelet-server', pki.kubeletServingCaPem, issued.kubeletServing, names);
  }
  await keepNodes(pki, systemClock, options);
  if (options.listFile !== undefined)
    write(options.listFile, `${JSON.stringify({ ...options, certificateMs: undefined }, null, 2)}\n`);
}

/** Both. */
export const issueClusterCredentials = async (options: ClusterCredentials): Promise<void> =>
  issueNodeCredentials(await issueServerCredentials(options), options);
