// The Service kube-system/kube-dns: no selector; its EndpointSlice points to where the DNS server really listens.
import {
  clusterrolebindings,
  clusterroles,
  endpointslices,
  services,
} from '../../api/generated/resources.ts';
import type { Service } from '../../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { usableIpErrors } from '../../apimachinery/validation/addresses.ts';
import type { Client, Creatable, ObjectKey } from '../../client/client.ts';

const namespace = 'kube-system';
const name = 'kube-dns';
export const kubeDnsService: { readonly namespace: string; readonly name: string } = { namespace, name };
/** As kubeadm names the role of its DNS. */
const roleName = 'system:coredns';
const fieldManager = 'porthole-dns';

async function createOrPatch<T extends object>(
  client: Client,
  resource: ResourceRef<T>,
  object: Creatable<T>,
  body: object,
  key: ObjectKey = kubeDnsService,
): Promise<void> {
  try {
    // asked for first: creating it again is refused for its clusterIP, not for its name
    await client.get(resource, key);
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error;
    await client.create(resource, object, { fieldManager });
    return;
  }
  await client.patch(resource, key, { type: 'merge', body }, { fieldManager });
}

/** What a node's DNS reads, as the user of its network half. As kubeadm's role, but for pods, whose names are not served. */
export async function ensureDnsAccess(client: Client, user: string): Promise<void> {
  const verbs = ['list', 'watch'];
  const rules = [
    { apiGroups: [''], resources: ['services', 'namespaces'], verbs },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
  ];
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: roleName };
  const metadata = { name: roleName };
  await createOrPatch(client, clusterroles, { metadata, rules }, { rules }, { name: roleName });
  await createOrPatch(
    client,
    clusterrolebindings,
    { metadata, subjects, roleRef },
    { subjects },
    { name: roleName },
  );
}

/** Where the server listened when it was last written; undefined in a new cluster, or when something else stands there. */
export async function lastDnsPort(client: Client): Promise<number | undefined> {
  try {
    const { ports } = await client.get(endpointslices, { name, namespace });
    const port = ports?.[0]?.port;
    return port !== undefined && port > 0 && port < 65_536 ? port : undefined;
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error;
    return undefined;
  }
}

/** Idempotent; a changed address or port is written. */
export async function ensureDnsService(
  client: Client,
  options: { readonly clusterIP: string; readonly address: string; readonly port: number },
): Promise<void> {
  const labels = {
    'k8s-app': 'kube-dns',
    'kubernetes.io/cluster-service': 'true',
    'kubernetes.io/name': 'CoreDNS',
  };
  const service: Service = {
    metadata: { name, namespace, labels },
    spec: {
      type: 'ClusterIP',
      clusterIP: options.clusterIP,
      clusterIPs: [options.clusterIP],
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP', targetPort: options.port },
        { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: options.port },
      ],
    },
  };
  // A cluster on the loopback address has no pod that could ask, and no endpoint may be there.
  const addresses = usableIpErrors(options.address).length === 0 ? [options.address] : [];
  const content = {
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
    })),
    ports: [
      { name: 'dns', port: options.port, protocol: 'UDP' },
      { name: 'dns-tcp', port: options.port, protocol: 'TCP' },
    ],
  };
  const sliceLabels = {
    'kubernetes.io/service-name': name,
    // not the endpointslice controller's: it leaves slices of others alone
    'endpointslice.kubernetes.io/managed-by': 'dns.porthole',
  };
  const slice: EndpointSlice = {
    metadata: { name, namespace, labels: sliceLabels },
    addressType: 'IPv4',
    ...content,
  };
  await createOrPatch(client, services, service, {
    metadata: { labels },
    spec: { ports: service.spec.ports },
  });
  await createOrPatch(client, endpointslices, slice, { metadata: { labels: sliceLabels }, ...content });
}
