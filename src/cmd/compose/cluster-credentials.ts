// Writes the credentials of a cluster's user and nodes, before its processes start.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '../../component-base/system-clock.ts';
import { kubeconfigText } from '../../controlplane/kubeconfig-text.ts';
import { isGood, openPki, type ServerNames } from '../../controlplane/pki.ts';
import type { KeyPairPem } from '../../crypto/certificates.ts';
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
  readonly nodes: readonly { readonly name: string; readonly ip: string; readonly dir: string }[];
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, text, { mode: 0o600 });
}

/** Node folders get agent.kubeconfig, kube-proxy.kubeconfig, ca.crt, and in pki/ the kubelet's own certificates unless they are good. */
export async function issueClusterCredentials(options: ClusterCredentials): Promise<void> {
  // Before a key that is missing is made anew.
  checkDataDirectory(options.serverDir);
  const pki = await openPki(pkiFiles(dataPaths(options.serverDir).pki), systemClock, {
    certificateMs: options.certificateMs,
  });
  const common = { clusterName: options.clusterName, caCertificatePem: pki.caCertificatePem };
  const admin = await pki.admin();
  write(
    options.kubeconfig,
    kubeconfigText({ ...common, userName: 'kubernetes-admin', server: options.localUrl, credentials: admin }),
  );
  await Promise.all(
    options.nodes.map(async ({ name, ip, dir }) => {
      const names = { dnsNames: [name], ips: [ip] };
      const issued = await pki.issueNodeCredentials(name, names);
      const server = options.nodeUrl;
      const directory = join(dir, 'pki');
      const keep = (
        of: NodeCertificate,
        authorityPem: string,
        fresh: KeyPairPem,
        has?: ServerNames,
      ): void => {
        const store = certificateStore(directory, of, systemClock);
        const pem = store.current();
        const inUse = pem === undefined ? undefined : { certificatePem: pem, privateKeyPem: pem };
        if (inUse === undefined || !isGood(inUse, authorityPem, has, systemClock.now()))
          store.replace(fresh.certificatePem + fresh.privateKeyPem);
      };
      keep('kubelet-client', pki.caCertificatePem, issued.kubelet);
      keep('kubelet-server', pki.kubeletServingCaPem, issued.kubeletServing, names);
      write(
        join(dir, 'agent.kubeconfig'),
        kubeconfigText({
          ...common,
          userName: `system:node:${name}`,
          server,
          credentials: { file: currentCertificate(directory, 'kubelet-client') },
        }),
      );
      write(
        join(dir, 'kube-proxy.kubeconfig'),
        kubeconfigText({ ...common, userName: 'system:kube-proxy', server, credentials: issued.kubeProxy }),
      );
      write(join(dir, 'ca.crt'), pki.caCertificatePem);
    }),
  );
}
