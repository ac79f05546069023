// The objects of an empty cluster, as data: what there is before anybody asks for anything.
import recorded from '../api/schema/bootstrap-objects.json' with { type: 'json' };
import type { JsonObject } from '../apimachinery/declaration.ts';
import { arr, meta, obj, objs, str } from '../apimachinery/json-access.ts';
import { matchesSelector, selectorFrom } from '../apimachinery/label-selector.ts';
import { controllerRoles } from '../controllers/controller-roles.ts';
import { claimSpec } from '../registry/core/claims.ts';
import { managedAddress } from '../registry/core/service-claims.ts';
import { kubeletClientUser } from './kubelet-client-user.ts';

export interface BootstrapObject {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly object: JsonObject;
}

export interface BootstrapFacts {
  /** RFC 3339. */
  readonly now: string;
  readonly serviceCidr: string;
  /** The first address of the service range. */
  readonly kubernetesServiceIp: string;
  readonly advertiseAddress: string;
  readonly securePort: number;
  readonly approveKubeletServing: boolean;
  readonly storageVersionMigrator: boolean;
}

const rbac = 'rbac.authorization.k8s.io';
/** Says that the server adds what is missing at each start. */
export const autoupdate = 'rbac.authorization.kubernetes.io/autoupdate';
/** Recorded as they are, and the same in every cluster. */
const copied: readonly string[] = [
  'v1/namespaces',
  'apiregistration.k8s.io/v1/apiservices',
  `${rbac}/v1/clusterroles`,
  `${rbac}/v1/clusterrolebindings`,
  `${rbac}/v1/roles`,
  `${rbac}/v1/rolebindings`,
  'scheduling.k8s.io/v1/priorityclasses',
  'flowcontrol.apiserver.k8s.io/v1/flowschemas',
  'flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
];

const data = recorded as unknown as Readonly<Record<string, readonly JsonObject[]>>;

const partsOf = (path: string): { group: string; version: string; resource: string } => {
  const parts = path.split('/');
  const [group = '', version = '', resource = ''] = parts.length === 3 ? parts : ['', ...parts];
  return { group, version, resource };
};

/** Times of the recording become the time of this start. */
function withTimes(value: JsonObject, now: string): JsonObject {
  const text = JSON.stringify(value, (key, inner: unknown) => (key === 'lastTransitionTime' ? now : inner));
  return JSON.parse(text) as JsonObject;
}

/** An aggregated role holds the rules of the roles that its selectors name. */
function aggregate(role: JsonObject, all: readonly JsonObject[]): JsonObject {
  const selectors = objs(obj(role.aggregationRule).clusterRoleSelectors);
  if (selectors.length === 0) return role;
  const parts = all.filter((other) =>
    selectors.some(
      (selector) =>
        other !== role &&
        matchesSelector(selectorFrom(selector), obj(meta(other).labels) as Record<string, string>),
    ),
  );
  // A selected role may itself be aggregated: view is in edit, edit is in admin.
  const rules = parts.flatMap((part) => arr(aggregate(part, all).rules));
  const seen = new Set<string>();
  const unique = rules.filter((rule) => {
    const text = JSON.stringify(rule);
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
  return { ...role, rules: unique };
}

/** As metrics-server brings it: whoever may view a namespace sees what its pods use. */
const metricsReader: JsonObject = {
  metadata: {
    name: 'system:aggregated-metrics-reader',
    labels: Object.fromEntries(
      ['admin', 'edit', 'view'].map((role) => [`rbac.authorization.k8s.io/aggregate-to-${role}`, 'true']),
    ),
  },
  rules: [{ apiGroups: ['metrics.k8s.io'], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] }],
};

const clusterRoles = `${rbac}/v1/clusterroles`;

export function recordedObjects(now: string): BootstrapObject[] {
  return copied.flatMap((path) => {
    const list = [...(data[path] ?? []), ...(path === clusterRoles ? [metricsReader] : [])];
    return list.map((object) => ({
      ...partsOf(path),
      object: withTimes(path === clusterRoles ? aggregate(object, list) : object, now),
    }));
  });
}

/** The APIServices of what is built in, as they are recorded. */
export const recordedApiServices = (): readonly JsonObject[] =>
  data['apiregistration.k8s.io/v1/apiservices'] ?? [];

/** The rules of the ClusterRole system:node, which the node authorizer applies by itself. */
export function nodeRules(): readonly JsonObject[] {
  const role = data[clusterRoles]?.find((r) => str(meta(r).name) === 'system:node');
  return objs(role?.rules);
}

/** The role of each controller of this server and its binding, by upstream's names. */
function controllerAccess(facts: BootstrapFacts): BootstrapObject[] {
  return controllerRoles(facts).flatMap(({ serviceAccount, namespace, rules }) => {
    const scope = namespace === undefined ? 'cluster' : '';
    const kind = namespace === undefined ? 'ClusterRole' : 'Role';
    const name = `system:controller:${serviceAccount}`;
    const metadata = {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
      annotations: { [autoupdate]: 'true' },
    };
    const subjects = [{ kind: 'ServiceAccount', name: serviceAccount, namespace: 'kube-system' }];
    return [
      {
        ...partsOf(`${rbac}/v1/${scope}roles`),
        object: { metadata, rules: rules as unknown as JsonObject[] },
      },
      {
        ...partsOf(`${rbac}/v1/${scope}rolebindings`),
        object: { metadata, subjects, roleRef: { apiGroup: rbac, kind, name } },
      },
    ];
  });
}

export const authenticationMap = (data: Readonly<Record<string, string>>): BootstrapObject => ({
  ...partsOf('v1/configmaps'),
  object: {
    metadata: { name: 'extension-apiserver-authentication', namespace: 'kube-system' },
    data: { ...data },
  },
});

/** Where this API server is, for pods. */
function kubernetesService(facts: BootstrapFacts): BootstrapObject[] {
  const { kubernetesServiceIp: ip, advertiseAddress, securePort } = facts;
  const kubernetes = { name: 'kubernetes', namespace: 'default' };
  const ports = [{ name: 'https', port: securePort, protocol: 'TCP' }];
  return [
    {
      ...partsOf('v1/services'),
      object: {
        metadata: { ...kubernetes, labels: { component: 'apiserver', provider: 'kubernetes' } },
        spec: {
          ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: securePort }],
          clusterIP: ip,
          clusterIPs: [ip],
          type: 'ClusterIP',
          sessionAffinity: 'None',
          ipFamilies: ['IPv4'],
          ipFamilyPolicy: 'SingleStack',
          internalTrafficPolicy: 'Cluster',
        },
        status: { loadBalancer: {} },
      },
    },
    {
      ...partsOf('networking.k8s.io/v1/ipaddresses'),
      object: { metadata: { name: ip, labels: { ...managedAddress } }, spec: claimSpec(kubernetes) },
    },
    {
      ...partsOf('v1/endpoints'),
      object: {
        metadata: { ...kubernetes, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
        subsets: [{ addresses: [{ ip: advertiseAddress }], ports }],
      },
    },
    {
      ...partsOf('discovery.k8s.io/v1/endpointslices'),
      object: {
        metadata: { ...kubernetes, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: [advertiseAddress], conditions: { ready: true } }],
        ports,
      },
    },
  ];
}

export const defaultServiceCidr = ({
  serviceCidr,
  now,
}: Pick<BootstrapFacts, 'serviceCidr' | 'now'>): BootstrapObject => ({
  ...partsOf('networking.k8s.io/v1/servicecidrs'),
  object: {
    metadata: { name: 'kubernetes' },
    spec: { cidrs: [serviceCidr] },
    status: {
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          lastTransitionTime: now,
          reason: '',
          message: 'Kubernetes default Service CIDR is ready',
        },
      ],
    },
  },
});

/** Who may what beside the recorded rights. */
const ownBindings: readonly BootstrapObject[] = [
  {
    // As kubeadm: a node renews the client certificate that it has.
    ...partsOf(`${rbac}/v1/clusterrolebindings`),
    object: {
      metadata: { name: 'kubeadm:node-autoapprove-certificate-rotation' },
      subjects: [{ kind: 'Group', apiGroup: rbac, name: 'system:nodes' }],
      roleRef: {
        apiGroup: rbac,
        kind: 'ClusterRole',
        name: 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
      },
    },
  },
  {
    // The API server's own client certificate: a name with rights, and no name that needs none.
    ...partsOf(`${rbac}/v1/clusterrolebindings`),
    object: {
      metadata: { name: 'kube-apiserver:kubelet-apis' },
      subjects: [{ kind: 'User', apiGroup: rbac, name: kubeletClientUser }],
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'system:kubelet-api-admin' },
    },
  },
];

/** Says since when it is noted in Secrets that their tokens are used. */
export const tokenTrackingMap = 'kube-apiserver-legacy-service-account-token-tracking';

const tokenTracking = ({ now }: BootstrapFacts): BootstrapObject => ({
  ...partsOf('v1/configmaps'),
  object: {
    metadata: { name: tokenTrackingMap, namespace: 'kube-system' },
    data: { since: now.slice(0, 10) },
  },
});

/** Objects of this API server. */
export const ownObjects = (facts: BootstrapFacts): BootstrapObject[] => [
  ...kubernetesService(facts),
  defaultServiceCidr(facts),
  ...controllerAccess(facts),
  ...ownBindings,
  tokenTracking(facts),
];
