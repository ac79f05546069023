// Writes the credentials of a cluster's user and nodes, before its processes start.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '../../component-base/system-clock.ts';
import { kubeconfigText } from '../../controlplane/kubeconfig-text.ts';
import { openPki } from '../../controlplane/pki.ts';
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
  readonly nodes: readonly { readonly name: string; readonly ip: string; readonly dir: string }[];
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, text, { mode: 0o600 });
}

/** Node folders get agent.kubeconfig, kube-proxy.kubeconfig, kubelet.crt, kubelet.key and ca.crt. */
export async function issueClusterCredentials(options: ClusterCredentials): Promise<void> {
  const pki = await openPki(pkiFiles(join(options.serverDir, 'pki')), systemClock);
  const common = { clusterName: options.clusterName, caCertificatePem: pki.caCertificatePem };
  const admin = await pki.client('admin', 'kubernetes-admin', ['kubeadm:cluster-admins', 'system:masters']);
  write(
    options.kubeconfig,
    kubeconfigText({ ...common, userName: 'kubernetes-admin', server: options.localUrl, credentials: admin }),
  );
  await Promise.all(
    options.nodes.map(async ({ name, ip, dir }) => {
      const issued = await pki.issueNodeCredentials(name, { dnsNames: [name], ips: [ip] });
      const server = options.nodeUrl;
      write(
        join(dir, 'agent.kubeconfig'),
        kubeconfigText({ ...common, userName: `system:node:${name}`, server, credentials: issued.kubelet }),
      );
      write(
        join(dir, 'kube-proxy.kubeconfig'),
        kubeconfigText({ ...common, userName: 'system:kube-proxy', server, credentials: issued.kubeProxy }),
      );
      write(join(dir, 'kubelet.crt'), issued.kubeletServing.certificatePem);
      write(join(dir, 'kubelet.key'), issued.kubeletServing.privateKeyPem);
      write(join(dir, 'ca.crt'), pki.caCertificatePem);
    }),
  );
}
